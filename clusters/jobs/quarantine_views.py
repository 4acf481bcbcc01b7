"""Pages on which a node is put into quarantine or taken out of it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from clusters.actions import quarantine as acting
from clusters.forms import ReasonForm
from clusters.models import Cluster, Node, Quarantine
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def hold(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Keep new jobs away from a node."""
    node = Node.objects.select_related("cluster").filter(pk=pk).first()
    if node is None:
        raise Http404
    words = {
        "title": _("Put %(node)s in quarantine?") % {"node": node.name},
        "text": _("No new job goes there until somebody takes it out. Jobs that run on it are left alone."),
        "submit": _("Put it in quarantine"),
        "done": _("It is in quarantine. No new job goes there."),
    }
    return _decide(request, node.cluster, words, acting.hold_node, {"node": node})


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def lift(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Let jobs go to a node again."""
    held = Quarantine.objects.select_related("node", "cluster").filter(pk=pk).first()
    if held is None:
        raise Http404
    words = {
        "title": _("Take %(node)s out of quarantine?") % {"node": held.node.name},
        "text": _("It is there for this: %(why)s. New jobs may go to it again; say what makes you sure.")
        % {"why": _(held.reason)},
        "submit": _("Take it out"),
        "done": _("Jobs may go there again."),
    }
    return _decide(request, held.cluster, words, acting.lift, {"held": held})


def _decide(request: HttpRequest, row: Cluster, words: dict[str, Any], act: Any, what: dict[str, Any]) -> HttpResponse:
    form = ReasonForm(posted(request))
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(act, by=request.actor, reason=form.cleaned_data["why"], **what)
            if refused is None:
                messages.success(request, words["done"])
                return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]) + "#quarantine")
            status = refused.status
    context = {"row": row, "form": form, "refused": refused, **words}
    return render(request, "clusters/decide.html", context, status=status)
