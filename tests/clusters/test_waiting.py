"""Beside a job that waits stands what EC2 said of its nodes, and for how long nobody asks again (cluster failure 2)."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from clusters.engine import waiting
from clusters.engine.follow import Followed
from clusters.engine.job_turns import Nodes, Turn
from clusters.launchers import JobSeen, NodeSeen
from clusters.providers import ProviderError

STAYS = Followed("queued")
NOW = datetime(2026, 3, 1, 9, 5, tzinfo=UTC)
# As ParallelCluster 3 writes it (its documentation, cluster capacity error).
REASON = "(Code:InsufficientInstanceCapacity)Temporarily disabling node due to insufficient capacity"


def node(name: str, reason: str = REASON, minutes: int = 5) -> NodeSeen:
    return NodeSeen(name, "down", "DOWN+CLOUD", reason=reason, reason_at=NOW - timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([node("gpu-dy-p5-1"), node("gpu-dy-p5-2")],
         "EC2 refused gpu-dy-p5-1, gpu-dy-p5-2 at 09:00 UTC: InsufficientInstanceCapacity. ParallelCluster asks again after"
         " 09:10 UTC (600 s after the refusal)."),
        ([node("gpu-dy-p5-1", minutes=11)],
         "EC2 refused gpu-dy-p5-1 at 08:54 UTC: InsufficientInstanceCapacity. ParallelCluster asks again with the next job."),
        ([node("gpu-dy-p5-1", REASON.replace("InsufficientInstanceCapacity", "VcpuLimitExceeded"), 1), node("gpu-dy-p5-2")],
         "EC2 refused gpu-dy-p5-1 at 09:04 UTC: VcpuLimitExceeded."),
        ([node(f"gpu-dy-p5-{n}") for n in range(1, 6)], "gpu-dy-p5-1, gpu-dy-p5-2, gpu-dy-p5-3 and 2 more"),
        ([node("cpu-dy-m5-1")], ""),
        ([node("gpu-dy-p5-1", "Not responding")], ""),
        ([], ""),
    ],
)  # fmt: skip
def test_row_2_the_code_of_ec2_and_the_cooldown_are_told(nodes: list[NodeSeen], says: str) -> None:
    told = waiting.why(nodes, "gpu", NOW)
    assert told.startswith(says) if says.startswith("EC2") else (says in told and bool(told) == bool(says))


def seen(state: Any) -> JobSeen:
    return JobSeen(external_id="7", name="train", state=state, engine_state="PENDING", reason="Resources")


def test_row_2_only_a_job_that_waits_is_told_and_only_for_it_are_nodes_asked() -> None:
    job, asked = SimpleNamespace(partition="gpu"), []

    def ask() -> list[NodeSeen]:
        asked.append(1)
        return [node("gpu-dy-p5-1")]

    todo = [Turn(job, seen("queued"), STAYS), Turn(job, seen("running"), STAYS), Turn(job, None, STAYS)]
    assert waiting.explained("hyperpod-slurm", nodes := Nodes(ask), todo, NOW) == todo
    assert waiting.explained("parallelcluster", nodes, todo[1:], NOW) == todo[1:] and asked == []
    told = waiting.explained("parallelcluster", nodes, todo, NOW)
    assert told[0].seen and told[0].seen.reason.startswith("Resources EC2 refused gpu-dy-p5-1")
    assert told[1:] == todo[1:]
    assert nodes.told() and asked == [1]  # whoever wants to know more of them in this step asks nobody again


def test_a_scheduler_that_does_not_tell_its_nodes_changes_nothing() -> None:
    asked = []

    def silent() -> list[NodeSeen]:
        asked.append(1)
        raise ProviderError("unclear", "no answer")

    todo = [Turn(SimpleNamespace(partition="gpu"), seen("queued"), STAYS)]
    assert waiting.explained("parallelcluster", nodes := Nodes(silent), todo, NOW) == todo
    assert nodes.told() is None and asked == [1]
