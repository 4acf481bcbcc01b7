"""Rules, ports and ways out of a network: each thing that is missing fails its own line, with what is missing."""

import dataclasses
from typing import Any

import pytest
from django.utils import timezone

from clusters import facts
from clusters.account_told import Fact, Told
from clusters.architectures import architectures
from clusters.finding_words import NOT_KNOWN
from clusters.preflight_account import Account
from clusters.preflight_network import Network, findings, of_account, of_template
from clusters.preflight_storage import findings as storage
from tests.clusters.wishes import wish

GROUP, NOW = "sg-1", timezone.now()
OPEN = [
    {"way": way, "protocol": "-1", "from": None, "to": None, "groups": [GROUP], "ranges": []} for way in ("in", "out")
]


def tcp(way: str, low: int, high: int, protocol: str = "tcp", **more: Any) -> dict[str, Any]:
    return {"way": way, "protocol": protocol, "from": low, "to": high, "groups": [GROUP], "ranges": [], **more}


def both(*ports: tuple[int, int], protocols: tuple[str, ...] = ("tcp",)) -> list[dict[str, Any]]:
    return [tcp(way, low, high, protocol) for way in ("in", "out") for low, high in ports for protocol in protocols]


LUSTRE, NFS = both((988, 988), (1018, 1023)), both((111, 111), (2049, 2049), (20001, 20003), protocols=("tcp", "udp"))
NAT, GATEWAY = {"to": "0.0.0.0/0", "by": "nat-1"}, {"to": "0.0.0.0/0", "by": "igw-1"}


def network(**changes: Any) -> Network:
    told: dict[str, Any] = {"rules": OPEN, "routes": [NAT], "endpoints": ["com.amazonaws.ap-northeast-1.s3"]}
    return Network("subnet-1", GROUP, **{**told, "range": "10.0.128.0/22", "known_at": NOW, **changes})


def problems(made: Network | None, *, efa: bool = True, openzfs: bool = True) -> list[tuple[str, str]]:
    groups = [{"name": "head", "instance_type": "m5.8xlarge", "count": 1, "role": "controller"}]
    groups.append(
        {"name": "workers", "instance_type": "p5.48xlarge" if efa else "c5.4xlarge", "count": 2, "role": "compute"}
    )
    storage = {"lustre": {"capacity_gib": 1200, "mbs_per_tib": 250}}
    storage |= {"openzfs": {"capacity_gib": 256, "mbs": 256}} if openzfs else {}
    found = list(findings(wish(instance_groups=groups, storage=storage), facts.load(), made))
    assert all(each.sentence() and (each.level == "ok" or each.advice()) for each in found)
    assert all(each.verdict == ("unknown" if each.code in NOT_KNOWN else "pass" if each.level == "ok" else "fail") for each in found)  # fmt: skip
    return [(each.code, str(each.values.get("missing", ""))) for each in found if each.level != "ok"]


@pytest.mark.parametrize(
    ("changes", "efa", "expected"),
    [
        ({}, True, []),
        ({"rules": OPEN[1:]}, True, [("efa_rules_missing", "in"), ("lustre_ports_missing", "in tcp 988; in tcp 1018-1023"),
         ("openzfs_ports_missing", "in tcp 111; in udp 111; in tcp 2049; in udp 2049; in tcp 20001-20003; in udp 20001-20003")]),
        ({"rules": [*LUSTRE, *NFS]}, True, [("efa_rules_missing", "in; out")]),
        # A rule by address lets the file system through and is not enough for EFA.
        ({"rules": [{**rule, "groups": [], "ranges": ["10.0.0.0/16"]} for rule in OPEN]}, True, [("efa_rules_missing", "in; out")]),
        ({"rules": [{**rule, "groups": ["sg-2"]} for rule in OPEN]}, False,
         [("lustre_ports_missing", "in tcp 988; in tcp 1018-1023; out tcp 988; out tcp 1018-1023"),
          ("openzfs_ports_missing", "; ".join(f"{way} {protocol} {ports}" for way in ("in", "out") for ports in ("111", "2049", "20001-20003") for protocol in ("tcp", "udp")))]),
        ({"rules": [*NFS, *both((988, 988))]}, False, [("lustre_ports_missing", "in tcp 1018-1023; out tcp 1018-1023")]),
        ({"rules": [*LUSTRE, *both((111, 20003))]}, False,
         [("openzfs_ports_missing", "; ".join(f"{way} udp {ports}" for way in ("in", "out") for ports in ("111", "2049", "20001-20003")))]),
        ({"rules": [*LUSTRE, *NFS]}, False, []),
        ({"routes": [], "endpoints": ["com.amazonaws.ap-northeast-1.s3"]}, True, [("way_out_missing", "ec2; logs; sts")]),
        ({"routes": [GATEWAY]}, True, [("way_out_missing", "ec2; logs; sts")]),
        ({"routes": [], "endpoints": [f"com.amazonaws.ap-northeast-1.{name}" for name in ("ec2", "logs", "sts")]}, True,
         [("way_to_s3_missing", "s3")]),
        ({"endpoints": []}, True, []),
    ],
)  # fmt: skip
def test_each_missing_thing_fails_its_own_line(
    changes: dict[str, Any], efa: bool, expected: list[tuple[str, str]]
) -> None:
    assert problems(network(**changes), efa=efa) == expected


def test_a_network_of_which_nobody_told_is_unknown_and_no_pass() -> None:
    assert [code for code, _ in problems(None)] == [
        "efa_rules_unknown", "lustre_ports_unknown", "openzfs_ports_unknown", "way_out_unknown", "way_to_s3_unknown",
    ]  # fmt: skip


@pytest.mark.parametrize("architecture", architectures(), ids=lambda each: each.slug)
def test_what_our_templates_make_lets_everything_through(architecture: Any) -> None:
    made = of_template(architecture.text(next(part.template for part in architecture.parts if part.role == "base")))
    assert (made.group, made.subnet) == ("NodeSecurityGroup", "NodeSubnet")
    assert problems(made) == []


def test_a_template_that_forgot_a_direction_would_be_told() -> None:
    text = next(each for each in architectures() if each.slug == "hyperpod-slurm").text("base.yaml")
    broken = text.replace("SourceSecurityGroupId: !Ref NodeSecurityGroup", "CidrIp: 0.0.0.0/0")
    assert broken != text
    assert problems(of_template(broken), openzfs=False) == [("efa_rules_missing", "in")]


def test_the_group_and_the_subnet_are_those_that_the_stack_named() -> None:
    told = {
        "ours": {
            "vpc-1": {
                "subnets": {"subnet-1": {"zone": "apne1-az4", "range": "10.0.128.0/22", "free": 9, "routes": [NAT]}},
                "groups": {"sg-1": OPEN, "sg-2": []},
                "endpoints": [],
            }
        }
    }
    outputs = {"VpcId": "vpc-1", "NodeSubnetId": "subnet-1", "SecurityGroupId": "sg-2"}
    found = of_account(told, outputs, NOW)
    assert found is not None and (found.free, found.rules) == (9, [])
    assert [code for code, _ in problems(found, openzfs=False)] == ["efa_rules_missing", "lustre_ports_missing"]
    assert of_account(told, {**outputs, "VpcId": "vpc-2"}, NOW) is None


@pytest.mark.parametrize(
    ("zone", "systems", "verdict"),
    [
        ("apne1-az4", [], "unknown"),
        ("apne1-az1", [], "unknown"),  # reported missing once, long ago: a doubt, and no more
        ("apne1-az4", [{"type": "LUSTRE", "deployment": "PERSISTENT_2", "zone": "apne1-az4", "state": "AVAILABLE", "id": "fs-1"}], "pass"),
        ("apne1-az4", [{"type": "LUSTRE", "deployment": "SCRATCH_2", "zone": "apne1-az4", "state": "AVAILABLE", "id": "fs-1"}], "unknown"),
        ("apne1-az4", [{"type": "LUSTRE", "deployment": "PERSISTENT_2", "zone": "apne1-az1", "state": "AVAILABLE", "id": "fs-1"}], "unknown"),
        ("apne1-az4", [{"type": "LUSTRE", "deployment": "PERSISTENT_2", "zone": "apne1-az4", "state": "FAILED", "id": "fs-1"}], "unknown"),
    ],
)  # fmt: skip
def test_only_a_file_system_that_stands_there_proves_that_its_zone_has_it(
    zone: str, systems: Any, verdict: str
) -> None:
    told = Told({"storage": Fact({"systems": systems}, NOW)}, NOW)
    account = Account("111122223333", "yes", limits={("fsx", "Lustre Persistent_2 file systems"): 100})
    found = next(each for each in storage(wish(az_id=zone), account, told) if each.code.startswith("lustre_zone"))
    assert found.verdict == verdict and zone in found.sentence()
    assert ("PR 4682" in found.sentence()) == (zone == "apne1-az1")


def test_a_type_that_is_known_not_to_be_offered_is_refused() -> None:
    """As the highly available OpenZFS in Tokyo, which no form offers there; one of before may still say it."""
    sized = {"lustre": {"capacity_gib": 1200, "mbs_per_tib": 250}, "openzfs": {"capacity_gib": 256, "mbs": 256}}
    account = Account("111122223333", "yes")
    asked = wish(storage=sized)
    assert asked.storage.openzfs
    homes = dataclasses.replace(asked.storage.openzfs, deployment="SINGLE_AZ_HA_1")
    asked = dataclasses.replace(asked, storage=dataclasses.replace(asked.storage, openzfs=homes))
    found = next(each for each in storage(asked, account, Told({}, NOW)) if each.code.startswith("openzfs_zone"))
    assert (found.verdict, found.code) == ("fail", "openzfs_zone_missing")
    assert "no OpenZFS of the type SINGLE_AZ_HA_1 in apne1-az4" in found.sentence()
