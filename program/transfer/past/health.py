"""Imports what the provider and the clusters reported: entries, one for each participant that an event touches."""

from __future__ import annotations

from typing import Any

from clusters.models import Cluster
from clusters.states import HEALTH_REPORTED, HEALTH_SCHEDULED
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported, known
from tenants.history import timeline
from tenants.wall.acting import acting_for


def load(past: Past) -> int:
    count = 0
    for row in past.told.get("health_events", []):
        touched = row.get("affects") or [row["participant"]]
        with one_action():
            new = [_record(past, row, slug) for slug in touched]
        count += any(new)
    return count


def _record(past: Past, row: Row, slug: str) -> bool:
    with acting_for(past.who.tenants[slug], staff=True):
        kind = HEALTH_SCHEDULED if row["status"] == "upcoming" else HEALTH_REPORTED
        if row["id"] in known(kind):
            return False
        cluster = Cluster.objects.filter(name=row["cluster"]).first() if row.get("cluster") else None
        at = past.shift.moment(row.get("notified_at") or row["started_at"])
        about = cluster or past.who.participations[slug]
        timeline.record(kind, about=about, by=f"provider:{row['source']}", at=at, **_facts(past, row))
    return True


def _facts(past: Past, row: Row) -> dict[str, Any]:
    facts = {name: row[name] for name in ("reason", "detail", "region", "action", "status") if row.get(name)}
    facts |= {
        "node": row.get("node") or row.get("region", ""),
        "starts": past.shift.moment(row["started_at"]).isoformat(),
    }
    if row.get("ended_at"):
        facts["ended"] = past.shift.moment(row["ended_at"]).isoformat()
    return imported(imported=row["id"], **facts)
