"""The stop rule on a real scheduler: told before, ended right after a checkpoint, what waits is held, clusters asked smaller."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from clusters import actions
from clusters.budgets import actions as budgets
from clusters.engine import budgets as engine
from clusters.engine import job_watching
from clusters.engine import jobs as job_engine
from clusters.launchers.log_pages import LogPage
from clusters.models import BudgetWatch, Job, Node, NodeInstance, Operation, Revision
from tenants.history.models import Entry
from tenants.models import Delivery, Due
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due
from tests.clusters.engine.test_job_runs import bench, line, slurm  # noqa: F401  the fixtures

pytestmark = pytest.mark.slurm


def look(tenant, place):
    """One step of the budget's work; answers how it stands."""
    with acting_for(tenant, staff=True):
        budgets.wish(place)
    Due.objects.filter(kind=budgets.KIND).update(due_at=timezone.now() - timedelta(seconds=1))
    engine.step(due.claim([budgets.KIND]))
    with acting_for(tenant, staff=True):
        return BudgetWatch.objects.get(participation=place)


def test_jobs_are_ended_at_their_next_checkpoint_and_nothing_is_deleted(world, bench, monkeypatch):  # noqa: F811
    place, tenant = world.participations["hoshi"], world.hoshi
    saves, never, waits = bench.launch("saves"), bench.launch("never"), bench.launch("waits", nodes=3)
    for job in (saves, never):
        bench.until(job, lambda row: row.state == "running")
    bench.until(waits, lambda row: row.state == "queued")
    now = timezone.now()
    bench.change(saves, checkpoint_at=now - timedelta(hours=1), checkpoint_step=100)
    with acting_for(tenant, staff=True):
        for node in Node.objects.all():
            NodeInstance.objects.create(tenant=tenant, node=node, instance_id="i-1", sat_from=now - timedelta(hours=10))
        by = world.person("programme_manager").actor
        budgets.set_to(
            participation=place, amount=Decimal(100), line="compute", why="small", by=by, below_bound=True
        )  # fmt: skip
        budgets.choose_rule(participation=place, rule="stop", why="agreed", by=by)

    assert (look(tenant, place).state, look(tenant, place).state) == ("notice", "notice")
    with acting_for(tenant, staff=True):
        told = Entry.objects.get(kind="budget.jobs_told").facts
        assert (told["names"], told["unsaved"]) == (["never", "saves", "waits"], ["never", "waits"])
        assert {row.person.email for row in Delivery.objects.filter(kind="budget").select_related("person")} == {
            "business_lead.hoshi@example.org", "account_team@example.org"
        }  # fmt: skip
        with pytest.raises(Refused) as refused:
            bench.launch("late")
        assert refused.value.code == "budget_used_up" and "office" in str(refused.value.sentence)
        BudgetWatch.objects.update(since=timezone.now() - timedelta(hours=80))

    # Whose contact is lost is left alone, and a pause stops the rule.
    bench.change(never, unknown_since=timezone.now())
    assert look(tenant, place).state == "stopping"
    assert not bench.now(saves).cancel_wished_at and not bench.now(never).cancel_wished_at
    assert bench.now(waits).wish == "hold"
    bench.until(waits, lambda row: row.held)
    bench.change(never, unknown_since=None)
    with acting_for(tenant, staff=True):
        budgets.pause(participation=place, until=timezone.now() + timedelta(hours=1), why="the gate", by=by)
    look(tenant, place)
    assert not bench.now(never).cancel_wished_at
    with acting_for(tenant, staff=True):
        budgets.pause(participation=place, until=timezone.now(), why="over", by=by)
    look(tenant, place)
    assert bench.now(never).cancel_wished_at and not bench.now(saves).cancel_wished_at

    def saved(*_args):
        page = LogPage(
            ((timezone.now(), "  successfully saved checkpoint from iteration    200 to /fsx/ckpt"),), "p", True
        )
        return {saves.pk: job_watching.understood(page, None, "", timezone.now())}

    with monkeypatch.context() as patch:
        patch.setattr(job_engine, "_tails", saved)
        bench.until(saves, lambda row: row.checkpoint_step == 200)
    look(tenant, place)
    assert bench.now(saves).cancel_wished_at
    for job in (saves, never):
        bench.until(job, lambda row: row.state == "cancelled")
    assert look(tenant, place).state == "stopped"
    with acting_for(tenant, staff=True):
        cluster = type(bench.cluster).objects.get(pk=bench.cluster.pk)
        assert (cluster.state, cluster.wanted) == ("ready", True)
        operation = Operation.objects.get()
        assert (operation.kind, operation.state, operation.second_person) == ("change", "waiting", "budget")
        look(tenant, place)
        budgets.change(participation=place, delta=Decimal(10**8), line="compute", why="more", by=by)
    assert look(tenant, place).state == "within"
    bench.launch("again")
    with acting_for(tenant, staff=True):
        assert Operation.objects.count() == 1  # asked once
        lead = world.person("lead_architect")
        actions.approve_cluster(cluster=cluster, person=lead, by=lead.actor)
        old, new = Revision.objects.filter(cluster=cluster).order_by("number").values_list("body", flat=True)
        assert [group["count"] for group in new["instance_groups"]] == [1, 1]
        assert new["storage"]["lustre"] == old["storage"]["lustre"]
        why = Entry.objects.filter(kind="job.cancel_wished", subject_id=saves.pk).get().facts["why"]
        assert "just saved a checkpoint" in why and Job.objects.get(pk=waits.pk).state == "queued"
