"""Writes the programme, its cycles and its people."""

from __future__ import annotations

from datetime import date
from typing import Any

from program import checklists
from program.transfer.dates import Row
from program.transfer.words import FILE_ROLES, RULES
from program.transfer.writing.names import Writing, day, told
from tenants.history.models import Entry
from tenants.models import Membership, Participation

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def programme(writing: Writing) -> Row:
    row = writing.programme
    if row is None:
        return {}
    names = ("code", "name", "sponsor", "agency", "timezone", "currency", "small_request_hours")
    rules: dict[str, Any] = {name: getattr(row, name) for name in RULES if getattr(row, name) is not None}
    if row.second_step_since is not None:
        rules["second_step_since"] = row.second_step_since.isoformat()
    rules["cutoff_time"] = row.cutoff_time.isoformat("minutes")
    return {name: getattr(row, name) for name in names} | {"quota_unit": "instances", "rules": rules}


def cycles(writing: Writing) -> list[Row]:
    counted: dict[Any, int] = {}
    for cycle in Participation.objects.values_list("cycle", flat=True):
        counted[cycle] = counted.get(cycle, 0) + 1
    selected = _selected_on()
    steps = checklists.steps_of_each(row.pk for row in writing.cycles)
    return [
        told(
            code=row.code,
            name=row.name,
            state=row.state,
            selected_on=day(selected.get(row.pk)),
            starts_on=day(row.starts_on),
            launch_day=day(row.launch_day),
            stage_gate_on=day(row.stage_gate_on),
            final_report_due=day(row.final_report_due),
            ends_on=day(row.ends_on),
            participants=counted.get(row.pk, 0),
            checklist=checklists.written(steps[row.pk]) or None,
            weekly_review=_review_times(writing) if row == writing.running else None,
        )
        for row in writing.cycles
    ]


def _selected_on() -> dict[Any, date]:
    """No column says it: the day of the first selection stands in the history of those who were selected."""
    of_cycle = dict(Participation.objects.values_list("pk", "cycle"))
    found: dict[Any, date] = {}
    for pk, at in Entry.objects.filter(kind="participation.selected").values_list("subject_id", "occurred_at"):
        cycle = of_cycle.get(pk)
        if cycle is not None:
            found[cycle] = min(found.get(cycle, at.date()), at.date())
    return found


def _review_times(writing: Writing) -> Row | None:
    row = writing.programme
    return {"cutoff": f"{WEEKDAYS[row.cutoff_weekday]} {row.cutoff_time:%H:%M} local"} if row else None


def people(writing: Writing) -> list[Row]:
    """Each with one role: the office's before a participant's, an open one before one that has ended."""
    seats: dict[Any, Membership] = {}
    rows = Membership.objects.select_related("tenant").filter(person__in=list(writing.people))
    for seat in sorted(rows, key=lambda seat: (seat.ends_on is None, seat.tenant.is_office, seat.starts_on, seat.pk)):
        if seat.tenant.is_office or seat.tenant_id in writing.slugs:
            seats[seat.person_id] = seat
    return [_person(writing, seats[pk]) for pk in writing.people if pk in seats]


def _person(writing: Writing, seat: Membership) -> Row:
    person = writing.people[seat.person_id]
    row = {
        "handle": person.email,
        "display": person.name or person.email,
        "role": FILE_ROLES[seat.role],
        "team": seat.team,
        "email": person.email,
        "participant": None if seat.tenant.is_office else seat.tenant.slug,
    }
    return row | told(
        language=person.language, timezone=person.timezone, starts_on=day(seat.starts_on), left_on=day(seat.ends_on)
    )
