"""Writes about the compute fleet of a ParallelCluster: stop it, start it."""

from django.db.models import F, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import states
from clusters.actions import changes, locks
from clusters.engine import turns
from clusters.models import Cluster, Job
from tenants.history import timeline
from tenants.web.problems import Refused


def stop_fleet(*, cluster: Cluster, by: str, why: str, version: int | None = None) -> None:
    """Wish that the instances of all queues end; the head node, the storage and the configuration stay."""
    cluster = _with_fleet(cluster, version)
    if cluster.fleet_wanted == "stopped":
        raise Refused("fleet_stopped", _("The compute fleet is stopped already, or about to be."))
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
    cluster = _with_fleet(cluster, version)
    if cluster.fleet_wanted == "running" and cluster.fleet in {
        "",
        *states.FLEET["running"][0],
        *states.FLEET["running"][1],
    }:
        raise Refused("fleet_running", _("The compute fleet runs already, or is about to."))
    _wish_fleet(cluster, "running")
    timeline.record(states.FLEET_START, about=cluster, by=by, name=cluster.name, why=why)


def _with_fleet(cluster: Cluster, version: int | None) -> Cluster:
    cluster = changes.newest(cluster, version)
    if cluster.orchestrator != "parallelcluster":
        raise Refused(
            "no_fleet",
            _("Only a ParallelCluster has a compute fleet to start and stop; this one runs %(what)s.")
            % {"what": cluster.orchestrator},
        )
    if not cluster.wanted or cluster.state not in ("ready", "degraded", "updating"):
        raise Refused(
            "not_ready",
            _("The cluster %(name)s is %(state)s; its compute fleet can be started and stopped when it is ready.")
            % {"name": cluster.name, "state": "deleting" if not cluster.wanted else cluster.state},
        )
    locks.refuse_while_held(cluster)
    return cluster


def _wish_fleet(cluster: Cluster, wanted: str) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(
        fleet_wanted=wanted, generation=F("generation") + 1, needs_person="", version=F("version") + 1
    )
    turns.wish(cluster)
