"""The tracking record of participations as a whole: what is trained, on which software, storage, quotas and configurations."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from clusters.models import Bucket, Cluster, FileSystem, Job, QuotaGrant, Revision
from clusters.parallelism import Place
from clusters.states import JOB_LIVE
from tenants.record_blocks import BLOCKS as WRITTEN

Rows = dict[UUID, list[dict[str, Any]]]

# block of the API -> the word that stands for it on the pages, and what its lines are ordered by
WORDS = {
    "models": ("model", "code"),
    "framework": ("framework", "name"),
    "software": ("software", "component"),
    "ingests": ("ingest", "name"),
    "milestones": ("milestone", "due_on"),
    "evaluations": ("evaluation", "-measured_on"),
    "results": ("result", "title"),
    "monitoring": ("monitoring", "name"),
}
# block -> its rows and what they are ordered by; each is one query, however many participations are asked for
BLOCKS: dict[str, tuple[type, str]] = {
    **{block: (WRITTEN[word].model, order) for block, (word, order) in WORDS.items()},
    "quotas": (QuotaGrant, "instance_type"),
}


def lines(block: str, participations: Iterable[UUID], columns: Iterable[str]) -> Rows:
    """The lines of one block, by participation."""
    model, order = BLOCKS[block]
    rows = model.objects.filter(participation__in=participations).order_by(order, "pk")  # type: ignore[attr-defined]
    return _gathered(rows.values("participation_id", *columns), "participation_id")


def storage(participations: Iterable[UUID]) -> Rows:
    """File systems and buckets of the clusters that are not deleted."""
    wanted = list(participations)
    found = _gathered(
        _living(FileSystem.objects.all(), wanted)
        .order_by("cluster__name", "mount")
        .values(*SHARED, "kind", "deployment", "capacity_gib", "mbs_per_tib", "mount", "external_id", "engine_status"),
        "cluster__participation_id",
    )
    buckets = (
        _living(Bucket.objects.all(), wanted).order_by("cluster__name", "name").values(*SHARED, "name", "used_tib")
    )
    for participation, rows in _gathered(buckets, "cluster__participation_id").items():
        found[participation] += [row | {"kind": "bucket"} for row in rows]
    return found


def configurations(participations: Iterable[UUID]) -> Rows:
    """The newest configuration of each cluster that is not deleted."""
    rows = (
        _living(Revision.objects.all(), list(participations)).order_by("cluster_id", "-number").distinct("cluster_id")
    )
    more = (
        "number",
        "author",
        "reason",
        "body",
        "cluster__state",
        "cluster__architecture",
        "cluster__architecture_version",
    )
    return _gathered(rows.values(*SHARED, *more), "cluster__participation_id")


def places(participations: Iterable[UUID]) -> dict[UUID, list[Place]]:
    """Where each participation trains: the jobs that live, then the accelerated nodes of its clusters; two queries."""
    wanted = list(participations)
    found: dict[UUID, list[Place]] = defaultdict(list)
    jobs = Job.objects.filter(
        purpose=Job.Purpose.TRAINING, state__in=JOB_LIVE, cluster__participation__in=wanted
    ).order_by("name")
    for participation, *told in jobs.values_list("cluster__participation_id", "name", "cluster__main_type", "nodes"):
        found[participation].append(Place(*told))
    clusters = Cluster.objects.filter(participation__in=wanted).exclude(state="deleted").order_by("name")
    for participation, *told in clusters.values_list("participation_id", "name", "main_type", "accelerated_wanted"):
        found[participation].append(Place(*told))
    return found


SHARED = ("id", "tenant__slug", "created_at", "cluster_id", "cluster__name", "cluster__participation_id")


def _living(rows: QuerySet, participations: list[UUID]) -> QuerySet:
    return rows.filter(cluster__participation__in=participations).exclude(cluster__state="deleted")


def _gathered(rows: Iterable[dict[str, Any]], key: str) -> Rows:
    found: Rows = defaultdict(list)
    for row in rows:
        found[row[key]].append(row)
    return found
