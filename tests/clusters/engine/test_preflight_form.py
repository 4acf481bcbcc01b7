"""Every line of the preflight, through the real form: one fact of the sandbox's account is changed, and that line alone fails."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from clusters import facts
from clusters.engine import asking
from clusters.finding_words import NOT_KNOWN
from clusters.models import AccountFact, CloudAccount, ServiceQuota
from clusters.providers import aws
from tenants.models import Participation
from tenants.wall.acting import acting_for
from tests.clusters.engine.conftest import Bench
from tests.clusters.sandbox.driver import HUB, REGION, ROLE, Account, Process
from tests.clusters.test_pages import FORM, REQUEST, signed_in

NUMBER = "000000000290"  # an account that holds the training plan tp-290: four p5.48xlarge in apne1-az4
WORKERS, HEAD = "ml.p5.48xlarge for cluster usage", "ml.m5.8xlarge for cluster usage"
PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
IN_TOTAL = "Total number of instances allowed across SageMaker HyperPod clusters"
DISK = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"
PLAN = {"groups-1-training_plan": "tp-290"}
ON_EC2 = {
    "architecture": "parallelcluster-p5",
    "node_recovery": "clustermgtd",
    "groups-0-capacity": "on-demand",
    "groups-1-capacity": "on-demand",
}
RUNNING_P = "Running On-Demand P instances"


RESERVATION = "cr-0fa0000000000e290"
HELD = ON_EC2 | {"groups-1-reservation": RESERVATION}


def reserved(**told: Any) -> dict[str, Any]:
    fine = {"type": "p5.48xlarge", "kind": "default", "count": 4, "az_id": "apne1-az4", "starts": -1, "ends": 90}
    return {"reservations": {RESERVATION: fine | told}}


def quota(service: str, name: str, amount: float) -> dict[str, Any]:
    return {"quotas": {service: {name: amount}}}


def plan(**told: Any) -> dict[str, Any]:
    return {"plans": {"tp-290": told}}


# What is changed in the account, what is typed otherwise, the line that fails, and a piece of its sentence with numbers.
FACTS: list[tuple[dict[str, Any], dict[str, str], str, str]] = [
    ({"closed_zones": ["apne1-az4"]}, {}, "zone_closed", "has no zone apne1-az4; it has apne1-az1"),
    ({"not_offered": {"p5.48xlarge": ["apne1-az4"]}}, {}, "type_not_in_zone", "apne1-az1"),
    ({"not_offered": {"p5.48xlarge": ["apne1-az1", "apne1-az4"]}}, {}, "type_not_in_region", "p5.48xlarge"),
    (quota("sagemaker", WORKERS, 1), {}, "type_quota_exceeded", "You asked for 2 ml.p5.48xlarge instances; 1 are left"),
    (quota("sagemaker", PER_CLUSTER, 2), {}, "cluster_quota_exceeded", "You asked for 3 instances in one cluster"),
    (quota("sagemaker", IN_TOTAL, 2), {}, "total_quota_exceeded", "You asked for 3 instances; 2 are left across all"),
    (quota("sagemaker", DISK, 400), {}, "disk_quota_exceeded", "allows 400"),
    (quota("vpc", "Network interfaces per Region", 64), {}, "interfaces_exceeded", "need 65 network interfaces; 64 of 64"),
    (quota("vpc", "VPCs per Region", 1), {}, "networks_exceeded", "the account may have 1, and 0 are left"),
    (quota("ec2", "EC2-VPC Elastic IPs", 0), {}, "elastic_ips_exceeded", "the account may have 0, and 0 are left"),
    (quota("vpc", "NAT gateways per Availability Zone", 0), {}, "nat_gateways_exceeded", "may have 0 in a zone"),
    (quota("vpc", "VPC security groups per Region", 2), {}, "security_groups_exceeded", "This needs 2 security groups more"),
    (quota("fsx", "Lustre Persistent_2 file systems", 0), {}, "lustre_systems_exceeded", "may have 0, and 0 are left"),
    (quota("fsx", "OpenZFS file systems", 0), {"openzfs_gib": "256"}, "openzfs_systems_exceeded", "may have 0, and 0 are"),
    (plan(count=1), PLAN, "plan_count", "You asked for 2 instances from the training plan tp-290; 1 of its 1 are left"),
    (plan(az_id="apne1-az1"), PLAN, "plan_zone", "The training plan tp-290 is in apne1-az1"),
    (plan(type="ml.p5en.48xlarge"), PLAN, "plan_type", "is for p5en.48xlarge"),
    (plan(starts=-30, ends=-1), PLAN, "plan_over", "The training plan tp-290 ended on"),
    ({"plans": {"tp-290": None}}, PLAN, "plan_missing", "The training plan tp-290 is not known"),
    ({}, {"storage": "there"}, "bucket_missing", "has no bucket not-there-290"),
    (reserved(), HELD, "", ""),
    (reserved(type="p5en.48xlarge"), HELD, "reservation_type", "is for p5en.48xlarge"),
    (reserved(az_id="apne1-az1"), HELD, "reservation_zone", "is in apne1-az1"),
    (reserved(count=1), HELD, "reservation_count", "1 of its 1 are left"),
    (reserved(kind="capacity-block"), HELD, "reservation_kind", "is capacity-block capacity"),
    (reserved(starts=-9, ends=-1), HELD, "reservation_over", "ended on"),
    ({}, HELD, "reservation_missing", "is not known in this account"),
    (quota("ec2", RUNNING_P, 191), ON_EC2, "vcpu_quota_exceeded", "You asked for 384 vCPU; 191 are left"),
]  # fmt: skip
OTHER = {"openzfs_gib": "256", "openzfs_deployment": "MULTI_AZ_1", "openzfs_mbs": "160"}
TYPED = {"there": {"bucket": "not-there-290", "bucket_exists": "on"}}


@pytest.fixture
def bench(world: Any, cloud: Process, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for name, value in (
        ("AWS_ENDPOINT_URL", cloud.url),
        ("AWS_ACCESS_KEY_ID", HUB[0]),
        ("AWS_SECRET_ACCESS_KEY", HUB[1]),
    ):
        monkeypatch.setenv(name, value)
    aws._start_again()
    account = Account(cloud, NUMBER)
    if not any(role["RoleName"] == ROLE for role in account.owner("iam").list_roles()["Roles"]):
        account.open_for_the_hub()
    cloud.change(NUMBER)
    with acting_for(world.hoshi):
        row = CloudAccount.objects.create(
            tenant=world.hoshi, account_id=NUMBER, name="training", regions=[REGION], role_arn=account.role_arn,
            external_id=account.external_id, access="yes", checked_at=timezone.now(),
        )  # fmt: skip
    yield Bench(world, cloud, account, row)
    cloud.change(NUMBER)


Check = Callable[..., tuple[list[str], str]]


@pytest.fixture
def check(bench: Bench) -> Check:
    client: Client = signed_in(bench.world.person("platform_engineer"))

    def post(*, read: bool = True, **typed: str) -> tuple[list[str], str]:
        """The codes of what fails, and the page; with `read` the account is asked before, as the engine does it."""
        if read:
            with acting_for(bench.tenant, staff=True):
                answer = asking.ask(bench.account, REGION, asking.question(bench.account, REGION))
                asking.keep(bench.account, answer)
        told = FORM | {"account": str(bench.account.pk), "do": "check", "bucket": "", **typed}
        answer = client.post(REQUEST, told)
        assert answer.status_code == 200
        found, context = answer.context["checked"], answer.context
        assert found is not None, (context["form"].errors, context["groups"].errors)
        return [each.code for each in found.findings if each.verdict == "fail"], answer.content.decode()

    return post


def test_each_fact_of_the_account_fails_its_own_line_and_no_other(bench: Bench, check: Check) -> None:
    """One account and one sandbox for the whole table: what costs time is everything around it."""
    assert check()[0] == []
    for told, typed, code, says in FACTS:
        more = TYPED.get(typed.get("storage", ""), typed)
        bench.cloud.change(NUMBER, **told)
        failing, page = check(**more)
        assert (failing, says in page) == ([code] if code else [], True), (code, failing)
        assert ("One thing does not fit" in page) == bool(code)
        bench.cloud.change(NUMBER)
    assert check()[0] == []


def test_a_zone_without_the_file_system_fails_its_own_line_and_no_other(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has reported one of a programme Region yet, so the table is given a row of each kind."""
    known = facts._storage_offers()
    for row, typed, code, says in (
        (("LUSTRE", "PERSISTENT_2"), {}, "lustre_zone_missing", "PERSISTENT_2"),
        (("OPENZFS", "SINGLE_AZ_1"), {"openzfs_gib": "256"}, "openzfs_zone_missing", "SINGLE_AZ_1"),
        (("OPENZFS", "MULTI_AZ_1"), OTHER, "openzfs_zone_missing", "MULTI_AZ_1"),
    ):
        more = {(REGION, "apne1-az4", *row): facts.StorageOffer("no", "a report")}
        monkeypatch.setattr(facts, "_storage_offers", lambda more=more: {**known, **more})
        failing, page = check(read=False, **typed)
        assert failing == [code] and says in page and "a report" in page
    monkeypatch.setattr(facts, "_storage_offers", lambda: known)
    assert check(read=False, **OTHER)[0] == []


def deny(bench: Bench, *actions: str) -> None:
    statement = {"Effect": "Deny", "Action": list(actions), "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    bench.cloud_account.owner("iam").put_role_policy(RoleName=ROLE, PolicyName="deny", PolicyDocument=document)


def test_what_the_role_may_not_do_fails_with_the_names_of_the_actions(bench: Bench, check: Check) -> None:
    iam = bench.cloud_account.owner("iam")
    try:
        deny(bench, "fsx:CreateFileSystem", "sagemaker:AddTags")
        failing, page = check()
        assert failing == ["actions_denied"]
        assert "is allowed 12 of the 14 actions that are needed; these are missing: fsx:CreateFileSystem, sagemaker:AddTags." in page  # fmt: skip
        assert "whoever owns the account" in page
        deny(bench, "iam:CreateServiceLinkedRole")
        failing, page = check()
        assert failing == ["linked_roles_missing"] and "AWSServiceRoleForAmazonFSx" in page
        iam.create_service_linked_role(AWSServiceName="fsx.amazonaws.com")
        deny(bench, "ec2:RunInstances")  # no action of HyperPod's
        assert check()[0] == []
        assert check(**ON_EC2)[0] == ["actions_denied"]
    finally:
        iam.delete_role_policy(RoleName=ROLE, PolicyName="deny")


def test_a_bucket_that_is_there_is_not_made_again(bench: Bench, check: Check) -> None:
    bench.cloud_account.owner("s3").create_bucket(
        Bucket="there-290", CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    assert check(bucket="there-290")[0] == ["bucket_there"]
    assert check(bucket="there-290", bucket_exists="on")[0] == []


def test_what_the_participant_and_the_form_say_fails_alone_too(bench: Bench, check: Check) -> None:
    check()
    for typed, code, says in (
        (
            {"subnet": "/25", "groups-1-count": "4"},
            "addresses_short",
            "need 129 addresses; the subnet 10.0.128.0/25 has 123",
        ),
        ({"lustre_gib": "1300"}, "not_a_step", "1300"),
        ({"name": "under_score"}, "name_pattern", "at most 63 lower-case letters"),
        ({"groups-1-instance_type": "p5.48xlage"}, "type_unknown", "Did you mean p5.48xlarge"),
    ):
        failing, page = check(read=False, **typed)
        assert (code in failing, says in page) == (True, True), (code, failing)
    with acting_for(bench.tenant, staff=True):
        Participation.objects.update(allowed_regions=["us-east-1"])
    assert check(read=False)[0] == ["residency_refused"]


def test_what_nobody_has_read_is_unknown_and_never_a_pass(bench: Bench, check: Check) -> None:
    failing, page = check(read=False, openzfs_gib="256", bucket="some-bucket")
    assert failing == []
    client = signed_in(bench.world.person("platform_engineer"))
    told = FORM | {"account": str(bench.account.pk), "do": "check", "bucket": "some-bucket", "openzfs_gib": "256"}
    found = client.post(REQUEST, told).context["checked"].findings
    unknown = {each.code for each in found if each.verdict == "unknown"}
    assert unknown >= {
        "zone_open_unknown", "actions_unknown", "linked_roles_unknown", "nat_gateways_unknown", "security_groups_unknown",
        "networks_unknown", "elastic_ips_unknown", "interfaces_unknown", "lustre_systems_unknown", "openzfs_systems_unknown",
        "lustre_zone_unknown", "openzfs_zone_unknown", "bucket_unknown", "type_quota_unknown",
    }  # fmt: skip
    assert unknown <= NOT_KNOWN
    for each in found:
        assert each.verdict != "pass" or each.code not in NOT_KNOWN
    assert page.count("Not known") >= len(unknown)


def test_what_was_read_too_long_ago_is_not_known_any_more(bench: Bench, check: Check) -> None:
    check()
    with acting_for(bench.tenant, staff=True):
        long_ago = timezone.now() - timedelta(hours=25)
        AccountFact.objects.update(read_at=long_ago)
        assert ServiceQuota.objects.exists()
    failing, page = check(read=False)
    assert failing == [] and "Whether the account 000000000290 may use the zone apne1-az4 is not known." in page
