"""Quotas in the API: what the programme granted, and what the accounts themselves allow."""

from typing import Any
from uuid import UUID

from django.db.models import Sum
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries, states
from clusters.models import Cluster, QuotaGrant
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, versioned
from tenants.web.listing import Id, Listing, Shown, Word, one


class QuotaShown(Shown):
    """What the programme granted, what is taken of it, and the provider's own limit beside it."""

    BESIDE = ("used",)

    participation = serializers.UUIDField(source="participation_id")
    instance_type = serializers.CharField()
    region = serializers.CharField()
    approved_instances = serializers.IntegerField()
    used = serializers.IntegerField(
        help_text="Accelerated instances of this type and Region in clusters that are not deleted."
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
    taken = (
        Cluster.objects.filter(state__in=states.USES_QUOTA, participation__in={row["participation_id"] for row in rows})
        .values_list("participation_id", "region", "main_type")
        .annotate(taken=Sum("accelerated_wanted"))
    )
    used = {(participation, region, kind): count for participation, region, kind, count in taken}
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
