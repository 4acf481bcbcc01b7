"""Every CreateCluster request is one that HyperPod takes: by botocore's model, with what botocore does not check."""

import copy
import json

import pytest

from clusters.architectures.parts import Wiring, parts
from clusters.providers import request_check
from tests.clusters.wishes import DEMO, document, wish

BASE = {
    "SecurityGroupId": "sg-0123456789abcdef0",
    "NodeSubnetId": "subnet-0123456789abcdef0",
    "ExecutionRoleArn": "arn:aws:iam::000000000001:role/cohort-base-ExecutionRole-1A2B3C",
    "LifecycleBucketName": "sagemaker-cohort-base-000000000001",
    "LustreDnsName": "fs-0123456789abcdef0.fsx.ap-northeast-1.amazonaws.com",
    "LustreMountName": "abcdefgh",
    "OpenZfsDnsName": "fs-0fedcba9876543210.fsx.ap-northeast-1.amazonaws.com",
}
EKS = {"ClusterArn": "arn:aws:eks:us-east-2:000000000002:cluster/cohort-eks"}


def body(configuration):
    wiring = Wiring(
        "000000000001",
        "arn:aws:iam::000000000001:role/CohortProvisioner",
        {"base": "cohort-base", "eks": "cohort-eks", "cluster": "cohort-c1"},
        {"base": BASE, "eks": EKS},
    )
    return parts(configuration.made_of(), configuration)[-1].body(wiring)


def request(name="aster-train"):
    tags = [{"Key": "cohort:tenant", "Value": "hoshi"}]
    return {"ClusterName": "cohort-c1", "Tags": tags, **body(wish(name))["request"]}


def problems(asked):
    return request_check.problems("sagemaker", "CreateCluster", asked)


@pytest.mark.parametrize("name", DEMO)
def test_the_request_of_each_demo_cluster_is_valid(name):
    assert problems(request(name)) == []


def set_first_group(asked, field, value):
    asked["InstanceGroups"][0][field] = value


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda asked: asked.update(NodeRecovery="Auto"), "'Auto'"),
        (lambda asked: asked.update(ClusterName="under_score"), "under_score"),
        (lambda asked: asked.update(ClusterName="c" * 64), "more than 63"),
        (lambda asked: asked.update(ClusterName="c\n"), "does not match"),
        (lambda asked: set_first_group(asked, "InstanceType", "p5.48xlarge"), "'p5.48xlarge'"),
        (lambda asked: set_first_group(asked, "InstanceCount", 6759), "more than 6758"),
        (lambda asked: set_first_group(asked, "InstanceCount", -1), "-1"),
        (lambda asked: set_first_group(asked, "ThreadsPerCore", 3), "more than 2"),
        (lambda asked: set_first_group(asked, "ExecutionRole", "x" * 30), "does not match"),
        (lambda asked: set_first_group(asked, "OnStartDeepHealthChecks", ["Everything"]), "'Everything'"),
        (lambda asked: set_first_group(asked, "InstanceStorageConfigs", [{}]), "EbsVolumeConfig"),
        (lambda asked: asked.update(InstanceGroups=asked["InstanceGroups"] * 60), "more than 100"),
        (lambda asked: asked["VpcConfig"].update(SecurityGroupIds=["sg"] * 6), "more than 5"),
        (lambda asked: asked.update(_comment="hello"), "_comment"),
        (lambda asked: asked["InstanceGroups"][0].pop("ExecutionRole"), "ExecutionRole"),
        (lambda asked: asked["Tags"].append({"Key": "a<b", "Value": ""}), "does not match"),
    ],
)
def test_what_botocore_lets_through_is_caught(break_it, told):
    asked = copy.deepcopy(request())
    break_it(asked)
    found = problems(asked)
    assert any(told in line for line in found), found


def test_tags_may_be_in_any_language():
    asked = request()
    asked["Tags"].append({"Key": "組織", "Value": "ほし 言語"})
    assert problems(asked) == []


def test_slurm_gets_its_roles_by_the_provisioning_form():
    made = body(wish("aster-train"))
    told = {each["key"].rsplit("/", 1)[1]: each["text"] for each in made["objects"]}
    form = json.loads(told["provisioning_parameters.json"])
    assert form["controller_group"] == "head"
    assert form["worker_groups"] == [{"instance_group_name": "workers", "partition_name": "workers"}]
    assert (form["fsx_dns_name"], form["fsx_mountname"]) == (BASE["LustreDnsName"], "abcdefgh")
    assert form["fsx_openzfs_dns_name"] == BASE["OpenZfsDnsName"]
    assert "Orchestrator" not in made["request"]


@pytest.mark.parametrize("name", ["aster-train", "kest-trn"])
def test_every_group_has_exactly_one_role_in_the_form(name):
    made = body(wish(name))
    told = {each["key"].rsplit("/", 1)[1]: each["text"] for each in made["objects"]}
    form = json.loads(told["provisioning_parameters.json"])
    named = [form["controller_group"], *(each["instance_group_name"] for each in form["worker_groups"])]
    assert sorted(named) == sorted(group["InstanceGroupName"] for group in made["request"]["InstanceGroups"])


def test_eks_names_its_cluster_and_provisions_continuously():
    made = body(wish("birch-med"))["request"]
    assert made["Orchestrator"] == {"Eks": {"ClusterArn": EKS["ClusterArn"]}}
    assert made["NodeProvisioningMode"] == "Continuous"


def test_every_group_points_at_scripts_that_are_uploaded():
    for name in DEMO:
        made = body(wish(name))
        keys = {f"s3://{each['bucket']}/{each['key']}" for each in made["objects"]}
        for group in made["request"]["InstanceGroups"]:
            config = group["LifeCycleConfig"]
            assert config["SourceS3Uri"].startswith("s3://sagemaker-")
            assert f"{config['SourceS3Uri']}/{config['OnCreate']}" in keys


def test_scripts_lie_under_a_key_that_depends_on_their_content():
    first, same, other = body(wish()), body(wish()), body(wish("lumen-moe"))
    changed = document()
    changed["instance_groups"][1]["name"] = "others"
    renamed = body(wish(instance_groups=changed["instance_groups"]))
    key = lambda made: made["objects"][0]["key"]
    assert key(first) == key(same) == key(other)
    assert key(first) != key(renamed)


def test_plans_become_arns_of_the_account_and_region():
    groups = body(wish())["request"]["InstanceGroups"]
    assert groups[1]["TrainingPlanArn"] == (
        "arn:aws:sagemaker:ap-northeast-1:000000000001:training-plan/tp-aster-train"
    )
    assert "TrainingPlanArn" not in groups[0]


def test_deep_checks_are_asked_for_compute_nodes_only():
    groups = body(wish(deep_health_checks=["InstanceStress"]))["request"]["InstanceGroups"]
    assert [group.get("OnStartDeepHealthChecks") for group in groups] == [None, ["InstanceStress"]]
