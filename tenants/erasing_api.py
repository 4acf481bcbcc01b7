"""The API of people who are to be forgotten; the office's alone."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import erasing, states
from tenants.models import Erasure
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, OneOf, Shown, one
from tenants.web.problems import Refused

READ_ERASURES = roles.STAFF - {roles.AUTOMATION}


class ErasureShown(Shown):
    """That a person is to be forgotten: who asked, and what another one decided."""

    person = serializers.UUIDField(source="person_id")
    state = serializers.ChoiceField(choices=sorted(states.ERASURE))
    reason = serializers.CharField()
    asked_by = serializers.UUIDField(source="asked_by_id")
    decided_by = serializers.UUIDField(source="decided_by_id", allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)


class ErasureAsked(Asked):
    email = serializers.EmailField(max_length=254)
    reason = serializers.CharField(
        max_length=erasing.LONGEST_REASON, help_text="It is kept: write the ground, and not the name."
    )


class EraseAsked(Asked):
    why = serializers.CharField(
        max_length=erasing.LONGEST_REASON, required=False, allow_blank=True, help_text="For the office's history."
    )


class DeclineErasureAsked(Asked):
    why = serializers.CharField(max_length=erasing.LONGEST_REASON)


ERASURES = Listing("erasures", ErasureShown, {"state": OneOf("state", states.ERASURE)}, newest="created_at")


def _row(request: Request, pk: Any) -> Erasure:
    at_the_office(request)
    found: Erasure = one(erasing.erasures(), None, pk)
    return found


def _with_internal_text(request: Request) -> None:
    if not request.internal:
        raise Refused(
            "internal_token",
            _("Erasures are internal, and this token does not see internal text. Issue one that does."),
            status=403,
        )


def _shown(pk: Any, status: int = 200) -> Response:
    return Response(ErasureShown(one(Erasure.objects.all(), ErasureShown, pk)).data, status=status)


@allow(READ_ERASURES, write=roles.ASK_ERASURE)
@ERASURES.described
@extend_schema(methods=["POST"], request=ErasureAsked, responses={201: ErasureShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def erasures(request: Request) -> Response:
    """People who are to be forgotten, newest first; ask that one is."""
    at_the_office(request)
    if request.method != "POST":
        return ERASURES.answer(request, Erasure.objects.all())
    _with_internal_text(request)
    sent = asked(ErasureAsked, request)
    row = erasing.ask(office=request.tenant, by=request.actor, person=request.person, **sent)
    return _shown(row.pk, 201)


@allow(roles.ERASE)
@extend_schema(request=EraseAsked, responses=ErasureShown)
@endpoint("POST")
@repeatable(required=False)
def erase(request: Request, pk: UUID) -> Response:
    """Erase the person. Neither whoever asked nor whoever is erased may do it. It cannot be undone."""
    _with_internal_text(request)
    sent = asked(EraseAsked, request)
    erasing.erase(erasure=_row(request, pk), by=request.actor, person=request.person, **sent)
    return _shown(pk)


@allow(roles.ERASE)
@extend_schema(request=DeclineErasureAsked, responses=ErasureShown)
@endpoint("POST")
@repeatable(required=False)
def decline(request: Request, pk: UUID) -> Response:
    """Say no, and why."""
    _with_internal_text(request)
    sent = asked(DeclineErasureAsked, request)
    erasing.decline(erasure=_row(request, pk), by=request.actor, person=request.person, **sent)
    return _shown(pk)
