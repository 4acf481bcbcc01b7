"""Attaching a file to a case, which is a way of answering: what the participant sends ends the wait for it."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from support import states
from support.models import Case
from support.writing import fresh, hold, moment, one_of, speaker
from tenants.files import attach
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Attachment
from tenants.wall.acting import scope
from tenants.web.problems import Refused


def attach_to_case(
    *,
    case: Case,
    name: str,
    content: bytes,
    media_type: str,
    by: str,
    audience: str = "shared",
    at: datetime | None = None,
) -> Attachment:
    """Keep a file on a case: shared with the participant, or internal."""
    one_of(audience, ("shared", "internal"), "audience")
    if audience == "internal" and not scope().staff:
        raise Refused("internal_not_yours", _("Internal files are the office's."), status=403)
    # Before the case is held: writing 20 MiB to the disk keeps nobody else from the case.
    kept = attach(about=case, name=name, content=content, media_type=media_type, by=by, audience=audience)
    hold(case)
    at = moment(at)
    told: dict[str, Any] = {"number": case.number, "name": kept.name, "file": str(kept.pk), "size": kept.size}
    timeline.record(states.CASE_FILE, about=case, by=by, at=at, audience=audience, **told)
    if audience == "shared" and case.state == "waiting_customer" and speaker(by, at) == "customer":
        move(case, "in_progress", by=by, at=at, number=case.number)
        fresh(case)
    return kept
