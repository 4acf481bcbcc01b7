"""Orders to nodes (reboot, replace, remove, new software): how far they are, and what was answered for each node."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models.functions import Now

from clusters import allowed, states
from clusters.engine.facts import ENGINE, Known
from clusters.engine.seats import STATES
from clusters.models import Cluster, NodeOrder, Operation
from clusters.providers import NodeSeen, Ordered, Seen
from tenants.history import timeline

ORDERS = frozenset({"software", "reboot", "replace", "remove"})
OPEN = frozenset({"wished", "accepted", "away"})
# A reboot may be over before anybody looks; a node that runs this long after it was taken has rebooted.
SHORT = timedelta(minutes=2)
UNDONE = ("Failed", "RollbackInProgress", "RollbackComplete")


@dataclass(frozen=True)
class Progress:
    """How far the order is. `sentence` is empty when it is done; `failed` says why it came to nothing."""

    sentence: str = ""
    unsent: bool = False
    failed: str = ""
    done: int = 0
    of: int = 0


def progress(known: Known, seen: Mapping[str, Seen]) -> Progress:
    """What is still to be done of the order that is under way."""
    operation = known.operation
    if operation is None or operation.kind not in ORDERS:
        return Progress()
    if operation.sent_at is None:
        return _before(operation, seen.get("cluster"))
    told = seen.get("cluster")
    for order in known.orders:
        order.operation = operation
    if operation.kind == "software":
        return _software(known, operation, told)
    after = [
        followed(order, known.now, operation.kind, _instance(order, told), _successor(order, told))
        for order in known.orders
    ]
    open_ = [result for result in after if result in OPEN]
    done = len(after) - len(open_)
    return Progress(f"{done} of {len(after)} nodes are through." if open_ else "", done=done, of=len(after))


def _before(operation: Operation, told: Seen | None) -> Progress:
    """A cluster may be in service while one of its groups is in motion, and HyperPod takes no software update for that."""
    groups = told.body.get("groups", {}) if told and operation.kind == "software" else {}
    for name in (operation.body or {}).get("groups", []):
        word = (groups.get(name) or {}).get("status", "")
        status = allowed.HYPERPOD_GROUP.get(word)
        if status is None or "software" in status.may:
            continue
        if status.meaning == "working":
            return Progress(f"The instance group {name} is {word}; its software is updated when that is over.")
        return Progress(
            failed=f"The instance group {name} is {word}, and takes no software update. Mend the group first."
        )
    return Progress("The order waits to be sent.", unsent=True)


def _software(known: Known, operation: Operation, told: Seen | None) -> Progress:
    groups = (operation.body or {}).get("groups", [])
    words = {name: (told.body.get("groups", {}).get(name) or {}).get("software", "") if told else "" for name in groups}
    undone = next((name for name, word in words.items() if word in UNDONE), "")
    if undone:
        return Progress(failed=f"HyperPod took the software update of {undone} back: {words[undone]}.")
    nodes = [node for node in (told.nodes if told else ()) if node.group in groups]
    done = sum(_new(node, operation.sent_at) for node in nodes)
    if nodes and done == len(nodes) and all(word == "Succeeded" for word in words.values()):
        return Progress(done=done, of=len(nodes))
    return Progress(f"{done} of {len(nodes)} nodes have the new machine image.", done=done, of=len(nodes))


def _new(node: NodeSeen, sent_at: datetime | None) -> bool:
    return bool(node.software_at and sent_at and node.software_at >= sent_at - timedelta(seconds=1))


def _instance(order: NodeOrder, told: Seen | None) -> NodeSeen | None:
    return next((node for node in (told.nodes if told else ()) if node.instance_id == order.instance_id), None)


def _successor(order: NodeOrder, told: Seen | None) -> NodeSeen | None:
    """Who sits in the seat by now."""
    if order.node.instance_id == order.instance_id:
        return None
    return next((node for node in (told.nodes if told else ()) if node.instance_id == order.node.instance_id), None)


def followed(order: NodeOrder, now: datetime, kind: str, seen: NodeSeen | None, successor: NodeSeen | None) -> str:
    """The result for one node after this look. Pure."""
    if order.result not in ("accepted", "away"):
        return order.result
    running = seen is not None and STATES.get(seen.status) == "running"
    if kind == "remove":
        return "done" if seen is None else order.result
    if kind == "replace":
        arrived = successor is not None and STATES.get(successor.status) == "running"
        return "done" if arrived and not running else ("away" if not running else order.result)
    if not running:
        return "away"
    sent = order.operation.sent_at
    return "done" if order.result == "away" or (sent is not None and now - sent > SHORT) else order.result


def follow(known: Known, seen: Mapping[str, Seen]) -> None:
    """Write down what became of each node."""
    operation, told = known.operation, seen.get("cluster")
    if operation is None or operation.kind not in ORDERS or told is None:
        return
    for order in known.orders:
        order.operation = operation
        result = followed(order, known.now, operation.kind, _instance(order, told), _successor(order, told))
        if result != order.result:
            done = {"done_at": Now()} if result == "done" else {}
            NodeOrder.objects.filter(pk=order.pk, result=order.result).update(result=result, **done)
            order.result = result


def answered(cluster: Cluster, known: Known, told: Ordered) -> None:
    """What the provider said of each node, in its own words."""
    operation = known.operation
    if operation is None or operation.kind == "software":
        return
    for order in known.orders:
        columns: dict[str, Any] = {"result": "unclear"}
        if order.instance_id in told.accepted:
            columns = {"result": "accepted"}
        elif order.instance_id in told.refused:
            code, message = told.refused[order.instance_id]
            columns = {"result": "refused", "code": code[:60], "message": message}
        NodeOrder.objects.filter(pk=order.pk).update(**columns)
        order.result = columns["result"]
    names = {order.instance_id: order.node.name for order in known.orders}
    timeline.record(
        states.NODES_ANSWERED,
        about=operation,
        by=ENGINE,
        name=cluster.name,
        taken=len(told.accepted),
        asked=len(known.orders),
        refused=" ".join(f"{names.get(each, each)}: {message}" for each, (_code, message) in told.refused.items()),
        nodes={names.get(each, each): code for each, (code, _message) in told.refused.items()},
    )


def gone_by_order(known: Known) -> dict[str, int]:
    """Group -> how many nodes the provider agreed to take away for good."""
    found: dict[str, int] = {}
    for order in known.orders:
        if order.result in ("accepted", "away", "done"):
            found[order.node.group] = found.get(order.node.group, 0) + 1
    return found


def targets(known: Known) -> list[str]:
    """What the order is about: instances, or groups for software."""
    operation = known.operation
    if operation is not None and operation.kind == "software":
        return list((operation.body or {}).get("groups", []))
    return [order.instance_id for order in known.orders]
