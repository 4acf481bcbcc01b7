"""A cluster that was made of an older version of its architecture moves to the newest, stepped against the sandbox."""

import pytest

from clusters import architectures, foresight
from clusters.models import ExternalObject
from clusters.moving import moved
from tenants.wall.acting import acting_for
from tests.clusters.engine.conftest import Bench
from tests.clusters.engine.test_changes import agree, change, operations


@pytest.mark.parametrize("version", ["2026.11"])
def test_a_hyperpod_cluster_moves_to_the_newest_version_and_keeps_what_it_has(bench: Bench, version: str) -> None:
    cluster = bench.until(bench.approved(version=version, count=3), "ready")
    assert cluster.architecture_version == version
    before, ids = bench.part("base").outputs, {node.instance_id for node in bench.nodes()}
    assert bench.cloud_account("ecr").describe_repositories()["repositories"] == []
    newest = architectures.newest()["hyperpod-slurm"]
    with acting_for(bench.tenant):
        body = moved(foresight.current(cluster), newest)
    operation = change(bench, cluster, body)
    if operation.state == "waiting":
        agree(bench, cluster)
    bench.look(cluster)
    there = bench.until(cluster, "ready")
    assert operations(bench)[-1] == ("change", "done")
    assert (there.architecture_version, there.applied) == (newest, there.generation)
    after = bench.part("base").outputs
    # What the newer version adds is there, and what is under the nodes is what it was.
    assert len(bench.cloud_account("ecr").describe_repositories()["repositories"]) == 1
    kept = ("VpcId", "NodeSubnetId", "SecurityGroupId", "LustreId")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert {node.instance_id for node in bench.nodes()} == ids and bench.creates("CreateCluster") == 1
    assert {part.applied for part in bench.rows(ExternalObject)} == {there.generation}
    told = bench.rows(ExternalObject, role="base")[0]
    assert told.state == "exists" and bench.creates("UpdateStack") == 1
