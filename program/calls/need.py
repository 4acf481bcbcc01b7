"""What an application needs when: spans of time with types, Regions, a minimum and a peak; and what that comes to. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

HOURS_A_DAY = 24
MOST_SPANS = 24
MOST_INSTANCES = 100_000
LONGEST = timedelta(days=5 * 366)
YEARS = (2000, 2100)

Accelerators = Callable[[str], int]


@dataclass(frozen=True)
class Span:
    """From a day to a day, both included: at least `minimum` and at most `peak` instances of any of `types`, in any of
    `regions`. It is counted as the first type in the first Region."""

    starts_on: date
    ends_on: date
    types: tuple[str, ...]
    regions: tuple[str, ...]
    minimum: int
    peak: int

    @property
    def days(self) -> int:
        return (self.ends_on - self.starts_on).days + 1

    def hours(self, each: Accelerators) -> tuple[int, int]:
        """Accelerator-hours at the minimum and at the peak."""
        one = each(self.types[0]) * HOURS_A_DAY * self.days
        return one * self.minimum, one * self.peak

    def kept(self) -> dict[str, Any]:
        """As it lies in a column."""
        return {
            "starts_on": self.starts_on.isoformat(),
            "ends_on": self.ends_on.isoformat(),
            "types": list(self.types),
            "regions": list(self.regions),
            "minimum": self.minimum,
            "peak": self.peak,
        }


def read(rows: Iterable[Mapping[str, Any]]) -> list[Span]:
    """Spans as they lie in a column."""
    return [
        Span(
            date.fromisoformat(row["starts_on"]), date.fromisoformat(row["ends_on"]), tuple(row["types"]),
            tuple(row["regions"]), row["minimum"], row["peak"],
        )
        for row in rows
    ]  # fmt: skip


def in_words(span: Span) -> str:
    """A span on one line: days, instances, types, Regions."""
    amount = f"{span.minimum}–{span.peak}" if span.minimum != span.peak else str(span.peak)
    days = f"{span.starts_on.isoformat()} – {span.ends_on.isoformat()}"
    return f"{days}: {amount} × {', '.join(span.types)}, {', '.join(span.regions)}"


@dataclass(frozen=True)
class Total:
    """A need in both units."""

    instances: int  # the most at any one time
    least_hours: int
    hours: int  # at the peak


def total(spans: Sequence[Span], each: Accelerators) -> Total:
    """The most instances at once, and accelerator-hours at the minimum and at the peak."""
    sums = [span.hours(each) for span in spans]
    return Total(peak_at_once(spans), sum(least for least, _most in sums), sum(most for _least, most in sums))


def peak_at_once(spans: Sequence[Span]) -> int:
    """The most instances on any day; only days on which something begins can be the first with the most."""
    return _at_once([(span.starts_on, span.ends_on, span.peak) for span in spans]) if spans else 0


def problems(
    spans: Sequence[Span],
    *,
    known_types: Iterable[str],
    known_regions: Iterable[str],
    most_instances: int | None,
    most_hours: int | None,
    each: Accelerators,
    last: date | None = None,
) -> Iterator[tuple[int | None, str, str]]:
    """(which span, None: all together; which field; the sentence that says what to do) for all that does not fit.
    `last` is the last day of the cycle, None where nobody has said it."""
    types, regions = set(known_types), set(known_regions)
    for index, span in enumerate(spans):
        for field, words, known in (("types", span.types, types), ("regions", span.regions, regions)):
            strange = [word for word in words if word not in known]
            if strange or not words:
                told = {"asked": ", ".join(strange)[:60] or "–", "known": ", ".join(sorted(known))}
                yield index, field, _("'%(asked)s' is not known here; choose of: %(known)s.") % told
        if not YEARS[0] <= span.starts_on.year <= YEARS[1]:
            told = {"asked": date_format(span.starts_on, "DATE_FORMAT"), "first": YEARS[0], "last": YEARS[1]}
            yield index, "starts_on", _("%(asked)s is no day of the years %(first)s to %(last)s; correct it.") % told
        elif span.ends_on < span.starts_on:
            told = {
                "asked": date_format(span.ends_on, "DATE_FORMAT"),
                "first": date_format(span.starts_on, "DATE_FORMAT"),
            }
            yield index, "ends_on", _("%(asked)s is before the first day, %(first)s; choose a later day.") % told
        elif last is not None and span.ends_on > last:
            told = {"asked": date_format(span.ends_on, "DATE_FORMAT"), "last": date_format(last, "DATE_FORMAT")}
            yield (
                index,
                "ends_on",
                _("%(asked)s lies after the last day of the cycle, %(last)s; choose an earlier day.") % told,
            )
        elif span.ends_on - span.starts_on > LONGEST:
            yield index, "ends_on", _("A span lasts at most five years; choose an earlier last day.")
        if not 0 <= span.minimum <= span.peak <= MOST_INSTANCES or not span.peak:
            told = {"minimum": span.minimum, "peak": span.peak, "most": MOST_INSTANCES}
            yield (
                index,
                "peak",
                _(
                    "%(minimum)s to %(peak)s instances do not go together: the peak is 1 to %(most)s, the minimum not above it."
                )
                % told,
            )
    if len(spans) > MOST_SPANS:
        yield (
            None,
            "need",
            _("You wrote %(count)s spans; %(most)s are enough.") % {"count": len(spans), "most": MOST_SPANS},
        )
        return
    fit = [span for span in spans if span.types and span.starts_on <= span.ends_on]
    whole = total(fit, each)
    if most_instances is not None and whole.instances > most_instances:
        told = {"asked": whole.instances, "most": most_instances}
        yield (
            None,
            "need",
            _("Your peak is %(asked)s instances at once; this call allows %(most)s. Lower a peak.") % told,
        )
    if most_hours is not None and whole.hours > most_hours:
        told = {"asked": whole.hours, "most": most_hours}
        yield (
            None,
            "need",
            _(
                "Your need comes to %(asked)s accelerator-hours; this call allows %(most)s. Ask for fewer or for shorter."
            )
            % told,
        )


Key = tuple[date, str, str]  # Monday of the week, type, Region


def monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def by_week(spans: Iterable[Span], each: Accelerators) -> tuple[dict[Key, int], Counter[Key]]:
    """(the most instances at once within the week, accelerator-hours) of each week, type and Region."""
    lying: dict[Key, list[tuple[date, date, int]]] = {}
    hours: Counter[Key] = Counter()
    for span in spans:
        week = monday(span.starts_on)
        while week <= span.ends_on:
            first, last = max(week, span.starts_on), min(week + timedelta(days=6), span.ends_on)
            key = (week, span.types[0], span.regions[0])
            lying.setdefault(key, []).append((first, last, span.peak))
            hours[key] += each(span.types[0]) * HOURS_A_DAY * ((last - first).days + 1) * span.peak
            week += timedelta(days=7)
    return {key: _at_once(parts) for key, parts in lying.items()}, hours


def _at_once(parts: Sequence[tuple[date, date, int]]) -> int:
    days = {first for first, _last, _peak in parts}
    return max(sum(peak for first, last, peak in parts if first <= day <= last) for day in days)
