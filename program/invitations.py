"""Pure: sessions as an iCalendar file, which a person's own calendar understands."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from icalendar import Calendar, Event, vText

from program.models import Session


def calendar(sessions: Iterable[Session], *, now: datetime, site: str) -> bytes:
    """An event for each; the same session is the same event whenever the file is taken again."""
    found = Calendar()
    found.add("prodid", "-//Cohort//Sessions//EN")
    found.add("version", "2.0")
    found.add("method", "PUBLISH")
    for session in sessions:
        found.add_component(_event(session, now, site))
    return bytes(found.to_ical())


def _event(session: Session, now: datetime, site: str) -> Event:
    address = f"{site}/sessions/{session.pk}/"
    event = Event()
    event.add("uid", f"{session.pk}@cohort")
    event.add("dtstamp", now.astimezone(UTC))
    event.add("dtstart", session.starts_at.astimezone(UTC))
    event.add("dtend", (session.starts_at + timedelta(minutes=session.minutes)).astimezone(UTC))
    event.add("summary", f"{session.code} {session.title}")
    event.add("sequence", session.version)
    event.add("status", "CANCELLED" if session.cancelled_at else "CONFIRMED")
    event.add("url", address)
    if session.place:
        event.add("location", vText(session.place))
    lines = [session.cancelled_why, session.prerequisites, *(f"- {line}" for line in session.agenda), address]
    event.add("description", "\n".join(line for line in lines if line))
    return event
