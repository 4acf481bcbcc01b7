"""The API of who of the programme looks after a participant."""

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import assigning
from tenants.models import Assignment
from tenants.programme_day import programme_today
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable


class AssignmentShown(serializers.Serializer):
    """Somebody of the programme who looks after a participant, from a day to a day, both included."""

    id = serializers.IntegerField()
    tenant = serializers.SlugField(source="tenant.slug")
    person = serializers.UUIDField(source="person_id")
    name = serializers.CharField(source="person.name")
    duty = serializers.ChoiceField(choices=assigning.DUTIES)
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True, help_text="Ended before the last day was over.")


class AssignmentsShown(serializers.Serializer):
    """Who looks after a participant now or will, the lead first."""

    assignments = AssignmentShown(many=True)


class AssignmentAsked(Asked):
    person = serializers.UUIDField(help_text="Somebody of the office.")
    duty = serializers.ChoiceField(choices=assigning.DUTIES)
    starts_on = serializers.DateField(required=False, allow_null=True, help_text="Today unless said.")
    ends_on = serializers.DateField(required=False, allow_null=True, help_text="The last day; open unless said.")
    takes_over = serializers.BooleanField(
        required=False, help_text="Of a lead: whoever leads now does so until the day before."
    )
    why = serializers.CharField(
        max_length=assigning.LONGEST_WHY, required=False, help_text="For the history; the participant reads it."
    )


class AssignmentDaysAsked(Asked):
    ends_on = serializers.DateField(allow_null=True, help_text="The last day; null: open.")
    why = serializers.CharField(max_length=assigning.LONGEST_WHY, required=False, help_text="For the history.")


class AssignmentEndAsked(Asked):
    why = serializers.CharField(max_length=assigning.LONGEST_WHY, required=False, help_text="For the history.")


@allow(roles.READ, write=roles.ASSIGN)
@extend_schema(methods=["GET"], responses=AssignmentsShown)
@extend_schema(methods=["POST"], request=AssignmentAsked, responses={201: AssignmentShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def assignments(request: Request) -> Response:
    """Who looks after the participant; POST names somebody."""
    if request.method != "POST":
        rows = assigning.team(request.tenant, programme_today())
        return Response(AssignmentsShown({"assignments": rows}).data)
    sent = asked(AssignmentAsked, request)
    person = next((one for one in assigning.candidates() if one.pk == sent["person"]), None)
    if person is None:
        raise refusal(
            "person", _("Nobody of the office who may look after participants."), str(sent["person"]), "does_not_exist"
        )
    made = assigning.name_somebody(tenant=request.tenant, by=request.actor, **sent | {"person": person})
    return Response(AssignmentShown(made).data, status=201)


def _row(request: Request, pk: int) -> Assignment:
    rows = Assignment.objects.filter(tenant=request.tenant, duty__in=assigning.DUTIES)
    found = rows.select_related("person", "tenant").filter(pk=pk).first() if pk < 2**62 else None
    if found is None:
        raise Http404
    return found


def _step(act: Any, form: type[Asked]) -> Any:
    def do(request: Request, pk: int) -> Response:
        sent = asked(form, request)
        return Response(AssignmentShown(act(assignment=_row(request, pk), by=request.actor, **sent)).data)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses=AssignmentShown)
    return allow(roles.ASSIGN)(described(endpoint("POST")(repeatable(required=False)(do))))


STEPS = {
    "change": _step(assigning.change_days, AssignmentDaysAsked),
    "end": _step(assigning.end, AssignmentEndAsked),
}
