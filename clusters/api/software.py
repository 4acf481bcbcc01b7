"""What a cluster tells and carries, in the API: alerts, images, charts; and the participants' own scripts for nodes."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import node_setups, queries, states
from clusters.actions import alerts as taking
from clusters.actions.software import record_chart
from clusters.models import Alert, AlertIntake, ContainerImage, InstalledChart, NodeSetup, NodeSetupVersion
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one


class AlertShown(Shown):
    """An alert from its beginning to its end."""

    cluster = serializers.UUIDField(source="cluster_id")
    name = serializers.CharField()
    severity = serializers.CharField()
    state = serializers.ChoiceField(choices=list(states.ALERT))
    node = serializers.CharField()
    summary = serializers.CharField()
    labels = serializers.DictField(child=serializers.CharField())
    fingerprint = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)


class ImageShown(Shown):
    """An image that a configuration of a cluster names."""

    cluster = serializers.UUIDField(source="cluster_id")
    name = serializers.CharField()
    registry = serializers.CharField()
    repository = serializers.CharField()
    digest = serializers.CharField()
    revision = serializers.IntegerField(help_text="The configuration that named it first.")
    until_revision = serializers.IntegerField(allow_null=True, help_text="The first that no longer names it.")


class ChartShown(Shown):
    """A Helm chart as it was installed."""

    cluster = serializers.UUIDField(source="cluster_id")
    operation = serializers.UUIDField(source="operation_id", allow_null=True)
    name = serializers.CharField()
    chart_version = serializers.CharField()
    namespace = serializers.CharField()
    sha256 = serializers.CharField()
    installed_at = serializers.DateTimeField()
    recorded_by = serializers.CharField()


class NodeSetupShown(Shown):
    """A participant's own script for nodes."""

    name = serializers.CharField()
    newest = serializers.IntegerField(help_text="The number of the newest version.")
    changed_at = serializers.DateTimeField()
    version = serializers.IntegerField(help_text="Counts changes, for `version` in a write.")


class NodeSetupText(serializers.Serializer):
    number = serializers.IntegerField()
    sha256 = serializers.CharField()
    text = serializers.CharField()
    author = serializers.CharField()
    reason = serializers.CharField()


class NodeSetupDetail(NodeSetupShown):
    BESIDE = ("versions",)

    versions = NodeSetupText(many=True)


class ChartAsked(Asked):
    name = serializers.CharField(max_length=63, required=False, default="hyperpod-dependencies")
    chart_version = serializers.CharField(max_length=40)
    namespace = serializers.CharField(max_length=63, required=False, default="kube-system")
    sha256 = serializers.CharField(max_length=64, required=False, default="", allow_blank=True)
    installed_at = serializers.DateTimeField(required=False, allow_null=True, default=None)


class TokenAsked(Asked):
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False, help_text="What was looked at.")


class TokenRenewed(serializers.Serializer):
    cluster = serializers.UUIDField()
    made_at = serializers.DateTimeField()


class NodeSetupAsked(Asked):
    name = serializers.CharField(max_length=60)
    text = serializers.CharField(max_length=node_setups.LARGEST * 2, trim_whitespace=False)
    reason = serializers.CharField(max_length=300, required=False, default="", allow_blank=True)
    version = serializers.IntegerField(required=False, allow_null=True, default=None, help_text="What was looked at.")


ALERTS = Listing(
    "cluster-alerts",
    AlertShown,
    {"state": OneOf("state", states.ALERT), "cluster": Id("cluster_id"), "name": Word("name")},
    newest="starts_at",
)
IMAGES = Listing("images", ImageShown, {"cluster": Id("cluster_id"), "digest": Word("digest")}, newest="created_at")
CHARTS = Listing("charts", ChartShown, {"cluster": Id("cluster_id"), "name": Word("name")}, newest="installed_at")
SETUPS = Listing("node-setups", NodeSetupShown, {"name": Word("name")})


@allow(roles.READ)
@ALERTS.described
@endpoint("GET")
def alerts(request: Request) -> Response:
    """Alerts of clusters, newest first."""
    return ALERTS.answer(request, Alert.objects.all())


@allow(roles.READ)
@IMAGES.described
@endpoint("GET")
def images(request: Request) -> Response:
    """Images that clusters name, by digest."""
    return IMAGES.answer(request, ContainerImage.objects.all())


@allow(roles.READ)
@CHARTS.described
@endpoint("GET")
def charts(request: Request) -> Response:
    """Charts as they were installed."""
    return CHARTS.answer(request, InstalledChart.objects.all())


@allow(roles.OPERATE)
@extend_schema(request=ChartAsked, responses={201: ChartShown})
@endpoint("POST")
@repeatable(required=False)
def install_chart(request: Request, pk: UUID) -> Response:
    """Record a chart as installed on a cluster."""
    sent = asked(ChartAsked, request)
    made = record_chart(cluster=queries.cluster(pk), by=request.actor, **sent)
    return Response(ChartShown(made).data, status=201)


@allow(roles.OPERATE)
@extend_schema(request=TokenAsked, responses={202: TokenRenewed})
@endpoint("POST")
@repeatable(required=False)
def renew_token(request: Request, pk: UUID) -> Response:
    """Make a new token for a cluster's alerts; it is written into the account and shown to nobody."""
    sent = asked(TokenAsked, request)
    cluster = queries.cluster(pk)
    taking.renew_token(cluster=cluster, by=request.actor, **sent)
    made_at = AlertIntake.objects.filter(cluster=cluster).values_list("made_at", flat=True)[0]
    return Response(TokenRenewed({"cluster": cluster.pk, "made_at": made_at}).data, status=202)


@allow(roles.READ)
@SETUPS.described
@endpoint("GET")
def setups(request: Request) -> Response:
    """Participants' own scripts for nodes."""
    return SETUPS.answer(request, NodeSetup.objects.all())


@allow(roles.READ)
@extend_schema(responses=NodeSetupDetail)
@endpoint("GET")
def setup(request: Request, pk: UUID) -> Response:
    """One of them with its versions, newest first."""
    return Response(_whole(pk))


def _whole(pk: UUID) -> dict[str, Any]:
    row = one(NodeSetup.objects.all(), NodeSetupDetail, pk)
    versions = NodeSetupVersion.objects.filter(setup=pk).order_by("-number")[:50]
    return dict(NodeSetupDetail(row | {"versions": list(versions)}).data)


@allow(roles.READ, write=roles.OPERATE)
@SETUPS.described
@extend_schema(methods=["POST"], request=NodeSetupAsked, responses={201: NodeSetupDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_setups(request: Request) -> Response:
    """Scripts of one tenant; keep a new version, of a new one or of the one of that name."""
    if request.method != "POST":
        return SETUPS.answer(request, NodeSetup.objects.all())
    sent = asked(NodeSetupAsked, request)
    kept = node_setups.keep(tenant=request.tenant, by=request.actor, **sent)
    return Response(_whole(kept.setup_id), status=201)
