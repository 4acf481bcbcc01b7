"""Does a request fit the account and what its participation may do: allowed Regions, the role, the account's own limits. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clusters.architectures.configuration import Configuration
from clusters.facts import Facts
from clusters.findings import Finding

INTERFACES = ("vpc", "Network interfaces per Region")
NETWORKS = ("vpc", "VPCs per Region")
ELASTIC_IPS = ("ec2", "EC2-VPC Elastic IPs")


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


def findings(wish: Configuration, facts: Facts, account: Account) -> Iterator[Finding]:
    yield _residency(wish, account)
    yield _access(account)
    if wish.editor_role:
        yield _editor(wish, account)
    mine = sum(_cards(kind, facts) * count for kind, count in wish.counts().items())
    others = sum(_cards(kind, facts) * count for kind, count in account.usage.items())
    first = 0 if account.clusters else 1  # a base stack serves all clusters of ours in the account and Region
    yield _limit("interfaces", INTERFACES, mine, others, "interfaces", wish, account)
    yield _limit("networks", NETWORKS, first, 1 - first, "networks", wish, account)
    yield _limit("elastic_ips", ELASTIC_IPS, first, 1 - first, "addresses", wish, account)


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
) -> Finding:
    """Against what clusters of ours take; what others take in the account is not known, and the sentence says so."""
    allowed = account.limits.get(quota)
    values = {"region": wish.region, "quota": quota[1], "used": used, "left": max(int(allowed or 0) - used, 0)}
    common = {"unit": unit, "who": "account_team", "values": values, "known_at": account.read_at}
    if allowed is None:
        return Finding(f"{code}_unknown", "warning", "account", asked, "?", **common)
    if asked + used > allowed:
        return Finding(f"{code}_exceeded", "refused", "account", asked, int(allowed), **common)
    return Finding(code, "ok", "account", asked, int(allowed), **common)
