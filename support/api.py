"""The API of what went wrong: cases, what was written on them, and everything that is done with one."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster, Job
from support import actions, queries, shapes, states
from support.models import Case
from support.writing import version_of
from tenants.models import Participation, Person
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Word, one
from tenants.web.problems import Refused

CASES = Listing(
    "cases",
    shapes.CaseShown,
    {
        "state": OneOf("state", states.CASE),
        "severity": OneOf("severity", states.SEVERITIES),
        "type": OneOf("type", Case.Type.values),
        "number": Word("number"),
        "cluster": Id("cluster_id"),
        "job": Id("job_id"),
        "owner": Id("owner_id"),
    },
    newest="opened_at",
)
BESIDE = ("severity_raised_at", "internal_version")  # what is read for what is shown
NOTES = Listing("notes", shapes.NoteShown, {"audience": OneOf("audience", ["shared", "internal"])}, newest="at")


def _visible(request: Request) -> Any:
    return queries.cases(role=request.role, person=request.person)


def _page(request: Request) -> Response:
    columns = [*CASES.columns(), *BESIDE]
    return CASES.answer(request, _visible(request).values(*columns), _with_attention)


def _with_attention(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    now = timezone.now()
    return [row | {"attention": queries.attention(row, now), "version": version_of(row)} for row in rows]


def _shown(request: Request, pk: UUID, status: int = 200) -> Response:
    [row] = _with_attention([one(_visible(request), shapes.CaseDetail, pk, *BESIDE)])
    return versioned(shapes.CaseDetail(row).data, row["version"], status=status)


def _case(request: Request, pk: UUID) -> Case:
    found = _visible(request).select_related("tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ_CASES)
@CASES.described
@endpoint("GET")
def cases(request: Request) -> Response:
    """Cases, the newest first."""
    return _page(request)


@allow(roles.READ_CASES, write=roles.WRITE_CASES)
@CASES.described
@extend_schema(methods=["POST"], request=shapes.CaseAsked, responses={201: shapes.CaseDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_cases(request: Request) -> Response:
    """Cases of one tenant; open one."""
    if request.method != "POST":
        return _page(request)
    sent = asked(shapes.CaseAsked, request)
    about = {"participation": Participation, "cluster": Cluster, "job": Job}
    found = {field: _named(field, model, sent.pop(field)) for field, model in about.items()}
    opened = actions.open_case(tenant=request.tenant, by=request.actor, **sent, **found)
    return _shown(request, opened.pk, status=201)


def _named(field: str, model: type[Model], pk: UUID | None) -> Any:
    found = model.objects.filter(pk=pk).first() if pk else None  # type: ignore[attr-defined]
    if pk and found is None:
        raise refusal(field, _("There is nothing with this id here."), str(pk), "does_not_exist")
    return found


@allow(roles.READ_CASES)
@extend_schema(responses=shapes.CaseDetail)
@endpoint("GET")
def case(request: Request, pk: UUID) -> Response:
    """One case with its frozen evidence."""
    return _shown(request, pk)


def _notes(request: Request, pk: UUID) -> Response:
    rows = queries.case_notes(_case(request, pk))
    return NOTES.answer(request, rows.values(*NOTES.columns()), _with_authors)


def _with_authors(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = actor_names(row["author"] for row in rows)
    return [row | {"author_name": names.get(row["author"], row["author"])} for row in rows]


@allow(roles.READ_CASES)
@NOTES.described
@endpoint("GET")
def notes(request: Request, pk: UUID) -> Response:
    """What was written on a case, newest first."""
    return _notes(request, pk)


@allow(roles.READ_CASES, write=roles.ANSWER_CASES)
@NOTES.described
@extend_schema(methods=["POST"], request=shapes.NoteAsked, responses={201: shapes.NoteShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_notes(request: Request, pk: UUID) -> Response:
    """What was written on a case; write on it, for all who may see it or for staff only."""
    if request.method != "POST":
        return _notes(request, pk)
    sent = asked(shapes.NoteAsked, request)
    case, version = _case(request, pk), optional_version(request, sent)
    note = actions.note_case(case=case, text=sent["text"], audience=sent["audience"], by=request.actor, version=version)
    [row] = _with_authors([one(queries.case_notes(case), shapes.NoteShown, note.pk)])
    return Response(shapes.NoteShown(row).data, status=201)


def owner_named(email: str) -> Person:
    """The person with this address. Raises Refused in the words of somebody who may not own anything here."""
    found = Person.objects.filter(email__iexact=email).first()
    if found is None:
        # The same words as for a person from elsewhere: who else has a seat in the programme is nobody's business.
        sentence = _("The owner is a person of the programme's office or of the participant.")
        raise Refused("owner_from_elsewhere", sentence, status=422, field="owner")
    return found


def _take(request: Request, sent: dict[str, Any]) -> dict[str, Any]:
    return {"person": owner_named(sent["owner"]) if sent.get("owner") else request.person}


def _plan(request: Request, sent: dict[str, Any]) -> dict[str, Any]:
    return {**sent, "owner": owner_named(sent["owner"])}


def _as_sent(request: Request, sent: dict[str, Any]) -> dict[str, Any]:
    return sent


Arguments = Callable[[Request, dict[str, Any]], dict[str, Any]]


def _verb(
    act: Callable[..., Any], form: type[Asked], allowed: frozenset[str], arguments: Arguments = _as_sent
) -> Callable[..., Any]:
    """The view that does one thing with a case; the action's own sentence describes it."""

    def do(request: Request, pk: UUID) -> Response:
        sent = asked(form, request)
        case, version = _case(request, pk), optional_version(request, sent)
        sent.pop("version", None)
        act(case=case, by=request.actor, version=version, **arguments(request, sent))
        return _shown(request, pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.CaseDetail})
    return allow(allowed)(described(endpoint("POST")(repeatable(required=False)(do))))


VERBS = {
    "take": _verb(actions.take_case, shapes.TakeAsked, roles.WORK_CASES, _take),
    "ask-customer": _verb(actions.ask_customer, shapes.TextAsked, roles.WORK_CASES),
    "plan": _verb(actions.plan_case, shapes.PlanAsked, roles.WORK_CASES, _plan),
    "severity": _verb(actions.change_severity, shapes.SeverityAsked, roles.WORK_CASES),
    "escalate": _verb(actions.escalate_case, shapes.EscalateAsked, roles.WORK_CASES),
    "mitigate": _verb(actions.mitigate_case, shapes.ReasonAsked, roles.WORK_CASES),
    "wait": _verb(actions.wait_for, shapes.WaitAsked, roles.WORK_CASES),
    "resume": _verb(actions.resume_case, shapes.VersionAsked, roles.WORK_CASES),
    "resolve": _verb(actions.resolve_case, shapes.ResolveAsked, roles.WORK_CASES),
    "reopen": _verb(actions.reopen_case, shapes.ReasonAsked, roles.WRITE_CASES),
    "close": _verb(actions.close_case, shapes.VersionAsked, roles.WORK_CASES),
}
