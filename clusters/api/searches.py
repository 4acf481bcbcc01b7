"""Pair tests in the API: begin a search for a bad node, follow it, stop it."""

from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries, states
from clusters.actions import searches as acting
from clusters.api.shapes import WhyAsked
from clusters.models import NodeSearch, PairTest, SearchedNode
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, one


class SearchShown(Shown):
    """A search for a node that breaks collectives."""

    cluster = serializers.UUIDField(source="cluster_id")
    state = serializers.ChoiceField(choices=list(states.SEARCH))
    asked_by = serializers.CharField()
    reason = serializers.CharField()
    rounds = serializers.IntegerField()
    outcome = serializers.CharField(help_text="The nodes that it named; empty: nobody.")
    began_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class NodeJudged(serializers.Serializer):
    node = serializers.UUIDField(source="node_id")
    name = serializers.CharField(source="node.name")
    instance_id = serializers.CharField()
    verdict = serializers.ChoiceField(choices=SearchedNode.Word.choices)
    sure = serializers.ChoiceField(choices=SearchedNode.Sure.choices, allow_blank=True)
    failed_with = serializers.ListField(child=serializers.CharField())
    passed_with = serializers.ListField(child=serializers.CharField())


class PairShown(serializers.Serializer):
    round = serializers.IntegerField()
    left = serializers.CharField(source="left.name")
    right = serializers.CharField(source="right.name")
    job = serializers.UUIDField(source="job_id")
    result = serializers.ChoiceField(choices=PairTest.Result.choices)
    told = serializers.CharField()


class SearchDetail(SearchShown):
    """With each node's verdict and each pair."""

    BESIDE = ("nodes", "pairs")

    nodes = NodeJudged(many=True)
    pairs = PairShown(many=True)


class SearchAsked(Asked):
    nodes = serializers.ListField(
        child=serializers.UUIDField(), required=False, allow_null=True, max_length=acting.MOST, default=None,
        help_text="Of one group, without a job on them; all such unless said. One alone is checked again, with up to three others of its group.",
    )  # fmt: skip
    reason = serializers.CharField(max_length=300, allow_blank=True, default="")


SEARCHES = Listing(
    "searches", SearchShown, {"cluster": Id("cluster_id"), "state": OneOf("state", states.SEARCH)}, newest="began_at"
)


@allow(roles.READ)
@SEARCHES.described
@endpoint("GET")
def searches(request: Request) -> Response:
    """Searches for bad nodes, the newest first."""
    return SEARCHES.answer(request, NodeSearch.objects.all())


def _shown(pk: UUID, status: int = 200) -> Response:
    row = one(NodeSearch.objects.all(), SearchDetail, pk)
    nodes = SearchedNode.objects.filter(search=pk).select_related("node").order_by("node__name")
    tests = PairTest.objects.filter(search=pk).select_related("left", "right").order_by("round", "left__name")
    return Response(SearchDetail(row | {"nodes": list(nodes), "pairs": list(tests)}).data, status=status)


@allow(roles.READ)
@extend_schema(responses=SearchDetail)
@endpoint("GET")
def search(request: Request, pk: UUID) -> Response:
    """One search whole."""
    return _shown(pk)


@allow(roles.OPERATE)
@extend_schema(request=SearchAsked, responses={202: SearchDetail})
@endpoint("POST")
@repeatable(required=False)
def begin(request: Request, pk: UUID) -> Response:
    """Test idle nodes of a cluster in pairs."""
    sent = asked(SearchAsked, request)
    return _shown(acting.begin_search(cluster=queries.cluster(pk), by=request.actor, **sent).pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=WhyAsked, responses={200: SearchDetail})
@endpoint("POST")
@repeatable(required=False)
def stop(request: Request, pk: UUID) -> Response:
    """End a search without a verdict."""
    asked(WhyAsked, request)
    row = NodeSearch.objects.filter(pk=pk).first()
    if row is None:
        raise Http404
    acting.stop_search(search=row, by=request.actor)
    return _shown(pk)
