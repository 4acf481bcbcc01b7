"""Quotas in the API: what the programme granted, what the accounts themselves allow, what the provider was asked for."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import capacity_queries, queries, states
from clusters.actions import quotas as actions
from clusters.models import QuotaGrant
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, versioned
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one
from tenants.web.problems import Refused


class QuotaShown(Shown):
    """What the programme granted, what is taken of it, and the provider's own limit beside it."""

    BESIDE = ("used",)

    participation = serializers.UUIDField(source="participation_id")
    instance_type = serializers.CharField()
    region = serializers.CharField()
    approved_instances = serializers.IntegerField(
        help_text="Granted today: the sum of the ledger's rows. 0 allows none; without a quota nothing is set."
    )
    unlimited = serializers.BooleanField(help_text="The programme sets no limit, whatever `approved_instances` says.")
    used = serializers.IntegerField(
        help_text="Instances of this type and Region that clusters hold: those that are there, asked for, or still going."
    )
    provider_service = serializers.CharField()
    provider_limit = serializers.CharField()
    provider_unit = serializers.CharField()
    provider_value = serializers.IntegerField(allow_null=True)
    version = serializers.IntegerField()


QUOTAS = Listing(
    "quotas",
    QuotaShown,
    {"instance_type": Word("instance_type"), "region": Word("region"), "participation": Id("participation_id")},
    name="instance_type",
)


def with_used(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Grants with what their participation's clusters take of them: one query for all."""
    used = capacity_queries.used_of({row["participation_id"] for row in rows})
    return [row | {"used": used.get((row["participation_id"], row["region"], row["instance_type"]), 0)} for row in rows]


@allow(roles.READ)
@QUOTAS.described
@endpoint("GET")
def quotas(request: Request) -> Response:
    """What was granted, by instance type."""
    return QUOTAS.answer(request, QuotaGrant.objects.values(*QUOTAS.columns()), with_used)


@allow(roles.READ)
@extend_schema(responses=QuotaShown)
@endpoint("GET")
def quota(request: Request, pk: UUID) -> Response:
    """One grant."""
    [row] = with_used([one(QuotaGrant.objects.all(), QuotaShown, pk)])
    return versioned(QuotaShown(row).data, row["version"])


class ServiceQuotaShown(Shown):
    """A quota as the account itself reports it; the unit is in its name."""

    account = serializers.CharField(source="account.account_id")
    region = serializers.CharField()
    service = serializers.CharField()
    name = serializers.CharField()
    code = serializers.CharField()
    value = serializers.DecimalField(max_digits=14, decimal_places=2)
    read_at = serializers.DateTimeField()


SERVICE_QUOTAS = Listing("service_quotas", ServiceQuotaShown, {"region": Word("region"), "service": Word("service")})


@allow(roles.READ)
@SERVICE_QUOTAS.described
@endpoint("GET")
def service_quotas(request: Request) -> Response:
    """What the accounts allow, as last read."""
    return SERVICE_QUOTAS.answer(request, queries.service_quotas())


class QuotaRequestShown(Shown):
    """What the provider was asked for, and how far that is."""

    number = serializers.CharField()
    state = serializers.CharField()
    account = serializers.CharField(source="account.account_id", allow_null=True)
    region = serializers.CharField()
    instance_type = serializers.CharField()
    instances = serializers.IntegerField()
    provider_unit = serializers.CharField()
    provider_value = serializers.IntegerField()
    reason = serializers.CharField()
    engine_status = serializers.CharField(help_text="The provider's own word.")
    told = serializers.CharField(help_text="What the provider said when it could not be asked, or refused.")
    requested_on = serializers.DateField()
    decided_on = serializers.DateField(allow_null=True)


class MoreQuotaAsked(Asked):
    """How many instances are to be allowed in all; the account where the participant has several in the Region."""

    instances = serializers.IntegerField(min_value=1, max_value=actions.MOST_INSTANCES)
    account = serializers.UUIDField(required=False)
    reason = serializers.CharField(max_length=actions.LONGEST_REASON)


QUOTA_REQUESTS = Listing(
    "quota_requests",
    QuotaRequestShown,
    {"region": Word("region"), "state": OneOf("state", states.QUOTA_REQUEST)},
    name="number",
)


@allow(roles.READ)
@QUOTA_REQUESTS.described
@endpoint("GET")
def quota_requests(request: Request) -> Response:
    """What the provider was asked for."""
    return QUOTA_REQUESTS.answer(request, queries.quota_requests())


@allow(roles.EDIT_QUOTAS)
@extend_schema(request=MoreQuotaAsked, responses={202: QuotaRequestShown})
@endpoint("POST")
@repeatable(required=False)
def ask_for_more(request: Request, pk: UUID) -> Response:
    """Ask the provider for more of what limits this grant; the answer comes later, in its `state`."""
    sent = asked(MoreQuotaAsked, request)
    line = queries.grants().filter(pk=pk).first()
    if line is None:
        raise Http404
    accounts = [row for row in actions.accounts_of(line) if sent.get("account") in (None, row.pk)]
    if len(accounts) != 1:
        sentence = _("Say in which account: %(n)s of this participant are used in %(region)s.")
        values = {"n": len(accounts), "region": line.region}
        raise Refused("which_account", sentence % values, status=422, field="account")
    made = actions.ask_for_more(
        grant=line, account=accounts[0], instances=sent["instances"], reason=sent["reason"], by=request.actor
    )
    return Response(QuotaRequestShown(one(queries.quota_requests(), QuotaRequestShown, made.pk)).data, status=202)
