"""The onboarding list of a cycle: the shipped steps until the office changes them; adding, changing, ordering and removing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID, uuid5

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from program.calls import words
from program.models import ChecklistStep, OnboardingStep
from support.writing import one_of, text_of
from tenants.actions import plain, stale
from tenants.history import timeline
from tenants.models import Cycle, Tenant
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused

NCCL = OnboardingStep.Measure.NCCL
MOST_STEPS, MOST_TEXT, MOST_HELP = 40, 200, 1000
EDITABLE = ("text", "help", "measure")
DIRECTIONS = {"up": -1, "down": 1}
# What the steps that nobody has changed yet are known by: a row of theirs is written with the first change of the list.
UNWRITTEN = UUID("5a3c1d0e-7c44-4c1b-9a70-0f3f4d6f2b11")
# The steps of onboarding.checklist in program/demo/programme.yaml: what is to be done, by what it is measured, and what it is, who
# does it and what to bring; translated where shown.
CHECKLIST: list[tuple[str, str, str]] = [
    (
        gettext_noop("account linked and roles accepted"),
        "",
        gettext_noop(
            "Cohort makes clusters in your own cloud account, through a role that the account's page "
            "describes. Whoever owns the account creates the role; bring the account's 12-digit number and "
            "somebody who may create roles."
        ),
    ),
    (
        gettext_noop("support plan confirmed"),
        "",
        gettext_noop(
            "Under a paid support plan the provider can be asked at any hour when a cluster fails. "
            "Your business lead looks it up in the account's support centre; bring the plan's name."
        ),
    ),
    (
        gettext_noop("contacts and channel joined"),
        "",
        gettext_noop(
            "Whom the programme calls for each duty, and the chat channel that you share with it. Your leads "
            "enter the contacts on the page of people; bring names, telephone numbers and hours."
        ),
    ),
    (
        gettext_noop("reservation id, zone id and end date recorded"),
        "",
        gettext_noop(
            "Reserved capacity has an id, lies in one availability zone and ends on a day; a cluster has to "
            "be made to fit all three. The account team records them; bring the confirmation of the "
            "purchase."
        ),
    ),
    (
        gettext_noop("quotas match in the provider unit"),
        "",
        gettext_noop(
            "A quota is how many instances the provider lets an account run, counted in instances or in "
            "vCPUs. The account team compares it with what the programme granted and asks for more; you only "
            "let Cohort into the account."
        ),
    ),
    (
        gettext_noop("subnet size and security group self-reference checked"),
        "",
        gettext_noop(
            "Every network card of a node takes an address of the subnet, and nodes reach each other only "
            "when their security group has a rule that names itself. Your platform engineer checks both with "
            "the preflight; bring the address ranges that your networks use."
        ),
    ),
    (
        gettext_noop("file system and bucket created, data link tested"),
        "",
        gettext_noop(
            "A fast shared file system for training, a bucket for what has to last, and the link that moves "
            "data between them. Cohort makes them with the cluster, and your platform engineer copies a file "
            "through; bring a small sample of the data."
        ),
    ),
    (
        gettext_noop("cluster deployed from reference architecture"),
        "",
        gettext_noop(
            "A reference architecture is a cluster design of the catalogue that is proven to work. Your "
            "platform engineer requests a cluster from one and a lead architect approves it; bring the type "
            "and the number of instances."
        ),
    ),
    (
        gettext_noop("NCCL or NCCOM test passed and stored"),
        NCCL,
        gettext_noop(
            "A test of the network between the nodes: NCCL is the one for GPUs, NCCOM the one for Trainium. "
            "Your platform engineer launches it from its template together with the architect; bring the log "
            "and the bandwidth in GB/s that it measured."
        ),
    ),
    (
        gettext_noop("dashboards connected, alert test received"),
        "",
        gettext_noop(
            "Dashboards that show how the accelerators do, and alerts that reach a person. Your platform "
            "engineer enters the links in the record and sends a test alert; bring the addresses, and the "
            "name of whoever received it."
        ),
    ),
    (
        gettext_noop("checkpoint and resume drill done"),
        "",
        gettext_noop(
            "A run is stopped on purpose and goes on from its last checkpoint, so that a fault costs minutes "
            "and not days. Your ML engineer does it with a frameworks specialist; bring a script that saves "
            "checkpoints, and how long saving and resuming took."
        ),
    ),
    (
        gettext_noop("first training job ran one hour"),
        "",
        gettext_noop(
            "Your own model trains on the cluster for an hour, and its loss and speed are seen here. Your ML "
            "engineer launches it; bring the script, and data that is ready."
        ),
    ),
]
SHIPPED_WORDS = {said for text, _measure, told in CHECKLIST for said in (text, told)}


def worded(text: str) -> str:
    """In the reader's language where it is as shipped; as it was written where somebody wrote it."""
    return _(text) if text in SHIPPED_WORDS else text


def help_of(step: OnboardingStep) -> str:
    """What a laid out step is, who does it and what to bring, in the reader's language; "" where nobody said."""
    if step.help is not None:
        return worded(step.help)
    return worded(next((told for known, _measure, told in CHECKLIST if known == step.text), ""))


def steps_of(cycle: int) -> list[ChecklistStep]:
    """The list of a cycle in its order; as shipped, and not written yet, until somebody changes it. Within a scope of staff."""
    return steps_of_each([cycle])[cycle]


def steps_of_each(cycles: Iterable[int]) -> dict[int, list[ChecklistStep]]:
    """The same for several cycles, by cycle, in one query."""
    found: dict[int, list[ChecklistStep]] = {cycle: [] for cycle in cycles}
    for step in ChecklistStep.objects.filter(cycle__in=list(found)).order_by("position", "pk"):
        found[step.cycle_id].append(step)
    return {cycle: steps or _shipped(cycle) for cycle, steps in found.items()}


def _shipped(cycle: int) -> list[ChecklistStep]:
    return [
        ChecklistStep(
            pk=uuid5(UNWRITTEN, f"{cycle}:{position}"),
            cycle_id=cycle,
            position=position,
            text=text,
            help=told,
            measure=measure,
        )
        for position, (text, measure, told) in enumerate(CHECKLIST, start=1)
    ]


def add_step(*, cycle: Cycle, by: str, text: str, help: str = "", measure: str = "") -> ChecklistStep:
    """Put a step at the end of a cycle's list. Raises Refused (422) with the field; 409 where the list is full."""
    place = Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        row, steps = _hold(cycle, place)
        if len(steps) >= MOST_STEPS:
            sentence = _("The list has %(count)s steps, and %(most)s is the most. Remove a step first.")
            raise Refused("too_many_steps", sentence % {"count": len(steps), "most": MOST_STEPS})
        made = ChecklistStep(tenant=place, cycle=row, position=len(steps) + 1)
        _fill(made, {"text": text, "help": help, "measure": measure}, steps)
        made.save(force_insert=True)
        timeline.record(words.CHECKLIST_ADDED, about=place, by=by, text=made.text, name=row.name)
    return made


def change_step(
    *, cycle: Cycle, step: UUID, values: Mapping[str, str], by: str, version: int | None = None
) -> ChecklistStep:
    """Change what a step says. What is not among `values` stays. Raises Stale with both, Refused (422) with the field."""
    place = Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        row, steps = _hold(cycle, place)
        found = _one(steps, step, version, values)
        before = {name: getattr(found, name) for name in EDITABLE}
        _fill(found, values, steps)
        changed = {name: (was, getattr(found, name)) for name, was in before.items() if getattr(found, name) != was}
        if changed:
            found.version += 1
            found.save(update_fields=[*changed, "version"])
            told = {name: [plain(was), plain(now)] for name, (was, now) in changed.items()}
            facts = {"text": before["text"], "name": row.name, "changes": told, "fields": sorted(changed)}
            timeline.record(words.CHECKLIST_CHANGED, about=place, by=by, **facts)
    return found


def move_step(*, cycle: Cycle, step: UUID, to: str, by: str, version: int | None = None) -> ChecklistStep:
    """Let a step change places with the one before it (`to` is up) or after it (down); at the end it stays where it is."""
    one_of(to, tuple(DIRECTIONS), "to")
    place = Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        row, steps = _hold(cycle, place)
        found = _one(steps, step, version, {})
        was = steps.index(found)
        now = was + DIRECTIONS[to]
        if 0 <= now < len(steps):
            steps[was], steps[now] = steps[now], steps[was]
            found.version += 1
            found.save(update_fields=["version"])
            _number(steps)
            facts = {"text": found.text, "name": row.name, "was": was + 1, "now": now + 1}
            timeline.record(words.CHECKLIST_MOVED, about=place, by=by, **facts)
    return found


def remove_step(*, cycle: Cycle, step: UUID, by: str, version: int | None = None) -> None:
    """Take a step out of a cycle's list. What was laid out from it stays. The last step cannot go."""
    place = Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        row, steps = _hold(cycle, place)
        found = _one(steps, step, version, {})
        if len(steps) == 1:
            raise Refused("last_step", _("It is the only step of the list. Add another one first, or change this one."))
        ChecklistStep.objects.filter(pk=found.pk).delete()
        _number([one for one in steps if one is not found])
        told = {name: plain(getattr(found, name)) for name in EDITABLE}
        timeline.record(words.CHECKLIST_REMOVED, about=place, by=by, name=row.name, **told)


def copy_steps(was: Cycle, made: Cycle, place: Tenant) -> int:
    """Give a new cycle the list of another one; returns how many steps it has. Within the office's scope."""
    steps = steps_of(was.pk)
    if not steps[0]._state.adding:  # otherwise both have the shipped one
        write_steps(made, place, [{name: getattr(one, name) for name in EDITABLE} for one in steps])
    return len(steps)


def write_steps(cycle: Cycle, place: Tenant, rows: list[dict[str, str]]) -> None:
    """Write down the whole list of a cycle that has none written. Within the office's scope."""
    ChecklistStep.objects.bulk_create(
        ChecklistStep(tenant=place, cycle=cycle, position=position, **row) for position, row in enumerate(rows, start=1)
    )


def written(steps: list[ChecklistStep]) -> list[dict[str, str]]:
    """The list of a cycle for the programme's file; empty while it is the shipped one."""
    return [] if steps[0]._state.adding else [carried(one) for one in steps]


def carried(step: ChecklistStep | OnboardingStep) -> dict[str, str]:
    """A step as the programme's file tells it: what is empty is left out."""
    told = {"text": step.text, "help": step.help or "", "measure": step.measure}
    return {name: value for name, value in told.items() if value}


def by_text(steps: list[ChecklistStep]) -> dict[str, dict[str, str]]:
    """The steps of a cycle's list as the programme's file tells them, by text."""
    return {one.text: carried(one) for one in steps}


def laid_out(told: str | Mapping[str, str], known: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """A step of a participation's list in the programme's file as columns: told whole, or by the text that its cycle, or the
    shipped list, knows it by."""
    if not isinstance(told, str):
        return read(told)
    shipped = next(
        ({"text": text, "help": helps, "measure": measure} for text, measure, helps in CHECKLIST if text == told), None
    )
    return read(known.get(told) or shipped or {"text": told})


def read(row: Mapping[str, str]) -> dict[str, str]:
    """A step of the programme's file as columns."""
    return {name: row.get(name, "") for name in EDITABLE}


def problems(where: str, rows: Any) -> Iterator[str]:
    """What is wrong with the list of a cycle in the programme's file, beside the lengths of its texts."""
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_STEPS:
        yield f"{where}: is a list of 1 to {MOST_STEPS} steps; leave it out for the usual ones"
        return
    seen: set[str] = set()
    for number, row in enumerate(rows):
        yield from _unfit(f"{where}[{number}]", row)
        text = row.get("text") if isinstance(row, dict) else None
        if isinstance(text, str) and text in seen:
            yield f"{where}[{number}].text: {text[:60]} is there twice"
        seen |= {text} if isinstance(text, str) else set()


def laid_out_problems(where: str, rows: Any) -> Iterator[str]:
    """The same for a list that was laid out: a step is its text, or told whole."""
    if not isinstance(rows, list):
        yield f"{where}: is a list of steps"
        return
    for number, row in enumerate(rows):
        if not isinstance(row, str):
            yield from _unfit(f"{where}[{number}]", row)


def _unfit(where: str, row: Any) -> Iterator[str]:
    if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
        yield f"{where}: is a step, with texts as text, help and measure"
        return
    if unknown := sorted(str(name) for name in set(row) - set(EDITABLE)):
        yield f"{where}: {unknown[0][:60]} is none of {', '.join(EDITABLE)}"
    if not row.get("text", "").strip():
        yield f"{where}.text: is missing"


def _hold(cycle: Cycle, place: Tenant) -> tuple[Cycle, list[ChecklistStep]]:
    """The cycle, locked, and its steps, written down if they were not."""
    row = Cycle.objects.select_for_update(of=("self",)).get(pk=cycle.pk)
    steps = steps_of(row.pk)
    if steps[0]._state.adding:
        for one in steps:
            one.tenant = place
        ChecklistStep.objects.bulk_create(steps)
    return row, steps


def _one(steps: list[ChecklistStep], pk: UUID, version: int | None, told: Mapping[str, str]) -> ChecklistStep:
    found = next((one for one in steps if one.pk == pk), None)
    if found is None:
        raise Refused("step_gone", _("This step is not in the list any more. Look at the list, and add it again."))
    if version is not None and found.version != version:
        raise stale(found, told, shown=_said)
    return found


def _said(value: str) -> str:
    """In the reader's words, for theirs and for yours: what is shipped was shown and typed so."""
    return (
        str(OnboardingStep.Measure(value).label) if value and value in OnboardingStep.Measure.values else worded(value)
    )


def _fill(step: ChecklistStep, values: Mapping[str, str], steps: list[ChecklistStep]) -> None:
    """Take over what was typed. What is still as shipped, also in the reader's language, goes on being translated."""
    values = {name: value.replace("\r\n", "\n").strip() for name, value in values.items()}
    typed = {name: value for name, value in values.items() if value != worded(getattr(step, name))}
    if "text" in typed:
        text = text_of(typed["text"], _("what is to be done"), MOST_TEXT)
        if any(text in (one.text, worded(one.text)) for one in steps if one is not step):
            sentence = _("'%(text)s' is in the list already. Write another text, or change that step.")
            raise Refused("step_twice", sentence % {"text": text}, status=422, field="text")
        step.text = text
    if "help" in typed:
        step.help = text_of(typed["help"], _("what helps"), MOST_HELP, "help") if typed["help"] else ""
    if "measure" in typed:
        one_of(typed["measure"], tuple(OnboardingStep.Measure.values), "measure")
        step.measure = typed["measure"]


def _number(steps: list[ChecklistStep]) -> None:
    for position, one in enumerate(steps, start=1):
        if one.position != position:
            one.position = position
            one.save(update_fields=["position"])
