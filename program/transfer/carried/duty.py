"""Duty rosters: who of a team is on duty from when to when."""

from __future__ import annotations

from collections.abc import Iterator

from program.transfer.carried import columns
from program.transfer.dates import Row, moment
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported
from program.transfer.writing.names import Writing, told
from tenants import rosters
from tenants.history import timeline
from tenants.models import DutyShift
from tenants.wall.acting import acting_for

SHIFT = ("team", "part", "starts_at", "ends_at", "zone", "created_at")


def duty_shifts(writing: Writing) -> list[Row]:
    """In the order of time; of somebody whom the file does not have there is none."""
    rows = DutyShift.objects.order_by("starts_at", "team", "part", "person__email", "pk")
    found = [(row, writing.handle(row.person_id)) for row in rows]
    return [columns.told(row, SHIFT) | told(person=handle) for row, handle in found if handle]


def problems(told_all: Row) -> Iterator[str]:
    people = {row["handle"] for row in told_all["people"]}
    yield from columns.shapes(told_all.get("duty_shifts", []), "duty_shifts")
    for where, row in columns.rows(told_all.get("duty_shifts", []), "duty_shifts"):
        found = list(columns.problems(DutyShift, row, SHIFT, where))
        yield from found
        yield from columns.person({"person": row.get("person", "")}, "person", people, where, machine=False)
        if not found and moment(row["ends_at"]) <= moment(row["starts_at"]):
            yield f"{where}.ends_at: {row['ends_at']} is not after the beginning, {row['starts_at']}"


def load(past: Past) -> int:
    """Where shifts are planned already, none is added. Returns how many came in."""
    shifts = past.told.get("duty_shifts", [])
    with acting_for(past.office, staff=True):
        if not shifts or DutyShift.objects.exists():
            return 0
        made = [
            DutyShift(
                tenant=past.office, person=past.who.people[row["person"]],
                **columns.values(DutyShift, row, SHIFT, past.shift),
            )
            for row in shifts
        ]  # fmt: skip
        DutyShift.objects.bulk_create(made)
        for team in sorted({row.team for row in made}):
            days = sorted(row.starts_at.date().isoformat() for row in made if row.team == team)
            with one_action():
                timeline.record(
                    rosters.PLANNED, about=past.office, by=past.who.manager.actor,
                    **imported(count=len(days), team=team, starts_on=days[0], ends_on=days[-1]),
                )  # fmt: skip
    return len(made)
