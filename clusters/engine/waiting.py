"""Why a job waits on a ParallelCluster: what EC2 said when its nodes were asked for, and how long nobody asks again."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from clusters.engine.job_turns import Nodes, Turn
from clusters.launchers import NodeSeen

# ParallelCluster writes EC2's code into the reason of a node, and leaves its compute resource alone for so long.
CODE = re.compile(r"\(Code:\s*([\w.]+)\)")
LEFT_ALONE = timedelta(seconds=600)
NAMED = 3


def explained(orchestrator: str, nodes: Nodes, turns: Sequence[Turn], now: datetime) -> list[Turn]:
    """The jobs of a step, those that wait with the reason of their nodes. The nodes are asked for only where one waits."""
    waiting = any(turn.seen is not None and turn.seen.state == "queued" for turn in turns)
    told = nodes.told() if orchestrator == "parallelcluster" and waiting else None
    return [_explained(turn, told, now) for turn in turns] if told else list(turns)


def _explained(turn: Turn, nodes: Sequence[NodeSeen], now: datetime) -> Turn:
    if turn.seen is None or turn.seen.state != "queued":
        return turn
    said = why(nodes, turn.job.partition, now)
    if not said:
        return turn
    return replace(turn, seen=replace(turn.seen, reason=" ".join(filter(None, [turn.seen.reason, said]))))


def why(nodes: Sequence[NodeSeen], partition: str, now: datetime) -> str:
    """What EC2 said of the nodes of a queue, newest first; empty where it refused none lately. Pure."""
    refused = sorted(
        (
            (node.reason_at, code[1], node.name)
            for node in nodes
            if node.name.startswith(f"{partition}-") and node.reason_at and (code := CODE.search(node.reason))
        ),
        reverse=True,
    )
    if not refused:
        return ""
    at, code, _name = refused[0]
    names = sorted(name for _at, other, name in refused if other == code)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    until = (at + LEFT_ALONE).astimezone(UTC)
    rest = (
        f"ParallelCluster asks again after {until:%H:%M} UTC ({int(LEFT_ALONE.total_seconds())} s after the refusal)."
        if until > now
        else "ParallelCluster asks again with the next job."
    )
    return f"EC2 refused {', '.join(names[:NAMED])}{more} at {at.astimezone(UTC):%H:%M} UTC: {code}. {rest}"
