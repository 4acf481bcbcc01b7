"""The newer parts of the architectures go their way through the engine: two controllers, accounts, login nodes, tiers."""

import json

import pytest
from django.db import connection

from clusters import actions
from clusters.models import ClusterAccess, ExternalObject, Leftover
from tenants.wall.acting import acting_for
from tests.clusters.engine.conftest import Bench
from tests.clusters.engine.test_parallelcluster import own_turn, until

__all__ = ["own_turn"]


@pytest.fixture(autouse=True)
def patient_database(world):
    """A test is one transaction; the product has none open while a program runs."""
    with connection.cursor() as cursor:
        cursor.execute("set idle_in_transaction_session_timeout = 0")
        cursor.execute("set transaction_timeout = 0")


def gone(bench: Bench, cluster, settings) -> None:
    settings.CONSISTENCY_SECONDS = 0  # the cloud's clock is moved, ours is not
    with acting_for(bench.tenant, staff=True):
        actions.retire_cluster(cluster=cluster, by="engine", why="test")


def test_two_controllers_keep_their_state_on_lustre_and_their_accounts_in_a_database(bench: Bench, settings):
    groups = [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 2, "role": "controller"},
        {"name": "workers", "instance_type": "p5.48xlarge", "count": 2},
    ]
    cluster = bench.approved(architecture="hyperpod-slurm-ha", instance_groups=groups)
    ready = bench.until(cluster, "ready")
    assert (ready.nodes_running, ready.nodes_wanted) == (4, 4)
    assert [part.role for part in sorted(bench.rows(ExternalObject), key=lambda part: part.position)] == [
        "base",
        "accounting",
        "cluster",
    ]
    database = bench.part("accounting").outputs
    bucket = bench.part("base").outputs["LifecycleBucketName"]
    listed = bench.cloud_account("s3").list_objects_v2(Bucket=bucket)["Contents"]
    key = next(one["Key"] for one in listed if one["Key"].endswith("provisioning_parameters.json"))
    told = json.loads(bench.cloud_account("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
    assert told["slurm_configurations"] == {
        "slurm_database_endpoint": database["Host"],
        "slurm_database_user": "slurm",
        "slurm_database_secret_arn": database["SecretArn"],
        "slurm_shared_directory": "/fsx",
    }
    secret = bench.cloud_account("secretsmanager").get_secret_value(SecretId=database["SecretArn"])
    assert len(secret["SecretString"]) == 40 and secret["Name"].startswith("cohort/clusters/")
    assert bench.rows(ClusterAccess)[0].jwt_key

    gone(bench, cluster, settings)
    bench.until(cluster, "deleted")
    names = {one["StackName"] for one in bench.cloud_account("cloudformation").describe_stacks()["Stacks"]}
    assert not any("accounting" in name for name in names)
    snapshots = bench.cloud_account("rds").describe_db_cluster_snapshots()["DBClusterSnapshots"]
    assert [one["DBClusterIdentifier"] for one in snapshots] == [database["Host"].partition(".")[0]]
    [kept] = [one for one in bench.rows(Leftover) if one.kind == "AWS::RDS::DBClusterSnapshot"]
    assert kept.external_id == snapshots[0]["DBClusterSnapshotIdentifier"]
    assert (kept.size_gib, str(kept.monthly)) == (10, "0.62")  # 10 GiB × 0.05 × 1.25


def test_a_controller_group_of_one_is_refused_where_there_must_be_two(bench: Bench):
    from tenants.web.problems import Refused

    with pytest.raises(Refused) as refused:
        bench.request(architecture="hyperpod-slurm-ha")
    assert "is 2" in str(refused.value)


def test_eks_gets_its_tiers_and_the_role_of_the_participants_people(bench: Bench):
    role = f"arn:aws:iam::{bench.cloud_account.id}:role/Trainers"
    groups = [{"name": "workers", "instance_type": "p5.48xlarge", "count": 2}]
    cluster = bench.approved(
        architecture="hyperpod-eks", instance_groups=groups, tiered_storage=30, editor_role=role,
        deep_health_checks=["InstanceStress"],
    )  # fmt: skip
    bench.until(cluster, "ready")
    name = bench.part("cluster").name
    seen = bench.cloud_account("sagemaker").describe_cluster(ClusterName=name)
    assert seen["TieredStorageConfig"] == {"Mode": "Enable", "InstanceMemoryAllocationPercentage": 30}
    assert seen["NodeProvisioningMode"] == "Continuous"
    eks = bench.part("eks").outputs["ClusterName"]
    entries = bench.cloud_account("eks").list_access_entries(clusterName=eks)["accessEntries"]
    assert set(entries) == {role, bench.cloud_account.role_arn}


@pytest.mark.pcluster
def test_a_parallelcluster_has_login_nodes_and_accounts(bench: Bench, settings):
    groups = [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
        {"name": "front", "instance_type": "m5.4xlarge", "count": 2, "role": "login"},
        {"name": "workers", "instance_type": "p4d.24xlarge", "count": 2},
    ]
    cluster = bench.approved(architecture="parallelcluster-p4d", instance_groups=groups, accounting=True)
    ready = until(bench, cluster, "ready")
    assert (ready.nodes_running, ready.nodes_wanted) == (5, 5)
    nodes = {(node.group, node.seat): node for node in bench.nodes()}
    assert {group for group, _seat in nodes} == {"head", "front", "workers"}
    assert {node.role for (group, _seat), node in nodes.items() if group == "front"} == {"login"}

    gone(bench, cluster, settings)
    until(bench, cluster, "deleted")
    running = bench.cloud_account("ec2").describe_instances(
        Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    )["Reservations"]
    assert running == []
