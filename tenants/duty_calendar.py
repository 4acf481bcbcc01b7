"""Pure: shifts as an iCalendar file, which a person's own calendar understands and asks for again."""

from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext as _
from icalendar import Calendar, Event

from tenants.models import DutyShift
from tenants.rosters import team_words


def calendar(rows: Iterable[DutyShift], *, now: datetime, site: str) -> bytes:
    """One event for each shift, in UTC; the same shift keeps its id, so that a swap changes it in every calendar."""
    found = Calendar()
    found.add("prodid", "-//Cohort//duty//EN")
    found.add("version", "2.0")
    found.add("x-wr-calname", str(_("Duty roster")))
    for row in rows:
        event = Event()
        event.add("uid", f"duty-{row.pk}@{site.partition('//')[2].strip('/') or 'cohort'}")
        event.add("dtstamp", now)
        event.add("dtstart", row.starts_at)
        event.add("dtend", row.ends_at)
        event.add("summary", f"{team_words(row.team)}: {row.person} ({row.get_part_display()})")
        found.add_component(event)
    made: bytes = found.to_ical()
    return made
