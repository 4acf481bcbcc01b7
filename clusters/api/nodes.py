"""Nodes in the API."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries, states
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
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
