"""Versions that were measured, written into the record beside what is declared: by a job's output, its reporter, the agent."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from clusters.models import Cluster, Job
from tenants.actions import add_record, edit_record
from tenants.models import Participation, SoftwareVersion
from tenants.software import component_key

ENGINE = "engine"
SEEN_AGAIN = timedelta(days=1)  # a version that stays the same is dated anew so often, without an entry


def keep_of_job(job: Job, versions: Mapping[str, str]) -> None:
    """What a job told, for the participation whose cluster it runs on."""
    if versions:
        keep(Cluster.objects.values_list("participation_id", flat=True).get(pk=job.cluster_id), versions)


def keep(participation: UUID, versions: Mapping[str, str]) -> None:
    """Write down what is new of it; within the scope of the tenant."""
    rows = SoftwareVersion.objects.filter(participation=participation, source="measured")
    known = {component_key(row.component): row for row in rows}
    for component, version in versions.items():
        name, told = component[:60], version[:120]
        row = known.get(component_key(name))
        if row is None:
            place = Participation.objects.get(pk=participation)
            made = SoftwareVersion(
                tenant_id=place.tenant_id, participation=place, component=name, software_version=told, source="measured"
            )
            add_record(block=made, by=ENGINE, source=ENGINE)
        elif row.software_version != told:
            edit_record(block=row, changes={"software_version": told}, version=row.version, by=ENGINE)
        elif timezone.now() - row.updated_at > SEEN_AGAIN:
            row.save(update_fields=["updated_at"])
