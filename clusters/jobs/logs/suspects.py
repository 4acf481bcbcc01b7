"""Which node a job's trouble points to, and how sure that is. Pure.

A dead accelerator breaks the whole communicator, and every rank then complains of every other: a complaint of the
communicator is therefore no evidence against the one who utters it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

NEAR = timedelta(minutes=10)
BEHIND = timedelta(seconds=60)
HARDWARE = frozenset(
    {48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 109, 119, 120, 136, 140, 143}
)  # Xids that a program cannot cause
Why = Literal["xid_hardware", "xid", "node_bad", "device", "first_silent", "process_died", "out_of_memory"]
WEIGHTS: Mapping[Why, float] = {
    "xid_hardware": 0.9,
    "node_bad": 0.8,
    "device": 0.6,
    "first_silent": 0.5,
    "xid": 0.4,
    "process_died": 0.35,
    "out_of_memory": 0.2,
}


@dataclass(frozen=True)
class Sign:
    """Something that was told about a node near the trouble."""

    why: Why
    at: datetime
    text: str


@dataclass
class NodeTold:
    """One node of a job with everything that is known of it."""

    name: str
    heard_at: datetime | None = None  # the last line of any of its ranks
    signs: list[Sign] = field(default_factory=list)
    confidence: float = 0.0
    reasons: tuple[Why, ...] = ()


def weigh(nodes: Sequence[NodeTold], trouble_at: datetime | None) -> list[NodeTold]:
    """The nodes, each with how likely it is the cause, the likeliest first. Without trouble nobody is suspected."""
    if trouble_at is not None:
        heard = sorted(node.heard_at for node in nodes if node.heard_at is not None)
        for node in nodes:
            near = [sign for sign in node.signs if abs(sign.at - trouble_at) <= NEAR]
            whys: dict[Why, float] = {sign.why: WEIGHTS[sign.why] for sign in near}
            others = [at for at in heard if at != node.heard_at]
            if node.heard_at is not None and others and others[0] - node.heard_at > BEHIND:
                whys["first_silent"] = WEIGHTS["first_silent"]
            doubt = 1.0
            for weight in whys.values():
                doubt *= 1 - weight
            node.confidence = round(1 - doubt, 2)
            node.reasons = tuple(sorted(whys, key=lambda why: -whys[why]))
    return sorted(nodes, key=lambda node: (-node.confidence, node.name))


def sign_of(kind: str, xid: int | None) -> Why | None:
    """What a fault's kind says against the node it happened on; None: nothing."""
    if kind == "xid":
        return "xid_hardware" if xid in HARDWARE else "xid"
    found: Why | None = {
        "device": "device",
        "lost_process": "process_died",
        "out_of_memory": "out_of_memory",
    }.get(kind)  # type: ignore[assignment]
    return found
