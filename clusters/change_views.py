"""Pages on which a cluster that is there is changed: first what will happen, then the deed."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from clusters import actions, architectures, checking, foresight, possible, queries
from clusters.actions import changes, node_orders, rescues
from clusters.actions.searches import PINS
from clusters.architectures.configuration import Configuration
from clusters.budgets import effects
from clusters.change_forms import ChangeForm, NodesForm, SkipForm, SoftwareForm
from clusters.forms import ReasonForm
from clusters.models import Cluster, Operation
from clusters.preflight import refused as refusals
from clusters.request_forms import GroupForm, GroupSet, kept
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused


def _page_of(request: HttpRequest, row: Cluster) -> HttpResponse:
    return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]))


def _closed(row: Cluster, deed: possible.Deed) -> Refused | None:
    """Why it cannot be done to it now."""
    _done, refused = attempt(changes.refuse_unless_possible, cluster=row, deed=deed)
    return refused


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Scale groups, add or leave out some, change storage. `do` says which button: add, plan or apply."""
    row = queries.cluster(pk)
    closed = _closed(row, "change")
    if closed is not None:
        return render(
            request,
            "clusters/change.html",
            {"row": row, "closed": closed.sentence},
            status=200 if request.method == "GET" else closed.status,
        )
    now = foresight.current(row)
    form, groups = _forms(request, now)
    context: dict[str, Any] = {"row": row, "form": form, "groups": groups}
    if request.method == "GET" or request.POST.get("do") == "add":
        return render(request, "clusters/change.html", context)
    if not (form.is_valid() and groups.is_valid()):
        return render(request, "clusters/change.html", context, status=422)
    body = form.changed(now, groups.told())
    status, seen = 200, request.POST.get("plan", "")
    if request.POST.get("do") == "apply" and seen:
        stop = request.POST.get("stop_jobs") == "on"
        told = {"reason": form.cleaned_data["reason"], "version": form.version(request.POST), "plan": seen}
        made, refused = attempt(
            changes.change_cluster, cluster=row, body=body, by=request.actor, stop_jobs=stop, **told
        )
        if refused is None:
            _say(request, made)
            return _page_of(request, row)
        context |= {"refused": refused, "stop_jobs": stop}
        status = refused.status
    return render(request, "clusters/change.html", context | _planned(row, body), status=status)


def _say(request: HttpRequest, operation: Operation) -> None:
    waits = operation.state == "waiting"
    messages.success(
        request,
        _("Asked for. It begins when somebody else has agreed.")
        if waits
        else _("It begins. You see here how it goes on."),
    )


def _planned(row: Cluster, body: Any) -> dict[str, Any]:
    checked = foresight.check_change(row, body)
    planned = foresight.of_change(row, checked)
    return {
        "plan": foresight.told(foresight.kept(planned)) if planned else None,
        "against": [checking.told(finding) for finding in refusals(checked.findings)],
        "second_person": planned.second_person(changes.free_of_approval()) if planned else "",
        "budget": effects.of_wish(row.participation_id, checked.configuration, row) if checked.configuration else None,
    }


def _forms(request: HttpRequest, now: Configuration) -> tuple[Any, Any]:
    made_of = architectures.architecture(now.architecture, now.version)
    rows = {"prefix": "groups", "form_kwargs": {"architecture": made_of}}
    if request.method == "GET":
        groups = GroupSet(initial=[dict(group) for group in now.document()["instance_groups"]], **rows)
        return ChangeForm(initial=ChangeForm.first(now), architecture=made_of), groups
    if request.POST.get("do") == "add":
        told = GroupSet(request.POST, **rows)
        total = told.total_form_count() if told.management_form.is_valid() else 0
        typed = [
            {name: request.POST.get(f"groups-{index}-{name}", "") for name in GroupForm.base_fields}
            for index in range(min(total, 99))
            if not request.POST.get(f"groups-{index}-DELETE")
        ]
        initial = kept(request.POST, ChangeForm(architecture=made_of))
        return ChangeForm(initial=initial, architecture=made_of), GroupSet(
            initial=[*typed, {"role": "compute"}], **rows
        )
    return ChangeForm(request.POST, architecture=made_of), GroupSet(request.POST, **rows)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def software(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give the nodes the newest machine image."""
    row = queries.cluster(pk)
    closed = _closed(row, "software")
    if closed is not None:
        told = {"title": _("Update the software of %(name)s?") % {"name": row.name}, "crumb": _("Software update")}
        return _shut(request, row, closed, told)
    groups = [group.name for group in foresight.current(row).instance_groups]
    form = SoftwareForm(posted(request), groups=groups, initial={"version": row.version, "chosen": groups})
    planned = foresight.of_software(row, list(request.POST.getlist("chosen")) if request.method == "POST" else [])
    context = {
        "title": _("Update the software of %(name)s?") % {"name": row.name},
        "crumb": _("Software update"),
        "text": _("HyperPod gives each node a new machine image, some at a time, and Cohort proves the cluster anew."),
        "submit": _("Update it"),
        "tone": "bad" if planned.stopped else "",
    }
    context["plan"] = foresight.told(foresight.kept(planned))
    return _order(
        request, row, form, context, changes.update_software, fields={"groups": "chosen", "stop_jobs": "stop_jobs"}
    )


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def nodes(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Reboot, replace or remove nodes."""
    row = queries.cluster(pk)
    closed = _closed(row, "order")
    if closed is not None:
        told = {"title": _("Nodes of %(name)s") % {"name": row.name}, "crumb": _("Reboot or replace nodes")}
        return _shut(request, row, closed, told)
    there = list(queries.nodes(row).exclude(state="gone").exclude(instance_id=""))
    chosen = request.GET.getlist("node")
    form = NodesForm(
        posted(request),
        nodes=there,
        orchestrator=row.orchestrator,
        initial={"version": row.version, "nodes": chosen, "order": request.GET.get("order", "replace")},
    )
    context = {
        "title": _("Nodes of %(name)s") % {"name": row.name},
        "crumb": _("Reboot or replace nodes"),
        "text": _(
            "The provider answers for each node by itself, and the answers are kept. A replaced node keeps its seat and its name, and loses what is on its disks."
        ),
        "submit": _("Send the order"),
        "tone": "bad",
    }
    if len(chosen) == 1 and row.orchestrator in PINS and any(str(node.pk) == chosen[0] for node in there):
        context["check"] = f"{reverse('searches', args=[request.tenant.slug, row.pk])}?node={chosen[0]}"
    return _order(
        request,
        row,
        form,
        context,
        node_orders.order_nodes,
        fields={"nodes": "nodes", "order": "order", "stop_jobs": "stop_jobs"},
    )


def _back(row: Cluster) -> dict[str, Any] | None:
    """The plan that leads back to what the cluster had before."""
    planned = foresight.of_rollback(row)
    return foresight.told(foresight.kept(planned)) if planned else None


def _shut(request: HttpRequest, row: Cluster, closed: Refused, told: dict[str, str]) -> HttpResponse:
    status = 200 if request.method == "GET" else closed.status
    return render(request, "clusters/operate.html", {"row": row, "closed": closed.sentence, **told}, status=status)


def _order(
    request: HttpRequest,
    row: Cluster,
    form: Any,
    context: dict[str, Any],
    action: Any,
    fields: dict[str, str],
    why: str = "reason",
) -> HttpResponse:
    """`fields`: argument of the action -> field of the form; `why`: what the action calls the reason."""
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = {name: form.cleaned_data[field] for name, field in fields.items()}
            made, refused = attempt(
                action,
                cluster=row,
                by=request.actor,
                version=form.cleaned_data["version"],
                **{why: form.cleaned_data["why"]},
                **told,
            )
            if refused is None:
                _say(request, made)
                return _page_of(request, row)
            status = refused.status
    shown = {"row": row, "form": form, "refused": refused, **context}
    return render(request, "clusters/operate.html", shown, status=status)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def give_up(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Withdraw what waits, or stop what is under way."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, optional=True)
    status, refused = 200, None
    if request.method == "POST" and form.is_valid():
        told = {name: value for name, value in form.cleaned_data.items() if value is not None}
        _done, refused = attempt(changes.give_up, cluster=row, by=request.actor, **told)
        if refused is None:
            messages.success(request, _("It is given up."))
            return _page_of(request, row)
        status = refused.status
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "title": _("Give it up?"),
        "text": _(
            "What waits is withdrawn. A change of which nothing was asked yet goes back at once; a stack that is being updated puts everything back."
        ),
        "submit": _("Give it up"),
    }
    return render(request, "clusters/decide.html", context, status=status)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def continue_rollback(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Go on with a rollback that stopped, leaving out what cannot be mended."""
    row = queries.cluster(pk)
    told = {
        "title": _("Go on with the rollback of %(name)s?") % {"name": row.name},
        "crumb": _("Go on with the rollback"),
    }
    closed = _closed(row, "continue")
    if closed is not None:
        return _shut(request, row, closed, told)
    stuck = queries.stuck(row)
    form = SkipForm(posted(request), stuck=stuck, initial={"version": row.version})
    told |= {
        "text": _(
            "CloudFormation tries once more to put back what it could not. Mend the cause first where you can: what is "
            "listed here says what stood in the way."
        ),
        "submit": _("Go on with it"),
    }
    context = {**told, "stuck": stuck, "plan": _back(row)}
    return _order(request, row, form, context, rescues.continue_rollback, fields={"skip": "skip"}, why="why")


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def roll_back(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Put back a creation or an update that stopped half-way."""
    row = queries.cluster(pk)
    told = {"title": _("Roll %(name)s back?") % {"name": row.name}, "crumb": _("Roll it back")}
    closed = _closed(row, "rollback")
    if closed is not None:
        return _shut(request, row, closed, told)
    told |= {
        "text": _(
            "CloudFormation undoes what the stopped creation or update has done. A stack that was complete before is as "
            "it was; one that never was is empty, and can be tried again."
        ),
        "submit": _("Roll it back"),
        "tone": "bad",
    }
    form = ReasonForm(posted(request), initial={"version": row.version})
    return _order(request, row, form, {**told, "plan": _back(row)}, rescues.roll_back, fields={}, why="why")


@allow(roles.OPERATE)
@require_POST
def look_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Look in the account again for what is left of a deleted cluster."""
    row = queries.cluster(pk)
    actions.look_for_leftovers(cluster=row, by=request.actor)
    messages.success(request, _("Cohort looks in the account again. Look here in a minute."))
    return _page_of(request, row)


@allow(roles.READ)
@require_safe
def plan(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The plan of what is under way, or was last."""
    row = queries.cluster(pk)
    operation = queries.operations(row).filter(plan__has_key="effects").first()
    shown = foresight.told(operation.plan) if operation else None
    return render(request, "clusters/plan.html", {"row": row, "operation": operation, "plan": shown})
