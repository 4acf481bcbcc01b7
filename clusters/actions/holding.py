"""Writes about what clusters hold of capacity: rows that are added under one lock, and the refusal of what was not granted."""

from collections.abc import Iterable
from typing import Any

from django.db import connection

from clusters import capacity_queries, checking
from clusters.architectures.configuration import Configuration
from clusters.holding import counted, difference, to_hold
from clusters.models import Cluster, LedgerRow, Operation

# Whoever waits behind many others waits longer than for a row: each of them only reads and adds a few rows.
PATIENCE = "10s"


def lock(participation: Any, region: str, types: Iterable[str]) -> None:
    """Until the transaction ends nobody else counts this participation's instances of these types in the Region."""
    with connection.cursor() as cursor:
        cursor.execute("select current_setting('lock_timeout'), set_config('lock_timeout', %s, true)", [PATIENCE])
        usual = cursor.fetchone()[0]
        for kind in sorted(types):
            name = f"capacity:{participation}:{region}:{kind}"
            cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        cursor.execute("select set_config('lock_timeout', %s, true)", [usual])


AS_BEFORE = "as it was before rows were kept"  # rows that a migration wrote without knowing how instances were bought


def refuse_unless_granted(participation: Any, wish: Configuration, cluster: Cluster | None = None) -> list[str]:
    """Raises Refused with what was granted, who can change it, what is free and what becomes free. Holds the lock from then
    on. Answers the types that are let through although nobody has said how many."""
    asked = counted(wish.document(), capacity_queries.accelerated_types())
    lock(participation, wish.region, {kind for kind, _option in asked})
    found = list(capacity_queries.findings(participation, wish, cluster))
    checking.refuse_unless_it_fits(checking.Checked(wish, found))
    return [str(each.values["type"]) for each in found if each.code == "grant_not_set"]


def settle_what_was_migrated(cluster: Cluster) -> None:
    """Put right how instances are bought where a migration could not know it. The cluster is locked by the caller."""
    rows = LedgerRow.objects.filter(cluster=cluster, ledger=LedgerRow.Ledger.USE)
    if rows.filter(why=AS_BEFORE).exists():
        settle(cluster, by="engine", why="how they are bought, put right")


def settle(cluster: Cluster, *, by: str, operation: Operation | None = None, why: str = "") -> None:
    """Add the rows that bring what the cluster holds to what it should hold now; none when that is so already.

    The cluster is locked by the caller, so a retry or a second release finds nothing left to write.
    """
    standing = capacity_queries.standing(cluster)
    wanted = to_hold(standing, capacity_queries.accelerated_types())
    held = capacity_queries.held_by(cluster)
    missing = difference(wanted, held)
    if not missing:
        return
    lock(cluster.participation_id, cluster.region, {kind for kind, _option in missing})
    LedgerRow.objects.bulk_create(
        LedgerRow(
            tenant_id=cluster.tenant_id, ledger=LedgerRow.Ledger.USE, participation_id=cluster.participation_id,
            region=cluster.region, instance_type=kind, option=option, delta=delta, cluster=cluster, operation=operation,
            by=by, why=(why or cluster.name)[:300],
        )
        for (kind, option), delta in missing.items()
    )  # fmt: skip
