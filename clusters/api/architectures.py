"""The catalogue of reference architectures in the API: all of them, one of them in any version, and the whole as an archive."""

from typing import Any

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import architectures as shelf
from clusters import catalogue
from clusters.architectures import Architecture, export
from clusters.catalogue_views import archive
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.listing import OneOf, filters_of

FILTERS = {
    "engine": OneOf("engine", catalogue.engines()),
    "region": OneOf("region", catalogue.regions(), "Where one of its training types is offered."),
    "accelerator": OneOf("accelerator", catalogue.MOSTLY),
    "proof": OneOf("proof", ["fresh", "expired"]),
}
VERSION = OpenApiParameter("version", str, description="An older one; the newest unless said.")


class ArchitectureProof(serializers.Serializer):
    on = serializers.DateField()
    against = serializers.ChoiceField(choices=list(catalogue.AGAINST))
    expires = serializers.DateField()
    fresh = serializers.BooleanField()
    how = serializers.CharField()


class ArchitectureChange(serializers.Serializer):
    version = serializers.CharField()
    on = serializers.DateField()
    effect = serializers.ChoiceField(choices=list(catalogue.EFFECTS), help_text="What it means for a running cluster.")
    text = serializers.CharField()
    means = serializers.CharField(help_text="The effect in words.")


class ArchitectureShown(serializers.Serializer):
    """A reference architecture in one version."""

    slug = serializers.SlugField()
    version = serializers.CharField()
    versions = serializers.ListField(child=serializers.CharField(), help_text="All that there are, oldest first.")
    title = serializers.CharField()
    summary = serializers.CharField()
    engine = serializers.CharField()
    engine_pin = serializers.CharField(help_text="The release that it was written for and checked with.")
    orchestrator = serializers.ChoiceField(choices=["slurm", "eks"])
    accelerators = serializers.ListField(child=serializers.ChoiceField(choices=list(catalogue.MOSTLY)))
    regions = serializers.ListField(child=serializers.CharField())
    proof = ArchitectureProof()


class ArchitectureFit(serializers.Serializer):
    region = serializers.CharField()
    instance_type = serializers.CharField()
    zones = serializers.ListField(child=serializers.CharField())


class ArchitectureParameter(serializers.Serializer):
    field = serializers.CharField()
    kind = serializers.ChoiceField(choices=["integer", "choice", "text"])
    help = serializers.CharField()
    unit = serializers.CharField(allow_blank=True)
    default = serializers.JSONField(allow_null=True)
    minimum = serializers.IntegerField(allow_null=True)
    maximum = serializers.IntegerField(allow_null=True)
    step = serializers.IntegerField(allow_null=True)
    choices = serializers.ListField(child=serializers.JSONField())


class ArchitectureFile(serializers.Serializer):
    path = serializers.CharField()
    sha256 = serializers.CharField()
    text = serializers.CharField()


class ArchitectureDetail(ArchitectureShown):
    """A reference architecture with its limits, parameters, changes and files."""

    network = serializers.CharField()
    source = serializers.CharField()
    limits = serializers.ListField(child=serializers.CharField())
    fits = ArchitectureFit(many=True)
    parameters = ArchitectureParameter(many=True)
    changes = ArchitectureChange(many=True)
    files = ArchitectureFile(many=True)


class ArchitectureList(serializers.Serializer):
    results = ArchitectureShown(many=True)


def _row(each: Architecture) -> dict[str, Any]:
    proof = each.proof
    return {
        "slug": each.slug,
        "version": each.version,
        "versions": shelf.versions(each.slug),
        "title": _(each.title),
        "summary": _(each.summary),
        "engine": each.label,
        "engine_pin": each.made_by.pin,
        "orchestrator": each.orchestrator,
        "accelerators": catalogue.accelerators(each),
        "regions": each.regions,
        "proof": {
            "on": proof.on,
            "against": proof.against,
            "expires": proof.expires,
            "fresh": proof.fresh(timezone.localdate()),
            "how": _(proof.how),
        },
    }


def _detail(each: Architecture) -> dict[str, Any]:
    return _row(each) | {
        "network": _(each.provenance.network),
        "source": _(each.provenance.source),
        "limits": [_(limit) for limit in each.provenance.limits],
        "fits": [
            {"region": fit.region, "instance_type": name, "zones": zones}
            for fit in catalogue.fits(each)
            for name, zones in fit.types
        ],
        "parameters": each.parameters.values(),
        "changes": [
            {
                "version": change.version,
                "on": change.on,
                "effect": change.effect,
                "text": _(change.text),
                "means": catalogue.EFFECTS[change.effect],
            }
            for change in each.changelog
        ],
        "files": catalogue.files(each),
    }


@allow(roles.READ)
@extend_schema(parameters=[each.described(name) for name, each in FILTERS.items()], responses=ArchitectureList)
@endpoint("GET")
def architectures(request: Request) -> Response:
    """Reference architectures in their newest version, narrowed by any of the filters."""
    asked = filters_of(request, FILTERS)
    wanted = {name.removesuffix("__in"): values for name, values in asked.items()}
    today = timezone.localdate()
    found = [
        each
        for each in shelf.architectures()
        if all(
            any(catalogue.matching(today, **{name: value}, among=[each]) for value in values)
            for name, values in wanted.items()
        )
    ]
    return Response(ArchitectureList({"results": [_row(each) for each in found]}).data)


@allow(roles.READ)
@extend_schema(parameters=[VERSION], responses=ArchitectureDetail)
@endpoint("GET")
def architecture(request: Request, slug: str) -> Response:
    """One reference architecture whole, in its newest version or the one asked for."""
    filters_of(request, {}, beside=["version"])
    return Response(ArchitectureDetail(_detail(_asked(request, slug))).data)


@allow(roles.READ)
@extend_schema(parameters=[VERSION], responses={(200, "application/zip"): OpenApiTypes.BINARY})
@endpoint("GET")
def export_one(request: Request, slug: str) -> HttpResponse:
    """Its templates, scripts, requests and guide for deploying it by hand, as an archive."""
    filters_of(request, {}, beside=["version"])
    each = _asked(request, slug)
    return archive(export.folder(each), each.slug, each.version)


@allow(roles.READ)
@extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
@endpoint("GET")
def export_all(request: Request) -> HttpResponse:
    """The whole catalogue as one archive."""
    filters_of(request, {})
    return archive(export.repository(shelf.architectures()))


def _asked(request: Request, slug: str) -> Architecture:
    try:
        return shelf.architecture(slug, request.GET.get("version") or None)
    except LookupError:
        raise Http404 from None
