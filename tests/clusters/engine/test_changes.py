"""Changes of what was applied, stepped by hand against the sandbox: groups, storage, software, nodes, and giving up."""

from typing import Any

import pytest

from clusters import actions, foresight
from clusters.actions import changes
from clusters.models import Cluster, FileSystem, NodeInstance, Operation, Revision, ServiceQuota
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.engine.conftest import Bench


@pytest.fixture
def ready(bench: Bench) -> Cluster:
    cluster = bench.approved(count=3)
    bench.until(cluster, "ready")
    return bench.now(cluster)


def changed(
    bench: Bench, count: int = 3, *, lustre: int = 1200, mbs: int = 250, extra: list[Any] = (), without: str = ""
) -> dict[str, Any]:
    body = bench.body(count)
    groups = [*body["instance_groups"], *extra]
    storage = {"lustre": {"capacity_gib": lustre, "mbs_per_tib": mbs}}
    return {**body, "instance_groups": [group for group in groups if group["name"] != without], "storage": storage}


def change(bench: Bench, cluster: Cluster, body: Any, **more: Any) -> Operation:
    by = bench.world.person("platform_engineer")
    with acting_for(bench.tenant):
        return changes.change_cluster(cluster=cluster, body=body, by=by.actor, reason="more room", **more)


def agree(bench: Bench, cluster: Cluster, **more: Any) -> None:
    lead = bench.world.person("lead_architect")
    with acting_for(bench.tenant, staff=True):
        actions.approve_cluster(cluster=cluster, person=lead, by=lead.actor, **more)


def operations(bench: Bench) -> list[tuple[str, str]]:
    return [(row.kind, row.state) for row in sorted(bench.rows(Operation), key=lambda row: row.created_at)]


def test_a_cluster_is_held_by_its_creation_until_it_is_ready(bench, ready):
    assert operations(bench) == [("create", "done")]
    [row] = bench.rows(Operation)
    assert row.started_at and row.ended_at and row.plan["effects"] and row.usual_minutes == 25


def test_a_group_grows_by_a_plan_that_somebody_else_agreed_to(bench, ready):
    operation = change(bench, ready, changed(bench, 5))
    assert (operation.state, operation.second_person) == ("waiting", "size")
    assert bench.now(ready).nodes_wanted == 4  # nothing is wished before somebody agreed
    with pytest.raises(Refused) as refused:
        change(bench, ready, changed(bench, 6))
    assert refused.value.code == "busy" and "waits for an approval" in str(refused.value.sentence)
    agree(bench, ready)
    bench.look(ready)
    assert bench.now(ready).state == "updating"
    seats = [node.state for node in bench.nodes() if node.group == "workers"]
    assert seats.count("pending") == 2  # the new seats are there before anybody sits in them
    grown = bench.until(ready, "ready")
    assert (grown.nodes_running, grown.nodes_wanted, grown.accelerated_wanted, grown.applied) == (6, 6, 5, 2)
    assert operations(bench) == [("create", "done"), ("change", "done")]
    assert [revision.number for revision in bench.rows(Revision)] == [1, 2]
    assert bench.creates("UpdateCluster") == 1


def test_who_asked_for_a_change_does_not_agree_to_it(bench, ready):
    change(bench, ready, changed(bench, 5))
    asker = bench.world.person("platform_engineer")
    with acting_for(bench.tenant), pytest.raises(Refused) as refused:
        actions.approve_cluster(cluster=ready, person=asker, by=asker.actor)
    assert refused.value.code == "own_request"


def test_agreeing_is_to_a_plan_and_another_plan_is_asked_for_again(bench, ready, settings, tmp_path):
    change(bench, ready, changed(bench, 5))
    dearer = tmp_path / "prices.toml"
    with open(settings.PRICE_FILE) as ours:
        dearer.write_text(ours.read().replace('"p5.48xlarge" = 110', '"p5.48xlarge" = 111'))
    settings.PRICE_FILE = str(dearer)
    with pytest.raises(Refused) as refused:
        agree(bench, ready)
    assert refused.value.code == "plan_changed"
    agree(bench, ready, plan=refused.value.facts["plan"])
    assert operations(bench)[-1] == ("change", "running")


def test_a_group_shrinks_without_a_second_person_and_its_seats_are_gone(bench, ready):
    change(bench, ready, changed(bench, 1))
    shrunk = bench.until(ready, "ready")
    for _ in range(3):
        shrunk = bench.look(ready, minutes=5)
    assert (shrunk.nodes_running, shrunk.nodes_wanted, shrunk.state) == (2, 2, "ready")
    states = sorted(node.state for node in bench.nodes() if node.group == "workers")
    assert states == ["gone", "gone", "running"]
    left = bench.rows(NodeInstance, sat_until=None)
    assert len(left) == 2  # who is not listed any more is not paid for


def test_what_shrank_grows_again_into_the_same_seats(bench, ready):
    change(bench, ready, changed(bench, 2))
    bench.until(ready, "ready")
    bench.look(ready, steps=2, minutes=5)
    change(bench, bench.now(ready), changed(bench, 3))
    agree(bench, bench.now(ready))
    bench.until(ready, "ready")
    assert sorted((node.seat, node.state) for node in bench.nodes() if node.group == "workers") == [
        (1, "running"), (2, "running"), (3, "running")
    ]  # fmt: skip


def test_groups_come_and_go(bench, ready):
    more = {"name": "extra", "instance_type": "m5.4xlarge", "count": 2}
    change(bench, ready, changed(bench, 3, extra=[more]))
    added = bench.until(ready, "ready")
    assert added.nodes_running == 6
    change(bench, added, changed(bench, 3))
    removed = bench.until(ready, "ready")
    bench.look(ready, steps=2, minutes=5)
    assert (removed.nodes_wanted, bench.now(ready).nodes_running) == (4, 4)
    assert {node.state for node in bench.nodes() if node.group == "extra"} == {"gone"}


def test_storage_is_changed_in_its_place(bench, ready):
    before = bench.rows(FileSystem)[0].external_id
    change(bench, ready, changed(bench, 3, lustre=4800, mbs=500))
    bench.until(ready, "ready")
    system = bench.rows(FileSystem)[0]
    assert (system.external_id, system.capacity_gib, system.mbs_per_tib) == (before, 4800, 500)
    assert operations(bench)[-1] == ("change", "done")


def test_what_the_engine_does_not_do_is_refused_before_any_call(bench, ready):
    with pytest.raises(Refused) as refused:
        change(bench, ready, changed(bench, 3, lustre=1200) | {"az_id": "apne1-az1"})
    assert refused.value.code == "not_possible"
    assert bench.creates("UpdateStack") == bench.creates("UpdateCluster") == 0
    with pytest.raises(Refused) as same:
        change(bench, ready, changed(bench, 3))
    assert same.value.code == "nothing_changes"


def test_a_plan_that_was_looked_at_is_the_one_that_is_done(bench, ready):
    with pytest.raises(Refused) as refused:
        change(bench, ready, changed(bench, 1), plan="another")
    assert refused.value.code == "plan_changed"
    with acting_for(bench.tenant):
        planned = foresight.of_change(ready, foresight.check_change(ready, changed(bench, 1)))
    assert change(bench, ready, changed(bench, 1), plan=planned.digest).state == "running"


def test_jobs_are_stopped_only_when_somebody_says_so(bench, ready):
    with acting_for(bench.tenant):
        job = actions.launch_job(cluster=ready, name="train", script="#!/bin/bash\nsleep 1", nodes=3, by="engine")
    with pytest.raises(Refused) as refused:
        change(bench, ready, changed(bench, 1))
    assert (refused.value.code, refused.value.facts) == ("jobs_running", {"jobs": 1, "nodes": 3})
    assert change(bench, ready, changed(bench, 1), stop_jobs=True).plan["stopped"][0]["id"] == str(job.pk)


def test_a_change_is_withdrawn_while_it_waits(bench, ready):
    change(bench, ready, changed(bench, 5))
    with acting_for(bench.tenant):
        changes.give_up(cluster=ready, by="engine", why="no")
    assert operations(bench)[-1] == ("change", "cancelled")
    assert [revision.number for revision in bench.rows(Revision)] == [1]
    assert change(bench, bench.now(ready), changed(bench, 2)).state == "running"


def test_a_change_of_which_nothing_was_asked_goes_back_at_once(bench, ready):
    change(bench, ready, changed(bench, 1))
    with acting_for(bench.tenant):
        changes.give_up(cluster=ready, by="engine", why="no")
    back = bench.until(ready, "ready")
    assert (back.nodes_wanted, bench.creates("UpdateCluster")) == (4, 0)
    assert [len(revision.body["instance_groups"]) for revision in bench.rows(Revision)] == [2, 2, 2]


def test_a_stack_in_the_middle_of_its_update_is_stopped_and_puts_everything_back(bench, ready):
    change(bench, ready, changed(bench, 3, mbs=500))
    while not bench.creates("UpdateStack"):
        bench.look(ready)
    bench.look(ready)
    with acting_for(bench.tenant):
        changes.give_up(cluster=ready, by="engine", why="no")
    bench.look(ready)
    assert bench.creates("CancelUpdateStack") == 1
    bench.until(ready, "ready")
    assert bench.rows(FileSystem)[0].mbs_per_tib == 250
    assert operations(bench)[-1] == ("change", "cancelled")


def test_a_change_that_the_provider_refuses_frees_the_cluster_and_keeps_its_evidence(bench, ready):
    # What the account may have cannot be read, so preflight lets it pass: unknown stops nothing.
    with acting_for(bench.tenant):
        ServiceQuota.objects.all().delete()
    bench.cloud.fault("error_after_success", operation="ListServiceQuotas", account=bench.cloud_account.id, times=99)
    change(bench, ready, changed(bench, 17))
    agree(bench, ready)
    for _ in range(4):
        bench.look(ready, minutes=5)
    failed = max(bench.rows(Operation), key=lambda row: row.created_at)
    assert (failed.kind, failed.state) == ("change", "failed")
    assert "ml.p5.48xlarge for cluster usage" in failed.outcome
    assert {part["role"] for part in failed.evidence} == {"base", "cluster"}
    now = bench.now(ready)
    assert "current utilization" in now.needs_person and now.nodes_running == 4
    with acting_for(bench.tenant):
        planned = foresight.of_change(now, foresight.check_change(now, changed(bench, 4)))
        again = foresight.of_change(now, foresight.check_change(now, changed(bench, 3)))
    # What is foreseen begins at what the cluster has, not at what was refused.
    assert [(effect.code, effect.values["count"]) for effect in planned.effects] == [("nodes_added", 1)]
    assert again.empty
    change(bench, now, changed(bench, 3))
    back = bench.until(ready, "ready")
    assert (back.nodes_wanted, back.needs_person) == (4, "")


def test_retiring_overtakes_a_change(bench, ready, settings):
    settings.CONSISTENCY_SECONDS = 0
    change(bench, ready, changed(bench, 1))
    with acting_for(bench.tenant, staff=True):
        actions.retire_cluster(cluster=bench.now(ready), by="engine", why="over")
    bench.until(ready, "deleted")
    assert operations(bench) == [("create", "done"), ("change", "cancelled"), ("delete", "done")]


def test_the_history_tells_who_asked_and_who_agreed(bench, ready):
    change(bench, ready, changed(bench, 5))
    agree(bench, ready)
    kinds = [entry.kind for entry in sorted(bench.rows(Entry, kind__startswith="operation."), key=lambda one: one.pk)]
    assert kinds[-3:] == ["operation.asked", "operation.approved", "operation.running"]
