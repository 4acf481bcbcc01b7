"""Imports the weekly reviews: each frozen from the imported history by the same logic, then held, decided and locked."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import override

from program import decisions, reviews, states
from program.models import ActionItem, Attendance, Review, ReviewItem
from program.publishing import give_out
from program.settling import hold_open
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported, known
from support.models import Case
from support.states import CASE_OPENED
from support.writing import moment
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Cycle, Tenant
from tenants.wall.acting import acting_for, reading_everyone

ENDS = ("done", "dropped")


def load(past: Past) -> int:
    """In the order of their cut-offs; each review is one transaction. Returns how many came in."""
    cycle, office = past.running_cycle(), past.office
    with acting_for(office, staff=True):
        there = set(Review.objects.filter(cycle=cycle).values_list("number", flat=True))
    missing = [row for row in past.told.get("weekly_reviews", []) if row["number"] not in there]
    for row in missing:
        with acting_for(office, staff=True):
            _end_items(past, past.shift.moment(row["cutoff_at"]))
            _review(past, row, cycle)
    with acting_for(office, staff=True):
        load_outside(past)
        _end_items(past, None)
    return len(missing)


def _review(past: Past, row: Row, cycle: Cycle) -> None:
    named = {name: past.who.people[row[name]] for name in ("chair", "scribe") if row.get(name)}
    chair, scribe = (named.get(name, past.who.manager) for name in ("chair", "scribe"))
    cutoff = past.shift.moment(row["cutoff_at"])
    with one_action():
        # Nobody else writes what is dated this far back: what was imported until now is all there will be.
        review = reviews.freeze(
            cycle=cycle, cutoff=cutoff, by=chair.actor, frozen_at=moment(None), at=cutoff, **imported()
        )
    Review.objects.filter(pk=review.pk).update(**named)
    _attendance(review, row, past)
    if row["state"] != "closed":
        return
    held = past.shift.moment(row["held_at"])
    with one_action():
        move(
            review, "in_session", by=chair.actor, at=held, columns={"held_at": held}, number=review.number, **imported()
        )
    _outcome(past, row, review, held)
    _conclude(past, row, review, held)
    published = past.shift.moment(row["minutes"]["published_at"])
    review.refresh_from_db()
    with one_action():
        give_out(review=review, by=scribe.actor, at=published, **imported())
    if row["minutes"]["locked"]:
        with one_action():
            reviews.lock(review=review, by=chair.actor, at=published, **imported())


def _attendance(review: Review, row: Row, past: Past) -> None:
    for handle in row.get("attendees", []):
        Attendance.objects.create(tenant_id=review.tenant_id, review=review, person=past.who.people[handle])


def _outcome(past: Past, row: Row, review: Review, held: datetime) -> None:
    """What the meeting decided and gave out, in the scribe's hand."""
    by = past.actor(row.get("scribe"))
    for decision in past.told.get("decisions", []):
        if decision.get("review") == row["number"]:
            _decide(past, decision, review, by, held)
    for item in past.told.get("action_items", []):
        if item.get("review") == row["number"]:
            _give(past, item, review, by, held)


def load_outside(past: Past) -> None:
    """What was decided and given out outside of the meetings that the file tells of."""
    with reading_everyone():
        there = {*known(states.DECIDED), *known(states.GIVEN)}
    for row in past.told.get("decisions", []):
        if row.get("review") is None and row["id"] not in there:
            at = past.noon(row["decided_on"]) if row.get("decided_on") else past.as_of
            _decide(past, row, None, past.actor(row.get("recorded_by")), at)
    for row in past.told.get("action_items", []):
        if row.get("review") is None and row["id"] not in there:
            at = past.shift.moment(row["given_at"]) if row.get("given_at") else past.as_of
            _give(past, row, None, past.who.manager.actor, at)


def _decide(past: Past, row: Row, review: Review | None, by: str, at: datetime) -> None:
    tenant, case = _about(past, row)
    tenants = [past.who.tenants[slug] for slug in row.get("participants", [])] or [tenant]
    with one_action():
        decisions.record_decision(
            tenants=tenants,
            text=row["text"],
            decided_by=past.who.people[row["by"]],
            by=past.actor(row["recorded_by"]) if row.get("recorded_by") else by,
            case=case,
            review=review,
            number=row["id"],
            decided_on=past.shift.day(row["decided_on"]) if row.get("decided_on") else None,
            audience=row.get("audience", "internal"),
            **{name: row.get(name, "") for name in ("reason", "authority", "affects")},
            at=at,
            **imported(imported=row["id"]),
        )


def _conclude(past: Past, row: Row, review: Review, held: datetime) -> None:
    """What became of each item: settled where it had an owner, a step and a day; else what the next review's list tells."""
    hold_open(review.pk)
    following = next((one for one in past.told["weekly_reviews"] if one["number"] == row["number"] + 1), None)
    listed = {item["case"] for item in following["items"]} if following else set()
    for told in row.get("items", []):
        case = next(one for one in past.told["cases"] if one["id"] == told["case"])
        with acting_for(past.who.tenants[case["participant"]], staff=True), one_action():
            pk = known(CASE_OPENED)[told["case"]]
            item = ReviewItem.objects.select_related("case").get(review_id=review.pk, case_id=pk)
            if item.owner_id and item.next_step and item.next_step_due:
                outcome = ReviewItem.Outcome.SETTLED
            elif told["case"] in listed:
                outcome = ReviewItem.Outcome.CARRIED
            else:
                outcome = ReviewItem.Outcome.RESOLVED
            ReviewItem.objects.filter(pk=item.pk).update(outcome=outcome, discussed_at=held)
            with override(None):
                words = str(outcome.label)
            timeline.record(
                states.ITEM_OUTCOME,
                about=item,
                by=past.actor(row.get("scribe")),
                at=held,
                case=item.case.number,
                number=review.number,
                outcome=words,
                **imported(),
            )


def _give(past: Past, row: Row, review: Review | None, by: str, held: datetime) -> None:
    tenant, case = _about(past, row)
    if row.get("participant"):
        tenant = past.who.tenants[row["participant"]]
    owner = past.who.people[row["owner"]]
    # Who has to do it must be able to read it; everything else stays with the office.
    theirs = next(person.get("participant") for person in past.told["people"] if person["handle"] == row["owner"])
    with one_action():
        given = decisions.give_action_item(
            tenant=tenant,
            text=row["text"],
            owner=owner,
            due=past.shift.day(row["due_on"]),
            by=by,
            case=case,
            review=review,
            audience=row.get("audience", "shared" if theirs else "internal"),
            kind=row.get("kind", "prevent"),
            evidence=row.get("evidence", ""),
            number=row["id"],
            at=past.shift.moment(row["given_at"]) if row.get("given_at") else held,
            **imported(imported=row["id"]),
        )
    with acting_for(tenant, staff=True):
        ActionItem.objects.filter(pk=given.pk).update(times_carried=row.get("times_carried", 0))


def _about(past: Past, row: Row) -> tuple[Tenant, Case | None]:
    """The participant whose case it names, and that case; the office when it names none."""
    named = next((case for case in past.told.get("cases", []) if case["id"] == row.get("case")), None)
    if named is None:
        return past.office, None
    tenant = past.who.tenants[named["participant"]]
    with acting_for(tenant, staff=True):
        return tenant, Case.objects.get(pk=known(CASE_OPENED)[named["id"]])


def _end_items(past: Past, until: datetime | None) -> None:
    """Report as done what was done by then, so that each review finds the action items as they were."""
    untouched = _untouched_items()
    for row in past.told.get("action_items", []):
        if row["status"] not in ENDS or row["id"] not in untouched:
            continue
        at = past.noon(row["done_on"]) if row.get("done_on") else past.as_of
        if until is None or at <= until:
            with one_action():
                decisions.end_action_item(
                    item=untouched[row["id"]],
                    outcome=row["status"],
                    why=row.get("why", ""),
                    by=past.actor(row["owner"]),
                    ended_on=past.shift.day(row["done_on"]) if row.get("done_on") else None,
                    at=at,
                    **imported(),
                )


def _untouched_items() -> dict[str, ActionItem]:
    """The imported items that nobody has changed since, by the file's ids."""
    with reading_everyone():
        given = {pk: name for name, pk in known(states.GIVEN).items()}
        rows = ActionItem.objects.filter(pk__in=list(given), state="open", version=1).select_related("tenant")
        return {given[row.pk]: row for row in rows}
