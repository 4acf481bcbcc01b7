"""What a meeting does with an item: settle it, note, decide, give out work, and whatever is done with a case."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from program import decisions, meeting_forms, reviews
from program.models import Review, ReviewItem
from program.settling import hold_open
from support.actions import note_case
from support.models import Case
from support.states import ENDED
from support.verbs import VERBS, Verb
from tenants.models import Tenant
from tenants.programme_day import programme_today

CASE_VERBS = ("wait", "ask", "resume", "mitigate", "resolve", "severity", "escalate")
KEYS = {"wait": "w", "ask": "q", "resume": "u", "mitigate": "m", "resolve": "r", "severity": "v", "escalate": "e"}


@dataclass(frozen=True)
class Doing:
    """One thing that the meeting does with an item: its form, the key that opens it, and its words."""

    name: str
    key: str
    label: Any
    done: Any
    icon: str
    form: Callable[[ReviewItem, Case, list[Any], Any], forms.Form]
    act: Callable[[HttpRequest, Review, ReviewItem, Case, dict[str, Any]], Any]
    offered: Callable[[Case, HttpRequest], bool] = lambda case, request: True


def _settle(request: HttpRequest, review: Review, item: ReviewItem, case: Case, told: dict[str, Any]) -> Any:
    return reviews.settle_item(item=item, by=request.actor, **{"reason": "", **told})


def _note(request: HttpRequest, review: Review, item: ReviewItem, case: Case, told: dict[str, Any]) -> Any:
    return note_case(case=case, by=request.actor, **told)


def _concerned(told: dict[str, Any], item: ReviewItem) -> tuple[Tenant, Case | None]:
    """Whose row it becomes: the participant's, or the office's, which cannot name a participant's case."""
    if told.pop("concerns", meeting_forms.THEIRS) == meeting_forms.ALL:
        return Tenant.objects.get(is_office=True), None
    return item.tenant, item.case


def _decide(request: HttpRequest, review: Review, item: ReviewItem, case: Case, told: dict[str, Any]) -> Any:
    tenant, about = _concerned(told, item)
    return decisions.record_decision(tenants=[tenant], case=about, review=review, by=request.actor, **told)


def _give(request: HttpRequest, review: Review, item: ReviewItem, case: Case, told: dict[str, Any]) -> Any:
    tenant, about = _concerned(told, item)
    return decisions.give_action_item(tenant=tenant, case=about, review=review, by=request.actor, **told)


def _next_review(item: ReviewItem) -> date:
    return meeting_forms.week_after(programme_today())


DOINGS = [
    Doing(
        "settle", "s", gettext_lazy("Settle"), gettext_lazy("Settled."), "check",
        lambda item, case, owners, data: meeting_forms.SettledForm(data, item=item, owners=owners, prefix="settle"), _settle,
        lambda case, request: case.state not in ENDED,
    ),
    Doing(
        "note", "i", gettext_lazy("Note"), gettext_lazy("Noted."), "note",
        lambda item, case, owners, data: meeting_forms.NoteForm(data, tenant=item.tenant, prefix="note"), _note,
    ),
    Doing(
        "decide", "x", gettext_lazy("Decision"), gettext_lazy("The decision is recorded."), "flag",
        lambda item, case, owners, data: meeting_forms.DecisionForm(data, tenant=item.tenant, owners=owners, prefix="decide"), _decide,
    ),
    Doing(
        "give", "a", gettext_lazy("Action item"), gettext_lazy("The action item is given."), "person",
        lambda item, case, owners, data: meeting_forms.ActionForm(
            data, tenant=item.tenant, owners=owners, prefix="give", initial={"due": _next_review(item)}
        ), _give,
    ),
]  # fmt: skip


def _of_case(verb: Verb) -> Doing:
    """What is done with any case, done in the meeting."""

    def act(request: HttpRequest, review: Review, item: ReviewItem, case: Case, told: dict[str, Any]) -> Any:
        if verb.name == "resolve":
            hold_open(item.review_id)  # before the case, as whoever settles does
        version = told.pop("version", None)
        values = verb.arguments(request, told) | ({"version": version} if version is not None else {})
        found = verb.act(case=case, by=request.actor, **values)
        if verb.name == "resolve":
            reviews.conclude(item=item, outcome=ReviewItem.Outcome.ENDED, by=request.actor)
        return found

    return Doing(
        verb.name,
        KEYS[verb.name],
        verb.label,
        verb.done,
        verb.icon,
        lambda item, case, owners, data: verb.form(data, case=case, prefix=verb.name),
        act,
        verb.open_to,
    )


DOINGS += [_of_case(verb) for verb in VERBS if verb.name in CASE_VERBS]
