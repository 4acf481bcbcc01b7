"""Why a job waits on a ParallelCluster: what EC2 said when its nodes were asked for, and how long nobody asks again."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from clusters.launchers import JobSeen, NodeSeen
from clusters.providers import ProviderError
from tenants import metrics

log = structlog.get_logger(__name__)

# ParallelCluster writes EC2's code into the reason of a node, and leaves its compute resource alone for so long.
CODE = re.compile(r"\(Code:\s*([\w.]+)\)")
LEFT_ALONE = timedelta(seconds=600)
NAMED = 3


def explained(
    orchestrator: str, ask: Callable[[], Sequence[NodeSeen]], todo: Mapping[Any, tuple[Any, JobSeen | None, Any]],
    now: datetime,
) -> dict[Any, tuple[Any, JobSeen | None, Any]]:  # fmt: skip
    """The jobs of a step, those that wait with the reason of their nodes. The nodes are asked for only where one waits."""
    waiting = [key for key, (_job, seen, _step) in todo.items() if seen is not None and seen.state == "queued"]
    if orchestrator != "parallelcluster" or not waiting:
        return dict(todo)
    try:
        nodes = ask()
    except ProviderError as error:
        metrics.provider_error("scheduler", error.kind)
        log.warning("nodes_not_seen", kind=error.kind, message=error.message)
        return dict(todo)
    found = dict(todo)
    for key in waiting:
        job, seen, step = todo[key]
        assert seen is not None
        said = why(nodes, job.partition, now)
        if said:
            found[key] = (job, dataclasses.replace(seen, reason=" ".join(filter(None, [seen.reason, said]))), step)
    return found


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
