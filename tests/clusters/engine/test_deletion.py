"""Deleting as a workflow: nothing is left but what was kept on purpose, and that is listed; what is stuck is told."""

import pytest

from clusters import actions
from clusters.models import ExternalObject, Leftover, Operation
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tests.clusters.engine.test_changes import operations, ready

__all__ = ["ready"]
# What everybody's account has from the beginning.
OF_THE_REGION = {"default"}


def retire(bench, cluster):
    with acting_for(bench.tenant, staff=True):
        actions.retire_cluster(cluster=bench.now(cluster), by="engine", why="over")


def inventory(own):
    """Everything in an account that can cost or stand in the way, by its own lists; `own` gives a client of a service."""
    ec2, found = own("ec2"), set()
    vpcs = [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc.get("IsDefault")]
    for vpc in vpcs:
        where = [{"Name": "vpc-id", "Values": [vpc]}]
        found.add(vpc)
        found |= {one["SubnetId"] for one in ec2.describe_subnets(Filters=where)["Subnets"]}
        groups = ec2.describe_security_groups(Filters=where)["SecurityGroups"]
        found |= {one["GroupId"] for one in groups if one["GroupName"] not in OF_THE_REGION}
        found |= {
            one["NetworkInterfaceId"] for one in ec2.describe_network_interfaces(Filters=where)["NetworkInterfaces"]
        }
        found |= {
            one["NatGatewayId"]
            for one in ec2.describe_nat_gateways()["NatGateways"]
            if one["State"] not in ("deleted", "deleting")
        }
        found |= {
            one["VpcEndpointId"]
            for one in ec2.describe_vpc_endpoints(Filters=where)["VpcEndpoints"]
            if one["State"].lower() != "deleted"
        }
    running = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
    held = own("ec2").describe_instances(Filters=running)["Reservations"]
    found |= {one["InstanceId"] for each in held for one in each["Instances"]}
    found |= set(own("eks").list_clusters()["clusters"]) | set(own("dynamodb").list_tables()["TableNames"])
    found |= {one["FileSystemId"] for one in own("fsx").describe_file_systems()["FileSystems"]}
    found |= {one["repositoryName"] for one in own("ecr").describe_repositories()["repositories"]}
    found |= {one["arn"] for one in own("amp").list_workspaces()["workspaces"]}
    found |= {one["id"] for one in own("grafana").list_workspaces()["workspaces"]}
    links = own("fsx").describe_data_repository_associations()["Associations"]
    found |= {one["AssociationId"] for one in links}
    found |= {one["Name"] for one in own("s3").list_buckets()["Buckets"]}
    found |= {one["ClusterName"] for one in own("sagemaker").list_clusters()["ClusterSummaries"]}
    stacks = own("cloudformation").describe_stacks()["Stacks"]
    found |= {one["StackName"] for one in stacks}
    found |= {one["AllocationId"] for one in ec2.describe_addresses()["Addresses"]}
    found |= {one["Name"] for one in own("ssm").describe_parameters()["Parameters"]}
    found |= {one["Name"] for one in own("secretsmanager").list_secrets()["SecretList"]}
    found |= {one["logGroupName"] for one in own("logs").describe_log_groups()["logGroups"]}
    found |= {one["RoleName"] for one in own("iam").list_roles()["Roles"] if one["RoleName"] != "CohortProvisioner"}
    return found


def test_what_is_left_is_what_was_kept_on_purpose_and_is_listed(bench, ready, settings):
    settings.CONSISTENCY_SECONDS = 0
    own, tags = bench.cloud_account, [{"Key": "cohort:resource", "Value": str(ready.pk)}]
    backup = own("fsx").create_backup(FileSystemId=bench.part("base").outputs["LustreId"])["Backup"]["BackupId"]
    tagged = {"TagSpecifications": [{"ResourceType": "volume", "Tags": tags}]}
    volume = own("ec2").create_volume(AvailabilityZone="ap-northeast-1a", Size=100, **tagged)["VolumeId"]
    tagged = {"TagSpecifications": [{"ResourceType": "snapshot", "Tags": tags}]}
    snapshot = own("ec2").create_snapshot(VolumeId=volume, **tagged)["SnapshotId"]
    own("ec2").create_volume(AvailabilityZone="ap-northeast-1a", Size=7)  # somebody else's
    [images] = [one["repositoryName"] for one in own("ecr").describe_repositories()["repositories"]]
    own("ecr").put_image(repositoryName=images, imageManifest="{}", imageTag="v1")
    retire(bench, ready)
    bench.until(ready, "deleted")
    left = bench.rows(Leftover)
    assert inventory(bench.cloud_account) | {backup, volume, snapshot} == {one.external_id for one in left}
    [registry] = [one for one in left if one.kind == "AWS::ECR::Repository"]
    assert (registry.why, registry.reason) == ("kept", "images: 1")
    # By the price file: 120 GiB × 0.05, 100 GiB × 0.08 and 100 GiB × 0.05, each × 1.25 in this Region.
    monthly = {one.external_id: str(one.monthly) for one in left}
    assert (monthly[backup], monthly[volume], monthly[snapshot]) == ("7.50", "10.00", "6.25")
    assert {one.why for one in left if one.kind in ("AWS::FSx::FileSystem", "AWS::S3::Bucket", "AWS::EC2::VPC")} == {
        "kept"
    }
    [lustre] = [one for one in left if one.kind == "AWS::FSx::FileSystem"]
    assert (lustre.size_gib, str(lustre.monthly)) == (1200, "300.00")  # 1,200 GiB × 0.20 × 1.25
    assert all(one.monthly is None for one in left if one.kind == "AWS::S3::Bucket")  # how full it is nobody knows
    [entry] = bench.rows(Entry, kind="cluster.leftovers")
    assert entry.facts["count"] == len(left)
    # A person deletes something, and asks to look again.
    own("ec2").delete_snapshot(SnapshotId=snapshot)
    own("ecr").delete_repository(repositoryName=images, force=True)
    with acting_for(bench.tenant, staff=True):
        actions.look_for_leftovers(cluster=bench.now(ready), by="engine")
    bench.step("leftovers")
    gone = {one.external_id for one in bench.rows(Leftover) if one.gone_at}
    assert gone == {snapshot, images} and bench.now(ready).state == "deleted"
    assert operations(bench)[-1] == ("delete", "done")


def test_an_account_that_does_not_answer_is_asked_again_before_it_counts_as_deleted(bench, ready, settings):
    settings.CONSISTENCY_SECONDS = 0
    retire(bench, ready)
    bench.cloud.fault("throttling", operation="ListStackResources", account=bench.cloud_account.id, times=4)
    bench.until(ready, "deleted")
    assert bench.rows(Leftover)


@pytest.fixture
def stuck(bench, ready):
    """A role that something else still holds on to."""
    bench.cloud.fault(
        "resource_stays", service="cloudformation", account=bench.cloud_account.id, match="ExecutionRole", times=3
    )
    return bench.part("base").outputs["ExecutionRoleArn"].rsplit("/", 1)[-1]


def test_what_is_stuck_is_tried_again_told_and_left_when_a_person_says_so(bench, ready, stuck, settings):
    settings.CONSISTENCY_SECONDS = 0
    retire(bench, ready)
    for _ in range(40):
        now = bench.look(ready, minutes=5)
        with acting_for(bench.tenant):  # our clock stands still, so the last call is moved instead
            ExternalObject.objects.filter(last_call="delete").update(last_call_at="2020-01-01T00:00:00Z")
        if now.needs_person:
            break
    assert now.state == "deleting" and "ExecutionRole" in now.needs_person
    assert bench.part("base").deletes == 3
    assert bench.rows(Operation, kind="delete")[0].state == "running"
    with acting_for(bench.tenant):
        actions.retry_cluster(cluster=bench.now(ready), by="engine", why="leave it")
    bench.until(ready, "deleted")
    left = {one.external_id: one.why for one in bench.rows(Leftover)}
    assert left[stuck] == "stuck"
    assert set(left) >= inventory(bench.cloud_account)
