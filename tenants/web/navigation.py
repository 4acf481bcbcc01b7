"""The menu: where one can go, in few groups by what people come for, each role with what concerns it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from tenants.wall import roles

CUSTOMERS = frozenset(roles.CUSTOMER_ROLES)
# Who makes clusters wants what they are made of; the others reach it from a cluster.
MAKERS = roles.STAFF | (roles.OPERATE & CUSTOMERS)


@dataclass(frozen=True)
class Place:
    """A page to go to: the name of its route, what it is called, its icon, and the roles that see it in their menu."""

    route: str
    label: Any
    icon: str
    seen_by: frozenset[str]
    of_tenant: bool = False
    only_without: bool = False  # where no participant is chosen; its own page takes the place of this one


@dataclass(frozen=True)
class Destination:
    """A place as one page shows it; `current` is its aria-current: "page", "true" (a part of it) or ""."""

    label: Any
    url: str
    icon: str
    current: str


@dataclass(frozen=True)
class Group:
    """Entries under one heading, which may be empty."""

    key: str
    title: Any
    entries: tuple[Destination, ...]


TRAINING, MONEY, HELP, TAKING_PART, RUNNING = "training", "money", "help", "taking-part", "running"
TITLES = {
    "": "",
    TRAINING: _("Clusters and jobs"),
    MONEY: _("Capacity and budget"),
    HELP: _("Help"),
    TAKING_PART: _("Participants"),
    RUNNING: _("Running the programme"),
}
TITLES_OF_CUSTOMERS = {TAKING_PART: _("Your participation")}
PLACES: tuple[tuple[str, Place], ...] = (
    ("", Place("portfolio", _("Portfolio"), "home", roles.STAFF)),
    ("", Place("portfolio", _("Overview"), "home", CUSTOMERS)),
    (TRAINING, Place("clusters", _("Clusters"), "server", roles.READ)),
    (TRAINING, Place("jobs", _("Jobs"), "job", roles.READ)),
    (TRAINING, Place("launch_board", _("Launch day"), "rocket", roles.STAFF)),
    (TRAINING, Place("catalogue", _("Catalogue"), "architecture", MAKERS)),
    (TRAINING, Place("configurations", _("Configurations"), "adjust", MAKERS)),
    (MONEY, Place("capacity", _("Capacity"), "quota", roles.STAFF)),
    (MONEY, Place("capacity", _("Capacity"), "quota", CUSTOMERS, only_without=True)),
    (MONEY, Place("tenant_capacity", _("Capacity"), "quota", CUSTOMERS, of_tenant=True)),
    (MONEY, Place("budgets", _("Budgets"), "wallet", roles.STAFF)),
    (MONEY, Place("budget", _("Budget"), "wallet", CUSTOMERS, of_tenant=True)),
    (MONEY, Place("usage", _("Usage"), "chart", roles.READ)),
    (TAKING_PART, Place("participant", _("Record"), "record", CUSTOMERS, of_tenant=True)),
    (TAKING_PART, Place("people", _("People"), "people", roles.READ, of_tenant=True)),
    (TAKING_PART, Place("engagement", _("Engagement"), "handshake", roles.STAFF)),
    (TAKING_PART, Place("onboarding", _("Onboarding"), "flag", roles.READ)),
    (TAKING_PART, Place("reports", _("Reports"), "report", roles.READ)),
    (TAKING_PART, Place("action_items", _("Action items"), "list-check", CUSTOMERS)),
    (TAKING_PART, Place("calls", _("Calls"), "send", roles.STAFF | roles.LEADS)),
    (TAKING_PART, Place("cycles", _("Cycles"), "repeat", roles.STAFF)),
    (HELP, Place("cases", _("Cases"), "case", roles.READ_CASES)),
    (HELP, Place("articles", _("Articles"), "book", roles.EVERYONE)),
    (HELP, Place("sessions", _("Sessions"), "calendar", roles.EVERYONE)),
    (HELP, Place("duty", _("Duty roster"), "headset", roles.STAFF)),
    (RUNNING, Place("reviews", _("Weekly review"), "review", roles.STAFF - {roles.AUTOMATION})),
    (RUNNING, Place("action_items", _("Action items"), "list-check", roles.STAFF)),
    (RUNNING, Place("status", _("Engine room"), "pulse", roles.ENGINE_ROOM)),
)
# The name of an address, or its last word -> the place it lies under.
SECTIONS = {
    "change_budget": "budgets", "pause_budget": "budgets", "move_budget": "budgets", "budget_rule": "budgets", "exchange_rate": "budgets",
    "cluster": "clusters", "alerts": "clusters", "alert_token": "clusters", "agent_token": "clusters", "choose_reach": "clusters",
    "record_chart": "clusters", "fleet": "clusters", "update_software": "clusters", "order_nodes": "clusters", "operation": "clusters",
    "leftovers": "clusters", "roll_back": "clusters", "preflight": "clusters", "lend_nodes": "clusters", "take_back_nodes": "clusters",
    "node": "clusters", "quarantine": "clusters", "searches": "clusters", "search": "clusters",
    "job": "jobs", "job_log": "jobs", "log_tail": "jobs", "compare_jobs": "jobs", "scripts": "jobs", "script": "jobs", "take_reports": "jobs",
    "job_log_tail": "jobs", "job_script": "jobs", "job_scripts": "jobs",
    "cluster_usage": "usage", "dispute_usage": "usage", "settle_usage": "usage",
    "tenant_capacity": "capacity", "small_requests": "capacity", "ask_for_capacity": "capacity", "capacity_request": "capacity",
    "decide_capacity": "capacity", "withdraw_capacity": "capacity", "prolong_capacity": "capacity", "change_capacity": "capacity", "reservation": "capacity", "edit_quota": "capacity", "ask_for_quota": "capacity",
    "case": "cases", "case_articles": "cases", "choose_tenant": "cases", "article": "articles", "article_version": "articles",
    "review": "reviews", "item": "reviews", "block": "reviews", "trend": "reviews", "changes": "reviews", "meeting": "reviews", "minutes": "reviews",
    "addendum": "reviews", "architecture": "catalogue", "node_setups": "catalogue", "setup": "catalogue", "configuration": "configurations",
    "check_file": "configurations", "compare_configurations": "configurations",
    "deliveries": "status", "rules": "status", "launch": "launch_board", "wave": "launch_board",
    "action_item": "action_items", "decisions": "action_items", "decision": "action_items",
    "session": "sessions", "enrolment": "sessions", "session_attendance": "sessions", "session_survey": "sessions",
    "cycle": "cycles", "cycle_goes_on": "cycles", "call": "calls", "call_step": "calls", "apply_again": "calls", "application": "calls",
    "onboarding_list": "onboarding", "onboarding_step": "onboarding", "report": "reports", "ask_for_reports": "reports",
    "plan_duty": "duty", "swap_duty": "duty", "remove_duty": "duty",
    "invite": "people", "invitation": "people", "accept_request": "people", "decline_request": "people", "confirm_access": "people",
    "seat": "people", "contact": "people", "erasures": "people", "ask_erasure": "people", "erase_person": "people", "decline_erasure": "people",
}  # fmt: skip
# What a role does not see in its menu lies under this.
INSTEAD = {
    "launch_board": "clusters", "catalogue": "clusters", "configurations": "clusters", "budgets": "budget", "budget": "budgets",
    "capacity": "tenant_capacity", "participant": "portfolio", "calls": "portfolio",
}  # fmt: skip


def seen(role: str, tenant: str) -> Iterator[tuple[str, Place]]:
    """The places that this role sees; a participant's own pages only where one is chosen."""
    return (
        (group, place)
        for group, place in PLACES
        if role in place.seen_by and (tenant or not place.of_tenant) and not (tenant and place.only_without)
    )


def section(here: str, *, of_tenant: bool, routes: set[str]) -> str:
    """The place of the menu that the address named `here` lies under: one of `routes`, or ""."""
    found = here if here in routes else SECTIONS.get(here, SECTIONS.get(here.split("_")[-1], here))
    found = found if found in routes else INSTEAD.get(found, found)
    if found in routes or not of_tenant:
        return found if found in routes else ""
    return "participant" if "participant" in routes else "portfolio"


def menu(*, role: str, tenant: str, here: str, of_tenant: bool) -> list[Group]:
    """The whole menu: groups in their order, none of them empty.

    `tenant`: the slug that the participant's own entries lead to, or "". `here`: the name of this page's route;
    `of_tenant`: whether its address names a participant.
    """
    places = list(seen(role, tenant))
    marked = section(here, of_tenant=of_tenant, routes={place.route for _group, place in places})
    titles = TITLES | (TITLES_OF_CUSTOMERS if role in CUSTOMERS else {})
    found: dict[str, list[Destination]] = {}
    for group, place in places:
        current = "" if place.route != marked else "page" if place.route == here else "true"
        url = reverse(place.route, args=[tenant] if place.of_tenant else None)
        found.setdefault(group, []).append(Destination(place.label, url, place.icon, current))
    return [Group(key, titles[key], tuple(entries)) for key, entries in found.items()]
