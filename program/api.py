"""The API of everyone at once: weekly reviews for the office, their minutes for each participant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from program import reviews as actions
from program import states
from program.models import Minutes, Review, ReviewItem
from support.api import owner_named
from support.shapes import VersionAsked
from support.states import CASE, SEVERITIES
from tenants.models import Cycle, Tenant
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import Asked, asked, nearest, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one

# Automation is not of the office's table: whoever steers it sees reviews with a token of the own role.
READ_REVIEWS = roles.STAFF - {roles.AUTOMATION}


class ReviewShown(Shown):
    """One weekly review: the state of everything at its cut-off, counted once."""

    cycle = serializers.CharField(source="cycle.code")
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=list(states.REVIEW))
    regular = serializers.BooleanField(help_text="False: an extra review, held between two regular ones.")
    previous_cutoff_at = serializers.DateTimeField(allow_null=True)
    cutoff_at = serializers.DateTimeField()
    frozen_at = serializers.DateTimeField(help_text="Entries recorded up to here were counted.")
    open_before = serializers.IntegerField()
    opened = serializers.IntegerField()
    reopened = serializers.IntegerField()
    resolved = serializers.IntegerField()
    carried = serializers.IntegerField()
    open_now = serializers.IntegerField(help_text="open_before + opened + reopened - resolved")
    mitigated = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of all that was frozen.")
    held_by = serializers.CharField()
    published_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class ItemShown(Shown):
    """A case as it stood at the cut-off, in its place on the agenda, and what the meeting settled about it."""

    review = serializers.UUIDField(source="review_id")
    case = serializers.UUIDField(source="case_id")
    case_number = serializers.CharField(source="case.number")
    case_title = serializers.CharField(source="case.title")
    position = serializers.IntegerField()
    agenda_group = serializers.ChoiceField(choices=states.AGENDA_GROUPS)
    state_then = serializers.ChoiceField(choices=list(CASE))
    severity_then = serializers.ChoiceField(choices=SEVERITIES)
    age_days = serializers.IntegerField()
    idle_days = serializers.IntegerField()
    times_on_agenda = serializers.IntegerField()
    carried_over = serializers.BooleanField()
    late = serializers.BooleanField(help_text="Opened after the cut-off; counted in the next review.")
    accepted_as_block = serializers.BooleanField()
    outcome = serializers.CharField(
        help_text="settled, block, follow_up, ended, carried, resolved; empty while it is open."
    )
    times_reason = serializers.CharField(help_text="Why it is on the agenda again.")
    owner = serializers.UUIDField(source="owner_id", allow_null=True)
    owner_name = serializers.CharField(source="owner.name", allow_null=True)
    next_step = serializers.CharField()
    next_step_due = serializers.DateField(allow_null=True)
    discussed_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class ReviewDetail(ReviewShown):
    """A review with its agenda in the order of the meeting."""

    BESIDE = ("items",)

    items = ItemShown(many=True)


class MinutesShown(Shown):
    """The minutes that one participant gets of one review."""

    review = serializers.UUIDField(source="review_id")
    review_number = serializers.IntegerField()
    cutoff_at = serializers.DateTimeField()
    sha256 = serializers.CharField()
    edited_at = serializers.DateTimeField(allow_null=True)
    locked_at = serializers.DateTimeField(allow_null=True, help_text="From then on there are only addenda.")
    version = serializers.IntegerField()


class MinutesDetail(MinutesShown):
    body = serializers.CharField()


class FreezeAsked(Asked):
    cycle = serializers.CharField(max_length=20, help_text="Its code.")
    cutoff = serializers.DateTimeField(help_text="The moment that is frozen, with its zone; in the past.")
    regular = serializers.BooleanField(default=True, help_text="False: an extra review.")


class SettleAsked(VersionAsked):
    owner = serializers.EmailField(max_length=254)
    next_step = serializers.CharField(max_length=300)
    due = serializers.DateField()
    reason = serializers.CharField(
        max_length=300, allow_blank=True, default="", help_text="Why it is here again; needed from the third time on."
    )


REVIEWS = Listing(
    "reviews", ReviewShown, {"state": OneOf("state", states.REVIEW), "cycle": Word("cycle__code")}, newest="cutoff_at"
)
MINUTES = Listing("minutes", MinutesShown, {"review": Id("review_id")}, newest="cutoff_at")


@contextmanager
def the_office(request: Request) -> Iterator[None]:
    """Reviews are the office's rows. A token that shows no internal text may still count what it may see."""
    if request.tenant is not None and not request.tenant.is_office:
        raise Http404
    if request.token is not None and request.token.tenant_id and not request.token.tenant.is_office:
        raise Http404
    with acting_for(Tenant.objects.get(is_office=True), staff=True):
        yield


def _page(request: Request) -> Response:
    with the_office(request):
        return REVIEWS.answer(request, Review.objects.all())


@allow(READ_REVIEWS)
@REVIEWS.described
@endpoint("GET")
def reviews(request: Request) -> Response:
    """Weekly reviews, the newest first."""
    return _page(request)


@allow(READ_REVIEWS, write=roles.PUBLISH)
@REVIEWS.described
@extend_schema(methods=["POST"], request=FreezeAsked, responses={201: ReviewDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def office_reviews(request: Request) -> Response:
    """Weekly reviews; freeze one. It counts what the history says of its cut-off, which may be any time that is past."""
    if request.method != "POST":
        return _page(request)
    sent = asked(FreezeAsked, request)
    cycles = Cycle.objects.order_by("code")
    cycle = cycles.filter(code=sent["cycle"]).first()
    if cycle is None:
        known = list(cycles.values_list("code", flat=True))
        raise refusal("cycle", nearest(sent["cycle"], known), sent["cycle"], "does_not_exist", allowed=known)
    with the_office(request):
        frozen = actions.freeze(cycle=cycle, cutoff=sent["cutoff"], by=request.actor, regular=sent["regular"])
    return shown_review(request, frozen.pk, status=201)


@allow(READ_REVIEWS)
@extend_schema(responses=ReviewDetail)
@endpoint("GET")
def review(request: Request, pk: UUID) -> Response:
    """One review with its agenda."""
    return shown_review(request, pk)


def shown_review(request: Request, pk: UUID, status: int = 200) -> Response:
    """A review, with the items of all tenants that the caller may see."""
    with the_office(request):
        row = one(Review.objects.all(), ReviewDetail, pk)
    row["items"] = _items(request, pk)
    return versioned(ReviewDetail(row).data, row["version"], status=status)


def _items(request: Request, pk: UUID) -> list[dict[str, Any]]:
    with _every_participant(request):
        return _rows_of(pk)


@contextmanager
def _every_participant(request: Request) -> Iterator[None]:
    """At the office's own address the agenda is still everybody's; elsewhere the door has said whose."""
    if request.tenant is None:
        yield
        return
    with reading_everyone() if request.internal else acting_for(*Tenant.objects.filter(is_office=False)):
        yield


def _rows_of(pk: UUID) -> list[dict[str, Any]]:
    return list(ReviewItem.objects.filter(review_id=pk).order_by("position", "pk").values(*ItemShown.columns()))


def _step(act: Callable[..., Any]) -> Callable[..., Any]:
    """The view that takes a review one step on; the action's own sentence describes it."""

    def do(request: Request, pk: UUID) -> Response:
        sent = asked(VersionAsked, request)
        with the_office(request):
            found = Review.objects.filter(pk=pk).first()
            if found is None:
                raise Http404
            act(review=found, by=request.actor, version=optional_version(request, sent))
        return shown_review(request, pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=VersionAsked, responses={200: ReviewDetail})
    return allow(roles.PUBLISH)(described(endpoint("POST")(repeatable(required=False)(do))))


def _accept(*, review: Review, by: str, version: int | None) -> None:
    """Accept as a block what has no flag."""
    actions.accept_as_block(review=review, by=by, version=version)


STEPS = {
    "accept": _step(_accept),
    "open-session": _step(actions.open_session),
    "publish": _step(actions.publish),
    "lock": _step(actions.lock),
}


@allow(roles.REVIEW)
@extend_schema(request=SettleAsked, responses=ItemShown)
@endpoint("POST")
@repeatable(required=False)
def settle(request: Request, pk: UUID, item: UUID) -> Response:
    """Write down what the meeting settled about one item: owner, next step, date."""
    sent = asked(SettleAsked, request)
    with the_office(request), reading_everyone():
        found = ReviewItem.objects.filter(review_id=pk, pk=item).first()
    if found is None:
        raise Http404
    actions.settle_item(
        item=found,
        owner=owner_named(sent["owner"]),
        next_step=sent["next_step"],
        due=sent["due"],
        reason=sent["reason"],
        by=request.actor,
        version=optional_version(request, sent),
    )
    with acting_for(found.tenant_id):
        row = one(ReviewItem.objects.all(), ItemShown, item)
    return versioned(ItemShown(row).data, row["version"])


@allow(roles.READ)
@MINUTES.described
@endpoint("GET")
def all_minutes(request: Request) -> Response:
    """Minutes of published reviews, one row for each participant that the caller may see."""
    return MINUTES.answer(request, visible_minutes(request))


def visible_minutes(request: Request) -> QuerySet[Minutes]:
    """The minutes that the caller may see. The office's own name everybody and what is internal."""
    rows = Minutes.objects.all()
    return rows if request.internal else rows.exclude(tenant__is_office=True)


@allow(roles.READ)
@extend_schema(responses=MinutesDetail)
@endpoint("GET")
def minutes(request: Request, pk: UUID) -> Response:
    """The minutes of one participant of one review."""
    return Response(MinutesDetail(one(visible_minutes(request), MinutesDetail, pk)).data)
