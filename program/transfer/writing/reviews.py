"""Writes the weekly reviews of the running cycle, and what meetings decided and gave out."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any
from uuid import UUID

from program.models import ActionItem, Attendance, Decision, Review, ReviewItem
from program.transfer.dates import Row
from program.transfer.writing.cases import case_ids
from program.transfer.writing.names import Writing, day, once, stamp, told

HELD = ("published", "locked")
OLD, OLDER = 7, 14


@once
def _reviews(writing: Writing) -> list[Review]:
    return list(Review.objects.filter(cycle=writing.running).order_by("cutoff_at", "number"))


def reviews(writing: Writing) -> list[Row]:
    rows, ids = _reviews(writing), case_ids(writing)
    items: defaultdict[UUID, list[ReviewItem]] = defaultdict(list)
    for item in ReviewItem.objects.filter(tenant__in=list(writing.slugs), late=False).order_by("position", "pk"):
        items[item.review_id].append(item)
    came: defaultdict[Any, list[str]] = defaultdict(list)
    for person in Attendance.objects.filter(review__isnull=False).order_by("created_at", "person__email"):
        if (handle := writing.handle(person.person_id)) is not None:
            came[person.review_id].append(handle)
    left: defaultdict[Any, dict[str, set[str]]] = defaultdict(lambda: {"decisions": set(), "action_items": set()})
    for name, model in (("decisions", Decision), ("action_items", ActionItem)):
        for review, number in model.objects.exclude(review_id=None).values_list("review_id", "number"):
            left[review][name].add(number)
    return [_review(writing, row, items[row.pk], came[row.pk], left[row.pk], ids) for row in rows]


def _review(
    writing: Writing, row: Review, items: list[ReviewItem], came: list[str], left: dict[str, set[str]], ids: Any
) -> Row:
    held = row.state in HELD
    minutes = {
        "published_at": stamp(row.published_at),
        "locked": row.state == "locked",
        **{name: sorted(numbers) for name, numbers in left.items()},
    }
    return {
        "number": row.number,
        "cutoff_at": stamp(row.cutoff_at),
        **told(held_at=stamp(row.held_at)),
        "state": "closed" if held else "in_preparation",
        "chair": writing.handle(row.chair_id),
        "scribe": writing.handle(row.scribe_id),
        "snapshot": _snapshot(row, items),
        "items": [
            {
                "case": ids[item.case_id],
                "status": item.state_then,
                "age_days": item.age_days,
                "carried": item.carried_over,
                "times_on_agenda": item.times_on_agenda,
            }
            for item in items
            if item.case_id in ids
        ],
        **({"attendees": came} if came else {}),
        **({"minutes": minutes} if held else {}),
    }


def _snapshot(row: Review, items: list[ReviewItem]) -> Row:
    ages = [item.age_days for item in items]
    by_severity = Counter(item.severity_then for item in items)
    return {
        "open_at_last_cutoff": row.open_before,
        "opened": row.opened,
        "reopened": row.reopened,
        "resolved": row.resolved,
        "open_now": row.open_now,
        "carried_over": row.carried,
        "older_than_7_days": sum(age >= OLD for age in ages),
        "older_than_14_days": sum(age >= OLDER for age in ages),
        "open_by_severity": dict(sorted(by_severity.items())),
    }


def decisions(writing: Writing) -> list[Row]:
    """One row a number, also where it was recorded at several participants."""
    numbers, ids = {row.pk: row.number for row in _reviews(writing)}, case_ids(writing)
    together: defaultdict[str, list[Decision]] = defaultdict(list)
    for row in Decision.objects.order_by("number", "tenant__slug"):
        together[row.number].append(row)
    return [_decision(writing, rows, numbers, ids) for _number, rows in sorted(together.items())]


def _decision(writing: Writing, rows: list[Decision], numbers: Any, ids: Any) -> Row:
    row = rows[0]
    cases = [ids[one.case_id] for one in rows if one.case_id in ids]
    slugs = sorted(writing.slugs[one.tenant_id] for one in rows if one.tenant_id in writing.slugs)
    return {
        "id": row.number,
        **told(review=numbers.get(row.review_id)),
        "text": row.text,
        "by": writing.handle(row.decided_by_id),
        **told(case=cases[0] if cases else None, participants=slugs if slugs and not cases else None),
        "decided_on": day(row.decided_on),
        **told(reason=row.reason, authority=row.authority, affects=row.affects),
        "audience": row.audience,
        **told(recorded_by=writing.actor(row.recorded_by)),
    }


def action_items(writing: Writing) -> list[Row]:
    numbers, ids = {row.pk: row.number for row in _reviews(writing)}, case_ids(writing)
    today = writing.now.date()
    return [
        {
            "id": row.number,
            **told(review=numbers.get(row.review_id)),
            "text": row.text,
            "owner": writing.handle(row.owner_id),
            "due_on": day(row.due),
            "status": row.state,
            "done_on": day(row.ended_on),
            **told(
                case=ids.get(row.case_id) if row.case_id else None,
                participant=writing.slugs.get(row.tenant_id) if not row.case_id else None,
                why=row.ended_why,
                evidence=row.evidence,
            ),
            "kind": row.kind,
            "audience": row.audience,
            "given_at": stamp(row.created_at),
            "times_carried": row.times_carried,
            "overdue": row.state == "open" and row.due < today,
        }
        for row in ActionItem.objects.order_by("number", "tenant__slug")
    ]
