"""Loads who takes part: the programme, its cycles, the office, the participants, their people and who looks after whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from program import checklists
from program.transfer.dates import Row, Shift
from program.transfer.one_action import one_action
from program.transfer.words import DUTIES, ROLES, RULES, WAYS, is_machine
from tenants import actions, contacts, entries
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Contact, Cycle, Membership, Participation, Person, Programme, Tenant, holding
from tenants.wall.acting import acting_for
from tenants.work import due

OFFICE = "programme"
# The day of its cycle on which each step of a participation's way was taken.
WAY = {"selected": "selected_on", "onboarding": "starts_on", "active": "launch_day"}
DAYS = ("ends_on", "launch_day", "stage_gate_on", "final_report_due")


@dataclass
class Directory:
    """Whom the rest of the loading refers to, by the file's own keys."""

    manager: Person
    people: dict[str, Person]
    tenants: dict[str, Tenant] = field(default_factory=dict)
    participations: dict[str, Participation] = field(default_factory=dict)
    cycles: dict[str, Cycle] = field(default_factory=dict)
    others: dict[tuple[str, str], Participation] = field(default_factory=dict)  # by slug and cycle

    def place(self, slug: str, row: Row) -> Participation:
        """The participation that a row is about: the one in its `in_cycle`, else the one that pages speak of."""
        return self.others[slug, row["in_cycle"]] if "in_cycle" in row else self.participations[slug]

    def actor(self, handle: str | None) -> str:
        """Whoever is called so; the engine and providers by their own names, and the programme manager for nobody."""
        if handle is None:
            return self.manager.actor
        return handle if is_machine(handle) else self.people[handle].actor


def shift_before(told: Row) -> Shift | None:
    """By how much an earlier run moved the dates: what a second run adds weeks later belongs to the same past."""
    row = told["cycles"][0]
    known = Cycle.objects.filter(programme__code=told["programme"]["code"], code=row["code"]).first()
    return Shift(known.starts_on - date.fromisoformat(row["starts_on"])) if known else None


def load(told: Row, shift: Shift) -> Directory:
    """Make what is not there yet; what is there stays as people have left it."""
    people = {row["handle"]: _person(row, told["programme"]["timezone"]) for row in told["people"]}
    manager = next(people[row["handle"]] for row in told["people"] if ROLES[row["role"]] == "programme_manager")
    directory = Directory(manager, people)
    office = Tenant.objects.filter(is_office=True).first()
    office = office or _tenant(OFFICE, "Programme office", manager.actor, office=True)
    directory.tenants[OFFICE] = office
    with acting_for(office, staff=True):
        directory.cycles = _cycles(told, shift, office, manager.actor)
        began = shift.day(told["cycles"][0]["starts_on"])
        for row in told["people"]:
            if row.get("participant") is None:
                team = row["team"] if row["role"] == "service_team" else ""
                _seat(people[row["handle"]], office, row, began, shift, manager.actor, team)
    for row in told["participants"]:
        _participant(row, told, shift, directory)
    return directory


def _person(row: Row, zone: str) -> Person:
    known = Person.objects.filter(email__iexact=row["email"]).first()
    told = {"timezone": row.get("timezone", zone), **({"language": row["language"]} if row.get("language") else {})}
    return known or Person.objects.create_user(row["email"], name=row["display"], **told)


def _seat(person: Person, tenant: Tenant, row: Row, since: date, shift: Shift, by: str, team: str = "") -> None:
    """Since a day of its own where the file tells one; who has left is not let in again."""
    starts = shift.day(row["starts_on"]) if row.get("starts_on") else since
    left = shift.day(row["left_on"]) if row.get("left_on") else None
    if left is not None and Membership.objects.filter(person=person, tenant=tenant, ends_on=left).exists():
        return
    seat = actions.seat_person(
        person=person, tenant=tenant, role=ROLES[row["role"]], by=by, starts_on=starts, team=team
    )
    if left is not None:
        Membership.objects.filter(pk=seat.pk).update(ends_on=max(left, starts))
        timeline.record(entries.LEFT, about=tenant, by=by, source="import", person=str(person.pk))


def _tenant(slug: str, name: str, by: str, *, office: bool = False) -> Tenant:
    tenant = Tenant(slug=slug, name=name, is_office=office)
    known = Tenant.objects.filter(slug=slug).first()
    if known:
        return known
    with acting_for(tenant, staff=True):
        tenant.save(force_insert=True)
        timeline.record(entries.RECORD_ADDED, about=tenant, by=by, source="import", what=name)
        due.wish("seal", tenant.pk, tenant=tenant, after=timedelta(hours=1))
    return tenant


def _cycles(told: Row, shift: Shift, office: Tenant, by: str) -> dict[str, Cycle]:
    programme = _programme(told["programme"], office, by)
    cycles = {}
    for row in told["cycles"]:
        days = {name: shift.day(row[name]) for name in DAYS if row.get(name)}
        values: dict[str, Any] = {
            "name": row["name"], "state": row["state"], "starts_on": shift.day(row["starts_on"]), **days
        }  # fmt: skip
        cycles[row["code"]], new = Cycle.objects.get_or_create(programme=programme, code=row["code"], defaults=values)
        if new:
            timeline.record(entries.RECORD_ADDED, about=office, by=by, source="import", what=row["name"])
            checklists.write_steps(
                cycles[row["code"]], office, [checklists.read(one) for one in row.get("checklist", [])]
            )
    return cycles


def _programme(row: Row, office: Tenant, by: str) -> Programme:
    values = {name: row[name] for name in ("name", "sponsor", "agency", "timezone", "currency")}
    values["small_request_hours"] = row.get("small_request_hours", 0)
    rules = row.get("rules", {})
    rule_of = Programme._meta.get_field
    values |= {name: rule_of(name).to_python(rules[name]) for name in (*RULES, "cutoff_time") if name in rules}
    programme, new = Programme.objects.get_or_create(code=row["code"], defaults=values)
    if new:
        timeline.record(entries.RECORD_ADDED, about=office, by=by, source="import", what=programme.name)
    return programme


def _participant(row: Row, told: Row, shift: Shift, directory: Directory) -> None:
    by, slug = directory.manager.actor, row["slug"]
    tenant = directory.tenants[slug] = _tenant(slug, row["name"], by)
    cycle = next(cycle for cycle in told["cycles"] if cycle["code"] == row["cycle"])
    since = shift.day(cycle.get("selected_on") or cycle["starts_on"])
    with acting_for(tenant, staff=True), one_action():
        for person in told["people"]:
            if person.get("participant") == slug:
                _seat(directory.people[person["handle"]], tenant, person, since, shift, by)
        duties = [(row["team"].get(place), duty) for place, duty in DUTIES.items()]
        for handle, duty in [*duties, *((handle, "deputy") for handle in row["team"].get("deputies", []))]:
            if handle is not None:
                person = directory.people[handle]
                actions.assign(person=person, tenant=tenant, duty=duty, by=by, starts_on=since)
        directory.participations[slug] = _participation(row, cycle, shift, tenant, directory)
        for other in row.get("other_participations", []):
            of_other = next(one for one in told["cycles"] if one["code"] == other["cycle"])
            directory.others[slug, other["cycle"]] = _participation(other, of_other, shift, tenant, directory)
        for contact in row.get("contact_list", []):
            _contact(contact, tenant, directory)


def _contact(row: Row, tenant: Tenant, directory: Directory) -> None:
    if Contact.objects.filter(duty=row["duty"], name=row["name"], email=row.get("email", "")).exists():
        return
    person = directory.people.get(row.get("person") or "")
    # Who has left answers for nothing any more by an account.
    seated = Membership.objects.filter(holding(), person=person, tenant=tenant).exists() if person else False
    told = {name: row[name] for name in ("email", "phone", "timezone", "hours") if name in row}
    contacts.add(
        tenant=tenant,
        by=directory.manager.actor,
        duty=row["duty"],
        name=row["name"],
        person=person if seated else None,
        **told,
    )


def _participation(row: Row, cycle: Row, shift: Shift, tenant: Tenant, directory: Directory) -> Participation:
    made_for = directory.cycles[row["cycle"]]
    known = Participation.objects.filter(cycle=made_for).first()
    if known:
        return known
    participation = Participation(
        tenant=tenant,
        cycle=made_for,
        code=row["code"],
        project=row["project"],
        organisation_kind=row.get("kind", ""),
        sector=row.get("sector", ""),
        staff_size=row.get("staff_size"),
        support_plan=row.get("support_plan", ""),
        allowed_regions=row.get("allowed_regions", []),
        abstract=row.get("abstract", ""),
        provider=row.get("provider", ""),
        gate=row.get("gate", ""),
        gate_why=row.get("gate_why", ""),
        **{name: shift.day(row[name]) for name in ("starts_on", "ends_on", "gate_on") if row.get(name)},
    )
    by = directory.manager.actor
    actions.add_record(block=participation, by=by, source="import")
    for state in WAYS[row["state"]]:
        day = cycle.get(WAY.get(state, ""))
        at = shift.moment(f"{day}T00:00:00Z") if day else None
        move(participation, state, by=by, at=at, source="import", why="")
    return participation
