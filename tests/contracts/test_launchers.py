"""What every launcher keeps: one list of statements, on the sandbox cloud's Slurm and on a real one."""

import dataclasses
import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusters import job_templates
from clusters.access import slurm_endpoint
from clusters.architectures.configuration import read_configuration
from clusters.architectures.parts import Wiring, parts
from clusters.engine.job_specs import tasks_per_node
from clusters.job_templates import checks, rendering
from clusters.launchers import JobSeen, Launcher, LaunchSpec, SlurmEndpoint, launcher
from clusters.providers import Account, Part, ProviderError, adapter
from tests.clusters.test_job_templates import STUBS
from tests.contracts.conftest import SPEED, Sandbox, let_in
from tests.slurm.cluster import RealSlurm
from tests.slurm.cutting import CuttingLine
from tests.slurm.shipping import Shipper

REGION = "ap-northeast-1"
TAGS = {"cohort:installation": "contract", "cohort:tenant": "hoshi"}
ENDS = ("succeeded", "failed", "cancelled", "timed_out")
WORKERS = 2
_names = itertools.count(1)
OUTLIVES = LaunchSpec("outlives-its-limit", "#!/bin/bash\nsleep 3600\n", 1, "workers", time_limit_minutes=1)


@dataclass
class Bench:
    """One launcher and a cluster of two workers to launch on. Times are those of the sandbox, whose clock we move."""

    cloud: Sandbox
    account: Account
    endpoint: SlurmEndpoint
    cluster: str
    launcher: Launcher[Any]
    real = False
    denied = "denied"
    gone_on = ("recovering", "running", "queued", "starting")

    def spec(self, script: str = "sleep 60", nodes: int = 1, **more: object) -> LaunchSpec:
        text = f"#!/bin/bash\n{script}\n"
        return LaunchSpec(f"job-{next(_names)}", text, nodes, "workers", **more)  # type: ignore[arg-type]

    def sleep(self, seconds: float) -> str:
        return f"sleep {seconds:g}"

    def in_a_while(self) -> datetime:
        """Ten minutes later in the cloud, which runs faster than our own clock."""
        return datetime.now(UTC) + timedelta(seconds=600 / SPEED)

    def seen(self, name: str) -> JobSeen | None:
        found = [job for job in self.launcher.observe(self.endpoint) if job.name == name]
        assert len(found) <= 1, "one name is one job"
        return found[0] if found else None

    def until(self, name: str, wanted: Callable[[JobSeen], object], tries: int = 40) -> JobSeen:
        for _ in range(tries):
            job = self.seen(name)
            if job and wanted(job):
                return job
            self.wait()
        raise AssertionError(f"{name} is still {job}")

    def idle_node(self) -> str:
        for _ in range(40):
            found = [node.name for node in self.launcher.nodes(self.endpoint) if node.state == "idle"]
            if found:
                return found[0]
            self.wait()
        raise AssertionError("no node is idle")

    def wait(self) -> None:
        self.cloud.later(1)

    def end(self, name: str) -> JobSeen:
        return self.until(name, lambda job: job.state in ENDS)

    def fault(self, fault: str, operation: str = "POST job/submit", times: int = 1) -> None:
        self.cloud.fault(fault, service="slurm", operation=operation, account=self.account.account_id, times=times)

    def asked(self, operation: str) -> int:
        return len(self.cloud.journal(operation, self.account.account_id))

    def submissions(self, name: str) -> int:
        calls = self.cloud.journal("POST job/submit", self.account.account_id, effective=True)
        return sum(call["parameters"].get("name") == name for call in calls)

    def lose_a_node_of(self, job: JobSeen) -> None:
        match = f"{self.cluster}/workers"
        self.cloud.fault("node_failure", service="sagemaker", account=self.account.account_id, match=match)

    def forget(self, name: str) -> None:
        """The scheduler's memory of ended jobs is short."""
        self.cloud.fault("vanished", service="slurm", account=self.account.account_id, match=name)

    def ship(self) -> None:
        """What the cluster does by itself all the time: ship output to the log group."""


@dataclass
class RealBench(Bench):
    """A real Slurm behind a line that can be cut; minutes of the sandbox are moments here."""

    slurm: RealSlurm
    line: CuttingLine
    shipper: Shipper
    real = True

    @property
    def denied(self) -> str:  # type: ignore[override]
        """An old server tells a bad token and a controller that is down in the same words."""
        return "unclear" if self.slurm.old else "denied"

    def sleep(self, seconds: float) -> str:
        return f"sleep {seconds if seconds >= 600 else min(seconds / 30, 2):g}"

    def in_a_while(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=4)

    def wait(self) -> None:
        time.sleep(0.5)

    def fault(self, fault: str, operation: str = "POST job/submit", times: int = 1) -> None:
        for _ in range(times):
            self.line.fault(fault, operation)

    def asked(self, operation: str) -> int:
        return sum(asked.operation == operation for asked in self.line.asked)

    def submissions(self, name: str) -> int:
        return sum(
            asked.forwarded and asked.name == name and asked.operation == "POST job/submit" for asked in self.line.asked
        )

    def lose_a_node_of(self, job: JobSeen) -> None:
        self.slurm.set_down(job.nodes[0])

    def forget(self, name: str) -> None:
        self.slurm.forget_ended_jobs(lambda: self.seen(name) is None)

    def ship(self) -> None:
        self.shipper.once()


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
    return Bench(cloud, account, endpoint, names["cluster"], launcher("hyperpod-slurm"))


_made: dict[str, Bench] = {}


@pytest.fixture(scope="module")
def real_slurm() -> Iterator[RealSlurm]:
    with RealSlurm(WORKERS + 1, accounting=True) as slurm:
        yield slurm


def _real(cloud: Sandbox, slurm: RealSlurm) -> RealBench:
    account, line = let_in(cloud, "300000000009", REGION), CuttingLine(slurm.ports["slurmrestd"])
    group = "/cohort/clusters/real/jobs"
    endpoint = SlurmEndpoint(line.url, slurm.versions, slurm.user, slurm.key, group)
    shipper = Shipper(slurm.logs, group, cloud.url, account.account_id, REGION)
    # The third node is kept busy by what shows time limits: they are counted in minutes.
    made = RealBench(cloud, account, endpoint, "real", launcher("hyperpod-slurm"), slurm, line, shipper)
    made.launcher.submit(endpoint, OUTLIVES)
    return made


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.slurm)])
def bench(cloud: Sandbox, request: pytest.FixtureRequest) -> Bench:
    """The same cluster for all tests, with nothing running on it but what is to outlive its time limit."""
    if request.param not in _made:
        if request.param == "real":
            _made["real"] = _real(cloud, request.getfixturevalue("real_slurm"))
        else:
            _made["sandbox"] = make(cloud, "300000000001")
    bench = _made[request.param]
    for job in bench.launcher.observe(bench.endpoint):
        if job.state not in ENDS and job.name != OUTLIVES.name:
            bench.launcher.cancel(bench.endpoint, job.external_id)
    if isinstance(bench, RealBench):
        bench.line.heal()
        for _ in range(40):
            free = [node.state for node in bench.launcher.nodes(bench.endpoint)].count("idle")
            if free >= WORKERS:
                break
            bench.wait()
    return bench


def raised(call: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as told:
        call()
    return told.value


def test_a_cluster_tells_how_its_scheduler_is_reached(bench):
    assert bench.endpoint.user == ("nobody" if bench.real else "cohort")
    assert bench.endpoint.log_group == f"/cohort/clusters/{bench.cluster}/jobs"
    assert len(bench.endpoint.jwt_key) >= 32


def test_a_job_runs_on_as_many_nodes_as_asked_and_succeeds(bench):
    spec = bench.spec(bench.sleep(300), nodes=2, time_limit_minutes=30)
    told = bench.launcher.submit(bench.endpoint, spec)
    running = bench.until(spec.name, lambda job: job.state == "running")
    assert (running.external_id, len(running.nodes)) == (told, 2)
    assert running.started_at and not running.ended_at and running.exit_code is None
    ended = bench.end(spec.name)
    assert (ended.state, ended.engine_state, ended.exit_code) == ("succeeded", "COMPLETED", 0)
    assert ended.submitted_at <= ended.started_at <= ended.ended_at


def test_to_submit_twice_is_to_submit_once_also_when_the_job_has_ended(bench):
    spec = bench.spec(bench.sleep(30))
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
        ("exit 3", "failed", "FAILED", 3),
        ("exit 0", "succeeded", "COMPLETED", 0),
    ],
)
def test_an_end_is_told_in_our_word_and_in_the_engines(bench, script, state, engine_state, exit_code):
    spec = bench.spec(f"echo begun\n{bench.sleep(20)}\n{script}")
    bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    assert (ended.state, ended.engine_state, ended.exit_code) == (state, engine_state, exit_code)


def test_a_killed_job_failed_and_tells_its_signal_or_code(bench):
    spec = bench.spec(f"{bench.sleep(10)}\nkill -9 $$")
    bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    assert ended.state == "failed"
    assert ended.signal == 9 or ended.exit_code == 137


def test_a_job_waits_while_the_nodes_are_taken(bench):
    first, second = bench.spec(bench.sleep(60), nodes=2), bench.spec(bench.sleep(10), nodes=2)
    bench.launcher.submit(bench.endpoint, first)
    bench.launcher.submit(bench.endpoint, second)
    bench.until(first.name, lambda job: job.state == "running")
    waiting = bench.seen(second.name)
    assert (waiting.state, waiting.engine_state, waiting.queue_position) == ("queued", "PENDING", 1)
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
        left = bench.seen(spec.name)  # Slurm may keep what it refused as a failed job
        assert left is None or (left.state, left.started_at) == ("failed", left.ended_at)


def test_one_call_tells_all_jobs_of_a_cluster(bench):
    for _ in range(3):
        bench.launcher.submit(bench.endpoint, bench.spec())
    before = bench.asked("GET jobs")
    assert len(bench.launcher.observe(bench.endpoint)) >= 3
    assert bench.asked("GET jobs") == before + 1


def test_a_scheduler_that_does_not_answer_is_unclear_and_no_empty_list(bench):
    bench.fault("no_answer", "GET jobs")
    assert raised(lambda: bench.launcher.observe(bench.endpoint)).kind == "unclear"


def test_a_wrong_key_is_denied(bench):
    stranger = dataclasses.replace(bench.endpoint, jwt_key=b"x" * 32)
    assert raised(lambda: bench.launcher.observe(stranger)).kind == bench.denied


def test_the_end_of_the_output_can_be_read(bench):
    script = (
        "echo first line\nfor n in 1 2 3 4; do echo $n/4; done\nexit 1"
        if bench.real
        else ("echo first line\nsrun python train.py\nexit 1")
    )
    spec = bench.spec(script, environment={"STEPS": "4"}, log_path="/fsx/cohort/logs/%j.out")
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.end(spec.name)
    bench.ship()
    text = bench.launcher.tail(bench.account, bench.endpoint, told)
    assert "first line" in text and "4/" in text
    assert bench.launcher.tail(bench.account, bench.endpoint, told, lines=2).splitlines() == text.splitlines()[-2:]
    assert bench.launcher.tail(bench.account, bench.endpoint, "999999") == ""


def test_a_lost_node_is_told_and_the_job_goes_on_under_its_own_id(bench):
    spec = bench.spec(bench.sleep(1200), nodes=2)
    told = bench.launcher.submit(bench.endpoint, spec)
    running = bench.until(spec.name, lambda job: job.state == "running")
    bench.lose_a_node_of(running)
    try:
        after = bench.until(spec.name, lambda job: job.restarts == 1)
        assert (after.state in bench.gone_on, after.external_id) == (True, told)
        assert "down" in [node.state for node in bench.launcher.nodes(bench.endpoint)]
    finally:
        if isinstance(bench, RealBench):
            bench.slurm.resume(running.nodes[0])


def test_a_held_job_does_not_start_before_it_is_released(bench):
    spec = bench.spec(bench.sleep(30), held=True)
    told = bench.launcher.submit(bench.endpoint, spec)
    held = bench.seen(spec.name)
    assert (held.state, held.held, held.queue_position) == ("queued", True, None)
    bench.launcher.release(bench.endpoint, told)
    assert bench.end(spec.name).state == "succeeded"


def test_a_job_that_waits_can_be_held_and_released(bench):
    first, second = bench.spec(bench.sleep(600), nodes=2), bench.spec(bench.sleep(10), nodes=2)
    taking = bench.launcher.submit(bench.endpoint, first)
    told = bench.launcher.submit(bench.endpoint, second)
    bench.until(first.name, lambda job: job.state == "running")
    bench.launcher.hold(bench.endpoint, told)
    assert bench.seen(second.name).held
    bench.launcher.cancel(bench.endpoint, taking)
    bench.end(first.name)
    bench.wait()
    assert bench.seen(second.name).state == "queued"
    bench.launcher.release(bench.endpoint, told)
    assert bench.end(second.name).state == "succeeded"


def test_to_hold_or_release_what_has_ended_is_no_error(bench):
    spec = bench.spec(bench.sleep(10))
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.end(spec.name)
    for verb in (bench.launcher.hold, bench.launcher.release):
        verb(bench.endpoint, told)
        verb(bench.endpoint, "999999")
    assert bench.seen(spec.name).state == "succeeded"


def test_a_running_job_is_begun_again_under_its_own_id(bench):
    spec = bench.spec(bench.sleep(600))
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.until(spec.name, lambda job: job.state == "running")
    bench.launcher.requeue(bench.endpoint, told)
    bench.launcher.requeue(bench.endpoint, told)
    again = bench.until(spec.name, lambda job: job.restarts)
    assert (again.external_id, again.restarts) == (told, 1)
    assert bench.until(spec.name, lambda job: job.state == "running").restarts == 1


def test_to_requeue_what_has_ended_begins_nothing(bench):
    spec = bench.spec(bench.sleep(10))
    told = bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    bench.launcher.requeue(bench.endpoint, told)
    bench.launcher.requeue(bench.endpoint, "999999")
    bench.wait()
    assert bench.seen(spec.name) == ended


def test_an_array_is_one_id_and_one_name_with_a_job_for_each_task(bench):
    spec = bench.spec(bench.sleep(20), array="0-3%2", log_path="/fsx/cohort/logs/%A_%a.out")
    told = bench.launcher.submit(bench.endpoint, spec)
    assert bench.launcher.submit(bench.endpoint, spec) == told

    def tasks() -> list[JobSeen]:
        return [job for job in bench.launcher.observe(bench.endpoint) if job.name == spec.name]

    for _ in range(40):
        if len(tasks()) == 4 and {task.state for task in tasks()} <= set(ENDS):
            break
        bench.wait()
    assert {task.external_id for task in tasks()} == {told}
    assert sorted(task.array_task for task in tasks()) == ["0", "1", "2", "3"]
    assert {task.state for task in tasks()} == {"succeeded"}


def test_a_job_waits_for_the_one_that_it_depends_on(bench):
    first = bench.spec(bench.sleep(60))
    before = bench.launcher.submit(bench.endpoint, first)
    second = bench.spec(bench.sleep(10), after=(("afterok", before),))
    bench.launcher.submit(bench.endpoint, second)
    waiting = bench.until(second.name, lambda job: job.reason == "Dependency")
    assert waiting.state == "queued"
    bench.end(first.name)
    assert bench.end(second.name).state == "succeeded"


def test_a_job_does_not_start_before_its_time(bench):
    spec = bench.spec(bench.sleep(10), begin_at=bench.in_a_while())
    bench.launcher.submit(bench.endpoint, spec)
    waiting = bench.until(spec.name, lambda job: job.reason)
    assert (waiting.state, waiting.reason) == ("queued", "BeginTime")
    ended = bench.end(spec.name)
    assert ended.state == "succeeded"
    # The sandbox's clock was moved, and shows no time that we have not had yet.
    assert not bench.real or ended.started_at >= spec.begin_at.replace(microsecond=0)


def test_a_job_gets_the_nodes_that_it_must_have_and_none_that_it_must_not(bench):
    """What pair tests and quarantine stand on: a scheduler that passed over it would test, or use, any node."""
    names = sorted(node.name for node in bench.launcher.nodes(bench.endpoint))
    one = bench.idle_node()
    others = tuple(name for name in names if name != one)
    for more in ({"without": others}, {"only": (one,)}):
        spec = bench.spec("true", **more)
        if bench.real and bench.slurm.old and spec.only:
            with pytest.raises(ProviderError, match="cannot say on which nodes"):
                bench.launcher.submit(bench.endpoint, spec)
            continue
        bench.launcher.submit(bench.endpoint, spec)
        assert bench.end(spec.name).nodes == (one,)


def test_the_nodes_are_told_with_what_they_hold(bench):
    nodes = bench.launcher.nodes(bench.endpoint)
    assert len(nodes) == WORKERS + bench.real
    assert [node.state for node in nodes].count("idle") >= WORKERS
    spec = bench.spec(bench.sleep(600), nodes=2)
    bench.launcher.submit(bench.endpoint, spec)
    running = bench.until(spec.name, lambda job: job.state == "running")
    busy = {node.name for node in bench.launcher.nodes(bench.endpoint) if node.state == "busy"}
    assert set(running.nodes) <= busy


def test_a_job_that_left_the_schedulers_memory_is_not_in_the_list(bench):
    spec = bench.spec(bench.sleep(5))
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.end(spec.name)
    bench.forget(spec.name)
    assert bench.seen(spec.name) is None
    if bench.real:
        # Accounting remembers: what may have been submitted before is never submitted again.
        assert bench.launcher.submit(bench.endpoint, dataclasses.replace(spec, again=True)) == told
        assert bench.submissions(spec.name) == 1


def test_accounting_tells_what_ended_or_that_nobody_keeps_it(bench):
    since = datetime.now(UTC) - timedelta(minutes=30)
    if not bench.real:
        assert raised(lambda: bench.launcher.ended(bench.endpoint, since)).code == "NoAccounting"
        return
    spec = bench.spec("sleep 1", nodes=2)
    told = bench.launcher.submit(bench.endpoint, spec)
    seen = bench.end(spec.name)
    for _ in range(20):
        rows = [run for run in bench.launcher.ended(bench.endpoint, since) if run.name == spec.name]
        if rows:
            break
        bench.wait()
    assert len(rows) == 1, rows
    run = rows[0]
    assert (run.external_id, run.state, run.nodes, run.accelerators) == (told, "succeeded", seen.nodes, 16)
    assert (run.started_at, run.ended_at, run.attempt) == (seen.started_at, seen.ended_at, 1)
    everything = bench.launcher.ended(bench.endpoint, since)
    # Whoever was begun again has a run for each time, in order.
    assert any(run.attempt == 2 for run in everything)
    assert len({(run.external_id, run.name, run.attempt) for run in everything}) == len(everything)


def test_a_job_that_outlives_its_limit_is_timed_out(bench):
    if not bench.real:
        bench.launcher.submit(bench.endpoint, OUTLIVES)
    ended = bench.until(OUTLIVES.name, lambda job: job.state in ENDS, tries=240)
    assert (ended.state, ended.engine_state) == ("timed_out", "TIMEOUT")


def test_an_endpoint_is_not_there_for_a_cluster_nobody_made(cloud):
    assert slurm_endpoint(let_in(cloud, "300000000001", REGION), "nobody") is None


TOLD = 'echo "rank $SLURM_PROCID of $SLURM_NTASKS FI=${FI_PROVIDER-}"'
# Programs that say which rank of how many they are; those that torchrun would start are said by it.
PROGRAMS = {"torchrun": STUBS["torchrun"], "aws": STUBS["aws"], "python3": TOLD, "all_reduce_perf": TOLD}


@pytest.mark.parametrize("bench", [pytest.param("real", marks=pytest.mark.slurm)], indirect=True)
def test_each_template_runs_on_a_real_slurm_with_as_many_processes_as_it_says(bench):
    place = checks.Place("hyperpod-slurm", "ml.p5.48xlarge", WORKERS, "workers")
    shared, programs = bench.slurm.folder / "fsx", bench.slurm.folder / "programs"
    programs.mkdir()
    for name, body in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        (programs / name).chmod(0o755)
    path = {"PATH": f"{programs}:/usr/bin:/bin"}
    told = []
    for template in job_templates.templates():
        if checks.misfit(template, place) is not None:
            continue
        values = checks.starting(template, place)
        if template.slug == "nccl-tests":
            values |= {"folder": str(programs), "mpi": "none"}
        if "code" in values:
            (shared / values["code"].removeprefix("/fsx/")).mkdir(parents=True, exist_ok=True)
        settled = checks.settled(template, values, place)
        script = rendering.script(template, settled, place, name=template.slug, nodes=WORKERS, minutes=5)
        spec = LaunchSpec(
            f"template-{template.slug}",
            script,
            WORKERS,
            "workers",
            time_limit_minutes=5,
            environment=path,
            log_path="/fsx/cohort/logs/%j.out",
            processes_per_node=tasks_per_node(script),
        )
        told.append((template, spec, bench.launcher.submit(bench.endpoint, spec)))
    assert len(told) == len(job_templates.templates()) - 1  # all but the one for Trainium
    for template, spec, number in told:
        ended = bench.until(spec.name, lambda job: job.state in ENDS, tries=120)
        said = (bench.slurm.logs / f"{number}.out").read_text()
        assert ended.state == "succeeded", said
        ranks = re.findall(r"^rank (\d+) of (\d+) FI=(\S*)$", said, re.M)
        world = WORKERS * checks.processes(template, place)
        assert sorted({int(rank) for rank, _of, _fi in ranks}) == list(range(world)), (template.slug, said)
        assert {(int(of), fi) for _rank, of, fi in ranks} == {(world, "efa")}, (template.slug, said)
