"""What every page shows around its content: where one can go, who one is, for whom one acts."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from tenants.models import Membership, holding
from tenants.wall import roles

Nav = list[dict[str, Any]]
# The last word of an address's name -> the entry of the navigation it lies under.
SECTIONS = {
    "budget": "budgets", "change_budget": "budgets", "pause_budget": "budgets", "move_budget": "budgets", "budget_rule": "budgets", "exchange_rate": "budgets",
    "cluster": "clusters", "job": "jobs", "cluster_usage": "usage", "searches": "clusters", "search": "clusters", "dispute_usage": "usage", "settle_usage": "usage", "tenant_capacity": "capacity", "small_requests": "capacity", "ask_for_capacity": "capacity", "capacity_request": "capacity",
    "decide_capacity": "capacity", "withdraw_capacity": "capacity", "reservation": "capacity", "case": "cases", "review": "reviews", "item": "reviews",
    "trend": "reviews", "changes": "reviews", "meeting": "reviews", "minutes": "reviews",
    "architecture": "catalogue", "configuration": "configurations", "compare_configurations": "configurations", "deliveries": "status", "rules": "status",
    "launch": "launch_board", "action_item": "action_items", "decisions": "action_items", "decision": "action_items",
    "session": "sessions", "enrolment": "sessions", "session_attendance": "sessions", "session_survey": "sessions",
    "cycle": "cycles", "cycle_goes_on": "cycles", "call": "calls", "call_step": "calls", "apply_again": "calls", "application": "calls",
    "onboarding_list": "onboarding", "onboarding_step": "onboarding", "report": "reports", "ask_for_reports": "reports",
    "plan_duty": "duty", "swap_duty": "duty", "remove_duty": "duty", "invite": "people", "accept_request": "people", "confirm_access": "people", "erasures": "people", "ask_erasure": "people", "erase_person": "people", "decline_erasure": "people", "seat": "people", "contact": "people", "article": "articles", "article_version": "articles", "case_articles": "cases",
}  # fmt: skip

OF_A_TENANT = ("people", "budget")


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor. Adds no query for staff and one for a customer with a page open."""
    person = getattr(request, "person", None)
    if person is None:
        return {"nav": [], "person": None}
    tenant, role = getattr(request, "tenant", None), getattr(request, "role", "")
    return {
        "nav": _nav(request, tenant, role),
        "person": person,
        "tenant": tenant,
        "role": role,
        "internal": getattr(request, "internal", False),
        "tenants_of_mine": [] if role in roles.SEES_INTERNAL else _mine(request),
    }


def _mine(request: HttpRequest) -> list[Any]:
    if not hasattr(request, "_tenants_of_mine"):
        rows = Membership.objects.filter(holding(), person=request.person, tenant__is_office=False).select_related(
            "tenant"
        )
        request._tenants_of_mine = [membership.tenant for membership in rows.order_by("tenant__name")]
    return request._tenants_of_mine


def _nav(request: HttpRequest, tenant: Any, role: str) -> Nav:
    """What one can go to, in groups: what runs, the programme around it, and the office's own."""
    staff = role in roles.SEES_INTERNAL or role == roles.AUTOMATION
    reads, office = role in roles.READ, role in roles.STAFF
    programme, own = _("Programme"), _("Office")
    entries = [
        ("", True, "portfolio", _("Portfolio") if staff else _("Overview"), "home"),
        ("", True, "clusters", _("Clusters"), "server"),
        ("", True, "jobs", _("Jobs"), "job"),
        ("", reads, "usage", _("Usage"), "quota"),
        ("", reads, "capacity", _("Capacity"), "nodes"),
        (
            "",
            office or (bool(tenant) and reads),
            "budgets" if office else "budget",
            _("Budgets") if office else _("Budget"),
            "chart",
        ),
        ("", True, "cases", _("Cases"), "case"),
        ("", True, "articles", _("Articles"), "file"),
        ("", reads, "catalogue", _("Catalogue"), "architecture"),
        ("", reads, "configurations", _("Configurations"), "adjust"),
        (programme, office, "reviews", _("Weekly review"), "review"),
        (programme, reads, "action_items", _("Action items"), "check"),
        (programme, reads, "launch_board", _("Launch day"), "rocket"),
        (programme, reads, "calls", _("Calls"), "send"),
        (programme, reads, "onboarding", _("Onboarding"), "flag"),
        (programme, True, "sessions", _("Sessions"), "calendar"),
        (programme, reads, "reports", _("Reports"), "report"),
        (programme, bool(tenant) and reads, "people", _("People"), "people"),
        (own, office, "cycles", _("Cycles"), "flag"),
        (own, office, "engagement", _("Engagement"), "people"),
        (own, office, "duty", _("Duty"), "clock"),
        (own, office, "status", _("Engine room"), "pulse"),
    ]
    here = request.resolver_match.url_name if request.resolver_match else ""
    return [
        {
            "group": group,
            "label": label,
            "url": reverse(name, args=[tenant.slug] if name in OF_A_TENANT else None),
            "icon": icon,
            "active": _active(here, name),
        }
        for group, shown, name, label, icon in entries
        if shown
    ]


def _active(here: str, name: str) -> str:
    """The value of aria-current: the page itself, or the part of the site it belongs to."""
    return "page" if here == name else "true" if SECTIONS.get(here, SECTIONS.get(here.split("_")[-1])) == name else ""
