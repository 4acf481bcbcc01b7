"""One stretch of a job's output read whole: steps, checkpoints, who was heard, what went wrong. Pure.

Reading goes on where it stopped: what a later line needs of an earlier one is carried in `Carry`, which is plain JSON.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from clusters.jobs.logs import cleaning, formats, trouble, versions

MOST_STEPS = 5_000  # of one stretch; a program that prints more is thinned later anyway
MOST_FAULTS = 50
MOST_RANKS = 2_048


@dataclass(frozen=True)
class Line:
    """One raw line and when it was written (or, where nobody says, read)."""

    at: datetime
    text: str


@dataclass
class Carry:
    """What the next stretch has to know of this one."""

    format: str = ""
    bar_step: int | None = None
    last_step: int | None = None
    begun_step: int | None = None
    begun_path: str = ""

    @classmethod
    def of(cls, kept: dict[str, Any]) -> "Carry":
        return cls(**{name: kept[name] for name in cls.__dataclass_fields__ if name in kept})

    def kept(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Point:
    """One training step: when, and what was told of it. `loss_word` is nan or inf where the loss is no number."""

    step: int
    at: datetime
    values: dict[str, float] = field(default_factory=dict)
    loss_word: str = ""


@dataclass(frozen=True)
class Saved:
    step: int | None
    path: str
    at: datetime


@dataclass(frozen=True)
class Heard:
    """The last that was heard of a rank."""

    at: datetime
    text: str
    host: str = ""


@dataclass
class Read:
    """What a stretch of output told."""

    lines: int = 0
    last_at: datetime | None = None
    format: str = ""
    points: list[Point] = field(default_factory=list)
    total_steps: int | None = None
    saved: Saved | None = None
    resumed: Saved | None = None
    world: int | None = None
    timeout_seconds: float | None = None
    ranks: dict[int, Heard] = field(default_factory=dict)
    hosts: dict[str, Heard] = field(default_factory=dict)
    faults: list[tuple[datetime, trouble.Fault]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)  # component -> what it said of itself last
    carry: Carry = field(default_factory=Carry)


def read(lines: Iterable[Line], carry: Carry | None = None) -> Read:
    """Read a stretch. Points come merged by step, in the order in which the steps were first told."""
    found = Read(carry=carry or Carry())
    points: dict[int, Point] = {}
    seen: Counter[str] = Counter()
    for line in lines:
        found.lines += 1
        found.last_at = line.at
        for text in cleaning.states(line.text):
            _one(text, line.at, found, points, seen)
    found.points = list(points.values())[-MOST_STEPS:]
    found.format = seen.most_common(1)[0][0] if seen else found.carry.format
    found.carry.format = found.format
    return found


def _one(text: str, at: datetime, found: Read, points: dict[int, Point], seen: Counter[str]) -> None:
    carry = found.carry
    if (bar := formats.bar(text)) is not None:
        carry.bar_step, found.total_steps = bar
    if (step := formats.stepped(text, carry.bar_step)) is not None:
        seen[step.format] += 1
        found.total_steps = step.total or found.total_steps
        points[step.step] = _merged(points.get(step.step), step, at)
        carry.last_step = step.step
    _checkpoints(text, at, found)
    _who(text, at, found)
    if (fault := trouble.fault(text)) is not None and len(found.faults) < MOST_FAULTS:
        found.faults.append((at, fault))
    found.versions |= versions.told(text)
    found.world = trouble.world(text) or found.world
    found.timeout_seconds = trouble.timeout_seconds(text) or found.timeout_seconds


def finite(told: Mapping[str, float]) -> tuple[dict[str, float], str]:
    """The values that are numbers, and the word for a loss that is none: nan, inf, or empty."""
    loss = told.get("loss")
    word = "" if loss is None or math.isfinite(loss) else "nan" if math.isnan(loss) else "inf"
    return {name: value for name, value in told.items() if math.isfinite(value)}, word


def _merged(before: Point | None, step: formats.Stepped, at: datetime) -> Point:
    values, word = finite(step.values)
    loss = step.values.get("loss")
    if before is not None:
        values = before.values | values
        word = word or ("" if loss is not None else before.loss_word)
    if "samples_per_second" not in values and values.get("batch") and values.get("step_seconds"):
        values["samples_per_second"] = values["batch"] / values["step_seconds"]
    return Point(step.step, at, values, word)


def _checkpoints(text: str, at: datetime, found: Read) -> None:
    carry = found.carry
    if (resumed := trouble.resumed(text)) is not None:
        found.resumed = Saved(resumed.step, resumed.path, at)
    if (begun := trouble.begun(text)) is not None:
        carry.begun_step, carry.begun_path = begun.step, begun.path
    saved = trouble.saved(text)
    if saved is not None:
        found.saved = Saved(saved.step if saved.step is not None else carry.last_step, saved.path, at)
        carry.begun_step, carry.begun_path = None, ""
        return
    reached = max((step for step in (carry.last_step, carry.bar_step) if step is not None), default=None)
    if begun is None and carry.begun_step is not None and reached is not None and reached > carry.begun_step:
        found.saved = Saved(carry.begun_step, carry.begun_path, at)
        carry.begun_step, carry.begun_path = None, ""


def _who(text: str, at: datetime, found: Read) -> None:
    rank, host = trouble.rank_of(text), trouble.host_of(text)
    if rank is not None and (rank in found.ranks or len(found.ranks) < MOST_RANKS):
        before = found.ranks.get(rank)
        found.ranks[rank] = Heard(at, text[:300], host or (before.host if before else ""))
    if host and (host in found.hosts or len(found.hosts) < MOST_RANKS):
        found.hosts[host] = Heard(at, text[:300], host)
