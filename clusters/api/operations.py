"""What is done to a cluster that is there, in the API: change, software, orders to nodes, giving up; plans and operations."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import actions, checking, foresight, possible, queries, spending, states
from clusters.actions import changes, node_orders, rescues
from clusters.api.plan_shapes import PlanTold
from clusters.budgets import effects
from clusters.models import Cluster, Leftover, NodeOrder, Operation
from clusters.preflight import refused
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, optional_version
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, OneOf, Shown, one


class OperationShown(Shown):
    """Something that was done to a cluster, is being done, or waits for an approval."""

    cluster = serializers.UUIDField(source="cluster_id")
    kind = serializers.ChoiceField(choices=Operation.Kind.choices)
    state = serializers.ChoiceField(choices=list(states.OPERATION))
    revision = serializers.IntegerField(allow_null=True)
    plan_digest = serializers.CharField()
    second_person = serializers.CharField(help_text="Why somebody else had to agree: size, data, budget, or empty.")
    asked_by = serializers.CharField()
    reason = serializers.CharField()
    approved_by = serializers.CharField()
    approved_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    denied_since = serializers.DateTimeField(
        allow_null=True, help_text="The account does not let us go on since then; it goes on by itself when it does."
    )
    usual_minutes = serializers.IntegerField(allow_null=True)
    outcome = serializers.CharField()


class NodeAnswer(serializers.Serializer):
    node = serializers.UUIDField()
    name = serializers.CharField()
    instance_id = serializers.CharField()
    result = serializers.ChoiceField(choices=NodeOrder.Result.choices)
    code = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)


class OperationDetail(OperationShown):
    """With the answer for each node."""

    BESIDE = ("nodes",)

    nodes = NodeAnswer(many=True)


class SpendingLine(serializers.Serializer):
    instance_type = serializers.CharField()
    hours = serializers.CharField()
    price = serializers.CharField(allow_null=True, help_text="For an hour; null: no price.")
    amount = serializers.CharField(allow_null=True)


class SpendingTold(serializers.Serializer):
    """Node-hours of a cluster and what they cost, without storage."""

    currency = serializers.CharField(allow_blank=True)
    total = serializers.CharField()
    node_hours = serializers.CharField()
    unpriced = serializers.ListField(child=serializers.CharField())
    prices_dated = serializers.CharField(allow_null=True)
    prices_expired = serializers.BooleanField()
    prices_fictional = serializers.BooleanField()
    lines = SpendingLine(many=True)


class WayOut(Asked):
    why = serializers.CharField(max_length=300, allow_blank=True, default="")
    version = serializers.IntegerField(required=False, min_value=1, max_value=10**9)


class RollbackAsked(Asked):
    why = serializers.CharField(max_length=300)
    version = serializers.IntegerField(required=False, min_value=1, max_value=10**9)


class SkipAsked(RollbackAsked):
    skip = serializers.ListField(
        child=serializers.CharField(max_length=255),
        max_length=rescues.MOST_SKIPPED,
        default=list,
        help_text="Resources that the rollback stopped at and that it is to leave as they are.",
    )


class DeedTold(serializers.Serializer):
    deed = serializers.ChoiceField(choices=list(possible.DEEDS))
    possible = serializers.BooleanField()
    code = serializers.CharField(help_text="Of the refusal; empty when it is possible.")
    why = serializers.CharField(help_text="Why not, and what to do.")


class DeedsTold(serializers.Serializer):
    """Every deed, by what the engine takes now."""

    deeds = DeedTold(many=True)


class Deed(Asked):
    why = serializers.CharField(max_length=300)
    version = serializers.IntegerField(required=False, min_value=1, max_value=10**9)
    stop_jobs = serializers.BooleanField(default=False, help_text="Jobs that run there may be stopped.")


class ChangeAsked(Deed):
    configuration = serializers.DictField(help_text="The whole configuration as it is to be.")
    plan = serializers.CharField(
        max_length=40, allow_blank=True, default="", help_text="The digest of the plan you saw."
    )
    dry_run = serializers.BooleanField(default=False, help_text="Only say what would happen.")


class SoftwareUpdateAsked(Deed):
    groups = serializers.ListField(child=serializers.CharField(max_length=63), default=list, help_text="Empty: all.")
    plan = serializers.CharField(max_length=40, allow_blank=True, default="")
    dry_run = serializers.BooleanField(default=False)


class NodesAsked(Deed):
    nodes = serializers.ListField(child=serializers.UUIDField(), allow_empty=False, max_length=99)
    order = serializers.ChoiceField(choices=list(node_orders.MOST))


class LeftoverShown(Shown):
    """Something of a deleted cluster that is still in the account."""

    cluster = serializers.UUIDField(source="cluster_id")
    kind = serializers.CharField(help_text="The type of the resource, as CloudFormation calls it.")
    external_id = serializers.CharField()
    name = serializers.CharField()
    why = serializers.ChoiceField(choices=Leftover.Why.choices)
    reason = serializers.CharField()
    size_gib = serializers.IntegerField(allow_null=True)
    monthly = serializers.DecimalField(
        max_digits=12, decimal_places=2, allow_null=True, help_text="What it costs in a month; null: no price."
    )
    found_at = serializers.DateTimeField()


LEFTOVERS = Listing("leftovers", LeftoverShown, newest="found_at")
OPERATIONS = Listing(
    "operations",
    OperationShown,
    {"state": OneOf("state", states.OPERATION), "kind": OneOf("kind", dict(Operation.Kind.choices))},
    newest="created_at",
)


def shown_operation(pk: UUID, status: int = 200) -> Response:
    row = one(Operation.objects.all(), OperationDetail, pk)
    orders = NodeOrder.objects.filter(operation=pk).select_related("node").order_by("node__name")
    row |= {
        "nodes": [
            {
                "node": each.node_id,
                "name": each.node.name,
                "instance_id": each.instance_id,
                "result": each.result,
                "code": each.code,
                "message": each.message,
            }
            for each in orders
        ]
    }
    return Response(OperationDetail(row).data, status=status)


def shown_plan(planned: Any, against: list[str], effect: effects.Effect | None = None) -> Response:
    told = foresight.told(foresight.kept(planned)) | {"budget": effect.told() if effect else None}
    second = planned.second_person(changes.free_of_approval())
    return Response(PlanTold({**told, "second_person": second, "against": against}).data)


@allow(roles.READ)
@OPERATIONS.described
@endpoint("GET")
def operations(request: Request, pk: UUID) -> Response:
    """What was done to a cluster and is being done, newest first."""
    return OPERATIONS.answer(request, Operation.objects.filter(cluster=queries.cluster(pk)))


@allow(roles.READ)
@extend_schema(responses=OperationDetail)
@endpoint("GET")
def operation(request: Request, pk: UUID) -> Response:
    """One operation, with the answer for each node."""
    return shown_operation(pk)


@allow(roles.READ)
@extend_schema(responses=PlanTold)
@endpoint("GET")
def plan(request: Request, pk: UUID) -> Response:
    """The plan of what waits or is under way; of what waits it is made anew, so its digest is the one to approve."""
    row = queries.cluster(pk)
    held = queries.operations(row).filter(plan__has_key="effects").first()
    if held is None:
        return shown_plan(foresight.of_deletion(row), [])
    if held.state == "waiting":
        planned = changes.plan_of_what_waits(held, row)
        if planned is not None:
            return shown_plan(planned, [])
    told = foresight.told(held.plan)
    return Response(PlanTold({**told, "second_person": held.second_person, "against": []}).data)


@allow(roles.READ)
@extend_schema(responses=SpendingTold)
@endpoint("GET")
def cluster_spending(request: Request, pk: UUID) -> Response:
    """Node-hours of a cluster and what they cost by the operator's price file."""
    return Response(SpendingTold(spending.told(spending.spent(queries.cluster(pk)))).data)


@allow(roles.OPERATE)
@extend_schema(request=ChangeAsked, responses={202: OperationDetail, 200: PlanTold})
@endpoint("POST")
@repeatable(required=False)
def change(request: Request, pk: UUID) -> Response:
    """Change what was applied. With `dry_run` the answer is the plan, and nothing is asked for."""
    sent = asked(ChangeAsked, request)
    row = queries.cluster(pk)
    if sent["dry_run"]:
        checked = foresight.check_change(row, sent["configuration"])
        planned = foresight.of_change(row, checked)
        against = [finding.sentence(_) for finding in refused(checked.findings)]
        if planned is None:
            checking.refuse_unless_it_fits(checked)
        wish = checked.configuration
        return shown_plan(planned, against, effects.of_wish(row.participation_id, wish, row) if wish else None)
    made = changes.change_cluster(
        cluster=row,
        body=sent["configuration"],
        by=request.actor,
        reason=sent["why"],
        version=optional_version(request, sent),
        plan=sent["plan"],
        stop_jobs=sent["stop_jobs"],
    )
    return shown_operation(made.pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=SoftwareUpdateAsked, responses={202: OperationDetail, 200: PlanTold})
@endpoint("POST")
@repeatable(required=False)
def software(request: Request, pk: UUID) -> Response:
    """Give nodes the newest machine image."""
    sent = asked(SoftwareUpdateAsked, request)
    row = queries.cluster(pk)
    if sent["dry_run"]:
        return shown_plan(foresight.of_software(row, sent["groups"]), [])
    made = changes.update_software(
        cluster=row,
        groups=sent["groups"],
        by=request.actor,
        reason=sent["why"],
        version=optional_version(request, sent),
        plan=sent["plan"],
        stop_jobs=sent["stop_jobs"],
    )
    return shown_operation(made.pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=NodesAsked, responses={202: OperationDetail})
@endpoint("POST")
@repeatable(required=False)
def nodes(request: Request, pk: UUID) -> Response:
    """Reboot, replace or remove nodes; each has its own answer."""
    sent = asked(NodesAsked, request)
    made = node_orders.order_nodes(
        cluster=queries.cluster(pk),
        nodes=sent["nodes"],
        order=sent["order"],
        by=request.actor,
        reason=sent["why"],
        version=optional_version(request, sent),
        stop_jobs=sent["stop_jobs"],
    )
    return shown_operation(made.pk, status=202)


@allow(roles.READ)
@extend_schema(responses=DeedsTold)
@endpoint("GET")
def deeds(request: Request, pk: UUID) -> Response:
    """What may be done to a cluster now, and of what may not: why, and what to do instead. Roles are not looked at."""
    return Response(_deeds(queries.cluster(pk)))


def _deeds(row: Cluster) -> Any:
    found = possible.deeds(possible.of(row))
    rows = [
        {"deed": deed, "possible": refused is None, "code": refused.code if refused else "",
         "why": refused.sentence if refused else ""}
        for deed, refused in found.items()
    ]  # fmt: skip
    return DeedsTold({"deeds": rows}).data


@allow(roles.READ)
@LEFTOVERS.described
@endpoint("GET")
def leftovers(request: Request, pk: UUID) -> Response:
    """What of a deleted cluster is still in its account."""
    return LEFTOVERS.answer(request, queries.leftovers(queries.cluster(pk)).order_by())


@allow(roles.OPERATE)
@extend_schema(request=WayOut, responses={202: DeedsTold})
@endpoint("POST")
@repeatable(required=False)
def look_again(request: Request, pk: UUID) -> Response:
    """Look in the account again for what is left of a deleted cluster; the list is new within a minute."""
    sent, row = asked(WayOut, request), queries.cluster(pk)
    version = optional_version(request, sent)
    actions.look_for_leftovers(cluster=row, by=request.actor, why=sent["why"], version=version)
    return Response(_deeds(row), status=202)


@allow(roles.OPERATE)
@extend_schema(request=SkipAsked, responses={202: OperationDetail})
@endpoint("POST")
@repeatable(required=False)
def continue_rollback(request: Request, pk: UUID) -> Response:
    """Go on with a rollback that stopped; what is in `skip` counts as put back, and stays as it is."""
    sent = asked(SkipAsked, request)
    made = rescues.continue_rollback(
        cluster=queries.cluster(pk),
        by=request.actor,
        why=sent["why"],
        skip=sent["skip"],
        version=optional_version(request, sent),
    )
    return shown_operation(made.pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=RollbackAsked, responses={202: OperationDetail})
@endpoint("POST")
@repeatable(required=False)
def roll_back(request: Request, pk: UUID) -> Response:
    """Put back a creation or an update that stopped half-way."""
    sent = asked(RollbackAsked, request)
    made = rescues.roll_back(
        cluster=queries.cluster(pk), by=request.actor, why=sent["why"], version=optional_version(request, sent)
    )
    return shown_operation(made.pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=WayOut, responses={202: OperationShown})
@endpoint("POST")
@repeatable(required=False)
def give_up(request: Request, pk: UUID) -> Response:
    """Withdraw what waits, or stop what is under way where the engine can."""
    sent = asked(WayOut, request)
    row = queries.cluster(pk)
    changes.give_up(cluster=row, by=request.actor, why=sent["why"], version=optional_version(request, sent))
    newest = queries.operations(row).values_list("pk", flat=True).first()
    return shown_operation(newest, status=202)
