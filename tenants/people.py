"""Who belongs to an organisation, who is invited: reads of the page and the API."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from tenants import contacts, inviting, queries
from tenants.models import Contact, Invitation, JoinRequest, Membership, Tenant
from tenants.web.templatetags.show import ROLES

MOST = 500


def memberships() -> QuerySet[Membership]:
    """Seats at the organisations of the scope. The directory is not row-secured, so this is the only way to list them."""
    return Membership.objects.filter(tenant__in=queries.tenants())


def seats(tenant: Tenant, today: date) -> list[Membership]:
    """Seats that hold or will hold, the leads' first."""
    rows = Membership.objects.filter(Q(ends_on=None) | Q(ends_on__gte=today), tenant=tenant, ended_at=None)
    return list(rows.select_related("person").order_by("role", F("person__name"), "pk")[:MOST])


def former(tenant: Tenant, today: date) -> list[Membership]:
    """The seats that ended last."""
    rows = Membership.objects.filter(Q(ends_on__lt=today) | Q(ended_at__isnull=False), tenant=tenant)
    return list(rows.select_related("person").order_by(F("ends_on").desc(nulls_last=True), "-pk")[:20])


def open_invitations() -> list[dict[str, Any]]:
    """What waits to be accepted, with what its link is worth now."""
    now = timezone.now()
    rows = list(Invitation.objects.filter(state=inviting.OPEN).order_by("-created_at", "-id")[:MOST])
    names = queries.actor_names({row.invited_by for row in rows}) if rows else {}
    return [
        {
            "row": row,
            "by": names.get(row.invited_by, row.invited_by),
            "standing": inviting.standing(row.state, row.expires_at, now),
        }
        for row in rows
    ]


def join_requests() -> list[JoinRequest]:
    """Whom the leads have not answered yet, oldest first."""
    return list(JoinRequest.objects.filter(state="open").order_by("created_at", "id")[:MOST])


def contacts_by_duty(now: datetime) -> list[dict[str, Any]]:
    """A row for each duty, with whoever answers for it and how fresh that is; a duty without anybody has none."""
    days = contacts.confirm_days()
    found: dict[str, list[dict[str, Any]]] = {duty: [] for duty in Contact.Duty.values}
    for row in Contact.objects.order_by("duty", "created_at", "id")[:MOST]:
        found[row.duty].append({"row": row, "standing": contacts.freshness(row.checked_at, now, days)})
    return [{"duty": Contact.Duty(duty), "contacts": rows} for duty, rows in found.items()]


def words_of(roles: Iterable[str]) -> list[tuple[str, Any]]:
    """Roles to choose from, in words."""
    return [(role, ROLES[role]) for role in roles]
