"""Pure clocks of a case: first response, age, idle time, the age limit, pauses; and the programme's weekly cut-off."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

FIRST_RESPONSE: Mapping[str, timedelta] = {
    "critical": timedelta(minutes=15),
    "urgent": timedelta(minutes=60),
    "high": timedelta(minutes=240),
    "normal": timedelta(minutes=720),
    "low": timedelta(minutes=1440),
}
AGE_LIMIT: Mapping[str, timedelta] = {
    "critical": timedelta(days=1),
    "urgent": timedelta(days=3),
    "high": timedelta(days=7),
    "normal": timedelta(days=14),
    "low": timedelta(days=28),
}
BANDS: tuple[tuple[int, str], ...] = ((0, "0–2"), (3, "3–6"), (7, "7–13"), (14, "14–27"), (28, "28+"))
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Pause:
    """A time in which the case waited for the customer; an open end is None."""

    begin: datetime
    end: datetime | None = None


def started(opened: datetime, reopened: datetime | None) -> datetime:
    """When the clocks began: a reopening restarts them, the first opening stays visible elsewhere."""
    return reopened if reopened is not None and reopened > opened else opened


def response_due(severity: str, start: datetime, severity_since: datetime | None = None) -> datetime:
    """When the first human, shared message is due.

    A severity that was raised counts from when it was raised: nobody can be late before it was known to be urgent.
    """
    limit = FIRST_RESPONSE[severity]
    return max(start, severity_since) + limit if severity_since else start + limit


def response_overdue(
    severity: str, start: datetime, answered: datetime | None, now: datetime, severity_since: datetime | None = None
) -> bool:
    """Nobody has answered, and the time to do so is over."""
    return not _answered(start, answered) and now > response_due(severity, start, severity_since)


def response_missed(
    severity: str, start: datetime, answered: datetime | None, now: datetime, severity_since: datetime | None = None
) -> bool:
    """The answer came late, or is late by now: what a share within target counts."""
    if answered is not None and _answered(start, answered):
        return answered > response_due(severity, start, severity_since)
    return response_overdue(severity, start, answered, now, severity_since)


def _answered(start: datetime, answered: datetime | None) -> bool:
    return answered is not None and answered >= start


def age_days(start: datetime, now: datetime) -> int:
    """Whole days, each of 24 hours, whatever the wall clock did; waiting does not stop it."""
    return max(0, (now - start) // DAY)


def idle_days(start: datetime, last_shared: datetime | None, now: datetime) -> int:
    """Whole days since the last shared message, or since the clocks began."""
    return age_days(max(start, last_shared) if last_shared else start, now)


def over_age(severity: str, start: datetime, now: datetime) -> bool:
    """Open longer than its severity allows."""
    return now - start > AGE_LIMIT[severity]


def band(days: int) -> str:
    """The ageing band of an age in whole days."""
    return [label for least, label in BANDS if days >= least][-1]


def working_time(start: datetime, now: datetime, pauses: Iterable[Pause]) -> timedelta:
    """The resolution clock: time since `start` without the pauses; overlapping pauses count once."""
    spans = sorted((max(pause.begin, start), min(pause.end or now, now)) for pause in pauses)
    paused, reached = timedelta(0), start
    for begin, end in spans:
        begin = max(begin, reached)
        if end > begin:
            paused += end - begin
            reached = end
    return max(timedelta(0), now - start - paused)


def last_cutoff(now: datetime, weekday: int, at: time, zone: str) -> datetime:
    """The latest weekly cut-off that is not after `now`, in UTC; 0 is Monday, `at` is the zone's wall clock."""
    local = now.astimezone(ZoneInfo(zone))
    day = local.date() - timedelta(days=(local.weekday() - weekday) % 7)
    found = _instant(datetime.combine(day, at), zone)
    return found if found <= now else _instant(datetime.combine(day - timedelta(days=7), at), zone)


def next_cutoff(now: datetime, weekday: int, at: time, zone: str) -> datetime:
    """The first weekly cut-off after `now`, in UTC."""
    local = last_cutoff(now, weekday, at, zone).astimezone(ZoneInfo(zone))
    # A wall time that the clock skips is moved by an hour there; the next week begins from the settings again.
    day = local.date() + timedelta(days=(weekday - local.weekday() + 3) % 7 - 3 + 7)
    return _instant(datetime.combine(day, at), zone)


def _instant(wall: datetime, zone: str) -> datetime:
    """A wall time as an instant: the first of two when the clock is turned back, moved on when it is skipped."""
    return wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)
