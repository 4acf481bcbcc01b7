"""The minutes: published per audience, edited until they are locked, and corrected by addenda after."""

import hashlib
import re
from datetime import datetime
from typing import Any

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
from tenants.history.moves import move
from tenants.models import Participation, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

LONGEST = 200_000


def publish(*, review: Review, by: str, version: int | None = None) -> Review:
    """Give every participant its own minutes, written while acting for it alone, and the office the internal version.

    Raises Refused while a flagged open item lacks what it needs; the rest is accepted as a block.
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
        give_out(review=review, by=by)
    return review


def give_out(*, review: Review, by: str, at: datetime | None = None, **facts: Any) -> None:
    """Publish as it stands. Runs in the office's scope."""
    columns = {"published_at": at or Now()}
    action = move(review, "published", by=by, at=at, columns=columns, number=review.number, **facts).action_id
    review.refresh_from_db()
    for tenant in _participants(review):
        _give_minutes(tenant, review, {"by": by, "at": at, "action_id": action, "number": review.number, **facts})
    _keep(Tenant.objects.get(pk=review.tenant_id), review, internal_minutes(review))


def _participants(review: Review) -> list[Tenant]:
    with reading_everyone():
        ids = list(Participation.objects.filter(cycle=review.cycle_id).values_list("tenant_id", flat=True))
    return list(Tenant.objects.filter(pk__in=ids).order_by("slug"))


def _give_minutes(tenant: Tenant, review: Review, told: dict[str, Any]) -> None:
    # Without `staff` neither another participant's rows nor internal text exist here, so none can get in.
    with acting_for(tenant):
        minutes = _keep(tenant, review, minutes_of(tenant, review))
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
