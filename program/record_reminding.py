"""Whoever keeps a block of the record is told once a week when nobody has looked at it for longer than it stays right."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from support.writing import moment
from tenants import mail
from tenants.models import Delivery, Membership, holding
from tenants.queries import ages_of_blocks
from tenants.record_blocks import BLOCKS, Age
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, heartbeat
from tenants.work.loop import handler

TEMPLATE = "program/mail/record_reminder.txt"
LOOK_AGAIN = timedelta(hours=12)


def keepers(word: str) -> set[str]:
    """The roles that are reminded of a block: whoever keeps it, and who leads the work."""
    return {BLOCKS[word].keeper, roles.TECHNICAL_LEAD}


def week_of(now: datetime) -> str:
    """One reminder a week: the ISO week in UTC."""
    year, week, _day = now.isocalendar()
    return f"{year}-W{week:02d}"


def old_blocks(ages: dict[tuple[UUID, str], Age]) -> dict[UUID, list[str]]:
    """Tenant -> its blocks that are old, in the order of the record."""
    found: dict[UUID, list[str]] = defaultdict(list)
    for word in BLOCKS:
        for (tenant, block), age in ages.items():
            if block == word and age.old:
                found[tenant].append(word)
    return dict(found)


@handler(heartbeat.recurs("remind-records"), queue="deliver")
def remind(held: due.Held) -> None:
    """Wish for one reminder for each keeper and week; doing it again wishes for none that was wished for."""
    now = moment(None)
    with reading_everyone():
        old = old_blocks(ages_of_blocks(now))
    members = Membership.objects.filter(holding(), tenant__in=list(old)).select_related("person", "tenant")
    for one in members.order_by("pk"):
        if any(one.role in keepers(word) for word in old[one.tenant_id]):
            with acting_for(one.tenant, staff=True):
                mail.tell(person=one.person, tenant=one.tenant, kind=REMINDER, key=week_of(now))
    with transaction.atomic():
        due.finish(held, again_in=LOOK_AGAIN)


def _compose(row: Delivery, place: Seat) -> mail.Message | None:
    """The old blocks that this person keeps; nothing when they were seen to meanwhile."""
    ages = ages_of_blocks(moment(None))
    words = [word for word in old_blocks(ages).get(row.tenant_id, []) if place.role in keepers(word)]
    if not words:
        return None
    blocks: list[dict[str, Any]] = [{"title": BLOCKS[word].title, "age": ages[row.tenant_id, word]} for word in words]
    context = {"blocks": blocks, "count": len(blocks), "tenant": row.tenant}
    return mail.Message(TEMPLATE, context | {"address": mail.address("participant", row.tenant.slug) + "#record"})


REMINDER = mail.kind(
    "record-reminder",
    name=_("Reminder of old parts of the record"),
    label=_("Reminder of old parts of the record"),
    help=_("Once a week, when a part of the record that you keep was not looked at for longer than it stays right."),
    compose=_compose,
)
