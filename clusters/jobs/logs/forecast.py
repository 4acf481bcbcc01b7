"""When a run will have done its work, and its model its amount, from what was measured. Pure.

The pace is steps over time as it went by, restarts and stalls included: that is what the calendar will see too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

LEAST = timedelta(minutes=5)  # a shorter measure says more of the start than of the run
WINDOW = timedelta(days=1)
SECONDS_A_DAY = 86_400

Unknown = Literal["no_steps", "too_short", "no_progress", "no_target", "stale"]
STALE = timedelta(hours=1)


@dataclass(frozen=True)
class Measure:
    """One measured step."""

    step: int
    at: datetime
    tokens_per_second: float | None = None
    samples_per_second: float | None = None
    consumed_tokens: float | None = None  # since the run's beginning, as it counts them itself
    consumed_samples: float | None = None
    batch: float | None = None  # samples of one step
    mfu: float | None = None  # percent


@dataclass(frozen=True)
class Pace:
    """What a day brings, by the clock on the wall; None where it was not measured. `mfu` in percent."""

    steps_per_day: float
    tokens_per_day: float | None
    samples_per_day: float | None
    measured_from: datetime
    measured_until: datetime
    mfu: float | None = None


@dataclass(frozen=True)
class Forecast:
    """`ends_at` with what it stands on; or `unknown`, the reason why nothing can be said."""

    pace: Pace | None = None
    ends_at: datetime | None = None
    remaining_steps: int | None = None
    unknown: Unknown | Literal[""] = ""


def pace(points: Sequence[Measure]) -> Pace | Unknown:
    """The pace of the last day that was measured. Points are in the order of their time."""
    if len(points) < 2:
        return "no_steps"
    window = [point for point in points if points[-1].at - point.at <= WINDOW]
    first, last = window[0], window[-1]
    length = (last.at - first.at).total_seconds()
    if length < LEAST.total_seconds():
        return "too_short"
    steps = last.step - first.step
    if steps <= 0:
        return "no_progress"
    # While it trained, tokens a second; how much of the day it trained follows from the steps.
    tokens = _mean([point.tokens_per_second for point in window])
    samples = _mean([point.samples_per_second for point in window])
    share, days = _share(window), length / SECONDS_A_DAY
    batch = _mean([point.batch for point in window])
    return Pace(
        steps / days,
        _a_day(tokens, share, _gained(first.consumed_tokens, last.consumed_tokens), days),
        _a_day(samples, share, _gained(first.consumed_samples, last.consumed_samples) or _all(batch, steps), days),
        first.at,
        last.at,
        _mean([point.mfu for point in window]),
    )


def _a_day(a_second: float | None, share: float, gained: float | None, days: float) -> float | None:
    """By the speed that was told; else by what was gained in the whole time."""
    if a_second is not None:
        return a_second * SECONDS_A_DAY * share
    return gained / days if gained else None


def _gained(before: float | None, after: float | None) -> float | None:
    return after - before if before is not None and after is not None and after > before else None


def _all(batch: float | None, steps: int) -> float | None:
    return batch * steps if batch else None


def forecast(
    points: Sequence[Measure],
    total_steps: int | None,
    now: datetime,
    factor: float = 1.0,
    lost_days: float = 0.0,
    *,
    live: bool = True,
) -> Forecast:
    """`factor`: how much faster it would go, for a question of the kind "what if"; so `lost_days`."""
    found = pace(points)
    if isinstance(found, str):
        return Forecast(unknown=found)
    if live and now - points[-1].at > STALE:
        return Forecast(found, unknown="stale")
    if not total_steps:
        return Forecast(found, unknown="no_target")
    remaining = max(0, total_steps - points[-1].step)
    days = remaining / (found.steps_per_day * factor)
    if days > 36_500:
        return Forecast(found, None, remaining, "no_progress")
    return Forecast(found, points[-1].at + timedelta(days=days + lost_days), remaining)


def _mean(values: Sequence[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return sum(told) / len(told) if told else None


def _share(window: Sequence[Measure]) -> float:
    """How much of the time it moved forward: gaps ten times longer than usual, and going back, are standing still."""
    gaps = [
        ((after.at - before.at).total_seconds(), after.step - before.step)
        for before, after in zip(window, window[1:], strict=False)
    ]
    ahead = sorted(seconds / steps for seconds, steps in gaps if steps > 0)
    if not ahead:
        return 0.0
    usual = ahead[len(ahead) // 2]
    whole = sum(seconds for seconds, _ in gaps)
    moving = sum(min(seconds, usual * steps * 10) for seconds, steps in gaps if steps > 0)
    return min(1.0, moving / whole) if whole else 1.0


AimUnknown = Literal["no_target", "no_done", "not_measured", "unit", "no_progress", "stale"]
OF_ONE = {"billion_tokens": 1e9, "million_samples": 1e6}  # how many tokens or samples one of a unit is


@dataclass(frozen=True)
class Target:
    """How much a model is to be trained on, and how much that is by now, in its unit; None where nobody said."""

    unit: str
    target: Decimal | None
    done: Decimal | None


@dataclass(frozen=True)
class WhatIf:
    """A question of the kind "what if": so many times the nodes, so many times the speed of each, so many days lost."""

    nodes: float = 1.0
    speed: float = 1.0
    lost_days: float = 0.0

    @property
    def factor(self) -> float:
        return self.nodes * self.speed


@dataclass(frozen=True)
class Aim:
    """When a model has its amount; amounts in its unit. `spare_days` is negative when the gate comes first."""

    remaining: float | None = None
    per_day: float | None = None
    ends_at: datetime | None = None
    spare_days: float | None = None
    by_gate: float | None = None  # what will be done when the gate comes, at most the target
    needed_per_day: float | None = None  # to have it all by the gate; None once it has passed
    unknown: AimUnknown | Literal[""] = ""


def aim(
    target: Target, found: Pace | None, now: datetime, gate: datetime | None, asked: WhatIf | None = None, *, live: bool
) -> Aim:
    """Days that are lost are lost before the gate. What is done counts from now: nothing is added to what was recorded."""
    asked = asked or WhatIf()
    if not target.target:
        return Aim(unknown="no_target")
    if target.done is None:
        return Aim(unknown="no_done")
    remaining = max(0.0, float(target.target - target.done))
    days_to_gate = max(0.0, (gate - now).total_seconds() / SECONDS_A_DAY - asked.lost_days) if gate else 0.0
    needed = remaining / days_to_gate if days_to_gate else None
    if not remaining:
        return Aim(0.0, ends_at=now, by_gate=float(target.target), needed_per_day=0.0 if gate else None)
    if (per_day := _amount_a_day(target.unit, found)) is None:
        return Aim(remaining, needed_per_day=needed, unknown="not_measured" if target.unit in OF_ONE else "unit")
    if live and found and now - found.measured_until > STALE:
        return Aim(remaining, per_day, needed_per_day=needed, unknown="stale")
    per_day *= asked.factor
    if per_day <= 0 or remaining / per_day > 36_500:
        return Aim(remaining, per_day, needed_per_day=needed, unknown="no_progress")
    ends_at = now + timedelta(days=remaining / per_day + asked.lost_days)
    if gate is None:
        return Aim(remaining, per_day, ends_at)
    by_gate = min(float(target.target), float(target.done) + per_day * days_to_gate)
    return Aim(remaining, per_day, ends_at, (gate - ends_at).total_seconds() / SECONDS_A_DAY, by_gate, needed)


def _amount_a_day(unit: str, found: Pace | None) -> float | None:
    if found is None or unit not in OF_ONE:
        return None
    measured = found.tokens_per_day if unit == "billion_tokens" else found.samples_per_day
    return measured / OF_ONE[unit] if measured is not None else None
