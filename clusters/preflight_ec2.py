"""Does a request for instances of EC2 itself fit: quotas in vCPUs, reservations and Capacity Blocks. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from clusters import facts as known_facts
from clusters.architectures.configuration import Configuration, Group
from clusters.facts import Facts
from clusters.findings import Finding, Level

ENDS_SOON = timedelta(days=14)
USABLE = frozenset({"active", "scheduled"})
BLOCK, ON_DEMAND = "capacity-block", "on-demand"


@dataclass(frozen=True)
class Held:
    """A reservation of EC2 capacity in the account: on demand, or a Capacity Block."""

    id: str
    kind: str  # on-demand or capacity-block, as a group's capacity
    instance_type: str
    region: str
    az_id: str
    count: int
    state: str
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    used: int = 0  # by other clusters of ours, wished or real


@dataclass(frozen=True)
class Ec2:
    """What the account has, and what its other clusters on EC2 take of it (instances by type)."""

    quotas: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    held: Sequence[Held] = ()


def families(wish: Configuration) -> Iterator[Finding]:
    """An architecture is proven with some families of instances only."""
    architecture = wish.made_of()
    for index, group in enumerate(wish.instance_groups):
        family = known_facts.plain_name(group.instance_type).split(".")[0]
        if group.role == "compute" and architecture.families and family not in architecture.families:
            allowed = ", ".join(architecture.families)
            path, values = f"instance_groups[{index}].instance_type", {"title": architecture.title}
            yield Finding("type_family", "refused", path, group.instance_type, allowed, values=values)


def vcpus(wish: Configuration, facts: Facts, ec2: Ec2) -> Iterator[Finding]:
    """EC2 counts vCPUs by kind of instance; those of a Capacity Block do not count."""
    asked: dict[str, int] = {}
    for group in wish.instance_groups:
        if group.capacity != BLOCK:
            for name, count in _vcpus({group.instance_type: group.count}, facts).items():
                asked[name] = asked.get(name, 0) + count
    used = _vcpus(ec2.usage, facts)
    for name, count in asked.items():
        allowed, taken = ec2.quotas.get(name), used.get(name, 0)
        values = {"region": wish.region, "quota": name, "used": taken, "left": max(int(allowed or 0) - taken, 0)}
        code, level = "vcpu_quota", "ok"
        if allowed is None:
            code, level = "vcpu_quota_unknown", "warning"
        elif count + taken > allowed:
            code, level = "vcpu_quota_exceeded", "refused"
        told = "?" if allowed is None else int(allowed)
        yield _finding(code, level, "instance_groups", count, told, values, unit="vCPU")


def _vcpus(counts: Mapping[str, int], facts: Facts) -> dict[str, int]:
    found: dict[str, int] = {}
    for instance_type, count in counts.items():
        instance = facts.instance(instance_type)
        if instance and instance.vcpus:
            name = known_facts.ec2_quota(instance_type)
            found[name] = found.get(name, 0) + count * instance.vcpus
    return found


def reservations(wish: Configuration, facts: Facts, ec2: Ec2, now: datetime) -> Iterator[Finding]:
    """Whatever a group names must be there, of its type, in its zone, large enough and not over."""
    named: dict[str, int] = {}
    for group in wish.instance_groups:
        if group.reservation:
            named[group.reservation] = named.get(group.reservation, 0) + group.count
    for index, group in enumerate(wish.instance_groups):
        path = f"instance_groups[{index}].reservation"
        instance = facts.instance(group.instance_type)
        values = {"group": group.name, "type": group.instance_type, "reservation": group.reservation}
        if group.reservation:
            held = next((one for one in ec2.held if one.id == group.reservation), None)
            yield from _reservation(wish, group, held, named[group.reservation], path, values, now)
        elif group.capacity == BLOCK:
            yield _finding("block_unnamed", "refused", path, group.count, "", values)
        elif instance and instance.accelerators:
            yield _finding("reservation_absent", "warning", path, group.count, "", values)


def _reservation(
    wish: Configuration,
    group: Group,
    held: Held | None,
    asked: int,
    path: str,
    values: Mapping[str, object],
    now: datetime,
) -> Iterator[Finding]:
    if held is None or held.region != wish.region:
        yield _finding("reservation_missing", "refused", path, group.reservation, "", values)
        return
    left = held.count - held.used
    over = held.ends_at is not None and held.ends_at <= now
    wrong = [
        _finding(code, "refused", path, told, allowed, {**values, "total": held.count})
        for code, is_wrong, told, allowed in (
            ("reservation_kind", held.kind != group.capacity, group.capacity, held.kind),
            ("reservation_type", held.instance_type != group.instance_type, group.instance_type, held.instance_type),
            ("reservation_zone", bool(held.az_id) and held.az_id != wish.az_id, wish.az_id, held.az_id),
            ("reservation_count", asked > left, asked, max(left, 0)),
            ("reservation_over", over, group.reservation, _day(held.ends_at)),
            ("reservation_state", not over and held.state not in USABLE, held.state, ""),
            ("placement_and_reservation", group.placement_group, "", ""),
        )
        if is_wrong
    ]
    yield from wrong
    if wrong:
        return
    if held.starts_at and held.starts_at > now:
        yield _finding("reservation_not_begun", "warning", path, "", _day(held.starts_at), values)
    elif held.ends_at and held.ends_at - now <= ENDS_SOON:
        yield _finding("reservation_ends_soon", "warning", path, "", _day(held.ends_at), values)
    else:
        yield _finding("reservation", "ok", path, group.count, left, values)


def _finding(
    code: str,
    level: str,
    path: str,
    asked: object,
    allowed: object,
    values: Mapping[str, object],
    unit: str = "instances",
) -> Finding:
    known: Level = "refused" if level == "refused" else "warning" if level == "warning" else "ok"
    return Finding(code, known, path, asked, allowed, unit, "account_team", values=values)


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else ""
