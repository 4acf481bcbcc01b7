"""Clusters in the API: ask, check, approve, retire, retry, and look."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import actions, checking, foresight, queries, states
from clusters.actions import changes
from clusters.api.plan_shapes import PlanTold
from clusters.api.shapes import (
    ApprovalAsked,
    CheckAsked,
    CheckShown,
    ClusterAsked,
    ClusterDetail,
    ClusterShown,
    FleetAsked,
    WhyAsked,
)
from clusters.budgets import effects
from clusters.budgets import queries as budget_queries
from clusters.models import CloudAccount, Revision
from tenants.models import Participation
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Word, one

CLUSTERS = Listing(
    "clusters",
    ClusterShown,
    {
        "state": OneOf("state", states.CLUSTER, "Deleted ones are listed only when asked for."),
        "name": Word("name"),
        "region": Word("region"),
        "instance_type": Word("main_type"),
        "architecture": Word("architecture"),
        "participation": Id("participation_id"),
        "update_available": Word("update_available", "The version that they could be updated to."),
    },
)


def _clusters(request: Request) -> Response:
    return CLUSTERS.answer(request, queries.clusters(with_deleted="deleted" in request.GET.getlist("state")))


@allow(roles.READ)
@CLUSTERS.described
@endpoint("GET")
def clusters(request: Request) -> Response:
    """Clusters, by name."""
    return _clusters(request)


@allow(roles.READ, write=roles.OPERATE)
@CLUSTERS.described
@extend_schema(methods=["POST"], request=ClusterAsked, responses={202: ClusterDetail, 200: CheckShown})
@endpoint("GET", "POST")
@repeatable(required=True)
def tenant_clusters(request: Request) -> Response:
    """Clusters of one tenant; ask for one. The answer comes before anything is asked of a cloud."""
    if request.method != "POST":
        return _clusters(request)
    sent = asked(ClusterAsked, request)
    participation, account = _participation(sent["participation"]), _account(sent["account"])
    if sent["dry_run"]:
        return _checked(account, sent["name"], sent["configuration"])
    checking.refuse_unless_it_fits(
        checking.check_with_engine(account=account, name=sent["name"], body=sent["configuration"])
    )
    made = actions.request_cluster(
        participation=participation,
        account=account,
        name=sent["name"],
        body=sent["configuration"],
        by=request.actor,
        reason=sent["reason"],
    )
    return shown_cluster(made.pk, status=202)


@allow(roles.READ)
@extend_schema(request=CheckAsked, responses=CheckShown)
@endpoint("POST")
def check(request: Request) -> Response:
    """Say what would be found about a configuration, without asking for it."""
    sent = asked(CheckAsked, request)
    return _checked(_account(sent["account"]), sent["name"], sent["configuration"])


def _checked(account: CloudAccount, name: str, body: Any) -> Response:
    found = checking.check_with_engine(account=account, name=name, body=body)
    planned = foresight.for_request(account=account, checked=found)
    plan = None
    if planned is not None:
        second = planned.second_person(changes.free_of_approval())
        effect = effects.of_wish(budget_queries.here(), found.configuration) if found.configuration else None
        told = foresight.told(foresight.kept(planned)) | {"budget": effect.told() if effect else None}
        plan = PlanTold({**told, "second_person": second, "against": []}).data
    findings = [checking.told(finding) for finding in found.findings]
    return Response({"fits": found.fits, "findings": findings, "plan": plan})


def _participation(pk: UUID) -> Participation:
    found = Participation.objects.filter(pk=pk).first()
    if found is None:
        raise refusal("participation", _("There is no such participation here."), str(pk), "does_not_exist")
    return found


def _account(number: str) -> CloudAccount:
    found = CloudAccount.objects.filter(account_id=number).first()
    if found is None:
        known = list(CloudAccount.objects.order_by("account_id").values_list("account_id", flat=True)[:20])
        raise refusal(
            "account", _("There is no such account here; add it first."), number, "does_not_exist", allowed=known
        )
    return found


def shown_cluster(pk: UUID, status: int = 200) -> Response:
    """One cluster whole."""
    row = one(queries.clusters(with_deleted=True), ClusterDetail, pk)
    newest = Revision.objects.filter(cluster=pk).order_by("-number").values("number", "body").first() or {}
    row |= {"revision": newest.get("number", 0), "configuration": newest.get("body", {})}
    return versioned(ClusterDetail(row).data, row["version"], status=status)


@allow(roles.READ)
@extend_schema(responses=ClusterDetail)
@endpoint("GET")
def cluster(request: Request, pk: UUID) -> Response:
    """One cluster with its conditions and its newest configuration."""
    return shown_cluster(pk)


@allow(roles.APPROVE)
@extend_schema(request=ApprovalAsked, responses={202: ClusterDetail})
@endpoint("POST")
@repeatable(required=False)
def approve(request: Request, pk: UUID) -> Response:
    """Agree to the plan of what somebody else asked for: a new cluster, or a change of one."""
    sent = asked(ApprovalAsked, request)
    version = optional_version(request, sent)
    actions.approve_cluster(
        cluster=queries.cluster(pk), person=request.person, by=request.actor, version=version, plan=sent["plan"]
    )
    return shown_cluster(pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=WhyAsked, responses={202: ClusterDetail})
@endpoint("POST")
@repeatable(required=False)
def retire(request: Request, pk: UUID) -> Response:
    """Ask that it be deleted. It stays listed until everything of it is seen gone."""
    sent = asked(WhyAsked, request)
    version = optional_version(request, sent)
    actions.retire_cluster(cluster=queries.cluster(pk), by=request.actor, why=sent["why"], version=version)
    return shown_cluster(pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=FleetAsked, responses={202: ClusterDetail})
@endpoint("POST")
@repeatable(required=False)
def fleet(request: Request, pk: UUID) -> Response:
    """Ask that the compute fleet of a ParallelCluster be stopped or started. Refused while jobs have not ended."""
    sent = asked(FleetAsked, request)
    version = optional_version(request, sent)
    act = actions.stop_fleet if sent["status"] == "stopped" else actions.start_fleet
    act(cluster=queries.cluster(pk), by=request.actor, why=sent["why"], version=version)
    return shown_cluster(pk, status=202)


@allow(roles.OPERATE)
@extend_schema(request=WhyAsked, responses={202: ClusterDetail})
@endpoint("POST")
@repeatable(required=False)
def retry(request: Request, pk: UUID) -> Response:
    """Try again what failed or needs a person."""
    sent = asked(WhyAsked, request)
    version = optional_version(request, sent)
    actions.retry_cluster(cluster=queries.cluster(pk), by=request.actor, why=sent["why"], version=version)
    return shown_cluster(pk, status=202)
