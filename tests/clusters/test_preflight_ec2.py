"""What fits on EC2 itself: vCPUs of the right quota, reservations and Capacity Blocks, and what ParallelCluster is asked for."""

from datetime import UTC, datetime, timedelta

import pytest
import yaml

from clusters import facts
from clusters.architectures.configuration import read_configuration
from clusters.architectures.parts import Wiring, parts
from clusters.finding_words import ADVICE, SENTENCES
from clusters.findings import Refusals
from clusters.preflight import Ec2, Held, Network, Quotas, preflight
from clusters.providers import Part
from clusters.providers.parallelcluster import _configuration

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FACTS = facts.load()
P, STANDARD = facts.ec2_quota("p5.48xlarge"), facts.ec2_quota("m5.8xlarge")
RESERVATION = "cr-0fa0000000000e001"


def document(workers=None, **changes):
    group = {"name": "workers", "instance_type": "p5.48xlarge", "count": 8, "reservation": RESERVATION}
    return {
        "architecture": "parallelcluster-p5",
        "region": "ap-northeast-1",
        "az_id": "apne1-az4",
        "subnet_cidr": "/23",
        "instance_groups": [
            {"name": "head", "instance_type": "m5.8xlarge", "count": 1, "role": "controller"},
            {**group, **(workers or {})},
        ],
        **changes,
    }


def held(**changes):
    told = {
        "id": RESERVATION,
        "kind": "on-demand",
        "instance_type": "p5.48xlarge",
        "region": "ap-northeast-1",
        "az_id": "apne1-az4",
        "count": 8,
        "state": "active",
        "starts_at": NOW - timedelta(days=10),
        "ends_at": NOW + timedelta(days=100),
    }
    return Held(**{**told, **changes})


def check(asked=None, *, quotas=None, usage=None, reservation=None):
    ec2 = Ec2({P: 1536, STANDARD: 256} if quotas is None else quotas, usage or {}, [reservation or held()])
    wish = read_configuration(asked or document())
    return preflight(wish, FACTS, Quotas(), {}, [], Network(), NOW, name="ember-code", ec2=ec2)


def problems(findings):
    return [(finding.code, finding.level) for finding in findings if finding.level != "ok"]


def test_a_cluster_within_its_quota_and_its_reservation_fits():
    assert problems(check()) == []


@pytest.mark.parametrize(
    ("instance_type", "quota", "code"),
    [
        ("p5.48xlarge", "Running On-Demand P instances", "L-417A185B"),
        ("p6-b200.48xlarge", "Running On-Demand P instances", "L-417A185B"),
        ("trn1.32xlarge", "Running On-Demand Trn instances", "L-2C3B7624"),
        ("g6e.48xlarge", "Running On-Demand G and VT instances", "L-DB2E81BA"),
        ("m5.8xlarge", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "L-1216C47A"),
    ],
)
def test_each_type_counts_against_the_quota_of_its_kind_by_exact_name(instance_type, quota, code):
    assert facts.ec2_quota(instance_type) == quota
    assert FACTS.quota("ec2", quota).code == code


@pytest.mark.parametrize(
    ("quotas", "usage", "expected"),
    [
        ({P: 1536, STANDARD: 256}, {}, []),
        ({P: 1535, STANDARD: 256}, {}, [("vcpu_quota_exceeded", "refused")]),
        ({P: 1536, STANDARD: 31}, {}, [("vcpu_quota_exceeded", "refused")]),
        ({P: 1536, STANDARD: 256}, {"p5.48xlarge": 1}, [("vcpu_quota_exceeded", "refused")]),
        ({P: 1536, STANDARD: 256}, {"trn1.32xlarge": 9}, []),
        ({STANDARD: 256}, {}, [("vcpu_quota_unknown", "warning")]),
    ],
)
def test_vcpus_are_counted_by_kind_and_with_what_other_clusters_use(quotas, usage, expected):
    assert problems(check(quotas=quotas, usage=usage)) == expected


def test_a_refusal_names_the_numbers_the_unit_and_the_quota():
    found = check(quotas={P: 768, STANDARD: 256})[0]
    assert found.sentence() == (
        "You asked for 1536 vCPU; 768 are left in ap-northeast-1: "
        "the quota “Running On-Demand P instances” allows 768 and 0 are in use."
    )
    assert "account team" in found.advice()


def test_a_capacity_block_is_outside_the_quotas():
    asked = document({"capacity": "capacity-block"})
    assert problems(check(asked, quotas={P: 0, STANDARD: 256}, reservation=held(kind="capacity-block"))) == []


@pytest.mark.parametrize(
    ("workers", "changes", "code", "level"),
    [
        ({}, {"region": "us-east-1"}, "reservation_missing", "refused"),
        ({"reservation": "cr-0fa0000000000ffff"}, {}, "reservation_missing", "refused"),
        ({}, {"instance_type": "p5en.48xlarge"}, "reservation_type", "refused"),
        ({}, {"az_id": "apne1-az1"}, "reservation_zone", "refused"),
        ({}, {"count": 7}, "reservation_count", "refused"),
        ({}, {"used": 1}, "reservation_count", "refused"),
        ({}, {"state": "cancelled"}, "reservation_state", "refused"),
        ({}, {"ends_at": NOW}, "reservation_over", "refused"),
        ({}, {"kind": "capacity-block"}, "reservation_kind", "refused"),
        ({"placement_group": True}, {}, "placement_and_reservation", "refused"),
        ({}, {"starts_at": NOW + timedelta(days=1)}, "reservation_not_begun", "warning"),
        ({}, {"ends_at": NOW + timedelta(days=3)}, "reservation_ends_soon", "warning"),
        ({"reservation": ""}, {}, "reservation_absent", "warning"),
        ({"reservation": "", "placement_group": True}, {}, "reservation_absent", "warning"),
        ({"reservation": "", "capacity": "capacity-block"}, {}, "block_unnamed", "refused"),
        ({"instance_type": "p4d.24xlarge", "reservation": ""}, {}, "type_family", "refused"),
    ],
)
def test_a_reservation_must_hold_what_is_asked_of_it(workers, changes, code, level):
    found = problems(check(document(workers), reservation=held(**changes)))
    assert (code, level) in found
    assert sum(refused == "refused" for _, refused in found) == (level == "refused")


@pytest.mark.parametrize(
    ("workers", "code"),
    [
        ({"reservation": "cb-0fa0000000000e001"}, "bad_reservation"),
        ({"reservation": "cr-1"}, "bad_reservation"),
        ({"name": "Workers"}, "bad_queue"),
        ({"name": "w" * 26}, "bad_queue"),
        ({"training_plan": "tp-x"}, "not_here"),
        ({"capacity": "spot"}, "not_a_choice"),
        ({"placement_group": "yes"}, "not_yes_or_no"),
    ],
)
def test_a_configuration_is_read_strictly(workers, code):
    with pytest.raises(Refusals) as told:
        read_configuration(document(workers))
    assert [finding.code for finding in told.value.findings] == [code]
    assert all(finding.sentence() for finding in told.value.findings)


def test_what_belongs_to_ec2_means_nothing_to_hyperpod():
    asked = document({"placement_group": True}, architecture="hyperpod-slurm")
    with pytest.raises(Refusals) as told:
        read_configuration(asked)
    assert {finding.code for finding in told.value.findings} == {"not_here"}


def test_every_code_has_a_sentence_and_what_is_no_good_has_advice():
    codes = {
        name for name in SENTENCES if name.startswith(("reservation", "vcpu", "block", "placement", "type_family"))
    }
    assert {name for name in codes if name not in ADVICE} == {"reservation", "vcpu_quota"}


OUTPUTS = {
    "base": {
        name: f"{name}-1"
        for name in (
            "NodeSubnetId SecurityGroupId LustreId OpenZfsVolumeId LifecycleBucketName DataBucketName HeadNodePolicyArn"
        ).split()
    }
}


def file_of(asked):
    wish = read_configuration(asked)
    spec = next(spec for spec in parts(wish.made_of(), wish) if spec.role == "cluster")
    names = {"base": "ember-base", "cluster": "ember-code-abc"}
    body = spec.body(Wiring("000000000005", "arn:aws:iam::000000000005:role/x", names, OUTPUTS))
    text = _configuration(Part(spec.kind, "ember-code-abc", "token", {"cohort:tenant": "hoshi"}, body))["cluster.yaml"]
    return body, text, yaml.safe_load(text)


def test_the_file_asks_for_static_instances_of_the_reservation_without_a_placement_group():
    body, text, told = file_of(document())
    queue = told["Scheduling"]["SlurmQueues"][0]
    resource = queue["ComputeResources"][0]
    assert (queue["Name"], queue["CapacityType"]) == ("workers", "ONDEMAND")
    assert queue["Networking"]["PlacementGroup"] == {"Enabled": False}
    assert (resource["MinCount"], resource["MaxCount"]) == (8, 8)
    assert resource["Efa"] == {"Enabled": True}
    assert resource["CapacityReservationTarget"] == {"CapacityReservationId": RESERVATION}
    assert [mount["MountDir"] for mount in told["SharedStorage"]] == ["/fsx"]
    assert {"Key": "cohort:tenant", "Value": "hoshi"} in told["Tags"]
    assert "&id" not in text and "*id" not in text
    script = told["HeadNode"]["CustomActions"]["OnNodeConfigured"]["Script"]
    assert script.removeprefix("s3://LifecycleBucketName-1/") in [each["key"] for each in body["objects"]]


def test_a_capacity_block_is_asked_for_by_its_own_word():
    _, _, told = file_of(document({"capacity": "capacity-block"}))
    assert told["Scheduling"]["SlurmQueues"][0]["CapacityType"] == "CAPACITY_BLOCK"


def test_a_placement_group_is_made_where_one_is_asked_for():
    _, _, told = file_of(document({"reservation": "", "placement_group": True}))
    queue = told["Scheduling"]["SlurmQueues"][0]
    assert queue["Networking"]["PlacementGroup"] == {"Enabled": True}
    assert "CapacityReservationTarget" not in queue["ComputeResources"][0]
