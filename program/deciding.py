"""What a member of staff may decide now, over all participants: requests, applications, people who ask to join."""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.db.models import Count, Exists, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import capacity_queries
from clusters.actions import capacity
from clusters.models import Cluster, Operation
from program import life, reports
from program.calls import calling, selecting
from program.models import Application, ApplicationScore, Report
from tenants.models import JoinRequest, Participation, Person
from tenants.programme_day import programme_today
from tenants.wall import roles

MOST = 20


@dataclass(frozen=True)
class ToDecide:
    """One thing that waits for a decision, since when, and where it is decided."""

    title: str
    what: str
    address: str
    since: datetime


def to_decide(*, person: Person, role: str) -> list[ToDecide]:
    """What the reader may decide, the oldest first; what the reader asked for itself is for somebody else."""
    found: list[ToDecide] = []
    if role in roles.APPROVE:
        found += [*_capacity(person), *_clusters(person), *_changes(person)]
    if role in roles.SCORE | roles.PUBLISH:
        found += _applications(person, role)
    if role in roles.PUBLISH:
        found += _gates()
    if kinds := [kind for kind in Report.Kind.values if reports.may("accept", kind, role)]:
        found += _reports(kinds)
    if role in roles.MANAGE_PEOPLE:
        found += _join_requests()
    return sorted(found, key=lambda one: one.since)


def _capacity(person: Person) -> list[ToDecide]:
    rows = capacity_queries.requests().filter(state="waiting").exclude(asked_by=person.actor)
    return [
        ToDecide(f"{row.tenant.name}: {row.instances} × {row.instance_type}", _("request for capacity %(number)s") % {"number": row.number},
                 reverse("capacity_request", args=[row.tenant.slug, row.pk]), row.created_at)
        for row in rows.order_by("created_at")[:MOST] if not (row.asked_by.startswith("token:") and capacity.own(row, person))
    ]  # fmt: skip


def _clusters(person: Person) -> list[ToDecide]:
    rows = (
        Cluster.objects.filter(state="requested")
        .exclude(requested_by=person.actor)
        .select_related("tenant")
        .order_by("created_at")
    )
    return [
        ToDecide(f"{row.tenant.name}: {row.name}", _("a cluster waits for approval"),
                 reverse("cluster", args=[row.tenant.slug, row.pk]), row.created_at)
        for row in rows[:MOST]
    ]  # fmt: skip


def _changes(person: Person) -> list[ToDecide]:
    rows = Operation.objects.filter(state="waiting").exclude(asked_by=person.actor).exclude(kind=Operation.Kind.CREATE)
    return [
        ToDecide(f"{row.tenant.name}: {row.cluster.name}", _("a plan waits for approval: %(what)s") % {"what": row.get_kind_display()},
                 reverse("cluster", args=[row.tenant.slug, row.cluster_id]), row.created_at)
        for row in rows.select_related("tenant", "cluster").order_by("created_at")[:MOST]
    ]  # fmt: skip


def asks_for(*, takes: bool, small: bool, mine: bool, scores: int, may_score: bool, may_decide: bool) -> str:
    """What an application that was handed in asks of a member of staff now: `decide`, `score`, or nothing.

    `takes`: its call still takes applications, so that it may change and, unless it is `small`, is not decided. `mine`:
    the reader scored it. `scores`: by how many it was scored.
    """
    if takes and not small:
        return ""
    if may_decide and (small or scores):
        return "decide"
    return "score" if may_score and not mine and not small else ""


def _applications(person: Person, role: str) -> list[ToDecide]:
    given = ApplicationScore.objects.filter(application=OuterRef("pk"))
    rows: Any = (
        Application.objects.filter(state="submitted")
        .exclude(contact_email=person.email.lower())
        .annotate(
            mine=Exists(given.filter(reviewer=person)),
            scored=Coalesce(Subquery(given.order_by().values("application").annotate(n=Count("*")).values("n")), 0),
        )
        .select_related("tenant", "call")
        .order_by("submitted_at")
    )
    now, found = timezone.now(), []
    may = {"may_score": role in roles.SCORE, "may_decide": role in roles.PUBLISH}
    for row in rows:
        small = selecting.is_small(row, row.call)
        what = asks_for(takes=calling.takes(row.call, now), small=small, mine=row.mine, scores=row.scored, **may)
        if not what:
            continue
        at = reverse("application", args=[row.tenant.slug, row.pk])
        found.append(
            ToDecide(
                f"{row.number} {row.organisation}",
                _of_application(what, row.scored),
                at,
                row.submitted_at or row.created_at,
            )
        )
    return found[:MOST]


def _of_application(what: str, scores: int) -> str:
    if what == "score":
        return _("an application is to be scored")
    if not scores:
        return _("a small application may be decided at once")
    told = ngettext(
        "an application with %(n)s score is to be decided", "an application with %(n)s scores is to be decided", scores
    )
    return told % {"n": scores}


def _gates() -> list[ToDecide]:
    """Stage gates that have come and that nobody has decided."""
    today = programme_today()
    rows = Participation.objects.filter(state__in=life.GATED, gate="", cycle__stage_gate_on__lte=today)
    return [
        ToDecide(f"{row.tenant.name}: {row.code}", _("its stage gate is to be decided"),
                 reverse("decide_gate", args=[row.tenant.slug, row.pk]),
                 datetime.combine(row.cycle.stage_gate_on, time.min, UTC))
        for row in rows.select_related("tenant", "cycle").order_by("cycle__stage_gate_on", "pk")[:MOST]
    ]  # fmt: skip


def _reports(kinds: list[str]) -> list[ToDecide]:
    """Reports that were handed in and that nobody has answered."""
    rows = Report.objects.filter(state="submitted", kind__in=kinds).select_related("tenant")
    return [
        ToDecide(f"{row.tenant.name}: {row.get_kind_display()} {row.period}", _("a report waits for an answer"),
                 reverse("report", args=[row.tenant.slug, row.pk]), row.handed_in_at or row.created_at)
        for row in rows.order_by("handed_in_at", "pk")[:MOST]
    ]  # fmt: skip


def _join_requests() -> list[ToDecide]:
    rows = JoinRequest.objects.filter(state="open").select_related("tenant").order_by("created_at")
    return [
        ToDecide(f"{row.tenant.name}: {row.name or row.email}", _("asks to join"), reverse("people", args=[row.tenant.slug]), row.created_at)
        for row in rows[:MOST]
    ]  # fmt: skip
