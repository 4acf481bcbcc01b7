"""A ParallelCluster goes its way through the engine, made by the real `pcluster` on the sandbox cloud."""

import json
import re
from dataclasses import replace

import pytest
from django.db import connection

from clusters import actions, architectures, foresight, node_setups
from clusters.actions import changes, node_orders
from clusters.architectures.configuration import read_configuration
from clusters.architectures.parts import parts
from clusters.engine import facts, rehearsal, turns
from clusters.models import (
    Cluster,
    ExternalObject,
    Job,
    NodeInstance,
    NodeOrder,
    Operation,
    Preflight,
    PreflightLine,
    Revision,
)
from clusters.moving import moved
from clusters.providers import adapter
from clusters.states import JOB_ENDS
from tenants.history.models import Entry
from tenants.models import Attachment
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due
from tests.clusters.engine.conftest import Bench

SLOW = "cluster-slow"
OLDER = "2026.11.1"
GROUPS = [
    {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
    {"name": "workers", "instance_type": "p5.48xlarge", "count": 2},
]


@pytest.fixture(autouse=True)
def patient_database(world):
    """A test is one transaction; the product has none open while a program runs."""
    with connection.cursor() as cursor:
        cursor.execute("set idle_in_transaction_session_timeout = 0")
        cursor.execute("set transaction_timeout = 0")


@pytest.fixture(autouse=True)
def own_turn(tmp_path, monkeypatch):
    """Tests beside this one, and a portal that runs on this machine, do not take its turn."""
    monkeypatch.setenv("PCLUSTER_LOCK", str(tmp_path / "lock"))


def asked_for(bench: Bench, **more):
    return bench.approved(architecture="parallelcluster-p5", instance_groups=GROUPS, **more)


def until(bench: Bench, cluster, state: str, steps: int = 30):
    for _ in range(steps):
        bench.cloud.advance(300)
        bench.step(SLOW)
        if bench.now(cluster).state == state:
            break
        bench.step("jobs")
    found = bench.now(cluster)
    assert found.state == state, (found.state, found.needs_person, found.unknown_reason, found.conditions)
    return found


def in_its_place(settings, tmp_path, script: str) -> None:
    path = tmp_path / "pcluster"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    settings.PCLUSTER = path


def told(bench: Bench, cluster) -> str:
    """What the cluster itself says of why it is not there yet."""
    found = bench.now(cluster)
    assert found.state == "creating" and not found.needs_person
    sentence = next(each["sentence"] for each in found.conditions if each["type"] == "Provisioned")
    assert bench.part("cluster").reason in ("", sentence)
    return sentence


def programs_that_ran(bench: Bench) -> list:
    rows = sorted(bench.rows(Entry, kind="part.program"), key=lambda entry: entry.pk)
    return [entry.facts for entry in rows]


def grow(bench: Bench, cluster, count: int) -> None:
    """A second revision with another number of workers, wished for."""
    with acting_for(bench.tenant, staff=True):
        first = Revision.objects.get(cluster=cluster)
        groups = [dict(group) for group in first.body["instance_groups"]]
        groups[1]["count"] = count
        body = {**first.body, "instance_groups": groups}
        Revision.objects.create(tenant_id=cluster.tenant_id, cluster=cluster, number=2, body=body, author="engine")
        Cluster.objects.filter(pk=cluster.pk).update(generation=2, nodes_wanted=count + 1)
        turns.wish(cluster)


def base_is_ready(bench: Bench, cluster) -> None:
    for _ in range(30):
        bench.step(SLOW)
        bench.cloud.advance(300)
        if bench.rows(ExternalObject, role="base")[0].state == "exists":
            return
    raise AssertionError("the base did not come")


def test_a_program_that_is_missing_falls_over_or_talks_rubbish_is_told_and_waited_for(bench, settings, tmp_path):
    settings.PCLUSTER = tmp_path / "nothing-here"
    cluster = asked_for(bench)
    base_is_ready(bench, cluster)
    bench.step(SLOW)
    assert "not installed on this machine" in told(bench, cluster)
    for script, word in (
        ("exit 7", "ended with code 7"),
        ("echo '<html>sorry</html>'; exit 1", "nothing that can be read"),
        ("kill -9 $$", "killed by signal 9"),
    ):
        in_its_place(settings, tmp_path, script)
        bench.step(SLOW)
        assert word in told(bench, cluster)
    assert bench.creates("CreateStack") == 1  # the base alone
    assert [ran["code"] for ran in programs_that_ran(bench)] == [7, 1, -9]
    in_its_place(settings, tmp_path, "kill -9 $$")
    bench.step(SLOW)
    assert len(programs_that_ran(bench)) == 3  # the same again is not told again


def test_what_its_validators_refuse_fails_the_cluster_in_their_words(bench, settings, tmp_path):
    errors = [{"level": "ERROR", "type": "EfaValidator", "message": "no EFA on this type"}]
    answer = {"message": "Invalid cluster configuration.", "configurationValidationErrors": errors}
    in_its_place(settings, tmp_path, f"echo '{json.dumps(answer)}'; exit 1")
    cluster = asked_for(bench)
    base_is_ready(bench, cluster)
    bench.step(SLOW)
    found = bench.now(cluster)
    assert found.state == "failed"
    assert "EfaValidator: no EFA on this type" in found.needs_person
    # They are a part of the preflight: the line that had to wait for the network has its answer.
    [line] = bench.rows(PreflightLine, field="configuration", verdict="fail")
    assert line.code == "engine_refused" and "EfaValidator" in line.told["values"]["says"]
    [row] = bench.rows(Preflight)
    assert (row.verdict, row.failed) == ("fail", 1)


def test_a_change_of_one_that_is_there_is_rehearsed_before_anything_is_asked(bench, settings, tmp_path):
    fine = json.dumps({"message": "Request would have succeeded, but DryRun flag is set."})
    in_its_place(settings, tmp_path, f"echo $* >> {tmp_path}/words; echo '{fine}'; exit 1")
    cluster = asked_for(bench)
    base_is_ready(bench, cluster)
    bench.step(SLOW)  # puts the scripts into the bucket, and its creation comes to nothing
    with acting_for(bench.tenant, staff=True):
        ExternalObject.objects.filter(role="cluster").update(existed=True)
        known = facts.read(str(cluster.pk))
    held = due.Held(0, SLOW, str(cluster.pk), bench.tenant.pk, "", 1, 1)
    assert [each.code for each in rehearsal.findings(held, known)] == ["engine"] and known.rehearsed
    last = (tmp_path / "words").read_text().splitlines()[-1]
    assert last.startswith("update-cluster") and last.endswith("--dryrun true")
    # What takes nodes away is rehearsed with the leave to, as it is then done.
    known.operation = Operation(removes_nodes=True)
    in_its_place(settings, tmp_path, f"cp cluster.yaml {tmp_path}/asked.yaml; echo '{fine}'; exit 1")
    assert [each.code for each in rehearsal.findings(held, known)] == ["engine"]
    assert "QueueUpdateStrategy: TERMINATE" in (tmp_path / "asked.yaml").read_text()
    errors = [{"level": "ERROR", "type": "SubnetValidator", "message": "too small"}]
    wrong = json.dumps({"message": "Invalid cluster configuration.", "configurationValidationErrors": errors})
    in_its_place(settings, tmp_path, f"echo '{wrong}'; exit 1")
    [found] = rehearsal.findings(held, known)
    assert (found.verdict, known.rehearsed) == ("fail", False) and "SubnetValidator: too small" in found.sentence()
    in_its_place(settings, tmp_path, "exit 3")
    assert [each.verdict for each in rehearsal.findings(held, known)] == ["unknown"]


def test_one_that_was_killed_after_it_asked_is_looked_for_and_never_asked_twice(bench, settings, tmp_path):
    # The dry run goes well; then it dies without a word, whatever it may have done.
    in_its_place(
        settings,
        tmp_path,
        f'case "$*" in *dryrun*) echo \'{{"message": "Request would have succeeded, but DryRun flag is set."}}\'; exit 1;;'
        f" *) echo asked >> {tmp_path}/asked; kill -9 $$;; esac",
    )
    cluster = asked_for(bench)
    base_is_ready(bench, cluster)
    for _ in range(4):
        bench.step(SLOW)
    assert (tmp_path / "asked").read_text().count("asked") == 1
    assert bench.part("cluster").last_call == "create"
    assert "killed by signal 9" in bench.part("cluster").reason


def rests_and_runs_again(bench: Bench, cluster) -> None:
    """Its compute fleet is stopped and started, as a person wishes it; a job stands in the way."""
    job = launched(bench, cluster)
    with acting_for(bench.tenant, staff=True):
        with pytest.raises(Refused) as told:
            actions.stop_fleet(cluster=cluster, by="engine", why="the weekend")
        assert (told.value.code, told.value.facts) == ("jobs_running", {"jobs": 1, "nodes": 2})
        Job.objects.filter(pk=job.pk).update(state="cancelled")
        actions.stop_fleet(cluster=cluster, by="engine", why="the weekend")
    bench.step(SLOW)  # while everything still runs
    bench.step("jobs")
    first = {node.instance_id for node in bench.nodes() if node.group == "workers"}
    bench.step(SLOW)
    until(bench, cluster, "ready")
    rests = bench.now(cluster)
    assert (rests.fleet, rests.nodes_running, rests.fleet_settled) == ("STOPPED", 1, rests.generation)
    assert rests.proven < rests.generation
    assert all(job.state in JOB_ENDS for job in bench.jobs())  # no proof waits for what does not come
    assert {node.engine_status for node in bench.nodes() if node.group == "workers"} == {""}
    assert {node.state for node in bench.nodes() if node.group == "workers"} == {"gone"}
    left = bench.rows(NodeInstance, left_because="stopped")
    assert {each.instance_id for each in left} == first and all(each.sat_until for each in left)
    with acting_for(bench.tenant, staff=True):
        with pytest.raises(Refused, match="start it"):
            launched(bench, cluster)
        actions.start_fleet(cluster=cluster, by="engine")
    bench.step(SLOW)
    runs = until(bench, cluster, "ready")
    assert (runs.fleet, runs.nodes_running, runs.proven) == ("RUNNING", 4, runs.generation)
    assert not first & {node.instance_id for node in bench.nodes()}
    told = bench.kinds("cluster.fleet")
    assert told == ["cluster.fleet_stop_wished", "cluster.fleet", "cluster.fleet_start_wished", "cluster.fleet"]
    assert bench.creates("CreateStack") == 2


def a_node_is_replaced(bench: Bench, cluster) -> None:
    """By the head node, when its instance is gone; ParallelCluster reboots none."""
    worker = next(node for node in bench.nodes() if node.group == "workers")
    wish = {"cluster": cluster, "nodes": [worker.pk], "by": "engine", "reason": "ECC errors"}
    with acting_for(bench.tenant, staff=True):
        with pytest.raises(Refused, match="Replace it instead"):
            node_orders.order_nodes(order="reboot", **wish)
        with pytest.raises(Refused, match="only by their number"):
            node_orders.order_nodes(order="remove", **wish)
        made = node_orders.order_nodes(order="replace", **wish)
    for _ in range(12):
        bench.cloud.advance(120)
        bench.step(SLOW)
        [operation] = [row for row in bench.rows(Operation) if row.pk == made.pk]
        if operation.state != "running":
            break
    assert (operation.state, [row.result for row in bench.rows(NodeOrder)]) == ("done", ["done"])
    after = next(node for node in bench.nodes() if node.pk == worker.pk)
    assert (after.state, after.name) == ("running", worker.name) and after.instance_id != worker.instance_id
    [left] = [row for row in bench.rows(NodeInstance, node=worker) if row.instance_id == worker.instance_id]
    assert left.left_because == "replaced" and left.sat_until


def launched(bench: Bench, cluster) -> Job:
    with acting_for(bench.tenant, staff=True):
        return actions.launch_job(
            cluster=cluster, name="long", script="#!/bin/bash\nsleep 9999\n", nodes=2, by="engine"
        )


def moves_to_no_newer_version(bench: Bench, cluster, settings) -> None:
    """What its head node runs is settled for good: the plan says so, and the engine says the same of the same fields."""
    newest = architectures.newest()[cluster.architecture]
    assert cluster.architecture_version == OLDER != newest
    calls = bench.creates("UpdateStack")
    with acting_for(bench.tenant, staff=True):
        body = moved(foresight.current(cluster), newest)
        with pytest.raises(Refused) as told:
            changes.change_cluster(cluster=cluster, body=body, by="engine", reason="newer")
        assert "Ask for a second cluster, move the work, and retire this one" in str(told.value.sentence)
        planned = foresight.of_change(cluster, foresight.check_change(cluster, body))
        refused = {effect.values["field"] for effect in planned.effects if effect.kind == "refused"}
        assert refused == {f"HeadNode/CustomActions/OnNodeConfigured/{name}" for name in ("Script", "Args")}
        known = facts.read(str(cluster.pk))
        wished = parts(architectures.architecture(cluster.architecture, newest), read_configuration(body))
        asked = next(spec for spec in wished if spec.role == "cluster").body(known.wiring())
        part = known.part("cluster", verb="update")
    part = replace(part, body={**part.body, "configuration": asked["configuration"]})
    said = adapter("parallelcluster", program=settings.PCLUSTER).rehearse(known.account, part)
    assert re.findall(r"not currently supported for the '(\w+)' parameter", said) == ["Script", "Args"], said
    assert "creating a new cluster" in said
    assert (bench.now(cluster).state, bench.creates("UpdateStack")) == ("ready", calls)


@pytest.mark.pcluster
def test_a_script_of_the_participant_that_fails_on_the_head_node_is_named_as_theirs(bench):
    with acting_for(bench.tenant, staff=True):
        text = "#!/bin/bash\nset -euo pipefail\necho the driver is missing\nexit 7\n"
        node_setups.keep(tenant=bench.tenant, name="drivers", text=text, by="engine")
    cluster = asked_for(bench, node_setup={"name": "drivers", "version": 1})
    failed = until(bench, cluster, "failed")
    told = bench.part("cluster").reason
    assert "“drivers”, version 1, ended with code 7 on ip-10-" in told and "the driver is missing" in told
    assert any(told in str(condition["sentence"]) for condition in failed.conditions)
    [entry] = bench.rows(Entry, kind="node_setup.failed")
    assert (entry.facts["name"], entry.facts["number"], entry.facts["code"]) == ("drivers", 1, 7)


@pytest.mark.pcluster
def test_a_parallelcluster_is_made_runs_a_job_grows_and_goes(bench, settings):
    cluster = asked_for(bench, version=OLDER)
    ready = until(bench, cluster, "ready")
    assert ready.orchestrator == "parallelcluster"
    assert (ready.nodes_running, ready.nodes_wanted) == (3, 3)
    nodes = {(node.group, node.seat): node for node in bench.nodes()}
    assert {node.instance_type for node in nodes.values() if node.group == "workers"} == {"p5.48xlarge"}
    assert nodes["head", 1].state == "running"
    assert bench.rows(Job, purpose="proof")[0].state == "succeeded"
    assert bench.creates("CreateStack") == 2  # the base, and the one that pcluster makes

    logs = {row.name.split("-", 2)[-1]: row for row in bench.rows(Attachment, subject="part")}
    assert any("create-cluster-dryrun" in name for name in logs) and len(logs) == 2
    assert [ran["code"] for ran in programs_that_ran(bench)] == [1, 0]  # a dry run never ends with 0

    moves_to_no_newer_version(bench, ready, settings)

    grow(bench, cluster, 3)
    until(bench, cluster, "updating", steps=3)
    grown = until(bench, cluster, "ready")
    assert (grown.nodes_running, grown.applied) == (4, 2)
    assert {node.instance_id for node in nodes.values()} <= {node.instance_id for node in bench.nodes()}

    a_node_is_replaced(bench, cluster)
    rests_and_runs_again(bench, cluster)

    settings.CONSISTENCY_SECONDS = 0  # the cloud's clock is moved, ours is not
    with acting_for(bench.tenant, staff=True):
        actions.retire_cluster(cluster=cluster, by="engine", why="test")
    until(bench, cluster, "deleted")
    assert bench.creates("CreateStack") == 2
