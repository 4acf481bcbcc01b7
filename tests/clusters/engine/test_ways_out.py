"""Ways out of where a change stopped: a rollback that stops is gone on with, a closed door is waited at, a lost
configuration does not keep a cluster alive."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters import actions, possible
from clusters.actions import changes, rescues
from clusters.engine import closing
from clusters.models import ExternalObject, Leftover, Operation, Revision
from clusters.providers import aws
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.engine.test_changes import change, changed, operations, ready
from tests.clusters.engine.test_deletion import inventory, retire

__all__ = ["ready"]


@pytest.fixture
def stopped(bench, ready):
    """A file system grew, somebody changed their mind, and no file system of FSx shrinks again."""
    change(bench, ready, changed(bench, 3, lustre=4800))
    while not bench.creates("UpdateStack"):
        bench.look(ready)
    bench.look(ready)
    with acting_for(bench.tenant):
        changes.give_up(cluster=ready, by="engine", why="no")
    bench.look(ready)
    bench.look(ready, steps=3, minutes=2)
    return bench.now(ready)


def possible_deeds(bench, cluster):
    with acting_for(bench.tenant):
        return {deed for deed, refused in possible.deeds(possible.of(bench.now(cluster))).items() if refused is None}


def test_a_rollback_that_stopped_is_told_and_nothing_else_is_asked_for(bench, stopped):
    assert (stopped.state, bench.part("base").status) == ("degraded", "UPDATE_ROLLBACK_FAILED")
    failed = max(bench.rows(Operation), key=lambda row: row.created_at)
    assert failed.state == "failed" and failed.evidence[0]["stuck"][0]["type"] == "AWS::FSx::FileSystem"
    assert possible_deeds(bench, stopped) == {"retire", "continue", "order", "launch", "software"}
    before = bench.creates("UpdateStack")
    with acting_for(bench.tenant):
        for refused_deed in (
            lambda: changes.change_cluster(cluster=stopped, body=changed(bench, 2), by="engine", reason="x"),
            lambda: actions.retry_cluster(cluster=stopped, by="engine"),
        ):
            with pytest.raises(Refused) as refused:
                refused_deed()
            assert refused.value.code == "part_stopped" and "Go on with the rollback first" in refused.value.sentence
    bench.look(stopped, steps=2, minutes=5)
    assert bench.creates("UpdateStack") == before


def test_going_on_without_skipping_fails_again_and_with_skipping_it_is_ready(bench, stopped):
    by = bench.world.person("platform_engineer").actor
    with acting_for(bench.tenant):
        with pytest.raises(Refused) as strange:
            rescues.continue_rollback(cluster=stopped, by=by, why="mended", skip=["Vpc"])
        assert strange.value.code == "not_stuck" and "'Vpc' is none" in strange.value.sentence
        rescues.continue_rollback(cluster=stopped, by=by, why="once more")
    bench.look(stopped, steps=4, minutes=2)
    assert operations(bench)[-1] == ("continue", "failed")
    [stuck] = bench.part("base").stuck
    with acting_for(bench.tenant):
        rescues.continue_rollback(cluster=bench.now(stopped), by=by, why="it stays large", skip=[stuck["resource"]])
        with pytest.raises(Refused) as busy:
            rescues.continue_rollback(cluster=bench.now(stopped), by=by, why="me too")
        assert busy.value.code == "busy"
    bench.until(stopped, "ready")
    assert operations(bench)[-1] == ("continue", "done")
    assert bench.creates("ContinueUpdateRollback") == 2
    assert bench.part("base").stuck == [] and "change" in possible_deeds(bench, stopped)


def test_an_update_that_stopped_half_way_is_rolled_back(bench, ready):
    """As a person leaves a stack who forbade its rollback; the product never asks for that itself."""
    with acting_for(bench.tenant):
        ExternalObject.objects.filter(role="base").update(status="UPDATE_FAILED")
        assert "rollback" in possible_deeds(bench, ready)
        made = rescues.roll_back(cluster=ready, by="engine", why="half-way")
    assert (made.kind, made.state, made.body["part"]) == ("rollback", "running", "base")
    bench.look(ready)  # meanwhile somebody did it by hand: nothing is asked for, and it is done
    assert operations(bench)[-1] == ("rollback", "done") and bench.creates("RollbackStack") == 0
    assert "rollback" not in possible_deeds(bench, ready)


def test_a_stack_in_the_middle_of_an_update_is_deleted_when_that_is_over(bench, ready, settings):
    settings.CONSISTENCY_SECONDS = 0
    change(bench, ready, changed(bench, 3, mbs=500))
    while not bench.creates("UpdateStack"):
        bench.look(ready)
    bench.look(ready)
    retire(bench, ready)
    bench.until(ready, "deleted")
    calls = bench.cloud.calls(operation="DeleteStack", account=bench.cloud_account.id, limit=100)
    assert all(call["effective"] for call in calls), "nothing was asked that the provider refuses"


def test_a_closed_door_is_waited_at_and_the_change_goes_on_when_it_opens(bench, ready):
    change(bench, ready, changed(bench, 1))
    bench.cloud_account.close()
    aws._start_again()  # what we hold already would open it for an hour
    bench.look(ready, steps=2)
    [held] = [row for row in bench.rows(Operation) if row.state == "running"]
    assert held.denied_since
    assert [entry.kind for entry in bench.rows(Entry, kind="operation.waits")] == ["operation.waits"]
    bench.cloud_account.open_again()
    bench.until(ready, "ready")
    [done] = [row for row in bench.rows(Operation) if row.pk == held.pk]
    assert (done.state, done.denied_since) == ("done", None)
    assert len(bench.rows(Entry, kind="operation.goes_on")) == 1


def far_behind(bench):
    """As if it had begun ten hours ago."""
    with acting_for(bench.tenant, staff=True):
        Operation.objects.filter(state="running").update(started_at=timezone.now() - timedelta(hours=10))


@pytest.mark.parametrize(
    ("minutes", "usual", "more", "late"),
    [
        (100, 25, {}, False),
        (101, 25, {}, True),
        (59, 5, {}, False),  # an hour at least
        (61, 5, {}, True),
        (600, 25, {"denied_since": True}, False),
        (600, 25, {"cancel_wished_at": True}, False),
        (600, 0, {}, False),
    ],
)
def test_row_45_a_budget_is_several_times_what_is_usual(minutes, usual, more, late):
    now = timezone.now()
    columns = dict.fromkeys(more, now)
    operation = Operation(started_at=now - timedelta(minutes=minutes), usual_minutes=usual, **columns)
    assert closing.too_long(operation, now) == late


def test_row_45_an_update_of_a_stack_that_takes_far_too_long_is_told_to_stop(bench, ready):
    change(bench, ready, changed(bench, 3, mbs=500))
    while not bench.creates("UpdateStack"):
        bench.look(ready)
    bench.look(ready)
    far_behind(bench)
    bench.look(ready)
    [told] = bench.rows(Entry, kind="operation.cancel_wished")
    bench.look(ready)
    assert "It has taken 600 minutes" in told.facts["why"] and "Cohort stops it" in told.facts["why"]
    bench.until(ready, "ready")
    assert operations(bench)[-1] == ("change", "cancelled") and bench.now(ready).nodes_wanted == 4


def test_row_45_what_no_engine_stops_is_let_go_and_still_looked_at(bench, ready):
    change(bench, ready, changed(bench, 1))
    while not bench.creates("UpdateCluster"):
        bench.look(ready)
    far_behind(bench)
    bench.look(ready)
    newest = max(bench.rows(Operation), key=lambda row: row.created_at)
    assert newest.state == "failed" and "Cohort counts it as failed" in newest.outcome
    assert bench.until(ready, "ready").nodes_running == 2


def test_who_does_not_want_to_wait_for_the_owner_lets_the_change_go(bench, ready):
    change(bench, ready, changed(bench, 1))
    while not bench.creates("UpdateCluster"):
        bench.look(ready)
    assert "give_up" not in possible_deeds(bench, ready)  # HyperPod does not stop in the middle
    bench.cloud_account.close()
    aws._start_again()  # what we hold already would open it for an hour
    bench.look(ready)
    assert "give_up" in possible_deeds(bench, ready)
    with acting_for(bench.tenant):
        changes.give_up(cluster=ready, by="engine", why="the owner is away")
    assert operations(bench)[-1] == ("change", "cancelled")
    assert bench.now(ready).nodes_wanted == 4  # what is wished again is what it was
    bench.cloud_account.open_again()
    assert bench.until(ready, "ready").nodes_running == 4


def test_a_cluster_whose_configuration_cannot_be_read_is_retired_by_the_ledger(bench, ready, settings):
    settings.CONSISTENCY_SECONDS = 0
    with acting_for(bench.tenant):
        body = {**Revision.objects.get(cluster=ready).body, "architecture": "gone"}
        Revision.objects.create(tenant_id=ready.tenant_id, cluster=ready, number=2, body=body, author="engine")
    bench.look(ready)
    lost = bench.now(ready)
    assert lost.state == "ready" and "cannot be read any more" in lost.needs_person
    assert possible_deeds(bench, ready) == {"launch", "retire"}
    retire(bench, ready)
    plan = bench.rows(Operation, kind="delete")[0].plan
    codes = {effect["code"] for effect in plan["effects"]}
    assert codes == {"configuration_lost", "part_removed", "group_removed", "data_stays"}
    assert plan["after"]["per_month"] != "0"
    bench.until(ready, "deleted")
    assert inventory(bench.cloud_account) <= {one.external_id for one in bench.rows(Leftover)}


def test_what_the_set_up_of_the_nodes_says_is_read_while_they_come_and_each_line_once(bench):
    cluster = bench.approved()
    seen = []
    for _ in range(30):
        with acting_for(bench.tenant):  # our clock stands still, so what was done is moved into the past
            ExternalObject.objects.filter(role="cluster").update(
                last_call_at="2026-01-01T00:00:00Z", lines_read_at="2026-01-01T00:00:00Z"
            )
        if bench.look(cluster, minutes=1).state == "ready":
            break
        bench.step("jobs")
        lines = bench.part("cluster").lines
        seen.append(len(lines))
        assert len({(line["at"], line["node"], line["text"]) for line in lines}) == len(lines)
    assert max(seen) >= 3, "a line of each node at least"
    assert {line["node"].split("/")[0] for line in bench.part("cluster").lines} == {"head", "workers"}
