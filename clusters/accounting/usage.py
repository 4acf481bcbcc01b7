"""What was used in a month, per cluster, participant and programme: sums of the days that were counted, and what is missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils.translation import gettext_lazy as _

from clusters.accounting import accelerator_hours
from clusters.accounting.time_classes import ORDER, Kind
from clusters.models import AccountingRead, Cluster, JobRun, UsageDay, UsageDispute

# In the order in which pages show them: what it was for, then what stood in the way.
CLASSES: tuple[Kind, ...] = (
    "training", "stalled", "recovering", "waiting_us", "waiting_provider", "waiting_participant", "idle", "lent",
)  # fmt: skip
WORDS: dict[str, Any] = {
    "training": _("training"),
    "stalled": _("stalled"),
    "recovering": _("recovering"),
    "waiting_us": _("waiting for the programme"),
    "waiting_provider": _("waiting for the provider"),
    "waiting_participant": _("waiting for the participant"),
    "idle": _("idle"),
    "lent": _("lent"),
}
MEANS: dict[str, Any] = {
    "training": _("A job ran on it, from its start to its end."),
    "stalled": _("A job held it and went no further."),
    "recovering": _("Between two attempts of a job, on the nodes of the first."),
    "waiting_us": _("An approval, a repair of ours, or a check was due."),
    "waiting_provider": _("An instance was on its way, being checked, or not well."),
    "waiting_participant": _("The account shut us out, or somebody there stopped the fleet."),
    "idle": _("It was well and nothing ran on it."),
    "lent": _("Somebody else used it by agreement."),
}
assert set(CLASSES) == set(ORDER)


@dataclass(frozen=True)
class Sums:
    """Accelerator-seconds. `used` None: nobody measured any of it, which is not nought."""

    reserved: int = 0
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    used: int | None = None
    runs: int = 0
    unmeasured: int = 0  # runs that are not in `used`
    unmeasured_days: int = 0
    clusters: int = 0
    unmeasured_clusters: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        known = [one for one in (self.used, other.used) if one is not None]
        return Sums(
            self.reserved + other.reserved,
            {name: self.classes[name] + other.classes[name] for name in CLASSES},
            sum(known) if known else None,
            self.runs + other.runs,
            self.unmeasured + other.unmeasured,
            self.unmeasured_days + other.unmeasured_days,
            self.clusters + other.clusters,
            self.unmeasured_clusters + other.unmeasured_clusters,
        )

    @property
    def used_hours(self) -> Decimal | None:
        return accelerator_hours.hours(self.used)

    @property
    def reserved_hours(self) -> Decimal | None:
        return accelerator_hours.hours(self.reserved)

    @property
    def complete(self) -> bool:
        return not (self.unmeasured or self.unmeasured_days or self.unmeasured_clusters)

    def shares(self) -> list[dict[str, Any]]:
        """Each class with its words, hours and per cent of what is reserved; those of nought are left out of a bar only."""
        at, found = 0, []
        for name in CLASSES:
            seconds = self.classes[name]
            found.append(
                {
                    "name": name,
                    "words": WORDS[name],
                    "means": MEANS[name],
                    "hours": accelerator_hours.hours(seconds),
                    "percent": round(100 * seconds / self.reserved, 1) if self.reserved else 0,
                    "x": f"{1000 * at / self.reserved:.2f}" if self.reserved else "0",
                    "width": f"{1000 * seconds / self.reserved:.2f}" if self.reserved else "0",
                    "seconds": seconds,
                }
            )
            at += seconds
        return found


@dataclass(frozen=True)
class Month(Sums):
    """A month of one cluster."""

    cluster: UUID | None = None
    name: str = ""
    tenant: str = ""
    tenant_name: str = ""
    month: date = date(2000, 1, 1)
    counted_at: datetime | None = None
    sources: tuple[str, ...] = ()
    disputed: Any = None  # the dispute that is open, or the last that was settled


SUMMED = {name: Sum(name) for name in (*CLASSES, "reserved", "runs", "unmeasured")}


def months(first: date, days: QuerySet[UsageDay] | None = None, *, tenant: str = "") -> list[Month]:
    """A row for each cluster that was counted in the month, or should have been, by participant and name."""
    begin, end = accelerator_hours.month_of(first)
    rows = (UsageDay.objects.all() if days is None else days).filter(day__range=(begin, end))
    clusters = Cluster.objects.filter(created_at__lt=_after(end)).exclude(state="deleted")
    if tenant:
        rows, clusters = rows.filter(tenant__slug=tenant), clusters.filter(tenant__slug=tenant)
    summed = (
        rows.values("cluster_id", "cluster__name", "tenant__slug", "tenant__name")
        .annotate(
            **SUMMED,
            measured=Sum("used", filter=~Q(source=UsageDay.Source.NOBODY)),
            unmeasured_days=Count("pk", filter=Q(source=UsageDay.Source.NOBODY)),
            by_accounting=Count("pk", filter=Q(source=UsageDay.Source.ACCOUNTING)),
            by_us=Count("pk", filter=Q(source=UsageDay.Source.WATCHED)),
            counted_at=Max("computed_at"),
        )
        .order_by("tenant__name", "cluster__name", "cluster_id")
    )
    disputes = _disputes(begin)
    found = [_month(row, begin, disputes) for row in summed]
    if days is None:
        known = {row.cluster for row in found}
        columns = ("pk", "name", "tenant__slug", "tenant__name")
        for pk, name, slug, organisation in clusters.order_by("tenant__name", "name").values_list(*columns):
            if pk not in known:
                found.append(
                    Month(
                        cluster=pk, name=name, tenant=slug, tenant_name=organisation, month=begin, clusters=1,
                        unmeasured_clusters=1, disputed=disputes.get(pk),
                    )
                )  # fmt: skip
    return sorted(found, key=lambda one: (one.tenant_name, one.name, str(one.cluster)))


def _month(row: dict[str, Any], begin: date, disputes: dict[Any, Any]) -> Month:
    sources = (("accounting", row["by_accounting"]), ("watched", row["by_us"]))
    measured = row["measured"]
    return Month(
        reserved=row["reserved"],
        classes={name: row[name] for name in CLASSES},
        used=measured,
        runs=row["runs"],
        unmeasured=row["unmeasured"],
        unmeasured_days=row["unmeasured_days"],
        clusters=1,
        unmeasured_clusters=int(measured is None),
        cluster=row["cluster_id"],
        name=row["cluster__name"],
        tenant=row["tenant__slug"],
        tenant_name=row["tenant__name"],
        month=begin,
        counted_at=row["counted_at"],
        sources=tuple(name for name, count in sources if count),
        disputed=disputes.get(row["cluster_id"]),
    )


def _after(day: date) -> datetime:
    """When the day is over, whatever the zone."""
    return datetime.fromtimestamp(accelerator_hours.midnight(date.fromordinal(day.toordinal() + 2), "UTC"), UTC)


def _disputes(month: date) -> dict[Any, UsageDispute]:
    """The newest of each cluster; one that is open goes before."""
    rows = UsageDispute.objects.filter(month=month).order_by("disputed_at")
    return {row.cluster_id: row for row in sorted(rows, key=lambda row: row.state == "open")}


def month_of_cluster(row: Cluster, month: date) -> Month | None:
    """One cluster's month; None when no day of it was counted."""
    found = months(month, UsageDay.objects.filter(cluster=row))
    return found[0] if found else None


def total(rows: Iterable[Sums]) -> Sums:
    """The sum of rows, and nothing else."""
    found = Sums()
    for row in rows:
        found = found + row
    return found


def by_participant(rows: Sequence[Month]) -> list[tuple[Month, list[Month], Sums]]:
    """Rows that are in the order of participants, with the sum of each; the first row says whose they are."""
    groups: dict[str, list[Month]] = {}
    for row in rows:
        groups.setdefault(row.tenant, []).append(row)
    return [(mine[0], mine, total(mine)) for mine in groups.values()]


def days_of(row: Cluster, month: date) -> list[UsageDay]:
    begin, end = accelerator_hours.month_of(month)
    return list(UsageDay.objects.filter(cluster=row, day__range=(begin, end)).order_by("day"))


def runs_of(row: Cluster, month: date, zone: str) -> QuerySet[JobRun]:
    """The runs of a cluster that had part in a month."""
    begin, end = accelerator_hours.month_of(month)
    first, after = (accelerator_hours.midnight(day, zone) for day in (begin, date.fromordinal(end.toordinal() + 1)))
    since, until = (datetime.fromtimestamp(at, UTC) for at in (first, after))
    return JobRun.objects.filter(cluster=row, started_at__lt=until, counted_until__gt=since).select_related("job")


def seconds_of(run: JobRun, month: date, zone: str) -> int | None:
    """Accelerator-seconds of a run within a month; None when nobody measured its accelerators."""
    if run.accelerators is None or run.started_at is None or run.counted_until is None:
        return None
    begin, end = accelerator_hours.month_of(month)
    first, after = (accelerator_hours.midnight(day, zone) for day in (begin, date.fromordinal(end.toordinal() + 1)))
    whole = accelerator_hours.Run(int(run.started_at.timestamp()), int(run.counted_until.timestamp()), run.accelerators)
    return accelerator_hours.used([whole], first, after).seconds


def accounting_of(row: Cluster) -> AccountingRead | None:
    return AccountingRead.objects.filter(cluster=row).first()
