"""Nodes that failed again and again: what counts as a fault, when it is one too many, and how a node comes back."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.actions import launch_job
from clusters.actions import quarantine as acting
from clusters.engine import job_specs, quarantines
from clusters.jobs import quarantining
from clusters.jobs.quarantining import Fault
from clusters.launchers import LaunchSpec
from clusters.launchers.slurm_dialects import DIALECTS
from clusters.models import (
    Alert,
    CloudAccount,
    Cluster,
    JobRun,
    Node,
    NodeInstance,
    NodeSpell,
    Quarantine,
    Revision,
    SearchedNode,
)
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests import examples
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def ago(days: float = 0, minutes: float = 0) -> Fault:
    return Fault(NOW - timedelta(days=days, minutes=minutes), "alert")


@pytest.mark.parametrize(
    ("faults", "strikes", "held"),
    [
        ([], 0, False),
        ([ago(1), ago(2)], 2, False),
        ([ago(1), ago(2), ago(3)], 3, True),
        ([ago(1), ago(2), ago(8)], 2, False),  # the third lies before the window
        ([ago(1), ago(1, 10), ago(1, 20), ago(2)], 2, False),  # alert, lost job and state of one event
        ([ago(6.9), ago(3), ago(0)], 3, True),
        ([ago(-1), ago(1), ago(2)], 2, False),  # a clock that is wrong is no fault of the node
    ],
)
def test_three_faults_within_a_week_are_one_too_many(faults, strikes, held):
    assert len(quarantining.strikes(faults, NOW, quarantining.Rule())) == strikes
    assert bool(quarantining.condemned(faults, NOW, quarantining.Rule())) == held


@pytest.fixture
def row(world: World) -> Cluster:
    began = timezone.now() - 5 * DAY
    with acting_for(world.hoshi, staff=True):
        account = CloudAccount.objects.create(
            tenant=world.hoshi, account_id="123456789012", role_arn="r", external_id="x"
        )
        made = examples.cluster(world.hoshi, world.participations["hoshi"], account, "train")
        Revision.objects.create(tenant=world.hoshi, cluster=made, number=1, body=examples.BODY, author="engine")
        for seat in (1, 2, 3):
            node = examples.node(made, seat)
            Node.objects.filter(pk=node.pk).update(private_ip=f"10.0.0.{seat}")
            NodeInstance.objects.create(tenant=world.hoshi, node=node, instance_id=node.instance_id, sat_from=began)
    return made


def alert(row: Cluster, days: float, name: str = "GpuNotWell", node: str = "ip-10-0-0-1:9400") -> None:
    at = timezone.now() - timedelta(days=days)
    Alert.objects.create(
        tenant_id=row.tenant_id, cluster=row, fingerprint=f"f{days}{name}", starts_at=at, last_told_at=at, name=name, node=node,
        severity="high",
    )  # fmt: skip


def judged(row: Cluster) -> list[str]:
    with acting_for(row.tenant_id, staff=True):
        return [one.node.name for one in quarantines.judge(row)]


def test_a_node_with_three_faults_is_held_with_its_evidence_and_once(row):
    with acting_for(row.tenant_id, staff=True):
        node = Node.objects.get(seat=1)
        alert(row, 3)
        NodeSpell.objects.create(
            tenant_id=row.tenant_id,
            node=node,
            word="impaired",
            began_at=timezone.now() - 2 * DAY,
            ended_at=timezone.now(),
        )
        at = timezone.now() - DAY
        JobRun.objects.create(
            tenant_id=row.tenant_id, cluster=row, external_id="1", attempt=1, name="p", source="accounting", started_at=at,
            ended_at=at, counted_until=at, engine_state="NODE_FAIL", node_names=["ip-10-0-0-1"], told_at=at,
        )  # fmt: skip
    assert judged(row) == [node.name]
    assert judged(row) == []
    with acting_for(row.tenant_id):
        held = Quarantine.objects.get()
        assert [one["what"] for one in held.evidence] == ["alert", "impaired", "job"]
        assert Entry.objects.get(kind="quarantine.held").facts["node"] == node.name


def test_row_30_a_failed_check_is_evidence_and_the_node_is_checked_again_before_it_is_replaced(row, world):
    client = Client()
    client.force_login(world.person("platform_engineer"), backend=BACKEND)
    with acting_for(row.tenant_id, staff=True):
        Cluster.objects.filter(pk=row.pk).update(state="ready", ready_at=timezone.now())
        Node.objects.filter(cluster=row).update(state="running", role="compute", accelerators=8)
        node = Node.objects.get(seat=1)
        said = [Fault(timezone.now(), "pairs", "EFA loopback")]
        acting.hold_node(node=node, by="engine", reason=acting.FAILED_PAIRS, evidence=said)
    page, again = f"/t/hoshi/clusters/{row.pk}/", f"/t/hoshi/clusters/{row.pk}/searches/?node={node.pk}"
    text = client.get(page).content.decode()
    assert again in text and "EFA loopback" in text
    assert again in client.get(f"{page}nodes/?node={node.pk}&order=replace").content.decode()
    form = client.get(again).content.decode()
    assert "is checked again" in form and len(re.findall(r"<input[^>]* checked", form)) == 3
    asked = client.post(
        f"/api/v1/t/hoshi/clusters/{row.pk}/searches/",
        {"nodes": [str(node.pk)], "reason": "a false alarm?"},
        "application/json",
    )
    assert asked.status_code == 202, asked.content
    assert len(asked.json()["nodes"]) == 3
    with acting_for(row.tenant_id, staff=True):
        began = Entry.objects.get(kind="search.began")
        assert began.facts["why"] == "a false alarm?" and Quarantine.objects.get(lifted_at=None).node_id == node.pk
        tested = SearchedNode.objects.filter(node=node)
        tested.update(verdict="unsure", failed_with=["workers-2"])
    told = client.get(page).content.decode()
    assert "Checked again" in told and "nobody can tell" in told and "failed with workers-2" in told


def test_silence_is_no_fault(row):
    """A node of which nothing is heard, and a cluster whose account does not answer, may be well."""
    with acting_for(row.tenant_id, staff=True):
        for days in (1, 2, 3, 4):
            alert(row, days, name="NodeSilent")
        Cluster.objects.filter(pk=row.pk).update(unknown_since=timezone.now(), unknown_reason="no answer")
    assert judged(row) == []


def test_a_job_on_many_nodes_that_lost_one_says_nothing_of_the_others(row):
    with acting_for(row.tenant_id, staff=True):
        for days in (1, 2, 3):
            at = timezone.now() - timedelta(days=days)
            JobRun.objects.create(
                tenant_id=row.tenant_id, cluster=row, external_id=str(days), attempt=1, source="accounting", started_at=at,
                ended_at=at, counted_until=at, engine_state="NODE_FAIL", node_names=["ip-10-0-0-1", "ip-10-0-0-2"], told_at=at,
            )  # fmt: skip
    assert judged(row) == []


def test_another_instance_in_the_seat_begins_anew(row):
    with acting_for(row.tenant_id, staff=True):
        for days in (1, 2, 3):
            alert(row, days)
    assert len(judged(row)) == 1
    with acting_for(row.tenant_id, staff=True):
        node = Node.objects.get(seat=1)
        Node.objects.filter(pk=node.pk).update(instance_id="i-new")
        NodeInstance.objects.filter(node=node).update(sat_until=timezone.now())
        NodeInstance.objects.create(tenant_id=row.tenant_id, node=node, instance_id="i-new", sat_from=timezone.now())
    assert judged(row) == []
    with acting_for(row.tenant_id):
        assert Quarantine.objects.get().lifted_because == acting.REPLACED


def test_who_was_let_back_is_not_held_again_for_the_same_faults(row):
    with acting_for(row.tenant_id, staff=True):
        for days in (1, 2, 3):
            alert(row, days)
    assert len(judged(row)) == 1
    with acting_for(row.tenant_id, staff=True):
        with pytest.raises(Refused, match="Say why"):
            acting.lift(held=Quarantine.objects.get(), by="engine", reason="  ")
        acting.lift(held=Quarantine.objects.get(), by="engine", reason="reseated")
    assert judged(row) == []
    with acting_for(row.tenant_id, staff=True):
        alert(row, 0)
    assert len(judged(row)) == 1


def test_no_new_job_goes_to_a_node_in_quarantine(row):
    with acting_for(row.tenant_id, staff=True):
        acting.hold_node(node=Node.objects.get(seat=2), by="engine", reason="seen by a person")
        assert quarantines.kept_away(row) == ("ip-10-0-0-2",)
        with pytest.raises(Refused, match="has 2 that are not in quarantine"):
            launch_job(cluster=row, name="p", script="#!/bin/sh", nodes=3, by="engine")
        job = launch_job(cluster=row, name="p", script="#!/bin/sh", nodes=2, by="engine")
        spec = job_specs.spec(job, row)
    assert DIALECTS["v0.0.40"].request(spec)["job"]["excluded_nodes"] == ["ip-10-0-0-2"]
    assert DIALECTS["v0.0.38"].request(spec)["job"]["exclude_nodes"] == "ip-10-0-0-2"
    assert "excluded_nodes" not in DIALECTS["v0.0.40"].request(LaunchSpec("n", "s", 1))["job"]


def test_the_page_shows_why_and_a_person_with_a_reason_lets_it_back(row, world):
    with acting_for(row.tenant_id, staff=True):
        for days in (1, 2, 3):
            alert(row, days)
    judged(row)
    client = Client()
    client.force_login(world.person("platform_engineer"), backend=BACKEND)
    text = client.get(f"/t/hoshi/clusters/{row.pk}/").content.decode()
    assert "In quarantine" in text and "it failed again and again" in text and "3 faults in seven days" in text
    with acting_for(row.tenant_id):
        held = Quarantine.objects.get()
    at = f"/t/hoshi/quarantines/{held.pk}/lift/"
    assert client.post(at, {"why": ""}).status_code == 422
    assert client.post(at, {"why": "the card was reseated"}).status_code == 303
    assert client.post(at, {"why": "again"}).status_code == 409
    with acting_for(row.tenant_id):
        assert Entry.objects.get(kind="quarantine.lifted").facts["what"] == "the card was reseated"
    viewer = Client()
    viewer.force_login(world.person("viewer"), backend=BACKEND)
    assert viewer.get(at).status_code == 403
