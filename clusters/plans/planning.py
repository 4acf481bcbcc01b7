"""Put a plan together: from what is there and what is wished to effects, jobs, time and cost. Pure."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters import facts
from clusters.architectures.configuration import Configuration
from clusters.architectures.parts import Wiring, parts
from clusters.facts import table
from clusters.plans import hyperpod, parallelcluster, stacks
from clusters.plans.changes import Change, changes
from clusters.plans.effects import KINDS, Effect
from clusters.plans.prices import Cost, Prices, cost, storage_line
from clusters.plans.templates import outputs_of

SLOWER = 1.5  # so many times the usual time is slower than usual
BATCH = "10 %"


@dataclass(frozen=True)
class RunningJob:
    """A job that is not over, with the partition it has its nodes in."""

    id: str
    name: str
    nodes: int
    partition: str


@dataclass(frozen=True)
class Observed:
    """What was last seen of the cluster, as far as it matters to a change."""

    jobs: tuple[RunningJob, ...] = ()
    fleet: str = ""  # ParallelCluster: the state of the compute fleet


@dataclass(frozen=True)
class Minutes:
    """How long such a thing takes: by the facts, and as we measured it ourselves (the median of so many times)."""

    least: int
    most: int
    measured: int | None = None
    times: int = 0

    @property
    def usual(self) -> int:
        return self.measured if self.measured is not None else self.most


@dataclass(frozen=True)
class Place:
    """Whose parts they are: what a request needs beside the configuration."""

    account_id: str
    role_arn: str
    names: Mapping[str, str]  # role of a part -> its name


@dataclass(frozen=True)
class ChangePlan:
    """What will happen. `digest` names it: an approval is of exactly this."""

    kind: str
    changes: tuple[Change, ...]
    effects: tuple[Effect, ...]
    stopped: tuple[RunningJob, ...]
    minutes: Minutes
    before: Cost | None
    after: Cost
    prices: Prices
    added: int = 0  # instances with accelerators that come
    verdicts: tuple[str, ...] = ()  # codes of what preflight refuses
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self.effects

    @property
    def refusals(self) -> tuple[Effect, ...]:
        return tuple(effect for effect in self.effects if effect.kind == "refused")

    @property
    def loses_data(self) -> tuple[Effect, ...]:
        """Effects after which data is gone, or is no longer where jobs look for it."""
        return tuple(each for each in self.effects if each.holds_data and each.kind in ("lost", "replaced", "kept"))

    def second_person(self, threshold: int) -> str:
        """Why somebody else has to agree, as a word; empty when nobody has to."""
        if self.loses_data and self.kind not in ("create", "delete"):
            return "data"
        return "size" if self.added > threshold else ""

    @property
    def digest(self) -> str:
        """Of what somebody who agrees relies on; how long it takes is no part of it."""
        told = {
            "kind": self.kind,
            "document": self.document,
            "effects": [(each.kind, each.code, each.part, each.rule, dict(each.values)) for each in self.effects],
            "stopped": sorted(job.id for job in self.stopped),
            "cost": [
                str(self.after.per_hour),
                str(self.after.per_month),
                self.prices.dated.isoformat(),
                self.after.unpriced,
            ],
            "verdicts": sorted(self.verdicts),
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:20]


class _Outputs(Mapping[str, str]):
    """Outputs of a part before they are known: the same word for the same thing, another for what is made anew."""

    def __init__(self, role: str, anew: set[str]) -> None:
        self.role, self.anew = role, anew

    def __getitem__(self, name: str) -> str:
        return f"{self.role}.{name}{'.new' if name in self.anew else ''}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


Bodies = dict[str, tuple[str, dict[str, Any]]]  # role -> kind of the part and the body of its request


def bodies(wish: Configuration, place: Place, anew: Mapping[str, set[str]]) -> Bodies:
    """The requests of a configuration, with stand-ins for what earlier parts give; `anew`: the outputs that are new."""
    specs = parts(wish.made_of(), wish)
    names = {spec.role: place.names.get(spec.role, f"new-{spec.role}") for spec in specs}
    outputs = {spec.role: _Outputs(spec.role, anew.get(spec.role, set())) for spec in specs}
    scripts = {wish.node_setup.sha256: wish.node_setup.sha256} if wish.node_setup else {}
    wiring = Wiring(place.account_id, place.role_arn, names, outputs, scripts)
    return {spec.role: (spec.kind, spec.body(wiring)) for spec in specs}


def templates(made: Bodies) -> list[tuple[str, Mapping[str, str]]]:
    return [(body["TemplateBody"], body["Parameters"]) for kind, body in made.values() if kind == "stack"]


def change_plan(
    old: Configuration | None,
    new: Configuration,
    place: Place,
    observed: Observed,
    prices: Prices,
    minutes: Minutes,
    verdicts: Iterable[str] = (),
) -> ChangePlan:
    """The plan that leads from `old` (None: nothing is there yet) to `new`."""
    before = bodies(old, place, {}) if old else {}
    found: list[Effect] = []
    after = bodies(new, place, {})
    if old and old.architecture != new.architecture:
        values = {"field": "architecture"}
        found.append(Effect("refused", "cluster_replaced", "cluster", values=values))
    else:
        after = bodies(new, place, _anew(before, after)) if old else after
        for role, (kind, body) in after.items():
            found += _effects(kind, role, before[role][1] if role in before else None, body, observed)
        for role, (kind, body) in before.items():
            if role not in after and kind == "stack":
                found += stacks.removal(role, body)
    return _finished(
        "change" if old else "create",
        found,
        observed,
        minutes,
        prices,
        before=cost(old, templates(before), prices) if old else None,
        after=cost(new, templates(after), prices),
        changes=tuple(changes(old, new)) if old else (),
        added=accelerated(new) - (accelerated(old) if old else 0),
        verdicts=tuple(verdicts),
        document=new.document(),
    )


def _anew(before: Bodies, after: Bodies) -> dict[str, set[str]]:
    """Outputs of stacks that name another thing after the change."""
    found = {}
    for role, (kind, body) in after.items():
        if kind == "stack" and role in before:
            found[role] = outputs_of(body["TemplateBody"], stacks.replaced(before[role][1], body))
    return found


def _effects(kind: str, role: str, old: Any, new: Any, observed: Observed) -> list[Effect]:
    if kind == "stack":
        return stacks.effects(role, old, new)
    if kind == "hyperpod":
        return hyperpod.effects(role, old, new)
    return parallelcluster.effects(role, old, new, observed.fleet)


def deletion_plan(old: Configuration, place: Place, observed: Observed, prices: Prices, minutes: Minutes) -> ChangePlan:
    """What goes with a cluster, and what stays and goes on costing."""
    made = bodies(old, place, {})
    found: list[Effect] = []
    for role, (kind, body) in reversed(made.items()):
        if kind == "stack":
            found += stacks.removal(role, body)
        else:
            found += [_group_goes(role, group.name, group.count) for group in old.instance_groups]
    return _finished(
        "delete", found, observed, minutes, prices, before=cost(old, templates(made), prices), after=_kept(old, prices)
    )


@dataclass(frozen=True)
class Ledger:
    """What is known of a cluster without its configuration: what was asked for, and what was seen of it."""

    region: str
    parts: tuple[tuple[str, str], ...]  # role and name, in the order in which they go
    groups: tuple[tuple[str, int], ...]
    file_systems: tuple[tuple[str, str, int | None, int], ...]  # id, kind, throughput, GiB
    why: str = ""


def ledger_deletion_plan(ledger: Ledger, observed: Observed, prices: Prices, minutes: Minutes) -> ChangePlan:
    """What goes, where no request of the configuration can be made any more to compare with."""
    found = [Effect("unknown", "configuration_lost", "cluster", values={"why": ledger.why})]
    found += [Effect("removed", "part_removed", role, values={"name": name}) for role, name in ledger.parts]
    found += [_group_goes("cluster", group, count) for group, count in ledger.groups]
    found += [
        Effect("kept", "data_stays", "base", values={"name": name, "type": stacks.FILE_SYSTEM}, holds_data=True)
        for name, *_ in ledger.file_systems
    ]
    lines = [storage_line(kind, rate, size, ledger.region, prices) for _, kind, rate, size in ledger.file_systems]
    return _finished("delete", found, observed, minutes, prices, before=None, after=Cost(tuple(lines)))


def _group_goes(role: str, group: str, count: int) -> Effect:
    return Effect("removed", "group_removed", role, values={"group": group, "count": count}, stops=(group,))


def _kept(old: Configuration, prices: Prices) -> Cost:
    """File systems stay when a cluster goes."""
    whole = cost(old, [], prices)
    return Cost(tuple(line for line in whole.lines if line.unit in ("GiB", "MB/s")))


def software_plan(
    now: Configuration,
    groups: Mapping[str, int],
    place: Place,
    observed: Observed,
    prices: Prices,
    minutes: Minutes,
) -> ChangePlan:
    """What a software update of these groups does."""
    found = hyperpod.software("cluster", groups, BATCH)
    same = cost(now, templates(bodies(now, place, {})), prices)
    return _finished("software", found, observed, minutes, prices, before=same, after=same)


def _finished(
    kind: str,
    found: Iterable[Effect],
    observed: Observed,
    minutes: Minutes,
    prices: Prices,
    *,
    before: Cost | None,
    after: Cost,
    **more: Any,
) -> ChangePlan:
    ordered = sorted(found, key=lambda effect: KINDS.index(effect.kind))
    groups = {name for effect in ordered for name in effect.stops}
    stopped = tuple(job for job in observed.jobs if job.partition in groups)
    return ChangePlan(
        kind=kind, changes=more.pop("changes", ()), effects=tuple(ordered), stopped=stopped, minutes=minutes,
        before=before, after=after, prices=prices, **more,
    )  # fmt: skip


def accelerated(wish: Configuration) -> int:
    """Instances with accelerators: what approvals and quotas count."""
    known = facts.load()
    return sum(count for kind, count in wish.counts().items() if (found := known.instance(kind)) and found.accelerators)


def typical(engine: str, what: str) -> Minutes:
    """By the facts; a kind of change that they do not know takes as long as a change, and an engine that they do not know
    as long as any."""
    rows = {(row["engine"], row["what"]): row for row in table("durations.tsv")}
    row = rows.get((engine, what)) or rows.get((engine, "change"))
    known = [row] if row else list(rows.values())
    return Minutes(min(int(each["least"]) for each in known), max(int(each["most"]) for each in known))
