"""What a launch or a change does to the budget: what it adds until the end of the term, and what is left then."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from clusters.architectures.configuration import Configuration
from clusters.budgets import queries, stopping
from clusters.budgets.reckoning import Reckoning, rounded
from clusters.models import Cluster
from tenants.models import Participation


@dataclass(frozen=True)
class Effect:
    """Amounts in the programme's currency; `adds` None: there is no price for some of it; `left` None: no budget is set."""

    currency: str
    budget: Decimal | None
    left: Decimal | None
    adds: Decimal | None
    reached: date | None
    until: date  # the last day of the term
    days_past: int = 0  # of what is asked for, after it: they bind nothing of this budget
    open_end: bool = False  # nobody has set an end: `until` is only how far it is reckoned
    refused: bool = False  # by the rule of the budget, now

    @property
    def left_after(self) -> Decimal | None:
        return None if self.left is None or self.adds is None else self.left - self.adds

    @property
    def over(self) -> bool:
        """Whether more would be bound than there is, or is already."""
        return self.left_after is not None and self.left_after < 0

    def told(self) -> dict[str, Any]:
        """As the API says it."""
        words = {name: getattr(self, name) for name in ("budget", "left", "adds", "left_after")}
        return {
            "currency": self.currency,
            **{name: None if value is None else str(value) for name, value in words.items()},
            "reached": self.reached and self.reached.isoformat(),
            "until": self.until.isoformat(),
            "refused": self.refused,
        }

    def kept(self) -> dict[str, Any]:
        """As it is kept with a decision; `read` gives it back."""
        return self.told() | {
            "left": None if self.left is None else str(self.left),
            "days_past": self.days_past,
            "open_end": self.open_end,
        }


def read(kept: Mapping[str, Any] | None) -> Effect | None:
    """What `kept` wrote down; None where nothing was."""
    if not kept:
        return None
    amounts = {name: Decimal(kept[name]) if kept.get(name) is not None else None for name in ("budget", "left", "adds")}
    reached = date.fromisoformat(kept["reached"]) if kept.get("reached") else None
    until = date.fromisoformat(kept["until"])
    past, open_end = kept.get("days_past", 0), kept.get("open_end", False)
    return Effect(kept["currency"], **amounts, reached=reached, until=until, days_past=past, open_end=open_end)


def of_wish(participation: Any, wish: Configuration, cluster: Cluster | None = None) -> Effect | None:
    """Of a cluster that were launched, or changed to this; None where nobody takes part."""
    place = _place(participation)
    if place is None:
        return None
    known, book = queries.one(place), queries.book_of(place)
    before = queries.reckoning(known, book)
    after = queries.reckoning(queries.with_wish(known, wish, cluster), book)
    adds = None if set(after.unpriced) - set(before.unpriced) else after.total - before.total
    until, refused = known.term.last_day, _refused(place, before, adds, known.term.now)
    return Effect(
        place.cycle.programme.currency,
        before.budget,
        before.left,
        adds,
        after.reached,
        until,
        open_end=place.cycle.ends_on is None,
        refused=refused,
    )


def of_cost(participation: Any, kept: Mapping[str, Any], starts_on: date | None = None) -> Effect | None:
    """Of a request for capacity by its effect as it is kept: its cost is in the currency of the prices. Only its days up to
    the end of the term bind the budget, as they will once it is granted; `starts_on` says from which day they are counted."""
    place = _place(participation)
    if place is None:
        return None
    known, book = queries.one(place), queries.book_of(place)
    before = queries.reckoning(known, book)
    cost = Decimal(kept["cost"]) if kept.get("cost") else None
    rate = book.rate(str(kept.get("currency") or ""), known.term.day(known.term.now))
    adds = rounded(cost * rate) if cost is not None and rate is not None else None
    until = known.term.last_day
    ends = date.fromisoformat(kept["until"]) if kept.get("until") else None
    past, all_days = days_past(starts_on, ends, until)
    if adds is not None and past:
        adds = rounded(adds * (all_days - past) / all_days)
    return Effect(
        place.cycle.programme.currency,
        before.budget,
        before.left,
        adds,
        before.reached,
        until,
        past,
        place.cycle.ends_on is None,
        _refused(place, before, adds, known.term.now),
    )


def _refused(place: Participation, before: Reckoning, adds: Decimal | None, now: datetime) -> bool:
    """Whether the rule of the budget refuses what adds so much: because all is spent, or more would be bound than there is."""
    if before.budget is None or (adds is not None and adds <= 0):
        return False
    row = queries.watch(place)
    terms, stands = queries.terms(place.cycle.programme, row), queries.standing(row, before)
    return stopping.refusal(stands, terms, now) or stopping.binds_too_much(
        stands, terms, now, bound=before.total, adds=adds
    )


def days_past(first: date | None, last: date | None, end: date) -> tuple[int, int]:
    """(days of first to last that lie after the end, days in all), first and last included."""
    if first is None or last is None or last < first:
        return 0, 0
    return max(0, (last - max(end, first - timedelta(days=1))).days), (last - first).days + 1


def _place(participation: Any) -> Participation | None:
    pk = getattr(participation, "pk", participation)
    return Participation.objects.select_related("cycle__programme", "tenant").filter(pk=pk).first() if pk else None
