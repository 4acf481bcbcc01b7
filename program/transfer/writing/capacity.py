"""Writes the launch day, what was asked of the provider, what is reserved, how busy that was, and what extended it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

from clusters.models import QuotaRequest, Reservation, Revision
from clusters.reserving import WARN_DAYS
from clusters.states import QUOTA_ASKED
from program import states
from program.transfer.dates import Row
from program.transfer.writing.coming import in_service
from program.transfer.writing.names import Writing, day, once, stamp, told, unique
from program.transfer.writing.participants import counted
from tenants import entries
from tenants.history.models import Entry
from tenants.models import Assignment

WEEK_HOURS = timedelta(weeks=1) // timedelta(hours=1)
DECISIONS = ("quota_request.approved", "quota_request.denied")


def launch_day(writing: Writing) -> Row:
    """Each cluster's coming into service, with the sums until then."""
    cycle, sums, events = writing.running, Counter[str](), []
    ordered = sorted(in_service(writing).items(), key=lambda pair: (pair[1].at, writing.slugs[pair[0][0]], pair[0][1]))
    families = ("p5", "trn1")
    for (tenant, name), came in ordered:
        sums[came.instance_type.partition(".")[0]] += came.count
        events.append(
            told(
                at=stamp(came.at),
                participant=writing.slugs[tenant],
                cluster=name,
                region=came.region,
                instance_type=came.instance_type,
                count=came.count,
                planned=came.planned if came.planned != came.count else None,
            )
            | {f"cumulative_{family}": sums[family] for family in families}
        )
    return told(date=day(cycle.launch_day) if cycle else None) | {"events": events}


def quota_requests(writing: Writing) -> list[Row]:
    rows = list(QuotaRequest.objects.filter(tenant__in=list(writing.slugs)).order_by("requested_on", "number", "pk"))
    ids = request_ids(writing)
    case_of = {
        entry.subject_id: entry.facts.get("case", "")
        for entry in Entry.objects.filter(subject="quota_request", kind=QUOTA_ASKED)
    }
    return [
        {
            "id": ids[row.pk],
            **({"number": row.number} if ids[row.pk] != row.number else {}),
            "participant": writing.slugs[row.tenant_id],
            **writing.in_cycle(row.participation_id),
            "region": row.region,
            "instance_type": row.instance_type,
            "requested_instances": row.instances,
            "provider_unit": row.provider_unit,
            "provider_value": row.provider_value,
            "requested_on": day(row.requested_on),
            "status": row.state.upper(),
            "decided_on": day(row.decided_on),
            **told(reason=row.reason, case=case_of.get(row.pk)),
        }
        for row in rows
    ]


@once
def request_ids(writing: Writing) -> dict[UUID, str]:
    rows = QuotaRequest.objects.filter(tenant__in=list(writing.slugs)).values_list("pk", "number", "tenant")
    return unique({pk: (number, writing.slugs[tenant]) for pk, number, tenant in rows})


def reservations(writing: Writing) -> list[Row]:
    """Those that are bought; what is only wanted has no id yet by which the file could name it."""
    rows = Reservation.objects.filter(tenant__in=list(writing.slugs)).exclude(external_id="")
    held = _holders(writing)
    extended = {entry.subject_id: entry.facts["changes"]["ends_at"][0] for entry in _extensions().order_by("-pk")}
    owners = dict(Assignment.objects.filter(ends_on=None, duty="account").values_list("tenant", "person"))
    return [
        {
            "id": row.external_id,
            "kind": row.kind,
            "participant": writing.slugs[row.tenant_id],
            **writing.in_cycle(row.participation_id),
            **told(cluster=held.get((row.tenant_id, row.external_id))),
            "region": row.region,
            "az_id": row.az_id,
            "instance_type": row.instance_type,
            "count": row.count,
            "starts_at": stamp(row.starts_at),
            "ends_at": stamp(row.ends_at),
            "first_end_at": _stamped(extended.get(row.pk)),
            "state": _state(row, writing),
            "owner": writing.handle(owners.get(row.tenant_id)),
            "warn_days": list(WARN_DAYS),
        }
        for row in rows.order_by("starts_at", "external_id", "pk")
    ]


def _stamped(text: str | None) -> str | None:
    return text.replace("+00:00", "Z") if text else None


def _state(row: Reservation, writing: Writing) -> str:
    if row.state == "ended" or row.ends_at <= writing.now:
        return "ended"
    return "active" if row.starts_at <= writing.now else "scheduled"


def _holders(writing: Writing) -> dict[tuple[UUID, str], str]:
    """(participant, id of the reservation) -> the cluster whose instances come out of it."""
    rows = {row.pk: row for row in counted(writing)}
    found: dict[tuple[UUID, str], str] = {}
    for revision in Revision.objects.filter(cluster__in=list(rows)).order_by("cluster", "number"):
        row = rows[revision.cluster_id]
        for group in revision.body.get("instance_groups", []):
            if name := group.get("training_plan") or group.get("reservation"):
                found[row.tenant_id, name] = row.name
    return found


def usage(writing: Writing) -> Row:
    """Weeks that a cluster has no number for are empty."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    reserved: dict[tuple[str, str], Any] = {}
    found = Entry.objects.filter(kind=states.USED, tenant__in=list(writing.slugs)).order_by("occurred_at", "pk")
    for entry in found:
        key = writing.slugs[entry.tenant_id], entry.facts["cluster_name"]
        rows.setdefault(key, {})[entry.facts["week"]] = entry.facts["percent"]
        reserved[key] = entry.facts["reserved"]
    weeks = sorted({week for percents in rows.values() for week in percents})
    return {
        "unit": "percent of reserved instance hours busy",
        "weeks": weeks,
        "rows": [
            {
                "participant": slug,
                "cluster": name,
                "instances": reserved[slug, name] // WEEK_HOURS,
                "reserved_instance_hours_per_week": reserved[slug, name],
                "busy_percent": [rows[slug, name].get(week) for week in weeks],
            }
            for slug, name in sorted(rows)
        ],
    }


def _extensions() -> Any:
    return Entry.objects.filter(kind=entries.RECORD_CHANGED, subject="reservation", facts__changes__has_key="ends_at")


def audit_samples(writing: Writing) -> list[Row]:
    """What the history knows more exactly than the other sections: who answered and extended, and what was exported."""
    found = [*_answers(writing), *_extended(writing), *_exports(writing)]
    return sorted(found, key=lambda row: (row["at"], row["verb"], row["object"]))


def _answers(writing: Writing) -> list[Row]:
    ids, asked = request_ids(writing), dict(QuotaRequest.objects.values_list("pk", "provider_value"))
    return [
        {
            "at": stamp(entry.occurred_at),
            "actor": writing.actor(entry.actor),
            "verb": "quota.updated",
            "object": ids[entry.subject_id],
            "before": {},
            "after": {"status": entry.kind.partition(".")[2].upper(), "value": asked[entry.subject_id]},
        }
        for entry in Entry.objects.filter(kind__in=DECISIONS, actor__startswith="person:").order_by("occurred_at", "pk")
        if entry.subject_id in ids
    ]


def _extended(writing: Writing) -> list[Row]:
    names = dict(Reservation.objects.exclude(external_id="").values_list("pk", "external_id"))
    return [
        {
            "at": stamp(entry.occurred_at),
            "actor": writing.actor(entry.actor),
            "verb": "reservation.extended",
            "object": names[entry.subject_id],
            "before": {"ends": _stamped(entry.facts["changes"]["ends_at"][0])},
            "after": {"ends": _stamped(entry.facts["changes"]["ends_at"][1])},
        }
        for entry in _extensions().order_by("occurred_at", "pk")
        if entry.subject_id in names and entry.tenant_id in writing.slugs
    ]


def _exports(writing: Writing) -> list[Row]:
    return [
        {
            "at": stamp(entry.occurred_at),
            "actor": writing.actor(entry.actor),
            "verb": "api.export",
            "object": entry.facts["what"],
            "before": None,
            "after": {"rows": entry.facts["rows"]},
        }
        for entry in Entry.objects.filter(kind=states.EXPORTED).order_by("occurred_at", "pk")
    ]
