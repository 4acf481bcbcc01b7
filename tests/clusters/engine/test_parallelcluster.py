"""A ParallelCluster goes its way through the engine, made by the real `pcluster` on the sandbox cloud."""

import pytest
from django.db import connection

from clusters import actions
from clusters.models import Job
from clusters.providers import programs
from tenants.history.models import Entry
from tenants.models import Attachment
from tenants.wall.acting import acting_for
from tests.clusters.engine.conftest import Bench

pytestmark = pytest.mark.skipif(not programs.executable().exists(), reason="ParallelCluster is not installed")

SLOW = "cluster-slow"
GROUPS = [
    {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
    {"name": "workers", "instance_type": "p5.48xlarge", "count": 2},
]


@pytest.fixture(autouse=True)
def patient_database(world):
    """A test is one transaction; the product has none open while a program runs."""
    with connection.cursor() as cursor:
        cursor.execute("set idle_in_transaction_session_timeout = 0")
        cursor.execute("set transaction_timeout = 0")


@pytest.fixture(autouse=True)
def own_turn(tmp_path, monkeypatch):
    """Tests beside this one, and a portal that runs on this machine, do not take its turn."""
    monkeypatch.setenv("PCLUSTER_LOCK", str(tmp_path / "lock"))


def asked_for(bench: Bench, **more):
    return bench.approved(architecture="parallelcluster-p5", instance_groups=GROUPS, **more)


def until(bench: Bench, cluster, state: str, steps: int = 30):
    for _ in range(steps):
        bench.cloud.advance(300)
        bench.step(SLOW)
        if bench.now(cluster).state == state:
            break
        bench.step("jobs")
    found = bench.now(cluster)
    assert found.state == state, (found.state, found.needs_person, found.unknown_reason, found.conditions)
    return found


def test_a_parallelcluster_is_made_runs_a_job_grows_and_goes(bench):
    cluster = asked_for(bench)
    ready = until(bench, cluster, "ready")
    assert ready.orchestrator == "parallelcluster"
    assert (ready.nodes_running, ready.nodes_wanted) == (3, 3)
    nodes = {(node.group, node.seat): node for node in bench.nodes()}
    assert {node.instance_type for node in nodes.values() if node.group == "workers"} == {"p5.48xlarge"}
    assert nodes["head", 1].state == "running"
    assert bench.rows(Job, purpose="proof")[0].state == "succeeded"
    assert bench.creates("CreateStack") == 2  # the base, and the one that pcluster makes

    logs = {row.name.split("-", 2)[-1]: row for row in bench.rows(Attachment, subject="part")}
    assert any("create-cluster-dryrun" in name for name in logs) and len(logs) == 2
    told = [entry.facts for entry in bench.rows(Entry, kind="part.program")]
    assert [fact["code"] for fact in told] == [1, 0]

    with acting_for(bench.tenant, staff=True):
        actions.retire_cluster(cluster=cluster, by="engine", why="test")
    until(bench, cluster, "deleted")
    assert bench.creates("CreateStack") == 2
