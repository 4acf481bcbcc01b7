"""What a member of staff may decide now, over all participants: requests, applications, people who ask to join."""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import capacity_queries
from clusters.actions import capacity
from clusters.models import Cluster, Operation
from program import life
from program.models import Application
from tenants.models import JoinRequest, Participation, Person
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
        found += _applications(person)
    if role in roles.PUBLISH:
        found += _gates()
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


def _applications(person: Person) -> list[ToDecide]:
    rows: Any = Application.objects.filter(state="submitted").exclude(contact_email=person.email.lower())
    return [
        ToDecide(f"{row.number} {row.organisation}", _("an application is to be scored and decided"),
                 reverse("application", args=[row.tenant.slug, row.pk]), row.submitted_at or row.created_at)
        for row in rows.select_related("tenant").order_by("submitted_at")[:MOST]
    ]  # fmt: skip


def _gates() -> list[ToDecide]:
    """Stage gates that have come and that nobody has decided."""
    today = timezone.now().date()
    rows = Participation.objects.filter(state__in=life.GATED, gate="", cycle__stage_gate_on__lte=today)
    return [
        ToDecide(f"{row.tenant.name}: {row.code}", _("its stage gate is to be decided"),
                 reverse("decide_gate", args=[row.tenant.slug, row.pk]),
                 datetime.combine(row.cycle.stage_gate_on, time.min, UTC))
        for row in rows.select_related("tenant", "cycle").order_by("cycle__stage_gate_on", "pk")[:MOST]
    ]  # fmt: skip


def _join_requests() -> list[ToDecide]:
    rows = JoinRequest.objects.filter(state="open").select_related("tenant").order_by("created_at")
    return [
        ToDecide(f"{row.tenant.name}: {row.name or row.email}", _("asks to join"), reverse("people", args=[row.tenant.slug]), row.created_at)
        for row in rows[:MOST]
    ]  # fmt: skip
