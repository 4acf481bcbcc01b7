"""What was found before a cluster was made or changed, in the API: every line with its verdict, its age and who can change it."""

from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import listing, queries
from clusters.api.shapes import FindingShown
from clusters.models import Preflight, PreflightLine
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.listing import Shown


class PreflightTold(Shown):
    """One full check, by what the account said at that moment."""

    generation = serializers.IntegerField(help_text="Of the cluster: what was wished when it was made.")
    operation = serializers.UUIDField(allow_null=True)
    began_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    verdict = serializers.ChoiceField(choices=Preflight.Verdict.choices)
    passed = serializers.IntegerField()
    failed = serializers.IntegerField()
    unknown = serializers.IntegerField(help_text="What could not be found out; it is no pass, and stops nothing.")
    minded = serializers.IntegerField()
    why = serializers.CharField(allow_blank=True, help_text="The first thing that does not fit, and who can change it.")
    lines = FindingShown(many=True)


@allow(roles.READ)
@extend_schema(responses=PreflightTold)
@endpoint("GET")
def preflight(request: Request, pk: UUID) -> Response:
    """The newest full check of a cluster; 404 before there is one."""
    found = queries.preflights(queries.cluster(pk)).first()
    if found is None:
        raise Http404
    lines = PreflightLine.objects.filter(preflight=found).order_by("position")
    told = {
        name: getattr(found, name) for name in PreflightTold().fields if name not in ("tenant", "operation", "lines")
    }
    beside = {"tenant__slug": found.tenant.slug, "operation": found.operation_id}
    return Response(PreflightTold({**told, **beside, "lines": [listing.told(line) for line in lines]}).data)
