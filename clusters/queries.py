"""Reads of the clusters layer, within the scope."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Case, CharField, Count, F, IntegerField, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.http import Http404
from django.utils import timezone

from clusters import architectures, capacity_queries
from clusters.models import (
    AgentOrder,
    CloudAccount,
    Cluster,
    ExternalObject,
    FileSystem,
    HeadNodeAgent,
    Job,
    Leftover,
    Node,
    NodeInstance,
    Operation,
    Orphan,
    Preflight,
    Proof,
    Quarantine,
    QuotaGrant,
    QuotaRequest,
    Reservation,
    Revision,
    SearchedNode,
    ServiceQuota,
)
from clusters.states import JOB_LIVE
from tenants.models import Attachment

NEWEST_LOGS = 50
AGENT_SHOWN = (
    "agent_version", "slurm_version", "host", "trouble", "connected_at", "last_seen_at", "delivered_at", "revoked_at",
)  # fmt: skip
CLUSTER_ROW = (
    "id",
    "tenant__slug",
    "tenant__name",
    "name",
    "state",
    "wanted",
    "architecture",
    "architecture_version",
    "orchestrator",
    "region",
    "az_id",
    "main_type",
    "nodes_wanted",
    "nodes_running",
    "accelerated_wanted",
    "accelerators_wanted",
    "generation",
    "applied",
    "observed_status",
    "fleet_wanted",
    "fleet",
    "observed_at",
    "unknown_since",
    "unknown_reason",
    "needs_person",
    "created_at",
    "ready_at",
    "version",
    "account__account_id",
    "update_available",
)
JOB_ROW = (
    "id",
    "tenant__slug",
    "tenant__name",
    "cluster_id",
    "cluster__name",
    "name",
    "purpose",
    "state",
    "engine_state",
    "reason",
    "exit_code",
    "nodes",
    "accelerators",
    "partition",
    "external_id",
    "restarts",
    "launched_by",
    "created_at",
    "submitted_at",
    "started_at",
    "ended_at",
    "unknown_since",
    "cancel_wished_at",
    "version",
)


def agent(cluster: Cluster) -> dict[str, Any] | None:
    """What its page shows of a head node's agent, in one query, without the lists that it sent."""
    # Counted beside it: a cluster without an order is no row of the orders.
    open_orders = AgentOrder.objects.filter(cluster=cluster, answered_at=None).order_by().values("cluster")
    waiting = Subquery(open_orders.annotate(n=Count("*")).values("n"), output_field=IntegerField())
    rows = HeadNodeAgent.objects.filter(cluster=cluster).annotate(waiting=Coalesce(waiting, 0))
    row = rows.values(*AGENT_SHOWN, "waiting").first()
    if row is None:
        return None
    limit = timezone.now() - timedelta(seconds=settings.AGENT_LOST_SECONDS)
    return row | {"silent": row["last_seen_at"] is not None and row["last_seen_at"] < limit}


def clusters(*, with_deleted: bool = False) -> QuerySet[Cluster, dict[str, Any]]:
    """Rows for lists, bodies left out."""
    rows = Cluster.objects.annotate(update_available=newer_version())
    return (rows if with_deleted else rows.exclude(state="deleted")).values(*CLUSTER_ROW)


def newer_version() -> Case:
    """The newest version of a cluster's reference architecture when it was made from an older one; else empty."""
    behind = [
        When(Q(architecture=slug) & ~Q(architecture_version=version), then=Value(version))
        for slug, version in architectures.newest().items()
    ]
    return Case(*behind, default=Value(""), output_field=CharField())


def clusters_by_architecture() -> dict[tuple[str, str], int]:
    """How many clusters were made from each version of each reference architecture."""
    rows = Cluster.objects.exclude(state="deleted").values("architecture", "architecture_version")
    return {(row["architecture"], row["architecture_version"]): row["n"] for row in rows.annotate(n=Count("id"))}


def cluster(pk: UUID | str) -> Cluster:
    """Raises Http404 outside the scope."""
    found = Cluster.objects.select_related("account", "participation", "tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def parts(row: Cluster) -> list[ExternalObject]:
    return list(ExternalObject.objects.filter(cluster=row).order_by("position"))


def orphans(row: CloudAccount) -> QuerySet[Orphan]:
    """What is in quarantine there now, newest first."""
    return Orphan.objects.filter(account=row, gone_at=None).order_by("-found_at", "name")


def leftovers(row: Cluster) -> QuerySet[Leftover]:
    """What of a deleted cluster is still in its account; what is stuck first."""
    first = Case(When(why="stuck", then=Value(0)), default=Value(1))
    return Leftover.objects.filter(cluster=row, gone_at=None).order_by(first, "why", "kind", "external_id")


def stuck(row: Cluster) -> list[dict[str, str]]:
    """What rollbacks of its stacks stopped at."""
    parts = ExternalObject.objects.filter(cluster=row).order_by("position").values_list("stuck", flat=True)
    return [each for told in parts for each in told]


def revisions(row: Cluster) -> QuerySet[Revision]:
    return Revision.objects.filter(cluster=row).order_by("-number")


def proofs(row: Cluster) -> list[Proof]:
    return list(Proof.objects.filter(cluster=row, generation=row.generation).order_by("taken_at"))


def nodes(row: Cluster | None = None) -> QuerySet[Node]:
    found = Node.objects.all() if row is None else Node.objects.filter(cluster=row)
    return found.order_by("group", "seat")


def file_systems(row: Cluster) -> list[FileSystem]:
    return list(FileSystem.objects.filter(cluster=row).order_by("mount"))


def jobs(*, proofs_too: bool = False) -> QuerySet[Job, dict[str, Any]]:
    """Rows for lists, without scripts and logs."""
    rows = Job.objects.all()
    return (rows if proofs_too else rows.filter(purpose=Job.Purpose.TRAINING)).values(*JOB_ROW)


def job(pk: UUID | str) -> Job:
    """Raises Http404 outside the scope."""
    related = ("cluster__participation__cycle", "tenant", "script_version")
    found = Job.objects.select_related(*related).filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def accounts() -> QuerySet[CloudAccount]:
    return CloudAccount.objects.order_by("account_id")


def grants() -> QuerySet[QuotaGrant]:
    return QuotaGrant.objects.order_by("region", "instance_type")


def service_quotas() -> QuerySet[ServiceQuota]:
    return ServiceQuota.objects.select_related("account").order_by("region", "service", "name")


def quota_requests() -> QuerySet[QuotaRequest]:
    """What the provider was asked for, newest first."""
    return QuotaRequest.objects.select_related("account").order_by("-created_at", "-id")


def jobs_to_wait_for(row: Cluster) -> QuerySet[Job]:
    """What a new job on this cluster may be told to wait for, newest first."""
    live = Job.objects.filter(cluster=row, state__in=JOB_LIVE, purpose=Job.Purpose.TRAINING)
    return live.only("id", "name", "tenant_id").order_by("-created_at", "-id")


def reservations() -> QuerySet[Reservation]:
    return Reservation.objects.order_by("ends_at")


def granted_and_used() -> list[dict[str, Any]]:
    """Per grant: approved instances beside what clusters of that type and Region take, and what is granted from a later day."""
    grants = list(QuotaGrant.objects.select_related("tenant").order_by("tenant__slug", "region", "instance_type"))
    places = {grant.participation_id for grant in grants}
    used, coming = capacity_queries.used_of(places), capacity_queries.coming_of(places)
    keys = [(grant.participation_id, grant.region, grant.instance_type) for grant in grants]
    return [
        {"grant": grant, "used": used.get(key, 0), "coming": coming.get(key, [])}
        for grant, key in zip(grants, keys, strict=True)
    ]


def operations(row: Cluster) -> QuerySet[Operation]:
    """What was done to a cluster and is being done, newest first."""
    return Operation.objects.filter(cluster=row).order_by("-created_at", "-id")


def preflights(row: Cluster) -> QuerySet[Preflight]:
    """Full checks of a cluster, the newest first."""
    return Preflight.objects.filter(cluster=row).select_related("operation", "tenant").order_by("-generation")


def node_counts(row: Cluster) -> dict[str, int]:
    return {
        state["state"]: state["n"] for state in Node.objects.filter(cluster=row).values("state").annotate(n=Count("id"))
    }


def troubled() -> QuerySet[Cluster, dict[str, Any]]:
    """Clusters that somebody should look at."""
    return clusters().filter(Q(state__in=["failed", "degraded"]) | Q(unknown_since__isnull=False) | ~Q(needs_person=""))


def logs(cluster: Cluster) -> list[Attachment]:
    """What programs said while they changed the cluster's parts, the newest first."""
    parts = ExternalObject.objects.filter(cluster=cluster).values("pk")
    rows = Attachment.objects.filter(subject=ExternalObject.SUBJECT, subject_id__in=parts)
    return list(rows.order_by("-created_at", "-id")[:NEWEST_LOGS])


def quarantined(row: Cluster) -> list[Quarantine]:
    """The nodes of a cluster that jobs are kept away from, the newest first; `checked` is the newest check of that very
    instance, None where there was none since."""
    rows = list(
        Quarantine.objects.filter(cluster=row, lifted_at=None).select_related("node").order_by("-began_at", "-id")
    )
    checks = SearchedNode.objects.filter(node__in=[one.node_id for one in rows]).exclude(verdict="waiting")
    ended = checks.select_related("search").order_by("-search__began_at", "-id") if rows else []
    newest: dict[tuple[Any, str], SearchedNode] = {}
    for check in ended:
        newest.setdefault((check.node_id, check.instance_id), check)
    for one in rows:
        one.checked = newest.get((one.node_id, one.instance_id))
    return rows


def never_came(row: Cluster) -> int:
    """Instances of it that came and went within half an hour during the last day: they started, and never joined."""
    day, short = timezone.now() - timedelta(days=1), F("sat_from") + timedelta(minutes=30)
    return NodeInstance.objects.filter(node__cluster=row, sat_until__gte=day, sat_until__lte=short).count()
