"""What a request for capacity comes to, and whether a rule grants it at once; pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from clusters.capacity import HOURS_A_DAY

CENT = Decimal("0.01")
SMALL, GIVES_BACK = "small", "gives_back"


@dataclass(frozen=True)
class Change:
    """What is asked for: `kind` is more, fewer, longer or region."""

    kind: str
    instances: int
    region: str
    to_region: str
    starts_on: date
    ends_on: date | None


@dataclass(frozen=True)
class Circumstances:
    """The cycle, one instance in accelerators, and its price for an hour; None: not known."""

    cycle_ends: date | None = None
    gate: date | None = None
    accelerators: int | None = None
    price: Decimal | None = None
    price_before: Decimal | None = None  # of what is given back for it in another Region
    currency: str = ""
    prices_dated: date | None = None


@dataclass(frozen=True)
class Effect:
    """Accelerator-hours more (fewer are negative), what they cost, and how it lies to the stage gate. None: not known."""

    until: date | None
    accelerator_hours: int | None
    cost: Decimal | None
    currency: str
    prices_dated: date | None
    gate: date | None
    days_past_gate: int | None  # of what is asked for; 0: it ends by then

    def kept(self) -> dict[str, Any]:
        """As it is kept with the request."""
        return {
            "until": self.until and self.until.isoformat(),
            "accelerator_hours": self.accelerator_hours,
            "cost": None if self.cost is None else str(self.cost),
            "currency": self.currency,
            "prices_dated": self.prices_dated and self.prices_dated.isoformat(),
            "gate": self.gate and self.gate.isoformat(),
            "days_past_gate": self.days_past_gate,
        }


def effect(change: Change, now: Circumstances) -> Effect:
    """Whole days, first and last included; without an end of its own it ends with the cycle."""
    until = change.ends_on or now.cycle_ends
    sign = {"fewer": -1, "region": 0}.get(change.kind, 1)
    hours = cost = None
    if until is not None:
        instance_hours = change.instances * max((until - change.starts_on).days + 1, 0) * HOURS_A_DAY
        hours = sign * instance_hours * now.accelerators if now.accelerators is not None else None
        each = _each(change.kind, sign, now)
        cost = (instance_hours * each).quantize(CENT) if each is not None else None
    past = max((until - now.gate).days, 0) if until and now.gate else None
    return Effect(until, hours, cost, now.currency, now.prices_dated, now.gate, past)


def _each(kind: str, sign: int, now: Circumstances) -> Decimal | None:
    """What an instance-hour adds; moved to another Region it is what that Region is dearer."""
    if now.price is None or (kind == "region" and now.price_before is None):
        return None
    return now.price - (now.price_before or Decimal(0)) if kind == "region" else sign * now.price


def rule(change: Change, found: Effect, *, limit: int, recently: int) -> str:
    """Which rule grants it without anybody: giving back always, and what is small.

    Small is what, together with what this rule granted recently, does not come to more than `limit` accelerator-hours;
    otherwise a large wish could be asked for in small pieces. What has no end, or costs something unknown, is not small.
    """
    if change.kind == "fewer":
        return GIVES_BACK
    if change.kind == "region" or found.accelerator_hours is None:
        return ""
    return SMALL if limit > 0 and found.accelerator_hours + recently <= limit else ""


def rows(change: Change) -> Iterator[tuple[str, int, date, date | None]]:
    """What is added to the ledger when it is granted: Region, instances, from, to."""
    dates = (change.starts_on, change.ends_on)
    if change.kind in ("fewer", "region"):
        yield (change.region, -change.instances, *dates)
    else:
        yield (change.region, change.instances, *dates)
    if change.kind == "region":
        yield (change.to_region, change.instances, *dates)


def least_within(steps: list[tuple[int, date, date | None]], begins: date, ends: date | None) -> int:
    """The smallest sum of rows (instances, from, to) on any day of a time: what can be given back throughout."""
    return min(_sums(steps, begins, ends))


def most_within(steps: list[tuple[int, date, date | None]], begins: date, ends: date | None) -> int:
    """The largest sum of rows (instances, from, to) on any day of a time."""
    return max(_sums(steps, begins, ends))


def _sums(steps: list[tuple[int, date, date | None]], begins: date, ends: date | None) -> list[int]:
    days = {begins, *(first for _n, first, _l in steps), *(last + timedelta(days=1) for _n, _f, last in steps if last)}
    within = [day for day in days if begins <= day and (ends is None or day <= ends)]
    return [sum(n for n, first, last in steps if first <= day and (last is None or day <= last)) for day in within]
