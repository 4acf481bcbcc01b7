"""What can be done with a case on its page: who may, when it is offered, what it asks for, and its words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from support import actions, forms, states
from support.models import Case
from tenants.wall import roles

Offered = Callable[[Case, HttpRequest], bool]


def _is_open(case: Case, request: HttpRequest) -> bool:
    return case.state not in states.ENDED


def _may_become(*wanted: str) -> Offered:
    return lambda case, request: any(word in states.CASE[case.state] for word in wanted)


def _not_mine_yet(case: Case, request: HttpRequest) -> bool:
    return _is_open(case, request) and (case.owner_id != request.person.pk or case.state in ("new", "triaged"))


def _waited(case: Case, request: HttpRequest) -> bool:
    return case.state in {"waiting_customer", "mitigated", *states.WAITS.values()}


def _ended(case: Case, request: HttpRequest) -> bool:
    return case.state in states.ENDED


def _as_me(request: HttpRequest, told: dict[str, Any]) -> dict[str, Any]:
    return {"person": request.person, **told}


def _as_chosen(request: HttpRequest, told: dict[str, Any]) -> dict[str, Any]:
    return {"person": told.pop("owner"), **told}


def _plain(request: HttpRequest, told: dict[str, Any]) -> dict[str, Any]:
    return told


@dataclass(frozen=True)
class Verb:
    """One thing that is done with a case."""

    name: str
    act: Callable[..., Any]
    form: type[forms.CaseForm]
    icon: str
    label: Any
    title: Any
    text: Any
    done: Any
    offered: Offered = _is_open
    allowed: frozenset[str] = roles.WORK_CASES
    arguments: Callable[[HttpRequest, dict[str, Any]], dict[str, Any]] = _plain
    tone: str = ""

    def open_to(self, case: Case, request: HttpRequest) -> bool:
        return request.role in self.allowed and self.offered(case, request)


VERBS = (
    Verb(
        "take", actions.take_case, forms.CaseForm, "person", _("Take it"), _("Take %(number)s?"),
        _("You become its owner, and it is being worked on."), _("It is yours."), _not_mine_yet, arguments=_as_me,
    ),
    Verb(
        "ask", actions.ask_customer, forms.AskForm, "send", _("Ask the participant"), _("Ask the participant about %(number)s"),
        _("What you write is shared with them."), _("Asked. The case waits for their answer."),
    ),
    Verb(
        "resume", actions.resume_case, forms.CaseForm, "job", _("Go on"), _("Go on with %(number)s?"),
        _("It is being worked on again."), _("It is in progress."), _waited,
    ),
    Verb(
        "resolve", actions.resolve_case, forms.ResolveForm, "good", _("Resolve"), _("Resolve %(number)s"),
        _("With its cause and what it cost. It can be reopened."), _("Resolved."), _may_become("resolved"),
    ),
    Verb(
        "reopen", actions.reopen_case, forms.WhyForm, "refresh", _("Reopen"), _("Reopen %(number)s?"),
        _("Its clocks start again; everything written on it stays."), _("Open again."), _ended, roles.WRITE_CASES,
    ),
    Verb(
        "close", actions.close_case, forms.CaseForm, "check", _("Close"), _("Close %(number)s?"),
        _("It is put away. It can still be reopened."), _("Closed."), _may_become("closed"),
    ),
    Verb(
        "assign", actions.take_case, forms.AssignForm, "people", _("Give it to somebody"), _("Who looks after %(number)s?"),
        _("A new case counts as triaged then."), _("It has an owner."), arguments=_as_chosen,
    ),
    Verb(
        "plan", actions.plan_case, forms.PlanForm, "calendar", _("Plan the next step"), _("The next step of %(number)s"),
        _("One owner, one step, one date."), _("Planned."),
    ),
    Verb(
        "severity", actions.change_severity, forms.SeverityForm, "flag", _("Change the severity"), _("How bad is %(number)s?"),
        _("What is raised is due from now on."), _("Changed."),
    ),
    Verb(
        "wait", actions.wait_for, forms.WaitForm, "wait", _("Wait"), _("What does %(number)s wait for?"),
        _("To wait for the participant, ask them: that pauses the resolution clock."), _("It waits."),
        _may_become(*states.WAITS.values()),
    ),
    Verb(
        "escalate", actions.escalate_case, forms.EscalateForm, "arrow-right", _("Escalate"), _("Escalate %(number)s"),
        _("The owner stays, and so does the age."), _("Escalated. The service team sees it now."),
    ),
    Verb(
        "mitigate", actions.mitigate_case, forms.MitigateForm, "shield", _("Mitigated"), _("Is %(number)s mitigated?"),
        _("It stays open until its cause is known."), _("Marked as mitigated."), _may_become("mitigated"),
    ),
)  # fmt: skip
AT_HAND = ("take", "ask", "resume", "resolve", "reopen", "close")  # buttons; the others are in the menu beside them
