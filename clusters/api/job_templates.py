"""Templates of jobs, the lint, and kept scripts, in the API."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries
from clusters.jobs import launching
from clusters.jobs import lint as job_lint
from clusters.jobs import scripts as job_scripts
from clusters.jobs import templates as job_templates
from clusters.jobs.templates import Template
from clusters.models import Cluster, JobScript, JobScriptVersion
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, Shown, Word, one
from tenants.web.problems import Refused


class ParameterShown(serializers.Serializer):
    name = serializers.CharField()
    kind = serializers.CharField(help_text="integer, number, choice, text, path, address or words.")
    label = serializers.CharField()
    help = serializers.CharField()
    default = serializers.CharField(help_text="As text.")
    minimum = serializers.IntegerField(allow_null=True)
    maximum = serializers.IntegerField(allow_null=True)
    unit = serializers.CharField()
    choices = serializers.ListField(child=serializers.CharField())
    required = serializers.BooleanField()


class TemplateShown(serializers.Serializer):
    """A template of a job."""

    slug = serializers.CharField()
    title = serializers.CharField()
    version = serializers.CharField()
    purpose = serializers.CharField()
    accelerators = serializers.CharField(help_text="gpu, neuron, any or none.")
    written_for = serializers.CharField()
    parameters = ParameterShown(many=True)


class TemplateList(serializers.Serializer):
    results = TemplateShown(many=True)
    next = serializers.CharField(allow_null=True, help_text="Always null: there are few of them.")


class FoundShown(serializers.Serializer):
    code = serializers.CharField()
    severity = serializers.CharField(help_text="error or warning.")
    line = serializers.IntegerField()
    reason = serializers.CharField()
    fix = serializers.CharField()


class LintShown(serializers.Serializer):
    """What is wrong with a script or manifest, and what it says of itself."""

    kind = serializers.CharField(help_text="slurm or kubernetes.")
    heals = serializers.BooleanField(help_text="Whether it asks to be started again after a fault.")
    findings = FoundShown(many=True)
    facts = serializers.DictField()


class RenderedShown(LintShown):
    script = serializers.CharField()
    template = serializers.CharField()
    template_version = serializers.CharField()


class LintAsked(Asked):
    text = serializers.CharField(max_length=job_lint.LARGEST, trim_whitespace=False)
    cluster = serializers.UUIDField(required=False, allow_null=True, default=None)
    partition = serializers.CharField(max_length=63, required=False, default="", allow_blank=True)


class RenderAsked(Asked):
    template = serializers.CharField(max_length=40)
    parameters = serializers.DictField(
        child=serializers.CharField(max_length=5000, allow_blank=True), required=False, default=dict
    )
    name = serializers.CharField(max_length=120, required=False, default="job")
    nodes = serializers.IntegerField(min_value=1, max_value=100_000)
    partition = serializers.CharField(max_length=63, required=False, default="", allow_blank=True)
    time_limit_minutes = serializers.IntegerField(
        min_value=1, max_value=2_147_483_647, required=False, allow_null=True, default=None
    )
    image = serializers.CharField(max_length=63, required=False, default="", allow_blank=True)


class ScriptShown(Shown):
    """A script or manifest that is kept under a name."""

    name = serializers.CharField()
    newest = serializers.IntegerField(help_text="The number of the newest version.")
    changed_at = serializers.DateTimeField()
    version = serializers.IntegerField(help_text="Counts changes, for `version` in a write.")


class ScriptText(serializers.Serializer):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    kind = serializers.CharField()
    sha256 = serializers.CharField()
    text = serializers.CharField()
    template = serializers.CharField()
    template_version = serializers.CharField()
    author = serializers.CharField()
    reason = serializers.CharField()


class ScriptDetail(ScriptShown):
    BESIDE = ("versions",)

    versions = ScriptText(many=True)


class ScriptAsked(Asked):
    name = serializers.CharField(max_length=60)
    text = serializers.CharField(max_length=job_lint.LARGEST, trim_whitespace=False)
    reason = serializers.CharField(max_length=300, required=False, default="", allow_blank=True)
    version = serializers.IntegerField(required=False, allow_null=True, default=None, help_text="What was looked at.")


SCRIPTS = Listing("job-scripts", ScriptShown, {"name": Word("name")})


def _template(each: Template) -> dict[str, Any]:
    return {
        "slug": each.slug,
        "title": _(each.title),
        "version": each.version,
        "purpose": _(each.purpose),
        "accelerators": each.accelerators,
        "written_for": each.written_for,
        "parameters": [
            {
                "name": one.name,
                "kind": one.kind,
                "label": _(one.label),
                "help": _(one.help) if one.help else "",
                "default": str(one.default),
                "minimum": one.minimum,
                "maximum": one.maximum,
                "unit": one.unit,
                "choices": list(one.choices),
                "required": one.required,
            }
            for one in each.parameters.values()
        ],
    }


@allow(roles.READ)
@extend_schema(responses=TemplateList)
@endpoint("GET")
def templates(request: Request) -> Response:
    """Every template of a job, with its parameters."""
    told = [_template(each) for each in job_templates.templates()]
    return Response(TemplateList({"results": told, "next": None}).data)


@allow(roles.READ)
@extend_schema(responses=TemplateShown)
@endpoint("GET")
def template(request: Request, slug: str) -> Response:
    """One template."""
    try:
        return Response(TemplateShown(_template(job_templates.template(slug))).data)
    except LookupError:
        raise Http404 from None


def judged(linted: job_lint.Linted) -> dict[str, Any]:
    return {
        "kind": linted.kind,
        "heals": linted.heals,
        "findings": [job_scripts.shape(each) for each in linted.found],
        "facts": dict(linted.facts),
    }


@allow(roles.LAUNCH)
@extend_schema(request=LintAsked, responses=LintShown)
@endpoint("POST")
def lint(request: Request) -> Response:
    """What is wrong with a script or manifest; nothing is written down or launched."""
    sent = asked(LintAsked, request)
    around = job_lint.NOWHERE
    if sent["cluster"] is not None:
        cluster = queries.cluster(sent["cluster"])
        place = launching.place_of(cluster, sent["partition"])
        around = launching.around(cluster, place, nodes=None, minutes=None)
    return Response(LintShown(judged(job_lint.lint(sent["text"], around))).data)


def made_for(cluster: Cluster, sent: dict[str, Any]) -> launching.Made:
    """What a template becomes on a cluster. Raises Refused: no_template, no_nodes, template_parameters."""
    place = launching.place_of(cluster, sent["partition"])
    if place is None:
        raise Refused("no_nodes", _("The cluster %(name)s has no such nodes yet.") % {"name": cluster.name})
    made = launching.made(
        launching.template_of(sent["template"]),
        sent["parameters"],
        place,
        name=sent["name"],
        nodes=sent["nodes"],
        minutes=sent["time_limit_minutes"],
        image=sent["image"],
    )
    if made.wrong:
        raise Refused(
            "template_parameters",
            " ".join(each.sentence(_) for each in made.wrong),
            status=422,
            field=made.wrong[0].field or "template",
        )
    return made


@allow(roles.LAUNCH)
@extend_schema(request=RenderAsked, responses=RenderedShown)
@endpoint("POST")
def render(request: Request, pk: UUID) -> Response:
    """The script that a template becomes on a cluster, and what the lint says of it. Nothing is launched."""
    sent = asked(RenderAsked, request)
    cluster = queries.cluster(pk)
    made = made_for(cluster, sent)
    place = launching.place_of(cluster, sent["partition"])
    around = launching.around(cluster, place, nodes=sent["nodes"], minutes=sent["time_limit_minutes"])
    template = launching.template_of(sent["template"])
    told = judged(job_lint.lint(made.text, around))
    told |= {"script": made.text, "template": template.slug, "template_version": template.version}
    return Response(RenderedShown(told).data)


@allow(roles.READ)
@SCRIPTS.described
@endpoint("GET")
def scripts(request: Request) -> Response:
    """Scripts of jobs that are kept."""
    return SCRIPTS.answer(request, JobScript.objects.all())


@allow(roles.READ)
@extend_schema(responses=ScriptDetail)
@endpoint("GET")
def script(request: Request, pk: UUID) -> Response:
    """One of them with its versions, newest first."""
    return Response(_whole(pk))


def _whole(pk: UUID) -> dict[str, Any]:
    row = one(JobScript.objects.all(), ScriptDetail, pk)
    versions = JobScriptVersion.objects.filter(script=pk).order_by("-number")[:50]
    return dict(ScriptDetail(row | {"versions": list(versions)}).data)


@allow(roles.READ, write=roles.LAUNCH)
@SCRIPTS.described
@extend_schema(methods=["POST"], request=ScriptAsked, responses={201: ScriptDetail})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_scripts(request: Request) -> Response:
    """Scripts of one tenant; keep a new version, of a new one or of the one of that name."""
    if request.method != "POST":
        return SCRIPTS.answer(request, JobScript.objects.all())
    sent = asked(ScriptAsked, request)
    kept = job_scripts.keep(tenant=request.tenant, by=request.actor, **sent)
    return Response(_whole(kept.script_id), status=201)
