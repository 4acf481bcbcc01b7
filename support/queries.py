"""Reads of cases: which ones a role may see, their notes, what needs attention about one."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from support import clocks, states
from support.clocks import Pause
from support.escalation import components_of
from support.models import Case, CaseNote
from tenants.history.models import Entry
from tenants.models import Attachment, Person
from tenants.wall import roles


def cases(*, role: str, person: Person) -> QuerySet[Case]:
    """The cases this person may see in the scope; a service engineer's are those escalated to the own component."""
    rows = Case.objects.all()
    if role == roles.SERVICE_ENGINEER:
        rows = rows.filter(component__in=components_of(person))
    return rows


def open_cases(*, role: str, person: Person) -> QuerySet[Case]:
    return cases(role=role, person=person).filter(state__in=states.OPEN)


def case_notes(case: Case) -> QuerySet[CaseNote]:
    """What was written on a case, oldest first; internal notes exist only in a staff scope."""
    return CaseNote.objects.filter(case=case).order_by("at", "id")


def case_files(case: Case) -> QuerySet[Attachment]:
    """What is attached to a case, oldest first; internal files exist only in a staff scope."""
    return Attachment.objects.filter(subject=Case.SUBJECT, subject_id=case.pk).order_by("created_at", "id")


def case_history(case: Case) -> QuerySet[Entry]:
    """The entries about a case, to be paged."""
    return Entry.objects.filter(subject=Case.SUBJECT, subject_id=case.pk)


def attention(case: Any, now: datetime) -> list[str]:
    """Why an open case needs somebody, worst first; `case` may be a row of values or the object itself."""
    value = case.get if isinstance(case, dict) else lambda name: getattr(case, name)
    if value("state") in states.ENDED:
        return []
    severity, start = value("severity"), clocks.started(value("opened_at"), value("reopened_at"))
    late = clocks.response_overdue(severity, start, value("first_response_at"), now, value("severity_raised_at"))
    due = value("next_step_due")
    found = {
        "response_overdue": late,
        "no_owner": value("owner_id") is None,
        "no_next_step": not value("next_step"),
        "step_overdue": due is not None and due < now.date(),
        "over_age": clocks.over_age(severity, start, now),
    }
    return [code for code, holds in found.items() if holds]


def response_due(case: Case) -> datetime:
    """When the first response to a case is, or was, due."""
    return clocks.response_due(case.severity, clocks.started(case.opened_at, case.reopened_at), case.severity_raised_at)


def pauses(case: Case) -> list[Pause]:
    """When the case waited for the participant, from its history."""
    moves = [f"case.{state}" for state in states.CASE]
    rows = case_history(case).filter(kind__in=moves).order_by("occurred_at", "id").values_list("kind", "occurred_at")
    found: list[Pause] = []
    begun: datetime | None = None
    for kind, at in rows:
        if begun is not None:
            found.append(Pause(begun, at))
        begun = at if kind == "case.waiting_customer" else None
    return [*found, Pause(begun)] if begun else found
