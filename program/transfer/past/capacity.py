"""Imports the launch day as it was, what was asked of the provider, and how busy the reserved hours were."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from clusters.models import QuotaRequest, Reservation
from clusters.states import QUOTA_ASKED
from program import states
from program.launching import record_in_service
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported, known
from tenants import entries
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.history.timeline import IMPORT
from tenants.wall.acting import acting_for

WEEK = timedelta(days=7)


def load_launch_day(past: Past) -> int:
    count = 0
    for row in past.told.get("launch_day", {}).get("events", []):
        tenant = past.who.tenants[row["participant"]]
        with acting_for(tenant, staff=True), one_action():
            there = Entry.objects.filter(kind=states.IN_SERVICE, source=IMPORT, facts__cluster_name=row["cluster"])
            if not there.exists():
                count += 1
                record_in_service(
                    participation=past.who.participations[row["participant"]],
                    cluster_name=row["cluster"],
                    region=row["region"],
                    instance_type=row["instance_type"],
                    count=row["count"],
                    at=past.shift.moment(row["at"]),
                    by=past.of_team(row["participant"], "lead_sa"),
                    planned=row.get("planned"),
                )
    return count


def load_quota_requests(past: Past) -> int:
    count = 0
    for row in past.told.get("quota_requests", []):
        with acting_for(past.who.tenants[row["participant"]], staff=True):
            if row["id"] not in known(QUOTA_ASKED):
                with one_action():
                    _quota_request(past, row)
                count += 1
    return count


def _quota_request(past: Past, row: Row) -> None:
    by = past.of_team(row["participant"], "account_team")
    participation = past.who.place(row["participant"], row)
    asked = QuotaRequest(
        tenant_id=participation.tenant_id,
        participation=participation,
        number=row.get("number", row["id"]),
        region=row["region"],
        instance_type=row["instance_type"],
        instances=row["requested_instances"],
        provider_unit=row["provider_unit"],
        provider_value=row["provider_value"],
        reason=row.get("reason", ""),
        requested_on=past.shift.day(row["requested_on"]),
    )
    asked.save(force_insert=True)
    told = {"number": asked.number, "region": asked.region, "reason": asked.reason or "–", "case": row.get("case", "")}
    facts = {"instances": asked.instances, "instance_type": asked.instance_type, **told}
    timeline.record(
        QUOTA_ASKED, about=asked, by=by, at=past.noon(row["requested_on"]), **imported(imported=row["id"], **facts)
    )
    if not row.get("decided_on"):
        return
    seen = _seen(past, row)
    at, by = seen or (past.noon(row["decided_on"]), "provider:aws")
    columns = {"decided_on": past.shift.day(row["decided_on"])}
    facts = {"value": asked.provider_value, "unit": asked.provider_unit, **told}
    move(asked, row["status"].lower(), by=by, at=at, columns=columns, **imported(**facts))


def _seen(past: Past, row: Row) -> tuple[datetime, str] | None:
    """When and by whom the answer was written down, if the file's audit knows."""
    for sample in past.told.get("audit_samples", []):
        if sample["object"] == row["id"] and sample["after"].get("status") == row["status"]:
            return past.shift.moment(sample["at"]), past.actor(sample["actor"])
    return None


def load_usage(past: Past) -> int:
    """One entry per cluster and week, at the week's end in the programme's zone."""
    told = past.told.get("usage", {})
    zone, count = ZoneInfo(past.told["programme"]["timezone"]), 0
    for row in told.get("rows", []):
        with acting_for(past.who.tenants[row["participant"]], staff=True):
            there = known(states.USED)
            for week, percent in zip(told["weeks"], row["busy_percent"], strict=True):
                key = f"usage/{row['cluster']}/{week}"
                if percent is not None and key not in there:
                    monday: date = past.shift.day(week)
                    ended = datetime.combine(monday + WEEK, time(0), zone)
                    _usage(past, row, monday, percent, ended, key)
                    count += 1
    return count


def _usage(past: Past, row: Row, monday: date, percent: int, ended: datetime, key: str) -> None:
    facts: dict[str, Any] = {
        "cluster_name": row["cluster"],
        "percent": percent,
        "week": monday.isoformat(),
        "reserved": row["reserved_instance_hours_per_week"],
    }
    with one_action():
        timeline.record(
            states.USED,
            about=past.who.participations[row["participant"]],
            by="engine",
            at=ended,
            **imported(imported=key, **facts),
        )


def load_extensions(past: Past) -> int:
    """Reservations that were extended: the row has the later end already, the history says since when."""
    count = 0
    for row in past.told.get("audit_samples", []):
        if row["verb"] != "reservation.extended":
            continue
        slug = next(one["participant"] for one in past.told["reservations"] if one["id"] == row["object"])
        with acting_for(past.who.tenants[slug], staff=True), one_action():
            reservation = Reservation.objects.filter(external_id=row["object"]).first()
            key = f"{row['verb']}/{row['object']}"
            if reservation is not None and key not in known(entries.RECORD_CHANGED):
                was, now = (past.shift.moment(row[side]["ends"]).isoformat() for side in ("before", "after"))
                facts = {"what": str(reservation), "fields": ["ends_at"], "changes": {"ends_at": [was, now]}}
                timeline.record(
                    entries.RECORD_CHANGED,
                    about=reservation,
                    by=past.actor(row["actor"]),
                    at=past.shift.moment(row["at"]),
                    **imported(imported=key, **facts),
                )
                count += 1
    return count
