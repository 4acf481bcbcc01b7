"""What pods, their events and their nodes say of a job on Kubernetes, as tables."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clusters.launchers import kubernetes_words as words
from clusters.launchers.manifests import Place, Work, pytorch_job

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
JOB = pytorch_job(Place("default", "p5.48xlarge"), Work("train", "image", 2, "true", auto_resume=False))
JOB["metadata"]["uid"] = "u"


def pod(index: int, phase: str, node: str = "", ready: str = "True", waiting: str = "", message: str = "") -> Any:
    conditions = [{"type": "Ready", "status": ready}] if phase == "Running" else []
    if phase == "Pending" and not node and message:
        conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
    state = {"waiting": {"reason": waiting, "message": message}} if waiting else {}
    status = {"phase": phase, "conditions": conditions, "containerStatuses": [{"state": state}] if state else []}
    return {"metadata": {"name": f"train-{index}"}, "spec": {"nodeName": node}, "status": status}


def event(index: int, reason: str, message: str, minute: int = 1, kind: str = "Warning") -> Any:
    about, at = {"kind": "Pod", "name": f"train-{index}"}, f"2026-12-01T08:{minute:02d}:00Z"
    return {"metadata": {}, "involvedObject": about, "type": kind, "reason": reason, "message": message,
            "lastTimestamp": at}  # fmt: skip


def node(name: str, ready: str) -> Any:
    told = {"type": "Ready", "status": ready, "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting.",
            "lastTransitionTime": "2026-12-01T08:55:00Z"}  # fmt: skip
    return {"metadata": {"name": name}, "spec": {}, "status": {"conditions": [told]}}


@pytest.mark.parametrize(
    ("pods", "events", "state", "reason"),
    [
        ([pod(0, "Pending"), pod(1, "Pending")],
         [event(0, "FailedScheduling", "old", 1), event(0, "FailedScheduling", "0/2 nodes are available", 2)],
         "queued", "FailedScheduling: 0/2 nodes are available"),
        # The pod says the same already: it is not said twice.
        ([pod(0, "Pending", message="0/2 nodes are available")],
         [event(0, "FailedScheduling", "0/2 nodes are available")], "queued", "Unschedulable: 0/2 nodes are available"),
        ([pod(0, "Pending", "n1", waiting="ImagePullBackOff", message="Back-off pulling image"), pod(1, "Running", "n2")],
         [event(0, "Failed", 'Failed to pull image "x": not found')], "starting",
         '1 of 2 pods run. ImagePullBackOff on n1: Back-off pulling image Failed: Failed to pull image "x": not found'),
        ([pod(0, "Pending", "n1", waiting="ContainerCreating"), pod(1, "Pending", "n2")],
         [event(1, "FailedMount", "fsx-claim is not bound")], "starting",
         "0 of 2 pods run. FailedMount: fsx-claim is not bound"),
        ([pod(0, "Pending")], [event(0, "Scheduled", "assigned", kind="Normal"), event(7, "Failed", "another's")],
         "queued", ""),
        ([], [event(0, "FailedScheduling", "of a pod that went")], "queued", ""),
    ],
)  # fmt: skip
def test_events_of_pods_are_the_reason_of_a_job_that_waits(pods, events, state, reason):
    seen = words.seen(JOB, pods, None, NOW, words.Beside(words.warnings(events)))
    assert (seen.state, seen.reason) == (state, reason)


@pytest.mark.parametrize(
    ("pods", "asked", "state", "engine_state", "lost"),
    [
        ([pod(0, "Running", "n1"), pod(1, "Running", "n2")], False, "running", "Running", False),
        ([pod(0, "Running", "n1", "False"), pod(1, "Running", "n2")], True, "running", "NodeLost", True),
        ([pod(0, "Running", "n2", "False"), pod(1, "Running", "n2")], True, "running", "Running", False),
        ([pod(0, "Running", "n1", "Unknown"), pod(1, "Pending")], True, "starting", "Pending", True),
    ],
)
def test_a_node_that_is_not_ready_with_pods_that_say_running_is_told_as_lost(pods, asked, state, engine_state, lost):
    assert any(map(words.doubtful, pods)) == asked
    nodes = [words.node(node("n1", "Unknown"), 0, 0), words.node(node("n2", "True"), 0, 0)]
    seen = words.seen(JOB, pods, None, NOW, words.Beside({}, words.unready(nodes) if asked else {}))
    assert (seen.state, seen.engine_state) == (state, engine_state)
    told = "The node n1 is lost: NodeStatusUnknown since 2026-12-01 08:55 UTC. Kubelet stopped posting."
    assert (told in seen.reason) == lost


def test_a_lost_node_tells_how_many_pods_are_lost_with_it():
    lost = words.node(node("n1", "Unknown"), 8, 2)
    assert (lost.state, lost.reason) == (
        "down",
        "Kubelet stopped posting. 2 pods of jobs still there are lost with it.",
    )
    assert words.node(node("n1", "False"), 0, 0).reason == "Kubelet stopped posting."
