"""Where a head node's agent fetches orders and tells what it sees, with the cluster's own token; and the pages for people."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from clusters import agent_reports, queries
from clusters.actions import agents
from clusters.forms import ReachForm, ReasonForm
from clusters.models import Cluster, HeadNodeAgent
from tenants.models import Tenant
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused, answer

A_MINUTE = 240  # questions of one cluster to one web process
Told = Callable[[HeadNodeAgent, Cluster, bytes], dict[str, Any]]


def of_machine(told: Told) -> Callable[..., HttpResponse]:
    """No person and no seat: the token is the cluster's, opens these addresses, and shows nothing but its own orders."""

    @csrf_exempt
    @require_POST
    @wraps(told)
    def view(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
        scheme, _sep, token = request.headers.get("Authorization", "").partition(" ")
        body = request.body  # a slow sender is waited for here, not inside the transaction
        place = Tenant.objects.filter(slug=tenant, is_office=False).first()
        if scheme.lower() != "bearer" or not token or place is None:
            return _not_known(request)
        try:
            with acting_for(place, staff=True):
                agent = HeadNodeAgent.objects.select_related("cluster").filter(cluster_id=pk).first()
                if agent is None or not agents.opens(agent, token.strip()):
                    return _not_known(request)
                if _too_often(agent):
                    return answer(request, 429, "throttled", "Too many questions; come back later.", retry_after=30)
                return JsonResponse(told(agent, agent.cluster, body))
        except Refused as error:
            return answer(request, error.status, error.code, error.sentence, **error.facts)

    return view


def _not_known(request: HttpRequest) -> HttpResponse:
    response = answer(
        request, 401, "not_known", "The token is missing, unknown or replaced; send it as 'Bearer TOKEN'."
    )
    response["WWW-Authenticate"] = "Bearer"
    return response


def _too_often(agent: HeadNodeAgent) -> bool:
    """Counted in this process alone, as for people: it is there against a program that runs wild."""
    counts = caches["throttles"]
    key = f"agent-{agent.pk}"
    counts.add(key, 0, timeout=60)
    try:
        return bool(counts.incr(key) > A_MINUTE)
    except ValueError:  # it was forgotten in between
        return False


@of_machine
def pull(agent: HeadNodeAgent, cluster: Cluster, body: bytes) -> dict[str, Any]:
    """What it is to do, oldest first, and in how many seconds it should ask again."""
    hello = agent_reports.read_hello(body)
    agents.heard(agent, hello, cluster)
    return {"orders": agents.hand_out(cluster, hello.identity), "again_in": agents.again_in(cluster)}


@of_machine
def take_answer(agent: HeadNodeAgent, cluster: Cluster, body: bytes) -> dict[str, Any]:
    """How one order ended."""
    if not agents.take_answer(cluster, agent_reports.read_answer(body)):
        raise Refused("not_found", _("This cluster has no such order."), status=404)
    return {"kept": True}


@of_machine
def report(agent: HeadNodeAgent, cluster: Cluster, body: bytes) -> dict[str, Any]:
    """Jobs, nodes, logs and accounts."""
    told = agent_reports.read_report(body)
    agents.heard(agent, told.hello, cluster)
    return agents.take_report(agent, cluster, told)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def renew(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Make a new token for the agent."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, optional=True)
    status, refused = 200, None
    if request.method == "POST" and form.is_valid():
        version = form.cleaned_data["version"]
        _done, refused = attempt(agents.renew_token, cluster=row, by=request.actor, version=version)
        if refused is None:
            messages.success(request, _("There is a new token; the engine brings it into the account."))
            return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]) + "#agent")
        status = refused.status
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "title": _("Make a new token for the agent of %(name)s?") % {"name": row.name},
        "text": _(
            "Nobody sees it: it is written into the account's Secrets Manager, and the head node fetches it there. The "
            "one before opens for another day."
        ),
        "submit": _("Make a new one"),
    }
    return render(request, "clusters/decide.html", context, status=status)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def reach(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Choose how the scheduler is reached."""
    row = queries.cluster(pk)
    form = ReachForm(posted(request), initial={"version": row.version, "reach": row.reach})
    status, refused = 200, None
    if request.method == "POST" and form.is_valid():
        _done, refused = attempt(agents.choose_reach, cluster=row, by=request.actor, **form.cleaned_data)
        if refused is None:
            return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]) + "#agent")
        status = refused.status
    elif request.method == "POST":
        status = 422
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "title": _("How is the scheduler of %(name)s reached?") % {"name": row.name},
        "text": _(
            "Directly needs a route from Cohort into the cluster's network. The agent needs none: it runs on the head node, "
            "asks Cohort over HTTPS for what is to be done, and tells what it sees. What runs goes on either way."
        ),
        "submit": _("Choose"),
    }
    return render(request, "clusters/decide.html", context, status=status)
