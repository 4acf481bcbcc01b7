"""Imports the cases with their timelines: each line by the action that a person would have taken, at its own time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from clusters.models import Cluster, Job
from clusters.states import JOB_WISHED
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.checks import TURN
from program.transfer.past.rows import Past, imported, known
from program.transfer.words import CAUSES
from support import actions, states
from support.escalation import components
from support.models import Case
from support.writing import moved, write
from tenants.history import timeline
from tenants.models import Person, Tenant
from tenants.wall.acting import acting_for

LONGEST_WHY = 300


def load(past: Past) -> int:
    """One transaction per participant. Returns how many cases came in."""
    count = 0
    for participant in past.told["participants"]:
        rows = past.of("cases", participant["slug"])
        tenant = past.who.tenants[participant["slug"]]
        with acting_for(tenant, staff=True):
            there = known(states.CASE_OPENED)
            missing = [row for row in rows if row["id"] not in there]
            clusters = {cluster.name: cluster for cluster in Cluster.objects.all()} if missing else {}
            jobs = known(JOB_WISHED) if missing else {}
            for row in missing:
                job = jobs.get(row.get("job") or _job_of(past, row["id"]))
                _Telling(past, tenant, row, clusters.get(row.get("cluster") or ""), job).tell()
        count += len(missing)
    return count


class _Telling:
    """One case while its timeline is told again."""

    def __init__(self, past: Past, tenant: Tenant, row: Row, cluster: Cluster | None, job: UUID | None) -> None:
        self.past, self.tenant, self.row, self.cluster = past, tenant, row, cluster
        self.job = Job.objects.get(pk=job) if job else None
        self.owner: Person | None = past.who.people[row["owner"]] if row.get("owner") else None
        self.case: Case

    def tell(self) -> None:
        for line in self.row["timeline"]:
            with one_action():
                self._line(line)
        if self.row.get("next_step") and self.case.state in states.OPEN:
            with one_action():
                self._plan()

    def _line(self, line: Row) -> None:
        at, by = self.past.shift.moment(line["at"]), self.past.actor(line["actor"])
        kind, told = line["kind"], imported(channel=line["source"])
        if kind == "opened":
            self._open(line, at, by, told)
        elif kind == "resolved":
            self._note(line, at, by, told)
            self._resolve(at, by, told)
        elif kind == "reopened":
            self._note(line, at, by, told)
            self.case = actions.reopen_case(case=self.case, why=line["text"][:LONGEST_WHY], by=by, at=at, **told)
        elif kind == "severity_changed":
            self._turn(line, at, by, told)
        elif kind == "status_changed":
            self._own(line, at, by, told)
            self._become(line, at, by, told | {"why": _reason(line)})
        else:
            self._note(line, at, by, told)
            if kind == "escalated":
                self._escalate(line, at, by, told)
            self._own(line, at, by, told)
            self._become(line, at, by, told)

    def _open(self, line: Row, at: datetime, by: str, told: dict[str, Any]) -> None:
        row = self.row
        number = row.get("number", row["id"])
        taken = Case.objects.filter(number=number).exists()
        self.case = actions.open_case(
            tenant=self.tenant,
            participation=self.past.who.participations[row["participant"]],
            cluster=self.cluster,
            job=self.job,
            number="" if taken else number,
            type=row.get("type", "problem"),
            signature=row.get("signature", ""),
            title=row["title"],
            severity=row["severity_at_open"],
            category=row["category"],
            text=line["text"],
            evidence={name: row[name] for name in ("symptom", "impact", "component", "external_ref") if row.get(name)}
            | row.get("evidence", {}),
            by=by,
            at=at,
            imported=row["id"],
            **told,
        )

    def _note(self, line: Row, at: datetime, by: str, told: dict[str, Any]) -> None:
        audience = line["visibility"]
        actions.note_case(case=self.case, text=line["text"], audience=audience, by=by, at=at, answers=False, **told)

    def _resolve(self, at: datetime, by: str, told: dict[str, Any]) -> None:
        row, ended = self.row, self.row.get("resolved_at")
        words = [text for text in (row.get("root_cause"), row.get("resolution")) if text]
        # What was lost is only known at the end: a case that came back had not lost it yet.
        last = ended is not None and self.past.shift.moment(ended) == at
        lost = Decimal(str(row["lost_instance_hours"] or 0)) if last else None
        actions.resolve_case(
            case=self.case,
            cause=row.get("cause") or CAUSES.get(row["category"], Case.Cause.UNKNOWN),
            cause_text="\n\n".join(words),
            lost_hours=lost,
            by=by,
            at=at,
            **told,
        )

    def _turn(self, line: Row, at: datetime, by: str, told: dict[str, Any]) -> None:
        turn = TURN.fullmatch(line["text"])
        assert turn, "the check of the file lets no other text through"
        why = (turn["why"] or line["text"])[:LONGEST_WHY]
        self.case = actions.change_severity(case=self.case, severity=turn["to"], why=why, by=by, at=at, **told)

    def _become(self, line: Row, at: datetime, by: str, told: dict[str, Any]) -> None:
        if self.case.state != line["status_after"]:
            self.case = moved(self.case, line["status_after"], by=by, at=at, **told)

    def _own(self, line: Row, at: datetime, by: str, told: dict[str, Any]) -> None:
        """Whom a line names; else who acknowledges it, until it is escalated to its later owner or that one speaks."""
        person = owner_by(line, self.row, self.past.who.people)
        if person is None or person.pk == self.case.owner_id:
            return
        speaker = self.past.who.people.get(line["actor"])
        write(self.case, owner=person)
        kind = states.CASE_TAKEN if speaker == person else states.CASE_GIVEN
        timeline.record(kind, about=self.case, by=by, at=at, number=self.case.number, owner=str(person.pk), **told)

    def _escalate(self, line: Row, at: datetime, by: str, told: dict[str, Any]) -> None:
        """To the service team of the later owner; above and below the service teams there is no seat to give."""
        team, why = line.get("to") or self._team(), line["text"][:LONGEST_WHY]
        if team in components():
            self.case = actions.escalate_case(
                case=self.case, component=team, why=why, by=by, at=at, audience=line["visibility"], **told
            )
            return
        level = line.get("to") or self.row["escalation_level"]
        facts = {"number": self.case.number, "component": level, "was": "", "why": why, **told}
        timeline.record(states.CASE_ESCALATED, about=self.case, by=by, at=at, audience=line["visibility"], **facts)

    def _team(self) -> str:
        people = self.past.told["people"]
        return next((str(person["team"]) for person in people if person["handle"] == self.row.get("owner")), "")

    def _plan(self) -> None:
        """The step that is to come, as the owner set it when the case last moved."""
        row, at = self.row, self.past.shift.moment(self.row["last_activity_at"])
        due: date | None = self.past.shift.day(row["target_date"]) if row.get("target_date") else None
        by = self.past.actor(row.get("owner"))
        if due is not None and self.owner is not None:
            step = row["next_step"]
            actions.plan_case(case=self.case, owner=self.owner, next_step=step, due=due, by=by, at=at, **imported())
            return
        # Nobody has looked at it yet, so there is no day either: the next review asks for one.
        write(self.case, owner=self.owner, next_step=row["next_step"], next_step_due=due)
        owner = str(self.owner.pk) if self.owner else ""
        facts = {
            "number": self.case.number,
            "owner": owner,
            "next_step": row["next_step"],
            "due": row.get("target_date"),
        }
        timeline.record(states.CASE_PLANNED, about=self.case, by=by, at=at, **imported(**facts))


def owner_by(line: Row, row: Row, people: Mapping[str, Person]) -> Person | None:
    """Whom a line makes the owner; None when it says nothing about it."""
    if line.get("owner"):
        return people[line["owner"]]
    if any(one.get("owner") for one in row["timeline"]):
        return None  # every line that changes the owner names it
    speaker, owner = people.get(line["actor"]), people.get(row.get("owner") or "")
    if line["kind"] == "escalated" or (speaker is not None and speaker == owner):
        return owner
    return speaker if line["kind"] == "acknowledged" else None


def _job_of(past: Past, case: str) -> str:
    """The job whose end led to a case names it in its reason."""
    return next((row["id"] for row in past.told.get("jobs", []) if case in (row.get("reason") or "")), "")


def _reason(line: Row) -> str:
    """`Until the image is built: mitigated` -> `Until the image is built`; nothing when only the state is named."""
    text = line["text"].removesuffix(line["status_after"]).rstrip(": ")
    return text[:LONGEST_WHY]
