"""Every template of the catalogue is made, changed with a replacement, rolled back once and deleted on the sandbox cloud."""

from typing import Any

import cfnlint.decode
import pytest
from botocore.exceptions import ClientError

from clusters.architectures import Architecture, architectures, export
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.architectures.parts import Wiring, parts
from tests.clusters.sandbox.driver import Account

LONG = 3600.0
SHELF = architectures()
# For each kind of stack: a value that replaces a resource, and one that the service refuses when it comes to it.
REPLACES = {
    "base": ("LifecycleBucketName", lambda old: f"{old}-2"),
    "eks": ("ClusterName", lambda old: f"{old}-2"),
    "accounting": ("SecretName", lambda old: f"{old}-2"),
    "grafana": ("ClusterName", lambda old: f"{old}-2"),
    "observability": ("SecretPrefix", lambda old: f"{old}-2"),
}
REFUSED = {
    "base": ("LustreGib", "1300"),
    "eks": ("KubernetesVersion", "9.99"),
    "accounting": ("CidrB", "10.0.0.48/28"),  # the block that subnet A has
    "grafana": ("WorkspaceName", "a name"),
    "observability": ("AlertRules", "groups: [{name: nodes, rules: [{alert: Hot}]}]"),  # of what?
}


def whole(architecture: Architecture) -> Configuration:
    """A small cluster with every optional part."""
    document = export.example(architecture).document()
    document |= {"region": "ap-northeast-1", "az_id": "apne1-az4"}
    if "accounting" in architecture.parameters:
        document["accounting"] = True
    if "storage.openzfs.capacity_gib" in architecture.parameters:
        document["storage"]["openzfs"] = {"capacity_gib": 64}
    document["observability"] = "instance" if architecture.on_ec2 else "managed"
    if "editor_role" in architecture.parameters:
        document["editor_role"] = "arn:aws:iam::000000000001:role/Trainers"
    return read_configuration(document)


TOKYO = [each for each in SHELF if "ap-northeast-1" in each.regions]
ELSEWHERE = [each for each in SHELF if each not in TOKYO]


class Stacks:
    """The stacks of one architecture in one account, as the engine would ask for them."""

    def __init__(self, account: Account, architecture: Architecture) -> None:
        self.account, self.wish = account, whole(architecture)
        self.specs = [spec for spec in parts(architecture, self.wish) if spec.kind == "stack"]
        self.outputs: dict[str, dict[str, str]] = {}

    def body(self, role: str) -> dict[str, Any]:
        names = {spec.role: f"t-{spec.role}" for spec in self.specs} | {"cluster": "t"}
        wiring = Wiring(self.account.id, self.account.role_arn, names, self.outputs)
        return next(spec for spec in self.specs if spec.role == role).body(wiring)

    def make(self, role: str) -> None:
        self.account.stack(f"t-{role}", self.body(role)["TemplateBody"], Parameters=self.given(role))
        self.account.cloud.advance(LONG)
        assert self.status(role) == "CREATE_COMPLETE", self.why(role)
        self.outputs[role] = self.account.outputs(f"t-{role}")

    def given(self, role: str, **changed: str) -> list[dict[str, str]]:
        values = {**self.body(role)["Parameters"], **changed}
        return [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]

    def change(self, role: str, **changed: str) -> str:
        self.account("cloudformation").update_stack(
            StackName=f"t-{role}",
            TemplateBody=self.body(role)["TemplateBody"],
            Parameters=self.given(role, **changed),
            Capabilities=["CAPABILITY_IAM"],
        )
        self.account.cloud.advance(LONG)
        return self.status(role)

    def status(self, role: str) -> str:
        return self.account.stack_status(f"t-{role}")

    def resources(self, role: str) -> dict[str, str]:
        told = self.account("cloudformation").describe_stack_resources(StackName=f"t-{role}")["StackResources"]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in told}

    def why(self, role: str) -> list[str]:
        events = self.account("cloudformation").describe_stack_events(StackName=f"t-{role}")["StackEvents"]
        return [event.get("ResourceStatusReason", "") for event in events if "FAILED" in event["ResourceStatus"]]


def kept(template: str) -> set[str]:
    """What a template says it leaves behind."""
    told, _ = cfnlint.decode.decode_str(template)
    leaves = ("Retain", "RetainExceptOnCreate", "Snapshot")
    return {name for name, one in told["Resources"].items() if one.get("DeletionPolicy") in leaves}


@pytest.mark.parametrize("architecture", TOKYO, ids=lambda each: each.slug)
def test_its_stacks_come_change_roll_back_and_go(account: Account, architecture: Architecture) -> None:
    stacks = Stacks(account, architecture)
    for spec in stacks.specs:
        stacks.make(spec.role)
    for spec in reversed(stacks.specs):
        name, value = REFUSED[spec.role]
        before = stacks.resources(spec.role)
        assert stacks.change(spec.role, **{name: value}) == "UPDATE_ROLLBACK_COMPLETE"
        assert stacks.why(spec.role) and stacks.resources(spec.role) == before

        name, newer = REPLACES[spec.role]
        old = stacks.body(spec.role)["Parameters"][name]
        assert stacks.change(spec.role, **{name: newer(old)}) == "UPDATE_COMPLETE", stacks.why(spec.role)
        replaced = {key for key, value in stacks.resources(spec.role).items() if before.get(key) != value}
        assert replaced, spec.role
    for spec in reversed(stacks.specs):
        there = stacks.resources(spec.role)
        account("cloudformation").delete_stack(StackName=f"t-{spec.role}")
        account.cloud.advance(LONG)
        with pytest.raises(ClientError, match="does not exist"):
            stacks.status(spec.role)
        assert _left(account, there) <= kept(stacks.body(spec.role)["TemplateBody"])


def _left(account: Account, resources: dict[str, str]) -> set[str]:
    """Which of these resources are still there, of the kinds that can be asked for."""
    subnets = {one["SubnetId"] for one in account("ec2").describe_subnets()["Subnets"]}
    groups = {one["GroupId"] for one in account("ec2").describe_security_groups()["SecurityGroups"]}
    gateways = {
        one["NatGatewayId"]
        for one in account("ec2").describe_nat_gateways()["NatGateways"]
        if one["State"] not in ("deleted", "deleting")
    }
    buckets = {one["Name"] for one in account("s3").list_buckets()["Buckets"]}
    systems = {one["FileSystemId"] for one in account("fsx").describe_file_systems()["FileSystems"]}
    roles = {one["RoleName"] for one in account("iam").list_roles()["Roles"]}
    clusters = set(account("eks").list_clusters()["clusters"])
    there = subnets | groups | gateways | buckets | systems | roles | clusters
    return {logical for logical, physical in resources.items() if physical in there}


@pytest.mark.parametrize(
    "architecture", TOKYO[:1] + [each for each in TOKYO if each.on_ec2][:1], ids=lambda each: each.slug
)
def test_a_first_creation_that_fails_leaves_nothing_behind(account: Account, architecture: Architecture) -> None:
    stacks = Stacks(account, architecture)
    account.stack("t-base", stacks.body("base")["TemplateBody"], Parameters=stacks.given("base", LustreGib="1300"))
    account.cloud.advance(LONG)
    assert stacks.status("base") == "ROLLBACK_COMPLETE"
    there = {logical: physical for logical, physical in stacks.resources("base").items() if physical}
    assert _left(account, there) == set()


def test_the_others_have_templates_that_are_tried_here_under_another_name() -> None:
    tried = {text for each in TOKYO for text in each.templates().values()}
    for each in ELSEWHERE:
        assert set(each.templates().values()) <= tried
