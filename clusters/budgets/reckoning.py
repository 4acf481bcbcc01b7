"""Pure: what a participation has spent and bound by month, what is left, and when its budget is reached."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

from clusters.accounting.accelerator_hours import month_of
from clusters.budgets.spans import KINDS, Good, Kind, Piece, cut

CENT = Decimal("0.01")
PRESENT = timedelta(days=14)  # what was spent within it says what a day costs at present
# The price of an hour of one of them at a moment, in the programme's currency; None: not known.
Price = Callable[[Good, datetime], Decimal | None]


@dataclass(frozen=True)
class Term:
    """From when to when, what is past, and the zone whose midnights part its months."""

    begins: datetime
    ends: datetime
    now: datetime
    zone: str = "UTC"

    def months(self) -> list[date]:
        """The first days of its months."""
        first, found = self.day(self.begins).replace(day=1), []
        while first <= self.last_day:
            found.append(first)
            first = month_of(first)[1] + timedelta(days=1)
        return found

    @property
    def last_day(self) -> date:
        """The last day that belongs to it."""
        return self.day(self.ends - timedelta(microseconds=1))

    def day(self, moment: datetime) -> date:
        return moment.astimezone(ZoneInfo(self.zone)).date()

    def midnight(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone))


@dataclass(frozen=True)
class Line:
    """Hours of one good for one reason, past or bound; `amount` None: there is no price for some of it."""

    kind: Kind
    good: Good
    spent: bool
    hours: Decimal
    amount: Decimal | None


@dataclass(frozen=True)
class Month:
    """What was spent in a month and is bound in it, of what has a price."""

    first: date
    spent: Decimal
    bound: Decimal


@dataclass(frozen=True)
class Reckoning:
    """Amounts in the programme's currency. `budget` None: not set, which is not 0."""

    budget: Decimal | None
    lines: tuple[Line, ...]
    months: tuple[Month, ...]
    per_day: Decimal  # at present
    at_present: Decimal  # spent, and the present rate until the end
    reached: date | None  # the day on which what is spent and bound reaches the budget
    reached_at_present: date | None
    unmeasured_hours: Decimal = Decimal(0)  # of instances that nobody has seen since contact was lost
    unpriced: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())  # words of why a price is not known

    @property
    def spent(self) -> Decimal:
        return sum((one.spent for one in self.months), Decimal(0))

    @property
    def bound(self) -> Decimal:
        return sum((one.bound for one in self.months), Decimal(0))

    @property
    def total(self) -> Decimal:
        return self.spent + self.bound

    @property
    def left(self) -> Decimal | None:
        """Of the budget, after what is spent and bound; negative: more is bound than there is."""
        return None if self.budget is None else self.budget - self.total

    @property
    def unspent(self) -> Decimal | None:
        return None if self.budget is None else self.budget - self.spent

    @property
    def known(self) -> bool:
        return not self.unpriced

    @property
    def percent(self) -> int | None:
        """Spent of the budget; None where nothing is set, or it is 0."""
        return int(100 * self.spent / self.budget) if self.budget else None


def rounded(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)


def reckon(
    found: Sequence[Piece], term: Term, price: Price, budget: Decimal | None, *, price_days: Iterable[date] = (),
    unmeasured_hours: Decimal = Decimal(0), notes: Sequence[str] = (),
) -> Reckoning:  # fmt: skip
    """`price_days`: when prices or rates change. Each cell of month, kind and good is rounded once; all else is their sum."""
    months = term.months()
    edges = {term.now, *(term.midnight(day) for day in (*months, *price_days))}
    inside = [one for one in found if one.ends > term.begins and one.begins < term.ends]
    parts = [
        one for one in cut(inside, {*edges, term.begins, term.ends}) if one.begins >= term.begins and one.ends <= term.ends
    ]  # fmt: skip
    hours: dict[tuple[date, bool, Kind, Good], Decimal] = defaultdict(Decimal)
    amounts: dict[tuple[date, bool, Kind, Good], Decimal] = defaultdict(Decimal)
    unpriced: set[str] = set()
    rates: list[tuple[datetime, datetime, Decimal]] = []
    missing: set[tuple[bool, Kind, Good]] = set()
    for one in parts:
        cell = term.day(one.begins).replace(day=1), one.begins < term.now, one.kind, one.good
        hours[cell] += one.hours
        each = price(one.good, one.begins)
        if each is None:
            unpriced.add(one.good.what)
            missing.add(cell[1:])
            continue
        amounts[cell] += each * one.hours
        rates.append((one.begins, one.ends, each * one.count))
    cells = {cell: rounded(amount) for cell, amount in amounts.items()}
    lines = []
    for past, kind, good in sorted(
        {cell[1:] for cell in hours}, key=lambda k: (not k[0], KINDS.index(k[1]), k[2].what, k[2].region)
    ):
        mine = [cell for cell in hours if cell[1:] == (past, kind, good)]
        amount = None if (past, kind, good) in missing else sum((cells[cell] for cell in mine), Decimal(0))
        lines.append(Line(kind, good, past, sum((hours[cell] for cell in mine), Decimal(0)), amount))
    shown = tuple(Month(first, _sum(cells, first, True), _sum(cells, first, False)) for first in months)
    per_day = _per_day(rates, term)
    spent = sum((one.spent for one in shown), Decimal(0))
    ahead = Decimal(max((term.ends - term.now).total_seconds(), 0)) / 86_400
    return Reckoning(
        budget, tuple(lines), shown, per_day, rounded(spent + per_day * ahead), _reached(rates, term, budget),
        _reached_at_present(spent, per_day, term, budget), unmeasured_hours, tuple(sorted(unpriced)), tuple(notes),
    )  # fmt: skip


def _sum(cells: dict[tuple[date, bool, Kind, Good], Decimal], first: date, past: bool) -> Decimal:
    return sum((amount for cell, amount in cells.items() if cell[:2] == (first, past)), Decimal(0))


def _per_day(rates: Iterable[tuple[datetime, datetime, Decimal]], term: Term) -> Decimal:
    begins = max(term.begins, term.now - PRESENT)
    days = Decimal((term.now - begins).total_seconds()) / 86_400
    if days <= 0:
        return Decimal(0)
    amount = Decimal(0)
    for first, last, rate in rates:
        seconds = (min(last, term.now) - max(first, begins)).total_seconds()
        amount += rate * Decimal(max(seconds, 0)) / 3600
    return rounded(amount / days)


def _reached(rates: Iterable[tuple[datetime, datetime, Decimal]], term: Term, budget: Decimal | None) -> date | None:
    if budget is None:
        return None
    steps: dict[datetime, Decimal] = defaultdict(Decimal)
    for begins, ends, rate in rates:
        steps[begins] += rate
        steps[ends] -= rate
    amount, rate, before = Decimal(0), Decimal(0), term.begins
    for moment in sorted(steps):
        more = rate * Decimal((moment - before).total_seconds()) / 3600
        if rate > 0 and amount + more >= budget:
            return term.day(before + timedelta(hours=float((budget - amount) / rate)))
        amount, rate, before = amount + more, rate + steps[moment], moment
    return None


def _reached_at_present(spent: Decimal, per_day: Decimal, term: Term, budget: Decimal | None) -> date | None:
    if budget is None or per_day <= 0:
        return term.day(term.now) if budget is not None and spent >= budget and spent else None
    days = max(budget - spent, Decimal(0)) / per_day
    if days > Decimal((term.ends - term.now).total_seconds()) / 86_400:
        return None
    return term.day(term.now + timedelta(days=float(days)))
