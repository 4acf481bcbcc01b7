"""Pages about everybody: the portfolio, one participant as a whole, the engine room."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from clusters import facts
from clusters import queries as cluster_queries
from clusters import states as cluster_states
from clusters.models import Bucket, CloudAccount, FileSystem, Job
from clusters.parallelism import Place, check
from program import deciding, first_steps, hand_over, home, life, queries, record_progress, reports
from program.models import Minutes, Onboarding, OnboardingStep, Report
from program.waiting_words import in_words, told
from support import queries as cases
from support import states as case_states
from tenants.entries import WORK_AGAIN
from tenants.forms import ANY
from tenants.history import timeline
from tenants.models import (
    Assignment,
    FrameworkUse,
    Membership,
    SoftwareVersion,
    Tenant,
    TrainingModel,
    holding,
)
from tenants.programme_day import programme_today
from tenants.queries import framework_names, history, lines, with_drift, with_framework
from tenants.rosters import TEAMS, on_duty, team_words
from tenants.software import side_by_side
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web import live
from tenants.web.attempt import see_other
from tenants.web.choosing import chosen
from tenants.work import due, overview
from tenants.work.models import Due, Lane

MOST_CLUSTERS = 50
MOST_CASES = 10
NEWEST_ENTRIES = 8
NEWEST_REQUESTS = 10
MOST_MINUTES = 8
ALIVE_WITHIN = timedelta(minutes=1)
QUIET_AFTER = timedelta(minutes=30)
UNSETTLED = frozenset({"approved", "creating", "updating", "deleting"})


@allow(roles.EVERYONE)
@require_safe
def portfolio(request: HttpRequest) -> HttpResponse:
    """Who needs attention first: everybody for staff, one's own for a customer."""
    if request.role == roles.SERVICE_ENGINEER:
        return see_other(reverse("cases"))
    form = PortfolioFilters(request.GET, frameworks=framework_names())
    rows = [row for row in queries.portfolio(timezone.now()) if form.takes(row.participation)]
    staff = request.internal or request.role == roles.AUTOMATION
    waits = deciding.to_decide(person=request.person, role=request.role) if staff else []
    newest = live.stamp(rows, waits)
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    if not staff:
        for row in rows:
            row.reasons = [reason for reason in row.reasons if reason.code not in queries.OF_STAFF]
    context = {
        "rows": rows,
        "staff": staff,
        "urgent": [row for row in rows if row.reasons],
        "totals": _totals(rows),
        "unsettled": any(state not in cluster_states.AT_REST for row in rows for state in row.clusters),
        "poll": live.address(request, newest),
        "form": form,
        "chosen": form.chosen,
    }
    if context["staff"]:
        context |= {"to_decide": waits, "may_note": request.role in roles.NOTE}
        context["office"] = Tenant.objects.filter(is_office=True).first()
    else:
        context |= home.shown(person=request.person, role=request.role, now=timezone.now())
    page = "program/portfolio.html" + ("#live" if live.asked(request) else "")
    return render(request, page, context, status=200 if form.is_valid() else 400)


class PortfolioFilters(forms.Form):
    """Whom to show: by the framework they use, and by software that is not what the record says."""

    framework = forms.ChoiceField(label=gettext_lazy("Framework"), required=False)
    software = forms.ChoiceField(
        label=gettext_lazy("Software"),
        required=False,
        choices=[ANY, ("drift", gettext_lazy("measured differs from declared"))],
    )

    def __init__(self, asked: Any, *, frameworks: list[str]) -> None:
        super().__init__(asked, auto_id="filter_%s")
        self.fields["framework"].choices = [ANY, *((name, name) for name in frameworks)]  # type: ignore[attr-defined]
        told = self.cleaned_data if self.is_valid() else {}
        self.chosen = [name for name in self.fields if told.get(name)]
        wanted = [with_framework(told["framework"])] if told.get("framework") else []
        wanted += [with_drift()] if told.get("software") else []
        self.wanted = set.intersection(*wanted) if wanted else None

    def takes(self, participation: UUID) -> bool:
        return self.wanted is None or participation in self.wanted


def _totals(rows: list[queries.Row]) -> dict[str, int]:
    states: dict[str, int] = {}
    severities: dict[str, int] = {}
    for row in rows:
        for state, n in row.clusters.items():
            states[state] = states.get(state, 0) + n
        for severity, n in row.open_cases.items():
            severities[severity] = severities.get(severity, 0) + n
    return {
        "participants": len(rows),
        "clusters": sum(states.values()),
        "ready": states.get("ready", 0),
        "on_the_way": sum(states.get(state, 0) for state in UNSETTLED),
        "waiting": states.get("requested", 0),
        "broken": sum(states.get(state, 0) for state in cluster_states.BROKEN),
        "nodes_running": sum(row.nodes_running for row in rows),
        "nodes_wanted": sum(row.nodes_wanted for row in rows),
        "accelerators": sum(row.accelerators for row in rows),
        "cases": sum(severities.values()),
        "urgent_cases": severities.get("critical", 0) + severities.get("urgent", 0),
        "needing": sum(1 for row in rows if row.reasons),
    }


@allow(roles.READ)
@require_safe
def participant(request: HttpRequest) -> HttpResponse:
    """One participant as a whole: summary, record, clusters, cases, people, the newest of the history."""
    clusters = list(cluster_queries.clusters().order_by("name")[:MOST_CLUSTERS])
    entries = list(history().exclude(kind=cluster_states.PART_EVENT).order_by("-occurred_at", "-id")[:NEWEST_ENTRIES])
    newest = live.stamp([{**row, "observed_at": None} for row in clusters], [entry.pk for entry in entries])
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    context = {
        "clusters": clusters,
        "entries": lines(entries),
        "unsettled": any(row["state"] not in cluster_states.AT_REST for row in clusters),
        "poll": live.address(request, newest),
        **_summary(request, clusters),
    }
    if not live.asked(request):
        context |= _record(request, clusters) | _people(request.tenant, internal=request.internal) | _owed(request)
        context["jumps"] = record_progress.jumps(context)
        if request.role in roles.CUSTOMER_ROLES:
            context["first_steps"] = next(iter(first_steps.left(request.role)), None)
        if request.internal:
            context |= {"stands": hand_over.stands(request), "may_note": request.role in roles.NOTE}
    return render(request, "program/participant.html" + ("#live" if live.asked(request) else ""), context)


def _summary(request: HttpRequest, clusters: list[dict[str, Any]]) -> dict[str, Any]:
    open_cases = list(
        cases.open_cases(role=request.role, person=request.person).select_related("owner").order_by("opened_at")
    )
    open_cases.sort(key=lambda case: case_states.SEVERITIES.index(case.severity))
    week_ago = timezone.now() - timedelta(days=7)
    jobs = Job.objects.filter(purpose=Job.Purpose.TRAINING).aggregate(
        live=Count("id", filter=Q(state__in=cluster_states.JOB_LIVE)),
        failed=Count("id", filter=Q(state__in=["failed", "timed_out"], ended_at__gte=week_ago)),
    )
    return {
        "ready": sum(row["state"] == "ready" for row in clusters),
        "broken": sum(row["state"] in cluster_states.BROKEN for row in clusters),
        "nodes_running": sum(row["nodes_running"] for row in clusters),
        "nodes_wanted": sum(row["nodes_wanted"] for row in clusters),
        "accelerators": sum(row["accelerators_wanted"] for row in clusters),
        "cases": open_cases[:MOST_CASES],
        "cases_in_all": len(open_cases),
        "urgent_cases": sum(case.severity in ("critical", "urgent") for case in open_cases),
        "jobs": jobs,
        "may_request": request.role in roles.OPERATE,
        "may_open_case": request.role in roles.WRITE_CASES,
    }


def _record(request: HttpRequest, clusters: list[dict[str, Any]]) -> dict[str, Any]:
    edits, now = request.role in roles.EDIT_RECORD, timezone.now()
    choice = chosen(request)
    place = choice.place
    is_current = place is None or place == choice.places[0]
    of = {"participation": place}
    models = list(TrainingModel.objects.filter(**of).order_by("code"))
    frameworks = list(FrameworkUse.objects.filter(**of).order_by("name"))
    software = list(SoftwareVersion.objects.filter(**of).order_by("component", "source"))
    places = places_to_train(clusters) if frameworks and is_current else []
    today = now.astimezone(ZoneInfo(request.person.timezone)).date()
    aged = {"model": models, "framework": frameworks, "software": software}
    return record_progress.shown(now, today, place.pk if place else None, **aged) | {
        "participation": place,
        "choice": choice,
        "record_of": "" if is_current else choice.of,
        "models": [_with_progress(model) for model in models],
        "frameworks": [(use, _degrees(use), check(use, places)) for use in frameworks],
        "software": side_by_side(software),
        "quotas": [_in_units(row) for row in cluster_queries.granted_and_used()],
        "quota_requests": list(cluster_queries.quota_requests()[:NEWEST_REQUESTS]),
        "reservations": list(cluster_queries.reservations()),
        "accounts": list(cluster_queries.accounts()),
        "file_systems": list(FileSystem.objects.select_related("cluster").order_by("cluster__name", "mount")),
        "buckets": list(Bucket.objects.select_related("cluster").order_by("name")),
        "minutes": list(
            Minutes.objects.order_by("-cutoff_at").values("pk", "review_number", "cutoff_at")[:MOST_MINUTES]
        ),
        "may_edit": edits,
        "may_edit_participation": request.role in roles.EDIT_QUOTAS,
        "gate_at": life.gate_address(place, request.role) if place else "",
        "may_connect": request.role in roles.CONNECT,
        "may_edit_quotas": request.role in roles.EDIT_QUOTAS,
        "may_edit_storage": request.role in roles.OPERATE,
    }


def _owed(request: HttpRequest) -> dict[str, Any]:
    """What the programme asks of the participant: reports with their days, and the onboarding until it is complete."""
    today = programme_today()
    owed = Report.objects.filter(state__in=sorted(reports.OWED)).order_by("due_on", "id")[:MOST_MINUTES]
    board = Onboarding.objects.order_by("-held_at").first()
    steps = OnboardingStep.objects.filter(onboarding=board).aggregate(
        all=Count("id"), left=Count("id", filter=Q(state="open"))
    )
    return {
        "owed": [
            {
                "row": row,
                "late": reports.is_late(row.state, row.due_on, today),
                "reminder": reports.reminder(row, today),
            }
            for row in owed
        ],
        "onboarding": board,
        "steps": steps,
        "may_write_down": request.role in roles.REVIEW,
    }


def _with_progress(model: TrainingModel) -> dict[str, Any]:
    target, done = model.target_amount, model.done_amount
    return {"model": model, "percent": min(100, round(100 * done / target)) if target and done is not None else None}


def places_to_train(clusters: Iterable[Mapping[str, Any]]) -> list[Place]:
    """Where a participant trains: the jobs that live, and the accelerated nodes of its clusters."""
    rows = Job.objects.filter(purpose=Job.Purpose.TRAINING, state__in=cluster_states.JOB_LIVE).order_by("name")
    jobs = rows.values_list("name", "cluster__main_type", "nodes")[:MOST_CLUSTERS]
    return [
        *(Place(*job) for job in jobs),
        *(Place(row["name"], row["main_type"], row["accelerated_wanted"]) for row in clusters),
    ]


DEGREES = {
    "tensor_parallel": "TP",
    "pipeline_parallel": "PP",
    "data_parallel": "DP",
    "context_parallel": "CP",
    "expert_parallel": "EP",
    "sequence_parallel": "SP",
    "fsdp": "FSDP",
    "zero_stage": "ZeRO",
}


def _degrees(use: FrameworkUse) -> list[tuple[str, int, Any]]:
    """Short name, degree, and what it is in full."""
    told = [
        (short, getattr(use, field), FrameworkUse._meta.get_field(field).verbose_name)
        for field, short in DEGREES.items()
    ]
    return [each for each in told if each[1] is not None]


def _in_units(row: dict[str, Any]) -> dict[str, Any]:
    """Instances are what is granted; accelerators and vCPUs are what others count in."""
    grant, used = row["grant"], row["used"]
    instance = facts.load().instance(grant.instance_type)
    units = [
        (_("instances"), 1),
        (_("accelerators"), instance.accelerators if instance else None),
        (_("vCPUs"), instance.vcpus if instance else None),
    ]
    if grant.unlimited:
        counted = [(name, None, used * each) for name, each in units if each]
        return row | {"units": counted, "left": None, "over": False}
    counted = [(name, grant.approved_instances * each, used * each) for name, each in units if each]
    return row | {"units": counted, "left": grant.approved_instances - used, "over": used > grant.approved_instances}


def _people(tenant: Tenant, *, internal: bool) -> dict[str, Any]:
    members = (
        Membership.objects.filter(holding(), tenant=tenant).select_related("person").order_by("role", "person__name")
    )
    team = Assignment.objects.filter(holding(), tenant=tenant).exclude(duty="service").select_related("person")
    order = {"lead": 0, "deputy": 1, "account": 2, "frameworks": 3}
    on = on_duty(timezone.now()) if internal else []
    return {
        "on_duty": [(team_words(row.team), row) for row in on if row.team in TEAMS],
        "members": list(members),
        "team": sorted(team, key=lambda each: (order.get(each.duty, 9), each.person.name)),
    }


@allow(roles.ENGINE_ROOM, write=roles.APPROVE)
@require_http_methods(["GET", "HEAD", "POST"])
def status(request: HttpRequest) -> HttpResponse:
    """The engine room: is it alive, what waits, what is stuck, which accounts are quiet."""
    if request.method == "POST":
        return _again(request)
    now = timezone.now()
    beat = Due.objects.filter(kind="heartbeat").order_by("-done_at").values_list("done_at", flat=True).first()
    accounts = list(CloudAccount.objects.select_related("tenant").order_by("last_contact_at", "account_id"))
    context = {
        "beat": beat,
        "alive": beat is not None and now - beat < ALIVE_WITHIN,
        "kinds": told(overview.waiting_by_kind()),
        "stuck": [{**row, "words": in_words(row["kind"])} for row in overview.stuck()],
        "lanes": list(Lane.objects.filter(cool_until__gt=now).order_by("name")),
        "accounts": accounts,
        "quiet_before": now - QUIET_AFTER,
        "now": now,
        "may_again": request.role in roles.APPROVE,
        "office": Tenant.objects.filter(is_office=True).first(),
        "poll": live.address(request, "always"),
    }
    return render(request, "program/status.html" + ("#live" if live.asked(request) else ""), context)


def _again(request: HttpRequest) -> HttpResponse:
    """Wish a stuck row again, in the name of the tenant it belongs to."""
    number = request.POST.get("row", "")
    known = number.isascii() and number.isdigit() and len(number) < 18
    row = Due.objects.filter(pk=int(number)).exclude(stuck="").first() if known else None
    if row is None:
        messages.warning(request, _("It is no longer stuck."))
        return see_other(reverse("status"))
    place = Tenant.objects.get(pk=row.tenant_id) if row.tenant_id else Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        due.wish(row.kind, row.ref, tenant=row.tenant_id, lane=row.lane)
        timeline.record(WORK_AGAIN, about=place, by=request.actor, what=f"{row.kind} {row.ref}", why=row.stuck)
    messages.success(request, _("Cohort tries it again."))
    return see_other(reverse("status"))


@allow(roles.STAFF)
@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """Every component in use, for whoever builds a page."""
    return render(request, "program/styleguide.html")
