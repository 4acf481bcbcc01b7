"""When somebody last spoke with a participant and what was said, what is promised it next; and both written down at once.

One answer for the portfolio, the engagement board, the participant's page and the hand-over sheet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from program.decisions import give_action_item
from program.models import ActionItem
from support.models import Case
from support.states import CASE_NOTED, OPEN
from tenants.actions import note_interaction
from tenants.entries import NOTED
from tenants.history.models import Entry, Note
from tenants.models import Participation, Person, Tenant
from tenants.queries import Line, lines

# What says that people spoke: a contact that was noted, and what is written on a case for the participant to read.
SPOKEN: tuple[dict[str, Any], ...] = ({"kind": NOTED}, {"kind": CASE_NOTED, "audience": "shared"})


def spoken() -> QuerySet[Entry]:
    """Those entries within the scope, newest first."""
    wanted = Q()
    for each in SPOKEN:
        wanted |= Q(**each)
    return Entry.objects.filter(wanted).order_by("-occurred_at", "-id")


def last_spoken(tenants: Iterable[UUID]) -> dict[UUID, Line]:
    """The last of them for each participant, in words; the same few queries for one and for a thousand."""

    def last(told: dict[str, Any]) -> Subquery:
        rows = Entry.objects.filter(tenant=OuterRef("pk"), **told)
        return Subquery(rows.order_by("-occurred_at", "-id").values("pk")[:1])

    rows = Tenant.objects.filter(pk__in=list(tenants)).annotate(noted=last(SPOKEN[0]), written=last(SPOKEN[1]))
    wanted = [pk for pair in rows.values_list("noted", "written") for pk in pair if pk]
    newest: dict[UUID, Entry] = {}
    for entry in Entry.objects.filter(pk__in=wanted).order_by("occurred_at", "id"):
        newest[entry.tenant_id] = entry
    return dict(zip(newest, lines(list(newest.values())), strict=True))


@dataclass(frozen=True)
class Promise:
    """What was promised by when: a case's next step, or an action item; (route, id) is its page."""

    day: date
    words: str
    route: str
    pk: UUID


def promises(tenants: Iterable[UUID]) -> dict[UUID, Promise]:
    """The nearest for each participant."""
    ids = list(tenants)
    cases = Case.objects.filter(tenant__in=ids, state__in=OPEN, next_step_due__isnull=False)
    items = ActionItem.objects.filter(tenant__in=ids, state="open")
    found: dict[UUID, Promise] = {}
    for route, rows, columns in (
        ("case", cases, ("next_step_due", "next_step")),
        ("action_item", items, ("due", "text")),
    ):
        nearest = rows.order_by("tenant_id", columns[0], "pk").distinct("tenant_id")
        for tenant, day, words, pk in nearest.values_list("tenant_id", *columns, "pk"):
            if tenant not in found or day < found[tenant].day:
                found[tenant] = Promise(day, words, route, pk)
    return found


def note_contact(
    *,
    participation: Participation,
    medium: str,
    text: str,
    audience: str,
    by: Person,
    actor: str,
    at: datetime | None = None,
    with_whom: str = "",
    promise: str = "",
    promised_for: date | None = None,
) -> Note:
    """Write down a contact, with whom it was, and what was promised in it: an action item of whoever writes."""
    # Names stand in the text, which can be emptied when somebody is erased, and not among an entry's facts.
    whole = "\n".join(part for part in (with_whom, text) if part)
    note = note_interaction(participation=participation, medium=medium, text=whole, audience=audience, by=actor, at=at)
    if promise and promised_for:
        give_action_item(
            tenant=participation.tenant,
            text=promise,
            owner=by,
            due=promised_for,
            by=actor,
            kind="inform",
            audience=audience,
        )
    return note
