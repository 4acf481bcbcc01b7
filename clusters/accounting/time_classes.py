"""Pure: each reserved accelerator-second of a cluster falls in exactly one class, by what was so at that moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

Kind = Literal[
    "lent", "stalled", "training", "recovering", "waiting_participant", "waiting_us", "waiting_provider", "idle"
]  # fmt: skip
# The first that holds counts. Who has lent a node has no other use of it; a job that runs is training whatever else is
# said of its cluster, unless it hangs; of those that are waited for, the one whose turn it is comes first: a provider
# cannot go on while an owner shuts us out or an approval is missing.
ORDER: tuple[Kind, ...] = get_args(Kind)
RANK = {kind: rank for rank, kind in enumerate(ORDER)}


@dataclass(frozen=True)
class Lane:
    """A seat of a cluster, with what sits in it."""

    key: str
    accelerators: int


@dataclass(frozen=True)
class Claim:
    """What is reserved from a second to a second (half open): one lane, or so many of whichever."""

    begins: int
    ends: int
    lane: str = ""
    count: int = 0


@dataclass(frozen=True)
class Fact:
    """What is so from a second to a second: of these lanes, of so many that nobody named, or (`lanes` None) of all."""

    kind: Kind
    begins: int
    ends: int
    lanes: frozenset[str] | None = frozenset()
    unnamed: int = 0


def classified(
    lanes: Sequence[Lane], claims: Sequence[Claim], facts: Sequence[Fact], begins: int, ends: int, *, each: int = 0
) -> dict[Kind, int]:
    """Accelerator-seconds of each class between two seconds. `each`: accelerators of a reserved node that has no lane yet."""
    found: dict[Kind, int] = dict.fromkeys(ORDER, 0)
    everything = [*claims, *facts]
    edges = {edge for one in everything for edge in (one.begins, one.ends) if begins < edge < ends}
    for start, stop in pairwise(sorted({begins, ends, *edges})):
        held = [claim for claim in claims if claim.begins <= start < claim.ends]
        if held:
            now = [fact for fact in facts if fact.begins <= start < fact.ends]
            for kind, accelerators in _of_a_moment(lanes, held, now, each):
                found[kind] += accelerators * (stop - start)
    return found


def _of_a_moment(
    lanes: Sequence[Lane], claims: Sequence[Claim], facts: Sequence[Fact], each: int
) -> Iterable[tuple[Kind, int]]:
    everywhere = min((RANK[fact.kind] for fact in facts if fact.lanes is None), default=RANK["idle"])
    ranks = {lane.key: everywhere for lane in lanes}
    for fact in facts:
        for key in fact.lanes or ():
            if key in ranks:
                ranks[key] = min(ranks[key], RANK[fact.kind])
    for fact in sorted(facts, key=lambda one: RANK[one.kind]):
        # Of nodes that nobody knows by name any more the count is still true: free lanes stand in for them.
        rank = RANK[fact.kind]
        free = sorted((lane.key for lane in lanes if ranks[lane.key] > rank), key=lambda key: -ranks[key])
        for key in free[: fact.unnamed]:
            ranks[key] = rank
    named = {claim.lane for claim in claims if claim.lane}
    count = sum(claim.count for claim in claims)
    others = sorted((lane for lane in lanes if lane.key not in named), key=lambda lane: ranks[lane.key])[:count]
    for lane in [*(lane for lane in lanes if lane.key in named), *others]:
        yield ORDER[ranks[lane.key]], lane.accelerators
    missing = count - len(others)
    if missing > 0:
        yield ORDER[min(everywhere, RANK["waiting_provider"])], missing * each
