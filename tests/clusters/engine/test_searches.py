"""A bad node found by pairs on the sandbox's own scheduler, held and offered for replacement; and what that used, counted."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.accounting.time_classes import ORDER
from clusters.actions import launch_job, searches
from clusters.engine.usage_facts import scheduler_name
from clusters.models import (
    AccountingRead,
    ContainerImage,
    Job,
    JobRun,
    Node,
    NodeSearch,
    PairTest,
    Quarantine,
    SearchedNode,
    UsageDay,
)
from support.models import Case
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def ended(bench):
    for _ in range(40):
        bench.step("search")
        bench.step("jobs")
        bench.cloud.advance(20)
        if not bench.rows(NodeSearch, state="running"):
            break


def test_a_bad_node_is_named_by_pairs_held_and_offered_for_replacement(bench):
    cluster = bench.until(bench.approved(count=5), "ready")
    nodes = sorted(bench.rows(Node, role="compute"), key=lambda node: node.seat)
    with acting_for(bench.tenant, staff=True):
        busy = launch_job(cluster=cluster, name="train", script="#!/bin/bash\nsleep 100h", nodes=1, by="engine")
    for _ in range(2):
        bench.step("jobs")
        bench.cloud.advance(60)
    bench.step("jobs")
    [used] = bench.rows(Job, pk=busy.pk)
    assert used.state == "running" and used.node_names
    [taken] = [node for node in nodes if scheduler_name(node) in used.node_names]
    bad = next(node for node in nodes if node != taken)
    bench.cloud.fault("job_fails", service="slurm", match=scheduler_name(bad), times=50)
    with acting_for(bench.tenant, staff=True):
        assert taken.pk not in {node.pk for node in searches.candidates(cluster)}
        searches.begin_search(cluster=cluster, by="engine", reason="it hung")
        with pytest.raises(Refused, match="under way"):
            searches.begin_search(cluster=cluster, by="engine")
    ended(bench)
    [search] = bench.rows(NodeSearch)
    assert (search.state, search.outcome, search.rounds) == ("done", bad.name, 2)
    [named] = bench.rows(SearchedNode, verdict="named")
    assert (named.node_id, named.sure, len(named.failed_with)) == (bad.pk, "certain", 2)
    assert len(bench.rows(SearchedNode, verdict="cleared")) == 3
    assert taken.pk not in {one for test in bench.rows(PairTest) for one in (test.left_id, test.right_id)}
    assert [held.node_id for held in bench.rows(Quarantine)] == [bad.pk]
    assert bench.rows(Job, pk=busy.pk)[0].state == "running"
    assert bench.rows(Case) == []  # a failed pair is an answer, no failed job of anybody's

    client = Client()
    client.force_login(bench.world.person("platform_engineer"), backend=BACKEND)
    text = client.get(f"/t/hoshi/searches/{search.pk}/").content.decode()
    assert f"order=replace&amp;node={bad.pk}" in text and "certain" in text and bad.name in text

    # It was a false alarm: checked again, alone and with partners of our choice, it passes and is let back.
    bench.cloud.ask("DELETE", "faults")
    with acting_for(bench.tenant, staff=True):
        again = searches.begin_search(cluster=cluster, by="engine", reason="a false alarm?", nodes=[bad.pk])
    ended(bench)
    checked = bench.rows(SearchedNode, search=again)
    assert len(checked) == 4 and {one.verdict for one in checked} == {"cleared"}
    [held] = bench.rows(Quarantine)
    assert held.lifted_at and held.lifted_by == "engine"

    bench.step("usage")
    days = bench.rows(UsageDay)
    assert days and all(day.reserved == sum(getattr(day, name) for name in ORDER) for day in days)
    assert {run.job_id for run in bench.rows(JobRun)} >= {test.job_id for test in bench.rows(PairTest)}
    assert bench.rows(AccountingRead)[0].asked_at > timezone.now() - timedelta(minutes=5)


def test_without_two_free_nodes_no_search_begins(bench):
    cluster = bench.until(bench.approved(count=2), "ready")
    with acting_for(bench.tenant, staff=True):
        launch_job(cluster=cluster, name="train", script="#!/bin/bash\nsleep 100h", nodes=1, by="engine")
    for _ in range(3):
        bench.step("jobs")
        bench.cloud.advance(60)
    with acting_for(bench.tenant, staff=True), pytest.raises(Refused, match="you chose 1 of 1 groups"):
        searches.begin_search(cluster=cluster, by="engine")


def test_pairs_on_kubernetes_run_on_the_nodes_that_they_are_meant_for(bench):
    digest = f"sha256:{'d' * 64}"
    uri = f"{bench.cloud_account.id}.dkr.ecr.ap-northeast-1.amazonaws.com/train@{digest}"
    groups = [{"name": "workers", "instance_type": "p5.48xlarge", "count": 3}]
    body = {"architecture": "hyperpod-eks", "instance_groups": groups}
    cluster = bench.until(bench.approved(**body), "ready", steps=60)
    with acting_for(bench.tenant, staff=True), pytest.raises(Refused, match="no image is named for it"):
        searches.begin_search(cluster=cluster, by="engine")
    with acting_for(bench.tenant, staff=True):
        ContainerImage.objects.create(
            tenant=bench.tenant, cluster=cluster, name="train", registry=uri.partition("/")[0], repository="train",
            digest=digest, revision=1,
        )  # fmt: skip
        nodes = sorted(bench.rows(Node, role="compute"), key=lambda node: node.seat)
        bad = nodes[1]
        bench.cloud.fault("job_fails", service="kubernetes", match=f"hyperpod-{bad.instance_id}", times=50)
        searches.begin_search(cluster=cluster, by="engine", reason="it hung")
    ended(bench)
    [search] = bench.rows(NodeSearch)
    assert (search.state, search.outcome) == ("done", bad.name)
    for test in bench.rows(PairTest):
        [job] = bench.rows(Job, pk=test.job_id)
        sat_on = {node.instance_id for node in nodes if node.pk in (test.left_id, test.right_id)}
        assert set(job.node_names) == {f"hyperpod-{instance}" for instance in sat_on} == set(job.pinned)
    assert {row.verdict for row in bench.rows(SearchedNode)} == {"named", "cleared"}
