"""The API of what the programme does for participants beside the review: sessions, onboarding, reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from program import enablement_shapes as shapes
from program import onboarding, reports, sessions, states
from program.checklists import help_of
from program.models import Onboarding, OnboardingStep, Registration, Report, Session
from support.api import owner_named
from tenants.models import Cycle, Participation
from tenants.programme_day import programme_today
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import reading_everyone
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import asked, nearest, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Word, one

SESSIONS = Listing(
    "sessions",
    shapes.SessionShown,
    {"kind": OneOf("kind", Session.Kind.values), "cycle": Word("cycle__code"), "code": Word("code")},
    newest="starts_at",
)
ONBOARDING = Listing(
    "onboarding", shapes.OnboardingShown, {"participation": Id("participation_id")}, newest="created_at"
)
REPORTS = Listing(
    "reports",
    shapes.ReportShown,
    {
        "state": OneOf("state", states.REPORT),
        "kind": OneOf("kind", Report.Kind.values),
        "period": Word("period"),
        "participation": Id("participation_id"),
    },
    newest="created_at",
)


def _cycle(code: str) -> Cycle:
    found = Cycle.objects.filter(code=code).first()
    if found is None:
        known = list(Cycle.objects.order_by("code").values_list("code", flat=True))
        raise refusal("cycle", nearest(code, known), code, "does_not_exist", allowed=known)
    return found


@allow(roles.EVERYONE)
@SESSIONS.described
@endpoint("GET")
def all_sessions(request: Request) -> Response:
    """Sessions, the latest first; participants see those that are announced."""
    return SESSIONS.answer(request, Session.objects.all())


@allow(roles.EVERYONE)
@extend_schema(responses=shapes.SessionDetail)
@endpoint("GET")
def session(request: Request, pk: UUID) -> Response:
    """One session, with who of one's own registered; for staff everybody."""
    return _session(pk)


def _session(pk: UUID, status: int = 200) -> Response:
    row = one(Session.objects.all(), shapes.SessionDetail, pk)
    registered = Registration.objects.filter(session_id=pk, cancelled_at=None).order_by("created_at", "id")
    row["registrations"] = list(registered.values(*shapes.RegistrationShown.columns()))
    return versioned(shapes.SessionDetail(row).data, row["version"], status=status)


@allow(roles.TEACH)
@extend_schema(request=shapes.SessionAsked, responses={201: shapes.SessionDetail})
@endpoint("POST")
@repeatable(required=False)
def plan_session(request: Request) -> Response:
    """Plan a session. Nobody but staff sees it before it is announced."""
    at_the_office(request)
    sent = asked(shapes.SessionAsked, request)
    speakers = [owner_named(email) for email in sent.pop("speakers")]
    made = sessions.plan_session(by=request.actor, speakers=speakers, **sent | {"cycle": _cycle(sent["cycle"])})
    return _session(made.pk, status=201)


def _session_step(act: Callable[..., Any], form: Any) -> Callable[..., Any]:
    """The view of one thing done with a session; the action's own sentence describes it."""

    def do(request: Request, pk: UUID) -> Response:
        at_the_office(request)
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(Session.objects.select_related("cycle"), None, pk)
        told = {name: value for name, value in sent.items() if name != "version"}
        act(session=row, by=request.actor, version=version, **told)
        with reading_everyone():
            return _session(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.SessionDetail})
    return allow(roles.TEACH)(described(endpoint("POST")(repeatable(required=False)(do))))


SESSION_STEPS = {
    "edit": _session_step(sessions.edit_session, shapes.SessionChanged),
    "announce": _session_step(sessions.announce_session, shapes.AnswerAsked),
    "call-off": _session_step(sessions.call_off_session, shapes.CallOffAsked),
    "attendance": _session_step(sessions.mark_attendance, shapes.AttendanceAsked),
    "survey": _session_step(sessions.enter_survey, shapes.SurveyAsked),
}


def _enrolment(act: Callable[..., Any]) -> Callable[..., Any]:
    def do(request: Request, pk: UUID) -> Response:
        asked(shapes.EnrolmentAsked, request)
        row = one(Session.objects.all(), None, pk)
        act(session=row, tenant=request.tenant, person=request.person, by=request.actor)
        return _session(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=shapes.EnrolmentAsked, responses={200: shapes.SessionDetail})
    return allow(roles.ENROL)(described(endpoint("POST")(repeatable(required=False)(do))))


ENROLMENTS = {"register": _enrolment(sessions.register), "leave": _enrolment(sessions.unregister)}


@allow(roles.READ)
@ONBOARDING.described
@endpoint("GET")
def all_onboarding(request: Request) -> Response:
    """What participations have to do before they train, the newest first."""
    return ONBOARDING.answer(request, Onboarding.objects.all())


@allow(roles.READ, write=roles.ONBOARD)
@ONBOARDING.described
@extend_schema(methods=["POST"], request=shapes.OnboardingAsked, responses={201: shapes.OnboardingDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_onboarding(request: Request) -> Response:
    """The lists of one tenant; set the session of a participation and lay out its list."""
    if request.method != "POST":
        return ONBOARDING.answer(request, Onboarding.objects.all())
    sent = asked(shapes.OnboardingAsked, request)
    participation = Participation.objects.filter(pk=sent["participation"]).first()
    if participation is None:
        sentence = _("There is nothing with this id here.")
        raise refusal("participation", sentence, str(sent["participation"]), "does_not_exist")
    values = sent | {"participation": participation, "lead": owner_named(sent["lead"])}
    made = onboarding.plan_onboarding(by=request.actor, **values)
    return _onboarding(made.pk, status=201)


def _onboarding(pk: UUID, status: int = 200) -> Response:
    row = one(Onboarding.objects.all(), shapes.OnboardingDetail, pk)
    steps = OnboardingStep.objects.filter(onboarding_id=pk).order_by("position")
    found = steps.values(*shapes.StepShown.columns(), "help")
    row["steps"] = [step | {"help": help_of(OnboardingStep(text=step["text"], help=step["help"]))} for step in found]
    return Response(shapes.OnboardingDetail(row).data, status=status)


@allow(roles.READ)
@extend_schema(responses=shapes.OnboardingDetail)
@endpoint("GET")
def one_onboarding(request: Request, pk: UUID) -> Response:
    """One list with its steps and what proves each."""
    return _onboarding(pk)


@allow(roles.ONBOARD)
@extend_schema(request=shapes.OnboardingChanged, responses=shapes.OnboardingDetail)
@endpoint("POST")
@repeatable(required=False)
def change_onboarding(request: Request, pk: UUID) -> Response:
    """Change who leads an onboarding, or when its session is and how long; whom it concerns is told by mail."""
    sent = asked(shapes.OnboardingChanged, request)
    made = one(Onboarding.objects.select_related("lead"), None, pk)
    values = {name: sent.get(name, getattr(made, name)) for name in ("held_at", "minutes")}
    lead = owner_named(sent["lead"]) if "lead" in sent else made.lead
    onboarding.change_onboarding(made=made, lead=lead, by=request.actor, **values)
    return _onboarding(pk)


def _step(verb: str, form: Any) -> Callable[..., Any]:
    act, _done = onboarding.VERBS[verb]

    def do(request: Request, pk: UUID, step: UUID) -> Response:
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(OnboardingStep.objects.filter(onboarding_id=pk), None, step)
        told = {name: value for name, value in sent.items() if name != "version"}
        if "log" in told:
            log, name = told.pop("log"), told.pop("log_name")
            told["file"] = (name, log.encode()) if log else None
        act(step=row, by=request.actor, version=version, **told)
        return _onboarding(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.OnboardingDetail})
    return allow(roles.ONBOARD)(described(endpoint("POST")(repeatable(required=False)(do))))


STEP_VERBS = {
    "tick": _step("tick", shapes.TickAsked),
    "skip": _step("skip", shapes.StepWhyAsked),
    "untick": _step("untick", shapes.StepWhyAsked),
}


def _late(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    today = programme_today()
    return [row | {"late": reports.is_late(row["state"], row["due_on"], today)} for row in rows]


@allow(roles.READ)
@REPORTS.described
@endpoint("GET")
def all_reports(request: Request) -> Response:
    """Reports that are owed, and what became of them."""
    return REPORTS.answer(request, Report.objects.values(*REPORTS.columns()), _late)


def _report(pk: UUID) -> Response:
    [row] = _late([one(Report.objects.all(), shapes.ReportDetail, pk)])
    return versioned(shapes.ReportDetail(row).data, row["version"])


@allow(roles.READ)
@extend_schema(responses=shapes.ReportDetail)
@endpoint("GET")
def report(request: Request, pk: UUID) -> Response:
    """One report with its text; its files are among the files."""
    return _report(pk)


@allow(roles.REVIEW)
@extend_schema(request=shapes.ReportsAsked, responses={201: shapes.ReportsMade})
@endpoint("POST")
@repeatable(required=False)
def ask_for_reports(request: Request) -> Response:
    """Ask every participation of a cycle for a report."""
    at_the_office(request)
    sent = asked(shapes.ReportsAsked, request)
    count = reports.ask_for_reports(by=request.actor, **sent | {"cycle": _cycle(sent["cycle"])})
    return Response(shapes.ReportsMade({"owing": count}).data, status=201)


def _report_verb(verb: str, form: Any) -> Callable[..., Any]:
    act, _done = reports.VERBS[verb]

    def do(request: Request, pk: UUID) -> Response:
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(Report.objects.all(), None, pk)
        reports.refuse_unless_may(verb, row.kind, request.role)
        told = {name: value for name, value in sent.items() if name != "version"}
        act(report=row, by=request.actor, version=version, **told)
        return _report(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.ReportDetail})
    listed = {"hand_in": roles.HAND_IN, "move_due": roles.MOVE_REPORTS}.get(verb, roles.ANSWER_REPORTS)
    return allow(listed)(described(endpoint("POST")(repeatable(required=False)(do))))


REPORT_VERBS = {
    "hand-in": _report_verb("hand_in", shapes.HandInAsked),
    "accept": _report_verb("accept", shapes.AnswerAsked),
    "send-back": _report_verb("send_back", shapes.BackAsked),
    "dispute": _report_verb("dispute", shapes.BackAsked),
    "move-due": _report_verb("move_due", shapes.DueAsked),
}
