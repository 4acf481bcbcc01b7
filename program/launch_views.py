"""The launch-day board for everybody, each with their own; and the office's pages that plan, start and stop a launch."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from clusters.models import CloudAccount, Cluster, Revision
from program import board, launching
from program.launch_forms import AddForm, LaunchForm, StopForm, VerdictForm, WishForm
from program.models import Launch, LaunchCluster, LaunchWave
from tenants.models import Cycle, Participation, Tenant
from tenants.programme_day import programme_zone
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.attempt import attempt, see_other
from tenants.web.charts import Chart, over_time


@allow(roles.READ)
@require_safe
def launch_board(request: HttpRequest) -> HttpResponse:
    """Planned against in service on a day: all that one may see, from history."""
    now = timezone.now()
    found = board.days(now)
    zone = programme_zone()
    day = chosen_day(request.GET.get("day", ""), now.astimezone(zone).date())
    shown = board.board(day, now)
    launches = list(Launch.objects.filter(day=day).order_by("name")) if request.internal else []
    context = {
        "board": shown,
        "days": found,
        "day": day,
        "chart": drawn(shown, now),
        "zone": str(zone),
        "launches": launches,
        "office": Tenant.objects.filter(is_office=True).first(),
        "may_plan": request.role in roles.REVIEW,
        "unsettled": shown.live and shown.total.in_service < shown.total.planned,
        "poll": f"{request.path}?day={day.isoformat()}",
    }
    return render(request, "program/launch_board.html", context)


def chosen_day(asked: str, usual: date) -> date:
    """The day of the address. Raises Http404 for what is no day."""
    if not asked:
        return usual
    try:
        found = parse_date(asked)
    except ValueError:
        found = None
    if found is None or not 1970 < found.year < 9000:
        raise Http404
    return found


def drawn(shown: board.Board, now: Any) -> Chart | None:
    """The curve of the day by type, from its first change to its last; None before anything came."""
    points, zone = shown.curve.points, shown.begins.tzinfo
    if len(points) < 2:
        return None
    begin = points[1].at.astimezone(zone) - timedelta(minutes=10)
    end = min(shown.ends, max(points[-1].at + timedelta(minutes=10), now if shown.live else points[-1].at))
    types = sorted({kind for point in points for kind in point.by_type})
    lines = {
        kind: [(max(point.at.astimezone(zone), begin), float(point.by_type.get(kind, 0))) for point in points]
        for kind in types
    }
    return over_time(lines, begin, end, max(one.planned for one in shown.by_type))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def plan(request: HttpRequest) -> HttpResponse:
    """Plan a launch: its day and its waves."""
    at_the_office(request)
    cycles = list(Cycle.objects.exclude(state="closed").select_related("programme").order_by("-starts_on"))
    form = LaunchForm(request.POST if request.method == "POST" else None, cycles=cycles)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            made, refused = attempt(launching.plan_launch, by=request.actor, **_planned(form))
            if refused is None:
                messages.success(request, _("The launch is planned. Put clusters into its waves."))
                return see_other(reverse("launch", args=[request.tenant.slug, made.pk]))
            status = refused.status
    return render(request, "program/launch_plan.html", {"form": form, "refused": refused}, status=status)


def _planned(form: LaunchForm) -> dict[str, Any]:
    told = form.cleaned_data
    step = timedelta(minutes=told["minutes_between"])
    times = [told["first_at"] + step * number if told["first_at"] else None for number in range(told["waves"])]
    return {"cycle": form.cycles[told["cycle"]], "name": told["name"], "day": told["day"], "waves": times}


def _found(pk: UUID) -> Launch:
    with reading_everyone():
        found = Launch.objects.select_related("cycle").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.STAFF - {roles.AUTOMATION, roles.ACCOUNT_TEAM_ELSEWHERE})
@require_safe
def launch(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A planned launch: its waves, who may go, and what the preflight found."""
    at_the_office(request)
    return _shown(request, _found(pk))


def _shown(request: HttpRequest, row: Launch, refused: Any = None, status: int = 200, **forms: Any) -> HttpResponse:
    with reading_everyone():
        waves = list(LaunchWave.objects.filter(launch=row).order_by("number"))
        waiting = (
            Cluster.objects.filter(state__in=launching.WAITING)
            .select_related("tenant")
            .order_by("tenant__name", "name")
        )
        taken = LaunchCluster.objects.filter(launch_id=row.pk).exclude(cluster=None).values("cluster_id")
        candidates = list(waiting.exclude(pk__in=taken)[:500])
    lines = launching.lines_of(row)
    verdict: VerdictForm | None = forms.get("verdict")
    told = [
        {
            "line": line,
            "form": verdict
            if verdict is not None and forms.get("line") == line.pk
            else VerdictForm(line=line, prefix=str(line.pk)),
            "refusals": [one for one in line.findings if one["level"] == "refused"],
            "warnings": [one for one in line.findings if one["level"] == "warning"],
        }
        for line in lines
    ]
    going = row.state in ("planned", "running")
    context = {
        "row": row,
        "waves": [_wave(wave, told) for wave in waves],
        "add": forms.get("add") or AddForm(clusters=candidates, waves=waves),
        "candidates": candidates,
        "stop": forms.get("stop") or StopForm(launch=row, prefix="stop"),
        "refused": refused,
        "may_plan": request.role in roles.REVIEW and row.state != "done",
        "may_start": request.role in roles.APPROVE and going,
        "may_approve": request.role in roles.APPROVE,
    }
    return render(request, "program/launch_detail.html", context, status=status)


def _wave(wave: LaunchWave, told: list[dict[str, Any]]) -> dict[str, Any]:
    """A wave with its lines, and whether there is anything left to start."""
    lines = [one for one in told if one["line"].wave == wave.number]
    return {"wave": wave, "lines": lines, "left": any(one["line"].started_at is None for one in lines)}


@allow(roles.REVIEW)
@require_POST
def add(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Put a cluster that was asked for into a wave."""
    at_the_office(request)
    row = _found(pk)
    with reading_everyone():
        waves = list(LaunchWave.objects.filter(launch=row).order_by("number"))
        clusters = list(Cluster.objects.filter(state__in=launching.WAITING).select_related("tenant"))
    form = AddForm(request.POST, clusters=clusters, waves=waves)
    if not form.is_valid():
        return _shown(request, row, status=422, add=form)
    cluster = next(one for one in clusters if str(one.pk) == form.cleaned_data["cluster"])
    return _after(
        request,
        row,
        launching.add_cluster,
        _("It is part of the launch."),
        cluster=cluster,
        wave=form.cleaned_data["wave"],
    )


def _after(request: HttpRequest, row: Launch, act: Callable[..., Any], done: str, **values: Any) -> HttpResponse:
    _result, refused = attempt(act, launch=row, by=request.actor, **values)
    if refused is not None:
        return _shown(request, _found(row.pk), refused=refused, status=refused.status)
    messages.success(request, done)
    return see_other(reverse("launch", args=[request.tenant.slug, row.pk]))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def wish(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Put a cluster into a wave that nobody asked for yet; the start of the wave asks for it."""
    at_the_office(request)
    row = _found(pk)
    with reading_everyone():
        waves = list(LaunchWave.objects.filter(launch=row).order_by("number"))
        taking_part = Participation.objects.filter(cycle=row.cycle).exclude(state__in=("withdrawn", "closed"))
        parts = {one.tenant_id: one for one in taking_part.select_related("tenant")}
        accounts = list(
            CloudAccount.objects.filter(tenant__in=list(parts))
            .select_related("tenant")
            .order_by("tenant__name", "account_id")
        )
        newest = Revision.objects.order_by("-created_at").values_list("body", flat=True).first()
    initial = {"body": json.dumps(newest, indent=2, ensure_ascii=False) if newest else ""}
    form = WishForm(request.POST if request.method == "POST" else None, initial=initial, accounts=accounts, waves=waves)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = form.cleaned_data
            participation = parts[told["account"].tenant_id]
            _made, refused = attempt(
                launching.add_wish, launch=row, participation=participation, by=request.actor, **told
            )
            if refused is None:
                messages.success(request, _("%(name)s is part of the launch.") % {"name": told["name"]})
                return see_other(reverse("launch", args=[request.tenant.slug, row.pk]))
            status = refused.status
            if refused.facts.get("field") in form.fields:
                form.add_error(refused.facts["field"], refused.sentence)
                refused = None
    context = {"form": form, "row": row, "refused": refused}
    return render(request, "program/launch_wish.html", context, status=status)


@allow(roles.REVIEW)
@require_POST
def check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Run the full preflight of everything that has not started."""
    at_the_office(request)
    return _after(request, _found(pk), launching.check_launch, _("Everything was checked."))


@allow(roles.APPROVE)
@require_POST
def decide(request: HttpRequest, pk: UUID, line: UUID) -> HttpResponse:
    """Go or no go for one cluster."""
    at_the_office(request)
    row = _found(pk)
    found = next((one for one in launching.lines_of(row) if one.pk == line), None)
    if found is None:
        raise Http404
    form = VerdictForm(request.POST, line=found, prefix=str(found.pk))
    if not form.is_valid():
        return _shown(request, row, status=422, verdict=form, line=found.pk)
    with acting_for(found.tenant_id, staff=True):
        _result, refused = attempt(launching.decide, line=found, by=request.actor, **form.cleaned_data)
    if refused is not None:
        return _shown(request, row, refused=refused, status=refused.status, verdict=form, line=found.pk)
    messages.success(request, _("%(name)s: decided.") % {"name": found.name})
    return see_other(reverse("launch", args=[request.tenant.slug, row.pk]))


@allow(roles.APPROVE)
@require_POST
def start(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Start a wave: approve what may go."""
    at_the_office(request)
    row = _found(pk)
    told, refused = attempt(launching.start_wave, launch=row, number=number, person=request.person, by=request.actor)
    if refused is not None:
        return _shown(request, _found(pk), refused=refused, status=refused.status)
    if told["left"]:
        messages.warning(request, _("Left behind: %(names)s.") % {"names": ", ".join(told["left"])})
    if told["started"]:
        messages.success(request, _("Started: %(names)s.") % {"names": ", ".join(told["started"])})
    return see_other(reverse("launch", args=[request.tenant.slug, row.pk]))


@allow(roles.APPROVE)
@require_POST
def stop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Start nothing more."""
    at_the_office(request)
    row = _found(pk)
    form = StopForm(request.POST, launch=row, prefix="stop")
    if not form.is_valid():
        return _shown(request, row, status=422, stop=form)
    return _after(request, row, launching.stop_launch, _("The launch is stopped."), **form.cleaned_data)


def _step(act: Callable[..., Any], name: str, done: Any) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, pk: UUID) -> HttpResponse:
        at_the_office(request)
        return _after(request, _found(pk), act, str(done))

    view.__name__ = name
    view.__doc__ = act.__doc__
    return allow(roles.APPROVE)(require_POST(view))


resume = _step(launching.resume_launch, "resume", gettext_lazy("The launch goes on."))
end = _step(launching.end_launch, "end", gettext_lazy("The launch is over."))
