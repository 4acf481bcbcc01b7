"""HyperPod: what a request must be, how clusters come node by node, change, fail and go."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.clusters.sandbox.conftest import PLANNED
from tests.clusters.sandbox.driver import Account, Process, group, network, slurm_request


def counts(account: Account, name: str = "hoshi") -> tuple[str, dict[str, tuple[int, int]]]:
    seen = account("sagemaker").describe_cluster(ClusterName=name)
    return seen["ClusterStatus"], {
        g["InstanceGroupName"]: (g["CurrentCount"], g["TargetCount"]) for g in seen["InstanceGroups"]
    }


def nodes(account: Account, name: str = "hoshi") -> list[dict[str, Any]]:
    pages = (
        account("sagemaker")
        .get_paginator("list_cluster_nodes")
        .paginate(ClusterName=name, PaginationConfig={"PageSize": 5})
    )
    return [node for one in pages for node in one["ClusterNodeSummaries"]]


def test_a_cluster_comes_node_by_node_in_about_twenty_minutes(account: Account) -> None:
    made = network(account)
    arn = account("sagemaker").create_cluster(**slurm_request(made, workers=8))["ClusterArn"]
    assert counts(account) == ("Creating", {"head": (0, 1), "work": (0, 8)})
    assert {node["InstanceStatus"]["Status"] for node in nodes(account)} == {"Pending"}
    account.cloud.advance(780)
    status, seen = counts(account)
    assert (status, seen["head"]) == ("Creating", (1, 1))
    assert 0 < seen["work"][0] < 8
    account.cloud.advance(420)
    assert counts(account) == ("InService", {"head": (1, 1), "work": (8, 8)})
    found = nodes(account)
    assert len({node["InstanceId"] for node in found}) == 9
    assert all(len(node["InstanceId"]) == 19 and node["InstanceId"].startswith("i-") for node in found)
    detail = account("sagemaker").describe_cluster_node(ClusterName=arn, NodeId=found[1]["InstanceId"])["NodeDetails"]
    assert detail["Placement"] == {"AvailabilityZone": "ap-northeast-1a", "AvailabilityZoneId": "apne1-az4"}
    assert detail["PrivatePrimaryIp"].startswith("10.1.128.")


def test_nodes_take_their_addresses_from_the_subnet_and_give_them_back(account: Account) -> None:
    made = network(account)

    def free() -> int:
        return int(account("ec2").describe_subnets(SubnetIds=[made["Subnet"]])["Subnets"][0]["AvailableIpAddressCount"])

    before = free()
    account("sagemaker").create_cluster(**slurm_request(made, workers=4))
    assert before - free() == 4 * 32 + 1
    account("sagemaker").delete_cluster(ClusterName="hoshi")
    assert counts(account)[0] == "Deleting"
    account.cloud.advance(400)
    assert free() == before
    with pytest.raises(ClientError) as gone:
        counts(account)
    assert gone.value.response["Error"]["Code"] == "ResourceNotFound"


def change(path: str, value: Any) -> Any:
    """A change of the good request: `groups.1.InstanceType`."""

    def apply(request: dict[str, Any]) -> None:
        *steps, last = path.split(".")
        thing: Any = request
        for step in steps:
            thing = thing[int(step)] if step.isdigit() else thing[step]
        if value is None:
            del thing[last]
        else:
            thing[int(last) if last.isdigit() else last] = value

    return apply


@pytest.fixture(scope="module")
def ready(shared: Account) -> dict[str, str]:
    return network(shared)


WORK = "InstanceGroups.1"
NOWHERE = "arn:aws:iam::000000000001:role/nobody"


@pytest.mark.parametrize(
    ("altered", "code", "said"),
    [
        (change("ClusterName", "has_underscore"), "ValidationException", "regular expression pattern"),
        (change("ClusterName", "x" * 64), "ValidationException", "less than or equal to 63"),
        (change("NodeRecovery", "Auto"), "ValidationException", "enum value set: [Automatic, None]"),
        (change("InstanceGroups", []), "ValidationException", "greater than or equal to 1"),
        (change("VpcConfig.Subnets", []), "ValidationException", "greater than or equal to 1"),
        (change(f"{WORK}.InstanceType", "p5.48xlarge"), "ValidationException", "enum value set"),
        (change(f"{WORK}.ThreadsPerCore", 3), "ValidationException", "less than or equal to 2"),
        (change(f"{WORK}.InstanceCount", -1), "ValidationException", "greater than or equal to 0"),
        (change(f"{WORK}.InstanceCount", 10**9), "ValidationException", "less than or equal to 6758"),
        (change(f"{WORK}.InstanceGroupName", "head"), "ValidationException", "unique"),
        (change(f"{WORK}.ExecutionRole", None), "ValidationException", "executionRole"),
        (change(f"{WORK}.ExecutionRole", NOWHERE), "ValidationException", "Could not assume role"),
        (change(f"{WORK}.LifeCycleConfig.SourceS3Uri", "s3://mine/run"), "ValidationException", "s3://sagemaker-"),
        (change(f"{WORK}.InstanceType", "ml.p5e.48xlarge"), "ValidationException", "not supported in Region ap-northeast-1"),
        (change(f"{WORK}.InstanceType", "ml.p5.4xlarge"), "ValidationException", "not supported in Availability Zone apne1-az4"),
        (change("VpcConfig.Subnets.0", "subnet-00000000000000000"), "ValidationException", "subnet-00000000000000000"),
        (change("VpcConfig.SecurityGroupIds.0", "sg-00000000000000000"), "ValidationException", "sg-00000000000000000"),
        (change(f"{WORK}.InstanceCount", 17), "ResourceLimitExceeded", "'ml.p5.48xlarge for cluster usage' is 16 Instances"),
        (change("InstanceGroups.0.InstanceCount", 3), "ResourceLimitExceeded", "'ml.m5.8xlarge for cluster usage' is 2"),
        (change(f"{WORK}.InstanceType", "ml.g5.48xlarge"), "ResourceLimitExceeded", "'ml.g5.48xlarge for cluster usage' is 0"),
        (change(f"{WORK}.KubernetesConfig", {"Labels": {"a": "b"}}), "ValidationException", "KubernetesConfig"),
        (change("Orchestrator", {"Eks": {"ClusterArn": "arn:aws:eks:ap-northeast-1:000000000001:cluster/none"}}),
         "ValidationException", "does not exist"),
        (change(f"{WORK}.TrainingPlanArn", "arn:aws:sagemaker:ap-northeast-1:000000000001:training-plan/none"),
         "ResourceNotFound", "does not exist"),
    ],
)  # fmt: skip
def test_a_request_that_the_service_would_refuse_is_refused_and_makes_nothing(
    shared: Account, ready: dict[str, str], altered: Any, code: str, said: str
) -> None:
    request = json.loads(json.dumps(slurm_request(ready)))
    altered(request)
    with pytest.raises(ClientError) as refused:
        shared("sagemaker").create_cluster(**request)
    assert refused.value.response["Error"]["Code"] == code
    assert said in refused.value.response["Error"]["Message"]
    assert shared("sagemaker").list_clusters()["ClusterSummaries"] == []
    assert shared.cloud.calls(operation="CreateCluster", account=shared.id, effective=1) == []


def test_quotas_count_what_other_clusters_use_and_what_one_cluster_may_be(account: Account) -> None:
    made = network(account, Prefix="19")
    create = account("sagemaker").create_cluster

    def wish(name: str, instance_type: str, count: int) -> dict[str, Any]:
        return {**slurm_request(made, name), "InstanceGroups": [group(made, "work", instance_type, count)]}

    with pytest.raises(ClientError, match="per SageMaker HyperPod cluster' is 20"):
        create(**wish("large", "ml.p5en.48xlarge", 21))
    create(**wish("one", "ml.p5.48xlarge", 10))
    with pytest.raises(ClientError, match="current utilization of 10 Instances and a request delta of 7"):
        create(**wish("two", "ml.p5.48xlarge", 7))
    with pytest.raises(ClientError, match="across SageMaker HyperPod clusters' is 24"):
        create(**wish("two", "ml.p5en.48xlarge", 15))
    create(**wish("two", "ml.p5en.48xlarge", 14))


@pytest.mark.parametrize(
    ("prefix", "eks", "fits", "count"), [("24", False, 7, 8), ("24", True, 3, 4), ("25", False, 3, 4)]
)
def test_a_subnet_holds_as_many_nodes_as_it_has_addresses(
    account: Account, prefix: str, eks: bool, fits: int, count: int
) -> None:
    made = network(account, Prefix=prefix)
    orchestrator = {"Orchestrator": {"Eks": {"ClusterArn": eks_cluster(account, made)}}} if eks else {}
    request = {**slurm_request(made), **orchestrator}
    request["InstanceGroups"] = [group(made, "work", "ml.p5.48xlarge", count)]
    with pytest.raises(ClientError, match="Insufficient IP addresses"):
        account("sagemaker").create_cluster(**request)
    request["InstanceGroups"] = [group(made, "work", "ml.p5.48xlarge", fits)]
    account("sagemaker").create_cluster(**request)


def eks_cluster(account: Account, made: dict[str, str], mode: str = "API", wait: float = 700) -> str:
    ec2 = account("ec2")
    subnets = [
        ec2.create_subnet(VpcId=made["Vpc"], CidrBlock=f"10.1.{number}.0/28", AvailabilityZone=f"ap-northeast-1{zone}")
        for number, zone in enumerate("ac")
    ]
    said = account("eks").create_cluster(
        name=f"kube-{mode.lower().replace('_', '-')}", roleArn=made["Role"], version="1.32",
        resourcesVpcConfig={"subnetIds": [one["Subnet"]["SubnetId"] for one in subnets]},
        accessConfig={"authenticationMode": mode},
    )["cluster"]  # fmt: skip
    account.cloud.advance(wait)
    return str(said["arn"])


@pytest.mark.parametrize(
    ("mode", "wait", "said"),
    [("API", 0, "is not ACTIVE"), ("CONFIG_MAP", 700, "authentication mode"), ("API", 700, None)],
)
def test_hyperpod_joins_an_active_eks_cluster_of_the_right_kind(
    account: Account, mode: str, wait: float, said: str | None
) -> None:
    made = network(account)
    request = {**slurm_request(made), "Orchestrator": {"Eks": {"ClusterArn": eks_cluster(account, made, mode, wait)}}}
    if said is None:
        account("sagemaker").create_cluster(**request)
        account.cloud.advance(1800)
        assert counts(account)[0] == "InService"
        assert account("ssm").get_parameters(Names=["/cohort/clusters/hoshi/slurm"])["Parameters"] == []
        return
    with pytest.raises(ClientError, match=said):
        account("sagemaker").create_cluster(**request)


def test_a_continuous_cluster_is_in_service_long_before_its_nodes_and_tells_of_them(account: Account) -> None:
    made = network(account)
    account("sagemaker").create_cluster(**slurm_request(made, NodeProvisioningMode="Continuous"))
    account.cloud.advance(180)
    assert counts(account) == ("InService", {"head": (0, 1), "work": (0, 2)})
    account.cloud.advance(1200)
    assert counts(account) == ("InService", {"head": (1, 1), "work": (2, 2)})
    events = account("sagemaker").list_cluster_events(ClusterName="hoshi")["Events"]
    assert "is running" in events[0]["Description"]
    one = account("sagemaker").describe_cluster_event(ClusterName="hoshi", EventId=events[0]["EventId"])["EventDetails"]
    assert one["InstanceId"] == events[0]["InstanceId"]


def test_events_are_for_continuous_clusters_only(account: Account) -> None:
    account("sagemaker").create_cluster(**slurm_request(network(account)))
    with pytest.raises(ClientError, match="not Continuous"):
        account("sagemaker").list_cluster_events(ClusterName="hoshi")


def test_deep_health_checks_come_before_a_node_runs(account: Account) -> None:
    made = network(account)
    request = slurm_request(made)
    request["InstanceGroups"][1]["OnStartDeepHealthChecks"] = ["InstanceStress"]
    account("sagemaker").create_cluster(**request)
    account.cloud.advance(1500)
    statuses = {node["InstanceGroupName"]: node["InstanceStatus"]["Status"] for node in nodes(account)}
    assert statuses == {"head": "Running", "work": "DeepHealthCheckInProgress"}
    account.cloud.advance(2700)
    assert counts(account)[0] == "InService"


def test_a_name_is_taken_until_the_cluster_is_gone(account: Account) -> None:
    request = slurm_request(network(account))
    account("sagemaker").create_cluster(**request)
    with pytest.raises(ClientError) as taken:
        account("sagemaker").create_cluster(**request)
    assert taken.value.response["Error"]["Code"] == "ResourceInUse"
    assert len(account.cloud.calls(operation="CreateCluster", account=account.id, effective=1)) == 1


def test_no_capacity_ends_in_failure_with_a_reason_and_gives_the_quota_back(account: Account) -> None:
    request = slurm_request(network(account), workers=16)
    account.cloud.fault("no_capacity", service="sagemaker", operation="CreateCluster", account=account.id)
    account("sagemaker").create_cluster(**request)
    assert counts(account)[0] == "Creating"
    account.cloud.advance(900)
    seen = account("sagemaker").describe_cluster(ClusterName="hoshi")
    assert seen["ClusterStatus"] == "Failed"
    assert "sufficient capacity" in seen["FailureMessage"]
    assert nodes(account) == []
    account("sagemaker").delete_cluster(ClusterName="hoshi")
    account.cloud.advance(400)
    account("sagemaker").create_cluster(**request)
    account.cloud.advance(1800)
    assert counts(account)[0] == "InService"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"controller_group": "boss", "worker_groups": []}, "controller group 'boss'"),
        ({"controller_group": "head", "worker_groups": [{"instance_group_name": "none"}]}, "worker group 'none'"),
        ({"controller_group": "work", "worker_groups": []}, "exactly one instance"),
        (None, "provisioning_parameters.json"),
    ],
)
def test_scripts_that_do_not_fit_the_request_make_the_cluster_fail(account: Account, told: Any, said: str) -> None:
    made = network(account)
    if told is None:
        account("s3").delete_object(Bucket=made["Bucket"], Key="run/provisioning_parameters.json")
    else:
        account("s3").put_object(
            Bucket=made["Bucket"], Key="run/provisioning_parameters.json", Body=json.dumps(told).encode()
        )
    account("sagemaker").create_cluster(**slurm_request(made))
    account.cloud.advance(1800)
    seen = account("sagemaker").describe_cluster(ClusterName="hoshi")
    assert seen["ClusterStatus"] == "Failed"
    assert "Lifecycle scripts did not run successfully" in seen["FailureMessage"]
    assert said in seen["FailureMessage"]


def test_an_update_grows_shrinks_and_drops_groups(account: Account) -> None:
    made = network(account)
    account("sagemaker").create_cluster(**slurm_request(made))
    with pytest.raises(ClientError) as busy:
        account("sagemaker").update_cluster(
            ClusterName="hoshi", InstanceGroups=[group(made, "work", "ml.p5.48xlarge", 4)]
        )
    assert busy.value.response["Error"]["Code"] == "ConflictException"
    account.cloud.advance(1800)
    before = {node["InstanceId"] for node in nodes(account)}
    account("sagemaker").update_cluster(ClusterName="hoshi", InstanceGroups=[group(made, "work", "ml.p5.48xlarge", 4)])
    assert counts(account) == ("Updating", {"head": (1, 1), "work": (2, 4)})
    account.cloud.advance(1800)
    assert counts(account) == ("InService", {"head": (1, 1), "work": (4, 4)})
    assert before < {node["InstanceId"] for node in nodes(account)}
    with pytest.raises(ClientError, match="request delta of 13"):
        account("sagemaker").update_cluster(
            ClusterName="hoshi", InstanceGroups=[group(made, "work", "ml.p5.48xlarge", 17)]
        )
    account("sagemaker").update_cluster(ClusterName="hoshi", InstanceGroups=[group(made, "work", "ml.p5.48xlarge", 1)])
    account.cloud.advance(600)
    assert counts(account)[1]["work"] == (1, 1)


def test_replacing_nodes_succeeds_in_part(account: Account) -> None:
    account("sagemaker").create_cluster(**slurm_request(network(account)))
    account.cloud.advance(1800)
    old = nodes(account)[1]["InstanceId"]
    said = account("sagemaker").batch_replace_cluster_nodes(ClusterName="hoshi", NodeIds=[old, "i-00000000000000000"])
    assert said["Successful"] == [old]
    assert [(one["NodeId"], one["ErrorCode"]) for one in said["Failed"]] == [
        ("i-00000000000000000", "InstanceIdNotFound")
    ]
    found = {node["InstanceId"]: node["InstanceStatus"]["Status"] for node in nodes(account)}
    assert old not in found
    assert sorted(found.values()) == ["Pending", "Running", "Running"]
    account.cloud.advance(1300)
    assert counts(account) == ("InService", {"head": (1, 1), "work": (2, 2)})


@pytest.mark.parametrize("recovery", ["Automatic", "None"])
def test_a_node_that_fails_is_replaced_where_recovery_is_automatic(account: Account, recovery: str) -> None:
    account("sagemaker").create_cluster(**slurm_request(network(account), NodeRecovery=recovery))
    account.cloud.advance(1800)
    before = {node["InstanceId"] for node in nodes(account)}
    account.cloud.fault("node_failure", account=account.id, match="hoshi")
    failed = [node for node in nodes(account) if node["InstanceStatus"]["Status"] == "Failure"]
    assert [node["InstanceGroupName"] for node in failed] == ["work"]
    assert "Xid" in failed[0]["InstanceStatus"]["Message"]
    account.cloud.advance(700)
    after = {node["InstanceId"]: node["InstanceStatus"]["Status"] for node in nodes(account)}
    if recovery == "None":
        assert set(after) == before
        return
    assert len(set(after) - before) == 1
    assert sorted(after.values()) == ["Pending", "Running", "Running"]
    account.cloud.advance(1300)
    assert counts(account)[1]["work"] == (2, 2)


def test_tags_are_kept_and_clusters_listed_in_pages(account: Account) -> None:
    made = network(account)
    tags = [{"Key": "cohort:tenant", "Value": "hoshi"}]
    request = {**slurm_request(made, "one"), "Tags": tags, "InstanceGroups": [group(made, "work", "ml.p5.48xlarge", 1)]}
    arn = account("sagemaker").create_cluster(**request)["ClusterArn"]
    assert account("sagemaker").list_tags(ResourceArn=arn)["Tags"] == tags
    account("sagemaker").add_tags(ResourceArn=arn, Tags=[{"Key": "more", "Value": "1"}])
    assert len(account("sagemaker").list_tags(ResourceArn=arn)["Tags"]) == 2
    account("sagemaker").create_cluster(**{**request, "ClusterName": "two"})
    first = account("sagemaker").list_clusters(MaxResults=1)
    second = account("sagemaker").list_clusters(MaxResults=1, NextToken=first["NextToken"])
    assert [one["ClusterSummaries"][0]["ClusterName"] for one in (first, second)] == ["two", "one"]
    assert "NextToken" not in second


@pytest.fixture
def planned(cloud: Process) -> Account:
    """The next account that holds a training plan for four p5."""
    used = {call["account"] for call in cloud.calls(operation="CreateRole")}
    number = next(n for n in PLANNED if f"{n:012d}" not in used)
    return Account(cloud, f"{number:012d}").open_for_the_hub()


def test_a_training_plan_must_exist_fit_and_have_room(planned: Account) -> None:
    made = network(planned)
    number = int(planned.id)
    plan = f"arn:aws:sagemaker:ap-northeast-1:{planned.id}:training-plan/tp-{number}"

    def wish(count: int, arn: str, instance_type: str = "ml.p5.48xlarge", name: str = "hoshi") -> dict[str, Any]:
        groups = [group(made, "work", instance_type, count, TrainingPlanArn=arn)]
        return {**slurm_request(made, name), "InstanceGroups": groups}

    for request, said in (
        (wish(5, plan), "has 4 instances available; 5 were requested"),
        (wish(1, plan, "ml.trn1.32xlarge"), "not supported in Region"),
        (wish(1, plan, "ml.p5en.48xlarge"), "is for ml.p5.48xlarge"),
        (wish(1, plan.replace("tp-", "tp-old-")), "is Expired"),
        (wish(1, plan + "-none"), "does not exist"),
    ):
        with pytest.raises(ClientError, match=said):
            planned("sagemaker").create_cluster(**request)
    planned("sagemaker").create_cluster(**wish(3, plan))
    seen = planned("sagemaker").describe_training_plan(TrainingPlanName=f"tp-{number}")
    assert (seen["Status"], seen["TotalInstanceCount"], seen["AvailableInstanceCount"]) == ("Active", 4, 1)
    with pytest.raises(ClientError, match="has 1 instances available; 2 were requested"):
        planned("sagemaker").create_cluster(**wish(2, plan, name="other"))
    listed = planned("sagemaker").list_training_plans()["TrainingPlanSummaries"]
    assert {one["TrainingPlanName"]: one["Status"] for one in listed} == {
        f"tp-{number}": "Active",
        f"tp-old-{number}": "Expired",
    }


def test_a_training_plan_is_good_in_its_own_zone_only(planned: Account) -> None:
    made = network(planned, Zone="apne1-az1")
    plan = f"arn:aws:sagemaker:ap-northeast-1:{planned.id}:training-plan/tp-{int(planned.id)}"
    request = {
        **slurm_request(made),
        "InstanceGroups": [group(made, "work", "ml.p5.48xlarge", 1, TrainingPlanArn=plan)],
    }
    with pytest.raises(ClientError, match="is in apne1-az4"):
        planned("sagemaker").create_cluster(**request)


@pytest.mark.parametrize(
    ("instance_type", "zones"), [("ml.p5.48xlarge", 2), ("ml.p5en.48xlarge", 1), ("ml.trn1.32xlarge", 0)]
)
def test_plans_are_offered_where_the_type_is(shared: Account, instance_type: str, zones: int) -> None:
    said = shared("sagemaker").search_training_plan_offerings(
        InstanceType=instance_type, InstanceCount=4, DurationHours=48, TargetResources=["hyperpod-cluster"]
    )
    offered = [one["ReservedCapacityOfferings"][0] for one in said["TrainingPlanOfferings"]]
    assert len({one["AvailabilityZone"] for one in offered}) == len(offered) == zones
    assert all(one["EndTime"] > one["StartTime"] for one in offered)
