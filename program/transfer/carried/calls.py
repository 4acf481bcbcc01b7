"""Calls for applications, what organisations applied with, how that was scored, and what was decided.

The link by which a newcomer reaches its application is a secret and in no file: the address asks for a new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from program.calls import words
from program.calls.applying import digest_of, link_token
from program.models import Application, ApplicationScore, ApplicationVersion, Call
from program.transfer.carried import columns
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported
from program.transfer.writing.names import Writing
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Participation
from tenants.wall.acting import acting_for

CALL = (
    "title", "text", "gives", "lasts", "paid_by", "ask", "opens_at", "closes_at", "closed_at", "most_instances",
    "small_hours", "created_at",
)  # fmt: skip
ANSWERS = (
    "number", "organisation", "organisation_kind", "sector", "staff_size", "contact_name", "contact_email", "language",
    "project", "summary", "intended", "need", "procure", "procure_how", "provider", "openness", "licence", "edition",
    "confirmed_at", "submitted_at", "decided_at", "why", "created_at",
)  # fmt: skip
VERSION = ("number", "answers", "created_at")
SCORE = ("performance", "openness", "feasibility", "reason", "created_at")


def calls(writing: Writing) -> list[Row]:
    """By their openings, each with its applications."""
    applications: defaultdict[UUID, list[Row]] = defaultdict(list)
    versions, scores = _by_application(writing)
    places = set(writing.all_participations)
    for row in Application.objects.select_related("tenant").order_by("number", "pk"):
        told = columns.told(row, ANSWERS) | {"state": row.state}
        if not row.tenant.is_office:
            told["participant"] = row.tenant.slug
        told |= {"by_mail": True} if row.digest else {}
        told |= {"decided_by": writing.actor(row.decided_by)} if row.decided_by else {}
        told |= {"became_participation": True} if row.became in places else {}
        told |= {"editions": versions[row.pk]} if versions[row.pk] else {}
        told |= {"scores": scores[row.pk]} if scores[row.pk] else {}
        applications[row.call_id].append(told)
    return [
        {"cycle": row.cycle.code}
        | columns.told(row, CALL)
        | ({"most_hours": str(row.most_hours)} if row.most_hours is not None else {})
        | {"state": row.state, "applications": applications[row.pk]}
        for row in Call.objects.select_related("cycle").order_by("opens_at", "created_at", "pk")
    ]


def _by_application(writing: Writing) -> tuple[defaultdict[UUID, list[Row]], defaultdict[UUID, list[Row]]]:
    versions: defaultdict[UUID, list[Row]] = defaultdict(list)
    for version in ApplicationVersion.objects.order_by("number"):
        told = columns.told(version, VERSION) | {"by": writing.actor(version.by)}
        versions[version.application_id].append(told)
    scores: defaultdict[UUID, list[Row]] = defaultdict(list)
    for score in ApplicationScore.objects.order_by("created_at", "reviewer__email", "pk"):
        handle = writing.handle(score.reviewer_id)
        if handle:
            scores[score.application_id].append({"reviewer": handle} | columns.told(score, SCORE))
    return versions, scores


def problems(told: Row) -> Iterator[str]:
    people = {row["handle"] for row in told["people"]}
    cycles = {row["code"] for row in told["cycles"]}
    yield from columns.shapes(told.get("calls", []), "calls")
    for where, row in columns.rows(told.get("calls", []), "calls"):
        if row.get("cycle") not in cycles:
            yield f"{where}.cycle: {str(row.get('cycle'))[:60]} is no cycle"
        yield from columns.problems(Call, row, (*CALL, "most_hours"), where)
        yield from _state(row, words.CALL, where)
        yield from columns.shapes(row.get("applications", []), f"{where}.applications")
        for at, application in columns.rows(row.get("applications", []), f"{where}.applications"):
            yield from _of_application(application, told, people, at)


def _of_application(row: Row, told: Row, people: set[str], where: str) -> Iterator[str]:
    yield from columns.problems(Application, row, ANSWERS, where)
    yield from _state(row, words.APPLICATION, where)
    yield from columns.person(row, "decided_by", people, where)
    if "participant" in row:
        yield from columns.participant(row, told, where)
    for name, model, names in (("editions", ApplicationVersion, VERSION), ("scores", ApplicationScore, SCORE)):
        yield from columns.shapes(row.get(name, []), f"{where}.{name}")
        for at, one in columns.rows(row.get(name, []), f"{where}.{name}"):
            yield from columns.problems(model, one, names, at)
            yield from columns.person(one, "by", people, at)
            if name == "scores":
                yield from columns.person({"reviewer": one.get("reviewer", "")}, "reviewer", people, at, machine=False)


def _state(row: Row, moves: Any, where: str) -> Iterator[str]:
    if row.get("state") not in moves:
        yield f"{where}.state: {str(row.get('state'))[:60]} is none of {', '.join(sorted(moves))}"


def load(past: Past) -> int:
    """Where there are calls already, none is added. Nobody is written to. Returns how many applications came in."""
    with acting_for(past.office, staff=True):
        if not past.told.get("calls") or Call.objects.exists():
            return 0
    return sum(_call(past, row) for row in past.told["calls"])


def _call(past: Past, row: Row) -> int:
    by = past.who.manager.actor
    with acting_for(past.office, staff=True), one_action():
        values = columns.values(Call, row, (*CALL, "most_hours"), past.shift)
        call = Call.objects.create(tenant=past.office, cycle=past.who.cycles[row["cycle"]], **values)
        timeline.record(words.CALL_DRAFTED, about=call, by=by, at=call.created_at, **imported(title=call.title))
        for state in {"draft": (), "open": ("open",), "closed": ("open", "closed")}[row["state"]]:
            at = min(call.opens_at if state == "open" else call.closes_at, past.as_of)
            closes = call.closes_at.isoformat(timespec="minutes")
            move(call, state, by=by, at=at, **imported(title=call.title, closes=closes))
    for application in row.get("applications", []):
        _application(past, application, call)
    return len(row.get("applications", []))


def _application(past: Past, row: Row, call: Call) -> None:
    place = past.who.tenants[row["participant"]] if "participant" in row else past.office
    with acting_for(place, staff=True), one_action():
        made = Application(tenant=place, call=call, **columns.values(Application, row, ANSWERS, past.shift))
        if row.get("by_mail"):
            made.digest = digest_of(link_token(made))
        if row.get("became_participation"):
            became = Participation.objects.filter(cycle=call.cycle_id).first()
            made.became = became.pk if became else None
        if row.get("decided_by"):
            made.decided_by = past.actor(row["decided_by"])
        made.save(force_insert=True)
        timeline.record(words.BEGUN, about=made, by="engine", at=made.created_at, **imported(number=made.number))
        for state, at, by in _way(past, row, made):
            move(made, state, by=by, at=at, **imported(number=made.number, why=made.why or "–"))
        for score in row.get("scores", []):
            points = score["performance"] + score["openness"] + score["feasibility"]
            scored = {"number": made.number, "points": points}
            at = past.shift.moment(score["created_at"]) if "created_at" in score else None
            timeline.record(words.SCORED, about=made, by=past.actor(score["reviewer"]), at=at, **imported(**scored))
    with acting_for(past.office, staff=True):
        for version in row.get("editions", []):
            ApplicationVersion.objects.create(
                tenant=past.office, application_id=made.pk, by=past.actor(version.get("by")),
                **columns.values(ApplicationVersion, version, VERSION, past.shift),
            )  # fmt: skip
        for score in row.get("scores", []):
            ApplicationScore.objects.create(
                tenant=past.office, application_id=made.pk, reviewer=past.who.people[score["reviewer"]],
                **columns.values(ApplicationScore, score, SCORE, past.shift),
            )  # fmt: skip


def _way(past: Past, row: Row, made: Application) -> Iterator[tuple[str, datetime, str]]:
    """Each state that it came through, when, and by whom; what nobody wrote down was so by the day of the file."""
    if made.state == row["state"]:
        return
    editions = row.get("editions", [])
    if made.edition or row["state"] != "withdrawn":
        sent = past.actor(editions[-1].get("by")) if editions else "engine"
        yield "submitted", made.submitted_at or past.as_of, sent
    if row["state"] != "submitted":
        yield row["state"], made.decided_at or past.as_of, made.decided_by or "engine"
