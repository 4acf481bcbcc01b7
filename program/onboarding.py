"""Onboarding: the list that has to be done before a participant trains, ticked with evidence, and who did it when."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from program import onboarding_telling, states
from program.checklists import steps_of
from program.models import Onboarding, OnboardingStep
from support.writing import moment, text_of
from tenants.actions import assign
from tenants.files import attach
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Assignment, Membership, Participation, Person, holding
from tenants.programme_day import programme_today
from tenants.wall.acting import reading_everyone
from tenants.web.problems import Refused, Stale

NCCL = OnboardingStep.Measure.NCCL
MOST_GBPS = Decimal(100_000)


def plan_onboarding(
    *, participation: Participation, lead: Person, held_at: datetime, minutes: int, by: str, looks_after: bool = False
) -> Onboarding:
    """Set the session of a participation with its lead architect, and lay out the list of its cycle as it is now. `looks_after`: a member of staff who
    leads it becomes the participant's lead too, where nobody is."""
    try:
        with transaction.atomic():
            made = Onboarding.objects.create(
                tenant_id=participation.tenant_id,
                participation=participation,
                lead=lead,
                held_at=held_at,
                minutes=minutes,
            )
    except IntegrityError:
        raise Refused("onboarding_exists", _("%(code)s has its list already.") % {"code": participation.code}) from None
    with reading_everyone():  # the office keeps it
        steps = steps_of(participation.cycle_id)
    OnboardingStep.objects.bulk_create(
        OnboardingStep(
            tenant_id=made.tenant_id,
            onboarding=made,
            position=position,
            text=step.text,
            help=step.help,
            measure=step.measure,
        )
        for position, step in enumerate(steps, start=1)
    )
    facts = {"day": held_at.date().isoformat(), "steps": len(steps)}
    timeline.record(states.ONBOARDING_PLANNED, about=made, by=by, **facts)
    if looks_after and _is_staff(lead) and not _is_led(participation):
        assign(person=lead, tenant=participation.tenant, duty="lead", by=by, starts_on=programme_today())
    onboarding_telling.tell(made)
    return made


def change_onboarding(*, made: Onboarding, lead: Person, held_at: datetime, minutes: int, by: str) -> Onboarding:
    """Another lead, another time, another length; whoever was told of the session is told of the change."""
    row = Onboarding.objects.select_for_update(of=("self",)).select_related("lead").get(pk=made.pk)
    now = {"lead": lead, "held_at": held_at, "minutes": minutes}
    changed = {name: (getattr(row, name), value) for name, value in now.items() if getattr(row, name) != value}
    if not changed:
        return row
    before = row.lead
    Onboarding.objects.filter(pk=row.pk).update(**now)
    told = {name: [str(was), str(value)] for name, (was, value) in changed.items()}
    facts = {"day": held_at.date().isoformat(), "lead": str(lead), "changes": told, "fields": sorted(changed)}
    entry = timeline.record(states.ONBOARDING_CHANGED, about=row, by=by, **facts)
    row.refresh_from_db()
    onboarding_telling.tell(row, change=f"{entry.pk}", also=[before])
    return row


def _is_staff(person: Person) -> bool:
    return Membership.objects.filter(holding(), person=person, tenant__is_office=True).exists()


def _is_led(participation: Participation) -> bool:
    return Assignment.objects.filter(holding(), tenant=participation.tenant_id, duty="lead").exists()


def tick_step(
    *,
    step: OnboardingStep,
    done_on: date,
    by: str,
    note: str = "",
    link: str = "",
    bus_gbps: Decimal | None = None,
    nodes: int | None = None,
    file: tuple[str, bytes] | None = None,
    version: int | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> OnboardingStep:
    """Done, with what proves it: for a test its bandwidth, nodes and log; for anything else a note, a link or a file."""
    now = moment(at)
    note, link = note.strip()[:500], link.strip()
    _hold(step, version, done_on=done_on)
    _refuse_thin_evidence(step, note, link, bus_gbps, nodes, file)
    if done_on > latest_today(now, step.onboarding.participation_id):
        raise Refused("done_on", _("%(day)s lies ahead.") % {"day": done_on.isoformat()}, status=422, field="done_on")
    if link and not link.startswith(("https://", "http://")):
        raise Refused("link", _("A link begins with https://."), status=422, field="link")
    told = {"note": note, "link": link, "done_on": done_on.isoformat()}
    if step.measure == NCCL:
        told |= {"bus_gbps": str(bus_gbps), "nodes": nodes}
    if file is not None:
        name, content = file
        kept = attach(about=step, name=name, content=content, media_type="text/plain", by=by)
        told |= {"file": kept.name, "sha256": kept.sha256}
    columns = {
        "done_on": done_on,
        "settled_at": now,
        "settled_by": by,
        "note": note,
        "link": link,
        "bus_gbps": bus_gbps if step.measure == NCCL else None,
        "nodes": nodes if step.measure == NCCL else None,
    }
    with override(None):
        said = _said(step, told)
    move(step, "done", by=by, at=at, columns=columns, text=step.text, evidence=said, **told, **facts)
    _complete(step, by, done_on, at)
    step.refresh_from_db()
    return step


def latest_today(now: datetime, participation: UUID) -> date:
    """The day that it is now, in UTC or in the programme's zone, whichever is later: in Tokyo it is tomorrow already."""
    found = Participation.objects.filter(pk=participation).values_list("cycle__programme__timezone", flat=True).first()
    return max(now.astimezone(ZoneInfo(found or "UTC")).date(), now.astimezone(UTC).date())


def _refuse_thin_evidence(
    step: OnboardingStep,
    note: str,
    link: str,
    bus_gbps: Decimal | None,
    nodes: int | None,
    file: tuple[str, bytes] | None,
) -> None:
    if step.measure == NCCL:
        if bus_gbps is None or not 0 < bus_gbps < MOST_GBPS:
            sentence = _("Write the bus bandwidth that the test measured, in GB/s.")
            raise Refused("bus_gbps", sentence, status=422, field="bus_gbps")
        if not nodes:
            raise Refused("nodes", _("Write on how many nodes the test ran."), status=422, field="nodes")
        if file is None:
            raise Refused("file", _("Attach the log of the test."), status=422, field="file")
    elif not note and not link and file is None:
        sentence = _("Say what proves it: a note, a link or a file.")
        raise Refused("no_evidence", sentence, status=422, field="note")


def _said(step: OnboardingStep, told: dict[str, Any]) -> str:
    parts = [told["note"], told["link"], told.get("file", "")]
    if step.measure == NCCL:
        parts.insert(0, f"{told['bus_gbps']} GB/s, {told['nodes']} nodes")
    return f"({'; '.join(part for part in parts if part)})" if any(parts) else ""


def skip_step(*, step: OnboardingStep, why: str, by: str, version: int | None = None) -> OnboardingStep:
    """It does not apply here, with the reason."""
    why = text_of(why, _("why it does not apply"), 300, "why")
    _hold(step, version, why=why)
    now = moment(None)
    columns = {"why": why, "settled_at": now, "settled_by": by}
    move(step, "not_applicable", by=by, columns=columns, text=step.text, why=why)
    _complete(step, by, now.date(), None)
    step.refresh_from_db()
    return step


def untick_step(*, step: OnboardingStep, why: str, by: str, version: int | None = None) -> OnboardingStep:
    """It was not done after all. What was said before stays in the history, and files stay where they are."""
    why = text_of(why, _("why"), 300, "why")
    _hold(step, version, why=why)
    emptied: dict[str, Any] = {
        "done_on": None, "settled_at": None, "settled_by": "", "note": "", "link": "", "bus_gbps": None, "nodes": None,
        "why": "",
    }  # fmt: skip
    move(step, "open", by=by, columns=emptied, text=step.text, why=why)
    Onboarding.objects.filter(pk=step.onboarding_id).update(completed_on=None)
    step.refresh_from_db()
    return step


def _complete(step: OnboardingStep, by: str, day: date, at: datetime | None) -> None:
    """The last step completes the list."""
    onboarding = Onboarding.objects.select_for_update(of=("self",)).get(pk=step.onboarding_id)
    if onboarding.completed_on is None and not OnboardingStep.objects.filter(onboarding=onboarding, state="open"):
        Onboarding.objects.filter(pk=onboarding.pk).update(completed_on=day)
        timeline.record(states.ONBOARDING_DONE, about=onboarding, by=by, at=at)


def _hold(step: OnboardingStep, version: int | None, **typed: Any) -> None:
    """The list first, so that two people who tick its last two steps at once complete it once."""
    Onboarding.objects.select_for_update(of=("self",)).get(pk=step.onboarding_id)
    step.refresh_from_db(from_queryset=OnboardingStep.objects.select_for_update(of=("self",)))
    if version is not None and step.version != version:
        raise Stale(
            "stale",
            _("Somebody changed this step meanwhile. Compare, and save again."),
            version=step.version,
            changes={name: [str(getattr(step, name) or "–"), str(value)] for name, value in typed.items()},
        )


VERBS = {
    "tick": (tick_step, gettext_lazy("Ticked off.")),
    "skip": (skip_step, gettext_lazy("It does not apply here.")),
    "untick": (untick_step, gettext_lazy("The tick is taken back.")),
}
