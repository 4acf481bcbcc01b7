"""Everybody at a glance: who comes first, why, and at what cost."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clusters.actions import capacity
from clusters.models import Cluster
from program import deciding, life
from program.models import Report
from program.queries import portfolio
from support import actions
from tenants.actions import assign, note_interaction
from tenants.history import timeline
from tenants.models import Milestone, Participation, Tenant
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for, reading_everyone
from tests import examples
from tests.clusters.test_pages import signed_in
from tests.support.conftest import cluster_of

NOW = datetime.now(UTC)


def rows():
    with reading_everyone():
        return {row.tenant: row for row in portfolio(NOW)}


def order():
    with reading_everyone():
        return [row.tenant for row in portfolio(NOW)]


def codes(row):
    return [reason.code for reason in row.reasons]


@pytest.fixture
def cared_for(world):
    """Both participants have a lead and a fresh record: nothing needs attention."""
    for tenant in (world.hoshi, world.umi):
        with acting_for(tenant, staff=True):
            assign(
                person=world.person("lead_architect"),
                tenant=tenant,
                duty="lead",
                by="engine",
                starts_on=date(2025, 1, 1),
            )
            about = world.participations[tenant.slug]
            timeline.record("record.changed", about=about, by="engine", at=NOW - timedelta(days=1), what="x", fields=[])


def test_a_quiet_participant_has_no_reasons(world, cared_for):
    assert {tenant: codes(row) for tenant, row in rows().items()} == {"hoshi": [], "umi": []}
    assert rows()["hoshi"].lead == "Lead Architect"


def test_without_lead_and_record_it_says_so(world):
    assert codes(rows()["umi"]) == ["no_lead", "stale"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"state": "failed"}, "failed_cluster"),
        ({"state": "degraded"}, "degraded_cluster"),
        ({"unknown_since": NOW}, "unknown_cluster"),
        ({"needs_person": "The role was taken away."}, "needs_person"),
        ({"state": "requested"}, "approval"),
    ],
)
def test_a_cluster_in_trouble_puts_its_participant_first(world, cared_for, change, code):
    cluster = cluster_of(world, world.umi)
    with acting_for(world.umi):
        Cluster.objects.filter(pk=cluster.pk).update(**change)
    assert codes(rows()["umi"]) == [code]
    assert order() == ["umi", "hoshi"]


def test_a_critical_case_comes_before_a_failed_cluster(world, cared_for):
    cluster = cluster_of(world, world.hoshi)
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=cluster.pk).update(state="failed")
    assert order() == ["hoshi", "umi"]
    with acting_for(world.umi, staff=True):
        actions.open_case(
            tenant=world.umi, title="All stopped", severity="critical", by="engine", at=NOW - timedelta(minutes=16)
        )
    assert order() == ["umi", "hoshi"]
    row = rows()["umi"]
    assert codes(row) == ["critical_case", "response_overdue"]
    assert (row.open_cases, row.cases_total) == ({"critical": 1}, 1)


def test_a_resolved_case_is_not_counted(world, cared_for):
    with acting_for(world.umi, staff=True):
        case = actions.open_case(tenant=world.umi, title="All stopped", severity="critical", by="engine")
        actions.resolve_case(case=case, cause="software", by="engine")
    assert codes(rows()["umi"]) == []


def test_clusters_and_nodes_are_summed_and_deleted_ones_are_not(world, cared_for):
    numbers = {"nodes_wanted": 17, "nodes_running": 16, "accelerated_wanted": 16, "accelerators_wanted": 128}
    for name in ("a", "b", "gone"):
        cluster = cluster_of(world, world.hoshi, name)
        with acting_for(world.hoshi):
            Cluster.objects.filter(pk=cluster.pk).update(**numbers)
            if name == "gone":
                Cluster.objects.filter(pk=cluster.pk).update(state="deleted")
    row = rows()["hoshi"]
    assert row.clusters == {"ready": 2}
    assert (row.nodes_wanted, row.nodes_running, row.accelerated, row.accelerators) == (34, 32, 32, 256)


def test_last_contact_is_the_newest_interaction_or_shared_note(world, cared_for):
    noted, written = NOW - timedelta(days=5), NOW - timedelta(days=2)
    by = world.person("lead_architect").actor
    with acting_for(world.hoshi, staff=True):
        note_interaction(
            participation=world.participations["hoshi"], medium="call", text="Hello", audience="shared", by=by, at=noted
        )
        assert rows()["hoshi"].last_contact == noted
        case = actions.open_case(tenant=world.hoshi, title="Slow", severity="low", by="engine", at=noted)
        actions.note_case(case=case, text="x", audience="internal", by=by)
        assert rows()["hoshi"].last_contact == noted
        actions.note_case(case=case, text="x", audience="shared", by=by, at=written)
    assert rows()["hoshi"].last_contact == written
    assert rows()["umi"].last_contact is None


def test_who_left_is_not_listed(world):
    with acting_for(world.umi):
        Participation.objects.update(state="withdrawn")
    assert list(rows()) == ["hoshi"]


def test_it_costs_the_same_for_five_and_for_fifty_participants(world):
    def add(upto):
        for n in range(Tenant.objects.count(), upto):
            tenant = Tenant.objects.create(slug=f"t{n}", name=f"T {n}")
            with acting_for(tenant, staff=True):
                world.participations[tenant.slug] = Participation.objects.create(
                    tenant=tenant, cycle=world.cycle, code=f"T{n}", project="x", state="active"
                )
                actions.open_case(tenant=tenant, title="Slow", severity="high", by="engine")
            cluster_of(world, tenant)

    def cost():
        with reading_everyone(), CaptureQueriesContext(connection) as queries:
            portfolio(NOW)
        return len(queries)

    add(5)
    few = cost()
    add(50)
    assert cost() == few <= 6


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ({}, "score"),
        ({"takes": True}, ""),  # it may change yet, and cannot be decided
        ({"takes": True, "small": True}, "decide"),
        ({"scores": 2}, "decide"),
        ({"mine": True, "scores": 1}, "decide"),
        ({"mine": True, "scores": 1, "may_decide": False}, ""),
        ({"scores": 1, "may_decide": False}, "score"),
        ({"may_score": False, "may_decide": False, "scores": 1}, ""),
    ],
)
def test_what_an_application_asks_of_staff(told, what):
    usual = {"takes": False, "small": False, "mine": False, "scores": 0, "may_score": True, "may_decide": True}
    assert deciding.asks_for(**(usual | told)) == what


def test_what_the_reader_may_decide_is_in_the_portfolio(world):
    made, manager = examples.make(world, world.hoshi, 1), world.person("programme_manager")
    with acting_for(world.hoshi):
        told = {"kind": "more", "instance_type": "p5.48xlarge", "region": "us-east-1", "reason": "why"}
        day = programme_today()
        wishes = [
            capacity.ask(participation=made["participations"], instances=n, starts_on=day, by=by, **told)
            for n, by in ((7, world.person("platform_engineer").actor), (9, manager.actor))
        ]
    page = signed_in(manager).get("/")
    found = {one.address for one in page.context["to_decide"]}
    at = [f"/t/hoshi/capacity-requests/{one.pk}/" for one in wishes]
    assert at[0] in found and at[1] not in found and at[0] in page.content.decode()
    assert signed_in(world.person("auditor")).get("/").context["to_decide"] == []
    place = made["participations"]
    with acting_for(world.hoshi):
        told = {"tenant": world.hoshi, "participation": place, "due_on": day}
        Milestone.objects.create(title="Gate", kind="gate", **told)
        gate = Report.objects.create(
            kind="stage_gate_report", period="C2", state="submitted", handed_in_at=timezone.now(), **told
        )
    found = [one.address for one in signed_in(manager).get("/").context["to_decide"]]
    assert f"/t/hoshi/reports/{gate.pk}/" in found
    decided_at = f"/t/hoshi/participations/{place.pk}/gate/"
    assert decided_at in signed_in(manager).get(f"/t/hoshi/reports/{gate.pk}/").content.decode()
    assert decided_at in signed_in(manager).get("/t/hoshi/").content.decode()
    with acting_for(world.hoshi, staff=True):
        life.decide_gate(participation=place, outcome="conditions", why="x", by=manager.actor)
    page = signed_in(manager).get("/t/hoshi/").content.decode()
    assert decided_at not in page and "passed on conditions" in page
    assert decided_at not in signed_in(world.person("auditor")).get(f"/t/hoshi/reports/{gate.pk}/").content.decode()
    assert "to_decide" not in signed_in(world.person("business_lead")).get("/").context
