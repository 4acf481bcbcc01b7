"""The API of duty rosters."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import rosters
from tenants.models import DutyShift, Person
from tenants.people_api import known_zone
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, Moment, OneOf, Shown, Word, one

READ_DUTY = roles.STAFF - {roles.AUTOMATION}


class ShiftShown(Shown):
    """One person on duty for a team."""

    team = serializers.CharField(help_text="account, lead, frameworks, or the component of a service team.")
    part = serializers.ChoiceField(choices=DutyShift.Part.values)
    person = serializers.UUIDField(source="person_id")
    person_name = serializers.CharField(source="person.name")
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    zone = serializers.CharField(help_text="The zone in which it was planned.")


class PlanDutyAsked(Asked):
    team = serializers.CharField(max_length=40)
    part = serializers.ChoiceField(choices=DutyShift.Part.values, default=DutyShift.Part.PRIMARY)
    people = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=50, help_text="In their order."
    )
    turn = serializers.ChoiceField(choices=["week", "day"], default="week", help_text="day: with every shift.")
    weekdays = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=6), min_length=1, max_length=7, help_text="0 is Monday."
    )
    begins = serializers.TimeField()
    ends = serializers.TimeField(help_text="Not after `begins`: on the next day.")
    zone = serializers.CharField(max_length=64, validators=[known_zone])
    first = serializers.DateField()
    weeks = serializers.IntegerField(min_value=1, max_value=rosters.MOST_WEEKS)


class PlannedShown(serializers.Serializer):
    """How many shifts were planned."""

    planned = serializers.IntegerField()


class SwapAsked(Asked):
    shift = serializers.UUIDField(required=False, help_text="The other shift; or `person`.")
    person = serializers.UUIDField(required=False, help_text="Who takes it.")
    why = serializers.CharField(max_length=rosters.LONGEST_WHY, required=False, allow_blank=True)


class RemoveShiftAsked(Asked):
    why = serializers.CharField(max_length=rosters.LONGEST_WHY, required=False, allow_blank=True)


SHIFTS = Listing(
    "shifts",
    ShiftShown,
    {
        "team": Word("team"),
        "part": OneOf("part", DutyShift.Part.values),
        "person": Id("person_id"),
        "after": Moment("ends_at__gt", "Not over at this time."),
        "before": Moment("starts_at__lt", "Begun before this time."),
    },
    newest="starts_at",
)


def _person(field: str, pk: UUID) -> Person:
    found = Person.objects.filter(pk=pk, is_active=True).first()
    if found is None:
        raise refusal(field, _("There is no such member."), str(pk), "does_not_exist")
    return found


@allow(READ_DUTY)
@SHIFTS.described
@endpoint("GET")
def shifts(request: Request) -> Response:
    """Shifts of all teams, the latest first; none for a token of one participant."""
    narrowed = request.token is not None and request.token.tenant_id is not None
    return SHIFTS.answer(request, DutyShift.objects.none() if narrowed else DutyShift.objects.all())


@allow(READ_DUTY, write=roles.REVIEW)
@SHIFTS.described
@extend_schema(methods=["POST"], request=PlanDutyAsked, responses={201: PlannedShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def office_shifts(request: Request) -> Response:
    """Shifts of all teams; plan those of a weekly pattern."""
    at_the_office(request)
    if request.method != "POST":
        return SHIFTS.answer(request, DutyShift.objects.all())
    sent = asked(PlanDutyAsked, request)
    if not 2020 <= sent["first"].year <= 2200:
        raise refusal("first", _("Send a day between 2020 and 2200."), sent["first"].isoformat(), "range")
    people = [_person("people", pk) for pk in sent.pop("people")]
    team, part = sent.pop("team"), sent.pop("part")
    pattern = rosters.Pattern(**sent)
    made = rosters.plan(team=team, part=part, people=people, pattern=pattern, office=request.tenant, by=request.actor)
    return Response(PlannedShown({"planned": len(made)}).data, status=201)


def _shown(pk: Any) -> Response:
    return Response(ShiftShown(one(DutyShift.objects.all(), ShiftShown, pk)).data)


@allow(roles.REVIEW)
@extend_schema(request=SwapAsked, responses=ShiftShown)
@endpoint("POST")
@repeatable(required=False)
def swap(request: Request, pk: UUID) -> Response:
    """Swap a shift with another one of its team, or give it to somebody of the team."""
    at_the_office(request)
    sent = asked(SwapAsked, request)
    row = one(rosters.shifts(), None, pk)
    why = sent.get("why", "")
    if ("shift" in sent) == ("person" in sent):
        raise refusal("shift", _("Send either 'shift' or 'person'."), None, "required")
    if "shift" in sent:
        other = rosters.shifts().filter(pk=sent["shift"]).first()
        if other is None:
            raise refusal("shift", _("This shift is no longer there."), str(sent["shift"]), "does_not_exist")
        rosters.swap(shift=row, other=other, why=why, by=request.actor)
    else:
        rosters.give(shift=row, person=_person("person", sent["person"]), why=why, by=request.actor)
    return _shown(pk)


@allow(roles.REVIEW)
@extend_schema(request=RemoveShiftAsked, responses=ShiftShown)
@endpoint("POST")
@repeatable(required=False)
def remove(request: Request, pk: UUID) -> Response:
    """Take a shift off the roster; the answer is what it was."""
    at_the_office(request)
    sent = asked(RemoveShiftAsked, request)
    answer = _shown(pk)
    rosters.remove(shift=one(rosters.shifts(), None, pk), by=request.actor, **sent)
    return answer
