"""The agent on a cluster's head node, in the API: whether it is there, how its cluster is reached, another token."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries
from clusters.actions import agents
from clusters.api.software import TokenAsked, TokenRenewed
from clusters.models import Cluster, HeadNodeAgent
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable


class AgentNow(serializers.Serializer):
    """Empty but for `reach` where the cluster has no agent."""

    cluster = serializers.UUIDField()
    reach = serializers.ChoiceField(choices=Cluster.Reach.choices)
    connected_at = serializers.DateTimeField(allow_null=True, help_text="Since when it speaks without a pause.")
    last_seen_at = serializers.DateTimeField(allow_null=True)
    agent_version = serializers.CharField()
    slurm_version = serializers.CharField()
    host = serializers.CharField()
    trouble = serializers.CharField(help_text="Why it cannot ask Slurm, in Slurm's words; empty when it can.")
    token_made_at = serializers.DateTimeField(allow_null=True)
    token_delivered_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class ReachAsked(Asked):
    reach = serializers.ChoiceField(choices=Cluster.Reach.choices)
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False, help_text="What was looked at.")


def _shown(cluster: Cluster) -> dict[str, object]:
    row = HeadNodeAgent.objects.filter(cluster=cluster).defer("jobs", "nodes").first() or HeadNodeAgent()
    told = {name: getattr(row, name) for name in AgentNow().fields if hasattr(row, name) and name != "cluster"}
    made = {"token_made_at": row.made_at, "token_delivered_at": row.delivered_at}
    return dict(AgentNow({**told, **made, "cluster": cluster.pk, "reach": cluster.reach}).data)


@allow(roles.READ)
@extend_schema(responses=AgentNow)
@endpoint("GET")
def agent(request: Request, pk: UUID) -> Response:
    """How a cluster's scheduler is reached, and whether its agent is there."""
    return Response(_shown(queries.cluster(pk)))


@allow(roles.OPERATE)
@extend_schema(request=ReachAsked, responses={202: AgentNow})
@endpoint("POST")
@repeatable(required=False)
def reach(request: Request, pk: UUID) -> Response:
    """Choose how the scheduler is reached: directly, or by the agent on its head node."""
    sent = asked(ReachAsked, request)
    agents.choose_reach(cluster=queries.cluster(pk), by=request.actor, **sent)
    return Response(_shown(queries.cluster(pk)), status=202)


@allow(roles.OPERATE)
@extend_schema(request=TokenAsked, responses={202: TokenRenewed})
@endpoint("POST")
@repeatable(required=False)
def renew_token(request: Request, pk: UUID) -> Response:
    """Make a new token for the agent; it is written into the account and shown to nobody."""
    sent = asked(TokenAsked, request)
    cluster = queries.cluster(pk)
    agents.renew_token(cluster=cluster, by=request.actor, **sent)
    made_at = HeadNodeAgent.objects.filter(cluster=cluster).values_list("made_at", flat=True)[0]
    return Response(TokenRenewed({"cluster": cluster.pk, "made_at": made_at}).data, status=202)
