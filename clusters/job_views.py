"""Pages about jobs: all of them, launching one, following one to its end."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import actions, endings, queries, showing, states
from clusters.engine.job_specs import starting_manifest
from clusters.forms import STARTING_SCRIPT, JobFilters, LaunchForm, ReasonForm
from clusters.models import Attempt, Job
from tenants.queries import actor_names, history, lines, tenants
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import live, pages
from tenants.web.attempt import attempt, posted, see_other

NEWEST_ENTRIES = 30


@allow(roles.READ)
@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """Every training job one may see, newest first."""
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    form = JobFilters(request.GET, tenants=everybody)
    chosen = form.chosen()
    rows = queries.jobs()
    if q := chosen.get("q"):
        rows = rows.filter(
            Q(name__icontains=q) | Q(cluster__name__icontains=q) | Q(tenant__name__icontains=q) | Q(external_id=q)
        )
    for field, name in {"state": "state", "tenant": "tenant__slug"}.items():
        if value := chosen.get(field):
            rows = rows.filter(**{name: value})
    page = pages.newest_first(rows, request, at="created_at")
    newest = live.stamp(page.rows)
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    context = {
        "form": form,
        "chosen": chosen,
        "rows": page.rows,
        "older": page.next,
        "names": actor_names({row["launched_by"] for row in page.rows}),
        "several": len(everybody) > 1,
        "unsettled": any(row["state"] in states.JOB_LIVE for row in page.rows),
        "poll": live.address(request, newest),
    }
    template = "clusters/jobs.html" + ("#rows" if live.asked(request) else "")
    return render(request, template, context, status=200 if form.is_valid() else 400)


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def launch(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Launch a job on a cluster."""
    row = queries.cluster(pk)
    partitions = _partitions(row)
    nodes = min(2, max(partitions.values(), default=1))
    kubernetes = row.orchestrator == "hyperpod-eks"
    script = starting_manifest(row, nodes) if kubernetes else STARTING_SCRIPT
    form = LaunchForm(
        posted(request), partitions=partitions, kubernetes=kubernetes, initial={"script": script, "nodes": nodes}
    )
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            job, refused = attempt(actions.launch_job, cluster=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Launched. The scheduler gets it within seconds."))
                return see_other(reverse("job", args=[request.tenant.slug, job.pk]))
            status = refused.status
            field = refused.facts.get("field")
            if field in form.fields:
                form.add_error(field, refused.sentence)
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "partitions": partitions,
    }
    return render(request, "clusters/launch.html", context, status=status)


def _partitions(row: Any) -> dict[str, int]:
    """Compute groups and their nodes, the largest first."""
    found: dict[str, int] = {}
    for group in queries.nodes(row).filter(role="compute").values_list("group", flat=True):
        found[group] = found.get(group, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


@allow(roles.READ)
@require_safe
def job(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One job: where it stands, why, and what it says."""
    row = queries.job(pk)
    entries = list(history(subject=("job", row.pk)).order_by("-occurred_at", "-id")[:NEWEST_ENTRIES])
    newest = live.stamp(
        row.version,
        row.state,
        row.engine_state,
        row.unknown_since,
        len(row.log_tail),
        row.log_read_at,
        [entry.pk for entry in entries],
    )
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    context = {
        "row": row,
        "partial": live.asked(request),
        "launched_by": actor_names({row.launched_by}).get(row.launched_by, ""),
        "log": showing.log_lines(row.log_tail),
        "attempts": list(Attempt.objects.filter(job=row).order_by("-number")),
        "entries": lines(entries),
        "endings": _endings(row),
        "ended": row.state in states.JOB_ENDS,
        "failed": row.state in ("failed", "timed_out"),
        "is_proof": row.purpose == Job.Purpose.PROOF,
        "unsettled": row.state in states.JOB_LIVE,
        "may_cancel": request.role in roles.LAUNCH and row.state in states.JOB_LIVE and row.cancel_wished_at is None,
        "cancel_form": ReasonForm(prefix="cancel", optional=True),
        "poll": live.address(request, newest),
    }
    return render(request, "clusters/job.html" + ("#live" if live.asked(request) else ""), context)


def _endings(row: Job) -> list[tuple[endings.Ending, bool]]:
    """When the nodes under it are taken away."""
    found = endings.of_cluster(row.cluster) if row.state in states.JOB_LIVE else []
    return showing.endings_soon([one for one in found if row.partition in one.groups], timezone.now())


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish that a job end."""
    row = queries.job(pk)
    form = ReasonForm(posted(request), prefix="cancel", optional=True)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(actions.cancel_job, job=row, by=request.actor, why=form.cleaned_data["why"])
            if refused is None:
                messages.success(request, _("It is being cancelled. The scheduler confirms it in a moment."))
                return see_other(reverse("job", args=[request.tenant.slug, row.pk]))
            status = refused.status
    context = {
        "job": row,
        "form": form,
        "refused": refused,
        "title": _("Cancel %(name)s?") % {"name": row.name},
        "text": _("What it wrote stays. What it had not yet saved is lost."),
        "submit": _("Cancel the job"),
        "tone": "bad",
    }
    return render(request, "clusters/decide.html", context, status=status)
