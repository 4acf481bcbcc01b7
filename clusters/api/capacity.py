"""Capacity in the API: what one has in every unit, the rows that it is summed from, and requests to the programme."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import capacity as joining
from clusters import capacity_queries, states
from clusters.actions import capacity as acting
from clusters.models import CapacityRequest, LedgerRow, Option
from tenants.models import Participation
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import based_on, endpoint, versioned
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, WarningShown, Word, one

MOST_LIKE = 10


class InUnits(serializers.Serializer):
    """One number in every unit; null: the unit of this type is not known."""

    instances = serializers.IntegerField(allow_null=True)
    accelerators = serializers.IntegerField(allow_null=True)
    vcpus = serializers.IntegerField(allow_null=True)


class WayShown(serializers.Serializer):
    """One way of buying."""

    option = serializers.ChoiceField(choices=Option.values)
    granted = serializers.IntegerField(allow_null=True, help_text="Null where no number limits it: see `granted.word`.")
    reserved = serializers.IntegerField()
    held = serializers.IntegerField()
    idle = serializers.IntegerField(help_text="Reserved, and held by no cluster.")
    free = serializers.IntegerField(allow_null=True)
    in_quota = serializers.BooleanField(help_text="Whether the provider counts it against the account's quota.")


class AllowedShown(serializers.Serializer):
    """What an account tells of the provider's quota, by its exact name."""

    account = serializers.CharField()
    service = serializers.CharField()
    name = serializers.CharField()
    unit = serializers.CharField()
    value = serializers.IntegerField(allow_null=True)
    instances = serializers.IntegerField(allow_null=True)
    read_at = serializers.DateTimeField()


class GrantedShown(InUnits):
    word = serializers.ChoiceField(
        choices=list(joining.WORDS), help_text="`none` allows none, `not_set`: nobody has said, `unlimited`: no limit."
    )


class JoinedShown(serializers.Serializer):
    """One type in one Region: granted, allowed, reserved, held and free."""

    instance_type = serializers.CharField()
    region = serializers.CharField()
    granted = GrantedShown()
    held = InUnits()
    free = InUnits()
    reserved = InUnits()
    allowed_word = serializers.ChoiceField(choices=["limited", "none", "not_set"])
    allowed = AllowedShown(many=True)
    ways = WayShown(many=True)
    granted_accelerator_hours = serializers.IntegerField(allow_null=True, help_text="Of the cycle; null: no end.")
    used_accelerator_hours = serializers.IntegerField(allow_null=True, help_text="Null: not measured.")


class CapacityShown(Shown):
    """All capacity of one participation."""

    BESIDE = ("capacity",)

    code = serializers.CharField()
    cycle = serializers.CharField(source="cycle.code")
    capacity = JoinedShown(many=True)


CAPACITY = Listing("capacity", CapacityShown, {"participation": Id("id"), "cycle": Word("cycle__code")}, name="code")


def told(row: joining.Joined) -> dict[str, Any]:
    return {
        "instance_type": row.kind.instance_type,
        "region": row.kind.region,
        "granted": {"word": row.word, **row.kind.units(row.granted.total)},
        "held": row.kind.units(row.held),
        "free": row.kind.units(row.free),
        "reserved": row.kind.units(row.reserved),
        "allowed_word": row.allowed_word,
        "allowed": row.allowed,
        "ways": row.ways,
        "granted_accelerator_hours": row.granted_hours,
        "used_accelerator_hours": row.used_hours,
    }


def whole(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = capacity_queries.joined_of([row["id"] for row in rows])
    return [row | {"capacity": [told(one) for one in found[row["id"]]]} for row in rows]


@allow(roles.READ)
@CAPACITY.described
@endpoint("GET")
def capacity(request: Request) -> Response:
    """What was granted, is allowed, reserved, held and free, by participation."""
    return CAPACITY.answer(request, Participation.objects.values(*CAPACITY.columns()), whole)


class LedgerRowShown(Shown):
    """So many more or fewer; what holds is the sum of the rows whose days hold."""

    ledger = serializers.ChoiceField(choices=LedgerRow.Ledger.choices)
    participation = serializers.UUIDField(source="participation_id", allow_null=True)
    region = serializers.CharField()
    instance_type = serializers.CharField()
    quota = serializers.CharField(help_text="Of what an account allows: the service and the quota's exact name.")
    option = serializers.ChoiceField(choices=Option.values)
    delta = serializers.IntegerField(help_text="Instances; of a quota the provider's own unit.")
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(allow_null=True)
    why = serializers.CharField()
    by = serializers.CharField()
    request = serializers.UUIDField(source="request_id", allow_null=True)
    reservation = serializers.UUIDField(source="reservation_id", allow_null=True)
    cluster = serializers.UUIDField(source="cluster_id", allow_null=True)
    operation = serializers.UUIDField(source="operation_id", allow_null=True)


LEDGER = Listing(
    "ledger_rows",
    LedgerRowShown,
    {
        "ledger": OneOf("ledger", LedgerRow.Ledger.values),
        "instance_type": Word("instance_type"),
        "region": Word("region"),
        "cluster": Id("cluster_id"),
        "request": Id("request_id"),
    },
    newest="created_at",
)


@allow(roles.READ)
@LEDGER.described
@endpoint("GET")
def ledger_rows(request: Request) -> Response:
    """The rows of the ledgers."""
    return LEDGER.answer(request, LedgerRow.objects.all())


class CapacityRequestShown(Shown):
    """What was asked of the programme, and who decided it, out of which budget line, why."""

    number = serializers.CharField()
    participation = serializers.UUIDField(source="participation_id")
    kind = serializers.ChoiceField(choices=CapacityRequest.Kind.choices)
    state = serializers.ChoiceField(choices=list(states.CAPACITY_REQUEST))
    instance_type = serializers.CharField()
    region = serializers.CharField()
    to_region = serializers.CharField()
    option = serializers.ChoiceField(choices=Option.values)
    instances = serializers.IntegerField()
    least = serializers.IntegerField(allow_null=True, help_text="So few help already; null: one does.")
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(allow_null=True)
    granted_instances = serializers.IntegerField(allow_null=True, help_text="Null: as many as were asked for.")
    granted_until = serializers.DateField(allow_null=True, help_text="Null: as long as was asked for.")
    reason = serializers.CharField()
    effect = serializers.DictField(help_text="As it was shown when it was asked for; null in it: not known.")
    rule = serializers.CharField(help_text="Which rule granted it at once; empty: somebody decided it.")
    budget_line = serializers.CharField()
    why = serializers.CharField()
    asked_by = serializers.CharField()
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class CapacityRequestMade(CapacityRequestShown):
    """A request that was just made, and what is to be minded about it."""

    warnings = WarningShown(
        many=True, help_text="`asked_already`: the same waits or is granted already for some of these days."
    )


class CapacityAsked(Asked):
    participation = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=CapacityRequest.Kind.values)
    instance_type = serializers.CharField(max_length=30)
    region = serializers.CharField(max_length=20)
    to_region = serializers.CharField(max_length=20, required=False, allow_blank=True)
    option = serializers.ChoiceField(choices=Option.values, required=False, allow_blank=True)
    instances = serializers.IntegerField(min_value=1, max_value=acting.MOST_INSTANCES)
    least = serializers.IntegerField(min_value=1, max_value=acting.MOST_INSTANCES, required=False, allow_null=True)
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(required=False, allow_null=True)
    reason = serializers.CharField(max_length=acting.LONGEST)


class CapacityDecisionAsked(Asked):
    decision = serializers.ChoiceField(choices=["grant", "decline"])
    budget_line = serializers.CharField(max_length=120, required=False, allow_blank=True)
    instances = serializers.IntegerField(
        min_value=1, max_value=acting.MOST_INSTANCES, required=False, allow_null=True, help_text="Left out: all."
    )
    ends_on = serializers.DateField(required=False, allow_null=True, help_text="Left out: as long as was asked for.")
    nevertheless = serializers.BooleanField(
        required=False, default=False, help_text="Also for days after the end of the cycle; else `past_term` refuses."
    )
    why = serializers.CharField(max_length=acting.LONGEST)
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False, help_text="Or `If-Match`.")


class CapacityChangeAsked(Asked):
    """What is left out stays as it is."""

    kind = serializers.ChoiceField(choices=CapacityRequest.Kind.values, required=False)
    instance_type = serializers.CharField(max_length=30, required=False)
    region = serializers.CharField(max_length=20, required=False)
    to_region = serializers.CharField(max_length=20, required=False, allow_blank=True)
    option = serializers.ChoiceField(choices=Option.values, required=False, allow_blank=True)
    instances = serializers.IntegerField(min_value=1, max_value=acting.MOST_INSTANCES, required=False)
    least = serializers.IntegerField(min_value=1, max_value=acting.MOST_INSTANCES, required=False, allow_null=True)
    starts_on = serializers.DateField(required=False)
    ends_on = serializers.DateField(required=False, allow_null=True)
    reason = serializers.CharField(max_length=acting.LONGEST, required=False)
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False, help_text="Or `If-Match`.")


class CapacityWithdrawalAsked(Asked):
    why = serializers.CharField(max_length=300)
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False, help_text="Or `If-Match`.")


REQUESTS = Listing(
    "capacity_requests",
    CapacityRequestShown,
    {"state": OneOf("state", states.CAPACITY_REQUEST), "participation": Id("participation_id")},
    newest="created_at",
)


@allow(roles.READ)
@REQUESTS.described
@endpoint("GET")
def requests(request: Request) -> Response:
    """Requests for capacity; what waits is to be decided."""
    return REQUESTS.answer(request, CapacityRequest.objects.all())


def _answer(pk: UUID, status: int = 200) -> Response:
    row = one(CapacityRequest.objects.all(), CapacityRequestShown, pk)
    return versioned(CapacityRequestShown(row).data, row["version"], status=status)


@allow(roles.READ)
@extend_schema(responses=CapacityRequestShown)
@endpoint("GET")
def capacity_request(request: Request, pk: UUID) -> Response:
    """One request."""
    return _answer(pk)


def _ask(request: Request) -> Response:
    """Ask the programme for capacity. What a rule grants is granted in the answer already."""
    sent = asked(CapacityAsked, request)
    place = Participation.objects.select_related("cycle").filter(pk=sent.pop("participation")).first()
    if place is None:
        raise Http404
    like = {name: sent.get(name) for name in ("kind", "instance_type", "region", "starts_on", "ends_on")}
    before = list(capacity_queries.asked_already(place.pk, **like)[:MOST_LIKE])
    made = acting.ask(participation=place, by=request.actor, **sent)
    row = one(CapacityRequest.objects.all(), CapacityRequestShown, made.pk)
    data = CapacityRequestMade(row | {"warnings": _minded(before)}).data
    return versioned(data, row["version"], status=201)


def _minded(before: list[CapacityRequest]) -> list[dict[str, Any]]:
    """What is told of requests that wait already for the same."""
    if not before:
        return []
    sentence = _(
        "The same type in the same Region waits or is granted already for some of these days: %(numbers)s. "
        "This was asked in addition; withdraw it if it is not wanted."
    )
    numbers = ", ".join(row.number for row in before)
    return [{"code": "asked_already", "sentence": sentence % {"numbers": numbers}, "about": [row.pk for row in before]}]


@allow(roles.READ, write=roles.ASK_CAPACITY)
@REQUESTS.described
@extend_schema(methods=["POST"], request=CapacityAsked, responses={201: CapacityRequestMade})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_requests(request: Request) -> Response:
    """Requests for capacity, and another one."""
    return _ask(request) if request.method == "POST" else REQUESTS.answer(request, CapacityRequest.objects.all())


def _one(pk: UUID) -> Any:
    return one(CapacityRequest.objects.all(), None, pk)


@allow(roles.ASK_CAPACITY)
@extend_schema(request=CapacityChangeAsked, responses=CapacityRequestShown)
@endpoint("POST")
def change(request: Request, pk: UUID) -> Response:
    """Ask for something else instead, as long as nobody decided. What a rule grants is granted in the answer already."""
    sent = asked(CapacityChangeAsked, request)
    version = based_on(request, sent)
    acting.change(asked=_one(pk), by=request.actor, **sent | {"version": version})
    return _answer(pk)


@allow(roles.APPROVE)
@extend_schema(request=CapacityDecisionAsked, responses=CapacityRequestShown)
@endpoint("POST")
def decide(request: Request, pk: UUID) -> Response:
    """Grant it out of a budget line, or decline it; nobody decides what they asked for."""
    sent = asked(CapacityDecisionAsked, request)
    grants = sent.pop("decision") == "grant"
    sent["version"] = based_on(request, sent)
    acting.decide(asked=_one(pk), grants=grants, person=request.person, by=request.actor, **sent)
    return _answer(pk)


@allow(roles.ASK_CAPACITY)
@extend_schema(request=CapacityWithdrawalAsked, responses=CapacityRequestShown)
@endpoint("POST")
def withdraw(request: Request, pk: UUID) -> Response:
    """Ask for it no longer."""
    sent = asked(CapacityWithdrawalAsked, request)
    version = based_on(request, sent)
    acting.withdraw(asked=_one(pk), why=sent["why"], by=request.actor, version=version)
    return _answer(pk)
