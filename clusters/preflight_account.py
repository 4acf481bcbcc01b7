"""Does a request fit the account and what its participation may do: allowed Regions, the role, the account's own limits. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clusters.account_told import Told
from clusters.architectures.configuration import Configuration
from clusters.facts import Facts
from clusters.findings import Finding

INTERFACES = ("vpc", "Network interfaces per Region")
NETWORKS = ("vpc", "VPCs per Region")
ELASTIC_IPS = ("ec2", "EC2-VPC Elastic IPs")
NAT_GATEWAYS = ("vpc", "NAT gateways per Availability Zone")
SECURITY_GROUPS = ("vpc", "VPC security groups per Region")
# So many security groups come with a cluster: ours and the network's own, and those that its engine makes for itself.
GROUPS = {"hyperpod": 2, "parallelcluster": 6}


@dataclass(frozen=True)
class Account:
    """What is known of an account, and of whom it serves. `clusters` counts the others of ours in the Region."""

    number: str
    access: str  # yes, no, unknown
    checked_at: datetime | None = None
    allowed_regions: tuple[str, ...] = ()  # empty: data may lie anywhere
    limits: Mapping[tuple[str, str], float] = field(default_factory=dict)  # quotas by (service, exact name)
    read_at: datetime | None = None
    usage: Mapping[str, int] = field(default_factory=dict)  # instances by type in our other clusters of the Region
    clusters: int = 0
    makes_base: bool = True  # a network, an address and a gateway are still to be made for this one
    mine: Mapping[str, int] = field(default_factory=dict)  # instances by type that this cluster has already


def findings(wish: Configuration, facts: Facts, account: Account, told: Told) -> Iterator[Finding]:
    yield _residency(wish, account)
    yield _access(account)
    if wish.editor_role:
        yield _editor(wish, account)
    yield _interfaces(wish, facts, account, told)
    if account.makes_base:
        # Every cluster has a base of its own. What others than we have made counts as soon as the account told of it.
        gateways = told.value("network", "nat_gateways")
        there = None if gateways is None else int(gateways.get(wish.az_id, 0))
        groups = GROUPS.get(wish.made_of().engine, 2) + (1 if wish.made_of().orchestrator == "eks" else 0)
        for code, quota, asked, used, unit in (
            ("networks", NETWORKS, 1, _length(told, "networks"), "networks"),
            ("elastic_ips", ELASTIC_IPS, 1, told.value("network", "addresses"), "addresses"),
            ("nat_gateways", NAT_GATEWAYS, 1, there, "gateways"),
            ("security_groups", SECURITY_GROUPS, groups, told.value("network", "security_groups"), "security groups"),
        ):
            least = account.clusters * (groups if code == "security_groups" else 1)
            yield _limit(code, quota, asked, max(used or 0, least), unit, wish, account, told)


def _length(told: Told, name: str) -> int | None:
    found = told.value("network", name)
    return None if found is None else len(found)


def _interfaces(wish: Configuration, facts: Facts, account: Account, told: Told) -> Finding:
    """What others wished but do not have yet counts as much as what the account has."""
    mine = sum(_cards(kind, facts) * count for kind, count in wish.counts().items())
    here = sum(_cards(kind, facts) * count for kind, count in account.mine.items())
    others = sum(_cards(kind, facts) * count for kind, count in account.usage.items())
    there = told.value("network", "interfaces") or 0
    return _limit("interfaces", INTERFACES, mine, max(there - here, others), "interfaces", wish, account, told)


def _cards(kind: str, facts: Facts) -> int:
    instance = facts.instance(kind)
    return max((instance.efa if instance else 1) or 1, 1)


def _residency(wish: Configuration, account: Account) -> Finding:
    allowed = account.allowed_regions
    if allowed and wish.region not in allowed:
        return Finding("residency_refused", "refused", "region", wish.region, ", ".join(allowed), who="account_team")
    return Finding("residency", "ok", "region", wish.region, ", ".join(allowed), who="account_team")


def _access(account: Account) -> Finding:
    values = {"account": account.number}
    code, level = {"yes": ("access", "ok"), "no": ("access_denied", "warning")}.get(
        account.access, ("access_unknown", "warning")
    )
    return Finding(
        code,
        "ok" if level == "ok" else "warning",
        "account",
        account.number,
        who="owner",
        values=values,
        known_at=account.checked_at,
    )


def _editor(wish: Configuration, account: Account) -> Finding:
    """A role of another account or partition could never be let into this cluster."""
    _arn, partition, _iam, _region, number, _name = wish.editor_role.split(":", 5)
    here = {"cn": "aws-cn", "us-gov": "aws-us-gov"}
    wanted = next((name for start, name in here.items() if wish.region.startswith(f"{start}-")), "aws")
    fits = number == account.number and partition == wanted
    allowed = f"arn:{wanted}:iam::{account.number}:role/…"
    return Finding(
        "editor_role" if fits else "editor_role_elsewhere",
        "ok" if fits else "refused",
        "editor_role",
        wish.editor_role,
        allowed,
    )


def _limit(
    code: str,
    quota: tuple[str, str],
    asked: int,
    used: int,
    unit: str,
    wish: Configuration,
    account: Account,
    told: Told,
) -> Finding:
    """Against what the account has, or, where it has not told, what clusters of ours take."""
    allowed = account.limits.get(quota)
    values = {"region": wish.region, "quota": quota[1], "used": used, "left": max(int(allowed or 0) - used, 0)}
    common = {
        "unit": unit,
        "who": "account_team",
        "values": values,
        "known_at": told["network"].read_at or account.read_at,
    }
    if allowed is None:
        common["known_at"] = None
        return Finding(f"{code}_unknown", "warning", "account", asked, "?", **common)
    if asked + used > allowed:
        return Finding(f"{code}_exceeded", "refused", "account", asked, int(allowed), **common)
    return Finding(code, "ok", "account", asked, int(allowed), **common)
