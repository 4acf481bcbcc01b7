"""The compute fleet of a ParallelCluster on pages and in the API: who may start and stop it, when, and what is shown."""

import json

import pytest
from django.test import Client

from clusters import showing
from clusters.actions import locks
from clusters.models import Cluster, Job
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.work.models import Due
from tests import examples
from tests.clusters.test_pages import BACKEND
from tests.conftest import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(world: World) -> Cluster:
    """A ParallelCluster that is ready, with a fleet that runs and no job."""
    made = examples.make(world, world.hoshi, 1)
    with acting_for(world.hoshi):
        Job.objects.update(state="succeeded")
        Cluster.objects.filter(pk=made["clusters"].pk).update(
            orchestrator="parallelcluster", architecture="parallelcluster-p5", fleet="RUNNING", state="ready"
        )
        return Cluster.objects.get(pk=made["clusters"].pk)


def client(world: World, role: str = "platform_engineer") -> Client:
    found = Client()
    found.force_login(world.person(role), backend=BACKEND)
    return found


def page(cluster: Cluster, tail: str = "") -> str:
    return f"/t/hoshi/clusters/{cluster.pk}/{tail}"


def now(world: World, cluster: Cluster) -> Cluster:
    with acting_for(world.hoshi):
        return Cluster.objects.get(pk=cluster.pk)


def kinds(world: World) -> list[str]:
    with acting_for(world.hoshi):
        return list(
            Entry.objects.filter(kind__startswith="cluster.fleet").order_by("pk").values_list("kind", flat=True)
        )


def asked(world: World, cluster: Cluster, status: str, role: str = "platform_engineer", **more: object):
    body = json.dumps({"status": status, **more})
    return client(world, role).post(
        f"/api/v1/t/hoshi/clusters/{cluster.pk}/fleet/", body, content_type="application/json"
    )


def test_it_is_stopped_with_a_reason_told_in_the_history_and_wished_of_the_engine(world, cluster):
    browser = client(world)
    html = browser.get(page(cluster)).content.decode()
    assert "compute fleet runs" in html and page(cluster, "fleet/stop/") in html
    assert page(cluster, "fleet/start/") not in html
    told = {"stop-why": "the weekend", "stop-version": str(cluster.version)}
    answer = browser.post(page(cluster, "fleet/stop/"), told)
    assert answer.status_code == 303
    found = now(world, cluster)
    assert (found.fleet_wanted, found.generation) == ("stopped", cluster.generation + 1)
    assert kinds(world) == ["cluster.fleet_stop_wished"]
    assert Due.objects.filter(kind="cluster-slow", ref=str(cluster.pk)).exists()
    html = browser.get(page(cluster)).content.decode()
    assert "asked to stop the compute fleet" in html and page(cluster, "fleet/start/") in html
    assert page(cluster, "launch/") not in html  # nothing that would only wait
    assert "data-poll" in html


def test_without_a_reason_it_is_not_stopped(world, cluster):
    answer = client(world).post(page(cluster, "fleet/stop/"), {"stop-version": str(cluster.version)})
    assert answer.status_code == 422 and now(world, cluster).fleet_wanted == "running"


def test_jobs_that_have_not_ended_stand_in_the_way_with_their_numbers(world, cluster):
    with acting_for(world.hoshi):
        Job.objects.update(state="running", nodes=3)
        jobs = Job.objects.count()
    answer = asked(world, cluster, "stopped", why="x")
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["jobs"], problem["nodes"]) == (
        409,
        "jobs_running",
        jobs,
        3 * jobs,
    )
    assert now(world, cluster).fleet_wanted == "running" and kinds(world) == []


def test_the_api_shows_and_moves_it(world, cluster):
    answer = asked(world, cluster, "stopped", why="the weekend")
    assert answer.status_code == 202
    assert (answer.json()["fleet"], answer.json()["fleet_wanted"]) == ("RUNNING", "stopped")
    assert asked(world, cluster, "stopped").json()["code"] == "fleet_stopped"
    assert asked(world, cluster, "running").status_code == 202
    assert asked(world, cluster, "running").json()["code"] == "fleet_running"
    assert kinds(world) == ["cluster.fleet_stop_wished", "cluster.fleet_start_wished"]


def test_an_older_view_of_the_cluster_moves_nothing(world, cluster):
    assert asked(world, cluster, "stopped", version=cluster.version + 7).status_code in (409, 412)
    assert now(world, cluster).fleet_wanted == "running"


@pytest.mark.parametrize("role", ["ml_engineer", "viewer", "auditor"])
def test_who_may_not_operate_sees_no_button_and_moves_nothing(world, cluster, role):
    assert asked(world, cluster, "stopped", role).status_code in (403, 404)
    answer = client(world, role).get(page(cluster))
    assert answer.status_code == 404 or page(cluster, "fleet/stop/") not in answer.content.decode()


@pytest.mark.parametrize("state", ["requested", "creating", "failed", "deleting"])
def test_it_is_moved_only_when_the_cluster_is_there(world, cluster, state):
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=cluster.pk).update(state=state)
    assert asked(world, cluster, "stopped").json()["code"] == "not_ready"
    assert page(cluster, "fleet/stop/") not in client(world).get(page(cluster)).content.decode()


def test_one_thing_at_a_time(world, cluster):
    with acting_for(world.hoshi):
        locks.take(cluster, "change", by=world.person("platform_engineer").actor)
    problem = asked(world, cluster, "stopped").json()
    assert (problem["code"], problem["kind"]) == ("busy", "change")
    assert now(world, cluster).fleet_wanted == "running"


def test_on_hyperpod_there_is_no_button(world, cluster):
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=cluster.pk).update(orchestrator="hyperpod-slurm", fleet="")
    html = client(world).get(page(cluster)).content.decode()
    assert "fleet" not in html
    assert asked(world, cluster, "stopped").json()["code"] == "no_fleet"


def test_one_that_stopped_by_itself_can_be_started(world, cluster):
    for word in ("STOPPED", "PROTECTED"):
        with acting_for(world.hoshi):
            Cluster.objects.filter(pk=cluster.pk).update(fleet=word)
        assert page(cluster, "fleet/start/") in client(world).get(page(cluster)).content.decode()
    assert asked(world, cluster, "running").status_code == 202


def test_every_word_of_the_engine_has_ours():
    import ast
    from pathlib import Path

    # ParallelCluster 3.16.1, pcluster/models/compute_fleet_status_manager.py: the words for Slurm.
    words = ["START_REQUESTED", "STARTING", "RUNNING", "PROTECTED", "STOP_REQUESTED", "STOPPING", "STOPPED"]
    assert set(showing.FLEETS) == set(words)
    installed = list(Path(".pcluster-venv").glob("lib/*/site-packages/pcluster/models/compute_fleet_status_manager.py"))
    for source in installed:
        told = {
            node.value.value
            for node in ast.walk(ast.parse(source.read_text()))
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        }
        assert set(words) <= told
