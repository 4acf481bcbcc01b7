"""Writes about the compute fleet of a ParallelCluster: stop it, start it."""

from django.db.models import F, Sum
from django.utils.translation import ngettext

from clusters import foresight, states
from clusters.actions import changes
from clusters.budgets import actions as budgets
from clusters.engine import turns
from clusters.models import Cluster, Job
from tenants.history import timeline
from tenants.web.problems import Refused


def stop_fleet(*, cluster: Cluster, by: str, why: str, version: int | None = None) -> None:
    """Wish that the instances of all queues end; the head node, the storage and the configuration stay."""
    cluster = changes.newest(cluster, version)
    changes.refuse_unless_possible(cluster, "stop_fleet")
    live = Job.objects.filter(cluster=cluster, state__in=states.JOB_LIVE)
    jobs, nodes = live.count(), live.aggregate(nodes=Sum("nodes"))["nodes"] or 0
    if jobs:
        sentence = ngettext(
            "%(n)s job that asks for %(nodes)s nodes has not ended. Cancel it first, or wait.",
            "%(n)s jobs that ask for %(nodes)s nodes in all have not ended. Cancel them first, or wait.",
            jobs,
        )
        raise Refused("jobs_running", sentence % {"n": jobs, "nodes": nodes}, jobs=jobs, nodes=nodes)
    _wish_fleet(cluster, "stopped")
    timeline.record(states.FLEET_STOP, about=cluster, by=by, name=cluster.name, why=why)


def start_fleet(*, cluster: Cluster, by: str, why: str = "", version: int | None = None) -> None:
    """Wish that the instances of all queues come; afterwards the cluster is proven again."""
    cluster = changes.newest(cluster, version)
    changes.refuse_unless_possible(cluster, "start_fleet")
    budgets.refuse_at_limit(cluster.participation, foresight.current(cluster), cluster)
    _wish_fleet(cluster, "running")
    timeline.record(states.FLEET_START, about=cluster, by=by, name=cluster.name, why=why)


def _wish_fleet(cluster: Cluster, wanted: str) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(
        fleet_wanted=wanted, generation=F("generation") + 1, needs_person="", version=F("version") + 1
    )
    turns.wish(cluster)
