"""What one may ask of a job that exists: hold it, let it go, begin it again, launch it again."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from clusters import actions, queries
from clusters.forms import ReasonForm
from clusters.models import Job
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other

WORDS: dict[str, dict[str, Any]] = {
    "hold": {
        "title": gettext_lazy("Hold %(name)s?"),
        "text": gettext_lazy("It keeps its place, and does not start until somebody lets it go."),
        "submit": gettext_lazy("Hold the job"),
        "done": gettext_lazy("It is being held. The scheduler confirms it in a moment."),
    },
    "release": {
        "title": gettext_lazy("Let %(name)s go?"),
        "text": gettext_lazy("It starts when its turn comes."),
        "submit": gettext_lazy("Let the job go"),
        "done": gettext_lazy("It is being let go. The scheduler confirms it in a moment."),
    },
    "requeue": {
        "title": gettext_lazy("Begin %(name)s again?"),
        "text": gettext_lazy(
            "It stops, and begins again as the same job from its last checkpoint. What it had not yet saved is lost."
        ),
        "submit": gettext_lazy("Begin the job again"),
        "done": gettext_lazy("It is being begun again. The scheduler confirms it in a moment."),
    },
    "resubmit": {
        "title": gettext_lazy("Launch %(name)s again?"),
        "text": gettext_lazy(
            "As it was: the same script goes to the same cluster as the next version of this run. Or change it first."
        ),
        "submit": gettext_lazy("Launch as it was"),
        "button": gettext_lazy("Launch again"),
        "done": gettext_lazy("Launched again. The scheduler gets it within seconds."),
    },
}


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def hold(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish that a job does not start."""
    return _decided(request, pk, "hold", actions.hold_job)


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def release(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish that a held job may start."""
    return _decided(request, pk, "release", actions.release_job)


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def requeue(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish that a running job be begun again."""
    return _decided(request, pk, "requeue", actions.requeue_job)


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def resubmit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Launch an ended job again, as the next version of its run."""
    return _decided(request, pk, "resubmit", actions.resubmit_job)


def _decided(request: HttpRequest, pk: UUID, deed: str, action: Callable[..., Any]) -> HttpResponse:
    row, words = queries.job(pk), WORDS[deed]
    form = ReasonForm(posted(request), prefix=deed, optional=True)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            made, refused = attempt(action, job=row, by=request.actor, why=form.cleaned_data["why"])
            if refused is None:
                messages.success(request, str(words["done"]))
                return see_other(reverse("job", args=[request.tenant.slug, made.pk if made else row.pk]))
            status = refused.status
    context = {
        "job": row,
        "form": form,
        "refused": refused,
        "title": words["title"] % {"name": row.name},
        "text": words["text"],
        "submit": words["submit"],
        "other": changed_first(row) if deed == "resubmit" else None,
    }
    return render(request, "clusters/decide.html", context, status=status)


def changed_first(row: Job) -> dict[str, Any]:
    """The form of a launch, filled in as this job was launched."""
    name, args = ("launch_template", [row.template]) if row.template else ("launch_job", [])
    address = reverse(name, args=[row.tenant.slug, row.cluster_id, *args])
    return {"url": f"{address}?again={row.pk}", "label": gettext_lazy("Change it first")}


def offered(request: HttpRequest, row: Any, may: dict[str, Any]) -> list[dict[str, Any]]:
    """The buttons of a job's page: only what is possible now."""
    return [
        {
            "deed": deed,
            "url": reverse(f"{deed}_job", args=[row.tenant.slug, row.pk]),
            "form": ReasonForm(prefix=deed, optional=True),
            "title": words["title"] % {"name": row.name},
            "text": words["text"],
            "submit": words["submit"],
            "button": words.get("button", words["submit"]),
            "other": changed_first(row) if deed == "resubmit" else None,
        }
        for deed, words in WORDS.items()
        if request.role in roles.LAUNCH and may[deed] is None
    ]
