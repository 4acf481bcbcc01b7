"""The weekly review: freeze, hold the session, settle each item, publish the minutes, lock."""

import hashlib
import uuid
from datetime import date
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from program import states
from program.freezing import freeze
from program.minutes import minutes_of
from program.models import Minutes, Review, ReviewItem
from support import states as case_states
from support.actions import plan_case
from support.models import Case
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Participation, Person, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

__all__ = ["freeze", "lock", "open_session", "publish", "settle_item", "unsettled"]

OPEN_REVIEW = ("draft", "in_session")


def open_session(*, review: Review, by: str, version: int | None = None) -> Review:
    """Begin the meeting."""
    with acting_for(review.tenant_id, staff=True):
        _hold(review, version)
        move(review, "in_session", by=by, number=review.number)
        review.refresh_from_db()
    return review


def settle_item(
    *,
    item: ReviewItem,
    owner: Person | None,
    next_step: str,
    due: date | None,
    by: str,
    version: int | None = None,
) -> ReviewItem:
    """What the meeting decided about one item, written to the item and its case alike.

    Raises Refused when owner, next step or date is missing: no open item leaves without all three.
    """
    with acting_for(item.tenant_id, staff=True):
        item.refresh_from_db(from_queryset=ReviewItem.objects.select_for_update(of=("self",)))
        review = Review.objects.get(pk=item.review_id)
        if review.state not in OPEN_REVIEW:
            raise Refused(
                "review_published", _("Review %(number)s is published: its items stand.") % {"number": review.number}
            )
        if version is not None and item.version != version:
            raise _stale(item, owner, next_step, due)
        missing = _missing(owner, next_step.strip(), due)
        if missing or owner is None or due is None:
            raise Refused(
                "incomplete",
                _("An open item needs an owner, a next step and a date. Missing: %(missing)s.")
                % {"missing": ", ".join(_words(missing))},
                status=422,
                missing=missing,
            )
        case = Case.objects.get(pk=item.case_id)
        plan_case(case=case, owner=owner, next_step=next_step, due=due, by=by)
        ReviewItem.objects.filter(pk=item.pk).update(
            owner=owner, next_step=case.next_step, next_step_due=due, discussed_at=Now(), version=F("version") + 1
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


def _missing(owner: Any, next_step: str, due: Any) -> list[str]:
    return [name for name, value in (("owner", owner), ("next_step", next_step), ("due", due)) if not value]


def _words(missing: list[str]) -> list[str]:
    words = {"owner": _("owner"), "next_step": _("next step"), "due": _("date")}
    return [words[name] for name in missing]


def _stale(item: ReviewItem, owner: Person | None, next_step: str, due: date | None) -> Stale:
    theirs = {"owner": str(item.owner or ""), "next_step": item.next_step, "due": str(item.next_step_due or "")}
    yours = {"owner": str(owner or ""), "next_step": next_step, "due": str(due or "")}
    return Stale(
        "stale",
        _("Somebody settled this item meanwhile. Compare, and save again."),
        version=item.version,
        changes={field: [theirs[field], yours[field]] for field in theirs if theirs[field] != yours[field]},
    )


def unsettled(review: Review) -> list[dict[str, Any]]:
    """The flagged items whose case is still open and which lack an owner, a next step or a date."""
    with reading_everyone():
        rows = (
            ReviewItem.objects.filter(review_id=review.pk, case__state__in=case_states.OPEN)
            .exclude(agenda_group="rest")
            .order_by("position")
            .values("id", "tenant__slug", "case__number", "owner_id", "next_step", "next_step_due")
        )
        found = [{**row, "missing": _missing(row["owner_id"], row["next_step"], row["next_step_due"])} for row in rows]
    return [
        {"item": str(row["id"]), "tenant": row["tenant__slug"], "case": row["case__number"], "missing": row["missing"]}
        for row in found
        if row["missing"]
    ]


def publish(*, review: Review, by: str, version: int | None = None) -> Review:
    """Give every participant its own minutes, written while acting for it alone.

    Raises Refused while a flagged open item lacks an owner, a next step or a date; the rest is accepted as a block.
    """
    with acting_for(review.tenant_id, staff=True):
        _hold(review, version)
        left = unsettled(review)
        if left and review.state in OPEN_REVIEW:
            raise Refused(
                "unsettled",
                _("%(cases)s: each needs an owner, a next step and a date before the minutes go out.")
                % {"cases": ", ".join(f"{item['tenant']} {item['case']}" for item in left)},
                items=left,
            )
        action = move(review, "published", by=by, columns={"published_at": Now()}, number=review.number).action_id
        review.refresh_from_db()
        for tenant in _participants(review):
            _give_minutes(tenant, review, by, action)
    return review


def _participants(review: Review) -> list[Tenant]:
    with reading_everyone():
        ids = list(Participation.objects.filter(cycle=review.cycle_id).values_list("tenant_id", flat=True))
    return list(Tenant.objects.filter(pk__in=ids).order_by("slug"))


def _give_minutes(tenant: Tenant, review: Review, by: str, action: uuid.UUID) -> None:
    # Without `staff` neither another participant's rows nor internal text exist here, so none can get in.
    with acting_for(tenant):
        body = minutes_of(tenant, review)
        minutes = Minutes.objects.create(
            tenant=tenant,
            review_id=review.pk,
            review_number=review.number,
            cutoff_at=review.cutoff_at,
            body=body,
            sha256=hashlib.sha256(body.encode()).hexdigest(),
        )
        told = {"about": minutes, "by": by, "action_id": action, "number": review.number}
        timeline.record("review.published", cutoff=review.cutoff_at.isoformat(), **told)
        timeline.record(states.MINUTES_PUBLISHED, sha256=minutes.sha256, **told)


def lock(*, review: Review, by: str, version: int | None = None) -> Review:
    """End a published review for good."""
    with acting_for(review.tenant_id, staff=True):
        _hold(review, version)
        move(review, "locked", by=by, number=review.number)
        review.refresh_from_db()
    return review


def _hold(review: Review, version: int | None) -> None:
    review.refresh_from_db(from_queryset=Review.objects.select_for_update(of=("self",)))
    if version is not None and review.version != version:
        raise Stale(
            "stale", _("Somebody changed this review meanwhile. Look at it again."), version=review.version, changes={}
        )
