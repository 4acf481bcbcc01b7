"""The weekly review's session: open it, settle each item, and know what is still unsettled."""

from datetime import date
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from program import states
from program.figures import THIRD_TIME
from program.models import Review, ReviewItem
from support import states as case_states
from support.actions import plan_case
from support.models import Case
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Person, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

SETTLED_BY = ("owner_id", "next_step", "next_step_due", "times_on_agenda", "times_reason")


def hold(review: Review, version: int | None) -> None:
    """Lock a review and bring it up to date. Raises Stale when the page that was sent is older."""
    review.refresh_from_db(from_queryset=Review.objects.select_for_update(of=("self",)))
    refuse_stale(review, version)


def refuse_stale(review: Review, version: int | None) -> None:
    """Of a review that is held: whoever says on which version a step rests is told when that one is gone."""
    if version is not None and review.version != version:
        raise Stale(
            "stale", _("Somebody changed this review meanwhile. Look at it again."), version=review.version, changes={}
        )


def hold_open(review_id: UUID) -> Review:
    """The review, locked before any item or case of it, so that publishing waits or has happened. Raises Refused then."""
    office = Tenant.objects.get(is_office=True)
    with acting_for(office, staff=True):
        review = Review.objects.select_for_update(of=("self",)).get(pk=review_id)
    if review.state not in states.OPEN_REVIEW:
        raise Refused(
            "review_published",
            _("The minutes of review %(number)s went out: its items stand.") % {"number": review.number},
        )
    return review


def open_session(*, review: Review, by: str, version: int | None = None) -> Review:
    """Begin the meeting."""
    with acting_for(review.tenant_id, staff=True):
        hold(review, version)
        move(review, "in_session", by=by, columns={"held_at": Now()}, number=review.number)
        review.refresh_from_db()
    return review


def settle_item(
    *,
    item: ReviewItem,
    owner: Person | None,
    next_step: str,
    due: date | None,
    by: str,
    reason: str = "",
    outcome: str = ReviewItem.Outcome.SETTLED,
    version: int | None = None,
) -> ReviewItem:
    """What the meeting decided about one item, written to the item and its case alike.

    Raises Refused when owner, next step or date is missing, or at the third time why it is here again.
    """
    with acting_for(item.tenant_id, staff=True):
        review = hold_open(item.review_id)
        item.refresh_from_db(from_queryset=ReviewItem.objects.select_for_update(of=("self",)))
        if version is not None and item.version != version:
            raise _stale(item, owner, next_step, due, reason)
        reason = reason.strip()[:300] or item.times_reason
        missing = _missing(owner, next_step.strip(), due, item.times_on_agenda, reason)
        if missing or owner is None or due is None:
            raise _incomplete(missing)
        case = Case.objects.get(pk=item.case_id)
        plan_case(case=case, owner=owner, next_step=next_step, due=due, by=by)
        ReviewItem.objects.filter(pk=item.pk).update(
            owner=owner,
            next_step=case.next_step,
            next_step_due=due,
            times_reason=reason,
            outcome=outcome,
            discussed_at=Now(),
            version=F("version") + 1,
        )
        item.refresh_from_db()
        timeline.record(
            states.ITEM_SETTLED,
            about=item,
            by=by,
            case=case.number,
            number=review.number,
            owner=str(owner.pk),
            next_step=case.next_step,
            due=due.isoformat(),
        )
    return item


def _missing(owner: Any, next_step: str, due: Any, times: int = 1, reason: str = "") -> list[str]:
    wanted = {"owner": owner, "next_step": next_step, "due": due}
    if times >= THIRD_TIME:
        wanted["reason"] = reason
    return [name for name, value in wanted.items() if not value]


def _incomplete(missing: list[str]) -> Refused:
    words = {"owner": _("owner"), "next_step": _("next step"), "due": _("date"), "reason": _("why it is here again")}
    told = ", ".join(words[name] for name in missing)
    sentence = _("An open item needs an owner, a next step and a date. Missing: %(missing)s.") % {"missing": told}
    return Refused("incomplete", sentence, status=422, missing=missing)


def _stale(item: ReviewItem, owner: Person | None, next_step: str, due: date | None, reason: str) -> Stale:
    theirs = {"owner": str(item.owner or ""), "next_step": item.next_step, "due": str(item.next_step_due or "")}
    yours = {"owner": str(owner or ""), "next_step": next_step, "due": str(due or "")}
    if reason.strip() or item.times_reason:
        theirs["reason"], yours["reason"] = item.times_reason, reason.strip()
    return Stale(
        "stale",
        _("Somebody settled this item meanwhile. Compare, and save again."),
        version=item.version,
        changes={field: [theirs[field], yours[field]] for field in theirs if theirs[field] != yours[field]},
    )


def unsettled(review: Review) -> list[dict[str, Any]]:
    """The flagged items whose case is still open and which lack an owner, a next step, a date or the asked-for reason."""
    with reading_everyone():
        rows = (
            ReviewItem.objects.filter(review_id=review.pk, case__state__in=case_states.OPEN)
            .exclude(agenda_group="rest")
            .exclude(accepted_as_block=True)
            .order_by("position")
            .values("id", "tenant__slug", "case__number", *SETTLED_BY)
        )
        found = [{**row, "missing": _missing(*(row[name] for name in SETTLED_BY))} for row in rows]
    return [
        {"item": str(row["id"]), "tenant": row["tenant__slug"], "case": row["case__number"], "missing": row["missing"]}
        for row in found
        if row["missing"]
    ]
