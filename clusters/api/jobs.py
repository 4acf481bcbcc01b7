"""Jobs in the API: launch, cancel, look, read the log's end."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import actions, queries, states
from clusters.api.job_templates import made_for
from clusters.api.shapes import WhyAsked
from clusters.jobs import launching
from clusters.models import Cluster, Job, JobScriptVersion
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, versioned
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one


class JobShown(Shown):
    """A job as it was launched and as its scheduler last told."""

    cluster = serializers.UUIDField(source="cluster_id")
    cluster_name = serializers.CharField(source="cluster.name")
    name = serializers.CharField()
    purpose = serializers.ChoiceField(choices=Job.Purpose.choices)
    state = serializers.ChoiceField(choices=list(states.JOB))
    engine_state = serializers.CharField(help_text="The scheduler's own word.")
    reason = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    signal = serializers.IntegerField(allow_null=True)
    nodes = serializers.IntegerField()
    accelerators = serializers.IntegerField()
    partition = serializers.CharField()
    time_limit_minutes = serializers.IntegerField(allow_null=True)
    external_id = serializers.CharField(help_text="The scheduler's number.")
    restarts = serializers.IntegerField()
    wish = serializers.ChoiceField(
        choices=["", *Job.Wish.values], help_text="Asked of the scheduler, not yet confirmed."
    )
    wish_refused = serializers.CharField(help_text="Why the last wish was not possible.")
    held = serializers.BooleanField()
    queue_position = serializers.IntegerField(allow_null=True, help_text="1 is the next to start in its partition.")
    begin_at = serializers.DateTimeField(allow_null=True)
    array = serializers.CharField()
    after = serializers.UUIDField(source="after_id", allow_null=True)
    after_how = serializers.ChoiceField(choices=["", *Job.How.values])
    run_version = serializers.IntegerField()
    restarts_an_hour = serializers.IntegerField()
    idle_minutes = serializers.IntegerField(allow_null=True)
    idle_cancels = serializers.BooleanField()
    idle_since = serializers.DateTimeField(allow_null=True)
    configuration = serializers.IntegerField(help_text="The revision of the cluster at launch.")
    template = serializers.CharField()
    template_version = serializers.CharField()
    processes_per_node = serializers.IntegerField(allow_null=True, help_text="As its script says; null where not.")
    heals = serializers.BooleanField(help_text="Whether its script asks to be started again after a fault.")
    script_version = serializers.UUIDField(source="script_version_id", allow_null=True)
    again_of = serializers.UUIDField(source="again_of_id", allow_null=True)
    launched_by = serializers.CharField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    observed_at = serializers.DateTimeField(allow_null=True)
    unknown_since = serializers.DateTimeField(allow_null=True)
    unknown_reason = serializers.CharField()
    cancel_wished_at = serializers.DateTimeField(allow_null=True)
    lost_hours = serializers.DecimalField(max_digits=10, decimal_places=2, allow_null=True)
    version = serializers.IntegerField()


class JobDetail(JobShown):
    """A job whole. Of its environment only the names: values may be secrets."""

    script = serializers.CharField()
    environment_names = serializers.ListField(child=serializers.CharField())
    node_names = serializers.ListField(child=serializers.CharField())


class JobAsked(Asked):
    cluster = serializers.UUIDField()
    name = serializers.CharField(max_length=120)
    script = serializers.CharField(
        max_length=actions.LARGEST_SCRIPT,
        trim_whitespace=False,
        required=False,
        default="",
        help_text="Begins with '#!'; on Kubernetes it may be a manifest. This, or a template, or a version that is kept.",
    )
    template = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    parameters = serializers.DictField(
        child=serializers.CharField(max_length=5000, allow_blank=True),
        required=False,
        default=dict,
        help_text="Of the template, as text; what is left out has its default.",
    )
    image = serializers.CharField(max_length=63, required=False, default="", allow_blank=True)
    script_version = serializers.UUIDField(required=False, allow_null=True, default=None)
    again_of = serializers.UUIDField(required=False, allow_null=True, default=None)
    refuse_warnings = serializers.BooleanField(
        required=False, default=False, help_text="Launch only if the lint has nothing at all against it."
    )
    nodes = serializers.IntegerField(min_value=1, max_value=100_000)
    partition = serializers.CharField(max_length=63, allow_blank=True, default="")
    time_limit_minutes = serializers.IntegerField(
        min_value=1, max_value=actions.LONGEST_MINUTES, allow_null=True, default=None
    )
    environment = serializers.DictField(
        child=serializers.CharField(max_length=32_000, allow_blank=True),
        default=dict,
        help_text="Kept sealed and handed to the scheduler; afterwards only the names are shown.",
    )

    begin_at = serializers.DateTimeField(allow_null=True, default=None, help_text="Not before.")
    array = serializers.CharField(max_length=60, allow_blank=True, default="", help_text="0-3%2, as Slurm writes it.")
    after = serializers.UUIDField(allow_null=True, default=None, help_text="A job on the same cluster.")
    after_how = serializers.ChoiceField(choices=["", *Job.How.values], default="")
    held = serializers.BooleanField(default=False)
    restarts_an_hour = serializers.IntegerField(min_value=0, max_value=100, default=3)
    idle_minutes = serializers.IntegerField(min_value=1, max_value=10_080, allow_null=True, default=None)
    idle_cancels = serializers.BooleanField(default=False)


class LogShown(serializers.Serializer):
    """The end of a job's output, as last read from the participant's account."""

    id = serializers.UUIDField()
    tenant = serializers.SlugField(source="tenant.slug")
    created_at = serializers.DateTimeField()
    text = serializers.CharField(source="log_tail")
    read_at = serializers.DateTimeField(source="log_read_at", allow_null=True)


JOBS = Listing(
    "jobs",
    JobShown,
    {
        "state": OneOf("state", states.JOB),
        "cluster": Id("cluster_id"),
        "purpose": OneOf("purpose", Job.Purpose.values, "Training unless said; a proof is a cluster's own smoke job."),
        "name": Word("name"),
    },
    newest="created_at",
)


def _jobs(request: Request) -> Response:
    return JOBS.answer(request, queries.jobs(proofs_too="purpose" in request.GET))


@allow(roles.READ)
@JOBS.described
@endpoint("GET")
def jobs(request: Request) -> Response:
    """Jobs, newest first."""
    return _jobs(request)


@allow(roles.READ, write=roles.LAUNCH)
@JOBS.described
@extend_schema(methods=["POST"], request=JobAsked, responses={202: JobDetail})
@endpoint("GET", "POST")
@repeatable(required=True)
def tenant_jobs(request: Request) -> Response:
    """Jobs of one tenant; launch one. It is handed to its scheduler a moment later, and never twice."""
    if request.method != "POST":
        return _jobs(request)
    sent = asked(JobAsked, request)
    cluster = Cluster.objects.filter(pk=sent["cluster"]).first()
    if cluster is None:
        raise refusal("cluster", _("There is no such cluster here."), str(sent["cluster"]), "does_not_exist")
    launched = actions.launch_job(**_wanted(cluster, sent), by=request.actor)
    return _shown(launched.pk, status=202)


OPTIONS = ("begin_at", "array", "after_how", "held", "restarts_an_hour", "idle_minutes", "idle_cancels")


def _wanted(cluster: Cluster, sent: dict[str, Any]) -> dict[str, Any]:
    """What the action takes. Exactly one of script, template and script_version says what runs."""
    told = [name for name in ("script", "template", "script_version") if sent[name]]
    if len(told) != 1:
        sentence = _("Send one of script, template and script_version; you sent %(told)s.")
        raise refusal("script", sentence % {"told": ", ".join(told) or "–"}, "", "one_of")
    wanted = {
        name: sent[name] for name in ("name", "nodes", "partition", "time_limit_minutes", "environment", "script")
    }
    wanted |= {name: sent[name] for name in OPTIONS}
    wanted |= {"cluster": cluster, "accepted": not sent["refuse_warnings"]}
    if sent["after"] is not None:
        wanted["after"] = queries.job(sent["after"])
    if sent["again_of"] is not None:
        wanted["again_of"] = queries.job(sent["again_of"])
    if sent["template"]:
        made = made_for(cluster, sent)
        version = launching.template_of(sent["template"]).version
        wanted |= {"script": made.text, "template": sent["template"], "template_version": version}
        wanted["template_parameters"] = made.parameters
    if sent["script_version"]:
        kept = JobScriptVersion.objects.filter(pk=sent["script_version"]).first()
        if kept is None:
            sentence = _("There is no such version of a script here.")
            raise refusal("script_version", sentence, str(sent["script_version"]), "does_not_exist")
        wanted |= {"script": kept.text, "script_version": kept}
    return wanted


def _shown(pk: UUID, status: int = 200) -> Response:
    row = one(Job.objects.all(), JobDetail, pk)
    return versioned(JobDetail(row).data, row["version"], status=status)


@allow(roles.READ)
@extend_schema(responses=JobDetail)
@endpoint("GET")
def job(request: Request, pk: UUID) -> Response:
    """One job whole."""
    return _shown(pk)


@allow(roles.READ)
@extend_schema(responses=LogShown)
@endpoint("GET")
def log(request: Request, pk: UUID) -> Response:
    """The end of a job's output."""
    return Response(LogShown(queries.job(pk)).data)


@allow(roles.LAUNCH)
@extend_schema(request=WhyAsked, responses={202: JobDetail})
@endpoint("POST")
@repeatable(required=False)
def cancel(request: Request, pk: UUID) -> Response:
    """Ask that it end. The wish is kept until the scheduler confirms it."""
    return _wished(actions.cancel_job, request, pk)


@allow(roles.LAUNCH)
@extend_schema(request=WhyAsked, responses={202: JobDetail})
@endpoint("POST")
@repeatable(required=False)
def hold(request: Request, pk: UUID) -> Response:
    """Ask that it does not start until it is released."""
    return _wished(actions.hold_job, request, pk)


@allow(roles.LAUNCH)
@extend_schema(request=WhyAsked, responses={202: JobDetail})
@endpoint("POST")
@repeatable(required=False)
def release(request: Request, pk: UUID) -> Response:
    """Ask that a held job may start."""
    return _wished(actions.release_job, request, pk)


@allow(roles.LAUNCH)
@extend_schema(request=WhyAsked, responses={202: JobDetail})
@endpoint("POST")
@repeatable(required=False)
def requeue(request: Request, pk: UUID) -> Response:
    """Ask that a running job be begun again, as the same job, from its checkpoint."""
    return _wished(actions.requeue_job, request, pk)


@allow(roles.LAUNCH)
@extend_schema(request=WhyAsked, responses={202: JobDetail})
@endpoint("POST")
@repeatable(required=True)
def resubmit(request: Request, pk: UUID) -> Response:
    """Launch an ended job again, as the next version of its run; answers the new job."""
    sent = asked(WhyAsked, request)
    return _shown(actions.resubmit_job(job=queries.job(pk), by=request.actor, why=sent["why"]).pk, status=202)


def _wished(action: Callable[..., None], request: Request, pk: UUID) -> Response:
    sent = asked(WhyAsked, request)
    action(job=queries.job(pk), by=request.actor, why=sent["why"])
    return _shown(pk, status=202)
