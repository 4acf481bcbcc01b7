"""Pages about a participant's cloud account: add it, let it be tried, make a new external id."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from clusters import account_opening, accounts, queries, showing
from clusters.forms import AccountForm, RenewForm
from clusters.models import AccountFact, CloudAccount, ServiceQuota
from tenants.queries import history, lines
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import live
from tenants.web.attempt import attempt, posted, see_other

NEWEST_ENTRIES = 20


@allow(roles.CONNECT)
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Add a cloud account. What its owner has to paste is shown in the answer, this once."""
    form = AccountForm(posted(request))
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            account, refused = attempt(
                accounts.add_account, tenant=request.tenant, by=request.actor, **form.cleaned_data
            )
            if refused is None:
                return _opened(request, account, status=201)
            status = refused.status
            if refused.facts.get("field") in form.fields:
                form.add_error(refused.facts["field"], refused.sentence)
                refused = None
    return render(request, "clusters/account_add.html", {"form": form, "refused": refused}, status=status)


def _opened(request: HttpRequest, account: CloudAccount, status: int = 200) -> HttpResponse:
    """What the account's owner needs, once: it is in no other answer, so nothing on the way may keep this one."""
    context = {
        "row": account,
        "trust": json.dumps(accounts.trust_policy(account), indent=2),
        "permissions": json.dumps(accounts.permissions(), indent=2),
        **accounts.opening(account),
        "role_name": account.role_arn.partition(":role/")[2],
    }
    answer = render(request, "clusters/account_opened.html", context, status=status)
    answer["Cache-Control"] = "no-store"
    return answer


@allow(roles.READ)
@require_safe
def account(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One account: whether it lets us in and since when, what it said of its quotas, what happened."""
    row = _row(pk)
    entries = list(history(subject=("account", row.pk)).order_by("-occurred_at", "-id")[:NEWEST_ENTRIES])
    asked = accounts.being_checked(row)
    newest = live.stamp(
        row.access, row.access_since, row.checked_at, row.guarded, asked, [entry.pk for entry in entries]
    )
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    told = dict(AccountFact.objects.filter(account=row, kind="roles").values_list("region", "body"))
    engines = account_opening.engines([(told.get(region) or {}).get("denied") for region in row.regions])
    context = {
        "row": row,
        "access": showing.access(row),
        "guard": showing.guard(row),
        "engines": engines,
        "statement": account_opening.statement(engines),
        "condition": account_opening.CONDITION,
        "asked": asked,
        "quotas": ServiceQuota.objects.filter(account=row).count(),
        "clusters": list(queries.clusters().filter(account_id=row.pk).order_by("name")),
        "orphans": list(queries.orphans(row)),
        "entries": lines(entries),
        "may_connect": request.role in roles.CONNECT,
        "poll": live.address(request, newest),
    }
    return render(request, "clusters/account.html" + ("#live" if live.asked(request) else ""), context)


def _row(pk: UUID) -> CloudAccount:
    found: CloudAccount = get_object_or_404(queries.accounts(), pk=pk)
    return found


@allow(roles.CONNECT)
@require_POST
def check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Try the account now."""
    row = _row(pk)
    accounts.check_access(account=row, by=request.actor)
    messages.success(request, _("It is being tried; the answer comes in a moment."))
    return see_other(reverse("account", args=[request.tenant.slug, row.pk]))


@allow(roles.CONNECT)
@require_http_methods(["GET", "POST"])
def renew(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Make a new external id, and show it once."""
    row = _row(pk)
    form = RenewForm(posted(request), initial={"version": row.version})
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            values: dict[str, Any] = {"account": row, "by": request.actor, "version": form.cleaned_data["version"]}
            changed, refused = attempt(accounts.renew_external_id, **values)
            if refused is None:
                return _opened(request, changed)
            status = refused.status
            form = RenewForm(initial={"version": _row(pk).version})
    return render(request, "clusters/account_renew.html", {"row": row, "form": form, "refused": refused}, status=status)
