"""Orders to nodes and software updates, stepped by hand against the sandbox."""

from types import SimpleNamespace

import pytest
from django.utils import timezone

from clusters import actions
from clusters.actions import changes, node_orders
from clusters.engine import orders
from clusters.models import NodeInstance, NodeOrder, Operation, Proof, Revision
from clusters.providers import Seen
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.engine.test_changes import operations, ready

__all__ = ["ready"]


def worker(bench, seat=1):
    return next(node for node in bench.nodes() if (node.group, node.seat) == ("workers", seat))


def order(bench, cluster, what, *nodes, **more):
    with acting_for(bench.tenant):
        return node_orders.order_nodes(
            cluster=cluster, nodes=[node.pk for node in nodes], order=what, by="engine", reason="Xid 79", **more
        )


def results(bench):
    return [row.result for row in bench.rows(NodeOrder)]


def through(bench, cluster, kind, steps=12, minutes=5):
    for _ in range(steps):
        bench.look(cluster, minutes=minutes)
        bench.step("jobs")
        if operations(bench)[-1] in ((kind, "done"), (kind, "failed")):
            break
    return operations(bench)[-1]


def test_a_node_is_replaced_and_its_seat_keeps_its_name(bench, ready):
    old = worker(bench)
    order(bench, ready, "replace", old)
    assert through(bench, ready, "replace") == ("replace", "done")
    new = worker(bench)
    assert (new.name, new.state) == (old.name, "running") and new.instance_id != old.instance_id
    assert results(bench) == ["done"]
    assert bench.creates("BatchReplaceClusterNodes") == 1
    assert sorted(bool(row.sat_until) for row in bench.rows(NodeInstance, node=new)) == [False, True]
    assert bench.now(ready).state == "ready"


def test_a_node_is_rebooted_once_and_stays_who_it_is(bench, ready):
    old = worker(bench)
    order(bench, ready, "reboot", old)
    assert through(bench, ready, "reboot", minutes=1) == ("reboot", "done")
    assert worker(bench).instance_id == old.instance_id
    assert bench.creates("BatchRebootClusterNodes") == 1


def test_nodes_that_are_taken_away_do_not_come_back_with_the_next_change(bench, ready):
    order(bench, ready, "remove", worker(bench, 1), worker(bench, 2))
    assert through(bench, ready, "remove") == ("remove", "done")
    bench.until(ready, "ready")
    now = bench.now(ready)
    assert (now.nodes_wanted, now.nodes_running, now.state) == (2, 2, "ready")
    newest = max(bench.rows(Revision), key=lambda row: row.number)
    assert [group["count"] for group in newest.body["instance_groups"]] == [1, 1]
    assert bench.creates("UpdateCluster") == 0 and bench.creates("BatchDeleteClusterNodes") == 1
    assert {node.state for node in bench.nodes() if node.seat < 3 and node.group == "workers"} == {"gone"}


def test_a_batch_has_an_answer_for_each_node(bench, ready):
    good, lost = worker(bench, 1), worker(bench, 2)
    with acting_for(bench.tenant):
        type(lost).objects.filter(pk=lost.pk).update(instance_id="i-00000000000000000")
    order(bench, ready, "replace", good, lost)
    bench.look(ready)
    told = {row.instance_id: (row.result, row.code) for row in bench.rows(NodeOrder)}
    assert told == {good.instance_id: ("accepted", ""), "i-00000000000000000": ("refused", "InstanceIdNotFound")}
    [entry] = bench.rows(Entry, kind="operation.answered")
    assert (entry.facts["taken"], entry.facts["asked"]) == (1, 2)
    assert through(bench, ready, "replace") == ("replace", "done")


def test_an_order_without_an_answer_is_never_sent_again(bench, ready):
    bench.cloud.fault(
        "timeout_after_success", operation="BatchRebootClusterNodes", account=bench.cloud_account.id, times=2
    )
    order(bench, ready, "reboot", worker(bench))
    for _ in range(5):
        bench.look(ready, minutes=1)
    assert bench.creates("BatchRebootClusterNodes") <= 2  # botocore's own second attempt within the one call
    assert operations(bench)[-1] == ("reboot", "failed")
    assert results(bench) == ["unclear"]


def test_throttled_is_not_sent_and_is_sent_later(bench, ready):
    bench.cloud.fault("throttling", operation="BatchRebootClusterNodes", account=bench.cloud_account.id, times=2)
    order(bench, ready, "reboot", worker(bench))
    assert through(bench, ready, "reboot", minutes=1) == ("reboot", "done")


@pytest.mark.parametrize(
    ("what", "seats", "code"),
    [
        ("remove", ["head"], "controller"),
        ("remove", [1, 2, 3], "last_of_group"),
        ("explode", [1], "unknown_order"),
        ("reboot", [], "no_nodes"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_before_any_call(bench, ready, what, seats, code):
    nodes = [
        worker(bench, seat) if seat != "head" else next(n for n in bench.nodes() if n.group == "head") for seat in seats
    ]
    with pytest.raises(Refused) as refused:
        order(bench, ready, what, *nodes)
    assert refused.value.code == code
    assert operations(bench) == [("create", "done")]


def test_a_job_is_stopped_only_when_somebody_says_so(bench, ready):
    with acting_for(bench.tenant):
        actions.launch_job(
            cluster=ready,
            name="train",
            script="#!/bin/bash\nsleep 7200",
            nodes=3,
            by="engine",
            environment={"STEPS": "100000"},
        )
    for _ in range(3):
        bench.step("jobs")
        bench.cloud.advance(5)
    with pytest.raises(Refused) as refused:
        order(bench, ready, "reboot", worker(bench))
    assert (refused.value.code, refused.value.facts["nodes"]) == ("jobs_running", 3)
    assert order(bench, ready, "reboot", worker(bench), stop_jobs=True).may_stop_jobs


def test_software_is_updated_batch_by_batch_and_proven_anew(bench, ready):
    with acting_for(bench.tenant):
        changes.update_software(cluster=ready, groups=["workers"], by="engine", reason="security")
    bench.look(ready)
    bench.look(ready, minutes=1)
    assert bench.now(ready).state == "updating"
    assert {node.state for node in bench.nodes() if node.group == "workers"} == {"checking", "running"}
    assert through(bench, ready, "software", steps=25) == ("software", "done")
    assert bench.creates("UpdateClusterSoftware") == 1
    assert all(node.software_at for node in bench.nodes() if node.group == "workers")
    proofs = {proof.kind: proof.passed for proof in bench.rows(Proof, generation=2)}
    assert proofs == {"nodes_running": True, "file_system": True, "smoke_job": True}


@pytest.mark.parametrize(
    ("word", "sends", "says"),
    [
        ("InService", True, ""),
        ("Degraded", True, ""),
        ("Updating", False, "The instance group workers is Updating; its software is updated when that is over."),
        ("Failed", False, "The instance group workers is Failed, and takes no software update."),
        ("SomethingNew", True, ""),
    ],
)
def test_software_waits_for_its_groups_too(word, sends, says):
    """The cluster is in service in each of them."""
    known = SimpleNamespace(
        operation=Operation(kind="software", body={"groups": ["head", "workers"]}), orders=[], now=timezone.now()
    )
    groups = {"head": {"status": "InService"}, "workers": {"status": word}, "others": {"status": "Failed"}}
    told = orders.progress(known, {"cluster": Seen("ready", body={"groups": groups})})
    assert (told.unsent, says in (told.failed or told.sentence)) == (sends, True)
    assert bool(told.failed) == (word == "Failed")


def test_a_second_thing_waits_for_the_first_and_says_who_is_at_it(bench, ready):
    person = bench.world.person("platform_engineer")
    with acting_for(bench.tenant):
        changes.update_software(cluster=ready, groups=[], by=person.actor, reason="security")
    with pytest.raises(Refused) as refused:
        order(bench, ready, "reboot", worker(bench))
    assert refused.value.code == "busy"
    assert person.name in str(refused.value.sentence) and "software update of train" in str(refused.value.sentence)
    assert bench.rows(Operation, state="running")[0].kind == "software"
