"""What the engine does about each fault of a cloud, F24 to F37 of the list of faults, made to happen by the sandbox's switches.

Those that are not here: F24 throttling, F27 an error after success, F29 a token of another request and F34 an expired
session are in `test_step`, F32 a deletion that fails twice in `test_deletion`, F35 a role that is gone in `test_access`.
"""

import json
import uuid

import pytest
from botocore.exceptions import ClientError

from clusters import actions
from clusters.engine import names
from clusters.models import ExternalObject, Orphan
from clusters.providers import aws
from tenants.wall.acting import acting_for
from tests.clusters.engine.test_changes import agree, change, changed, ready  # noqa: F401  the fixture

LONG_AGO = "2020-01-01T00:00:00Z"


def retire(bench, cluster):
    with acting_for(bench.tenant):
        actions.retire_cluster(cluster=bench.now(cluster), by="engine", why="no longer needed")


def later(bench):
    """Our own clock stands still in a test, so what was called is moved into the past."""
    with acting_for(bench.tenant):
        ExternalObject.objects.exclude(last_call="").update(last_call_at=LONG_AGO)


def fault(bench, kind, operation="", **more):
    bench.cloud.fault(kind, operation=operation, account=bench.cloud_account.id, **more)


def effective(bench, operation):
    return bench.creates(operation)


@pytest.mark.parametrize("lost", ["timeout_after_success", "no_answer"])
def test_f25_f26_a_scaling_whose_answer_or_question_got_lost_happens_once(bench, ready, lost):  # noqa: F811
    change(bench, ready, changed(bench, 4))
    agree(bench, ready)
    fault(bench, lost, "UpdateCluster", times=2)  # botocore bridges one broken connection
    bench.until(ready, "ready")
    assert len(bench.nodes()) == 5 and effective(bench, "UpdateCluster") == 1


def test_f25_a_deletion_whose_answer_got_lost_is_a_deletion(bench, ready, settings):  # noqa: F811
    settings.CONSISTENCY_SECONDS = 0
    fault(bench, "timeout_after_success", "DeleteCluster", times=2)
    fault(bench, "error_after_success", "DeleteStack", times=2)
    retire(bench, ready)
    bench.until(ready, "deleted")
    assert bench.now(ready).needs_person == ""


@pytest.mark.parametrize("operation", ["CreateStack", "CreateCluster"])
def test_f26_a_creation_that_never_arrived_is_asked_for_again_and_made_once(bench, operation):
    cluster = bench.approved()
    fault(bench, "no_answer", operation, times=2)
    role = "base" if operation == "CreateStack" else "cluster"
    while not bench.rows(ExternalObject, role=role, state="creating"):
        bench.look(cluster, minutes=5)
    waiting = bench.look(cluster)
    told = {each["type"]: each["sentence"] for each in waiting.conditions}
    assert waiting.state == "creating" and "Not found; looking again" in told["Provisioned"]
    assert effective(bench, operation) == 0
    later(bench)
    bench.until(cluster, "ready")
    assert effective(bench, operation) == 1


def test_f28_what_is_not_found_yet_is_not_made_twice(bench):
    cluster = bench.approved()
    bench.look(cluster)
    fault(bench, "not_found", "DescribeStacks", times=3)
    for _ in range(3):
        unseen = bench.look(cluster)
        assert unseen.state == "creating" and not unseen.needs_person
    bench.until(cluster, "ready")
    assert effective(bench, "CreateStack") == 1


@pytest.mark.parametrize("role", ["base", "cluster"])
def test_f30_a_name_that_is_taken_by_a_stranger_is_left_alone(bench, role, settings):
    cluster = bench.approved()
    name = names.part_name(settings.INSTALLATION_ID, cluster.pk, cluster.name, role, 1)
    log = {"Type": "AWS::Logs::LogGroup"}
    if role == "base":
        bench.cloud_account.stack(name, {"Resources": {"Log": log}})
    else:
        while not bench.rows(ExternalObject, role="base", state="exists"):
            if bench.rows(ExternalObject, role="base", status="CREATE_IN_PROGRESS"):
                break
            bench.look(cluster)
        _a_strangers_cluster(bench, name)
    for _ in range(8):
        found = bench.look(cluster, minutes=5)
        if found.needs_person:
            break
    assert found.state == "failed" and "does not carry our tags" in found.needs_person
    assert bench.part(role).state == "foreign"
    settings.CONSISTENCY_SECONDS = 0
    retire(bench, cluster)
    bench.until(cluster, "deleted")
    if role == "base":
        assert bench.cloud_account.stack_status(name) == "CREATE_COMPLETE"
    else:
        assert bench.cloud_account("sagemaker").describe_cluster(ClusterName=name) and not effective(
            bench, "DeleteCluster"
        )


def _a_strangers_cluster(bench, name):
    from tests.clusters.sandbox.driver import group, network

    made = network(bench.cloud_account)
    request = {
        "ClusterName": name,
        "InstanceGroups": [group(made, "head", "ml.m5.8xlarge", 1)],
        "VpcConfig": {"SecurityGroupIds": [made["Group"]], "Subnets": [made["Subnet"]]},
    }
    bench.cloud_account("sagemaker").create_cluster(**request)


def test_f31_a_stack_that_could_not_even_be_rolled_back_says_why_and_can_be_deleted(bench, settings):
    settings.CONSISTENCY_SECONDS = 0
    cluster = bench.approved()
    fault(bench, "resource_fails", match="Lustre*")
    fault(bench, "resource_stays", match="ExecutionRole")
    failed = bench.until(cluster, "failed")
    assert bench.part("base").status == "ROLLBACK_FAILED"
    assert "Lustre" in bench.part("base").reason
    retire(bench, failed)
    bench.until(cluster, "deleted")
    with pytest.raises(ClientError, match="does not exist"):
        bench.cloud_account.stack_status(bench.part("base").name)


def test_f36_without_sts_the_cached_session_goes_on_and_then_contact_is_lost_and_found(bench, ready):  # noqa: F811
    bench.cloud.fault("no_answer", service="sts", times=4)
    assert bench.look(ready).unknown_since is None
    aws._start_again()
    lost = bench.look(ready)
    assert lost.state == "ready" and lost.unknown_since
    bench.cloud.ask("DELETE", "faults")
    assert bench.look(ready).unknown_since is None


def test_f37_without_capacity_it_is_tried_again_until_there_is_some(bench, settings):
    settings.CONSISTENCY_SECONDS = 0
    cluster, told = bench.approved(), set()
    fault(bench, "no_capacity", "CreateCluster", times=2)
    for _ in range(60):
        now = bench.look(cluster, minutes=5)
        assert now.state != "failed"
        told |= {each["sentence"] for each in now.conditions if each["type"] == "Fits" and each["status"] == "no"}
        later(bench) if bench.rows(ExternalObject, role="cluster", state="failed") else None
        bench.step("jobs")
        if now.state == "ready":
            break
    assert now.state == "ready" and bench.part("cluster").incarnation == 3
    assert any(
        "sufficient capacity" in each and "try 1 of 4" in each and "again by itself in 10 min" in each for each in told
    )


def test_f33_what_carries_our_tags_and_has_no_row_is_kept_in_sight_and_never_touched(bench, settings, ready):  # noqa: F811
    ours = names.tags(settings.INSTALLATION_ID, bench.tenant.pk, uuid.uuid4(), 1)
    log = {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup"}}}
    cloud = bench.cloud_account("cloudformation")
    for name, tags in (("by-hand", ours), ("elsewhere", ours | {"cohort:installation": "another"}), ("theirs", {})):
        told = [{"Key": key, "Value": value} for key, value in tags.items()]
        cloud.create_stack(StackName=name, TemplateBody=json.dumps(log), Tags=told)
    bench.cloud.advance(600)

    def look():
        bench.step("account")
        return [(row.name, row.kind, row.claims) for row in bench.rows(Orphan, gone_at=None)]

    found = [("by-hand", "stack", ours["cohort:resource"])]
    assert look() == found and look() == found, "its own clusters, others' stacks and what is known already are none"
    assert bench.kinds("orphan.") == ["orphan.found"]
    assert bench.cloud_account.stack_status("by-hand") == "CREATE_COMPLETE"
    cloud.delete_stack(StackName="by-hand")
    bench.cloud.advance(600)
    fault(bench, "error_after_success", "ListClusters", times=9)
    assert look() == found, "a list with gaps proves nothing"
    bench.cloud.ask("DELETE", "faults")
    assert look() == []
    assert bench.kinds("orphan.") == ["orphan.found", "orphan.gone"]
