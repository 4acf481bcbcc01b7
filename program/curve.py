"""Pure: how many accelerated instances were in service when, folded from the history of clusters and their nodes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

SERVING = frozenset({"ready", "degraded", "updating"})
IMPORTED = "launch.in_service"


@dataclass(frozen=True)
class Happened:
    """One entry, as far as the curve needs it. `cluster` names the cluster, also where only its name is known."""

    id: int
    at: datetime
    kind: str
    cluster: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Planned:
    """A cluster as it is planned: what its accelerated groups are called, and how many instances it shall have."""

    key: str
    name: str
    instance_type: str
    instances: int
    accelerators: int
    groups: frozenset[str] = frozenset()


@dataclass
class Now:
    """A cluster while the history is folded."""

    state: str = ""
    running: int = 0
    imported: int = 0

    @property
    def serving(self) -> int:
        return self.imported or (self.running if self.state in SERVING else 0)


@dataclass(frozen=True)
class Point:
    """The curve at a moment: instances by type, and which cluster changed it."""

    at: datetime
    by_type: Mapping[str, int]
    cluster: str = ""
    entry: int | None = None

    @property
    def total(self) -> int:
        return sum(self.by_type.values())


@dataclass
class Curve:
    """Where it began, each change, and where every cluster stands at the end."""

    points: list[Point] = field(default_factory=list)
    now: dict[str, int] = field(default_factory=dict)
    came: dict[str, datetime] = field(default_factory=dict)  # when a cluster was first in service whole


def curve(happened: Iterable[Happened], planned: Iterable[Planned], since: datetime) -> Curve:
    """Fold the history in the order in which things happened; what lies before `since` is where the curve begins."""
    plans = {plan.key: plan for plan in planned}
    known: dict[str, Now] = {key: Now() for key in plans}
    found = Curve()
    sums: dict[str, int] = {}
    for event in sorted(happened, key=lambda one: (one.at, one.id)):
        plan = plans.get(event.cluster)
        if plan is None:
            continue
        cluster = known[event.cluster]
        before = cluster.serving
        _step(cluster, event, plan)
        if cluster.serving == before:
            continue
        sums[plan.instance_type] = sums.get(plan.instance_type, 0) + cluster.serving - before
        if cluster.serving >= plan.instances and plan.key not in found.came:
            found.came[plan.key] = event.at
        if event.at >= since:
            if not found.points:
                start = sums | {plan.instance_type: sums[plan.instance_type] - cluster.serving + before}
                found.points.append(Point(since, {kind: n for kind, n in start.items() if n}))
            found.points.append(Point(event.at, dict(sums), plan.name, event.id))
    if not found.points:
        found.points.append(Point(since, dict(sums)))
    found.now = {key: cluster.serving for key, cluster in known.items()}
    return found


def _step(cluster: Now, event: Happened, plan: Planned) -> None:
    noun, _dot, word = event.kind.partition(".")
    if event.kind == IMPORTED:
        cluster.imported += int(event.facts.get("count", 0))
    elif noun == "cluster":
        cluster.state = word
        if word in ("deleting", "deleted"):
            cluster.running = cluster.running if word == "deleting" else 0
    elif noun in ("node", "nodes"):
        seats = _accelerated(event, plan)
        if word == "running":
            cluster.running = min(cluster.running + seats, plan.instances)
        elif event.facts.get("was") == "running":
            cluster.running = max(0, cluster.running - seats)


def _accelerated(event: Happened, plan: Planned) -> int:
    """How many of the seats that an entry names belong to groups with accelerators."""
    told = event.facts.get("nodes") if event.kind.startswith("nodes.") else [event.facts.get("node", "")]
    return sum(size for span in told or [] for group, size in [_span(str(span), plan.name)] if group in plan.groups)


def _span(text: str, cluster: str) -> tuple[str, int]:
    """(group, seats) of `train-workers-1…20` or `train-workers-7` of the cluster `train`."""
    group, _dash, seats = text.removeprefix(f"{cluster}-").rpartition("-")
    first, _dots, last = seats.partition("…")
    if not first.isdigit() or (last and not last.isdigit()):
        return group, 0
    return group, int(last) - int(first) + 1 if last else 1
