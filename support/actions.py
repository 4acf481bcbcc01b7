"""What people do with a case: open, take, write, ask, plan, wait, resolve, reopen, close. Each writes its history."""

from datetime import date, datetime
from typing import Any

from django.db.models.functions import Length
from django.utils.translation import gettext as _

from clusters.models import Cluster, Job
from support import states
from support.endings import close_case, reopen_case, resolve_case
from support.escalation import escalate_case
from support.models import Case, CaseNote
from support.writing import (
    fresh,
    hold,
    moment,
    moved,
    one_of,
    person_of,
    refuse_an_owner_from_elsewhere,
    refuse_ended,
    speaker,
    text_of,
    write,
)
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Participation, Person, Tenant
from tenants.wall.acting import scope
from tenants.web.problems import Refused

__all__ = [
    "ask_customer",
    "change_severity",
    "close_case",
    "escalate_case",
    "mitigate_case",
    "note_case",
    "open_case",
    "plan_case",
    "reopen_case",
    "resolve_case",
    "resume_case",
    "take_case",
    "wait_for",
]


def open_case(
    *,
    tenant: Tenant,
    title: str,
    severity: str,
    by: str,
    type: str = "problem",
    text: str = "",
    participation: Participation | None = None,
    cluster: Cluster | None = None,
    job: Job | None = None,
    category: str = "",
    signature: str = "",
    evidence: dict[str, Any] | None = None,
    number: str = "",
    at: datetime | None = None,
    **facts: Any,
) -> Case:
    """Open a case under the tenant's next number, unless it brings one; `text` becomes its first shared note."""
    title = text_of(title, _("a title"), 200, "title")
    one_of(severity, states.SEVERITIES, "severity")
    one_of(type, tuple(Case.Type.values), "type")
    text = text_of(text, _("what happened"), 20_000) if text.strip() else ""
    at = moment(at)
    cluster = cluster or (job.cluster if job else None)
    who = speaker(by, at)
    case = Case(
        tenant=tenant,
        participation_id=participation.pk if participation else _participation_of(cluster),
        cluster=cluster,
        job=job,
        number=number or _next_number(tenant),
        type=type,
        title=title,
        severity=severity,
        category=category[:30],
        signature=signature[:120],
        evidence=evidence or {},
        opened_at=at,
        last_shared_at=at if text and who != "machine" else None,
        opened_by=by,
    )
    case.save(force_insert=True)
    if text:
        note = CaseNote.objects.create(tenant=tenant, case=case, audience="shared", text=text, author=by, at=at)
        facts["case_note"] = str(note.pk)
    timeline.record(
        states.CASE_OPENED,
        about=case,
        by=by,
        at=at,
        severity=severity,
        number=case.number,
        title=title,
        type=type,
        case_severity=severity,
        category=case.category,
        **_spoken(who if text else "machine"),
        **facts,
    )
    return case


def _next_number(tenant: Tenant) -> str:
    """The lock lets one case in at a time; a plain FOR UPDATE would also stop every row that names the tenant."""
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    # CASE-10000 sorts before CASE-9999: the longest number comes first, then the greatest.
    last = (
        Case.objects.filter(tenant=tenant, number__regex=r"^CASE-[0-9]{1,15}$")  # an imported one may look otherwise
        .order_by(Length("number").desc(), "-number")
        .values_list("number", flat=True)
        .first()
    )
    return f"CASE-{int((last or 'CASE-0').partition('-')[2]) + 1:04d}"


def _participation_of(cluster: Cluster | None) -> Any:
    """The cluster's participation, or the only one the tenant has; None when that would be a guess."""
    if cluster is not None:
        return cluster.participation_id
    living = list(Participation.objects.exclude(state__in=("closed", "withdrawn")).values_list("pk", flat=True)[:2])
    return living[0] if len(living) == 1 else None


def take_case(*, case: Case, person: Person, by: str, version: int | None = None, at: datetime | None = None) -> Case:
    """Make a person the owner. Who takes a case works on it; who is given one has it triaged."""
    hold(case, version, owner=person)
    refuse_ended(case)
    at = moment(at)
    refuse_an_owner_from_elsewhere(person, case.tenant, at)
    themselves = person_of(by) == person
    write(case, owner=person)
    kind = states.CASE_TAKEN if themselves else states.CASE_GIVEN
    timeline.record(kind, about=case, by=by, at=at, number=case.number, owner=str(person.pk))
    if themselves and case.state in ("new", "triaged"):
        move(case, "in_progress", by=by, at=at, number=case.number)
    elif case.state == "new":
        move(case, "triaged", by=by, at=at, number=case.number)
    return fresh(case)


def note_case(
    *,
    case: Case,
    text: str,
    audience: str,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    answers: bool = True,
    **facts: Any,
) -> CaseNote:
    """Write on a case: shared with the participant, or internal. What the customer `answers` ends the wait for it."""
    text = text_of(text, _("your note"), 20_000)
    one_of(audience, ("shared", "internal"), "audience")
    if audience == "internal" and not scope().staff:
        raise Refused("internal_not_yours", _("Internal notes are the office's."), status=403)
    hold(case, version)
    at = moment(at)
    note, spoken = _note(case, text, audience, by, at)
    timeline.record(
        states.CASE_NOTED,
        about=case,
        by=by,
        at=at,
        audience=audience,
        number=case.number,
        case_note=str(note.pk),
        **spoken,
        **facts,
    )
    if answers and spoken.get("spoke") == "customer" and case.state == "waiting_customer":
        move(case, "in_progress", by=by, at=at, number=case.number)
        fresh(case)
    return note


def _spoken(who: str) -> dict[str, str]:
    """What the history keeps of a shared message: the first response and idle time are read from it."""
    return {} if who == "machine" else {"spoke": who}


def _note(case: Case, text: str, audience: str, by: str, at: datetime) -> tuple[CaseNote, dict[str, str]]:
    note = CaseNote.objects.create(tenant_id=case.tenant_id, case=case, audience=audience, text=text, author=by, at=at)
    spoken = _spoken(speaker(by, at)) if audience == "shared" else {}
    columns: dict[str, Any] = {"last_shared_at": at} if spoken else {}
    if spoken.get("spoke") == "staff" and case.first_response_at is None:
        columns["first_response_at"] = at
    write(case, internal=audience == "internal", **columns)
    return note, spoken


def ask_customer(*, case: Case, text: str, by: str, version: int | None = None, at: datetime | None = None) -> CaseNote:
    """Ask the participant something; the resolution clock pauses until they answer."""
    text = text_of(text, _("your question"), 20_000)
    hold(case, version)
    refuse_ended(case)
    at = moment(at)
    if case.state == "waiting_customer":
        return note_case(case=case, text=text, audience="shared", by=by, at=at)
    note, spoken = _note(case, text, "shared", by, at)
    move(case, "waiting_customer", by=by, at=at, number=case.number, case_note=str(note.pk), **spoken)
    fresh(case)
    return note


def plan_case(
    *,
    case: Case,
    owner: Person,
    next_step: str,
    due: date,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> Case:
    """Settle who does what by when."""
    next_step = text_of(next_step, _("the next step"), 300, "next_step")
    hold(case, version, owner=owner, next_step=next_step, next_step_due=due)
    refuse_ended(case)
    at = moment(at)
    refuse_an_owner_from_elsewhere(owner, case.tenant, at)
    given = {"given": True} if case.owner_id != owner.pk else {}
    write(case, owner=owner, next_step=next_step, next_step_due=due)
    timeline.record(
        states.CASE_PLANNED,
        about=case,
        by=by,
        at=at,
        number=case.number,
        owner=str(owner.pk),
        next_step=next_step,
        due=due.isoformat(),
        **given,
        **facts,
    )
    return case


def change_severity(
    *,
    case: Case,
    severity: str,
    why: str,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> Case:
    """Change how bad it is, with the reason. What was raised is due from now, not from before it was known."""
    one_of(severity, states.SEVERITIES, "severity")
    why = text_of(why, _("why"), 300, "why")
    hold(case, version, severity=severity)
    refuse_ended(case)
    at, was = moment(at), case.severity
    if was == severity:
        return case
    raised = states.SEVERITIES.index(severity) < states.SEVERITIES.index(was)
    write(case, severity=severity, **({"severity_raised_at": at} if raised else {}))
    timeline.record(
        states.CASE_SEVERITY,
        about=case,
        by=by,
        at=at,
        severity=severity,
        number=case.number,
        was=was,
        to=severity,
        why=why,
        **facts,
    )
    return case


def mitigate_case(*, case: Case, why: str, by: str, version: int | None = None, at: datetime | None = None) -> Case:
    """Training goes on, the cause is not known: the case stays open."""
    why = text_of(why, _("what was done"), 300, "why")
    return moved(case, "mitigated", by=by, version=version, at=at, why=why)


def wait_for(
    *, case: Case, whom: str, why: str, by: str, version: int | None = None, at: datetime | None = None
) -> Case:
    """Wait for the provider, a decision or a date; `ask_customer` waits for the participant."""
    one_of(whom, tuple(states.WAITS), "whom")
    why = text_of(why, _("why"), 300, "why")
    return moved(case, states.WAITS[whom], by=by, version=version, at=at, why=why)


def resume_case(*, case: Case, by: str, version: int | None = None, at: datetime | None = None) -> Case:
    """Go on with a case that waited."""
    hold(case, version)
    refuse_ended(case)
    return moved(case, "in_progress", by=by, at=at)
