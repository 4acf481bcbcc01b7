"""Usage in the API: months of clusters with their sum, days in classes, runs of jobs, disputes, and what is lent."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import queries, states
from clusters.accounting import accelerator_hours, usage
from clusters.accounting.forms import MOST_HOURS
from clusters.actions import usage as acting
from clusters.api.shapes import WhyAsked
from clusters.models import JobRun, UsageDay, UsageDispute
from tenants.programme_day import programme_zone
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, versioned
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, filters_of, one

MEASURED = "Accelerator-seconds that runs of jobs used; null: not measured, which is not nought."


class Summed(serializers.Serializer):
    """Accelerator-seconds: whole numbers, so that sums stay exact."""

    reserved = serializers.IntegerField(help_text="The sum of `classes`.")
    classes = serializers.DictField(
        child=serializers.IntegerField(), help_text=f"Each reserved second is in one of {', '.join(usage.CLASSES)}."
    )
    used = serializers.IntegerField(allow_null=True, help_text=MEASURED)
    runs = serializers.IntegerField()
    unmeasured = serializers.IntegerField(help_text="Runs that are not in `used`.")
    unmeasured_days = serializers.IntegerField()
    clusters = serializers.IntegerField()
    unmeasured_clusters = serializers.IntegerField(help_text="Clusters that are not in `used`.")


class MonthShown(Summed):
    """A month of one cluster."""

    cluster = serializers.UUIDField()
    name = serializers.CharField()
    tenant = serializers.CharField()
    sources = serializers.ListField(child=serializers.ChoiceField(choices=JobRun.Source.choices))
    counted_at = serializers.DateTimeField(allow_null=True)
    disputed_since = serializers.SerializerMethodField()

    def get_disputed_since(self, row: usage.Month) -> str | None:
        """Since when somebody says that it is counted wrong; null when nobody does, or it is settled."""
        told = row.disputed
        return told.disputed_at.isoformat() if told and told.state == "open" else None


class UsageShown(serializers.Serializer):
    month = serializers.CharField()
    zone = serializers.CharField(help_text="The programme's: its midnights part the days.")
    total = Summed()
    months = MonthShown(many=True)


class UsageDayShown(Shown):
    """A day of one cluster, in accelerator-seconds."""

    cluster = serializers.UUIDField(source="cluster_id")
    day = serializers.DateField()
    zone = serializers.CharField()
    source = serializers.ChoiceField(
        choices=UsageDay.Source.choices, help_text="Who measured `used`; nobody: not measured."
    )
    reserved = serializers.IntegerField()
    training = serializers.IntegerField()
    stalled = serializers.IntegerField()
    recovering = serializers.IntegerField()
    waiting_us = serializers.IntegerField()
    waiting_provider = serializers.IntegerField()
    waiting_participant = serializers.IntegerField()
    idle = serializers.IntegerField()
    lent = serializers.IntegerField()
    used = serializers.IntegerField()
    runs = serializers.IntegerField()
    unmeasured = serializers.IntegerField()
    computed_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True, help_text="After it, a change is a line in the history.")


class RunShown(Shown):
    """One attempt of a job."""

    cluster = serializers.UUIDField(source="cluster_id")
    job = serializers.UUIDField(source="job_id", allow_null=True)
    scheduler_id = serializers.CharField(source="external_id")
    attempt = serializers.IntegerField()
    name = serializers.CharField()
    source = serializers.ChoiceField(choices=JobRun.Source.choices)
    outcome = serializers.CharField()
    engine_state = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    counted_until = serializers.DateTimeField(allow_null=True, help_text="Its end, or when it was last seen.")
    nodes = serializers.IntegerField(allow_null=True)
    accelerators = serializers.IntegerField(allow_null=True, help_text="Null: not measured.")
    exit_code = serializers.IntegerField(allow_null=True)
    signal = serializers.IntegerField(allow_null=True)


class DisputeShown(Shown):
    """A month that somebody says is counted wrong; both numbers stay."""

    cluster = serializers.UUIDField(source="cluster_id")
    month = serializers.DateField()
    state = serializers.ChoiceField(choices=list(states.USAGE_DISPUTE))
    reason = serializers.CharField()
    claimed_hours = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    reserved_then = serializers.IntegerField()
    used_then = serializers.IntegerField(allow_null=True, help_text=MEASURED)
    disputed_by = serializers.CharField()
    disputed_at = serializers.DateTimeField()
    settled_hours = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    answer = serializers.CharField()
    answered_by = serializers.CharField()
    answered_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class DisputeAsked(Asked):
    month = serializers.CharField(max_length=7, help_text="Like 2026-11.")
    reason = serializers.CharField(max_length=1000)
    claimed_hours = serializers.DecimalField(
        max_digits=14, decimal_places=2, min_value=0, max_value=MOST_HOURS, allow_null=True, default=None
    )


class DisputeSettled(Asked):
    settled_hours = serializers.DecimalField(max_digits=14, decimal_places=2, min_value=0, max_value=MOST_HOURS)
    answer = serializers.CharField(max_length=1000)
    version = serializers.IntegerField(min_value=1, max_value=2_147_483_647, allow_null=True, default=None)


class LendAsked(Asked):
    nodes = serializers.IntegerField(min_value=1, max_value=100_000)
    borrower = serializers.CharField(max_length=120)
    reason = serializers.CharField(max_length=300)


class LentShown(serializers.Serializer):
    cluster = serializers.UUIDField(source="cluster_id")
    nodes = serializers.IntegerField()
    borrower = serializers.CharField()
    begins_at = serializers.DateTimeField()


DAYS = Listing("usage-days", UsageDayShown, {"cluster": Id("cluster_id")}, newest="created_at")
RUNS = Listing(
    "runs",
    RunShown,
    {"cluster": Id("cluster_id"), "job": Id("job_id"), "source": OneOf("source", JobRun.Source.values)},
    newest="created_at",
)
DISPUTES = Listing(
    "usage-disputes",
    DisputeShown,
    {"cluster": Id("cluster_id"), "state": OneOf("state", states.USAGE_DISPUTE)},
    newest="disputed_at",
)


@allow(roles.READ)
@extend_schema(
    parameters=[OpenApiParameter("month", str, description="Like 2026-11; this month unless said.")],
    responses=UsageShown,
)
@endpoint("GET")
def months(request: Request) -> Response:
    """A month of every cluster with its sum, by participant and name. Nothing that was not measured is summed as nought."""
    filters_of(request, {}, ("month",))
    zone = programme_zone().key
    asked_for = request.GET.get("month") or f"{accelerator_hours.today(zone):%Y-%m}"
    rows = usage.months(_month(asked_for))
    return Response(UsageShown({"month": asked_for, "zone": zone, "total": usage.total(rows), "months": rows}).data)


def _month(text: str) -> Any:
    found = accelerator_hours.read_month(text)
    if found is None:
        raise refusal("month", _("Write a month like 2026-11."), text, "invalid")
    return found


@allow(roles.READ)
@DAYS.described
@endpoint("GET")
def days(request: Request) -> Response:
    """Days of clusters, the last counted first."""
    return DAYS.answer(request, UsageDay.objects.all())


@allow(roles.READ)
@RUNS.described
@endpoint("GET")
def runs(request: Request) -> Response:
    """Attempts of jobs, from accounting where a cluster keeps it, else as they were watched."""
    return RUNS.answer(request, JobRun.objects.all())


@allow(roles.READ)
@DISPUTES.described
@endpoint("GET")
def disputes(request: Request) -> Response:
    """What is, or was, said to be counted wrong."""
    return DISPUTES.answer(request, UsageDispute.objects.all())


def _dispute(pk: UUID, status: int = 200) -> Response:
    row = one(UsageDispute.objects.all(), DisputeShown, pk)
    return versioned(DisputeShown(row).data, row["version"], status=status)


@allow(roles.DISPUTE)
@extend_schema(request=DisputeAsked, responses={201: DisputeShown})
@endpoint("POST")
@repeatable(required=False)
def dispute(request: Request, pk: UUID) -> Response:
    """Say that a month of a cluster is counted wrong; the programme gets a case."""
    sent = asked(DisputeAsked, request)
    row = queries.cluster(pk)
    told = acting.dispute_usage(cluster=row, by=request.actor, **{**sent, "month": _month(sent["month"])})
    return _dispute(told.pk, status=201)


@allow(roles.SETTLE)
@extend_schema(request=DisputeSettled, responses={200: DisputeShown})
@endpoint("POST")
@repeatable(required=False)
def settle(request: Request, pk: UUID) -> Response:
    """Say which hours hold, and why."""
    sent = asked(DisputeSettled, request)
    told = UsageDispute.objects.filter(pk=pk).first()
    if told is None:
        raise Http404
    acting.settle_dispute(dispute=told, by=request.actor, **sent)
    return _dispute(pk)


@allow(roles.OPERATE)
@extend_schema(request=LendAsked, responses={201: LentShown})
@endpoint("POST")
@repeatable(required=False)
def lend(request: Request, pk: UUID) -> Response:
    """Lend nodes of a cluster to somebody else; their hours are counted as lent."""
    sent = asked(LendAsked, request)
    return Response(
        LentShown(acting.lend_nodes(cluster=queries.cluster(pk), by=request.actor, **sent)).data, status=201
    )


@allow(roles.OPERATE)
@extend_schema(request=WhyAsked, responses={200: LentShown})
@endpoint("POST")
@repeatable(required=False)
def take_back(request: Request, pk: UUID) -> Response:
    """Take back what is lent; shown is what it was."""
    sent = asked(WhyAsked, request)
    row = acting.take_back(cluster=queries.cluster(pk), by=request.actor, why=sent["why"])
    return Response(LentShown(row).data)
