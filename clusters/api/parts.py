"""What a cluster is made of, in the API: configurations, parts at the provider, proofs."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries, states
from clusters.models import ExternalObject, Proof, Revision
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.listing import Listing, Shown, one


class RevisionShown(Shown):
    """One configuration of a cluster; never changed once written."""

    cluster = serializers.UUIDField(source="cluster_id")
    number = serializers.IntegerField()
    author = serializers.CharField()
    reason = serializers.CharField()


class RevisionDetail(RevisionShown):
    body = serializers.DictField()


class PartShown(Shown):
    """One thing at the provider that a cluster is made of."""

    cluster = serializers.UUIDField(source="cluster_id")
    role = serializers.CharField(help_text="Its place in the architecture.")
    position = serializers.IntegerField(help_text="Parts are made in this order.")
    kind = serializers.CharField()
    account = serializers.CharField(source="account_number")
    region = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=list(states.PART))
    status = serializers.CharField(help_text="The engine's own word.")
    reason = serializers.CharField()
    external_id = serializers.CharField()
    intended_at = serializers.DateTimeField()
    last_call = serializers.CharField()
    last_call_at = serializers.DateTimeField(allow_null=True)
    last_seen_at = serializers.DateTimeField(allow_null=True)


class ProofShown(Shown):
    """Evidence that a generation of a cluster works."""

    cluster = serializers.UUIDField(source="cluster_id")
    generation = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Proof.Kind.choices)
    passed = serializers.BooleanField()
    evidence = serializers.CharField()
    taken_at = serializers.DateTimeField()


REVISIONS = Listing("revisions", RevisionShown, newest="created_at")
PARTS = Listing("parts", PartShown)
PROOFS = Listing("proofs", ProofShown, newest="taken_at")


@allow(roles.READ)
@REVISIONS.described
@endpoint("GET")
def revisions(request: Request, pk: UUID) -> Response:
    """Every configuration that a cluster had, newest first, without the bodies."""
    return REVISIONS.answer(request, queries.revisions(queries.cluster(pk)))


@allow(roles.READ)
@extend_schema(responses=RevisionDetail)
@endpoint("GET")
def revision(request: Request, pk: UUID, number: int) -> Response:
    """One configuration whole."""
    found = Revision.objects.filter(cluster=pk, number=number).values_list("pk", flat=True).first()
    return Response(RevisionDetail(one(Revision.objects.all(), RevisionDetail, found)).data)


@allow(roles.READ)
@PARTS.described
@endpoint("GET")
def parts(request: Request, pk: UUID) -> Response:
    """What a cluster is made of at the provider."""
    return PARTS.answer(request, ExternalObject.objects.filter(cluster=queries.cluster(pk)))


@allow(roles.READ)
@PROOFS.described
@endpoint("GET")
def proofs(request: Request, pk: UUID) -> Response:
    """What was proven about a cluster, newest first."""
    return PROOFS.answer(request, Proof.objects.filter(cluster=queries.cluster(pk)))
