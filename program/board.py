"""The launch-day board: planned against in service, by cluster, type and Region, the curve of the day, and what blocks."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from clusters import facts
from clusters.models import Cluster, Node
from program.curve import IMPORTED, Curve, Happened, Planned, curve
from program.models import LaunchCluster
from support.models import Case
from support.states import OPEN
from tenants.history.models import Entry
from tenants.models import Cycle
from tenants.programme_day import programme_zone

STATES = [f"cluster.{word}" for word in ("creating", "ready", "updating", "degraded", "failed", "deleting", "deleted")]
SEATS = [
    f"{noun}.{word}"
    for noun in ("node", "nodes")
    for word in ("pending", "checking", "running", "impaired", "replacing", "gone")
]
DAY = timedelta(days=1)
CHUNK = 2_000
BLOCKING = ("critical", "urgent", "high")


@dataclass
class Row:
    """One cluster on the board."""

    key: str
    tenant: str
    tenant_name: str
    name: str
    region: str
    instance_type: str
    planned: int
    accelerators: int
    in_service: int = 0
    state: str = ""
    cluster: UUID | None = None
    came_at: datetime | None = None
    wave: int | None = None
    verdict: str = ""
    line: UUID | None = None
    why: str = ""

    @property
    def accelerators_in_service(self) -> int:
        return self.in_service * self.accelerators // self.planned if self.planned else 0

    @property
    def whole(self) -> bool:
        return self.planned > 0 and self.in_service >= self.planned


@dataclass
class Sum:
    """Planned and in service of one type or Region."""

    name: str
    planned: int = 0
    in_service: int = 0
    accelerators: int = 0
    accelerators_in_service: int = 0

    def add(self, row: Row) -> None:
        self.planned += row.planned
        self.in_service += row.in_service
        self.accelerators += row.accelerators
        self.accelerators_in_service += row.accelerators_in_service


@dataclass
class Board:
    """One launch day as this scope may see it."""

    day: date
    begins: datetime
    ends: datetime
    imported: bool
    live: bool
    rows: list[Row] = field(default_factory=list)
    total: Sum = field(default_factory=lambda: Sum(""))
    by_type: list[Sum] = field(default_factory=list)
    by_region: list[Sum] = field(default_factory=list)
    curve: Curve = field(default_factory=Curve)
    blockers: list[dict[str, Any]] = field(default_factory=list)


def days(now: datetime) -> list[date]:
    """The days that have a board in this scope, newest first; today is always one."""
    zone = programme_zone()
    found = {now.astimezone(zone).date()}
    found |= set(LaunchCluster.objects.values_list("day", flat=True).distinct())
    found |= {
        at.astimezone(zone).date()
        for at in Entry.objects.filter(kind=IMPORTED).values_list("occurred_at", flat=True)[:CHUNK]
    }
    found |= {day for day in Cycle.objects.values_list("launch_day", flat=True) if day}
    return sorted(found, reverse=True)


def board(day: date, now: datetime) -> Board:
    """The board of a day, from history. The number of queries is the same for five clusters and for a thousand."""
    zone = programme_zone()
    begins = datetime.combine(day, time(0), zone)
    found = Board(day, begins, begins + DAY, imported=False, live=begins <= now < begins + DAY)
    told = list(_imported(begins, begins + DAY))
    found.imported = bool(told)
    found.rows, events = _from_import(told) if told else _from_clusters(day, found.ends)
    groups = {} if told else _groups(found.rows)
    plans = [
        Planned(row.key, row.name, row.instance_type, row.planned, row.accelerators, frozenset(groups.get(row.key, ())))
        for row in found.rows
    ]
    found.curve = curve(events, plans, begins)
    for row in found.rows:
        row.in_service = found.curve.now.get(row.key, 0)
        row.came_at = found.curve.came.get(row.key)
        found.total.add(row)
    found.by_type = _sums(found.rows, "instance_type")
    found.by_region = _sums(found.rows, "region")
    found.blockers = _blockers(found)
    return found


def _sums(rows: Iterable[Row], column: str) -> list[Sum]:
    found: dict[str, Sum] = {}
    for row in rows:
        found.setdefault(getattr(row, column), Sum(getattr(row, column))).add(row)
    return sorted(found.values(), key=lambda one: (-one.planned, one.name))


def _imported(begins: datetime, ends: datetime) -> Iterable[tuple[Any, ...]]:
    rows = Entry.objects.filter(kind=IMPORTED, occurred_at__gte=begins, occurred_at__lt=ends).order_by(
        "occurred_at", "id"
    )
    return rows.values_list("id", "occurred_at", "tenant__slug", "tenant__name", "facts")


def _from_import(told: Iterable[tuple[Any, ...]]) -> tuple[list[Row], list[Happened]]:
    """A day that was imported: each line says how many came; what came in all is what was planned, unless a line says more."""
    rows: dict[str, Row] = {}
    events = []
    for pk, at, slug, name, told_facts in told:
        key = f"{slug}/{told_facts['cluster_name']}"
        count = int(told_facts["count"])
        row = rows.setdefault(
            key,
            Row(
                key,
                slug,
                name,
                told_facts["cluster_name"],
                told_facts["region"],
                told_facts["instance_type"],
                0,
                0,
                state="ready",
            ),
        )
        row.planned += count
        row.accelerators += count * accelerators_of(row.instance_type)
        events.append(Happened(pk, at, IMPORTED, key, told_facts))
    for row in rows.values():
        stated = max((int(event.facts.get("planned") or 0) for event in events if event.cluster == row.key), default=0)
        if stated > row.planned:
            row.planned, row.accelerators = stated, stated * accelerators_of(row.instance_type)
    return list(rows.values()), events


def accelerators_of(instance_type: str) -> int:
    """Accelerators of one instance; 0 for a type that the catalogue does not know."""
    instance = facts.load().instance(instance_type)
    return instance.accelerators or 0 if instance else 0


def _from_clusters(day: date, ends: datetime) -> tuple[list[Row], list[Happened]]:
    """A day of clusters of ours: the planned lines of that day, or every cluster that was asked for by then."""
    lines = list(
        LaunchCluster.objects.filter(day=day)
        .select_related("tenant", "cluster")
        .order_by("wave", "tenant__name", "name")
    )
    if lines:
        rows = [_of_line(line) for line in lines]
    else:
        clusters = Cluster.objects.filter(created_at__lt=ends, accelerated_wanted__gt=0).exclude(state="deleted")
        rows = [_of_cluster(cluster) for cluster in clusters.select_related("tenant").order_by("tenant__name", "name")]
    ids = [row.cluster for row in rows if row.cluster]
    # The tenants say which part of the index to walk; there is none on the cluster alone.
    tenants = Cluster.objects.filter(pk__in=ids).values_list("tenant_id", flat=True).distinct()
    entries = Entry.objects.filter(
        tenant__in=list(tenants), kind__in=[*STATES, *SEATS], cluster__in=ids, occurred_at__lt=ends
    )
    columns = ("id", "occurred_at", "kind", "cluster", "facts")
    events = [
        Happened(pk, at, kind, str(cluster), told)
        for pk, at, kind, cluster, told in entries.values_list(*columns).iterator(chunk_size=CHUNK)
    ]
    return rows, events


def _of_cluster(cluster: Cluster) -> Row:
    return Row(
        str(cluster.pk),
        cluster.tenant.slug,
        cluster.tenant.name,
        cluster.name,
        cluster.region,
        cluster.main_type,
        cluster.accelerated_wanted,
        cluster.accelerators_wanted,
        state=cluster.state,
        cluster=cluster.pk,
        why=cluster.needs_person,
    )


def _of_line(line: LaunchCluster) -> Row:
    cluster = line.cluster
    return Row(
        str(cluster.pk if cluster else line.pk),
        line.tenant.slug,
        line.tenant.name,
        line.name,
        line.region,
        line.instance_type,
        line.planned,
        line.accelerators,
        state=cluster.state if cluster else "",
        cluster=cluster.pk if cluster else None,
        wave=line.wave,
        verdict=line.verdict,
        line=line.pk,
        why=cluster.needs_person if cluster else "",
    )


def _groups(rows: Iterable[Row]) -> dict[str, set[str]]:
    """The groups of each cluster whose nodes have accelerators."""
    found: dict[str, set[str]] = defaultdict(set)
    ids = [row.cluster for row in rows if row.cluster]
    for cluster, group in (
        Node.objects.filter(cluster__in=ids, accelerators__gt=0).values_list("cluster", "group").distinct()
    ):
        found[str(cluster)].add(group)
    return found


def _blockers(found: Board) -> list[dict[str, Any]]:
    """Cases that hold the launch up: those of that day, and on the day itself every grave one that is open."""
    wanted = Q(opened_at__gte=found.begins, opened_at__lt=found.ends)
    if found.live:
        wanted |= Q(state__in=OPEN, severity__in=BLOCKING)
    tenants = {row.tenant for row in found.rows}
    rows = Case.objects.filter(wanted, tenant__slug__in=tenants).select_related("tenant", "owner", "cluster")
    return [
        {
            "id": case.pk,
            "number": case.number,
            "title": case.title,
            "severity": case.severity,
            "state": case.state,
            "tenant": case.tenant.slug,
            "tenant_name": case.tenant.name,
            "cluster": case.cluster.name if case.cluster else "",
            "owner": str(case.owner or ""),
            "next_step": case.next_step,
        }
        for case in sorted(rows[:200], key=lambda case: (case.state not in OPEN, -_rank(case.severity), case.opened_at))
    ]


def _rank(severity: str) -> int:
    return {"critical": 4, "urgent": 3, "high": 2, "normal": 1}.get(severity, 0)
