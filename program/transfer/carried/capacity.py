"""What participants asked the programme for and what was decided, and the rows of the ledger that grants are the sum of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from clusters import states
from clusters.models import CapacityRequest, LedgerRow, QuotaGrant
from program.transfer import records
from program.transfer.carried import columns
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported
from program.transfer.writing.names import Writing
from tenants.history import timeline
from tenants.history.moves import move
from tenants.wall.acting import acting_for

ASKED = (
    "number", "kind", "instance_type", "region", "to_region", "option", "instances", "least", "starts_on", "ends_on", "reason",
    "effect", "created_at",
)  # fmt: skip
DECIDED = ("rule", "budget_line", "why", "decided_at", "granted_instances", "granted_until")
STEP = ("option", "delta", "starts_on", "ends_on", "why", "created_at")


def capacity_requests(writing: Writing) -> list[Row]:
    """By participant and in the order in which they were asked."""
    rows = CapacityRequest.objects.filter(participation__in=writing.all_participations).order_by("created_at", "number")
    found = [
        {"participant": writing.slugs[row.tenant_id]}
        | writing.in_cycle(row.participation_id)
        | columns.told(row, ASKED)
        | {"asked_by": writing.actor(row.asked_by), "state": row.state}
        | (columns.told(row, DECIDED) | {"decided_by": writing.actor(row.decided_by)} if row.decided_by else {})
        for row in rows
    ]
    return sorted(found, key=lambda row: row["participant"])


def steps(writing: Writing) -> defaultdict[UUID, list[Row]]:
    """Grant -> its rows; those of a single row without an end that holds already need none, the sum says it."""
    rows = LedgerRow.objects.filter(grant__isnull=False, participation__in=writing.all_participations)
    found: defaultdict[UUID, list[LedgerRow]] = defaultdict(list)
    for row in rows.select_related("request").order_by("created_at", "starts_on", "delta", "pk"):
        found[row.grant_id].append(row)
    told: defaultdict[UUID, list[Row]] = defaultdict(list)
    for grant, of_grant in found.items():
        only = of_grant[0]
        plain = not (only.ends_on or only.option or only.request_id or only.starts_on > writing.now.date())
        if len(of_grant) > 1 or not plain:
            told[grant] = [
                columns.told(row, STEP)
                | ({"request": row.request.number} if row.request else {})
                | {"by": writing.actor(row.by)}
                for row in of_grant
            ]
    return told


def problems(told: Row) -> Iterator[str]:
    people = {row["handle"] for row in told["people"]}
    yield from columns.shapes(told.get("capacity_requests", []), "capacity_requests")
    for where, row in columns.rows(told.get("capacity_requests", []), "capacity_requests"):
        yield from columns.participant(row, told, where)
        yield from columns.problems(CapacityRequest, row, (*ASKED, *DECIDED), where)
        yield from columns.person(row, "asked_by", people, where)
        yield from columns.person(row, "decided_by", people, where)
        if row.get("state") not in states.CAPACITY_REQUEST:
            yield f"{where}.state: {str(row.get('state'))[:60]} is no state of a request"
    for place_of, slug, record in records.of(told):
        asked = {row.get("number") for row in _asked(told, slug)}
        for place, quota in enumerate(record["quota"]):
            at = f"{place_of}.quota[{place}].steps"
            yield from columns.shapes(quota.get("steps", []), at)
            for where, row in columns.rows(quota.get("steps", []), at):
                yield from columns.problems(LedgerRow, row, STEP, where)
                yield from columns.person(row, "by", people, where)
                if "request" in row and row["request"] not in asked:
                    yield f"{where}.request: {str(row['request'])[:60]} is no request of this participant"


def _asked(told: Row, slug: str) -> list[Row]:
    return [
        row for _where, row in columns.rows(told.get("capacity_requests", []), "") if row.get("participant") == slug
    ]


def load(past: Past) -> int:
    """What is there stays; nothing is granted anew, the rows of the ledger say what was. Returns how many requests came in."""
    count = 0
    for slug, in_cycle, place, record in past.records():
        with acting_for(place.tenant_id, staff=True):
            there = set(CapacityRequest.objects.filter(participation=place).values_list("number", flat=True))
            for row in past.of("capacity_requests", slug):
                if row.get("in_cycle") == in_cycle and row["number"] not in there:
                    with one_action():
                        _request(past, row, place)
                    count += 1
            for quota in record["quota"]:
                _steps(past, quota, place)
    return count


def _request(past: Past, row: Row, place: Any) -> None:
    by = past.actor(row.get("asked_by"))
    made = CapacityRequest.objects.create(
        tenant_id=place.tenant_id, participation=place, asked_by=by,
        **columns.values(CapacityRequest, row, ASKED, past.shift),
    )  # fmt: skip
    where = made.to_region or made.region
    timeline.record(
        states.CAPACITY_ASKED, about=made, by=by, at=made.created_at,
        **imported(
            number=made.number, what=made.kind, instances=made.instances, instance_type=made.instance_type, region=where,
            reason=made.reason, **{name: value for name, value in made.effect.items() if name not in ("instances", "region", "granted")},
        ),
    )  # fmt: skip
    if row["state"] == made.state:
        return
    decided = past.actor(row.get("decided_by"))
    given = columns.values(CapacityRequest, row, DECIDED, past.shift) | {"decided_by": decided}
    move(
        made, row["state"], by=decided, at=given.get("decided_at"), columns=given,
        **imported(
            number=made.number, instances=made.given, instance_type=made.instance_type, region=where, what=str(made),
            why=given.get("why", ""), rule=given.get("rule", ""), budget_line=given.get("budget_line") or "–",
        ),
    )  # fmt: skip


def _steps(past: Past, quota: Row, place: Any) -> None:
    line = QuotaGrant.objects.filter(
        participation=place, instance_type=quota["instance_type"], region=quota["region"]
    ).first()
    if line is None or LedgerRow.objects.filter(grant=line).exists():
        return
    numbers = dict(CapacityRequest.objects.filter(participation=place).values_list("number", "pk"))
    LedgerRow.objects.bulk_create(
        LedgerRow(
            tenant_id=place.tenant_id, ledger=LedgerRow.Ledger.GRANT, participation=place, region=line.region,
            instance_type=line.instance_type, grant=line, by=past.actor(row.get("by")),
            request_id=numbers.get(row.get("request")), **columns.values(LedgerRow, row, STEP, past.shift),
        )
        for row in quota.get("steps", [])
    )  # fmt: skip
