"""Pure but for `today`: what runs of jobs used, in whole accelerator-seconds, cut at the midnights of the programme's zone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

HOUR = 3600
FIRST, LAST = date(2000, 1, 1), date(2999, 12, 31)


@dataclass(frozen=True)
class Run:
    """One attempt of a job: from a second to a second, half open. `accelerators` None: nobody measured how many."""

    begins: int
    ends: int
    accelerators: int | None


@dataclass(frozen=True)
class Used:
    """Accelerator-seconds, and how many runs are not in them because they were not measured."""

    seconds: int = 0
    runs: int = 0
    unmeasured: int = 0

    def __add__(self, other: "Used") -> "Used":
        return Used(self.seconds + other.seconds, self.runs + other.runs, self.unmeasured + other.unmeasured)


def used(runs: Iterable[Run], begins: int, ends: int) -> Used:
    """What runs used between two seconds; what is not measured is counted apart, never as nothing."""
    total = Used()
    for run in runs:
        overlap = min(run.ends, ends) - max(run.begins, begins)
        if overlap > 0:
            known = run.accelerators is not None
            total += Used(overlap * (run.accelerators or 0), 1, 0 if known else 1)
    return total


def bounds(day: date, zone: str) -> tuple[int, int]:
    """The seconds between which it is that day in the zone: 23 to 25 hours where clocks are changed."""
    return midnight(day, zone), midnight(day + timedelta(days=1), zone)


def midnight(day: date, zone: str) -> int:
    return int(datetime.combine(day, time(), ZoneInfo(zone)).timestamp())


def day_of(moment: datetime, zone: str) -> date:
    return moment.astimezone(ZoneInfo(zone)).date()


def today(zone: str) -> date:
    return datetime.now(ZoneInfo(zone)).date()


def days(first: date, last: date) -> Iterator[date]:
    """Both included."""
    for offset in range((last - first).days + 1):
        yield first + timedelta(days=offset)


def month_of(day: date) -> tuple[date, date]:
    """The first and the last day of its month."""
    first = day.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first, following - timedelta(days=1)


def read_month(text: str) -> date | None:
    """`2026-11` as its first day; None for anything else."""
    try:
        found = date.fromisoformat(f"{text}-01") if len(text) == 7 else None
    except ValueError:
        return None
    return found if found is not None and FIRST <= found <= LAST else None


def hours(seconds: int | None) -> Decimal | None:
    """For people: hours with two places. Sums are made of seconds, so that they stay exact."""
    return None if seconds is None else (Decimal(seconds) / HOUR).quantize(Decimal("0.01"))
