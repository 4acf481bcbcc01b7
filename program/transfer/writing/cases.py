"""Writes the cases: each line of a case's timeline is what one action wrote into its history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from program.transfer.dates import Row
from program.transfer.writing.jobs import job_ids
from program.transfer.writing.names import Writing, day, number, once, stamp, told, unique
from program.transfer.writing.participants import counted
from support import clocks, states
from support.models import ArticleUse, Case, CaseNote
from tenants.history.models import Entry
from tenants.models import Membership
from tenants.wall import roles

OPENED_WITH = ("symptom", "impact", "component", "external_ref")  # of the evidence, in words of their own
MOVED = {f"case.{state}": state for state in states.CASE}
CHUNK = 500
LEVELS = {
    roles.ACCOUNT_TEAM: "L1",
    roles.LEAD_ARCHITECT: "L2",
    roles.FRAMEWORKS_SPECIALIST: "L3",
    roles.SERVICE_ENGINEER: "L4",
}
LEAST, STEERING = "L1", "L5"


@once
def case_ids(writing: Writing) -> dict[UUID, str]:
    """Case -> its id in the file: its number, with its participant where another one has the same number."""
    rows = Case.objects.filter(tenant__in=list(writing.slugs)).values_list("pk", "number", "tenant")
    return unique({pk: (text, writing.slugs[tenant]) for pk, text, tenant in rows})


@dataclass(frozen=True)
class _Around:
    """What every case is told with."""

    writing: Writing
    ids: Mapping[UUID, str]
    clusters: Mapping[UUID, str]
    jobs: Mapping[UUID, str]
    articles: Mapping[UUID, str]
    roles: Mapping[UUID, str]


def cases(writing: Writing) -> Iterator[Row]:
    """A few hundred at a time."""
    ids = case_ids(writing)
    uses = ArticleUse.objects.order_by("-article__code").values_list("case", "article__code")
    office = Membership.objects.filter(tenant=writing.office).order_by("starts_on", "pk").values_list("person", "role")
    around = _Around(
        writing, ids, {row.pk: row.name for row in counted(writing)}, job_ids(writing), dict(uses), dict(office)
    )
    keys = sorted(ids, key=lambda pk: ids[pk])
    for first in range(0, len(keys), CHUNK):
        yield from _some(around, keys[first : first + CHUNK])


def _some(around: _Around, keys: list[UUID]) -> Iterator[Row]:
    rows = {row.pk: row for row in Case.objects.filter(pk__in=keys)}
    notes = dict(CaseNote.objects.filter(case__in=keys).values_list("pk", "text"))
    entries: defaultdict[UUID, list[Entry]] = defaultdict(list)
    for entry in Entry.objects.filter(subject="case", subject_id__in=keys).order_by("occurred_at", "pk"):
        entries[entry.subject_id].append(entry)
    for pk in keys:
        yield _case(around, rows[pk], entries[pk], {str(key): text for key, text in notes.items()})


def _case(around: _Around, row: Case, entries: list[Entry], notes: Mapping[str, str]) -> Row:
    lines = list(timeline(entries, notes, row, around.writing))
    planned = [entry.occurred_at for entry in entries if entry.kind == states.CASE_PLANNED]
    last = max([row.opened_at, *(entry.occurred_at for entry in entries if _tells(entry)), *planned])
    opened = next((entry.facts for entry in entries if entry.kind == states.CASE_OPENED), {})
    evidence = row.evidence
    root, _sep, resolution = row.cause_text.partition("\n\n")
    named = around.ids[row.pk]
    return {
        "id": named,
        **({"number": row.number} if named != row.number else {}),
        "participant": around.writing.slugs[row.tenant_id],
        "cluster": around.clusters.get(row.cluster_id) if row.cluster_id else None,
        **told(
            job=around.jobs.get(row.job_id) if row.job_id else None, type=row.type if row.type != "problem" else None
        ),
        "title": row.title,
        "severity": row.severity,
        "severity_at_open": opened.get("case_severity", row.severity),
        "category": row.category,
        "component": evidence.get("component", row.component),
        "owner": around.writing.handle(row.owner_id),
        "escalation_level": _level(around, row, entries),
        **told(
            external_ref=evidence.get("external_ref"),
            symptom=evidence.get("symptom"),
            root_cause=root,
            resolution=resolution,
            cause=row.cause,
            knowledge_article=around.articles.get(row.pk),
            impact=evidence.get("impact"),
            signature=row.signature,
            evidence={name: value for name, value in evidence.items() if name not in OPENED_WITH} or None,
        ),
        "lost_instance_hours": number(row.lost_hours) if row.lost_hours is not None else 0,
        "target_date": day(row.next_step_due),
        "next_step": row.next_step or None,
        "status": row.state,
        **_clocks(row, entries, around.writing.now),
        "last_activity_at": stamp(last),
        "timeline": lines,
    }


def _clocks(row: Case, entries: list[Entry], now: datetime) -> Row:
    start = clocks.started(row.opened_at, row.reopened_at)
    due = clocks.response_due(row.severity, start, row.severity_raised_at)
    is_open = row.state in states.OPEN
    return {
        "opened_at": stamp(row.opened_at),
        "first_response_at": stamp(row.first_response_at),
        "first_response_due_at": stamp(due),
        "first_response_met": (row.first_response_at or now) <= due if row.first_response_at or due < now else None,
        "resolved_at": stamp(row.resolved_at),
        "reopened_count": sum(entry.kind == states.CASE_REOPENED for entry in entries),
        "open_since": stamp(start) if is_open else None,
        "age_days": clocks.age_days(start, now) if is_open else None,
    }


def _level(around: _Around, row: Case, entries: list[Entry]) -> str:
    """The level it was last escalated to where that was said, else that of whoever owns it."""
    escalated = [entry.facts.get("component", "") for entry in entries if entry.kind == states.CASE_ESCALATED]
    if escalated and escalated[-1] in (*LEVELS.values(), STEERING):
        return str(escalated[-1])
    if row.component:
        return LEVELS[roles.SERVICE_ENGINEER]
    return LEVELS.get(around.roles.get(row.owner_id, ""), LEAST) if row.owner_id else LEAST


def _tells(entry: Entry) -> bool:
    spoken = (states.CASE_OPENED, states.CASE_NOTED, states.CASE_REOPENED, states.CASE_SEVERITY, states.CASE_ESCALATED)
    owned = (states.CASE_TAKEN, states.CASE_GIVEN)
    return entry.kind in spoken or entry.kind in owned or entry.kind in MOVED


def timeline(entries: list[Entry], notes: Mapping[str, str], row: Case, writing: Writing) -> Iterator[Row]:
    """One line for each action that is told: what was said, what became of the case, and who had it then."""
    state = "new"
    told_of = [entry for entry in entries if _tells(entry)]
    if not told_of or told_of[0].kind != states.CASE_OPENED:
        yield _opening(row, writing)
    for _action, group in groupby(told_of, key=lambda entry: (entry.action_id, entry.occurred_at, entry.actor)):
        together = list(group)
        moves = [MOVED[entry.kind] for entry in together if entry.kind in MOVED]
        state = moves[-1] if moves else state
        yield _line(together, notes, row, writing, state)


def _opening(row: Case, writing: Writing) -> Row:
    """Of a case that is older than its history."""
    return {
        "at": stamp(row.opened_at), "actor": writing.actor(row.opened_by), "kind": "opened", "source": "portal",
        "text": row.title, "status_after": "new", "visibility": "shared",
    }  # fmt: skip


def _line(together: list[Entry], notes: Mapping[str, str], row: Case, writing: Writing, state: str) -> Row:
    facts = {name: value for entry in together for name, value in entry.facts.items()}
    kinds = {entry.kind for entry in together}
    first, note = together[0], notes.get(facts.get("case_note", ""), "")
    owner = next(
        (entry.facts.get("owner") for entry in together if entry.kind in (states.CASE_TAKEN, states.CASE_GIVEN)), None
    )
    kind, text = _said(kinds, facts, note, row, state)
    if kind == "comment" and states.CASE_TAKEN in kinds:
        kind = "acknowledged"
    return {
        "at": stamp(first.occurred_at),
        "actor": writing.actor(first.actor),
        "kind": kind,
        "source": facts.get("channel", "portal"),
        "text": text,
        "status_after": state,
        "visibility": first.audience,
        **told(
            owner=writing.handle(UUID(owner)) if owner else None,
            to=facts.get("component") if kind == "escalated" else None,
        ),
    }


def _said(kinds: set[str], facts: Mapping[str, Any], note: str, row: Case, state: str) -> tuple[str, str]:
    """The kind of a line and its words; a line has some, also where nobody wrote any."""
    why = str(facts.get("why") or "")
    if states.CASE_OPENED in kinds:
        return "opened", note or row.title
    if states.CASE_REOPENED in kinds:
        return "reopened", note or why or state
    if "case.resolved" in kinds:
        return "resolved", note or row.cause_text or row.title
    if states.CASE_SEVERITY in kinds:
        return "severity_changed", f"{facts['was']} to {facts['to']}" + (f": {why}" if why else "")
    if states.CASE_ESCALATED in kinds:
        return "escalated", note or why or state
    if note:
        return "comment", note
    return "status_changed", f"{why}: {state}" if why else state
