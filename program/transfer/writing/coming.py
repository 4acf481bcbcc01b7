"""When each cluster came into service: as it was told of a day when nobody watched, or as it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from clusters.models import Cluster
from program import states
from program.transfer.writing.names import Writing, once
from tenants.history.models import Entry


@dataclass(frozen=True)
class Coming:
    """One cluster comes into service; `count` is how many accelerated instances then did."""

    at: datetime
    region: str
    instance_type: str
    count: int
    planned: int


@once
def in_service(writing: Writing) -> dict[tuple[UUID, str], Coming]:
    """(participant, name of the cluster) -> when it first came."""
    found: dict[tuple[UUID, str], Coming] = {}
    rows = Cluster.objects.filter(tenant__in=list(writing.slugs)).exclude(ready_at=None).order_by("-ready_at", "pk")
    for row in rows:
        count = row.accelerated_wanted
        found[row.tenant_id, row.name] = Coming(row.ready_at, row.region, row.main_type, count, count)
    entries = Entry.objects.filter(kind=states.IN_SERVICE, tenant__in=list(writing.slugs)).order_by(
        "-occurred_at", "-pk"
    )
    for entry in entries:
        told = entry.facts
        found[entry.tenant_id, told["cluster_name"]] = Coming(
            entry.occurred_at, told["region"], told["instance_type"], told["count"], told.get("planned", told["count"])
        )
    return found
