"""When a run will have done its work, from what it was measured to do. Pure.

The pace is steps over time as it went by, restarts and stalls included: that is what the calendar will see too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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


@dataclass(frozen=True)
class Pace:
    steps_per_day: float
    tokens_per_day: float | None
    samples_per_day: float | None
    measured_from: datetime
    measured_until: datetime


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
    share = _share(window)
    return Pace(
        steps * SECONDS_A_DAY / length,
        tokens * SECONDS_A_DAY * share if tokens is not None else None,
        samples * SECONDS_A_DAY * share if samples is not None else None,
        first.at,
        last.at,
    )


def forecast(
    points: Sequence[Measure], total_steps: int | None, now: datetime, factor: float = 1.0, *, live: bool = True
) -> Forecast:
    """`factor`: how much faster it would go, for a question of the kind "what if"."""
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
    return Forecast(found, points[-1].at + timedelta(days=days), remaining)


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
