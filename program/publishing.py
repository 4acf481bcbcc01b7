"""The minutes: published per audience, edited until they are locked, and corrected by addenda after."""

import hashlib
import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from program import states
from program.decisions import carry_open_items
from program.internal_minutes import internal_minutes
from program.meeting import accept_as_block
from program.minutes import minutes_of
from program.models import Addendum, Minutes, Review
from program.settling import hold, unsettled
from support.writing import text_of
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.models import Due, Participation, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tenants.work import due
from tenants.work.loop import handler

LONGEST = 200_000
MINUTES = "minutes"  # waits: a participant's minutes of a review


def publish(*, review: Review, by: str, version: int | None = None) -> Review:
    """Wish for everybody's minutes: each participant's own, made while acting for it alone, and the office's internal ones.

    The review is published when all are there; until then its items stand as they are. Raises Refused while a flagged open item lacks what it needs; the rest is accepted as a block.
    """
    with acting_for(review.tenant_id, staff=True):
        hold(review, version)
        left = unsettled(review)
        if left and review.state in states.OPEN_REVIEW:
            raise Refused(
                "unsettled",
                _("%(cases)s: each needs an owner, a next step and a date before the minutes go out.")
                % {"cases": ", ".join(f"{item['tenant']} {item['case']}" for item in left)},
                items=left,
            )
        if review.state in states.OPEN_REVIEW:
            accept_as_block(review=review, by=by)
            carry_open_items(cutoff=review.cutoff_at, review=review)
        move(review, "publishing", by=by, columns={"published_at": Now()}, number=review.number)
        review.refresh_from_db()
        for tenant in _everybody(review):
            due.wish(MINUTES, f"{review.pk.hex}.{tenant.pk.hex[:24]}", tenant=tenant)
    return review


def give_out(*, review: Review, by: str, at: datetime, **facts: Any) -> None:
    """Publish all at once what was published in the past. Runs in the office's scope."""
    columns = {"published_at": at}
    action = move(review, "publishing", by=by, at=at, columns=columns, number=review.number, **facts).action_id
    review.refresh_from_db()
    for tenant in _everybody(review):
        told = {"by": by, "at": at, "action_id": action, "number": review.number, **facts}
        _give_minutes(tenant, review, _body(tenant, review), told)
    move(review, "published", by=by, at=at, number=review.number, **facts)
    review.refresh_from_db()


@handler(MINUTES)
def make_minutes(held: due.Held) -> None:
    """One participant's minutes of one review; whoever makes the last ones publishes the review."""
    office = Tenant.objects.get(is_office=True)
    with acting_for(office, staff=True):
        tenant = Tenant.objects.get(pk=held.tenant_id)
        review = Review.objects.get(pk=UUID(held.ref.partition(".")[0]))
        body = _body(tenant, review)  # before the lock, so that many are made at once
        hold(review, None)
        wished = Entry.objects.filter(kind=states.PUBLISHING, subject_id=review.pk).latest("id")
        if review.state == "publishing" and not _is_there(tenant, review):
            told = {"by": wished.actor, "at": None, "action_id": wished.action_id, "number": review.number}
            _give_minutes(tenant, review, body, told)
        due.remove(held)
        # The lock lets one in at a time, so the last one sees that all others are gone.
        if review.state == "publishing" and not minutes_awaited(review):
            move(review, "published", by=wished.actor, number=review.number)


def minutes_awaited(review: Review) -> list[Due]:
    """What is still to be made of a review that is being published."""
    return list(Due.objects.filter(kind=MINUTES, ref__startswith=f"{review.pk.hex}.").select_related("tenant"))


def _is_there(tenant: Tenant, review: Review) -> bool:
    with acting_for(tenant):
        return Minutes.objects.filter(review_id=review.pk).exists()


def _everybody(review: Review) -> list[Tenant]:
    """The participants and the office, which gets the internal version."""
    return [*_participants(review), Tenant.objects.get(pk=review.tenant_id)]


def _body(tenant: Tenant, review: Review) -> str:
    if tenant.is_office:
        return internal_minutes(review)
    # Without `staff` neither another participant's rows nor internal text exist here, so none can get in.
    with acting_for(tenant):
        return minutes_of(tenant, review)


def _participants(review: Review) -> list[Tenant]:
    with reading_everyone():
        ids = list(Participation.objects.filter(cycle=review.cycle_id).values_list("tenant_id", flat=True))
    return list(Tenant.objects.filter(pk__in=ids).order_by("slug"))


def _give_minutes(tenant: Tenant, review: Review, body: str, told: dict[str, Any]) -> None:
    if tenant.is_office:
        _keep(tenant, review, body)
        return
    with acting_for(tenant):
        minutes = _keep(tenant, review, body)
        timeline.record("review.published", about=minutes, cutoff=review.cutoff_at.isoformat(), **told)
        timeline.record(states.MINUTES_PUBLISHED, about=minutes, sha256=minutes.sha256, **told)


def _keep(tenant: Tenant, review: Review, body: str) -> Minutes:
    return Minutes.objects.create(
        tenant=tenant,
        review_id=review.pk,
        review_number=review.number,
        cutoff_at=review.cutoff_at,
        body=body,
        sha256=_digest(body),
    )


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def edit_minutes(*, minutes: Minutes, body: str, by: str, version: int | None = None) -> Minutes:
    """Change the words of minutes that are not locked. Raises Refused when they name another participant."""
    body = text_of(body.replace("\r\n", "\n"), _("the minutes"), LONGEST, "body") + "\n"
    with acting_for(minutes.tenant_id, staff=True):
        minutes.refresh_from_db(from_queryset=Minutes.objects.select_for_update(of=("self",)))
        if minutes.locked_at is not None:
            raise Refused("locked", _("These minutes are locked. What has to be corrected now becomes an addendum."))
        if version is not None and minutes.version != version:
            raise Stale(
                "stale",
                _("Somebody edited these minutes meanwhile. Compare, and save again."),
                version=minutes.version,
                changes={"body": [minutes.body, body]},
            )
        _refuse_others_names(minutes, body, minutes.body)
        was = minutes.sha256
        if body != minutes.body:
            Minutes.objects.filter(pk=minutes.pk).update(
                body=body, sha256=_digest(body), edited_by=by, edited_at=Now(), version=F("version") + 1
            )
            minutes.refresh_from_db()
            told = {"number": minutes.review_number, "was_sha256": was, "sha256": minutes.sha256}
            timeline.record(states.MINUTES_EDITED, about=minutes, by=by, audience=_audience(minutes), **told)
    return minutes


def _audience(minutes: Minutes) -> str:
    return "internal" if minutes.tenant.is_office else "shared"


def _refuse_others_names(minutes: Minutes, text: str, before: str = "") -> None:
    """What a person types could name another participant; what was rendered cannot."""
    if minutes.tenant.is_office:
        return
    for name in Tenant.objects.filter(is_office=False).exclude(pk=minutes.tenant_id).values_list("name", flat=True):
        spelt = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        if spelt.search(text) and not spelt.search(before):
            raise Refused(
                "names_others",
                _("This names %(name)s, which is another participant: it would read about it.") % {"name": name},
                status=422,
                field="body",
            )


def lock(*, review: Review, by: str, version: int | None = None, at: datetime | None = None, **facts: Any) -> Review:
    """End a published review for good: from now on its minutes only get addenda."""
    with acting_for(review.tenant_id, staff=True):
        hold(review, version)
        columns = {"locked_at": at or Now()}
        action = move(review, "locked", by=by, at=at, columns=columns, number=review.number, **facts).action_id
        review.refresh_from_db()
        with reading_everyone():
            rows = list(Minutes.objects.filter(review_id=review.pk, locked_at=None).select_related("tenant"))
        for row in rows:
            with acting_for(row.tenant_id, staff=True):
                Minutes.objects.filter(pk=row.pk, locked_at=None).update(locked_at=at or Now())
                told = {"number": review.number, "sha256": row.sha256, "action_id": action, **facts}
                timeline.record(states.MINUTES_LOCKED, about=row, by=by, at=at, audience=_audience(row), **told)
    return review


def add_addendum(*, minutes: Minutes, text: str, by: str) -> Addendum:
    """Correct locked minutes: the addendum stands beside them, for whoever may read them."""
    text = text_of(text, _("the addendum"), 5_000)
    with acting_for(minutes.tenant_id, staff=True):
        minutes.refresh_from_db()
        if minutes.locked_at is None:
            raise Refused("not_locked", _("These minutes are not locked yet: edit them instead."))
        _refuse_others_names(minutes, text)
        row = Addendum.objects.create(tenant_id=minutes.tenant_id, minutes=minutes, text=text, author=by)
        told = {"number": minutes.review_number, "addendum": str(row.pk)}
        timeline.record(states.ADDENDUM, about=minutes, by=by, audience=_audience(minutes), **told)
    return row
