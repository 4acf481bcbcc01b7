"""After a failure the pages and the API offer what the engine takes, and say of the rest why not and what to do."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import (
    Cluster,
    ExternalObject,
    Job,
    Leftover,
    Node,
    NodeInstance,
    Operation,
    Reservation,
    Revision,
)  # fmt: skip
from tenants.wall.acting import acting_for
from tenants.work.models import Due
from tests.clusters.test_pages import hoshi, page_of, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]
STUCK = [{"resource": "Lustre", "type": "AWS::FSx::FileSystem", "reason": "Storage capacity can only be increased."}]


@pytest.fixture
def stopped(world: World, hoshi: Examples) -> Cluster:
    """The rollback of its base stack stopped at the file system."""
    cluster = hoshi["clusters"]
    with acting_for(world.hoshi):
        Operation.objects.filter(cluster=cluster, state__in=["waiting", "running"]).delete()
        columns = {"status": "UPDATE_ROLLBACK_FAILED", "stuck": STUCK, "existed": True, "state": "failed"}
        part = ExternalObject.objects.filter(cluster=cluster).first()
        ExternalObject.objects.filter(pk=part.pk).update(role="base", kind="stack", **columns)
        Job.objects.filter(cluster=cluster).update(state="succeeded")
        Cluster.objects.filter(pk=cluster.pk).update(state="degraded", needs_person="Lustre: it does not shrink.")
        return Cluster.objects.get(pk=cluster.pk)


def test_the_page_offers_the_way_out_and_it_begins_an_operation(world: World, stopped: Cluster) -> None:
    client, here = signed_in(world.person("platform_engineer")), page_of(stopped)
    page = client.get(here).content.decode()
    assert f"{here}continue-rollback/" in page and "Lustre: it does not shrink." in page
    assert f"{here}change/" not in page and f"{here}rollback/" not in page
    shut = client.get(f"{here}change/").content.decode()
    assert "UPDATE_ROLLBACK_FAILED" in shut and "Go on with the rollback first" in shut
    asked = client.get(f"{here}continue-rollback/").content.decode()
    assert "can only be increased" in asked and "CloudFormation then believes something" in asked
    answer = client.post(f"{here}continue-rollback/", {"skip": "Lustre", "why": "it stays", "version": stopped.version})
    assert answer.status_code == 303, answer.content.decode()
    with acting_for(world.hoshi):
        made = Operation.objects.get(cluster=stopped, kind="continue")
        assert (made.state, made.body["skip"], made.body["part"]) == ("running", ["Lustre"], "base")
    again = client.post(f"{here}continue-rollback/", {"why": "again"})
    assert again.status_code == 409 and "One thing at a time" in again.content.decode()
    assert "nothing to roll back" in client.get(f"{here}rollback/").content.decode()


def test_the_api_says_of_every_deed_whether_and_why_not(world: World, stopped: Cluster) -> None:
    client, address = signed_in(world.person("platform_engineer")), f"/api/v1/t/hoshi/clusters/{stopped.pk}"
    told = {each["deed"]: each for each in client.get(f"{address}/deeds/").json()["deeds"]}
    assert told["continue"]["possible"] and told["retire"]["possible"]
    assert told["change"]["code"] == "part_stopped" and "Go on with the rollback first" in told["change"]["why"]
    body = json.dumps({"why": "x", "skip": ["Vpc"]})
    refused = client.post(f"{address}/continue-rollback/", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (422, "not_stuck")
    none = client.post(f"{address}/rollback/", json.dumps({"why": "x"}), content_type="application/json")
    assert (none.status_code, none.json()["code"]) == (409, "nothing_stopped")
    body = json.dumps({"why": "it stays", "skip": ["Lustre"]})
    taken = client.post(f"{address}/continue-rollback/", body, content_type="application/json")
    assert (taken.status_code, taken.json()["kind"]) == (202, "continue")


def test_who_waits_for_the_owner_sees_since_when_and_can_let_go(world: World, stopped: Cluster) -> None:
    client, here = signed_in(world.person("platform_engineer")), page_of(stopped)
    with acting_for(world.hoshi):
        Operation.objects.create(
            tenant=world.hoshi, cluster=stopped, kind="change", state="running", asked_by="engine",
            denied_since="2026-11-30T10:00:00Z", started_at="2026-11-30T09:00:00Z",
        )  # fmt: skip
    page = client.get(here).content.decode()
    assert "Waiting for the account&#x27;s owner since" in page or "Waiting for the account's owner since" in page
    assert "Let it go" in page and f"{here}give-up/" in page


def test_what_is_left_is_summed_listed_and_looked_for_again(world: World, stopped: Cluster) -> None:
    client, here = signed_in(world.person("platform_engineer")), page_of(stopped)
    address = f"/api/v1/t/hoshi/clusters/{stopped.pk}/leftovers/"
    early = client.post(f"{address}look/", "{}", content_type="application/json")
    assert (early.status_code, early.json()["code"]) == (409, "not_deleted")
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=stopped.pk).update(state="deleted", wanted=False)
        for name, monthly in (("fs-1", "300.00"), ("backup-1", "7.50"), ("bucket-1", None)):
            Leftover.objects.create(
                tenant=world.hoshi, cluster=stopped, kind="AWS::FSx::FileSystem", external_id=name, why="kept",
                monthly=monthly, found_at="2026-11-30T10:00:00Z",
            )  # fmt: skip
    page = client.get(here).content.decode()
    assert "307.50" in page
    assert "without a price" in page
    assert f"{here}leftovers/" in page
    rows = client.get(address).json()["results"]
    assert {(row["external_id"], row["monthly"]) for row in rows} >= {
        ("fs-1", "300.00"), ("backup-1", "7.50"), ("bucket-1", None)
    }  # fmt: skip
    assert client.post(f"{here}leftovers/").status_code == 303
    assert Due.objects.filter(kind="leftovers", ref=str(stopped.pk)).exists()


def test_a_cluster_whose_configuration_cannot_be_read_can_be_retired(world: World, stopped: Cluster) -> None:
    client, here = signed_in(world.person("platform_engineer")), page_of(stopped)
    with acting_for(world.hoshi):
        Revision.objects.create(
            tenant=world.hoshi, cluster=stopped, number=99, body={"architecture": "lost"}, author="engine"
        )
    assert client.get(here).status_code == 200
    assert "Retire it" in client.get(f"{here}change/").content.decode()
    page = client.get(f"{here}retire/").content.decode()
    assert "cannot be read any more" in page and "What is listed is what was asked for" in page
    answer = client.post(f"{here}retire/", {"retire-why": "lost", "retire-version": stopped.version})
    assert answer.status_code == 303, answer.content.decode()


def test_row_58_a_fleet_that_protects_itself_says_how_often_it_failed_and_the_way_out(
    world: World, hoshi: Examples
) -> None:
    cluster, now = hoshi["clusters"], timezone.now()
    client, here = signed_in(world.person("platform_engineer")), page_of(cluster)
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=cluster.pk).update(orchestrator="parallelcluster", fleet="PROTECTED", state="ready")
        Operation.objects.filter(cluster=cluster, state__in=["waiting", "running"]).delete()
        node = Node.objects.filter(cluster=cluster).first()
        for number, (begun, stayed) in enumerate(((60, 12), (40, 12), (20, 12), (600, 90), (3000, 12))):
            sat = {"sat_from": now - timedelta(minutes=begun), "sat_until": now - timedelta(minutes=begun - stayed)}
            NodeInstance.objects.create(tenant=world.hoshi, node=node, instance_id=f"i-{number}", **sat)
    page = client.get(here).content.decode()
    assert "The compute fleet protects itself" in page
    assert (
        "3 instances came and went within half an hour" in page
    )  # not the one that worked, and none of the day before
    assert (
        page.index("Mend it")
        < page.index("Start the fleet. Waiting jobs")
        < page.index("a start alone does not always")
    )
    assert f"{here}fleet/start/" in page
    assert client.get(f"{here}fleet/start/").status_code == 200
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=cluster.pk).update(fleet="RUNNING")
    assert "protects itself" not in client.get(here).content.decode()


def test_rows_7_and_9_a_cluster_and_its_jobs_say_when_their_capacity_ends(world: World, hoshi: Examples) -> None:
    cluster, now = hoshi["clusters"], timezone.now()
    client = signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi, staff=True):
        revision = Revision.objects.filter(cluster=cluster).order_by("-number").first()
        group = revision.body["instance_groups"][-1]
        plan = Reservation.objects.filter(kind="training_plan").first() or Reservation.objects.first()
        held = {"kind": "training_plan", "region": cluster.region, "ends_at": now + timedelta(hours=5)}
        Reservation.objects.filter(pk=plan.pk).update(**held)
        group["training_plan"] = plan.external_id
        Revision.objects.create(
            tenant=world.hoshi, cluster=cluster, number=revision.number + 1, body=revision.body, author="engine"
        )
        job = Job.objects.filter(cluster=cluster).first()
        Job.objects.filter(pk=job.pk).update(state="running", partition=group["name"])
    for page in (page_of(cluster), f"/t/hoshi/jobs/{job.pk}/"):
        text = client.get(page).content.decode()
        assert f"The training plan {plan.external_id} ends" in text and "or save checkpoints" in text
    with acting_for(world.hoshi, staff=True):
        Reservation.objects.filter(pk=plan.pk).update(ends_at=now + timedelta(minutes=20))
    assert f"The training plan {plan.external_id} is ending." in client.get(page_of(cluster)).content.decode()
