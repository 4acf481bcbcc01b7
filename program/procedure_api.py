"""The API of what a review leaves behind: decisions, action items, addenda, the trend, what changed; and launch figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from program import board, decisions, reviews, states
from program import procedure_shapes as shapes
from program.api import READ_REVIEWS, the_office, visible_minutes
from program.models import ActionItem, Addendum, Decision, Minutes, Review
from program.trend import shown_cycle, trend
from support.api import owner_named
from support.models import Case
from tenants.models import Cycle
from tenants.programme_day import programme_zone
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Word, one
from tenants.web.problems import Refused

DECISIONS = Listing(
    "decisions",
    shapes.DecisionShown,
    {"number": Word("number"), "case": Id("case_id"), "review": Id("review_id")},
    newest="created_at",
)
ACTIONS = Listing(
    "action_items",
    shapes.ActionShown,
    {
        "state": OneOf("state", states.ACTION_ITEM),
        "owner": Id("owner_id"),
        "case": Id("case_id"),
        "review": Id("review_id"),
        "number": Word("number"),
    },
    newest="created_at",
)
ADDENDA = Listing("addenda", shapes.AddendumShown, newest="at")
DAY = OpenApiParameter("day", OpenApiTypes.DATE, description="A day in the programme's zone; today unless said.")


@allow(roles.READ)
@DECISIONS.described
@endpoint("GET")
def all_decisions(request: Request) -> Response:
    """Decisions, the newest first."""
    return DECISIONS.answer(request, Decision.objects.all())


@allow(roles.READ, write=roles.REVIEW)
@DECISIONS.described
@extend_schema(methods=["POST"], request=shapes.DecisionAsked, responses={201: shapes.DecisionShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_decisions(request: Request) -> Response:
    """Decisions of one organisation, or the office's own; record one. It never changes: a later one supersedes it."""
    if request.method != "POST":
        return DECISIONS.answer(request, Decision.objects.all())
    sent = asked(shapes.DecisionAsked, request)
    values = sent | {
        "decided_by": owner_named(sent["decided_by"]),
        "case": _named("case", Case, sent["case"]),
        "supersedes": _named("supersedes", Decision, sent["supersedes"]),
        "review": _review(sent["review"]),
    }
    (made,) = decisions.record_decision(tenants=[request.tenant], by=request.actor, **values)
    return Response(shapes.DecisionShown(one(Decision.objects.all(), shapes.DecisionShown, made.pk)).data, status=201)


def _named(field: str, model: Any, pk: UUID | None) -> Any:
    found = model.objects.filter(pk=pk).first() if pk else None
    if pk and found is None:
        raise refusal(field, _("There is nothing with this id here."), str(pk), "does_not_exist")
    return found


def _review(pk: UUID | None) -> Review | None:
    with reading_everyone():
        return _named("review", Review, pk)


@allow(roles.READ)
@extend_schema(responses=shapes.DecisionShown)
@endpoint("GET")
def decision(request: Request, pk: UUID) -> Response:
    """One decision."""
    return Response(shapes.DecisionShown(one(Decision.objects.all(), shapes.DecisionShown, pk)).data)


@allow(roles.READ)
@ACTIONS.described
@endpoint("GET")
def all_action_items(request: Request) -> Response:
    """Action items, the newest first."""
    return ACTIONS.answer(request, ActionItem.objects.all())


@allow(roles.READ, write=roles.REVIEW)
@ACTIONS.described
@extend_schema(methods=["POST"], request=shapes.ActionAsked, responses={201: shapes.ActionShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_action_items(request: Request) -> Response:
    """Action items of one organisation, or the office's own; give somebody one."""
    if request.method != "POST":
        return ACTIONS.answer(request, ActionItem.objects.all())
    sent = asked(shapes.ActionAsked, request)
    values = sent | {
        "owner": owner_named(sent["owner"]),
        "case": _named("case", Case, sent["case"]),
        "decision": _named("decision", Decision, sent["decision"]),
        "review": _review(sent["review"]),
    }
    made = decisions.give_action_item(tenant=request.tenant, by=request.actor, **values)
    return _action(made.pk, status=201)


def _action(pk: UUID, status: int = 200) -> Response:
    row = one(ActionItem.objects.all(), shapes.ActionShown, pk)
    return versioned(shapes.ActionShown(row).data, row["version"], status=status)


@allow(roles.READ)
@extend_schema(responses=shapes.ActionShown)
@endpoint("GET")
def action_item(request: Request, pk: UUID) -> Response:
    """One action item."""
    return _action(pk)


def _doing(act: Callable[..., Any], form: Any) -> Callable[..., Any]:
    """The view of one thing done with an action item; the action's own sentence describes it."""

    def do(request: Request, pk: UUID) -> Response:
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(ActionItem.objects.select_related("tenant"), None, pk)
        act(
            item=row,
            by=request.actor,
            **{name: value for name, value in sent.items() if name != "version"},
            version=version,
        )
        return _action(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: shapes.ActionShown})
    return allow(roles.REVIEW)(described(endpoint("POST")(repeatable(required=False)(do))))


DOINGS = {
    "end": _doing(decisions.end_action_item, shapes.EndAsked),
    "move": _doing(decisions.move_due, shapes.MoveAsked),
    "reopen": _doing(decisions.reopen_action_item, shapes.ReopenAsked),
}


@allow(roles.REVIEW)
@extend_schema(request=shapes.EditAsked, responses={200: shapes.MinutesEdited})
@endpoint("POST")
@repeatable(required=False)
def edit_minutes(request: Request, pk: UUID) -> Response:
    """Change the words of minutes that are not locked. They may name no other participant."""
    sent = asked(shapes.EditAsked, request)
    row = one(visible_minutes(request).select_related("tenant"), None, pk)
    reviews.edit_minutes(minutes=row, body=sent["body"], by=request.actor, version=optional_version(request, sent))
    told = one(visible_minutes(request), shapes.MinutesEdited, pk)
    return versioned(shapes.MinutesEdited(told).data, told["version"])


def _addenda(request: Request, pk: UUID) -> Response:
    row: Minutes = one(visible_minutes(request), None, pk)
    return ADDENDA.answer(request, Addendum.objects.filter(minutes=row))


@allow(roles.READ)
@ADDENDA.described
@endpoint("GET")
def addenda(request: Request, pk: UUID) -> Response:
    """What was added to locked minutes."""
    return _addenda(request, pk)


@allow(roles.READ, write=roles.REVIEW)
@ADDENDA.described
@extend_schema(methods=["POST"], request=shapes.AddendumAsked, responses={201: shapes.AddendumShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_addenda(request: Request, pk: UUID) -> Response:
    """What was added to locked minutes; add something."""
    if request.method != "POST":
        return _addenda(request, pk)
    sent = asked(shapes.AddendumAsked, request)
    row = one(visible_minutes(request).select_related("tenant"), None, pk)
    made = reviews.add_addendum(minutes=row, text=sent["text"], by=request.actor)
    return Response(shapes.AddendumShown(one(Addendum.objects.all(), shapes.AddendumShown, made.pk)).data, status=201)


@allow(READ_REVIEWS)
@extend_schema(
    parameters=[OpenApiParameter("cycle", str, description="Its code; the newest that was reviewed unless said.")],
    responses=shapes.TrendShown,
)
@endpoint("GET")
def review_trend(request: Request) -> Response:
    """The last twelve reviews of a cycle, the oldest first, as each froze them."""
    with the_office(request):
        code = request.GET.get("cycle", "")
        cycle = Cycle.objects.filter(code=code).first() if code else shown_cycle()
        if cycle is None:
            raise Refused("cycle", _("There is no such cycle."), status=404)
        weeks = trend(cycle)
    return Response(shapes.TrendShown({"cycle": cycle.code, "weeks": weeks}).data)


@allow(READ_REVIEWS)
@extend_schema(responses=shapes.ChangesShown)
@endpoint("GET")
def review_changes(request: Request, pk: UUID) -> Response:
    """What changed between the review before and this one; each line names the entry behind it."""
    with the_office(request):
        row = Review.objects.filter(pk=pk).values("id", "number", "snapshot__changes").first()
    if row is None:
        raise Http404
    return Response(shapes.ChangesShown({**row, "changes": row["snapshot__changes"] or []}).data)


@allow(roles.READ)
@extend_schema(parameters=[DAY], responses=shapes.BoardShown)
@endpoint("GET")
def launch(request: Request) -> Response:
    """Planned against in service on a day: in total, by type, by Region, by cluster, and the curve of the day."""
    now = timezone.now()
    sent = request.GET.get("day", "")
    try:
        day = parse_date(sent) if sent else now.astimezone(programme_zone()).date()
    except ValueError:
        day = None
    if day is None or not 1970 < day.year < 9000:
        raise Refused("filter", _("'day' takes a date like 2026-01-31."), status=400, field="day", value=sent[:40])
    shown = board.board(day, now)
    return Response(shapes.BoardShown(shown).data)


@allow(roles.REVIEW)
@extend_schema(request=shapes.LateAsked, responses={201: shapes.LateShown})
@endpoint("POST")
@repeatable(required=False)
def late(request: Request, pk: UUID) -> Response:
    """Put an open case on the agenda that the freeze did not know of; it is counted in the next review."""
    sent = asked(shapes.LateAsked, request)
    if not request.tenant.is_office:
        raise Http404
    with reading_everyone():
        review = Review.objects.filter(pk=pk).first()
        case = Case.objects.select_related("tenant").filter(pk=sent["case"]).first()
    if review is None:
        raise Http404
    if case is None:
        raise refusal("case", _("There is nothing with this id here."), str(sent["case"]), "does_not_exist")
    with acting_for(request.tenant, staff=True):
        item = reviews.add_late_item(review=review, case=case, by=request.actor)
    return Response(
        shapes.LateShown({"item": item.pk, "position": item.position, "group": item.agenda_group}).data, status=201
    )
