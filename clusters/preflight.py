"""Does a request fit: Region, types, quotas, training plans, addresses, storage? Pure; a table in, findings out."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from clusters import facts as known_facts
from clusters import (
    preflight_account,
    preflight_ec2,
    preflight_network,
    preflight_roles,
    preflight_storage,
    training_plans,
)
from clusters.account_told import NOTHING, Told
from clusters.architectures.configuration import (
    Configuration,
    read_configuration,
)
from clusters.architectures.parts import ROOT_GIB
from clusters.facts import Facts
from clusters.findings import Finding, Level, Refusals, in_order
from clusters.preflight_account import Account
from clusters.preflight_ec2 import Ec2, Held
from clusters.training_plans import Plan

__all__ = [
    "Account",
    "Configuration",
    "Ec2",
    "Finding",
    "Held",
    "Network",
    "Plan",
    "Quotas",
    "Refusals",
    "preflight",
    "read_configuration",
    "refused",
]

NAME = re.compile(r"[a-z](-*[a-z0-9])*")  # HyperPod takes a digit in front, CloudFormation does not
NAME_LENGTH = 63
RESERVED_ADDRESSES = 5  # AWS keeps so many of every subnet
LARGEST_SUBNET = 16


@dataclass(frozen=True)
class Quotas:
    """What an account may have in the Region, by (service, exact quota name); a name that is absent is not known."""

    values: Mapping[tuple[str, str], float] = field(default_factory=dict)
    read_at: datetime | None = None  # the oldest of them

    def get(self, service: str, name: str) -> int | None:
        value = self.values.get((service, name))
        return None if value is None else int(value)


@dataclass(frozen=True)
class Network:
    """The subnet when the site has one already; None counts stand for a subnet that is still to be made."""

    subnet: str = ""
    free_addresses: int | None = None
    known_at: datetime | None = None


def preflight(
    configuration: Configuration,
    facts: Facts,
    quotas: Quotas,
    usage: Mapping[str, int],
    reservations: Sequence[Plan],
    network: Network,
    now: datetime,
    *,
    name: str = "",
    ec2: Ec2 | None = None,
    account: Account | None = None,
    told: Told = NOTHING,
    made: preflight_network.Network | None = None,
) -> list[Finding]:
    """All findings, refusals first.

    `usage` counts instances by plain type in the account's *other* clusters of the Region, those that are only wished
    included, since the quota does not tell them apart once they are made. `ec2` is the same for engines that launch
    instances of EC2 itself, whose quotas and reservations are others. `told` is what the account said of itself, `made`
    the network that the nodes will lie in.
    """
    capacity: tuple[Iterable[Finding], ...]
    if configuration.made_of().engine == "parallelcluster":
        on_ec2 = ec2 or Ec2()
        capacity = (
            preflight_ec2.families(configuration),
            preflight_ec2.vcpus(configuration, facts, on_ec2),
            preflight_ec2.reservations(configuration, facts, on_ec2, now),
        )
    else:
        capacity = (
            _type_quotas(configuration, quotas, usage),
            _cluster_quotas(configuration, quotas, usage),
            _disk_quota(configuration, quotas),
            training_plans.findings(configuration, facts, reservations, now),
        )
    checks = (
        _name(name),
        _place(configuration, facts),
        _types(configuration, facts, told["offerings"].read_at),
        *capacity,
        _addresses(configuration, facts, network),
        _storage(configuration, quotas),
        _of_account(configuration, facts, account, told, made) if account else (),
    )
    return in_order(finding for check in checks for finding in check)


def _of_account(
    wish: Configuration, facts: Facts, account: Account, told: Told, made: preflight_network.Network | None
) -> Iterator[Finding]:
    yield from preflight_account.findings(wish, facts, account, told)
    yield from preflight_roles.findings(wish, account, told)
    yield from preflight_network.findings(wish, facts, made)
    yield from preflight_storage.findings(wish, account, told)


def refused(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level == "refused"]


def _name(name: str) -> Iterator[Finding]:
    if name:
        fits = len(name) <= NAME_LENGTH and NAME.fullmatch(name)
        code = "name" if fits else "name_pattern"
        yield Finding(code, "ok" if fits else "refused", "name", name, NAME_LENGTH, unit="characters")


def _place(wish: Configuration, facts: Facts) -> Iterator[Finding]:
    architecture = wish.made_of()
    title = {"title": architecture.title}
    if wish.region not in architecture.regions:
        offered = ", ".join(architecture.regions)
        yield Finding("region_not_offered", "refused", "region", wish.region, offered, values=title)
        return
    yield Finding("region", "ok", "region", wish.region, values=title)
    zones = facts.zones.get(wish.region, ())
    here = facts.region_of(wish.az_id) == wish.region and wish.az_id in zones
    code: str = "zone" if here else "zone_elsewhere"
    level: Level = "ok" if here else "refused"
    yield Finding(code, level, "az_id", wish.az_id, ", ".join(zones), values={"region": wish.region})


def _types(wish: Configuration, facts: Facts, read_at: datetime | None) -> Iterator[Finding]:
    for instance_type in wish.counts():
        path = _path(wish, instance_type)
        values = {"region": wish.region, "zone": wish.az_id}
        zones = facts.offered(wish.region, instance_type)
        if zones is None and facts.instance(instance_type) is None:
            near = facts.close_matches(instance_type)
            suggestion = ", ".join(near) or "p5.48xlarge"
            yield Finding("type_unknown", "refused", path, instance_type, suggestion=suggestion, values=values)
        elif zones is None:
            yield Finding("type_offer_unknown", "warning", path, instance_type, values=values)
        elif not zones:
            regions = [region for region in wish.made_of().regions if facts.offered(region, instance_type)]
            elsewhere = ", ".join(regions) or "—"
            yield Finding(
                "type_not_in_region",
                "refused",
                path,
                instance_type,
                suggestion=elsewhere,
                values=values,
                known_at=read_at,
            )
        elif wish.az_id not in zones:
            offered = ", ".join(zones)
            yield Finding(
                "type_not_in_zone",
                "refused",
                path,
                instance_type,
                offered,
                suggestion=offered,
                values=values,
                known_at=read_at,
            )
        else:
            yield Finding("type_offered", "ok", path, instance_type, values=values, known_at=read_at)


def _type_quotas(wish: Configuration, quotas: Quotas, usage: Mapping[str, int]) -> Iterator[Finding]:
    for instance_type, asked in wish.counts().items():
        quota = known_facts.cluster_usage(instance_type)
        values = {"type": known_facts.ml_name(instance_type), "region": wish.region, "quota": quota}
        path = _path(wish, instance_type, "count")
        yield _against("type_quota", path, asked, quotas, quota, usage.get(instance_type, 0), values)


def _cluster_quotas(wish: Configuration, quotas: Quotas, usage: Mapping[str, int]) -> Iterator[Finding]:
    asked, path = sum(wish.counts().values()), "instance_groups"
    for code, quota, used in (
        ("cluster_quota", known_facts.PER_CLUSTER, 0),
        ("total_quota", known_facts.ACROSS_CLUSTERS, sum(usage.values())),
    ):
        yield _against(code, path, asked, quotas, quota, used, {"region": wish.region, "quota": quota})


def _against(
    code: str, path: str, asked: int, quotas: Quotas, quota: str, used: int, values: Mapping[str, object]
) -> Finding:
    """SageMaker counts instances. What is not known is no refusal: AWS will say, and a person should find out."""
    allowed = quotas.get("sagemaker", quota)
    values = {**values, "used": used, "left": max((allowed or 0) - used, 0)}
    if allowed is None:
        return Finding(f"{code}_unknown", "warning", path, asked, "?", "instances", "account_team", values=values)
    level: Level = "refused" if asked + used > allowed else "ok"
    named = f"{code}_exceeded" if level == "refused" else code
    return Finding(
        named, level, path, asked, allowed, "instances", "account_team", values=values, known_at=quotas.read_at
    )


def _disk_quota(wish: Configuration, quotas: Quotas) -> Iterator[Finding]:
    allowed = quotas.get("sagemaker", known_facts.DISK)
    if allowed is not None and allowed < ROOT_GIB:
        values = {"region": wish.region, "quota": known_facts.DISK}
        yield Finding(
            "disk_quota_exceeded", "refused", "instance_groups", ROOT_GIB, allowed, "GB", "account_team", values=values
        )


def _addresses(wish: Configuration, facts: Facts, network: Network) -> Iterator[Finding]:
    orchestrator = wish.made_of().orchestrator
    per_type = {name: facts.instance(name) for name in wish.counts()}
    if None in per_type.values():
        return  # an unknown type is refused elsewhere; what its nodes would need nobody knows
    per_node = {name: instance.addresses(orchestrator) for name, instance in per_type.items() if instance}
    asked = sum(per_node[name] * count for name, count in wish.counts().items())
    subnet = network.subnet or wish.subnet_cidr
    free = network.free_addresses
    if free is None:
        free = max(ipaddress.IPv4Network(subnet).num_addresses - RESERVED_ADDRESSES, 0)
    largest = max(per_node.values())
    values = {"subnet": subnet, "spare": largest}
    code: str = "addresses"
    level: Level = "ok"
    if asked > free:
        code, level = "addresses_short", "refused"
    elif asked + largest > free:
        # A replacement comes before the failed node's interfaces are gone.
        code, level = "addresses_tight", "warning"
    suggestion = f"/{_subnet_for(asked + largest)}"
    yield Finding(
        code, level, "subnet_cidr", asked, free, "addresses", suggestion=suggestion, values=values,
        known_at=network.known_at,
    )  # fmt: skip


def _subnet_for(addresses: int) -> int:
    """The smallest subnet that holds so many."""
    for prefix in range(28, LARGEST_SUBNET, -1):
        if 2 ** (32 - prefix) - RESERVED_ADDRESSES >= addresses:
            return prefix
    return LARGEST_SUBNET


def _storage(wish: Configuration, quotas: Quotas) -> Iterator[Finding]:
    lustre = wish.storage.lustre
    allowed = quotas.get("fsx", known_facts.LUSTRE_CAPACITY)
    values = {"region": wish.region, "quota": known_facts.LUSTRE_CAPACITY, "rate": lustre.mbs}
    path, capacity = "storage.lustre.capacity_gib", lustre.capacity_gib
    if allowed is not None and capacity > allowed:
        # Whether this quota counts GiB is not proven, so it warns.
        yield Finding("lustre_quota_exceeded", "warning", path, capacity, allowed, "GiB", "account_team", values=values)
    else:
        yield Finding("lustre", "ok", path, capacity, "", "GiB", values=values)


def _path(wish: Configuration, instance_type: str, name: str = "instance_type") -> str:
    index = next(i for i, group in enumerate(wish.instance_groups) if group.instance_type == instance_type)
    return f"instance_groups[{index}].{name}"
