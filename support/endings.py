"""How a case ends and comes back: resolved with its cause, reopened with its clocks restarted, put away."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import override

from support import states
from support.escalation import end_idle_seats, seat_engineers
from support.models import Case
from support.writing import hold, moment, moved, one_of, text_of
from tenants.history import timeline
from tenants.web.problems import Refused

MOST_LOST_HOURS = Decimal(10) ** 8  # what the column holds


def resolve_case(
    *,
    case: Case,
    cause: str,
    cause_text: str = "",
    lost_hours: Decimal | None = None,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> Case:
    """End a case with its cause and the instance hours it cost."""
    one_of(cause, tuple(Case.Cause.values), "cause")
    if lost_hours is not None and not 0 <= lost_hours < MOST_LOST_HOURS:
        raise Refused(
            "lost_hours",
            _("Lost instance hours are a number from 0 to %(most)s.") % {"most": MOST_LOST_HOURS - 1},
            status=422,
            field="lost_hours",
        )
    at = moment(at)
    columns = {"cause": cause, "cause_text": cause_text.strip(), "lost_hours": lost_hours, "resolved_at": at}
    with override(None):  # the history keeps the source language's word
        words = str(Case.Cause(cause).label)
    hours = None if lost_hours is None else f"{lost_hours:f}"
    moved(
        case,
        "resolved",
        by=by,
        version=version,
        at=at,
        columns=columns,
        cause=words,
        cause_code=cause,
        lost_hours=hours,
        **facts,
    )
    end_idle_seats(tenant=case.tenant, component=case.component, by=by, at=at, **facts)
    return case


def reopen_case(
    *, case: Case, why: str, by: str, version: int | None = None, at: datetime | None = None, **facts: Any
) -> Case:
    """Open an ended case again: its clocks restart, its first opening, evidence and notes stay."""
    why = text_of(why, _("why"), 300, "why")
    hold(case, version)
    if case.state not in states.ENDED:
        raise Refused("case_open", _("%(number)s is open.") % {"number": case.number}, state=case.state)
    at = moment(at)
    told = {"severity": case.severity, "number": case.number, "why": why, **facts}
    timeline.record(states.CASE_REOPENED, about=case, by=by, at=at, **told)
    columns = {"reopened_at": at, "resolved_at": None, "first_response_at": None}
    moved(case, "in_progress", by=by, at=at, columns=columns, **facts)
    if case.component:
        seat_engineers(case=case, by=by, at=at, **facts)
    return case


def close_case(*, case: Case, by: str, version: int | None = None, at: datetime | None = None) -> Case:
    """Put a resolved case away."""
    return moved(case, "closed", by=by, version=version, at=at)
