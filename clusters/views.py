"""Pages about clusters: all of them, one of them, and what people decide about it."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Case, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import actions, architectures, catalogue, endings, foresight, possible, queries, showing, spending, states
from clusters.actions import changes, locks
from clusters.actions.searches import PINS
from clusters.forms import ApprovalForm, BucketForm, ClusterFilters, QuotaForm, ReasonForm, RegionsForm
from clusters.models import (
    Alert,
    Bucket,
    Cluster,
    ContainerImage,
    ExternalObject,
    InstalledChart,
    NodeOrder,
    Operation,
    QuotaGrant,
)
from tenants.models import Membership, Participation, holding
from tenants.queries import actor_names, history, lines, tenants
from tenants.views import edit_block
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import live, pages
from tenants.web.attempt import attempt, posted, see_other

MOST_ROWS = 200
MOST_REQUESTERS = 6
NEWEST_ENTRIES = 20
NEWEST_RESOURCES = 6
NEWEST_JOBS = 10
NEWEST_ALERTS = 10
NEWEST_OPERATIONS = 8
NODE_FIELDS = (
    "id", "name", "group", "seat", "role", "state", "instance_type", "instance_id", "private_ip", "az_id", "reason", "engine_status", "since",
    "software_at",
)  # fmt: skip
# What somebody has to do something about comes first.
ATTENTION = Case(
    When(~Q(needs_person=""), then=Value(0)),
    When(state="failed", then=Value(1)),
    When(unknown_since__isnull=False, then=Value(2)),
    When(state="degraded", then=Value(3)),
    When(state="requested", then=Value(4)),
    When(state__in=["approved", "creating", "updating", "deleting"], then=Value(5)),
    default=Value(6),
)


@allow(roles.READ)
@require_safe
def clusters(request: HttpRequest) -> HttpResponse:
    """Every cluster one may see."""
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    form = ClusterFilters(request.GET, tenants=everybody)
    chosen = form.chosen()
    rows = _filtered(queries.clusters(with_deleted=chosen.get("state") == "deleted"), chosen)
    if chosen.get("sort") == "name":
        page = pages.by_name(rows, request)
        found, older, more = page.rows, page.next, False
    else:
        found = list(rows.annotate(rank=ATTENTION).order_by("rank", "name", "id")[: MOST_ROWS + 1])
        found, older, more = found[:MOST_ROWS], None, len(found) > MOST_ROWS
    newest = live.stamp([{**row, "observed_at": None} for row in found])
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    context = {
        "form": form,
        "chosen": {name: value for name, value in chosen.items() if name != "sort"},
        "rows": found,
        "older": older,
        "more": more,
        "engines": showing.ENGINES,
        "several": len(everybody) > 1,
        "request_at": _where_to_request(request, everybody),
        "requesters": _requesters(request, everybody) if not found else [],
        "unsettled": any(row["state"] not in states.AT_REST for row in found),
        "poll": live.address(request, newest),
    }
    template = "clusters/index.html" + ("#rows" if live.asked(request) else "")
    return render(request, template, context, status=200 if form.is_valid() else 400)


def _filtered(rows: QuerySet[Cluster, dict[str, Any]], chosen: dict[str, str]) -> QuerySet[Cluster, dict[str, Any]]:
    if q := chosen.get("q"):
        rows = rows.filter(
            Q(name__icontains=q)
            | Q(tenant__name__icontains=q)
            | Q(account__account_id__startswith=q)
            | Q(main_type__icontains=q)
        )
    for field, name in {"state": "state", "region": "region", "tenant": "tenant__slug"}.items():
        if value := chosen.get(field):
            rows = rows.filter(**{name: value})
    if update := chosen.get("update"):
        rows = rows.exclude(update_available="") if update == "available" else rows.filter(update_available="")
    return rows


def _where_to_request(request: HttpRequest, everybody: list[Any]) -> str:
    """One tenant and the right to ask: the button leads straight to its form."""
    if request.role not in roles.OPERATE or len(everybody) != 1:
        return ""
    return reverse("request_cluster", args=[everybody[0].slug])


def _requesters(request: HttpRequest, everybody: list[Any]) -> list[Membership]:
    """Whoever of one's own organisation may request a cluster, where one may not."""
    if request.role in roles.OPERATE or len(everybody) != 1:
        return []
    seats = Membership.objects.filter(holding(), tenant=everybody[0], role__in=roles.OPERATE)
    return list(seats.select_related("person").order_by("person__name", "person__email")[:MOST_REQUESTERS])


@allow(roles.READ)
@require_safe
def cluster(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One cluster: how far it is, its nodes, what happened, what it is made of."""
    row = queries.cluster(pk)
    nodes = list(queries.nodes(row).values(*NODE_FIELDS))
    quarantined = queries.quarantined(row)
    away = {one.node_id for one in quarantined}
    nodes = [node | {"held": node["id"] in away} for node in nodes]
    jobs = list(queries.jobs(proofs_too=True).filter(cluster_id=row.pk).order_by("-created_at", "-id")[:NEWEST_JOBS])
    # A stack tells of thirty resources, and each is a line of the history; here they would hide what matters.
    happened = history(cluster=row.pk).order_by("-occurred_at", "-id")
    entries = list(happened.exclude(kind=states.PART_EVENT)[:NEWEST_ENTRIES])
    resources = list(happened.filter(kind=states.PART_EVENT)[:NEWEST_RESOURCES])
    held = locks.held(row)
    answers = NodeOrder.objects.filter(operation=held).order_by("pk").values_list("pk", "result") if held else ()
    newest = live.stamp(
        row.version,
        row.state,
        (held.pk, held.version, list(answers)) if held else (),
        row.observed_at,
        row.fleet,
        row.unknown_since,
        [entry.pk for entry in (*entries, *resources)],
        _states(nodes),
        _states(jobs),
        [one.pk for one in quarantined],
    )
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    told = lines([*entries, *resources])
    context = _shown(request, row, nodes, jobs, held) | {
        "entries": told[: len(entries)],
        "resources": told[len(entries) :],
        "quarantined": quarantined,
    }
    moving = any(node["state"] in ("pending", "checking", "replacing") for node in nodes)
    asked = row.wanted and bool(row.fleet) and row.fleet_settled < row.generation
    unsettled = asked or row.state not in states.AT_REST or any(job["state"] in states.JOB_LIVE for job in jobs)
    # What was asked for a moment ago has moved nothing yet, and will.
    unsettled = unsettled or (row.wanted and moving) or held is not None
    context |= {"unsettled": unsettled, "poll": live.address(request, newest)}
    return render(request, "clusters/cluster.html" + ("#live" if live.asked(request) else ""), context)


def _states(rows: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    return [(row["id"], row["state"]) for row in rows]


def _shown(
    request: HttpRequest,
    row: Cluster,
    nodes: list[dict[str, Any]],
    jobs: list[dict[str, Any]],
    operation: Operation | None,
) -> dict[str, Any]:
    past = list(queries.operations(row).filter(state__in=["done", "failed", "cancelled"])[:NEWEST_OPERATIONS])
    askers = {operation.asked_by} if operation else set()
    parts, proofs, revisions = queries.parts(row), queries.proofs(row), list(queries.revisions(row)[:20])
    names = actor_names(
        {row.requested_by, row.approved_by, *(revision.author for revision in revisions), *askers} - {""}
    )
    counted = showing.counts(nodes)
    chosen, node_shown, in_detail = _chosen_nodes(request, nodes)
    return {
        "row": row,
        "partial": live.asked(request),
        "engine": showing.ENGINES.get(row.orchestrator, row.orchestrator),
        "updates": [
            (change, catalogue.EFFECTS[change.effect])
            for change in architectures.changes_since(row.architecture, row.architecture_version)
        ],
        "steps": showing.steps(row, parts, proofs, names),
        "trouble": showing.trouble(row, parts, operation),
        "protected": showing.protected(row, queries.never_came(row)) if row.fleet == "PROTECTED" else None,
        "endings": showing.endings_soon(endings.of_cluster(row, revisions[:1]) if row.wanted else [], timezone.now()),
        "set_up": showing.set_up_lines(parts) if row.state not in ("ready", "deleted") else [],
        "changing": bool(row.ready_at and operation and operation.state == "running" and row.wanted),
        "coming_up": row.state not in ("ready", "degraded", "deleted"),
        "parts": parts,
        "proofs": proofs,
        "operation": _under_way(operation, row, nodes, names, parts) if operation else None,
        "past_operations": past,
        "may_operate": request.role in roles.OPERATE,
        "spent": spending.spent(row),
        **(showing.left_over(list(queries.leftovers(row))) if not row.wanted else {}),
        "conditions": showing.conditions(row),
        "groups": showing.node_groups(nodes, chosen),
        "node_counts": counted,
        "node_state": chosen,
        "nodes": in_detail[:MOST_ROWS],
        "node_shown": node_shown,
        "nodes_in_all": len(nodes),
        "jobs": jobs,
        "revision": revisions[0] if revisions else None,
        "document": json.dumps(revisions[0].body, indent=2, ensure_ascii=False) if revisions else "",
        "revisions": [(revision, names.get(revision.author, revision.author)) for revision in revisions],
        "file_systems": queries.file_systems(row),
        **_carried(row, revisions[0].body if revisions else {}),
        "files": [] if live.asked(request) else [{"row": one, "name": _("Cohort")} for one in queries.logs(row)],
        "buckets": list(Bucket.objects.filter(cluster=row).order_by("name")),
        **_may(
            request,
            row,
            operation,
            possible.of(row, operation=operation, parts=parts, revision=revisions[0] if revisions else None),
        ),
    }


def _carried(row: Cluster, body: dict[str, Any]) -> dict[str, Any]:
    """What it carries beside its engine, and what it tells of itself."""
    kubernetes = row.orchestrator == "hyperpod-eks"
    charts = InstalledChart.objects.filter(cluster=row).select_related("operation").order_by("-installed_at")
    return {
        "alerts": list(Alert.objects.filter(cluster=row).order_by("-starts_at")[:NEWEST_ALERTS]),
        "watched": body.get("observability", "none") != "none",
        "images": list(ContainerImage.objects.filter(cluster=row, until_revision=None).order_by("name")),
        "charts": list(charts[:NEWEST_ALERTS]) if kubernetes else [],
        "node_setup": body.get("node_setup"),
        "kubernetes": kubernetes,
        "slurm": row.orchestrator in states.TAKES_JOBS,
        "agent": queries.agent(row) if row.reach == Cluster.Reach.AGENT else None,
    }


def _under_way(
    operation: Operation,
    row: Cluster,
    nodes: list[dict[str, Any]],
    names: dict[str, str],
    parts: list[ExternalObject],
) -> showing.UnderWay:
    orders = list(NodeOrder.objects.filter(operation=operation).select_related("node").order_by("node__name"))
    who = names.get(operation.asked_by, operation.asked_by)
    return showing.under_way(operation, row, nodes, orders, who, timezone.now(), parts)


def _chosen_nodes(request: HttpRequest, nodes: list[dict[str, Any]]) -> tuple[str, str, list[dict[str, Any]]]:
    """The state that the grid keeps to, which nodes are told in detail, and those; at first what does not run."""
    one = [node for node in nodes if str(node["id"]) == request.GET.get("node")]
    if one:
        return "", "one", one
    state = request.GET.get("node_state", "")
    if state == "any":
        return "", "all", nodes
    in_state = [node for node in nodes if node["state"] == state]
    if in_state:
        return state, "state", in_state
    return "", "troubled", [node for node in nodes if node["state"] not in ("running", "gone")]


def _may(request: HttpRequest, row: Cluster, held: Operation | None, now: possible.Situation) -> dict[str, Any]:
    """Which buttons exist for this person."""

    def can(deed: possible.Deed) -> bool:
        return operates and possible.refusal(now, deed) is None

    waiting = row.state == "requested" or (held is not None and held.state == "waiting")
    asked_by = held.asked_by if held else row.requested_by
    operates = request.role in roles.OPERATE
    return {
        "may_approve": waiting and request.role in roles.APPROVE and asked_by != request.actor,
        "own_request": waiting and request.role in roles.APPROVE and asked_by == request.actor,
        "may_change": can("change"),
        "may_update_software": can("software") and row.orchestrator != "parallelcluster",
        "may_order": can("order"),
        "may_check": can("launch") and row.orchestrator in PINS,
        "may_retire": can("retire"),
        "may_retry": can("retry") and bool(row.needs_person or row.state in states.BROKEN),
        "may_continue": can("continue"),
        "may_roll_back": can("rollback"),
        "may_give_up": can("give_up"),
        "may_look_again": can("look_again"),
        "ways_out": [
            (reverse(page, args=[request.tenant.slug, row.pk]), words) for page, words in showing.ways_out(now)
        ]
        if operates
        else [],
        "may_stop_fleet": can("stop_fleet") and bool(row.fleet),
        "may_start_fleet": can("start_fleet") and bool(row.fleet),
        "fleet": showing.fleet(row),
        "fleet_texts": (showing.STOP_FLEET, showing.START_FLEET),
        "stop_fleet_form": ReasonForm(initial={"version": row.version}, prefix="stop"),
        "start_fleet_form": ReasonForm(initial={"version": row.version}, prefix="start", optional=True),
        "may_launch": request.role in roles.LAUNCH and possible.refusal(now, "launch") is None,
        "retire_form": ReasonForm(initial={"version": row.version}, prefix="retire"),
        "retry_form": ReasonForm(initial={"version": row.version}, prefix="retry", optional=True),
    }


@allow(roles.APPROVE)
@require_http_methods(["GET", "POST"])
def approve(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Approve what somebody else asked for."""
    row = queries.cluster(pk)
    held = locks.held(row)
    planned = changes.plan_of_what_waits(held, row) if held is not None and held.state == "waiting" else None
    digest = planned.digest if planned else ""
    form = ApprovalForm(posted(request), initial={"version": row.version, "plan": digest})
    words = {
        "title": _("Approve %(name)s?") % {"name": row.name},
        "plan": foresight.told(foresight.kept(planned)) if planned else None,
        "since_asked": bool(planned and held and held.plan_digest != digest),
        "text": _("Cohort then asks for it in account %(account)s, and the participant pays for it.")
        % {"account": row.account.account_id},
        "submit": _("Approve"),
        "done": _("Approved. It is being created."),
    }
    return _decide(request, row, form, words, actions.approve_cluster, person=request.person)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def retire(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish a cluster gone."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, prefix="retire")
    words = {
        "title": _("Retire %(name)s?") % {"name": row.name},
        "plan": foresight.told(foresight.kept(foresight.of_deletion(row))),
        "text": _(
            "Its nodes are deleted in account %(account)s. Its history stays, and so does what lies on its file systems."
        )
        % {"account": row.account.account_id},
        "submit": _("Retire it"),
        "tone": "bad",
        "done": _("It is being deleted."),
    }
    return _decide(request, row, form, words, actions.retire_cluster)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Try again what did not work."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, prefix="retry", optional=True)
    words = {
        "title": _("Try %(name)s again?") % {"name": row.name},
        "text": _("Cohort looks at every part of it and goes on where it stopped. Nothing is created twice."),
        "submit": _("Try again"),
        "done": _("Cohort tries it again."),
    }
    return _decide(request, row, form, words, actions.retry_cluster)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def stop_fleet(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish that no instance of the queues runs."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, prefix="stop")
    words = {
        "title": _("Stop the compute fleet of %(name)s?") % {"name": row.name},
        "text": showing.STOP_FLEET,
        "submit": _("Stop the fleet"),
        "tone": "bad",
        "done": _("The compute fleet is being stopped."),
    }
    return _decide(request, row, form, words, actions.stop_fleet)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def start_fleet(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Wish that the instances of the queues run again."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, prefix="start", optional=True)
    words = {
        "title": _("Start the compute fleet of %(name)s?") % {"name": row.name},
        "text": showing.START_FLEET,
        "submit": _("Start the fleet"),
        "done": _("The compute fleet is being started."),
    }
    return _decide(request, row, form, words, actions.start_fleet)


def _decide(
    request: HttpRequest, row: Cluster, form: Any, words: dict[str, str], action: Any, **values: Any
) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = {name: value for name, value in form.cleaned_data.items() if value is not None}
            _done, refused = attempt(action, cluster=row, by=request.actor, **values, **told)
            if refused is None:
                messages.success(request, words["done"])
                return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]))
            status = refused.status
    context = {"row": row, "form": form, "refused": refused, **words}
    return render(request, "clusters/decide.html", context, status=status)


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def edit_regions(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say in which Regions the data of a participation may lie."""
    return edit_block(request, Participation, RegionsForm, pk)


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def edit_quota(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change what was granted to a participant."""
    return edit_block(request, QuotaGrant, QuotaForm, pk)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def edit_bucket(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say how much of a bucket is used."""
    return edit_block(request, Bucket, BucketForm, pk)
