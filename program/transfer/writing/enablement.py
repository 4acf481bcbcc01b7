"""Writes onboarding, sessions, reports and what was learnt."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from program import checklists as lists
from program.models import Attendance, Onboarding, OnboardingStep, Report, Session
from program.transfer.dates import Row
from program.transfer.words import AUDIENCES
from program.transfer.writing.cases import case_ids
from program.transfer.writing.names import Writing, day, number, stamp, told
from support.models import Article, ArticleUse
from tenants.models import Participation


def onboarding(writing: Writing) -> Row:
    """The list is the same for nearly all; who has another one brings it along."""
    steps: defaultdict[UUID, list[OnboardingStep]] = defaultdict(list)
    for step in OnboardingStep.objects.filter(tenant__in=list(writing.slugs)).order_by("position", "pk"):
        steps[step.onboarding_id].append(step)
    rows = Onboarding.objects.filter(participation__in=writing.all_participations)
    found = sorted(
        rows, key=lambda row: (writing.of_tenant[row.tenant_id].code, writing.slugs[row.tenant_id], row.held_at)
    )
    steps_of = lists.steps_of_each(cycle.pk for cycle in writing.cycles)
    of_cycle = {cycle: lists.by_text(listed) for cycle, listed in steps_of.items()}
    cycles = dict(Participation.objects.values_list("pk", "cycle"))
    told_of = {row.pk: [_step(step, of_cycle[cycles[row.participation_id]]) for step in steps[row.pk]] for row in found}
    usual = told_of[found[0].pk] if found else []
    return {
        "checklist": usual,
        "sessions": [_onboarding(writing, row, steps[row.pk], told_of[row.pk], usual) for row in found],
    }


def _step(step: OnboardingStep, known: dict[str, dict[str, str]]) -> str | Row:
    """Its text; where the list of its cycle says something else of it now, or nothing any more, all of it."""
    if step.help is None or lists.carried(step) == known.get(step.text):
        return step.text
    return {"text": step.text, "help": step.help, "measure": step.measure}


def _onboarding(
    writing: Writing, row: Onboarding, steps: list[OnboardingStep], texts: list[str | Row], usual: list[str | Row]
) -> Row:
    apart = {step.text: step.why for step in steps if step.state == "not_applicable"}
    return {
        "participant": writing.slugs[row.tenant_id],
        **writing.in_cycle(row.participation_id),
        "lead_sa": writing.handle(row.lead_id),
        "session_at": stamp(row.held_at),
        "duration_min": row.minutes,
        "checklist_done": sum(step.state != "open" for step in steps),
        "open_items": [step.text for step in steps if step.state == "open"],
        "completed_on": day(row.completed_on),
        **told(not_applicable=apart or None, checklist=texts if texts != usual else None),
    }


def sessions(writing: Writing) -> list[Row]:
    """Of the running cycle, without those that were called off."""
    speakers: defaultdict[UUID, list[str]] = defaultdict(list)
    for row in Attendance.objects.filter(part="speaker", session__isnull=False).order_by("created_at", "person__email"):
        if (handle := writing.handle(row.person_id)) is not None:
            speakers[row.session_id].append(handle)
    rows = Session.objects.filter(cycle=writing.running, cancelled_at=None).order_by("code")
    return [
        {
            "id": row.code,
            "kind": row.kind,
            "title": row.title,
            "starts_at": stamp(row.starts_at),
            "duration_min": row.minutes,
            "format": row.format,
            "speakers": speakers[row.pk],
            "registered": row.registered,
            "attended": row.attended,
            "survey": {"responses": row.answers, "csat": number(row.satisfaction)} if row.satisfaction else None,
            "agenda": row.agenda,
            "materials": row.materials,
            **told(recurrence=row.recurrence, place=row.place, prerequisites=row.prerequisites, seats=row.seats),
        }
        for row in rows
    ]


def reports(writing: Writing) -> list[Row]:
    rows = Report.objects.filter(participation__in=writing.all_participations)
    found = sorted(rows, key=lambda row: (writing.of_tenant[row.tenant_id].code, row.due_on, row.kind, row.period))
    return [
        {
            "participant": writing.slugs[row.tenant_id],
            **writing.in_cycle(row.participation_id),
            "kind": row.kind,
            "period": row.period,
            "due_on": day(row.due_on),
            "state": row.state,
            **told(text=row.text, answer=row.answer),
        }
        for row in found
    ]


def articles(writing: Writing) -> list[Row]:
    """With their texts, and the cases that they came out of."""
    ids, words = case_ids(writing), {ours: word for word, ours in AUDIENCES.items()}
    came: defaultdict[tuple[UUID, str], list[str]] = defaultdict(list)
    for article, case, kind in ArticleUse.objects.values_list("article", "case", "kind"):
        if case in ids:
            came[article, kind].append(ids[case])
    return [
        {
            "id": row.code,
            "title": row.title,
            "audience": words[row.audience],
            "cases": sorted(came[row.pk, ArticleUse.Kind.ORIGIN]),
            "state": row.state,
            **told(
                solves=sorted(came[row.pk, ArticleUse.Kind.SOLVED]) or None,
                category=row.category,
                text=row.body,
                author=_author(writing, row.author),
            ),
        }
        for row in Article.objects.order_by("code", "pk")
    ]


def _author(writing: Writing, actor: str) -> str | None:
    return writing.actor(actor) if actor else None
