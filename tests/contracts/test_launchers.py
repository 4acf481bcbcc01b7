"""What every launcher keeps, run against the scheduler of a cluster in the sandbox cloud."""

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from clusters.access import slurm_endpoint
from clusters.architectures.configuration import read_configuration
from clusters.architectures.parts import Wiring, parts
from clusters.launchers import JobSeen, Launcher, LaunchSpec, SlurmEndpoint
from clusters.launchers.slurm import Slurm
from clusters.providers import Account, Part, ProviderError, adapter
from tests.contracts.conftest import Sandbox, let_in

REGION = "ap-northeast-1"
TAGS = {"cohort:installation": "contract", "cohort:tenant": "hoshi"}
ENDS = ("succeeded", "failed", "cancelled", "timed_out")
WORKERS = 2
_names = itertools.count(1)


@dataclass
class Bench:
    """One launcher and a cluster of two workers to launch on."""

    cloud: Sandbox
    account: Account
    endpoint: SlurmEndpoint
    cluster: str
    launcher: Launcher

    def spec(self, script: str = "sleep 60", nodes: int = 1, **more: object) -> LaunchSpec:
        text = f"#!/bin/bash\n{script}\n"
        return LaunchSpec(f"job-{next(_names)}", text, nodes, "workers", **more)  # type: ignore[arg-type]

    def seen(self, name: str) -> JobSeen | None:
        found = [job for job in self.launcher.observe(self.endpoint) if job.name == name]
        assert len(found) <= 1, "one name is one job"
        return found[0] if found else None

    def until(self, name: str, wanted: Callable[[JobSeen], object], minutes: int = 40) -> JobSeen:
        for _ in range(minutes):
            job = self.seen(name)
            if job and wanted(job):
                return job
            self.cloud.later(1)
        raise AssertionError(f"{name} is still {job}")

    def end(self, name: str) -> JobSeen:
        return self.until(name, lambda job: job.state in ENDS)

    def fault(self, fault: str, operation: str = "POST job/submit", times: int = 1) -> None:
        self.cloud.fault(fault, service="slurm", operation=operation, account=self.account.account_id, times=times)

    def submissions(self, name: str) -> int:
        calls = self.cloud.journal("POST job/submit", self.account.account_id, effective=True)
        return sum(call["parameters"].get("name") == name for call in calls)


def make(cloud: Sandbox, number: str) -> Bench:
    told = {
        "architecture": "hyperpod-slurm",
        "region": REGION,
        "az_id": "apne1-az4",
        "instance_groups": [
            {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
            {"name": "workers", "instance_type": "m5.8xlarge", "count": WORKERS},
        ],
    }
    wish, account = read_configuration(told), let_in(cloud, number, REGION)
    names = {"base": f"cohort-{number}-base", "cluster": f"cohort-{number}"}
    outputs: dict[str, dict[str, str]] = {}
    for spec in parts(wish.made_of(), wish):
        body = spec.body(Wiring(number, account.role_arn, names, outputs))
        part = Part(spec.kind, names[spec.role], f"create-{spec.role}", TAGS, body)
        adapter(spec.kind).create(account, part)
        assert spec.role != "cluster" or slurm_endpoint(account, names["cluster"]) is None
        for _ in range(40):
            seen = adapter(spec.kind).look(account, part)
            if seen.phase != "busy":
                break
            cloud.later(4)
        assert seen.phase == "ready", seen
        outputs[spec.role] = dict(seen.outputs)
    endpoint = slurm_endpoint(account, names["cluster"])
    assert endpoint
    return Bench(cloud, account, endpoint, names["cluster"], Slurm())


_made: dict[str, Bench] = {}


@pytest.fixture
def bench(cloud: Sandbox) -> Bench:
    """The same cluster for all tests, with nothing running on it."""
    if cloud.url not in _made:
        _made[cloud.url] = make(cloud, "300000000001")
    bench = _made[cloud.url]
    for job in bench.launcher.observe(bench.endpoint):
        if job.state not in ENDS:
            bench.launcher.cancel(bench.endpoint, job.external_id)
    return bench


def raised(call: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as told:
        call()
    return told.value


def test_a_cluster_tells_how_its_scheduler_is_reached(bench):
    assert bench.endpoint.user == "cohort"
    assert bench.endpoint.log_group == f"/cohort/clusters/{bench.cluster}/jobs"
    assert len(bench.endpoint.jwt_key) >= 32


def test_a_job_runs_on_as_many_nodes_as_asked_and_succeeds(bench):
    spec = bench.spec("sleep 300", nodes=2, time_limit_minutes=30)
    told = bench.launcher.submit(bench.endpoint, spec)
    running = bench.until(spec.name, lambda job: job.state == "running")
    assert (running.external_id, len(running.nodes)) == (told, 2)
    assert running.started_at and not running.ended_at and running.exit_code is None
    ended = bench.end(spec.name)
    assert (ended.state, ended.engine_state, ended.exit_code) == ("succeeded", "COMPLETED", 0)
    assert ended.submitted_at <= ended.started_at <= ended.ended_at


def test_to_submit_twice_is_to_submit_once_also_when_the_job_has_ended(bench):
    spec = bench.spec("sleep 30")
    told = bench.launcher.submit(bench.endpoint, spec)
    assert bench.launcher.submit(bench.endpoint, spec) == told
    bench.end(spec.name)
    assert bench.launcher.submit(bench.endpoint, spec) == told
    assert bench.submissions(spec.name) == 1


@pytest.mark.parametrize("fault", ["timeout_after_success", "error_after_success"])
def test_a_submission_whose_answer_is_lost_is_unclear_and_found_by_its_name(bench, fault):
    spec = bench.spec()
    bench.fault(fault)
    assert raised(lambda: bench.launcher.submit(bench.endpoint, spec)).kind == "unclear"
    job = bench.seen(spec.name)
    assert bench.launcher.submit(bench.endpoint, spec) == job.external_id
    assert bench.submissions(spec.name) == 1


def test_a_submission_that_never_arrived_can_be_made_again(bench):
    spec = bench.spec()
    bench.fault("no_answer")
    assert raised(lambda: bench.launcher.submit(bench.endpoint, spec)).kind == "unclear"
    assert bench.seen(spec.name) is None
    assert bench.launcher.submit(bench.endpoint, spec)
    assert bench.submissions(spec.name) == 1


@pytest.mark.parametrize(
    ("script", "state", "engine_state", "exit_code"),
    [
        ("echo begun\nsleep 20\nexit 3", "failed", "FAILED", 3),
        ("sleep 10\nexit 0", "succeeded", "COMPLETED", 0),
    ],
)
def test_an_end_is_told_in_our_word_and_in_the_engines(bench, script, state, engine_state, exit_code):
    spec = bench.spec(script)
    bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    assert (ended.state, ended.engine_state, ended.exit_code) == (state, engine_state, exit_code)


def test_a_killed_job_failed_and_tells_its_signal_or_code(bench):
    spec = bench.spec("sleep 10\nkill -9 $$")
    bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    assert ended.state == "failed"
    assert ended.signal == 9 or ended.exit_code == 137


def test_a_job_that_outlives_its_limit_is_timed_out(bench):
    spec = bench.spec("sleep 3600", time_limit_minutes=2)
    bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    assert (ended.state, ended.engine_state) == ("timed_out", "TIMEOUT")


def test_a_job_waits_while_the_nodes_are_taken(bench):
    first, second = bench.spec("sleep 600", nodes=2), bench.spec("sleep 10")
    bench.launcher.submit(bench.endpoint, first)
    bench.launcher.submit(bench.endpoint, second)
    waiting = bench.seen(second.name)
    assert (waiting.state, waiting.engine_state) == ("queued", "PENDING")
    assert waiting.reason and not waiting.started_at
    assert bench.end(second.name).state == "succeeded"


def test_a_cancelled_job_is_cancelled_and_may_be_cancelled_again(bench):
    spec = bench.spec("sleep 600")
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.launcher.cancel(bench.endpoint, told)
    assert bench.end(spec.name).state == "cancelled"
    bench.launcher.cancel(bench.endpoint, told)
    bench.launcher.cancel(bench.endpoint, "999999")


def test_what_the_scheduler_refuses_is_refused_in_its_words(bench):
    for spec in (bench.spec(nodes=50), dataclasses.replace(bench.spec(), partition="nowhere")):
        error = raised(lambda spec=spec: bench.launcher.submit(bench.endpoint, spec))
        assert error.kind == "refused" and error.message
        assert bench.seen(spec.name) is None


def test_one_call_tells_all_jobs_of_a_cluster(bench):
    for _ in range(3):
        bench.launcher.submit(bench.endpoint, bench.spec())
    before = len(bench.cloud.journal("GET jobs", bench.account.account_id))
    assert len(bench.launcher.observe(bench.endpoint)) >= 3
    assert len(bench.cloud.journal("GET jobs", bench.account.account_id)) == before + 1


def test_a_scheduler_that_does_not_answer_is_unclear_and_no_empty_list(bench):
    bench.fault("no_answer", "GET jobs")
    assert raised(lambda: bench.launcher.observe(bench.endpoint)).kind == "unclear"


def test_a_wrong_key_is_denied(bench):
    stranger = dataclasses.replace(bench.endpoint, jwt_key=b"x" * 32)
    assert raised(lambda: bench.launcher.observe(stranger)).kind == "denied"


def test_the_end_of_the_output_can_be_read(bench):
    spec = bench.spec("echo first line\nsrun python train.py\nexit 1", environment={"STEPS": "4"})
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.end(spec.name)
    text = bench.launcher.tail(bench.account, bench.endpoint, told)
    assert "first line" in text and "4/" in text
    assert bench.launcher.tail(bench.account, bench.endpoint, told, lines=2).splitlines() == text.splitlines()[-2:]
    assert bench.launcher.tail(bench.account, bench.endpoint, "999999") == ""


def test_a_lost_node_is_told_and_the_job_goes_on_or_fails(bench):
    spec = bench.spec("sleep 1200", nodes=2)
    bench.launcher.submit(bench.endpoint, spec)
    bench.until(spec.name, lambda job: job.state == "running")
    match = f"{bench.cluster}/workers"
    bench.cloud.fault("node_failure", service="sagemaker", account=bench.account.account_id, match=match)
    after = bench.until(spec.name, lambda job: job.restarts or job.state in ENDS)
    assert after.state in ("recovering", "running") or after.engine_state == "NODE_FAIL"


def test_a_job_that_left_the_schedulers_memory_is_not_in_the_list(bench):
    spec = bench.spec("sleep 5")
    bench.launcher.submit(bench.endpoint, spec)
    bench.end(spec.name)
    bench.cloud.fault("vanished", service="slurm", account=bench.account.account_id, match=spec.name)
    assert bench.seen(spec.name) is None


def test_an_endpoint_is_not_there_for_a_cluster_nobody_made(bench):
    assert slurm_endpoint(bench.account, "nobody") is None
