"""Cases beside what they are about, for pages of the layers below, which know nothing of cases."""

from django import template

from clusters.models import Cluster, Job
from support import states
from support.models import Case

register = template.Library()
MOST = 20


@register.simple_tag
def cases_of_job(job: Job) -> list[Case]:
    """Every case about a job, newest first."""
    return list(Case.objects.filter(job_id=job.pk).order_by("-opened_at")[:MOST])


@register.simple_tag
def open_cases_of_cluster(cluster: Cluster) -> list[Case]:
    """The open cases about a cluster, newest first."""
    return list(Case.objects.filter(cluster_id=cluster.pk, state__in=states.OPEN).order_by("-opened_at")[:MOST])
