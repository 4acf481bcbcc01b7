"""The first launch, with every process running: the eight HyperPod clusters of the demo, and what an empty cloud gives."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from program.demo import launches
from program.transfer import programme_file
from tests import programmes
from tests.asking import Cloud, Portal, wait_for
from tests.tree import RunningTree

pytestmark = pytest.mark.tree

MANAGER = "hana.pm@nfmp.example"
FAST = {"SANDBOX_SPEED": "1200", "BELL_SECONDS": "1", "WEB_WORKERS": "1"}
TOLD = programme_file.read()
CLUSTERS = {cluster["name"]: (row, cluster) for row, cluster in launches.launchable(TOLD)}
# In a cloud that gives nothing: one of each engine.
BARREN = ("aster-train", "birch-med", "ember-code")


def _states(portal: Portal) -> dict[str, str]:
    return {row["name"]: row["state"] for row in portal.rows("clusters/")}


class Barren:
    """A portal of its own on a cloud that gives nothing: it comes up and is asked beside the other one, since both of
    them mostly wait."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.problem = folder, ""
        self.tree = RunningTree(folder / "var", **FAST, PCLUSTER_LOCK=str(folder / "lock"), CAPACITY_TRIES="1")
        self.asking = threading.Thread(target=self._ask, daemon=True)
        self.asking.start()

    def _ask(self) -> None:
        try:
            cloud = Cloud(self.tree.wait_until_ready(300))
            for operation in ("CreateCluster", "RunInstances"):
                cloud.post("faults", {"fault": "no_capacity", "operation": operation, "times": 100_000})
            self.tree.manage("demo", "--file", str(programmes.only(BARREN, self.folder)), seconds=300)
        except BaseException as problem:  # noqa: BLE001  told in the test that waits for it
            self.problem = f"{type(problem).__name__}: {problem}"

    def asked(self) -> RunningTree:
        self.asking.join(600)
        assert not self.problem and not self.asking.is_alive(), self.problem or self.tree.said()
        return self.tree


@pytest.fixture(scope="module", autouse=True)
def barren(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Barren]:
    made = Barren(tmp_path_factory.mktemp("barren"))
    try:
        yield made
    finally:
        made.tree.stop()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, barren: Barren) -> Iterator[RunningTree]:
    folder = tmp_path_factory.mktemp("launch")
    running = RunningTree(folder / "var", DEMO="1", **FAST, PCLUSTER_LOCK=str(folder / "lock"))
    try:
        yield running.wait_until_ready(300)
    finally:
        running.stop()


@pytest.fixture(scope="module")
def portal(tree: RunningTree) -> Portal:
    """The programme manager's view, once all is up."""
    manager = Portal(tree, MANAGER)
    wait_for("all clusters ready", lambda: list(_states(manager).values()) == ["ready"] * len(CLUSTERS), 900)
    # The demo's people launch their jobs as soon as they can, and the history is compared below.
    wait_for("their jobs launched", lambda: _live_jobs() <= Counter(job["name"] for job in manager.rows("jobs/")), 300)
    return manager


def _live_jobs() -> Counter[str]:
    live = [job for job in TOLD["jobs"] if job["state"] in ("running", "pending")]
    return Counter(job["name"] for job in live)


def test_the_portal_answers(tree: RunningTree) -> None:
    for path in ("/healthz", "/readyz", "/"):
        with urllib.request.urlopen(tree.url + path, timeout=20) as answer:
            assert answer.status == 200, path


def test_every_node_of_the_thirteen_clusters_runs(portal: Portal) -> None:
    assert _states(portal) == dict.fromkeys(CLUSTERS, "ready")
    nodes = portal.rows("nodes/")
    assert {node["state"] for node in nodes} == {"running"}
    counts = Counter(node["instance_type"] for node in nodes)
    assert (counts["p5.48xlarge"], counts["trn1.32xlarge"]) == (127, 24)


def test_each_cluster_is_in_its_participants_account(tree: RunningTree, portal: Portal) -> None:
    # A ParallelCluster is a stack of its own name, beside the stacks of the bases.
    made = [
        call for call in Cloud(tree).created() if call[0] == "CreateCluster" or not re.search("-(base|eks)-", call[3])
    ]
    found = {re.sub(r"-[a-z0-9]{10}$", "", name): (account, region) for _, account, region, name in made}
    assert found == {name: (row["provider_account"], cluster["region"]) for name, (row, cluster) in CLUSTERS.items()}
    assert Counter(call[0] for call in made) == {"CreateCluster": 8, "CreateStack": 5}


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_step_is_in_the_participants_history(name: str, portal: Portal) -> None:
    row, cluster = CLUSTERS[name]
    [found] = [each for each in portal.rows(f"t/{row['slug']}/clusters/") if each["name"] == name]
    entries = sorted(portal.rows(f"t/{row['slug']}/entries/", cluster=found["id"]), key=lambda entry: entry["id"])
    kinds = [entry["kind"] for entry in entries]
    steps = ["cluster.requested", "cluster.approved", "cluster.creating", "cluster.ready"]
    assert [kind for kind in kinds if kind in steps] == steps
    parts = 3 if cluster["orchestrator"] == "hyperpod-eks" else 2
    assert kinds.count("part.creating") == kinds.count("part.exists") == parts
    assert "nodes.running" in kinds and "cluster.proof" in kinds
    asked, approved = (next(entry for entry in entries if entry["kind"] == kind) for kind in steps[:2])
    assert asked["actor"] != approved["actor"]


def test_a_participant_sees_its_own_clusters_only(tree: RunningTree, portal: Portal) -> None:
    assert set(_states(Portal(tree, "iona@kestrivane.example"))) == {"kest-eo", "kest-trn"}
    assert set(_states(Portal(tree, "bea@dovemoor.example"))) == {"dove-trn"}


KUBERNETES = "birch-med"  # the job of the demo holds all its nodes
MANIFEST = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mine}
spec:
  runPolicy: {cleanPodPolicy: Running}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: registry/training@sha256:0000000000000000000000000000000000000000000000000000000000000000
            command: [/bin/bash, -c, "echo begun $TOKEN\\nsrun python train.py --train-iters 200000"]
            resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
"""


def launched_on_kubernetes(tree: RunningTree, row: dict[str, Any], cluster: str) -> list[str]:
    """A job on Kubernetes by the API, watched, read and cancelled; the states of its history in their order."""
    engineer, mine = Portal(tree, row["email"]), f"t/{row['slug']}/jobs/"
    asked = {
        "cluster": cluster,
        "name": "Mine on EKS",
        "script": MANIFEST,
        "nodes": 1,
        "environment": {"TOKEN": "told"},
    }
    before = engineer.rows(mine, cluster=cluster, state="running")
    job = f"{mine}{engineer.sends(mine, asked)['id']}/"
    if before:
        wait_for("the job in the queue", lambda: engineer.shown(job)["state"] == "queued", 60)
    for other in before:
        engineer.sends(f"{mine}{other['id']}/cancel/", {"why": "make room"})
    wait_for("the job running", lambda: engineer.shown(job)["state"] == "running", 120)
    assert engineer.shown(job)["node_names"][0].startswith("hyperpod-i-")
    wait_for("its log", lambda: "begun told" in engineer.shown(f"{job}log/")["text"], 60)
    wait_for("steps in its log", lambda: "iteration" in engineer.shown(f"{job}log/")["text"], 60)
    assert "told" not in engineer.shown(job)["script"]
    engineer.sends(f"{job}cancel/", {"why": "seen enough"})
    wait_for("the job cancelled", lambda: engineer.shown(job)["state"] == "cancelled", 120)
    about = engineer.rows(f"t/{row['slug']}/entries/", subject="job", subject_id=engineer.shown(job)["id"])
    return [entry["kind"] for entry in sorted(about, key=lambda entry: entry["id"])]


def test_a_job_is_launched_watched_read_and_cancelled_on_kubernetes(tree: RunningTree, portal: Portal) -> None:
    row, _ = CLUSTERS[KUBERNETES]
    email = next(one["email"] for one in TOLD["people"] if one["handle"] == row["team"]["contacts"]["ml"])
    [cluster] = [one["id"] for one in portal.rows(f"t/{row['slug']}/clusters/") if one["name"] == KUBERNETES]
    kinds = launched_on_kubernetes(tree, {"slug": row["slug"], "email": email}, cluster)
    assert kinds[:2] == ["job.requested", "job.submitted"] and kinds[-1] == "job.cancelled"


def _told(portal: Portal) -> Counter[str]:
    """What people did, by kind; the engine may go on while we look."""
    return Counter(entry["kind"] for entry in portal.rows("entries/") if entry["actor"] != "engine")


def test_the_programme_goes_into_a_file_and_into_an_empty_installation(
    tree: RunningTree, portal: Portal, tmp_path: Path
) -> None:
    """What the numbers have to be stands in the file that the demo began from."""
    file, again = tmp_path / "programme.yaml", tmp_path / "again.yaml"
    tree.manage("programme_export", str(file))
    empty = RunningTree(tmp_path / "var", **FAST)
    try:
        empty.wait_until_ready()
        empty.manage("programme_import", str(file), seconds=240)
        there = Portal(empty, MANAGER)
        empty.manage("programme_export", str(again), seconds=240)
        assert {row["name"] for row in there.rows("clusters/")} == set(CLUSTERS)
        assert len(there.rows("cases/")) == TOLD["totals"]["cases"]
    finally:
        empty.stop()
    launched = len(portal.rows("jobs/", purpose="training"))
    for written in (file, again):
        told = programme_file.read(written)
        assert told["totals"] == TOLD["totals"] | {"jobs": launched}, written.name


def test_a_second_start_loads_the_demo_again_changes_nothing_and_goes_on(tree: RunningTree, portal: Portal) -> None:
    before, made = _told(portal), Cloud(tree).created()
    assert tree.stop() == 0
    again = RunningTree(tree.var, tree.port, DEMO="1", **FAST)
    try:
        again.wait_until_ready(180)
        assert "loading the demo programme" in again.said() and "the demo programme is loaded" in again.said()
        assert _states(portal) == dict.fromkeys(CLUSTERS, "ready")
        assert _told(portal) == before
        assert Cloud(again).created() == made
    finally:
        again.stop()


def test_in_a_cloud_that_gives_nothing_no_cluster_becomes_ready(barren: Barren) -> None:
    engines = {name: cluster["orchestrator"] for name, (_, cluster) in CLUSTERS.items()}
    assert {engines[name] for name in BARREN} == set(engines.values())
    portal, seen = Portal(barren.asked(), MANAGER), set()

    def all_failed() -> bool:
        seen.update(_states(portal).values())
        return list(_states(portal).values()) == ["failed"] * len(BARREN)

    wait_for("every cluster told that it failed", all_failed, 900)
    assert "ready" not in seen
    assert {node["state"] for node in portal.rows("nodes/")} <= {"pending", "gone"}
    failed = list(portal.rows("entries/", kind="cluster.failed"))
    assert len(failed) == len(BARREN)
    assert all(re.search("sufficient .*capacity", entry["facts"]["why"]) for entry in failed)
