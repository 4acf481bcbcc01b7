"""Reservations in the API: what is wanted, bought, active or over; want one, buy it, change it, end it."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import facts, states
from clusters.actions import reservations as acting
from clusters.models import Reservation
from tenants.models import Participation
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import based_on, endpoint, versioned
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one


class ReservationShown(Shown):
    """Capacity that is held, or is to be bought."""

    participation = serializers.UUIDField(source="participation_id")
    state = serializers.ChoiceField(choices=list(states.RESERVATION))
    kind = serializers.ChoiceField(choices=Reservation.Kind.choices)
    provider_id = serializers.CharField(source="external_id", help_text="Empty while it is wanted.")
    provider_status = serializers.CharField(source="engine_status", help_text="The provider's own word.")
    instance_type = serializers.CharField()
    region = serializers.CharField()
    az_id = serializers.CharField()
    count = serializers.IntegerField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    warned = serializers.IntegerField(
        allow_null=True, help_text="So many days before its end it was last warned of; null: not yet."
    )
    version = serializers.IntegerField()


RESERVATIONS = Listing(
    "reservations",
    ReservationShown,
    {
        "state": OneOf("state", states.RESERVATION),
        "instance_type": Word("instance_type"),
        "region": Word("region"),
        "participation": Id("participation_id"),
    },
    newest="created_at",
)
Version = serializers.IntegerField(min_value=1, max_value=10**9, required=False, help_text="Or `If-Match`.")


class ReservationAsked(Asked):
    participation = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=Reservation.Kind.values)
    instance_type = serializers.CharField(max_length=30)
    az_id = serializers.CharField(max_length=20, help_text="The id of the zone, like apne1-az4.")
    count = serializers.IntegerField(min_value=1, max_value=acting.MOST)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField(max_length=300)


class ReservationBoughtAsked(Asked):
    provider_id = serializers.CharField(max_length=200, required=False, allow_blank=True)
    why = serializers.CharField(max_length=300)
    version = Version


class ReservationChangeAsked(Asked):
    count = serializers.IntegerField(min_value=1, max_value=acting.MOST)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    why = serializers.CharField(max_length=300)
    version = Version


class ReservationEndAsked(Asked):
    why = serializers.CharField(max_length=300)
    version = Version


def _answer(pk: UUID, status: int = 200) -> Response:
    row = one(Reservation.objects.all(), ReservationShown, pk)
    return versioned(ReservationShown(row).data, row["version"], status=status)


@allow(roles.READ)
@RESERVATIONS.described
@endpoint("GET")
def reservations(request: Request) -> Response:
    """Reservations, the newest first."""
    return RESERVATIONS.answer(request, Reservation.objects.all())


@allow(roles.READ)
@extend_schema(responses=ReservationShown)
@endpoint("GET")
def reservation(request: Request, pk: UUID) -> Response:
    """One reservation."""
    return _answer(pk)


@allow(roles.READ, write=roles.EDIT_QUOTAS)
@RESERVATIONS.described
@extend_schema(methods=["POST"], request=ReservationAsked, responses={201: ReservationShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_reservations(request: Request) -> Response:
    """Reservations; say that another one is wanted."""
    if request.method != "POST":
        return RESERVATIONS.answer(request, Reservation.objects.all())
    sent = asked(ReservationAsked, request)
    place = Participation.objects.filter(pk=sent.pop("participation")).first()
    if place is None:
        raise Http404
    region = facts.load().region_of(sent["az_id"]) or ""
    return _answer(acting.want(participation=place, region=region, by=request.actor, **sent).pk, status=201)


def _held(pk: UUID) -> Any:
    return one(Reservation.objects.all(), None, pk)


@allow(roles.EDIT_QUOTAS)
@extend_schema(request=ReservationBoughtAsked, responses=ReservationShown)
@endpoint("POST")
def buy(request: Request, pk: UUID) -> Response:
    """Say that it is bought, and how the provider calls it."""
    sent = asked(ReservationBoughtAsked, request)
    name = sent.pop("provider_id", "")
    sent["version"] = based_on(request, sent)
    acting.bought(held=_held(pk), external_id=name, by=request.actor, **sent)
    return _answer(pk)


@allow(roles.EDIT_QUOTAS)
@extend_schema(request=ReservationChangeAsked, responses=ReservationShown)
@endpoint("POST")
def change(request: Request, pk: UUID) -> Response:
    """Another number or other times; what is warned of is told anew when it lies ahead again."""
    sent = asked(ReservationChangeAsked, request)
    sent["version"] = based_on(request, sent)
    acting.change(held=_held(pk), by=request.actor, **sent)
    return _answer(pk)


@allow(roles.EDIT_QUOTAS)
@extend_schema(request=ReservationEndAsked, responses=ReservationShown)
@endpoint("POST")
def end(request: Request, pk: UUID) -> Response:
    """It is not wanted any more, was given back, or taken away."""
    sent = asked(ReservationEndAsked, request)
    sent["version"] = based_on(request, sent)
    acting.end(held=_held(pk), by=request.actor, **sent)
    return _answer(pk)
