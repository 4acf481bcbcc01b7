"""Pages about jobs: all of them, following one to its end."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import actions, aiming, endings, queries, showing, states, watching
from clusters.forms import JobFilters, ReasonForm
from clusters.jobs import deed_views as job_deed_views
from clusters.jobs import deeds as job_deeds
from clusters.jobs import showing as job_showing
from clusters.models import Attempt, Job, JobOutput
from tenants.queries import actor_names, history, lines, tenants
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import live, pages
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused

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


@allow(roles.READ)
@require_safe
def job(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One job: where it stands, how it goes, what it says, and what it would lose."""
    row = queries.job(pk)
    entries = list(history(subject=("job", row.pk)).order_by("-occurred_at", "-id")[:NEWEST_ENTRIES])
    progress = watching.progress_of(row)
    newest = live.stamp(
        row.version,
        row.state,
        row.engine_state,
        row.unknown_since,
        row.checkpoint_at,
        progress and (progress.step_at, progress.last_line_at, progress.stalled_since, progress.resumed_at),
        [entry.pk for entry in entries],
        watching.unwell(row),
    )
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    may = job_deeds.deeds(job_deeds.of(row))
    context = {
        "row": row,
        "partial": live.asked(request),
        "launched_by": actor_names({row.launched_by}).get(row.launched_by, ""),
        "attempts": job_showing.attempts_shown(Attempt.objects.filter(job=row).order_by("-number")),
        "entries": lines(entries),
        "endings": _endings(row),
        "ended": row.state in states.JOB_ENDS,
        "failed": row.state in ("failed", "timed_out"),
        "is_proof": row.purpose == Job.Purpose.PROOF,
        "unsettled": row.state in states.JOB_LIVE,
        "poll_seconds": _poll_seconds(row),
        "may_replace": request.role in roles.OPERATE,
        "may_cancel": request.role in roles.LAUNCH and may["cancel"] is None,
        "again": job_deed_views.changed_first(row),
        "deeds": job_deed_views.offered(request, row, may),
        "cancel_form": ReasonForm(prefix="cancel", optional=True),
        "poll": live.address(request, newest),
        **_watched(row, request),
    }
    if not context["partial"]:
        context |= _log(row, *watching.tail(row))
    return render(request, "clusters/job.html" + ("#live" if live.asked(request) else ""), context)


def _poll_seconds(row: Job) -> int:
    """Whoever asked for something, or waits for a start, looks for the answer; a run of weeks is in no hurry."""
    soon = row.wish or row.cancel_wished_at or row.state not in ("queued", "running")
    return 2 if soon else 5


def _endings(row: Job) -> list[tuple[endings.Ending, bool]]:
    """When the nodes under it are taken away."""
    found = endings.of_cluster(row.cluster) if row.state in states.JOB_LIVE else []
    return showing.endings_soon([one for one in found if row.partition in one.groups], timezone.now())


def number_of(text: str | None, name: str) -> int | None:
    """A number of an address. Raises Refused for anything else."""
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise Refused(
            "bad_number",
            _("%(name)s is '%(value)s'; it has to be a whole number from 0 on.") % {"name": name, "value": text[:40]},
            status=400,
            field=name,
        )
    return int(text)


def _watched(row: Job, request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    told = watching.watched(row, now)
    models = aiming.models_of(row)
    pace = job_showing.forecast_of(row, told, now).pace
    form = aiming.WhatIfForm(request.GET, models=models, measured=pace, nodes=row.nodes)
    measures = job_showing.measures_now(row, told, now)
    nodes = job_showing.node_rows(told)
    return {
        "told": told,
        "measures": measures,
        "measured_when": job_showing.measured_when(row, measures),
        "charts": job_showing.charts(told.points),
        "nodes_seen": len(nodes),
        **job_showing.nodes_shown(nodes),
        "timeout_minutes": round(told.in_use.seconds / 60, 1),
        "timeout_source": job_showing.SOURCES[told.in_use.source],
        "what_if_form": form,
        **aiming.laid_out(row, models, form, pace, now),
        **job_showing.outlook(row, told, watching.limits(row), now, form.question()),
    }


def _log(row: Job, first: int, texts: list[str]) -> dict[str, Any]:
    if not texts and not first and row.log_tail:
        texts = row.log_tail.splitlines()[-watching.TAIL_LINES :]
    shown = job_showing.lines(texts)
    return {
        "log": [{**line, "number": number} for number, line in enumerate(shown, start=first + 1)],
        "log_next": first + len(shown),
        "log_live": row.state in states.JOB_LIVE,
    }


@allow(roles.READ)
@require_safe
def log_tail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What a job wrote since a line: for the page that follows. Asked by anybody else, it is the page of the output."""
    row = queries.job(pk)
    if not request.headers.get("HX-Request"):
        return _older(request, row)
    after = number_of(request.GET.get("after"), "after")
    first, texts = watching.tail(row, after)
    live_still = row.state in states.JOB_LIVE
    if not texts and live_still:
        return HttpResponse(status=204)
    context = {"row": row, **_log(row, first, texts), "log_gap": max(0, first - (after or 0)), "log_live": live_still}
    return render(request, "clusters/job.html#more_log", context)


@allow(roles.READ)
@require_safe
def log(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A job's output from an older stretch to the newest, page by page."""
    return _older(request, queries.job(pk))


def _older(request: HttpRequest, row: Job) -> HttpResponse:
    number = number_of(request.GET.get("page"), "page")
    found = watching.stretch(row, number)
    if found is None and number is not None:
        raise Http404
    first, last = watching.ends_of_output(row) or (0, 0)
    texts = found.text.split("\n") if found else []
    begin = found.first_line if found else 0
    context = {
        "row": row,
        "stretch": found,
        "log": [{**line, "number": n} for n, line in enumerate(job_showing.lines(texts), start=begin + 1)],
        "older": found.number - 1 if found and found.number > first else None,
        "newer": found.number + 1 if found and found.number < last else None,
        "first": first,
        "last": last,
    }
    return render(request, "clusters/job_log.html", context)


@allow(roles.READ)
@require_safe
def log_download(request: HttpRequest, pk: UUID) -> HttpResponse:
    """All of a job's output that is kept, as text."""
    row = queries.job(pk)
    text = (
        "\n".join(JobOutput.objects.filter(job=row).order_by("number").values_list("text", flat=True)) or row.log_tail
    )
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{row.engine_name}.log"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


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
