"""A cluster's life, one step at a time, in fair weather and in foul."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clusters import actions
from clusters.models import ExternalObject, Job, NodeInstance, Proof, Revision, ServiceQuota
from tenants.history.models import Entry
from tenants.models import Due, Lane
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work.due import LostLease

EKS = {
    "architecture": "hyperpod-eks",
    "instance_groups": [{"name": "workers", "instance_type": "p5.48xlarge", "count": 2}],
}


def test_an_account_tells_its_quotas_and_the_history_says_so(bench):
    bench.step("account")
    quotas = {quota.name: int(quota.value) for quota in bench.rows(ServiceQuota)}
    assert quotas["ml.p5.48xlarge for cluster usage"] == 16
    assert bench.kinds("account.") == ["account.added", "account.read"]
    with acting_for(bench.tenant):
        ServiceQuota.objects.filter(name="ml.p5.48xlarge for cluster usage").update(value=1)
    with CaptureQueriesContext(connection) as queries:
        bench.step("account")
    again = {quota.name: int(quota.value) for quota in bench.rows(ServiceQuota)}
    assert again == quotas
    assert sorted(entry.facts["count"] for entry in bench.rows(Entry, kind="account.read")) == [1, len(quotas)]
    assert len(queries) < 40


def test_a_request_over_the_quota_names_asked_allowed_unit_and_who(bench):
    bench.step("account")
    with pytest.raises(Refused) as refused:
        bench.request(count=17)
    finding = next(each for each in refused.value.facts["findings"] if each["code"] == "type_quota_exceeded")
    assert (finding["asked"], finding["allowed"], finding["unit"], finding["who"]) == (
        17,
        16,
        "instances",
        "account_team",
    )


def test_two_requests_share_one_quota(bench):
    bench.step("account")
    bench.request("one", count=10)
    with pytest.raises(Refused, match="6 are left"):
        bench.request("two", count=7)


def test_a_person_does_not_approve_what_they_asked_for(bench):
    cluster = bench.request()
    asker = bench.world.person("platform_engineer")
    with acting_for(bench.tenant), pytest.raises(Refused) as refused:
        actions.approve_cluster(cluster=cluster, person=asker, by=asker.actor)
    assert refused.value.code == "own_request"


def test_from_approval_to_ready(bench):
    cluster = bench.approved()
    assert bench.look(cluster).state == "creating"
    assert bench.part("base").state == "creating" and bench.part("cluster").state == "intended"
    bench.until(cluster, "ready")
    proofs = {proof.kind: proof.passed for proof in bench.rows(Proof)}
    assert proofs == {"nodes_running": True, "file_system": True, "smoke_job": True}
    assert [node.state for node in bench.nodes()] == ["running"] * 3
    assert bench.now(cluster).nodes_running == 3
    assert (bench.creates(), bench.creates("CreateStack")) == (1, 1)
    steps = [kind for kind in bench.kinds() if kind != "cluster.proof"]
    asked = ["cluster.requested", "cluster.grant_not_set", "cluster.approved"]
    assert steps == [*asked, "cluster.creating", "cluster.ready"]


def until_asked_for(bench, cluster):
    while not bench.rows(ExternalObject, role="cluster", last_call="create"):
        bench.look(cluster, minutes=5)


def test_nothing_is_asked_twice_while_a_cluster_comes_up(bench):
    cluster = bench.approved()
    count = lambda operation: len(bench.cloud.calls(operation=operation, account=bench.cloud_account.id))
    until_asked_for(bench, cluster)
    assert count("DescribeCluster") == 0, "a name that was never asked for is not looked for"
    stacks = count("DescribeStacks")
    assert bench.look(cluster, steps=2, minutes=1).state == "creating"
    assert count("DescribeStacks") == stacks, "what was complete a moment ago is taken as seen"
    assert (count("DescribeCluster"), count("ListTags")) == (2, 0), "whoever bears the id that we were given is ours"
    bench.until(cluster, "ready")
    stacks, tags = count("DescribeStacks"), count("ListTags")
    bench.look(cluster)
    assert count("DescribeStacks") == stacks + 1
    assert count("ListTags") > tags, "at rest everything is asked for"


def test_what_was_complete_is_looked_at_again_after_a_while(bench):
    cluster = bench.approved()
    until_asked_for(bench, cluster)
    bench.cloud.fault("vanished", service="cloudformation", account=bench.cloud_account.id)
    assert bench.look(cluster).state == "creating"
    with acting_for(bench.tenant):
        ExternalObject.objects.filter(role="base").update(last_seen_at=timezone.now() - timedelta(minutes=2))
    bench.look(cluster)
    assert bench.part("base").absences == 1


def test_no_proof_no_ready(bench):
    cluster = bench.approved()
    for _ in range(20):
        bench.look(cluster, minutes=5)  # the jobs are never stepped, so the smoke job is never submitted
    found = bench.now(cluster)
    assert (found.state, found.nodes_running) == ("creating", 3)


def test_a_create_whose_answer_got_lost_is_adopted_not_repeated(bench):
    cluster = bench.approved()
    bench.cloud.fault("timeout_after_success", operation="CreateCluster", account=bench.cloud_account.id, times=2)
    bench.until(cluster, "ready")
    assert bench.creates() == 1


def test_an_error_after_success_is_adopted_too(bench):
    cluster = bench.approved()
    bench.cloud.fault("error_after_success", operation="CreateStack", account=bench.cloud_account.id, times=1)
    bench.until(cluster, "ready")
    assert bench.creates("CreateStack") == 1


def test_throttling_cools_the_account_and_counts_no_attempt(bench):
    cluster = bench.approved()
    bench.cloud.fault("throttling", operation="CreateStack", account=bench.cloud_account.id, times=4)
    bench.look(cluster)
    assert bench.creates("CreateStack") == 0
    bench.until(cluster, "ready")


def test_expired_credentials_are_renewed(bench):
    cluster = bench.approved()
    bench.look(cluster)
    bench.cloud.fault("expired_token", account=bench.cloud_account.id, times=1)
    bench.until(cluster, "ready")


def test_lost_contact_is_said_and_changes_nothing(bench):
    cluster = bench.approved()
    bench.until(cluster, "ready")
    bench.cloud.fault("timeout_after_success", operation="DescribeStacks", account=bench.cloud_account.id, times=2)
    lost = bench.look(cluster)
    assert lost.state == "ready" and lost.unknown_since and lost.unknown_reason
    found = bench.look(cluster)
    assert found.state == "ready" and found.unknown_since is None
    assert bench.kinds()[-2:] == ["cluster.contact_lost", "cluster.contact_back"]


def told(cluster):
    return {each["type"]: (each["status"], each["sentence"]) for each in cluster.conditions}


def test_nobody_knows_whether_it_fits_while_the_account_does_not_answer(bench):
    cluster = bench.until(bench.approved(), "ready")
    assert told(cluster)["Fits"] == ("yes", "")
    bench.cloud.fault("timeout_after_success", operation="DescribeStacks", account=bench.cloud_account.id, times=2)
    lost = bench.look(cluster)
    assert told(lost)["Fits"] == ("unknown", lost.unknown_reason)
    assert told(bench.look(cluster))["Fits"] == ("yes", "")


def wished_anew(bench, cluster, gib):
    """Another revision with so much storage, and the generation that asks for it."""
    with acting_for(bench.tenant):
        newest = Revision.objects.filter(cluster=cluster).order_by("-number").first()
        body = {
            **newest.body,
            "storage": {**newest.body["storage"], "lustre": {"capacity_gib": gib, "mbs_per_tib": 250}},
        }
        Revision.objects.create(
            tenant=bench.tenant, cluster=cluster, number=newest.number + 1, body=body, author="engine"
        )
        actions.retry_cluster(cluster=cluster, by="engine")


def test_an_update_that_the_provider_undid_is_told_and_tried_again_when_wished_anew(bench):
    cluster = bench.until(bench.approved(storage={"lustre": {"capacity_gib": 4800, "mbs_per_tib": 250}}), "ready")
    wished_anew(bench, cluster, 2400)
    assert bench.look(cluster).state == "updating"
    refused = bench.until(cluster, "ready")
    assert bench.part("base").status == "UPDATE_ROLLBACK_COMPLETE"
    assert told(refused)["Current"][0] == "no" and "only be increased" in told(refused)["Current"][1]
    assert "only be increased" in refused.needs_person
    updates = bench.creates("UpdateStack")
    again = bench.look(cluster, steps=3)
    assert (again.state, told(again)["Current"], bench.creates("UpdateStack")) == (
        "ready",
        told(refused)["Current"],
        updates,
    )
    with acting_for(bench.tenant):
        actions.retry_cluster(cluster=cluster, by="engine")
    bench.look(cluster)
    assert bench.creates("UpdateStack") == updates + 1
    bench.until(cluster, "ready")
    wished_anew(bench, cluster, 4800)  # what it has: there is nothing to update, and it is current
    bench.look(cluster)
    current = bench.until(cluster, "ready")
    assert told(current)["Current"] == ("yes", "") and current.needs_person == ""


def test_a_vanished_cluster_is_reported_and_not_rebuilt(bench, settings):
    cluster = bench.approved()
    bench.until(cluster, "ready")
    settings.CONSISTENCY_SECONDS = 0
    bench.cloud.fault("vanished", service="sagemaker", account=bench.cloud_account.id, match=bench.part("cluster").name)
    bench.look(cluster, steps=3)
    found = bench.now(cluster)
    assert found.state == "degraded" and "nobody here asked" in found.needs_person
    assert bench.creates() == 1
    assert {node.state for node in bench.nodes()} == {"gone"}


def vanished(bench, cluster, settings):
    settings.CONSISTENCY_SECONDS = 0
    bench.cloud.fault("vanished", service="sagemaker", account=bench.cloud_account.id, match=bench.part("cluster").name)
    return bench.look(cluster, steps=3)


def test_not_found_once_says_nothing_about_the_nodes(bench):
    cluster = bench.approved()
    bench.until(cluster, "ready")
    bench.cloud.fault("vanished", service="sagemaker", account=bench.cloud_account.id, match=bench.part("cluster").name)
    assert bench.look(cluster).state == "ready"
    assert {node.state for node in bench.nodes()} == {"running"}


def test_a_vanished_cluster_is_made_again_when_a_person_says_so(bench, settings):
    cluster = bench.approved()
    bench.until(cluster, "ready")
    first = bench.part("cluster").name
    degraded = vanished(bench, cluster, settings)
    with acting_for(bench.tenant):
        actions.retry_cluster(cluster=degraded, by="engine", why="we need it")
    bench.until(cluster, "ready", steps=60)
    again = bench.part("cluster")
    assert (again.state, again.incarnation) == ("exists", 2) and again.name != first
    assert bench.creates() == 2


def launched(bench, cluster, name="training"):
    with acting_for(bench.tenant):
        return actions.launch_job(cluster=cluster, name=name, script="#!/bin/bash\nsleep 9000", nodes=1, by="engine")


def test_jobs_end_with_their_cluster_which_can_then_be_retired(bench, settings):
    cluster = bench.until(bench.approved(), "ready")
    job = launched(bench, cluster)
    bench.step("jobs")
    degraded = vanished(bench, cluster, settings)
    with acting_for(bench.tenant), pytest.raises(Refused, match="still running"):
        actions.retire_cluster(cluster=degraded, by="engine", why="gone anyway")
    bench.step("jobs")
    ended = bench.rows(Job, pk=job.pk)[0]
    assert ended.state == "failed" and "cluster it ran on is gone" in ended.reason
    assert Due.objects.get(kind="jobs", ref=cluster.pk).due_at is None
    with acting_for(bench.tenant):
        actions.retire_cluster(cluster=degraded, by="engine", why="gone anyway")


def test_no_job_is_launched_on_a_cluster_that_is_to_be_deleted(bench):
    cluster = bench.until(bench.approved(), "ready")
    with acting_for(bench.tenant):
        actions.retire_cluster(cluster=cluster, by="engine", why="over")
    with pytest.raises(Refused, match="is being deleted"):
        launched(bench, cluster)


def test_a_ready_cluster_tried_again_is_proven_again(bench):
    cluster = bench.until(bench.approved(**EKS), "ready")
    with acting_for(bench.tenant):
        actions.retry_cluster(cluster=cluster, by="engine")
    found = bench.until(cluster, "ready") if bench.look(cluster, steps=3).state != "ready" else bench.now(cluster)
    assert (found.state, found.generation, found.proven) == ("ready", 2, 2)
    smoke = sorted((job.state, job.external_id.split("/")[0], job.nodes) for job in bench.jobs())
    assert smoke == [("succeeded", "ptj", 2)] * 2


def test_a_throttled_look_cools_the_account(bench):
    cluster = bench.approved()
    bench.look(cluster)
    bench.cloud.fault("throttling", operation="DescribeStacks", account=bench.cloud_account.id, times=4)
    bench.look(cluster)
    assert Lane.objects.get().name == cluster.lane


def test_things_are_held_before_the_row_that_waits(bench):
    """As in the actions: two that hold the same in another order would wait for each other."""
    cluster = bench.approved()
    with CaptureQueriesContext(connection) as first:
        bench.look(cluster)
    bench.until(cluster, "ready")
    launched(bench, cluster)
    with CaptureQueriesContext(connection) as second:
        bench.step("jobs")
    told = [query["sql"] for query in (*first, *second)]
    ends = [at for at, sql in enumerate(told) if "update tenants_due set leased_until" in sql]
    assert len(ends) == 5  # the preflight, the intent and the end of the first; the intent and the end of the second
    for at in ends:
        begun = max(before for before in range(at) if told[before].startswith("SAVEPOINT"))
        assert any("FOR UPDATE" in sql or sql.startswith('UPDATE "clusters_') for sql in told[begun:at]), told[
            begun : at + 1
        ]


def test_no_capacity_waits_and_says_why(bench):
    cluster = bench.approved()
    bench.cloud.fault("no_capacity", operation="CreateCluster", account=bench.cloud_account.id, times=1)
    for _ in range(8):
        found = bench.look(cluster, minutes=5)
        if found.state == "failed" or any(
            each["type"] == "Fits" and each["status"] == "no" for each in found.conditions
        ):
            break
    assert "capacity" in str(found.conditions).lower()


def test_a_failed_cluster_is_tried_again_by_a_person(bench, settings):
    settings.CONSISTENCY_SECONDS = 0
    cluster = bench.approved()
    bench.cloud.fault("resource_fails", service="cloudformation", account=bench.cloud_account.id, times=1)
    failed = bench.until(cluster, "failed")
    with acting_for(bench.tenant):
        actions.retry_cluster(cluster=failed, by="engine", why="once more")
    bench.until(cluster, "ready", steps=60)
    assert bench.part("base").incarnation == 2


def test_a_replaced_node_keeps_its_seat(bench):
    cluster = bench.approved()
    bench.until(cluster, "ready")
    worker = next(node for node in bench.nodes() if node.group == "workers")
    bench.cloud.fault("node_failure", account=bench.cloud_account.id, match=worker.instance_id)
    assert bench.look(cluster).state == "degraded"
    bench.until(cluster, "ready")
    after = next(node for node in bench.nodes() if node.pk == worker.pk)
    assert after.state == "running" and after.instance_id != worker.instance_id
    assert len(bench.rows(NodeInstance, node=worker)) == 2


def test_retired_is_gone_part_by_part(bench, settings):
    settings.CONSISTENCY_SECONDS = 0
    cluster = bench.approved()
    bench.until(cluster, "ready")
    with acting_for(bench.tenant):
        actions.retire_cluster(cluster=cluster, by="engine", why="the project is over")
    assert bench.look(cluster).state == "deleting"
    bench.until(cluster, "deleted")
    assert {part.state for part in bench.rows(ExternalObject)} == {"gone"}
    assert bench.kinds()[-4:] == ["cluster.retired", "cluster.deleting", "cluster.deleted", "cluster.leftovers"]


def test_a_denied_role_needs_a_person(bench):
    cluster = bench.approved()
    bench.cloud_account.shut_out_the_hub()
    found = bench.look(cluster)
    assert found.needs_person and found.state == "approved"


def test_what_was_found_out_after_the_lease_is_thrown_away(bench, monkeypatch):
    cluster = bench.approved()
    from django.db import connection

    from clusters.engine import step

    real = step.look

    def slow(known):
        with connection.cursor() as cursor:  # the lease ends and somebody else claims it while we look
            cursor.execute("update tenants_due set epoch = epoch + 1 where kind = 'cluster'")
        return real(known)

    monkeypatch.setattr(step, "look", slow)
    with pytest.raises(LostLease):
        bench.look(cluster)
    assert bench.now(cluster).state == "approved"
    assert bench.creates("CreateStack") == 0


def test_every_step_stands_in_the_history_of_its_tenant_alone(bench):
    cluster = bench.approved()
    bench.until(cluster, "ready")
    with acting_for(bench.world.umi, staff=True):
        assert not Entry.objects.exists()
    parts = bench.kinds("part.")
    assert parts.count("part.creating") == 2 and parts.count("part.exists") == 2
