"""What has to hold in the file's past before anything of it is written: shapes, names, times, legal moves, sums."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime

from clusters.states import QUOTA_REQUEST
from program.states import ACTION_ITEM
from program.transfer.dates import Row, moment
from program.transfer.words import AUDIENCES, CAUSES, JOB_ENDS, REPORT_WAYS, is_machine
from support.models import Case
from support.states import CASE, ENDED, SEVERITIES

TURN = re.compile(r"(?P<was>\w+) to (?P<to>\w+)(: (?P<why>.+))?", re.DOTALL)
KINDS = frozenset(
    "opened acknowledged comment linked quota_changed workaround node_replaced escalated status_changed "
    "severity_changed resolved reopened".split()
)
AFTERWARDS = ("reopened", "comment", "linked", "status_changed")  # what a case may still get that has ended
DECIDED = ("APPROVED", "DENIED")
VISIBLE = ("shared", "internal")
JOB_LIVES = ("running", "pending")

NEEDED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "cases": {
        "id": str, "participant": str, "title": str, "severity": str, "severity_at_open": str, "category": str,
        "component": str, "escalation_level": str, "lost_instance_hours": (int, float), "status": str,
        "opened_at": str, "last_activity_at": str, "timeline": list,
    },
    "timeline": {
        "at": str, "actor": str, "kind": str, "source": str, "text": str, "status_after": str, "visibility": str,
    },
    "weekly_reviews": {
        "number": int, "cutoff_at": str, "state": str, "snapshot": dict, "items": list,
    },
    "items": {"case": str, "status": str, "age_days": int, "times_on_agenda": int},
    "decisions": {"id": str, "text": str, "by": str},
    "action_items": {"id": str, "text": str, "owner": str, "due_on": str, "status": str},
    "jobs": {
        "id": str, "participant": str, "cluster": str, "name": str, "nodes": int, "state": str, "submitted_at": str,
    },
    "health_events": {
        "id": str, "source": str, "reason": str, "started_at": str, "status": str,
    },
    "knowledge_articles": {"id": str, "title": str, "audience": str, "state": str},
    "quota_requests": {
        "id": str, "participant": str, "region": str, "instance_type": str, "requested_instances": int,
        "provider_unit": str, "provider_value": int, "requested_on": str, "status": str,
    },
    "enablement_sessions": {
        "id": str, "kind": str, "title": str, "starts_at": str, "duration_min": int, "format": str, "speakers": list,
        "registered": int,
    },
    "interactions": {"participant": str, "at": str, "by": str, "medium": str, "audience": str, "text": str},
    "reports": {"participant": str, "kind": str, "period": str, "due_on": str, "state": str},
}  # fmt: skip
SECTIONS = tuple(name for name in NEEDED if name not in ("timeline", "items"))

# Where the past names a person, a participant, a case: section, field.
PEOPLE = (
    ("cases", "owner"), ("weekly_reviews", "chair"), ("weekly_reviews", "scribe"), ("decisions", "by"),
    ("action_items", "owner"),
)  # fmt: skip
CASES = (
    ("decisions", "case"), ("action_items", "case"), ("quota_requests", "case"), ("health_events", "case"),
)  # fmt: skip
# What has happened cannot lie ahead of the day of which the file tells.
HAPPENED = (
    ("cases", "opened_at"), ("cases", "resolved_at"), ("cases", "last_activity_at"), ("weekly_reviews", "cutoff_at"),
    ("interactions", "at"), ("jobs", "submitted_at"), ("jobs", "started_at"), ("jobs", "ended_at"), ("health_events", "notified_at"),
)  # fmt: skip
DAYS = (
    ("action_items", "due_on"), ("action_items", "done_on"), ("quota_requests", "requested_on"),
    ("quota_requests", "decided_on"), ("reports", "due_on"), ("cases", "target_date"),
)  # fmt: skip
OVER = ("done_on", "requested_on", "decided_on")


def problems(told: Row) -> list[str]:
    """Everything that is wrong, with row and field. What moves or adds up is only worth checking when names and times hold."""
    return [*_twice(told), *_names(told), *_times(told)] or [*_timelines(told), *_words(told), *_sums(told)]


def _twice(told: Row) -> Iterator[str]:
    for section in SECTIONS:
        key = "number" if section == "weekly_reviews" else "id"
        ids = Counter(row[key] for row in told.get(section, []) if key in row)
        yield from (f"{section}.{key}: {value} is there {times} times" for value, times in ids.items() if times > 1)


def _rows(told: Row, section: str) -> Iterator[tuple[str, Row]]:
    for number, row in enumerate(told.get(section, [])):
        yield f"{section}[{number}]", row


def _names(told: Row) -> Iterator[str]:
    people = {row["handle"]: row for row in told["people"]}
    slugs = {row["slug"] for row in told["participants"]}
    known_cases = {row["id"]: row["participant"] for row in told.get("cases", [])}
    reviews = {row["number"] for row in told.get("weekly_reviews", [])}
    clusters = {cluster["name"]: row["slug"] for row in told["participants"] for cluster in row["clusters"]}
    for section in SECTIONS:
        for where, row in _rows(told, section):
            if row.get("participant") is not None and row["participant"] not in slugs:
                yield f"{where}.participant: {row['participant']} is no participant"
            if row.get("cluster") is not None and clusters.get(row["cluster"]) != row.get("participant"):
                yield f"{where}.cluster: {row.get('participant')} has no cluster {row['cluster']}"
            for place, slug in enumerate(row.get("affects", [])):
                if slug not in slugs:
                    yield f"{where}.affects[{place}]: {slug} is no participant"
            if section in ("decisions", "action_items") and row.get("review") not in (None, *reviews):
                yield f"{where}.review: there is no review {row['review']}"
    for section, field in PEOPLE:
        for where, row in _rows(told, section):
            if row.get(field) is not None and row[field] not in people:
                yield f"{where}.{field}: {row[field]} is no person"
    for section, field in CASES:
        for where, row in _rows(told, section):
            if row.get(field) is not None and row[field] not in known_cases:
                yield f"{where}.{field}: {row[field]} is no case"
    yield from _listed(told, people, known_cases)


def _listed(told: Row, people: dict[str, Row], known_cases: dict[str, str]) -> Iterator[str]:
    for where, row in _rows(told, "cases"):
        for place, line in enumerate(row["timeline"]):
            actor = people.get(line["actor"])
            if line.get("owner") is not None and line["owner"] not in people:
                yield f"{where}.timeline[{place}].owner: {line['owner']} is no person"
            if is_machine(line["actor"]):
                continue
            if actor is None:
                yield f"{where}.timeline[{place}].actor: {line['actor']} is no person"
            elif actor.get("participant") not in (None, row["participant"]):
                yield f"{where}.timeline[{place}].actor: {line['actor']} belongs to {actor['participant']}"
    for where, row in _rows(told, "weekly_reviews"):
        for place, handle in enumerate(row.get("attendees", [])):
            if handle not in people:
                yield f"{where}.attendees[{place}]: {handle} is no person"
        for place, item in enumerate(row["items"]):
            if item["case"] not in known_cases:
                yield f"{where}.items[{place}].case: {item['case']} is no case"
    for where, row in _rows(told, "interactions"):
        if not is_machine(row["by"]) and row["by"] not in people:
            yield f"{where}.by: {row['by']} is no person"
        if row["audience"] not in VISIBLE:
            yield f"{where}.audience: {row['audience']} is neither {' nor '.join(VISIBLE)}"
    for where, row in _rows(told, "enablement_sessions"):
        for place, handle in enumerate(row["speakers"]):
            if handle not in people:
                yield f"{where}.speakers[{place}]: {handle} is no person"
    for where, row in _rows(told, "knowledge_articles"):
        for name in ("cases", "solves"):
            for place, case in enumerate(row.get(name, [])):
                if case not in known_cases:
                    yield f"{where}.{name}[{place}]: {case} is no case"


def _times(told: Row) -> Iterator[str]:
    as_of = moment(told["meta"]["as_of"])
    for section, field in HAPPENED:
        for where, row in _rows(told, section):
            yield from _not_after(as_of, f"{where}.{field}", row.get(field))
    for where, row in _rows(told, "cases"):
        for place, line in enumerate(row["timeline"]):
            yield from _not_after(as_of, f"{where}.timeline[{place}].at", line["at"])
    for where, row in _rows(told, "weekly_reviews"):
        times = {"held_at": row.get("held_at"), "minutes.published_at": row.get("minutes", {}).get("published_at")}
        for field, text in times.items():
            # A meeting that is being prepared lies ahead.
            yield from _not_after(as_of if row["state"] == "closed" else None, f"{where}.{field}", text)
    for where, row in _rows(told, "health_events"):
        # What the provider has announced for later was only told by then.
        yield from _not_after(as_of if row["status"] != "upcoming" else None, f"{where}.started_at", row["started_at"])
    for where, row in _rows(told, "enablement_sessions"):
        yield from _not_after(None, f"{where}.starts_at", row["starts_at"])
    for section, field in DAYS:
        for where, row in _rows(told, section):
            yield from _day(as_of.date() if field in OVER else None, f"{where}.{field}", row.get(field))


def _not_after(latest: datetime | None, where: str, text: str | None) -> Iterator[str]:
    if text is None:
        return
    try:
        at = moment(text)
    except (TypeError, ValueError):
        yield f"{where}: {text} is no time"
        return
    if latest is not None and at > latest:
        yield f"{where}: {text} is after {latest:%Y-%m-%dT%H:%M:%SZ}, the time of which the file tells"


def _day(latest: date | None, where: str, text: str | None) -> Iterator[str]:
    if text is None:
        return
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        yield f"{where}: {text} is no day"
        return
    if latest is not None and day > latest:
        yield f"{where}: {text} is after {latest}, the day of which the file tells"


def _timelines(told: Row) -> Iterator[str]:
    """Each case begins with its opening, goes forward in time, and moves as cases may."""
    for where, row in _rows(told, "cases"):
        lines = row["timeline"]
        if not lines or lines[0]["kind"] != "opened" or lines[0]["at"] != row["opened_at"]:
            yield f"{where}.timeline: does not begin with the opening at {row['opened_at']}"
            continue
        state, last = "", moment(lines[0]["at"])
        for place, line in enumerate(lines):
            here = f"{where}.timeline[{place}]"
            if moment(line["at"]) < last:
                yield f"{here}.at: {line['at']} is before the line above"
            last = moment(line["at"])
            yield from _line(here, line, state, place)
            state = line["status_after"]
        if state != row["status"]:
            yield f"{where}.status: says {row['status']}, but its timeline ends with {state}"


def _line(here: str, line: Row, state: str, place: int) -> Iterator[str]:
    kind, after = line["kind"], line["status_after"]
    if kind not in KINDS:
        yield f"{here}.kind: {kind} is no kind that is known"
    elif (kind == "opened") != (place == 0):
        yield f"{here}.kind: a case is opened once, at its beginning"
    elif kind == "resolved" and after != "resolved":
        yield f"{here}.status_after: {after} is not what a resolved case is"
    elif kind == "reopened" and (state not in ENDED or after != "in_progress"):
        yield f"{here}.kind: a case that is {state} is not reopened to {after}"
    elif kind == "severity_changed":
        turn = TURN.fullmatch(line["text"])
        if not turn or not {turn["was"], turn["to"]} <= set(SEVERITIES):
            yield f"{here}.text: does not say from which severity to which"
    if after not in CASE or (place == 0 and after != "new"):
        yield f"{here}.status_after: {after} is no state it can be in here"
    elif place and after != state and after not in CASE.get(state, ()):
        yield f"{here}.status_after: a case that is {state} does not become {after}"
    elif place and state in ENDED and kind not in AFTERWARDS:
        yield f"{here}.kind: the case is {state}"
    if line["visibility"] not in VISIBLE:
        yield f"{here}.visibility: {line['visibility']} is neither {' nor '.join(VISIBLE)}"
    if not line["text"].strip():
        yield f"{here}.text: is empty"


def _words(told: Row) -> Iterator[str]:
    for where, row in _rows(told, "cases"):
        for field in ("severity", "severity_at_open"):
            if row[field] not in SEVERITIES:
                yield f"{where}.{field}: {row[field]} is no severity"
        if row["category"] not in CAUSES and row["status"] in ENDED and not row.get("cause"):
            yield f"{where}.category: {row['category']} is no category that is known"
        if row.get("cause") and row["cause"] not in Case.Cause.values:
            yield f"{where}.cause: {row['cause']} is no cause that is known"
    for where, row in _rows(told, "weekly_reviews"):
        if row["state"] not in ("closed", "in_preparation"):
            yield f"{where}.state: {row['state']} is no state of a review"
        elif row["state"] == "closed":
            yield from (f"{where}.{name}: is missing" for name in ("minutes", "held_at") if not row.get(name))
    for where, row in _rows(told, "action_items"):
        done = bool(row.get("done_on"))
        if row["status"] not in ACTION_ITEM or (row["status"] != "dropped" and (row["status"] == "done") != done):
            yield f"{where}.status: {row['status']} does not go with done_on {row.get('done_on')}"
    for where, row in _rows(told, "reports"):
        if row["state"] not in REPORT_WAYS:
            yield f"{where}.state: {row['state']} is no state of a report"
    for where, row in _rows(told, "knowledge_articles"):
        if row["audience"] not in AUDIENCES:
            yield f"{where}.audience: {row['audience']} is no audience"
    for where, row in _rows(told, "quota_requests"):
        if row["status"].lower() not in QUOTA_REQUEST:
            yield f"{where}.status: {row['status']} is no state of a request"
        elif (row["status"] in DECIDED) != bool(row.get("decided_on")):
            yield f"{where}.decided_on: {row.get('decided_on')} does not go with {row['status']}"
    for where, row in _rows(told, "jobs"):
        if row["state"] not in (*JOB_ENDS, *JOB_LIVES):
            yield f"{where}.state: {row['state']} is no state of a job"
        elif row["state"] in JOB_ENDS and not row.get("ended_at"):
            yield f"{where}.ended_at: is missing"


def _sums(told: Row) -> Iterator[str]:
    """What the file says of itself: open cases, and the balance of every week."""
    found = [row["id"] for row in told.get("cases", []) if row["status"] not in ENDED]
    for name, count in {"open_cases": len(found), "open_case_ids": sorted(found)}.items():
        says = told["totals"].get(name, count)
        if (sorted(says) if isinstance(says, list) else says) != count:
            yield f"totals.{name}: says {says}, but the file has {count}"
    last_open, last = 0, None
    for where, row in _rows(told, "weekly_reviews"):
        sums = {
            name: row["snapshot"].get(name)
            for name in ("open_at_last_cutoff", "opened", "reopened", "resolved", "open_now")
        }
        if not all(isinstance(value, int) for value in sums.values()):
            yield f"{where}.snapshot: lacks one of {', '.join(sums)}"
            continue
        before, opened, reopened, resolved, now = sums.values()
        if before != last_open:
            yield f"{where}.snapshot.open_at_last_cutoff: says {before}, but {last_open} were open"
        if now != before + opened + reopened - resolved:
            yield f"{where}.snapshot.open_now: says {now}; {before} + {opened} + {reopened} − {resolved} is not that"
        if now != len(row["items"]):
            yield f"{where}.items: has {len(row['items'])} of {now} open cases"
        if last and (row["number"] != last["number"] + 1 or moment(row["cutoff_at"]) <= moment(last["cutoff_at"])):
            yield f"{where}.cutoff_at: does not follow review {last['number']}"
        last_open, last = now, row
