"""A day before the cut-off of a weekly review, owners are reminded of what they have left without a step, a date or a word."""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from program.models import ActionItem
from support import clocks, states
from support.models import Case
from support.writing import moment
from tenants import mail
from tenants.models import Cycle, Delivery, Membership, Person, holding
from tenants.programme_day import programme_day, programme_zone
from tenants.wall import roles
from tenants.wall.access import Seat, seat
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, heartbeat
from tenants.work.loop import handler

BEFORE = timedelta(hours=24)
LOOK_AGAIN = timedelta(hours=1)  # settings of the programme may change, and owners too
QUIET_DAYS = 5
TEMPLATE = "program/mail/review_reminder.txt"
WORDS = {
    "no_next_step": _("no next step"),
    "step_overdue": _("its date has passed"),
    "quiet": _("nothing was written for five days or more"),
    "item_overdue": _("its date has passed"),
}


def cutoff_to_remind_of(now: datetime, weekday: int, at: Any, zone: str) -> datetime | None:
    """The cut-off that lies less than a day ahead."""
    ahead = clocks.next_cutoff(now, weekday, at, zone)
    return ahead if now >= ahead - BEFORE else None


def until_next_look(now: datetime, weekday: int, at: Any, zone: str) -> timedelta:
    """When to look again: when the day before the cut-off begins, and every hour at least."""
    begins = clocks.next_cutoff(now, weekday, at, zone) - BEFORE
    return min(begins - now, LOOK_AGAIN) if now < begins else LOOK_AGAIN


def lacking(
    *, next_step: str, next_step_due: date | None, started: datetime, last_shared: datetime | None, now: datetime
) -> list[str]:
    """What an open case has to get from its owner before the review."""
    found = {
        "no_next_step": not next_step,
        "step_overdue": next_step_due is not None and next_step_due < now.date(),
        "quiet": clocks.idle_days(started, last_shared, now) >= QUIET_DAYS,
    }
    return [word for word, holds in found.items() if holds]


def cases_lacking(cycle: Cycle, now: datetime, **narrowed: Any) -> list[tuple[Case, list[str]]]:
    """Open cases of a cycle that have an owner and lack something, within the scope."""
    ours = Q(participation__cycle=cycle) | Q(participation=None)
    now = now.astimezone(programme_zone())
    rows = Case.objects.filter(ours, state__in=states.OPEN, owner__isnull=False, **narrowed)
    found = [
        (
            row,
            lacking(
                next_step=row.next_step,
                next_step_due=row.next_step_due,
                started=clocks.started(row.opened_at, row.reopened_at),
                last_shared=row.last_shared_at,
                now=now,
            ),
        )
        for row in rows.select_related("tenant").order_by("tenant__name", "opened_at")
    ]
    return [(row, why) for row, why in found if why]


def items_overdue(now: datetime, **narrowed: Any) -> list[ActionItem]:
    rows = ActionItem.objects.filter(state="open", due__lt=programme_day(now), **narrowed)
    return list(rows.select_related("tenant").order_by("due", "number"))


@handler(heartbeat.recurs("remind"), queue="deliver")
def remind(held: due.Held) -> None:
    """Wish for one reminder for each owner and cut-off; doing it again wishes for none that was wished for."""
    now = moment(None)
    running = Cycle.objects.filter(state="running").select_related("programme")
    waits = [LOOK_AGAIN]
    for cycle in running:
        clock = (now, cycle.programme.cutoff_weekday, cycle.programme.cutoff_time, cycle.programme.timezone)
        waits.append(until_next_look(*clock))
        cutoff = cutoff_to_remind_of(*clock)
        if cutoff is not None:
            for person, place in owners_to_remind(cycle, now).items():
                with acting_for(place, staff=True):
                    mail.tell(person=person, tenant=place, kind=REMINDER, key=key_of(cycle, cutoff))
    with transaction.atomic():
        due.finish(held, again_in=max(min(waits), timedelta(minutes=1)))


def owners_to_remind(cycle: Cycle, now: datetime) -> dict[Person, Any]:
    """Each owner of something that lacks something, and the tenant at whose table they sit."""
    with reading_everyone():
        owners = {row.owner_id for row, _why in cases_lacking(cycle, now)}
        owners |= {row.owner_id for row in items_overdue(now)}
    seats = defaultdict(list)
    for one in (
        Membership.objects.filter(holding(), person__in=owners).select_related("person", "tenant").order_by("pk")
    ):
        seats[one.person].append(one)
    return {
        person: next((one.tenant for one in held if one.tenant.is_office), held[0].tenant)
        for person, held in seats.items()
    }


def key_of(cycle: Cycle, cutoff: datetime) -> str:
    return f"{cycle.pk} {cutoff.astimezone(UTC).isoformat()}"


def _compose(row: Delivery, place: Seat) -> mail.Message | None:
    """What the owner still has to do, as the owner's own pages show it; nothing when it was done meanwhile."""
    number, _blank, cutoff = row.key.partition(" ")
    cycle = Cycle.objects.select_related("programme").get(pk=int(number))
    now, until = moment(None), datetime.fromisoformat(cutoff)
    if now >= until:
        return None
    whole = seat(row.person, None)
    with whole.scope():
        cases = cases_lacking(cycle, now, owner=row.person)
        items = items_overdue(now, owner=row.person) if whole.role in roles.READ else []
    if not cases and not items:
        return None
    context = {
        "cutoff": until,
        "cycle": cycle,
        "count": len(cases) + len(items),
        "cases": [
            {
                "row": case,
                "why": [WORDS[word] for word in why],
                "address": mail.address("case", case.tenant.slug, case.pk),
            }
            for case, why in cases
        ],
        "items": [{"row": item, "address": mail.address("action_item", item.tenant.slug, item.pk)} for item in items],
    }
    return mail.Message(TEMPLATE, context)


REMINDER = mail.kind(
    "review-reminder",
    name=_("Reminder before the weekly review"),
    label=_("Reminder before the weekly review"),
    help=_("A day before the cut-off, when something you own lacks a next step, has passed its date, or was silent."),
    compose=_compose,
)
