"""The page on which a cluster is moved to the newest version of its architecture: what that brings, the plan, the deed."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from clusters import architectures, catalogue, checking, foresight, moving, possible, queries
from clusters.actions import changes
from clusters.budgets import effects
from clusters.forms import ReasonForm
from clusters.models import Cluster
from clusters.preflight import refused as refusals
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused


class MoveForm(ReasonForm):
    plan = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)  # the digest that was looked at
    stop_jobs = forms.BooleanField(label=gettext_lazy("Jobs that run there may be stopped"), required=False)
    field_order = ["stop_jobs", "why", "version", "plan"]


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def move(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Move a cluster to the newest version of its architecture."""
    row = queries.cluster(pk)
    context: dict[str, Any] = {"row": row, "to": architectures.newest().get(row.architecture, "")}
    closed = _closed(row, context["to"])
    if closed is not None:
        status = 200 if request.method == "GET" else closed.status
        return render(request, "clusters/move.html", context | {"closed": closed.sentence}, status=status)
    body = moving.moved(foresight.current(row), context["to"])
    checked = foresight.check_change(row, body)
    planned = foresight.of_change(row, checked)
    form = MoveForm(posted(request), initial={"version": row.version, "plan": planned.digest if planned else ""})
    if planned is None or not planned.stopped:
        del form.fields["stop_jobs"]
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = {name: form.cleaned_data[name] for name in ("version", "plan")}
            stop = bool(form.cleaned_data.get("stop_jobs"))
            made, refused = attempt(
                changes.change_cluster,
                cluster=row, body=body, by=request.actor, reason=form.cleaned_data["why"], stop_jobs=stop, **told,
            )  # fmt: skip
            if refused is None:
                waits = made.state == "waiting"
                messages.success(
                    request,
                    _("Asked for. It begins when somebody else has agreed.")
                    if waits
                    else _("It begins. You see here how it goes on."),
                )
                return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]))
            status = refused.status
    context |= {
        "title": _(architectures.architecture(row.architecture).title),
        "changes": [
            (change, catalogue.EFFECTS[change.effect])
            for change in architectures.changes_since(row.architecture, row.architecture_version)
        ],
        "form": form,
        "refused": refused,
        "plan": foresight.told(foresight.kept(planned)) if planned else None,
        "against": [checking.told(finding) for finding in refusals(checked.findings)],
        "second_person": planned.second_person(changes.free_of_approval()) if planned else "",
        "budget": effects.of_wish(row.participation_id, checked.configuration, row) if checked.configuration else None,
        "submit": _("Move it"),
    }
    return render(request, "clusters/move.html", context, status=status)


def _closed(row: Cluster, newest: str) -> Refused | None:
    """Why it cannot be moved now."""
    if not newest or row.architecture_version == newest:
        return Refused("newest", _("%(name)s is made of the newest version already.") % {"name": row.name})
    return possible.refusal(possible.of(row), "change")
