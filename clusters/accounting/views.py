"""Pages about usage: a month of everybody or of one cluster, as a file too; what is disputed, and what is lent."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import queries
from clusters.accounting import accelerator_hours, usage
from clusters.accounting.forms import DisputeForm, LendForm, SettleForm
from clusters.actions import usage as acting
from clusters.engine.usage import zone_of
from clusters.models import Cluster, Lending, UsageDay, UsageDispute
from tenants.programme_day import programme_zone
from tenants.queries import actor_names, tenants
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused
from tenants.web.tables import as_csv

TALL = 48


def month_asked(request: HttpRequest, zone: str) -> tuple[date, dict[str, Any]]:
    """The month of the address, or this one, and where its neighbours are. Raises Refused for what is no month."""
    now = accelerator_hours.day_of(timezone.now(), zone).replace(day=1)
    asked = request.GET.get("month", "")
    found = accelerator_hours.read_month(asked) if asked else now
    if found is None:
        raise Refused(
            "month",
            _("'%(asked)s' is no month. Write it like %(one)s.") % {"asked": asked[:20], "one": f"{now:%Y-%m}"},
            status=400,
            field="month",
        )
    before, after = (found - timedelta(days=1)).replace(day=1), accelerator_hours.month_of(found)[1] + timedelta(days=1)
    around = {"this": found, "before": f"{before:%Y-%m}", "after": f"{after:%Y-%m}" if found < now else ""}
    return found, around | {"text": f"{found:%Y-%m}", "zone": zone, "now": found == now}


@allow(roles.READ)
@require_safe
def all_usage(request: HttpRequest) -> HttpResponse:
    """A month of every cluster one may see, by participant."""
    month, around = month_asked(request, programme_zone().key)
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    tenant = request.GET.get("tenant", "")
    if tenant not in {one.slug for one in everybody}:
        tenant = ""
    rows = usage.months(month, tenant=tenant)
    context = {
        "month": around,
        "groups": usage.by_participant(rows),
        "total": usage.total(rows),
        "rows": rows,
        "several": len(everybody) > 1,
        "everybody": everybody,
        "chosen": tenant,
        "may_dispute": request.role in roles.DISPUTE,
        "means": [(usage.WORDS[name], usage.MEANS[name], name) for name in usage.CLASSES],
    }
    return render(request, "clusters/usage.html", context)


def _hours(seconds: int | None) -> Any:
    return accelerator_hours.hours(seconds)


@allow(roles.READ)
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """The same as a table for a spreadsheet: seconds, so that sums stay exact, and hours."""
    month, around = month_asked(request, programme_zone().key)
    header = ["month", "zone", "participant", "cluster", "reserved_hours", "used_hours", "measured", "runs", "runs_not_measured",
              "days_not_measured", *(f"{name}_hours" for name in usage.CLASSES), "reserved_seconds", "used_seconds",
              "disputed_since", "disputed_hours_then", "hours_that_hold"]  # fmt: skip
    rows = [
        [
            around["text"], around["zone"], row.tenant, row.name, _hours(row.reserved), _hours(row.used),
            "+".join(row.sources) or "not measured", row.runs, row.unmeasured, row.unmeasured_days,
            *(_hours(row.classes[name]) for name in usage.CLASSES), row.reserved, row.used,
            row.disputed.disputed_at.isoformat() if row.disputed else "", _hours(row.disputed.used_then) if row.disputed else "",
            row.disputed.settled_hours if row.disputed else "",
        ]
        for row in usage.months(month, tenant=request.GET.get("tenant", "")[:40])
    ]  # fmt: skip
    return as_csv(f"usage-{around['text']}.csv", header, rows)


@allow(roles.READ)
@require_safe
def cluster_usage(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One cluster's month: each day in its classes, each run with its hours, what is disputed."""
    row = queries.cluster(pk)
    zone = zone_of(row)
    month, around = month_asked(request, zone)
    found = usage.month_of_cluster(row, month)
    days = usage.days_of(row, month)
    page = pages.newest_first(usage.runs_of(row, month, zone), request, at="started_at")
    disputes = list(UsageDispute.objects.filter(cluster=row).order_by("-disputed_at")[:20])
    lending = Lending.objects.filter(cluster=row, ends_at=None).first()
    names = {one.disputed_by for one in disputes} | {one.answered_by for one in disputes}
    names |= {lending.lent_by} if lending else set()
    words = actor_names({name for name in names if name})
    told = [
        {"row": one, "by": words.get(one.disputed_by, ""), "answered_by": words.get(one.answered_by, ""),
         "then": _hours(one.used_then)}
        for one in disputes
    ]  # fmt: skip
    context = {
        "row": row,
        "month": around,
        "found": found,
        "days": [_day(day) for day in days],
        "chart": _columns(days),
        "runs": [{"row": run, "hours": _hours(usage.seconds_of(run, month, zone))} for run in page.rows],
        "older": page.next,
        "disputes": told,
        "lending": lending,
        "lent_by": words.get(lending.lent_by, "") if lending else "",
        "accounting": usage.accounting_of(row),
        "open_dispute": next((one for one in told if one["row"].state == "open" and one["row"].month == month), None),
        "may_dispute": request.role in roles.DISPUTE and found is not None,
        "may_settle": request.role in roles.SETTLE,
        "may_lend": request.role in roles.OPERATE and row.wanted,
    }
    return render(request, "clusters/cluster_usage.html", context)


def _day(day: UsageDay) -> dict[str, Any]:
    sums = {name: getattr(day, name) for name in usage.CLASSES}
    return {"row": day, "hours": {name: _hours(sums[name]) for name in sums}, "reserved": _hours(day.reserved),
            "used": None if day.source == UsageDay.Source.NOBODY else _hours(day.used)}  # fmt: skip


def _columns(days: list[UsageDay]) -> list[dict[str, Any]]:
    """A column for each day, its classes on top of each other, to the scale of the fullest day."""
    most = max((day.reserved for day in days), default=0)
    found = []
    for number, day in enumerate(days):
        at, parts = float(TALL), []
        for name in usage.CLASSES:
            height = TALL * getattr(day, name) / most if most else 0
            at -= height
            if height:
                parts.append({"name": name, "y": f"{at:.2f}", "height": f"{height:.2f}"})
        label = day.day.day if day.day.day in (1, 8, 15, 22, 29) else ""
        found.append({"x": number * 10, "middle": number * 10 + 4, "day": day, "parts": parts, "label": label})
    return found


@allow(roles.READ)
@require_safe
def cluster_export(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A cluster's runs of a month, each with what of it lies in the month."""
    row = queries.cluster(pk)
    zone = zone_of(row)
    month, around = month_asked(request, zone)
    header = ["month", "zone", "cluster", "job", "external_id", "attempt", "measured_by", "outcome", "engine_state", "started_at",
              "ended_at", "nodes", "accelerators", "hours_in_month", "seconds_in_month"]  # fmt: skip
    rows = [
        [around["text"], zone, row.name, run.name, run.external_id, run.attempt, run.source, run.outcome, run.engine_state,
         _iso(run.started_at), _iso(run.ended_at), run.nodes, run.accelerators,
         _hours(seconds), "not measured" if seconds is None else seconds]
        for run in usage.runs_of(row, month, zone).order_by("started_at", "id").iterator(chunk_size=2000)
        for seconds in [usage.seconds_of(run, month, zone)]
    ]  # fmt: skip
    return as_csv(f"runs-{row.name}-{around['text']}.csv", header, rows)


def _iso(moment: Any) -> str:
    return moment.isoformat() if moment else ""


def _page_of(request: HttpRequest, row: Cluster, month: date | None = None) -> HttpResponse:
    asked = f"?month={month:%Y-%m}" if month else ""
    return see_other(reverse("cluster_usage", args=[request.tenant.slug, row.pk]) + asked)


def _form_page(request: HttpRequest, row: Cluster, form: forms.Form, status: int, **words: Any) -> HttpResponse:
    back = reverse("cluster_usage", args=[request.tenant.slug, row.pk])
    return render(request, "clusters/usage_form.html", {"row": row, "form": form, "back": back, **words}, status=status)


@allow(roles.DISPUTE)
@require_http_methods(["GET", "POST"])
def dispute(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say that a month of a cluster is counted wrong."""
    row = queries.cluster(pk)
    month, around = month_asked(request, zone_of(row))
    form = DisputeForm(posted(request), initial={"month": around["text"]})
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        month = accelerator_hours.read_month(request.POST.get("month", "")) or month
        if form.is_valid():
            told = {name: form.cleaned_data[name] for name in ("reason", "claimed_hours")}
            _done, refused = attempt(acting.dispute_usage, cluster=row, month=month, by=request.actor, **told)
            if refused is None:
                messages.success(
                    request, _("Said. The programme has a case of it, and this month shows that you dispute it.")
                )
                return _page_of(request, row, month)
            status = refused.status
    return _form_page(
        request, row, form, status, refused=refused, found=usage.month_of_cluster(row, month),
        title=_("What is wrong with %(month)s of %(name)s?") % {"month": f"{month:%Y-%m}", "name": row.name},
        submit=_("This is wrong"),
    )  # fmt: skip


@allow(roles.SETTLE)
@require_http_methods(["GET", "POST"])
def settle(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say which hours hold."""
    told = UsageDispute.objects.select_related("cluster").filter(pk=pk).first()
    if told is None:
        raise Http404
    form = SettleForm(posted(request), initial={"version": told.version, "settled_hours": _hours(told.used_then)})
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(acting.settle_dispute, dispute=told, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Settled. Both numbers stay."))
                return _page_of(request, told.cluster, told.month)
            status = refused.status
    return _form_page(
        request, told.cluster, form, status, refused=refused, dispute=told, then=_hours(told.used_then),
        title=_("Settle %(month)s of %(name)s") % {"month": f"{told.month:%Y-%m}", "name": told.cluster.name},
        submit=_("These hours hold"),
    )  # fmt: skip


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def lend(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Lend nodes of a cluster to somebody else for a while."""
    row = queries.cluster(pk)
    form = LendForm(posted(request))
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(acting.lend_nodes, cluster=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Lent from now on, until somebody takes them back."))
                return _page_of(request, row)
            status = refused.status
            if refused.facts.get("field") in form.fields:
                form.add_error(refused.facts["field"], refused.sentence)
    return _form_page(
        request, row, form, status, refused=refused,
        title=_("Lend nodes of %(name)s") % {"name": row.name}, submit=_("Lend them"),
        text=_("Their hours are counted as lent. Nothing is changed on the cluster: keep your own jobs away from them."),
    )  # fmt: skip


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def take_back(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take back what is lent."""
    row = queries.cluster(pk)
    status, refused = 200, None
    if request.method == "POST":
        _done, refused = attempt(acting.take_back, cluster=row, by=request.actor)
        if refused is None:
            messages.success(request, _("The nodes are the cluster's own again."))
            return _page_of(request, row)
        status = refused.status
    return _form_page(
        request, row, forms.Form(posted(request)), status, refused=refused,
        title=_("Take back the nodes of %(name)s?") % {"name": row.name}, submit=_("Take them back"), text="",
    )  # fmt: skip
