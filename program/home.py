"""What a customer's overview shows beside the participations: what waits for them, the days ahead, jobs, limits, and who
helps them. The number of queries is the same for one participation and for many."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from clusters import capacity_queries
from clusters import queries as cluster_queries
from clusters import states as cluster_states
from clusters.budgets import queries as budget_queries
from clusters.models import CapacityRequest, Job
from program import first_steps, reports
from program.models import ActionItem, Onboarding, Report
from program.queries import sessions_ahead
from support import queries as cases
from tenants import assigning
from tenants.models import Assignment, DataIngest, JoinRequest, Milestone, Participation, Person, holding
from tenants.wall import roles
from tenants.web.templatetags.show import DUTY_WORDS

MOST = 8
MOST_JOBS = 6
MOST_ASKED = 3
LATELY = timedelta(days=14)
OVER = {"participation__state__in": ("closed", "withdrawn")}  # an earlier cycle's: nothing is waited for
FAR = timedelta(days=60)  # what is further ahead is on the pages of its own
DUTY_ORDER = {duty: place for place, duty in enumerate(assigning.DUTIES)}
DUTIES = DUTY_WORDS


@dataclass(frozen=True)
class Waiting:
    """Something that a person of this participant has to do; `due` is the day by which, where there is one."""

    tenant: str
    title: str
    what: str
    address: str
    due: date | None = None

    def is_late(self, today: date) -> bool:
        return self.due is not None and self.due < today


@dataclass(frozen=True)
class Day:
    """Something that happens on a day."""

    on: date
    tenant: str
    title: str
    what: str
    address: str


def shown(*, person: Person, role: str, now: datetime) -> dict[str, Any]:
    """All of it, for the tenants of the scope."""
    zone = ZoneInfo(person.timezone)
    today = now.astimezone(zone).date()
    waits = sorted(waiting(person=person, role=role), key=lambda one: (one.due or date.max, one.title))
    return {
        "waits": [(one, one.is_late(today)) for one in waits[:MOST]],
        "waits_in_all": len(waits),
        "days": days(today, zone)[:MOST],
        "helpers": helpers(today),
        "first_steps": first_steps.left(role),
        "live_jobs": list(
            Job.objects.filter(state__in=cluster_states.JOB_LIVE, purpose=Job.Purpose.TRAINING)
            .select_related("tenant", "cluster")
            .order_by("-created_at")[:MOST_JOBS]
        ),
        "budgets": budgets()[:MOST],
        "limits": cluster_queries.granted_and_used()[:MOST],
        "asked": (found := asked(now)),
        "asked_waiting": sum(row.state == "waiting" for row in found),
        "today": today,
    }


def asked(now: datetime) -> list[CapacityRequest]:
    """Requests for capacity that wait, and those that somebody decided lately, with why."""
    lately = Q(decided_at__gt=now - LATELY, rule="") & ~Q(state="withdrawn")
    return list(capacity_queries.requests().filter(Q(state="waiting") | lately)[:MOST_ASKED])


def budgets() -> list[dict[str, Any]]:
    """What is left of each budget of the scope; those that are not set too, which says so."""
    places = list(budget_queries.budgets())
    known = budget_queries.known_of(places)
    books = {programme: budget_queries.prices.book(programme) for programme in {row.cycle.programme for row in places}}
    return [
        {
            "place": row,
            "found": budget_queries.reckoning(known[row.pk], books[row.cycle.programme]),
            "currency": row.cycle.programme.currency,
        }
        for row in places
    ]


def waiting(*, person: Person, role: str) -> list[Waiting]:
    """What the participant itself has to do: cases that wait for it, action items, reports, data."""
    found = [
        Waiting(case.tenant.slug, f"{case.number} {case.title}", _("the case waits for your answer"),
                reverse("case", args=[case.tenant.slug, case.pk]), case.next_step_due)
        for case in cases.open_cases(role=role, person=person)
        .filter(state="waiting_customer").select_related("tenant").order_by("opened_at")[:MOST]
    ]  # fmt: skip
    found += [
        Waiting(item.tenant.slug, item.text, _("action item %(number)s") % {"number": item.number},
                reverse("action_item", args=[item.tenant.slug, item.pk]), item.due)
        for item in ActionItem.objects.filter(state="open", owner=person).select_related("tenant").order_by("due")[:MOST]
    ]  # fmt: skip
    found += [
        Waiting(report.tenant.slug, f"{report.get_kind_display()} {report.period}", _("the report is to be handed in"),
                reverse("report", args=[report.tenant.slug, report.pk]), report.due_on)
        for report in Report.objects.filter(state__in=sorted(reports.OWED)).exclude(kind__in=sorted(reports.BY_THE_OFFICE))
        .select_related("tenant").order_by("due_on", "id")[:MOST]
    ]  # fmt: skip
    if role == roles.BUSINESS_LEAD:
        counted = Report.objects.filter(state="submitted", kind__in=sorted(reports.BY_THE_OFFICE))
        found += [
            Waiting(report.tenant.slug, f"{report.get_kind_display()} {report.period}", _("say whether it is right"),
                    reverse("report", args=[report.tenant.slug, report.pk]))
            for report in counted.select_related("tenant").order_by("due_on", "id")[:MOST]
        ]  # fmt: skip
    if role in roles.MANAGE_PEOPLE:
        found += [
            Waiting(
                one.tenant.slug, one.name or one.email, _("asks to join"), reverse("people", args=[one.tenant.slug])
            )
            for one in JoinRequest.objects.filter(state="open").select_related("tenant").order_by("created_at")[:MOST]
        ]
    late = DataIngest.objects.filter(ready_on=None).exclude(engine_state__in=DataIngest.CALLED_OFF).exclude(**OVER)
    found += [
        Waiting(one.tenant.slug, one.name, _("the data is not ready"), f"{_of(one.tenant.slug)}#ingests", one.due_on)
        for one in late.select_related("tenant").order_by("due_on", "name")[:MOST]
    ]
    return found


def days(today: date, zone: ZoneInfo) -> list[Day]:
    """What happens within two months, and the onboarding's session however far; a moment falls on its day in this zone."""
    until = today + FAR
    begins, ends = (datetime.combine(day, time.min, zone) for day in (today, until + timedelta(days=1)))
    found = [
        Day(one.due_on, one.tenant.slug, one.title, one.get_kind_display(), f"{_of(one.tenant.slug)}#milestones")
        for one in Milestone.objects.filter(done_on=None, due_on__range=(today, until)).exclude(**OVER)
        .select_related("tenant").order_by("due_on")[:MOST]
    ]  # fmt: skip
    gates = {(one.on, one.tenant) for one in found}  # a milestone of that day says it already
    found += [
        Day(on, "", row.title, row.get_kind_display(), reverse("session", args=[row.pk]))
        for row in sessions_ahead()[:MOST]
        if today <= (on := row.starts_at.astimezone(zone).date()) <= until
    ]
    found += [
        Day(one.ends_at.astimezone(zone).date(), one.tenant.slug, f"{one.count} × {one.instance_type}", _("the reservation ends"),
            f"{_of(one.tenant.slug)}#reservations")
        for one in cluster_queries.reservations().filter(ends_at__gte=begins, ends_at__lt=ends).select_related("tenant")[:MOST]
    ]  # fmt: skip
    found += [
        Day(one.held_at.astimezone(zone).date(), one.tenant.slug, _("Onboarding"), _("the session with %(name)s") % {"name": one.lead},
            reverse("onboarding_list", args=[one.tenant.slug, one.pk]))
        for one in Onboarding.objects.filter(held_at__gte=begins).select_related("tenant", "lead")[:MOST]
    ]  # fmt: skip
    for row in Participation.objects.select_related("cycle", "tenant").exclude(state__in=("closed", "withdrawn")):
        dates = {
            _("stage gate"): None if row.gate else row.cycle.stage_gate_on,
            _("the final report is due"): row.cycle.final_report_due,
            _("the participation ends"): row.ends_on,
            _("the cycle ends"): None if row.ends_on else row.cycle.ends_on,
        }
        found += [
            Day(on, row.tenant.slug, row.cycle.name, what, _of(row.tenant.slug))
            for what, on in dates.items()
            if on and today <= on <= until and (on, row.tenant.slug) not in gates
        ]
    return sorted(found, key=lambda one: (one.on, one.title))


def helpers(today: date) -> list[dict[str, Any]]:
    """Who looks after whom, the lead first; those who only see single cases are not among them."""
    tenants = Participation.objects.values_list("tenant_id", flat=True)
    rows = (
        Assignment.objects.filter(holding(today), tenant__in=list(tenants), duty__in=list(DUTY_ORDER))
        .select_related("person", "tenant")
        .order_by("tenant__name")
    )
    seen: set[tuple[UUID, Any]] = set()
    found = []
    for row in sorted(rows, key=lambda one: (one.tenant.name, DUTY_ORDER[one.duty], one.person.name)):
        if (row.tenant_id, row.person_id) not in seen:
            seen.add((row.tenant_id, row.person_id))
            found.append({"person": row.person, "duty": DUTIES[row.duty], "tenant": row.tenant})
    leading = Onboarding.objects.filter(tenant__in=list(tenants), completed_on=None).select_related("lead", "tenant")
    for made in leading.order_by("held_at"):
        if (made.tenant_id, made.lead_id) not in seen:
            seen.add((made.tenant_id, made.lead_id))
            found.append({"person": made.lead, "duty": _("Leads the onboarding"), "tenant": made.tenant})
    return found


def _of(tenant: str) -> str:
    return reverse("participant", args=[tenant])
