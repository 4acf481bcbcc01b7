"""The whole way, with the agent as a process that speaks to the portal over HTTP and to a real Slurm by its programs."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clusters.actions import cancel_job
from clusters.models import AgentOrder, Job
from clusters.providers import ProviderError
from tenants.wall.acting import acting_for
from tests.clusters.head_node_agent.conftest import Head
from tests.clusters.head_node_agent.place import Place, settle
from tests.slurm.cluster import RealSlurm

pytestmark = pytest.mark.slurm
SCRIPT = """#!/bin/bash
echo "$GREETING from $(hostname), start ${SLURM_RESTART_COUNT:-0}"
sleep 120
"""


@pytest.fixture
def slurm() -> Iterator[RealSlurm]:
    with RealSlurm(nodes=2) as made:
        yield made


@pytest.fixture
def place(world: Any, live_server: Any, settings: Any) -> Place:
    settings.AGENT_SECONDS, settings.AGENT_LOST_SECONDS = 0.2, 4
    return settle(world, partition="workers")


@pytest.fixture
def agent(place: Place, slurm: RealSlurm, live_server: Any, tmp_path: Any, monkeypatch: Any) -> Iterator[Head]:
    made = Head(tmp_path, live_server.url + place.path, token=place.token)
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    made.settings |= {"search_path": slurm.environment["PATH"], "logs": str(slurm.logs), "user": slurm.user}
    made.start()
    yield made
    made.stop()


def stepped(place: Place, job: Job, what: Callable[[Job], Any], seconds: float = 60) -> Job:
    """The job as soon as the engine, stepped by hand, shows it so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        place.step()
        found = place.now(job)
        if what(found):
            return found
        time.sleep(0.2)
    raise AssertionError((found.state, found.engine_state, found.reason, found.unknown_reason, found.log_tail))


def test_a_job_lives_its_whole_life_through_the_agent(place: Place, slurm: RealSlurm, agent: Head):
    job = place.launch(script=SCRIPT, environment={"GREETING": "it's $HOME"})
    running = stepped(place, job, lambda row: row.state == "running" and row.log_tail)
    assert running.log_tail.startswith("it's $HOME from") and running.log_tail.endswith("start 0")
    assert running.external_id == slurm.ask("squeue", "-h", "-o", "%A") and len(running.node_names) == 1
    waiting = place.launch("second", nodes=2, script=SCRIPT)
    queued = stepped(place, waiting, lambda row: row.state == "queued" and row.engine_state == "PENDING")

    place.launcher.hold(place.endpoint, queued.external_id)
    stepped(place, waiting, lambda row: row.reason == "JobHeldUser")
    [held] = [one for one in place.launcher.observe(place.endpoint) if one.external_id == queued.external_id]
    assert held.held
    place.launcher.release(place.endpoint, queued.external_id)
    stepped(place, waiting, lambda row: row.reason != "JobHeldUser")
    with acting_for(place.tenant):
        cancel_job(job=place.now(waiting), by="engine")
    stepped(place, waiting, lambda row: row.state == "cancelled")

    place.launcher.requeue(place.endpoint, running.external_id)
    stepped(place, job, lambda row: row.restarts == 1 and row.state == "running" and "start 1" in row.log_tail)

    node = place.now(job).node_names[0]
    place.launcher.set_node(place.endpoint, node, "down", "xid 79; `reboot`")
    moved = stepped(place, job, lambda row: row.restarts == 2 and row.state == "running" and "start 2" in row.log_tail)
    assert moved.node_names != [node]
    [seen] = [one for one in place.launcher.nodes(place.endpoint) if one.name == node]
    assert (seen.state, seen.reason) == ("down", "xid 79; `reboot`")
    with acting_for(place.tenant):
        cancel_job(job=place.now(job), by="engine")
    stepped(place, job, lambda row: row.state == "cancelled")
    assert len(slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").splitlines()) == 2
    with acting_for(place.tenant, staff=True):
        assert not AgentOrder.objects.filter(answered_at=None).exists()
    with pytest.raises(ProviderError, match="no accounting"):
        place.launcher.ended(place.endpoint, place.now(job).created_at)


def test_while_the_agent_is_away_nothing_is_known_and_afterwards_everything_is(
    place: Place, slurm: RealSlurm, agent: Head
):
    job = place.launch(script="#!/bin/bash\necho begun\nsleep 6\necho over\n")
    stepped(place, job, lambda row: row.state == "running")
    agent.kill()
    silent = stepped(place, job, lambda row: "was last heard at" in row.unknown_reason)
    assert silent.state == "running" and silent.unknown_since
    time.sleep(3)
    agent.start()
    ended = stepped(place, job, lambda row: row.state == "succeeded")
    assert ended.unknown_since is None and ended.log_tail == "begun\nover"
    assert (ended.exit_code, ended.restarts) == (0, 0)
