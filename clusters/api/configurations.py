"""Configurations that participants keep, in the API: listed, written as versions that never change, compared."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import checking, configuring
from clusters.documents import kinds, reading
from clusters.models import ClusterConfiguration, ConfigurationVersion
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, versioned
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, OneOf, Shown, Word, filters_of, one


class ConfigurationShown(Shown):
    """A configuration with what its newest version says."""

    name = serializers.CharField()
    newest = serializers.IntegerField(help_text="The number of the newest version.")
    architecture = serializers.CharField()
    architecture_version = serializers.CharField()
    region = serializers.CharField()
    instance_type = serializers.CharField(source="main_type", help_text="What most of its compute nodes are.")
    nodes = serializers.IntegerField()
    usable = serializers.BooleanField(help_text="Whether a cluster can be asked for with it as it is.")
    changed_at = serializers.DateTimeField()
    version = serializers.IntegerField(help_text="Counts changes of the configuration, for `version` in a write.")


class ConfigurationFinding(serializers.Serializer):
    code = serializers.CharField()
    level = serializers.ChoiceField(choices=["ok", "warning", "refused"])
    field = serializers.CharField()
    sentence = serializers.CharField()
    advice = serializers.CharField()


class VersionShown(Shown):
    """One version; never changed once written."""

    configuration = serializers.UUIDField(source="configuration_id")
    number = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=list(kinds.KINDS), help_text="What its text is.")
    origin = serializers.ChoiceField(choices=ConfigurationVersion.Origin.choices)
    origin_name = serializers.CharField(help_text="The file or cluster it came from.")
    architecture = serializers.CharField()
    architecture_version = serializers.CharField()
    region = serializers.CharField()
    az_id = serializers.CharField()
    instance_type = serializers.CharField(source="main_type")
    nodes = serializers.IntegerField()
    usable = serializers.BooleanField()
    author = serializers.CharField()
    reason = serializers.CharField()


class VersionDetail(VersionShown):
    BESIDE = ("findings",)

    text = serializers.CharField(help_text="As it came.")
    provisioning_parameters = serializers.CharField(source="beside")
    configuration_document = serializers.DictField(source="body", help_text="As Cohort reads it.")
    kept = serializers.DictField(help_text="What the text says beside that; kept and not used.")
    findings = ConfigurationFinding(many=True)


class ConfigurationText(Asked):
    text = serializers.CharField(
        max_length=reading.LARGEST,
        trim_whitespace=False,
        help_text="JSON or YAML, also of ParallelCluster or HyperPod.",
    )
    provisioning_parameters = serializers.CharField(
        max_length=reading.LARGEST, required=False, default="", allow_blank=True, trim_whitespace=False
    )
    reason = serializers.CharField(max_length=300, required=False, default="", allow_blank=True)


class ConfigurationAsked(ConfigurationText):
    name = serializers.CharField(max_length=configuring.LONGEST_NAME, required=False, default="", allow_blank=True)


class ConfigurationVersionAsked(ConfigurationText):
    version = serializers.IntegerField(required=False, allow_null=True, default=None, help_text="What was looked at.")


class ComparedLine(serializers.Serializer):
    left = serializers.CharField(allow_blank=True)
    right = serializers.CharField(allow_blank=True)
    left_number = serializers.IntegerField(allow_null=True)
    right_number = serializers.IntegerField(allow_null=True)


class ComparedShown(serializers.Serializer):
    """Two versions: in words, and the lines of both as YAML; null when they are too long for that."""

    words = serializers.ListField(child=serializers.CharField())
    lines = ComparedLine(many=True, allow_null=True)


CONFIGURATIONS = Listing(
    "configurations",
    ConfigurationShown,
    {
        "name": Word("name"),
        "architecture": Word("architecture"),
        "region": Word("region"),
        "instance_type": Word("main_type"),
    },
)
VERSIONS = Listing(
    "configuration-versions",
    VersionShown,
    {"origin": OneOf("origin", ConfigurationVersion.Origin.values), "kind": OneOf("kind", kinds.KINDS)},
    newest="created_at",
)
COMPARED = [
    OpenApiParameter("old", int, required=False, description="Number of the older version; the one before `new`."),
    OpenApiParameter("new", int, required=False, description="Number of the newer version; the newest."),
]


@allow(roles.READ)
@CONFIGURATIONS.described
@endpoint("GET")
def configurations(request: Request) -> Response:
    """Configurations that participants keep."""
    return CONFIGURATIONS.answer(request, ClusterConfiguration.objects.all())


@allow(roles.READ, write=roles.OPERATE)
@CONFIGURATIONS.described
@extend_schema(methods=["POST"], request=ConfigurationAsked, responses={201: VersionDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_configurations(request: Request) -> Response:
    """Configurations of one tenant; keep another. It may be unfinished: what is to be seen to is told."""
    if request.method != "POST":
        return CONFIGURATIONS.answer(request, ClusterConfiguration.objects.all())
    sent = asked(ConfigurationAsked, request)
    return _kept(request, sent, name=sent["name"])


@allow(roles.READ)
@extend_schema(responses=ConfigurationShown)
@endpoint("GET")
def configuration(request: Request, pk: UUID) -> Response:
    """One configuration."""
    row = one(ClusterConfiguration.objects.all(), ConfigurationShown, pk)
    return versioned(ConfigurationShown(row).data, row["version"])


@allow(roles.READ)
@VERSIONS.described
@endpoint("GET")
def versions(request: Request, pk: UUID) -> Response:
    """Its versions."""
    return VERSIONS.answer(request, ConfigurationVersion.objects.filter(configuration=configuring.configuration(pk)))


@allow(roles.READ, write=roles.OPERATE)
@VERSIONS.described
@extend_schema(methods=["POST"], request=ConfigurationVersionAsked, responses={201: VersionDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_versions(request: Request, pk: UUID) -> Response:
    """Its versions; write another."""
    row = configuring.configuration(pk)
    if request.method != "POST":
        return VERSIONS.answer(request, ConfigurationVersion.objects.filter(configuration=row))
    sent = asked(ConfigurationVersionAsked, request)
    return _kept(request, sent, name=row.name, version=sent["version"])


def _kept(request: Request, sent: dict[str, Any], **more: Any) -> Response:
    tenant = request.tenant
    made = configuring.keep(
        tenant=tenant,
        text=sent["text"],
        beside=sent["provisioning_parameters"],
        reason=sent["reason"],
        by=request.actor,
        **more,
    )
    return Response(_detail(made.configuration_id, made.number), status=201)


@allow(roles.READ)
@extend_schema(responses=VersionDetail)
@endpoint("GET")
def version(request: Request, pk: UUID, number: int) -> Response:
    """One version whole, with what is found about it."""
    return Response(_detail(pk, number))


def _detail(pk: UUID, number: int) -> dict[str, Any]:
    rows = ConfigurationVersion.objects.filter(configuration=pk, number=number)
    row = rows.values(*VersionDetail.columns()).first()
    if row is None:
        raise Http404
    try:
        found = list(configuring.judge(row["text"], row["beside"]).findings)
    except reading.Unreadable as error:
        found = [error.finding, *error.more]
    return dict(VersionDetail(row | {"findings": [checking.told(each) for each in found]}).data)


@allow(roles.READ)
@extend_schema(parameters=COMPARED, responses=ComparedShown)
@endpoint("GET")
def compare(request: Request, pk: UUID) -> Response:
    """Two versions of one configuration, in words and side by side."""
    filters_of(request, {}, beside=["old", "new"])
    row = configuring.configuration(pk)
    new = _numbered(row, "new", request.GET.get("new") or str(row.newest))
    old = _numbered(row, "old", request.GET.get("old") or str(max(new.number - 1, 1)))
    found = configuring.compared(old, new)
    return Response(ComparedShown({"words": [each.sentence(_) for each in found.words], "lines": found.rows}).data)


def _numbered(row: ClusterConfiguration, name: str, text: str) -> ConfigurationVersion:
    found = configuring.versions(row).filter(number=int(text)).first() if text.isdigit() and len(text) < 9 else None
    if found is None:
        raise refusal(name, _("There is no such version of it."), text[:20], "does_not_exist")
    return found
