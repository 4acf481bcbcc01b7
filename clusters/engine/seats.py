"""Which instance sits in which seat of an instance group, and what that makes of the node. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from clusters.providers import NodeSeen

# The engines' words for an instance -> ours: HyperPod's, then EC2's.
STATES: Mapping[str, str] = {
    "Running": "running",
    "Pending": "pending",
    "AttachInProgress": "pending",
    "DetachInProgress": "replacing",
    "DeepHealthCheckInProgress": "checking",
    "SystemUpdating": "checking",
    "Failure": "impaired",
    "ShuttingDown": "replacing",
    "NotFound": "gone",
    "pending": "pending",
    "running": "running",
    "stopping": "impaired",
    "stopped": "impaired",
    "shutting-down": "replacing",
    "terminated": "gone",
}


@dataclass(frozen=True)
class Seat:
    """A node as we know it."""

    group: str
    number: int
    instance_id: str = ""
    state: str = "pending"


@dataclass(frozen=True)
class Seated:
    """A seat after this look: who sits there now, in which state, and whom it replaced."""

    group: str
    number: int
    state: str
    seen: NodeSeen | None
    replaced: str = ""


def seated(
    seats: Sequence[Seat],
    seen: Sequence[NodeSeen],
    *,
    ending: bool = False,
    resting: Collection[str] = (),
    wanted: Mapping[str, int] | None = None,
) -> list[Seated]:
    """Every seat with the instance that sits in it. An instance keeps its seat; a new one takes the first empty one.
    `resting` are groups whose instances are meant to be away.

    More instances than seats get seats of their own, so that nothing that runs is left out of the count. Of a group that
    is `wanted` smaller than it was, the empty seats beyond that are gone.
    """
    found: list[Seated] = []
    groups = sorted({seat.group for seat in seats} | {node.group for node in seen})
    for group in groups:
        mine = sorted((seat for seat in seats if seat.group == group), key=lambda seat: seat.number)
        here = [node for node in seen if node.group == group]
        most = None if wanted is None else wanted.get(group, 0)
        found += _group(group, mine, here, ending or group in resting, most)
    return found


def _group(group: str, seats: list[Seat], seen: list[NodeSeen], ending: bool, most: int | None) -> list[Seated]:
    known = {seat.instance_id for seat in seats if seat.instance_id}
    by_id = {node.instance_id: node for node in seen if node.instance_id}
    arrived = sorted((node for node in seen if node.instance_id not in known), key=lambda node: node.instance_id)
    rows = []
    room = len(seats) if most is None else most - sum(seat.instance_id in by_id for seat in seats if seat.instance_id)
    for seat in seats:
        node = by_id.get(seat.instance_id) if seat.instance_id else None
        replaced = ""
        if node is None and arrived:
            node, replaced = arrived.pop(0), seat.instance_id
        if seat.instance_id not in by_id or not seat.instance_id:
            room -= 1
        beyond_room = node is None and room < 0
        rows.append(Seated(group, seat.number, _state(seat, node, ending or beyond_room), node, replaced))
    beyond = max((seat.number for seat in seats), default=0)
    rows += [
        Seated(group, beyond + index, STATES.get(node.status, "impaired"), node)
        for index, node in enumerate(arrived, start=1)
    ]
    return rows


def _state(seat: Seat, node: NodeSeen | None, ending: bool) -> str:
    if node is not None:
        if ending and node.status == "shutting-down":
            return "gone"
        return STATES.get(node.status, "impaired")
    if ending:
        return "gone"
    # Whoever left when the seat was given up is not being replaced: somebody new is expected.
    return "replacing" if seat.instance_id and seat.state != "gone" else "pending"
