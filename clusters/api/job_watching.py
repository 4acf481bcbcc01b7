"""How a job goes, in the API: its steps, its output page by page, what went wrong, its forecast and what is at stake."""

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import aiming, queries, watching
from clusters.jobs import showing as job_showing
from clusters.jobs.logs import forecast as pure
from clusters.jobs.logs.trouble import KIND_NAMES
from clusters.models import JobFault, JobOutput, JobPoint
from tenants.models import TrainingModel
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import refusal
from tenants.web.listing import Listing, OneOf, Shown, one


class JobPointShown(Shown):
    """One training step of one run. What was not told is null, never 0."""

    job = serializers.UUIDField(source="job_id")
    attempt = serializers.IntegerField()
    step = serializers.IntegerField()
    at = serializers.DateTimeField()
    source = serializers.ChoiceField(choices=["log", "reporter"])
    loss = serializers.FloatField(allow_null=True)
    loss_word = serializers.ChoiceField(choices=["", "nan", "inf"], help_text="What the loss is where it is no number.")
    tokens_per_second = serializers.FloatField(allow_null=True)
    samples_per_second = serializers.FloatField(allow_null=True)
    tflops = serializers.FloatField(allow_null=True, help_text="Of each accelerator.")
    mfu = serializers.FloatField(allow_null=True, help_text="Percent.")
    learning_rate = serializers.FloatField(allow_null=True)
    grad_norm = serializers.FloatField(allow_null=True)
    step_seconds = serializers.FloatField(allow_null=True)


class JobOutputShown(Shown):
    """A stretch of a job's output, cleaned of escape sequences."""

    job = serializers.UUIDField(source="job_id")
    number = serializers.IntegerField()
    first_line = serializers.IntegerField(help_text="Counted from 0.")
    lines = serializers.IntegerField()
    until = serializers.DateTimeField(help_text="When its last line was written.")


class JobOutputDetail(JobOutputShown):
    text = serializers.CharField()


class JobFaultShown(Shown):
    """A line of a job's output that says that something went wrong."""

    job = serializers.UUIDField(source="job_id")
    attempt = serializers.IntegerField()
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(source="fault_kind", choices=list(KIND_NAMES))
    rank = serializers.IntegerField(allow_null=True)
    host = serializers.CharField()
    xid = serializers.IntegerField(allow_null=True)
    line = serializers.CharField(source="text")


class JobRiskShown(serializers.Serializer):
    since = serializers.DateTimeField()
    minutes = serializers.FloatField()
    accelerator_hours = serializers.FloatField()
    saved = serializers.BooleanField(help_text="Whether this run has saved anything yet.")


class JobForecastShown(serializers.Serializer):
    ends_at = serializers.DateTimeField(allow_null=True)
    unknown = serializers.CharField(help_text="Why nothing can be said; empty where something can.")
    remaining_steps = serializers.IntegerField(allow_null=True)
    steps_per_day = serializers.FloatField(source="pace.steps_per_day", default=None, allow_null=True)
    tokens_per_day = serializers.FloatField(source="pace.tokens_per_day", default=None, allow_null=True)
    samples_per_day = serializers.FloatField(source="pace.samples_per_day", default=None, allow_null=True)


class JobAimShown(serializers.Serializer):
    """How the model's own amount stands against the stage gate. Amounts in `unit`; null is not known, never 0."""

    model = serializers.CharField(help_text="The model's code.")
    unit = serializers.ChoiceField(choices=["billion_tokens", "million_samples", "thousand_hours"])
    target = serializers.FloatField(allow_null=True)
    done = serializers.FloatField(allow_null=True)
    recorded_at = serializers.DateTimeField(help_text="When that was last recorded.")
    per_day = serializers.FloatField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    stage_gate_at = serializers.DateTimeField(allow_null=True)
    spare_days = serializers.FloatField(allow_null=True, help_text="Negative: so much after the stage gate.")
    by_gate = serializers.FloatField(allow_null=True, help_text="What will be done when the gate comes.")
    needed_per_day = serializers.FloatField(allow_null=True, help_text="To have it all by the gate.")
    unknown = serializers.ChoiceField(
        choices=["", "no_target", "no_done", "not_measured", "unit", "no_progress", "stale"],
        help_text="Why no end can be said.",
    )


class JobSuspectShown(serializers.Serializer):
    name = serializers.CharField()
    heard_at = serializers.DateTimeField(allow_null=True)
    confidence = serializers.FloatField(help_text="From 0 to 1: how likely it is the cause of the trouble.")
    reasons = serializers.ListField(child=serializers.CharField())


class JobProgressShown(serializers.Serializer):
    """How a job goes by its own words, and what follows from them."""

    id = serializers.UUIDField()
    tenant = serializers.SlugField(source="tenant.slug")
    format = serializers.CharField(help_text="How its output tells steps; empty: not recognised.")
    step = serializers.IntegerField(allow_null=True)
    step_at = serializers.DateTimeField(allow_null=True)
    total_steps = serializers.IntegerField(allow_null=True)
    ranks_heard = serializers.IntegerField(allow_null=True)
    ranks = serializers.IntegerField(allow_null=True)
    last_line_at = serializers.DateTimeField(allow_null=True)
    silence = serializers.ChoiceField(choices=["flowing", "quiet", "stalled", "unknown"])
    timeout_seconds = serializers.FloatField(help_text="After how long its communicator gives up.")
    timeout_source = serializers.ChoiceField(choices=["log", "script", "framework", "default"])
    checkpoint_step = serializers.IntegerField(allow_null=True)
    checkpoint_at = serializers.DateTimeField(allow_null=True)
    checkpoint_path = serializers.CharField()
    drilled_at = serializers.DateTimeField(
        allow_null=True, help_text="When a restore was last really done; null: never."
    )
    at_risk = JobRiskShown(allow_null=True)
    forecast = JobForecastShown()
    aim = JobAimShown(allow_null=True, help_text="Null where it is not clear which model it trains: send `model`.")
    nodes = JobSuspectShown(many=True)


POINTS = Listing("job-points", JobPointShown, {"source": OneOf("source", ["log", "reporter"])}, newest="at")
OUTPUT = Listing("job-output", JobOutputShown, newest="created_at")
FAULTS = Listing("job-faults", JobFaultShown, {"kind": OneOf("fault_kind", KIND_NAMES)}, newest="at")
WHAT_IF = [
    OpenApiParameter("nodes", int, description="The forecast as if it had so many nodes."),
    OpenApiParameter("mfu", float, description="As if its MFU were so many percent; it has to be measured."),
    OpenApiParameter("speed", float, description="As if its throughput were so many percent of what it is."),
    OpenApiParameter("lost_days", float, description="As if so many days were lost."),
    OpenApiParameter("model", str, description="The code of the model that it trains, where there are several."),
]


@allow(roles.READ)
@POINTS.described
@endpoint("GET")
def points(request: Request, pk: UUID) -> Response:
    """A job's measured steps, newest first."""
    return POINTS.answer(request, JobPoint.objects.filter(job=queries.job(pk)))


@allow(roles.READ)
@OUTPUT.described
@endpoint("GET")
def output(request: Request, pk: UUID) -> Response:
    """The stretches of a job's output, newest first, without their lines."""
    return OUTPUT.answer(request, JobOutput.objects.filter(job=queries.job(pk)))


@allow(roles.READ)
@extend_schema(responses=JobOutputDetail)
@endpoint("GET")
def output_stretch(request: Request, pk: UUID, number: int) -> Response:
    """One stretch of a job's output whole."""
    found = JobOutput.objects.filter(job=pk, number=number).values_list("pk", flat=True).first()
    return Response(JobOutputDetail(one(JobOutput.objects.all(), JobOutputDetail, found)).data)


@allow(roles.READ)
@FAULTS.described
@endpoint("GET")
def faults(request: Request, pk: UUID) -> Response:
    """What a job said went wrong, newest first."""
    return FAULTS.answer(request, JobFault.objects.filter(job=queries.job(pk)))


@allow(roles.READ)
@extend_schema(responses=JobProgressShown, parameters=WHAT_IF)
@endpoint("GET")
def goes(request: Request, pk: UUID) -> Response:
    """How a job goes, when it and its model will be done, and what the loss of a node would cost now."""
    job, now = queries.job(pk), timezone.now()
    told = watching.watched(job, now)
    pace = job_showing.forecast_of(job, told, now).pace
    models = aiming.models_of(job)
    form = aiming.WhatIfForm(request.GET, models=models, measured=pace, nodes=job.nodes)
    if empty := next((name for name in form.fields if request.GET.get(name) == ""), None):
        raise refusal(empty, _("Send a value, or leave it out."), "", "invalid")
    if form.is_bound and not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        raise refusal(field, str(errors[0]), request.GET.get(field, "")[:40], "invalid")
    question = form.question()
    measured = job_showing.forecast_of(job, told, now, question)
    model = aiming.chosen(models, request.GET.get("model", ""))
    return Response(JobProgressShown(_shown(job, told, measured) | {"aim": _aim(job, model, pace, now, question)}).data)


def _aim(
    job: Any, model: TrainingModel | None, pace: pure.Pace | None, now: datetime, question: pure.WhatIf | None
) -> dict[str, Any] | None:
    if model is None:
        return None
    return {
        **asdict(aiming.reckoned(job, model, pace, now, question)),
        "model": model.code,
        "unit": model.amount_unit,
        "target": model.target_amount,
        "done": model.done_amount,
        "recorded_at": model.updated_at,
        "stage_gate_at": aiming.gate_of(job),
    }


def _shown(job: Any, told: watching.Watched, measured: pure.Forecast) -> dict[str, Any]:
    row = told.progress
    return {
        "id": job.pk,
        "tenant": job.tenant,
        "format": row.log_format if row else "",
        "step": row.step if row else None,
        "step_at": row.step_at if row else None,
        "total_steps": row.total_steps if row else None,
        "ranks_heard": told.ranks.heard if told.ranks else None,
        "ranks": told.ranks.world if told.ranks else None,
        "last_line_at": row.last_line_at if row else None,
        "silence": told.silence.word,
        "timeout_seconds": told.in_use.seconds,
        "timeout_source": told.in_use.source,
        "checkpoint_step": job.checkpoint_step,
        "checkpoint_at": job.checkpoint_at,
        "checkpoint_path": row.checkpoint_path if row else "",
        "drilled_at": row.drilled_at if row else None,
        "at_risk": told.risk,
        "forecast": measured,
        "nodes": told.nodes,
    }
