"""What the chair does with the agenda: add a late item, move one, accept as a block, take one up outside the meeting."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import F, Max, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import override

from program import states
from program.figures import GROUPS, CaseThen, Event, Item, agenda, state_at
from program.models import Review, ReviewItem
from program.settling import hold_open, refuse_stale
from support.models import Case
from support.states import ENDED
from support.writing import moment
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Participation
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused

ESCALATES_AT = 4  # times on the agenda, from which an escalation is proposed


def in_order(items: Iterable[ReviewItem]) -> list[ReviewItem]:
    """The order of the meeting: by group, and in it by place; a late item comes last in its group."""
    return sorted(items, key=lambda item: (GROUPS.index(item.agenda_group), item.late, item.position))


def late_cases(review: Review) -> list[Case]:
    """Open cases that are not on the agenda: opened, reopened or told only after the freeze; they count next time."""
    with reading_everyone():
        listed = ReviewItem.objects.filter(review_id=review.pk).values("case_id")
        rows = Case.objects.filter(_of_cycle(review)).exclude(state__in=ENDED).exclude(pk__in=listed)
        return list(rows.select_related("tenant").order_by("opened_at", "id")[:100])


def _of_cycle(review: Review) -> Q:
    """The cases that a freeze of this cycle would count: of its participations, or of no single one of their tenant."""
    taking_part = Participation.objects.filter(cycle=review.cycle_id)
    return Q(participation__in=taking_part.values("pk")) | Q(
        participation=None, tenant__in=taking_part.values("tenant_id")
    )


def add_late_item(*, review: Review, case: Case, by: str) -> ReviewItem:
    """Put an open case on the agenda that the freeze did not know of; it is counted next week."""
    with acting_for(case.tenant_id, staff=True):
        review = hold_open(review.pk)
        case.refresh_from_db()
        if case.state in ENDED:
            raise Refused(
                "case_ended", _("%(number)s is resolved. Reopen it first.") % {"number": case.number}, state=case.state
            )
        if not Case.objects.filter(_of_cycle(review), pk=case.pk).exists():
            raise Refused(
                "other_cycle",
                _("%(number)s is no case of this review's cycle: it would never be counted. Take it up in its own.")
                % {"number": case.number},
            )
        if ReviewItem.objects.filter(review_id=review.pk, case=case).exists():
            raise Refused("on_agenda", _("%(number)s is on the agenda already.") % {"number": case.number})
        at = moment(None)
        row = _late(review, case, at)
        timeline.record(states.ITEM_LATE, about=row, by=by, case=case.number, number=review.number)
    return row


def _late(review: Review, case: Case, at: datetime) -> ReviewItem:
    then = _now(case)
    with reading_everyone():
        times = ReviewItem.objects.filter(case_id=case.pk).count()
        last = ReviewItem.objects.filter(review_id=review.pk).aggregate(last=Max("position"))["last"] or 0
    (item,) = agenda([then], at, {then.case: times}, frozenset())
    return ReviewItem.objects.create(
        tenant_id=case.tenant_id,
        review_id=review.pk,
        case=case,
        position=last + 1,
        late=True,
        owner_id=then.owner,
        next_step=then.next_step,
        next_step_due=then.due,
        **_as_stored(item),
    )


def _as_stored(item: Item) -> dict[str, Any]:
    return {
        "agenda_group": item.group,
        "state_then": item.then.state,
        "severity_then": item.then.severity,
        "age_days": item.age,
        "idle_days": item.idle,
        "times_on_agenda": item.times,
        "carried_over": False,
    }


def _now(case: Case) -> CaseThen:
    """The case as its entries tell it until now."""
    columns = ("id", "kind", "occurred_at", "recorded_at", "facts")
    rows = Entry.objects.filter(subject=Case.SUBJECT, subject_id=case.pk).values_list(*columns)
    return state_at(Event(pk, str(case.pk), "", kind, at, recorded, facts) for pk, kind, at, recorded, facts in rows)


def move_item(*, item: ReviewItem, by: str, earlier: bool) -> None:
    """Change places with the neighbour in the same group."""
    hold_open(item.review_id)
    with reading_everyone():
        group = in_order(ReviewItem.objects.filter(review_id=item.review_id, agenda_group=item.agenda_group))
    places = [row.pk for row in group]
    here = places.index(item.pk)
    there = here - 1 if earlier else here + 1
    if not 0 <= there < len(group) or group[there].late != group[here].late:
        return
    for row, place in ((group[here], group[there].position), (group[there], group[here].position)):
        with acting_for(row.tenant_id, staff=True):
            ReviewItem.objects.filter(pk=row.pk).update(position=place)


def accept_as_block(
    *, review: Review, by: str, items: Iterable[ReviewItem] | None = None, version: int | None = None
) -> int:
    """Accept what needs no talk: all of the last group, or some of it. Raises Refused for an item with a flag."""
    review = hold_open(review.pk)
    refuse_stale(review, version)
    if items is None:
        with reading_everyone():
            rows = ReviewItem.objects.filter(
                review_id=review.pk, agenda_group="rest", accepted_as_block=False, discussed_at=None
            )
            items = list(rows)
    found = list(items)
    flagged = [item for item in found if item.agenda_group != "rest"]
    if flagged:
        raise Refused("flagged", _("Only items without a flag are accepted as a block; the others are gone through."))
    for tenant in {item.tenant_id for item in found}:
        with acting_for(tenant, staff=True):
            _accept([item.pk for item in found if item.tenant_id == tenant], review, by)
    return len(found)


def _accept(ids: list[Any], review: Review, by: str) -> None:
    rows = ReviewItem.objects.filter(pk__in=ids, accepted_as_block=False).select_related("case")
    for row in list(rows.select_for_update(of=("self",))):
        ReviewItem.objects.filter(pk=row.pk).update(
            accepted_as_block=True, outcome=ReviewItem.Outcome.BLOCK, discussed_at=Now(), version=F("version") + 1
        )
        timeline.record(states.ITEM_BLOCK, about=row, by=by, case=row.case.number, number=review.number)


def conclude(*, item: ReviewItem, outcome: str, by: str) -> ReviewItem:
    """How the meeting left an item that it did not settle by a plan: talked about elsewhere, or ended right there."""
    with acting_for(item.tenant_id, staff=True):
        review = hold_open(item.review_id)
        item.refresh_from_db(from_queryset=ReviewItem.objects.select_for_update(of=("self",)))
        with override(None):
            words = str(ReviewItem.Outcome(outcome).label)
        ReviewItem.objects.filter(pk=item.pk).update(outcome=outcome, discussed_at=Now(), version=F("version") + 1)
        case = Case.objects.get(pk=item.case_id)
        timeline.record(states.ITEM_OUTCOME, about=item, by=by, case=case.number, number=review.number, outcome=words)
        item.refresh_from_db()
    return item
