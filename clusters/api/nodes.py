"""Nodes in the API."""

from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries, states
from clusters.actions import quarantine as acting
from clusters.models import Quarantine
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one


class NodeShown(Shown):
    """A seat of a cluster, and the instance that sits in it."""

    cluster = serializers.UUIDField(source="cluster_id")
    cluster_name = serializers.CharField(source="cluster.name")
    name = serializers.CharField()
    group = serializers.CharField()
    seat = serializers.IntegerField()
    role = serializers.CharField()
    instance_type = serializers.CharField()
    accelerators = serializers.IntegerField()
    state = serializers.ChoiceField(choices=list(states.NODE))
    engine_status = serializers.CharField(help_text="The engine's own word.")
    reason = serializers.CharField()
    instance_id = serializers.CharField()
    private_ip = serializers.CharField()
    az_id = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)


NODES = Listing(
    "nodes",
    NodeShown,
    {
        "state": OneOf("state", states.NODE),
        "cluster": Id("cluster_id"),
        "instance_type": Word("instance_type"),
        "role": Word("role"),
        "group": Word("group"),
    },
)


@allow(roles.READ)
@NODES.described
@endpoint("GET")
def nodes(request: Request) -> Response:
    """Nodes, by name."""
    return NODES.answer(request, queries.nodes())


@allow(roles.READ)
@extend_schema(responses=NodeShown)
@endpoint("GET")
def node(request: Request, pk: UUID) -> Response:
    """One node."""
    return Response(NodeShown(one(queries.nodes(), NodeShown, pk)).data)


class QuarantineShown(Shown):
    """An instance in its seat that no new job is sent to."""

    cluster = serializers.UUIDField(source="cluster_id")
    node = serializers.UUIDField(source="node_id")
    node_name = serializers.CharField(source="node.name")
    instance_id = serializers.CharField()
    began_at = serializers.DateTimeField()
    reason = serializers.CharField()
    strikes = serializers.IntegerField(help_text="Faults within seven days; 0 when a person decided.")
    evidence = serializers.ListField(child=serializers.DictField(), help_text="What was seen, and when.")
    held_by = serializers.CharField()
    lifted_at = serializers.DateTimeField(allow_null=True)
    lifted_by = serializers.CharField()
    lifted_because = serializers.CharField()


class WhyTold(Asked):
    why = serializers.CharField(max_length=300)


QUARANTINES = Listing(
    "quarantines", QuarantineShown, {"cluster": Id("cluster_id"), "node": Id("node_id")}, newest="began_at"
)


@allow(roles.READ)
@QUARANTINES.described
@endpoint("GET")
def quarantines(request: Request) -> Response:
    """Nodes that jobs are or were kept away from, the newest first."""
    return QUARANTINES.answer(request, Quarantine.objects.all())


def _quarantine(pk: UUID, status: int = 200) -> Response:
    return Response(QuarantineShown(one(Quarantine.objects.all(), QuarantineShown, pk)).data, status=status)


@allow(roles.OPERATE)
@extend_schema(request=WhyTold, responses={201: QuarantineShown})
@endpoint("POST")
@repeatable(required=False)
def hold(request: Request, pk: UUID) -> Response:
    """Keep new jobs away from a node."""
    sent = asked(WhyTold, request)
    node = queries.nodes().filter(pk=pk).first()
    if node is None:
        raise Http404
    return _quarantine(acting.hold_node(node=node, by=request.actor, reason=sent["why"]).pk, status=201)


@allow(roles.OPERATE)
@extend_schema(request=WhyTold, responses={200: QuarantineShown})
@endpoint("POST")
@repeatable(required=False)
def lift(request: Request, pk: UUID) -> Response:
    """Let jobs go there again."""
    sent = asked(WhyTold, request)
    held = Quarantine.objects.filter(pk=pk).first()
    if held is None:
        raise Http404
    acting.lift(held=held, by=request.actor, reason=sent["why"])
    return _quarantine(pk)
