"""Budgets of the demo: round sums somewhat above what is bound, so that some are ample, some are short, and one is not set."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from clusters.budgets import actions, queries
from program.transfer.dates import Row
from program.transfer.directory import Directory
from tenants.wall.acting import acting_for

SHARES = (Decimal("1.35"), Decimal("1.08"), Decimal("1.20"), Decimal("1.60"))  # of what is bound
STEP = Decimal(100_000)
LINE = "C2-compute"


def set_all(told: Row, who: Directory) -> int:
    """Set what is not set yet, but for the last participant; how many have one now."""
    count = 0
    for number, row in enumerate(told["participants"][:-1]):
        with acting_for(who.tenants[row["slug"]], staff=True):
            place = queries.here()
            if place is None or place.state in ("closed", "withdrawn"):
                continue
            known = queries.one(place)
            if known.budget is None:
                total = queries.reckoning(known, queries.book_of(place)).total
                steps = (total * SHARES[number % len(SHARES)] / STEP).to_integral_value(ROUND_CEILING)
                actions.set_to(
                    participation=place, amount=max(steps, Decimal(1)) * STEP, line=LINE, why="the plan of the cycle",
                    by=who.manager.actor, reference="steering 3",
                )  # fmt: skip
            count += 1
    return count
