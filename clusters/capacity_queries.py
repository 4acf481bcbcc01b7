"""Reads of capacity: what was granted, what is held and by whom, joined per instance type, Region and way of buying."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from clusters import capacity, capacity_effect, facts, reserving
from clusters.architectures.configuration import Configuration
from clusters.findings import Finding
from clusters.granted import Granted, Situation
from clusters.granted import findings as held_against
from clusters.granted import options as by_type
from clusters.holding import Held, Standing, counted, to_hold
from clusters.models import (
    CapacityRequest,
    Cluster,
    LedgerRow,
    Operation,
    QuotaGrant,
    Reservation,
    Revision,
    ServiceQuota,
    UsageDay,
)
from clusters.reserving import Held as HeldCapacity
from tenants.models import Participation, Programme, within
from tenants.programme_day import programme_today

NEVER = 0


@lru_cache(maxsize=1)
def accelerated_types() -> frozenset[str]:
    """Plain names of the types with accelerators: what is granted and held."""
    return frozenset(name for name, instance in facts.load().instances.items() if instance.accelerators)


def standing(cluster: Cluster) -> Standing:
    """What decides how much the cluster has to hold."""
    operations = list(
        Operation.objects.filter(cluster=cluster, state__in=["waiting", "running", "done"])
        .exclude(state="done", revision=None)
        .values_list("state", "kind", "revision", "body")
    )
    done = max((revision for state, _kind, revision, _body in operations if state == "done"), default=NEVER)
    # A body of something other than a configuration says which groups, or what to leave.
    waiting = next((body for state, kind, _n, body in operations if state == "waiting" and kind == "change"), None)
    under_way = any(state == "running" and kind in ("create", "change") for state, kind, _n, _b in operations)
    rows = Revision.objects.filter(cluster=cluster, number__gte=done).order_by("number").values_list("number", "body")
    return Standing(cluster.state, list(rows), done, under_way, waiting)


def held_by(cluster: Cluster) -> dict[tuple[str, str], int]:
    """What the cluster holds: sums of its rows, by type and way of buying."""
    return {(kind, option): count for kind, option, count in _sums(cluster=cluster, ledger=LedgerRow.Ledger.USE)}


def _sums(**where: Any) -> Any:
    rows = LedgerRow.objects.filter(**where).order_by().values_list("instance_type", "option")
    return rows.annotate(total=Sum("delta")).exclude(total=0)


def situations(participation: Any, region: str, cluster: Cluster | None = None) -> dict[str, Situation]:
    """By type: what is granted today, what the participation's other clusters hold, what this one does, what becomes free."""
    today = programme_today()
    lines = {
        kind: (pk, unlimited)
        for pk, kind, unlimited in QuotaGrant.objects.filter(participation=participation, region=region).values_list(
            "pk", "instance_type", "unlimited"
        )
    }
    rows = LedgerRow.objects.filter(participation=participation, region=region)
    grants = rows.filter(within(), ledger=LedgerRow.Ledger.GRANT).order_by().values_list("instance_type", "option")
    allowed = by_type(grants.annotate(total=Sum("delta")))
    used = rows.filter(ledger=LedgerRow.Ledger.USE)
    mine = by_type((kind, option, n) for (kind, option), n in held_by(cluster).items()) if cluster else {}
    others = used.exclude(cluster=cluster) if cluster else used
    taken = by_type(others.order_by().values_list("instance_type", "option").annotate(total=Sum("delta")))
    later: dict[str, list[tuple[int, date, date | None]]] = defaultdict(list)
    begins = rows.filter(ledger=LedgerRow.Ledger.GRANT, starts_on__gt=today).order_by()
    for kind, delta, first, last in begins.values_list("instance_type", "delta", "starts_on", "ends_on"):
        later[kind].append((delta, first, last))
    coming = {kind: told[0] for kind, each in later.items() if (told := capacity.coming(each, today))}
    back = _giving_back(participation, region, cluster)
    found = {}
    for kind in {*lines, *taken, *mine, *coming}:
        line = lines.get(kind)
        granted = Granted(allowed.get(kind, {}) if line else None, bool(line and line[1]))
        found[kind] = Situation(granted, taken.get(kind, {}), mine.get(kind, {}), back[kind])
        if soon := coming.get(kind):
            found[kind] = replace(
                found[kind], next_on=soon.starts_on, next_more=soon.instances, next_until=soon.ends_on
            )
    return found


def _giving_back(participation: Any, region: str, cluster: Cluster | None) -> Counter[str]:
    """What clusters hold that are being deleted, and what those hold too much that are becoming smaller."""
    mine = LedgerRow.objects.filter(participation=participation, region=region, ledger=LedgerRow.Ledger.USE)
    mine = mine.exclude(cluster=cluster) if cluster else mine
    changing = Operation.objects.filter(state="running", kind=Operation.Kind.CHANGE).values("cluster")
    rows = mine.filter(Q(cluster__state="deleting") | Q(cluster__in=changing)).order_by()
    held: dict[Any, Counter[str]] = defaultdict(Counter)
    for pk, state, kind, total in rows.values_list("cluster", "cluster__state", "instance_type").annotate(
        total=Sum("delta")
    ):
        held[pk, state][kind] = total
    shrinking = [pk for pk, state in held if state != "deleting"]
    bodies = Revision.objects.filter(cluster__in=shrinking).order_by("cluster_id", "-number").distinct("cluster_id")
    wished = dict(bodies.values_list("cluster_id", "body")) if shrinking else {}
    found: Counter[str] = Counter()
    for (pk, _state), counts in held.items():
        after: Counter[str] = Counter()
        for (kind, _option), count in counted(wished.get(pk, {}), accelerated_types()).items():
            after[kind] += count
        found += counts - after
    return found


def findings(participation: Any, wish: Configuration, cluster: Cluster | None = None) -> Iterator[Finding]:
    """A configuration held against what the programme granted."""
    asked = by_type((k, o, n) for (k, o), n in counted(wish.document(), accelerated_types()).items())
    paths: dict[str, str] = {}
    for index, group in enumerate(wish.instance_groups):
        paths.setdefault(group.instance_type, f"instance_groups[{index}].count")
    known = situations(participation, wish.region, cluster)
    refuses = any(known.get(kind, Situation()).granted.word == "not_set" for kind in asked) and refuses_not_set()
    return held_against(asked, known, wish.region, paths, refuses_not_set=refuses)


def refuses_not_set() -> bool:
    """Whether the programme refuses what nobody has granted; else it is let through, and told."""
    return Programme.objects.order_by("pk").values_list("grant_not_set", flat=True).first() == "refuse"


def unsettled() -> dict[Cluster, tuple[Held, dict[tuple[str, str], int]]]:
    """Clusters in scope whose rows do not say what they should hold: (should, does). Empty when all is right."""
    found = {}
    for cluster in Cluster.objects.order_by("name", "pk"):
        wanted, held = to_hold(standing(cluster), accelerated_types()), held_by(cluster)
        if dict(wanted) != held:
            found[cluster] = (wanted, held)
    return found


def used_of(participations: set[Any]) -> dict[tuple[Any, str, str], int]:
    """(participation, Region, type) -> instances that clusters hold."""
    rows = LedgerRow.objects.filter(participation__in=participations, ledger=LedgerRow.Ledger.USE).order_by()
    found: dict[tuple[Any, str, str], int] = defaultdict(int)
    for who, region, kind, total in rows.values_list("participation_id", "region", "instance_type").annotate(
        total=Sum("delta")
    ):
        found[who, region, kind] = total
    return found


def coming_of(participations: set[Any]) -> dict[tuple[Any, str, str], list[capacity.Coming]]:
    """(participation, Region, type) -> what is granted from a later day. One query."""
    today = programme_today()
    rows = LedgerRow.objects.filter(
        participation__in=participations, ledger=LedgerRow.Ledger.GRANT, starts_on__gt=today
    ).order_by()
    found: dict[tuple[Any, str, str], list[tuple[int, date, date | None]]] = defaultdict(list)
    for pid, region, kind, *row in rows.values_list(*PLACE, "delta", "starts_on", "ends_on"):
        found[pid, region, kind].append((row[0], row[1], row[2]))
    return {key: capacity.coming(each, today) for key, each in found.items()}


def joined_of(participations: Iterable[Any]) -> dict[Any, list[capacity.Joined]]:
    """By participation: each type and Region of which something is granted, allowed, reserved or held. Eight queries in all."""
    who = {row.pk: row for row in Participation.objects.filter(pk__in=list(participations)).select_related("cycle")}
    lines = {
        (line.participation_id, line.region, line.instance_type): line
        for line in QuotaGrant.objects.filter(participation__in=who)
    }
    grants: dict[Any, list[tuple[str, int, date, date | None]]] = defaultdict(list)
    held: dict[Any, dict[str, int]] = defaultdict(dict)
    rows = LedgerRow.objects.filter(participation__in=who)
    of_grants = rows.filter(ledger=LedgerRow.Ledger.GRANT)
    for pid, region, kind, *row in of_grants.values_list(*PLACE, "option", "delta", "starts_on", "ends_on"):
        grants[pid, region, kind].append(tuple(row))
    of_use = rows.filter(ledger=LedgerRow.Ledger.USE).order_by().values_list(*PLACE, "option")
    for pid, region, kind, option, total in of_use.annotate(total=Sum("delta")).exclude(total=0):
        held[pid, region, kind][option] = total
    reserved = _reserved(who)
    allowed = _allowed(who.values())
    used, today = _used_hours(who), programme_today()
    found: dict[Any, list[capacity.Joined]] = defaultdict(list)
    for key in sorted({*lines, *grants, *held, *reserved}, key=lambda key: (key[1], key[2])):
        pid, region, name = key
        instance = facts.load().instance(name)
        kind = capacity.Kind(name, region, *((instance.accelerators, instance.vcpus) if instance else ()))
        line, cycle = lines.get(key), who[pid].cycle
        granted = Granted(_on(today, grants[key]) if line else None, bool(line and line.unlimited))
        total = capacity.hours([row[1:] for row in grants[key]], cycle.starts_on, cycle.ends_on, kind.accelerators)
        found[pid].append(
            capacity.joined(
                kind, granted, held.get(key, {}), reserved.get(key, {}),
                allowed=[_as_allowed(row, kind) for row in allowed.get((who[pid].tenant_id, region), ()) if _counts(row, name)],
                granted_hours=total if granted.total is not None else None, used_hours=used.get(key),
                coming=capacity.coming([row[1:] for row in grants[key]], today),
            )
        )  # fmt: skip
    return found


PLACE = ("participation_id", "region", "instance_type")


def _on(day: date, rows: Iterable[tuple[str, int, date, date | None]]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for option, delta, first, last in rows:
        if first <= day and (last is None or last >= day):
            found[option] += delta
    return dict(found)


def _reserved(who: Iterable[Any]) -> dict[Any, dict[str, int]]:
    """What is reserved now."""
    now = timezone.now()
    held = Reservation.objects.exclude(state="wanted").exclude(kind=Reservation.Kind.ON_DEMAND)
    rows = held.filter(participation__in=who, starts_at__lte=now, ends_at__gt=now).order_by()
    found: dict[Any, dict[str, int]] = defaultdict(dict)
    for pid, region, kind, way, total in rows.values_list(*PLACE, "kind").annotate(total=Sum("count")):
        found[pid, region, kind][way] = total
    return found


def _allowed(who: Iterable[Participation]) -> dict[Any, list[Any]]:
    tenants = {row.tenant_id for row in who}
    wanted = ServiceQuota.objects.filter(tenant__in=tenants, service__in=["sagemaker", "ec2"])
    found: dict[Any, list[Any]] = defaultdict(list)
    for row in wanted.select_related("account").order_by("account__account_id", "service"):
        found[row.tenant_id, row.region].append(row)
    return found


def _counts(row: ServiceQuota, kind: str) -> bool:
    """Whether this is the quota that counts the type, by its exact name."""
    if row.service == "sagemaker":
        return row.name == facts.cluster_usage(kind)
    return row.name == facts.ec2_quota(kind)


def _as_allowed(row: ServiceQuota, kind: capacity.Kind) -> capacity.Allowed:
    value, counts_vcpus = int(row.value), row.service == "ec2"
    instances = value if not counts_vcpus else value // kind.vcpus if kind.vcpus else None
    unit = "vCPU" if counts_vcpus else "instances"
    return capacity.Allowed(row.account.account_id, row.service, row.name, unit, value, instances, row.read_at)


def _used_hours(who: Iterable[Any]) -> dict[Any, int]:
    """Accelerator-hours that jobs used, by the clusters' main type."""
    place = ("cluster__participation_id", "cluster__region", "cluster__main_type")
    rows = UsageDay.objects.filter(cluster__participation__in=who).exclude(source=UsageDay.Source.NOBODY).order_by()
    return {tuple(key): total // 3600 for *key, total in rows.values_list(*place).annotate(total=Sum("used"))}


def requests() -> QuerySet[CapacityRequest]:
    """Requests for capacity, the newest first."""
    return CapacityRequest.objects.select_related("participation__cycle", "tenant").order_by("-created_at", "-id")


def named_lines() -> list[str]:
    """Budget lines that decisions named so far, those that are seen from here."""
    rows = CapacityRequest.objects.exclude(budget_line="").order_by("budget_line")
    return list(rows.values_list("budget_line", flat=True).distinct()[:50])


def beside(row: CapacityRequest) -> QuerySet[CapacityRequest]:
    """What else the participation asked for that waits, or was granted and is not over."""
    today = programme_today()
    others = requests().filter(participation=row.participation_id, state__in=["waiting", "granted"])
    return others.exclude(pk=row.pk).exclude(ends_on__lt=today).order_by("-state", "starts_on", "id")


def usual_type(participation: Any) -> str:
    """The type of which most is granted, else the one that waits longest; empty where there is neither."""
    sums = LedgerRow.objects.filter(participation=participation, ledger=LedgerRow.Ledger.GRANT).order_by()
    most = sums.values_list("instance_type").annotate(total=Sum("delta")).order_by("-total", "instance_type").first()
    if most is not None and most[1] > 0:
        return str(most[0])
    waits = requests().filter(participation=participation, state="waiting").order_by("created_at", "id")
    return waits.values_list("instance_type", flat=True).first() or ""


def asked_already(
    participation: Any, *, kind: str, instance_type: str, region: str, starts_on: date, ends_on: date | None,
    but: Any = None,
) -> QuerySet[CapacityRequest]:  # fmt: skip
    """What waits already of the same kind, type and Region for some of the same days; of what is more or for longer, what
    was granted, too: it adds to that, while whoever writes the old first day again means the same instances."""
    found = requests().filter(participation=participation, instance_type=instance_type.removeprefix("ml."))
    kinds = CapacityRequest.Kind
    if kind in (kinds.MORE, kinds.LONGER):
        there = Q(kind__in=[kinds.MORE, kinds.LONGER], region=region) | Q(kind=kinds.REGION, to_region=region)
        found = found.filter(there, state__in=["waiting", "granted"])
    else:
        found = found.filter(kind=kind, region=region, state="waiting")
    found = found.exclude(pk=but).annotate(until=Coalesce("granted_until", "ends_on"))
    found = found.filter(Q(until=None) | Q(until__gte=starts_on))
    return found.filter(starts_on__lte=ends_on) if ends_on else found


def prolonged_by(row: CapacityRequest) -> tuple[date, int] | None:
    """(first day, instances) of what asks for the same for longer; None where it is not granted, never ends or is over.

    Of what was given back or moved since, nothing is prolonged."""
    gives = row.kind != CapacityRequest.Kind.FEWER
    last = row.given_until
    if row.state != "granted" or not gives or last is None or last < programme_today():
        return None
    steps = _granted_steps(row.participation_id, row.instance_type, row.to_region or row.region).filter(
        option=row.option
    )
    there = capacity_effect.least_within(list(steps.values_list("delta", "starts_on", "ends_on")), last, last)
    return (last + timedelta(days=1), min(row.given, there)) if there > 0 else None


def most_granted(participation: Any, instance_type: str, region: str, begins: date, ends: date | None) -> int:
    """The most instances that are granted on any day of a time, however they are bought."""
    steps = _granted_steps(participation, instance_type.removeprefix("ml."), region)
    return capacity_effect.most_within(list(steps.values_list("delta", "starts_on", "ends_on")), begins, ends)


def _granted_steps(participation: Any, instance_type: str, region: str) -> QuerySet[LedgerRow]:
    return LedgerRow.objects.filter(
        ledger=LedgerRow.Ledger.GRANT, participation=participation, instance_type=instance_type, region=region
    ).order_by()


def ledger() -> QuerySet[LedgerRow]:
    """Rows of what was granted, reserved and held, the newest first; what accounts allow is in their quotas."""
    rows = LedgerRow.objects.exclude(ledger=LedgerRow.Ledger.QUOTA)
    return rows.select_related("cluster", "request").order_by("-created_at", "-id")


@dataclass(frozen=True)
class Shown:
    """A reservation with what nobody uses of it, and what else holds at the same time."""

    row: Reservation
    idle: int
    idle_hours: int
    overlaps: tuple[str, ...]


def reservations(participation: Any) -> list[Shown]:
    """Of one participation, what ends first at the top, what is over last."""
    now = timezone.now()
    rows = list(Reservation.objects.filter(participation=participation).order_by("ends_at", "pk"))
    held = {
        row.pk: HeldCapacity(
            row.external_id or row.in_words(), row.kind, row.instance_type, row.region, row.az_id, row.count, row.starts_at,
            row.ends_at, row.state,
        )
        for row in rows
    }  # fmt: skip
    # Two that are only wanted may be called alike, so that they are told apart by what they are.
    which = {id(one): pk for pk, one in held.items()}
    beside: dict[Any, list[str]] = defaultdict(list)
    for one, other in reserving.overlaps(list(held.values())):
        beside[which[id(one)]].append(other.name)
        beside[which[id(other)]].append(one.name)
    taken = reserving.used(_newest_bodies(participation)) if any(row.state == "active" for row in rows) else {}
    found = []
    for row in rows:
        nodes = 0 if row.kind == Reservation.Kind.ON_DEMAND else reserving.idle(held[row.pk], taken)
        hours = reserving.idle_hours(held[row.pk], nodes, now)
        found.append(Shown(row, nodes, hours, tuple(beside[row.pk])))
    return sorted(found, key=lambda one: one.row.state == "ended")


def _newest_bodies(participation: Any) -> list[Any]:
    clusters = Cluster.objects.filter(participation=participation).exclude(state="deleted")
    rows = Revision.objects.filter(cluster__in=clusters).order_by("cluster_id", "-number").distinct("cluster_id")
    return list(rows.values_list("body", flat=True))


def to_look_at() -> list[Reservation]:
    """Reservations that somebody has to buy, and those that end within a fortnight: the nearest first."""
    soon = timezone.now() + timedelta(days=max(reserving.WARN_DAYS))
    rows = Reservation.objects.exclude(state="ended").filter(Q(state="wanted") | Q(ends_at__lte=soon))
    return list(rows.select_related("tenant").order_by("ends_at", "pk")[:MOST_AT_ONCE])


MOST_AT_ONCE = 200
