"""Whose turn a cluster waits for: the ordinary queue, or the one for clusters whose changes run a program; and how it is kept."""

import time
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import OperationalError, close_old_connections

from clusters.models import Cluster, NodeSearch
from clusters.providers import SLOW, Keep
from tenants.work import due

log = structlog.get_logger(__name__)

QUICK_TURN, SLOW_TURN = "cluster", "cluster-slow"
COUNT, COUNTED_AFTER = "usage", timedelta(seconds=20)  # the accounting is some seconds behind the scheduler
JUDGE, SEARCH = "quarantine", "search"
RENEW_EVERY = 20.0
# A program must be gone before somebody else may take the turn.
MARGIN = 15.0


def kind_of(cluster: Cluster) -> str:
    """One kind for a cluster's whole life, so that never two hold it at once."""
    return SLOW_TURN if cluster.orchestrator in SLOW else QUICK_TURN


def wish(cluster: Cluster, *, after: timedelta = timedelta(0)) -> None:
    """Ask the engine to look at this cluster, in the transaction of the change."""
    due.wish(kind_of(cluster), cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane, after=after)


def wish_for_count(cluster: Cluster) -> None:
    """Have its usage counted soon, without waiting for the hour."""
    due.wish(COUNT, cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane, after=COUNTED_AFTER)


def wish_for_judgement(cluster: Cluster) -> None:
    """Something was seen of a node that may be one fault too many."""
    due.wish(JUDGE, cluster.pk, tenant=cluster.tenant_id)


def wish_for_jobs(cluster: Cluster) -> None:
    """Have its scheduler asked about its jobs, and told what is new."""
    due.wish("jobs", cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane)


def wish_for_search(search: NodeSearch) -> None:
    """Go on with a search for a bad node."""
    due.wish(SEARCH, search.pk, tenant=search.tenant_id)


def keeper(held: due.Held) -> Keep:
    """Renews the lease while a program runs; no is the answer when the turn is over, or soon will be."""
    lease = float(settings.LEASE_SECONDS)
    every, margin = min(RENEW_EVERY, lease / 4), min(MARGIN, lease / 3)
    tried = renewed = time.monotonic()

    def keep() -> bool:
        nonlocal tried, renewed
        now = time.monotonic()
        if now - tried < every:
            return now - renewed < lease - margin
        tried = now
        try:
            if not due.renew(held):
                return False
        except OperationalError:
            log.warning("lease_not_renewed", kind=held.kind, ref=held.ref)
            close_old_connections()
            return now - renewed < lease - margin
        renewed = now
        return True

    return keep
