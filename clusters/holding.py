"""What a cluster has to hold of capacity: a pure function of its state and configurations, so that nothing counts twice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Kind = tuple[str, str]  # (instance type, way of buying)
Held = Counter[Kind]


@dataclass(frozen=True)
class Standing:
    """A cluster by what counts: its configurations (number, body) oldest first, and the one that waits for an approval."""

    state: str
    revisions: Sequence[tuple[int, Mapping[str, Any]]]
    done: int = 0  # the newest configuration that is known to be what is there; 0: none
    under_way: bool = False
    waiting: Mapping[str, Any] | None = None


def to_hold(now: Standing, accelerated: frozenset[str]) -> Held:
    """Of each type the most that may be there or come: what shrinks is held until it is done, what grows from the request on.

    A configuration that was given up before anything was asked counts no more: the newest is then what is there.
    """
    if now.state == "deleted" or not now.revisions:
        return Counter()
    number, newest = now.revisions[-1]
    there = next((body for each, body in now.revisions if each == now.done), None)
    settled = not now.under_way and (now.state == "ready" or number == now.done or _same(newest, there))
    bodies = [newest] if settled else [body for each, body in now.revisions if each >= now.done]
    if now.waiting is not None:
        bodies.append(now.waiting)
    return _most([counted(body, accelerated) for body in bodies])


def _most(bodies: Sequence[Held]) -> Held:
    """Of each type as many as in the largest, by the newest's ways of buying first: another way is not another instance."""
    found: Held = Counter()
    for kind in sorted({kind for body in bodies for kind, _option in body}):
        ways = [Counter({option: count for (each, option), count in body.items() if each == kind}) for body in bodies]
        largest = max(way.total() for way in ways)
        for way in reversed(ways):
            for option, count in sorted((way - Counter({o: n for (k, o), n in found.items() if k == kind})).items()):
                left = largest - sum(n for (k, _o), n in found.items() if k == kind)
                found[kind, option] += min(count, left)
    return +found


def counted(body: Mapping[str, Any], accelerated: frozenset[str]) -> Held:
    """Accelerated instances of a configuration by type and way of buying."""
    found: Held = Counter()
    for group in body.get("instance_groups", ()):
        kind = str(group["instance_type"]).removeprefix("ml.")
        if kind in accelerated:
            found[kind, option_of(group)] += group["count"]
    return +found


def option_of(group: Mapping[str, Any]) -> str:
    """How the instances of a group are bought."""
    if group.get("training_plan"):
        return "training_plan"
    if group.get("capacity") == "capacity-block":
        return "capacity_block"
    return "odcr" if group.get("reservation") else "on_demand"


def _same(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    return other is not None and one.get("instance_groups") == other.get("instance_groups")


def difference(wanted: Held, held: Mapping[Kind, int]) -> dict[Kind, int]:
    """The rows that bring the sums from what they are to what they should be; none where they are right already."""
    kinds = {*wanted, *held}
    return {kind: delta for kind in sorted(kinds) if (delta := wanted[kind] - held.get(kind, 0))}
