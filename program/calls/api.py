"""The API of calls, applications, cycles and the life of a participation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from program import checklists, life
from program.calls import api_shapes as shapes
from program.calls import applying, calling, cycles, demand, need, selecting, words
from program.models import Application, ApplicationScore, Call
from tenants import participating
from tenants.api import ParticipationShown
from tenants.models import Cycle, Participation, Tenant
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import asked, nearest, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Word, one

CALLS = Listing(
    "calls",
    shapes.CallShown,
    {"state": OneOf("state", words.CALL), "cycle": Word("cycle__code")},
    newest="opens_at",
)
APPLICATIONS = Listing(
    "applications",
    shapes.ApplicationShown,
    {
        "state": OneOf("state", words.APPLICATION),
        "call": Id("call_id"),
        "procure": OneOf("procure", Application.Procure.values),
    },
    newest="created_at",
)


def _cycle_named(code: str) -> Cycle:
    found = Cycle.objects.filter(code=code).first()
    if found is None:
        known = list(Cycle.objects.order_by("code").values_list("code", flat=True))
        raise refusal("cycle", nearest(code, known), code, "does_not_exist", allowed=known)
    return found


@allow(roles.READ)
@CALLS.described
@endpoint("GET")
def all_calls(request: Request) -> Response:
    """Calls, the one that opens last first; participants see no drafts."""
    return CALLS.answer(request, Call.objects.all())


def _call(pk: UUID, status: int = 200) -> Response:
    row = one(Call.objects.all(), shapes.CallDetail, pk)
    return versioned(shapes.CallDetail(row).data, row["version"], status=status)


@allow(roles.READ)
@extend_schema(responses=shapes.CallDetail)
@endpoint("GET")
def call(request: Request, pk: UUID) -> Response:
    """One call with its text."""
    return _call(pk)


@allow(roles.REVIEW)
@extend_schema(request=shapes.CallAsked, responses={201: shapes.CallDetail})
@endpoint("POST")
@repeatable(required=False)
def draft_call(request: Request) -> Response:
    """Write a call down. Nobody but staff sees it before it is opened."""
    at_the_office(request)
    sent = asked(shapes.CallAsked, request)
    made = calling.draft(by=request.actor, **sent | {"cycle": _cycle_named(sent["cycle"])})
    return _call(made.pk, status=201)


def _call_step(act: Callable[..., Any], form: Any) -> Callable[..., Any]:
    def do(request: Request, pk: UUID) -> Response:
        at_the_office(request)
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(Call.objects.all(), None, pk)
        told = {name: value for name, value in sent.items() if name != "version"}
        act(call=row, by=request.actor, version=version, **told)
        return _call(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.CallDetail})
    return allow(roles.REVIEW)(described(endpoint("POST")(repeatable(required=False)(do))))


CALL_STEPS = {
    "change": _call_step(calling.change, shapes.CallChanged),
    "open": _call_step(calling.open_call, shapes.VersionAsked),
    "close": _call_step(calling.close_call, shapes.VersionAsked),
}


def _summed(rows: list[Any]) -> list[Any]:
    found = []
    for row in rows:
        whole = need.total(need.read(row["need"]), calling.each)
        found.append(row | {"instances": whole.instances, "accelerator_hours": whole.hours})
    return found


def _theirs(request: Request) -> Any:
    """Drafts are their writers' own."""
    rows = Application.objects.all()
    return rows if request.role in roles.CUSTOMER_ROLES else rows.exclude(state="draft")


@allow(roles.READ)
@APPLICATIONS.described
@endpoint("GET")
def all_applications(request: Request) -> Response:
    """Applications, the newest first; a participant sees its own, staff what was handed in."""
    return APPLICATIONS.answer(request, _theirs(request).values(*APPLICATIONS.columns()), _summed)


@allow(roles.READ, write=roles.LEADS)
@APPLICATIONS.described
@extend_schema(methods=["POST"], request=shapes.ApplicationBegun, responses={201: shapes.ApplicationDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_applications(request: Request) -> Response:
    """Those of one participant; begin one, or get the one that was begun."""
    if request.method != "POST":
        return APPLICATIONS.answer(request, _theirs(request).values(*APPLICATIONS.columns()), _summed)
    sent = asked(shapes.ApplicationBegun, request)
    row = Call.objects.filter(pk=sent["call"]).first()
    if row is None:
        raise refusal("call", _("There is nothing with this id here."), str(sent["call"]), "does_not_exist")
    made = applying.begin(call=row, tenant=request.tenant, person=request.person, by=request.actor)
    return _application(request, made.pk, status=201)


def _application(request: Request, pk: UUID, status: int = 200) -> Response:
    [row] = _summed([one(_theirs(request), shapes.ApplicationDetail, pk)])
    row["scores"] = []
    if request.internal:
        with acting_for(Tenant.objects.get(is_office=True), staff=True):
            scores = ApplicationScore.objects.filter(application_id=pk).select_related("reviewer")
            row["scores"] = list(scores.order_by("created_at", "id"))
    return versioned(shapes.ApplicationDetail(row).data, row["version"], status=status)


@allow(roles.READ)
@extend_schema(responses=shapes.ApplicationDetail)
@endpoint("GET")
def application(request: Request, pk: UUID) -> Response:
    """One application with its answers; for staff with its scores."""
    return _application(request, pk)


def _answer(act: Callable[..., Any], form: Any) -> Callable[..., Any]:
    """What its own organisation does with an application."""

    def do(request: Request, pk: UUID) -> Response:
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(Application.objects.all(), None, pk)
        told = {name: value for name, value in sent.items() if name != "version"}
        if "need" in told:
            told["need"] = [_span(span) for span in told["need"]]
        act(application=row, by=request.actor, version=version, **told)
        return _application(request, pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.ApplicationDetail})
    return allow(roles.LEADS)(described(endpoint("POST")(repeatable(required=False)(do))))


def _span(sent: dict[str, Any]) -> dict[str, Any]:
    told = sent | {"types": tuple(sent["types"]), "regions": tuple(sent["regions"])}
    return need.Span(**told).kept()


ANSWERS = {
    "answers": _answer(applying.save, shapes.AnswersAsked),
    "withdraw": _answer(applying.withdraw, shapes.ApplicationWithdrawn),
}


@allow(roles.SCORE)
@extend_schema(request=shapes.ScoreAsked, responses={200: shapes.ApplicationDetail})
@endpoint("POST")
@repeatable(required=False)
def score(request: Request, pk: UUID) -> Response:
    """Give an application 1 to 5 for each criterion; again corrects one's own."""
    sent = asked(shapes.ScoreAsked, request)
    row = one(_theirs(request), None, pk)
    selecting.score(application=row, person=request.person, by=request.actor, **sent)
    return _application(request, pk)


@allow(roles.PUBLISH)
@extend_schema(request=shapes.SelectionAsked, responses={200: shapes.ApplicationDetail})
@endpoint("POST")
@repeatable(required=False)
def decide(request: Request, pk: UUID) -> Response:
    """Select an application, put it on the waiting list, or decline it."""
    sent = asked(shapes.SelectionAsked, request)
    version = optional_version(request, sent)
    row = one(_theirs(request), None, pk)
    told = {name: value for name, value in sent.items() if name != "version"}
    slug = told.pop("organisation")
    told["organisation"] = Tenant.objects.filter(slug=slug, is_office=False).first() if slug else None
    if slug and told["organisation"] is None:
        raise refusal("organisation", _("There is no such organisation."), slug, "does_not_exist")
    made = selecting.decide(application=row, person=request.person, by=request.actor, version=version, **told)
    with acting_for(made.tenant_id, staff=request.internal):
        return _application(request, pk)


def _cycles() -> Any:
    return Cycle.objects.select_related("programme").order_by("-starts_on", "-pk")


def _cycle(pk: int) -> Cycle:
    found = _cycles().filter(pk=pk).first() if pk < 2**62 else None
    if found is None:
        raise Http404
    return found


def _cycle_shown(row: Cycle, status: int = 200) -> Response:
    return versioned(shapes.CycleShown(row).data, row.version, status=status)


@allow(roles.STAFF)
@extend_schema(responses=shapes.CyclesShown)
@endpoint("GET")
def all_cycles(request: Request) -> Response:
    """Every cycle, the newest first."""
    return Response(shapes.CyclesShown({"cycles": _cycles()}).data)


@allow(roles.STAFF)
@extend_schema(responses=shapes.CycleShown)
@endpoint("GET")
def cycle(request: Request, pk: int) -> Response:
    """One cycle."""
    return _cycle_shown(_cycle(pk))


@allow(roles.STAFF)
@extend_schema(responses=shapes.DemandShown)
@endpoint("GET")
def cycle_demand(request: Request, pk: int) -> Response:
    """What a cycle will need, week by week, beside what is reserved."""
    row = _cycle(pk)
    weeks = [dict(zip(demand.HEADER, demand.cells(one), strict=True)) for one in demand.forecast(row)]
    return Response(shapes.DemandShown({"cycle": row.code, "weeks": weeks}).data)


@allow(roles.REVIEW)
@extend_schema(request=shapes.CycleChanged, responses={200: shapes.CycleShown})
@endpoint("POST")
@repeatable(required=False)
def change_cycle(request: Request, pk: int) -> Response:
    """Change the name or the days of a cycle."""
    at_the_office(request)
    sent = asked(shapes.CycleChanged, request)
    version = optional_version(request, sent)
    told = {name: value for name, value in sent.items() if name != "version"}
    return _cycle_shown(cycles.change(cycle=_cycle(pk), values=told, by=request.actor, version=version))


@allow(roles.REVIEW)
@extend_schema(request=shapes.CycleMoved, responses={200: shapes.CycleShown})
@endpoint("POST")
@repeatable(required=False)
def move_cycle(request: Request, pk: int) -> Response:
    """Let a cycle run, or close it."""
    at_the_office(request)
    sent = asked(shapes.CycleMoved, request)
    version = optional_version(request, sent)
    cycles.go_on(cycle=_cycle(pk), to=sent["to"], by=request.actor, version=version)
    return _cycle_shown(_cycle(pk))


@allow(roles.PUBLISH)
@extend_schema(request=shapes.CycleCopied, responses={201: shapes.CycleShown})
@endpoint("POST")
@repeatable(required=False)
def copy_cycle(request: Request, pk: int) -> Response:
    """Make the next cycle after this one: days, sessions and the call go over; people do not."""
    at_the_office(request)
    sent = asked(shapes.CycleCopied, request)
    return _cycle_shown(cycles.copy(cycle=_cycle(pk), by=request.actor, **sent), status=201)


def _checklist(row: Cycle, status: int = 200) -> Response:
    with reading_everyone():
        steps = checklists.steps_of(row.pk)
    return Response(shapes.ChecklistShown({"cycle": row.code, "steps": steps}).data, status=status)


@allow(roles.STAFF)
@extend_schema(responses=shapes.ChecklistShown)
@endpoint("GET")
def cycle_checklist(request: Request, pk: int) -> Response:
    """The onboarding list of a cycle: the shipped one until the office changes it."""
    return _checklist(_cycle(pk))


@allow(roles.REVIEW)
@extend_schema(request=shapes.ChecklistStepAsked, responses={201: shapes.ChecklistShown})
@endpoint("POST")
@repeatable(required=False)
def add_checklist_step(request: Request, pk: int) -> Response:
    """Put a step at the end of a cycle's onboarding list; lists laid out before stay as they are."""
    at_the_office(request)
    sent = asked(shapes.ChecklistStepAsked, request)
    row = _cycle(pk)
    checklists.add_step(cycle=row, by=request.actor, **sent)
    return _checklist(row, status=201)


def _checklist_step(act: Callable[..., Any], form: Any) -> Callable[..., Any]:
    def do(request: Request, pk: int, step: UUID) -> Response:
        at_the_office(request)
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = _cycle(pk)
        with reading_everyone():
            if not any(one.pk == step for one in checklists.steps_of(row.pk)):
                raise Http404
        told = {name: value for name, value in sent.items() if name != "version"}
        named = {"values": told} if act is checklists.change_step else told
        act(cycle=row, step=step, by=request.actor, version=version, **named)
        return _checklist(row)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.ChecklistShown})
    return allow(roles.REVIEW)(described(endpoint("POST")(repeatable(required=False)(do))))


CHECKLIST_STEPS = {
    "change": _checklist_step(checklists.change_step, shapes.ChecklistStepChanged),
    "move": _checklist_step(checklists.move_step, shapes.ChecklistStepMoved),
    "remove": _checklist_step(checklists.remove_step, shapes.ChecklistStepRemoved),
}


def _steps(row: Participation) -> Response:
    with reading_everyone():
        cycle = Cycle.objects.get(pk=row.cycle_id)
    row.cycle = cycle
    told = {
        "state": row.state,
        "permits": [deed for deed in participating.DEEDS if deed in participating.PERMITS[row.state]],
        "steps": participating.steps(row.state, life.facts_of(row)),
        "version": row.version,
    }
    return versioned(shapes.StepsShown(told).data, row.version)


@allow(roles.READ)
@extend_schema(responses=shapes.StepsShown)
@endpoint("GET")
def participation_steps(request: Request, pk: UUID) -> Response:
    """Where a participation stands, what that permits, and what may follow."""
    return _steps(one(Participation.objects.all(), None, pk))


@allow(roles.PUBLISH)
@extend_schema(request=shapes.GateDecided, responses={200: ParticipationShown})
@endpoint("POST")
@repeatable(required=False)
def decide_gate(request: Request, pk: UUID) -> Response:
    """Say whether a participation passed its stage gate; saying it again corrects it."""
    sent = asked(shapes.GateDecided, request)
    version = optional_version(request, sent)
    row = one(Participation.objects.all(), None, pk)
    told = {name: value for name, value in sent.items() if name != "version"}
    life.decide_gate(participation=row, by=request.actor, version=version, **told)
    found = one(Participation.objects.all(), ParticipationShown, pk)
    return versioned(ParticipationShown(found).data, found["version"])


@allow(roles.REVIEW)
@extend_schema(request=shapes.ParticipationMoved, responses={200: shapes.StepsShown})
@endpoint("POST")
@repeatable(required=False)
def move_participation(request: Request, pk: UUID) -> Response:
    """Let a participation go on to another state, or suspend or withdraw it."""
    sent = asked(shapes.ParticipationMoved, request)
    version = optional_version(request, sent)
    row = one(Participation.objects.all(), None, pk)
    told = {name: value for name, value in sent.items() if name != "version"}
    moved = life.go_on(participation=row, by=request.actor, version=version, **told)
    return _steps(Participation.objects.get(pk=moved.pk))
