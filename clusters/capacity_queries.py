"""Reads of capacity: what was granted, what is held and by whom, joined per instance type, Region and way of buying."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from clusters import facts
from clusters.architectures.configuration import Configuration
from clusters.findings import Finding
from clusters.granted import Granted, Situation
from clusters.granted import findings as held_against
from clusters.granted import options as by_type
from clusters.holding import Held, Standing, counted, to_hold
from clusters.models import Cluster, LedgerRow, Operation, QuotaGrant, Revision
from tenants.models import within

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
    today = timezone.now().date()
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
    later = rows.filter(ledger=LedgerRow.Ledger.GRANT, starts_on__gt=today, delta__gt=0).order_by("starts_on")
    coming: dict[str, tuple[Any, int]] = {}
    for kind, day, more in later.values_list("instance_type", "starts_on", "delta"):
        coming.setdefault(kind, (day, more))
    back = _giving_back(participation, region, cluster)
    found = {}
    for kind in {*lines, *taken, *mine, *coming}:
        line = lines.get(kind)
        granted = Granted(allowed.get(kind, {}) if line else None, bool(line and line[1]))
        day, more = coming.get(kind, (None, 0))
        found[kind] = Situation(granted, taken.get(kind, {}), mine.get(kind, {}), back[kind], day, more)
    return found


def _giving_back(participation: Any, region: str, cluster: Cluster | None) -> Counter[str]:
    """What clusters hold that are being deleted."""
    rows = LedgerRow.objects.filter(
        participation=participation, region=region, ledger=LedgerRow.Ledger.USE, cluster__state="deleting"
    )
    rows = rows.exclude(cluster=cluster) if cluster else rows
    return Counter(dict(rows.order_by().values_list("instance_type").annotate(total=Sum("delta"))))


def findings(participation: Any, wish: Configuration, cluster: Cluster | None = None) -> Iterator[Finding]:
    """A configuration held against what the programme granted."""
    asked = by_type((k, o, n) for (k, o), n in counted(wish.document(), accelerated_types()).items())
    paths: dict[str, str] = {}
    for index, group in enumerate(wish.instance_groups):
        paths.setdefault(group.instance_type, f"instance_groups[{index}].count")
    return held_against(asked, situations(participation, wish.region, cluster), wish.region, paths)


def unsettled() -> dict[Any, tuple[Held, dict[tuple[str, str], int]]]:
    """Clusters in scope whose rows do not say what they should hold: id -> (should, does). Empty when all is right."""
    found = {}
    for cluster in Cluster.objects.all():
        wanted, held = to_hold(standing(cluster), accelerated_types()), held_by(cluster)
        if dict(wanted) != held:
            found[cluster.pk] = (wanted, held)
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
