"""Whoever writes a participant's reports is told by mail which are due: once a week, and on the eve and the day itself."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from program import reports
from program.models import Report
from support.writing import moment
from tenants import mail
from tenants.models import Delivery, Membership, holding
from tenants.programme_day import programme_day
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, heartbeat
from tenants.work.loop import handler

TEMPLATE = "program/mail/report_reminder.txt"
LOOK_AGAIN = timedelta(hours=12)
MOST = 50


def keys_of(due_days: Iterable[date], today: date) -> set[str]:
    """The reminders of this day for reports due on these days: one a week, one on the eve, one on the day itself."""
    near = [day for day in due_days if (day - today).days <= reports.SOON_DAYS]
    year, week, _day = today.isocalendar()
    found = {f"{year}-W{week:02d}"} if near else set()
    return found | {f"{day.isoformat()} {(day - today).days}" for day in near if (day - today).days in (0, 1)}


def owed(today: date, **narrowed: Any) -> list[Report]:
    """What participants have to hand in within two weeks, or are late with; the office's own part is not among it."""
    rows = Report.objects.filter(
        state__in=sorted(reports.OWED), due_on__lte=today + timedelta(days=reports.SOON_DAYS), **narrowed
    )
    rows = rows.exclude(kind__in=sorted(reports.BY_THE_OFFICE)).exclude(participation__state="withdrawn")
    return list(rows.order_by("due_on", "id"))


@handler(heartbeat.recurs("remind-reports"), queue="deliver")
def remind(held: due.Held) -> None:
    """Wish for each reminder of today; doing it again wishes for none that was wished for."""
    today = moment(None).date()
    days: dict[Any, list[date]] = {}
    with reading_everyone():
        for row in owed(today):
            days.setdefault(row.tenant_id, []).append(row.due_on)
    leads = Membership.objects.filter(holding(), tenant__in=list(days), role=roles.BUSINESS_LEAD)
    for one in leads.select_related("person", "tenant").order_by("pk"):
        with acting_for(one.tenant, staff=True):
            for key in sorted(keys_of(days[one.tenant_id], today)):
                mail.tell(person=one.person, tenant=one.tenant, kind=REMINDER, key=key)
    with transaction.atomic():
        due.finish(held, again_in=LOOK_AGAIN)


def _compose(row: Delivery, place: Seat) -> mail.Message | None:
    """All that is due, whatever it was wished for; nothing when it was handed in meanwhile."""
    now: datetime = moment(None)
    today = programme_day(now)
    found = owed(today)[:MOST]
    if not found or place.role != roles.BUSINESS_LEAD:
        return None
    told = [
        {"row": one, "when": reports.reminder(one, today), "address": mail.address("report", row.tenant.slug, one.pk)}
        for one in found
    ]  # fmt: skip
    return mail.Message(TEMPLATE, {"reports": told, "count": len(told), "tenant": row.tenant})


REMINDER = mail.kind(
    "report-reminder",
    name=_("Reminder of reports that are due"),
    label=_("Reminder of reports that are due"),
    help=_("When you lead the business side: once a week while a report is due within two weeks, and on its day."),
    compose=_compose,
)
