"""What every launcher keeps: one list of statements, on the sandbox's Slurm, a real one, Kubernetes, and a head node's agent."""

import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import setup_databases
from pytest_django.live_server_helper import LiveServer

from clusters import agent_views
from clusters.access import slurm_endpoint
from clusters.engine.job_specs import tasks_per_node
from clusters.jobs import lint as job_lint
from clusters.jobs import templates as job_templates
from clusters.jobs.templates import checks, rendering
from clusters.launchers import Ability, Ended, JobSeen, LaunchSpec, slurm_options
from clusters.providers import ProviderError
from tests.clusters.head_node_agent import place as places
from tests.clusters.head_node_agent.conftest import Head
from tests.clusters.test_job_templates import STUBS
from tests.conftest import make_world
from tests.contracts import benches
from tests.contracts.benches import ENDS, REGION, WORKERS, Bench, RealBench
from tests.contracts.conftest import Sandbox, let_in
from tests.slurm.cluster import RealSlurm
from tests.slurm.cutting import CuttingLine

REAL = pytest.param("real", marks=pytest.mark.slurm)
AGENT = pytest.param("agent", marks=pytest.mark.slurm)
_made: dict[str, Bench] = {}


@pytest.fixture(scope="module")
def real_slurm() -> Iterator[RealSlurm]:
    with RealSlurm(WORKERS + 1, accounting=True) as slurm:
        yield slurm


@pytest.fixture(scope="module")
def portal(
    django_db_setup: Any, django_db_blocker: Any, real_slurm: RealSlurm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[places.Place, Head, CuttingLine]]:
    """The portal as the agent meets it, over HTTP and with rows that stay, and the agent's process, for the whole module."""
    quickly = override_settings(AGENT_SECONDS=0.05, AGENT_LOST_SECONDS=30)
    with django_db_blocker.unblock(), quickly, pytest.MonkeyPatch.context() as patch:
        if not connection.settings_dict["NAME"].startswith("test_"):
            setup_databases(verbosity=0, interactive=False, aliases={"default"})
        place, server = places.settle(make_world()), LiveServer("127.0.0.1")
        line = CuttingLine(server.thread.port)
        patch.setattr(agent_views, "A_MINUTE", 1_000_000)  # minutes are moments here
        patch.setenv("SLURM_CONF", real_slurm.environment["SLURM_CONF"])
        head = Head(tmp_path_factory.mktemp("head"), line.url + place.path, token=place.token)
        head.settings |= {"search_path": real_slurm.environment["PATH"], "user": real_slurm.user}
        head.settings |= {"logs": str(real_slurm.logs)}
        head.start()
        try:
            yield place, head, line
        finally:
            head.stop()
            line.close()
            server.stop()
            call_command("flush", verbosity=0, interactive=False, allow_cascade=True)


def _bench(name: str, cloud: Sandbox, request: pytest.FixtureRequest) -> Bench:
    if name not in _made:
        if name == "real":
            _made[name] = benches.on_a_real_slurm(cloud, request.getfixturevalue("real_slurm"))
        elif name == "agent":
            beside = _bench("real", cloud, request)
            assert isinstance(beside, RealBench)
            _made[name] = benches.by_an_agent(beside, *request.getfixturevalue("portal"))
        else:
            _made[name] = benches.on_kubernetes(cloud) if name == "kubernetes" else benches.on_slurm(cloud)
    return _made[name]


@pytest.fixture(params=["sandbox", "kubernetes", REAL, AGENT])
def bench(cloud: Sandbox, request: pytest.FixtureRequest) -> Bench:
    """The same cluster for all tests, with nothing running on it but what is to outlive its time limit."""
    bench = _bench(request.param, cloud, request)
    bench.clean()
    return bench


def on(*names: Any) -> pytest.MarkDecorator:
    """A statement that is true of these only."""
    return pytest.mark.parametrize("bench", names, indirect=True)


def raised(call: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as told:
        call()
    return told.value


def refuses(bench: Bench, ability: Ability, call: Callable[[], object]) -> bool:
    """Whether this launcher says that it cannot; then it refuses, in the sentence that it gave."""
    sentence = bench.launcher.cannot(bench.endpoint).get(ability)
    if sentence is not None:
        told = raised(call)
        assert told.kind == "refused" and sentence in told.message
    return sentence is not None


@on("sandbox", REAL)
def test_a_cluster_tells_how_its_scheduler_is_reached(bench):
    assert bench.endpoint.user == ("nobody" if bench.real else "cohort")
    assert bench.endpoint.log_group == f"/cohort/clusters/{bench.cluster}/jobs"
    assert len(bench.endpoint.jwt_key) >= 32


def test_a_job_runs_on_as_many_nodes_as_asked_and_succeeds(bench):
    spec = bench.spec(bench.sleep(300), nodes=2, time_limit_minutes=30)
    told = bench.submit(spec)
    running = bench.until(spec.name, lambda job: job.state == "running")
    assert (running.external_id, len(running.nodes)) == (told, 2)
    assert running.started_at and not running.ended_at and running.exit_code is None
    ended = bench.end(spec.name)
    assert (ended.state, ended.engine_state, ended.exit_code) == ("succeeded", bench.well, 0)
    assert ended.submitted_at <= ended.started_at <= ended.ended_at


def test_to_submit_twice_is_to_submit_once_also_when_the_job_has_ended(bench):
    spec = bench.spec(bench.sleep(30))
    told = bench.submit(spec)
    assert bench.submit(spec) == told
    bench.end(spec.name)
    assert bench.submit(spec) == told
    assert bench.submissions(spec.name) == 1


def test_a_submission_whose_answer_is_lost_is_unclear_and_found_by_its_name(bench):
    for fault in ("timeout_after_success", "error_after_success"):
        spec = bench.spec()
        bench.fault(fault)
        assert raised(lambda spec=spec: bench.launcher.submit(bench.endpoint, spec)).kind == "unclear"
        job = bench.until(spec.name, lambda job: True)
        assert bench.submit(spec) == job.external_id
        assert bench.submissions(spec.name) == 1


def test_a_submission_that_never_arrived_can_be_made_again(bench):
    spec = bench.spec()
    bench.fault("no_answer")
    assert raised(lambda: bench.launcher.submit(bench.endpoint, spec)).kind == "unclear"
    assert bench.seen(spec.name) is None
    bench.mend()
    assert bench.submit(spec)
    assert bench.submissions(spec.name) == 1


def test_an_end_is_told_in_our_word_and_in_the_engines_with_its_code_or_signal(bench):
    ends, killed = bench.spec(f"echo begun\n{bench.sleep(20)}\nexit 3"), bench.spec(f"{bench.sleep(20)}\nkill -9 $$")
    for spec in (ends, killed):
        bench.submit(spec)
    ended = bench.end(ends.name)
    assert (ended.state, ended.engine_state, ended.exit_code) == ("failed", bench.badly, 3)
    ended = bench.end(killed.name)
    assert ended.state == "failed"
    assert ended.signal == 9 or ended.exit_code == 137


def test_a_job_waits_while_the_nodes_are_taken(bench):
    first, second = bench.spec(bench.sleep(90), nodes=2), bench.spec(bench.sleep(10), nodes=2)
    bench.submit(first)
    bench.submit(second)
    bench.until(first.name, lambda job: job.state == "running")
    waiting = bench.until(second.name, lambda job: job.reason)
    assert (waiting.state, waiting.engine_state) == ("queued", bench.waits)
    assert waiting.queue_position == bench.next_in_line and not waiting.started_at
    assert bench.end(second.name).state == "succeeded"


def test_a_cancel_is_a_wish_until_the_scheduler_says_that_it_is_over_and_may_be_wished_again(bench):
    """Whoever was asked to cancel may still hold its nodes: that it is over is what the scheduler's list says."""
    spec = bench.spec("sleep 600", nodes=2)
    told = bench.submit(spec)
    bench.until(spec.name, lambda job: job.state == "running")
    bench.do("cancel", told)
    left = bench.over(spec.name)
    assert left is None or (left.state, left.external_id) == ("cancelled", told)
    assert len(bench.idle(WORKERS)) >= WORKERS
    for one in (told, bench.nobody, "999999"):
        bench.do("cancel", one)
    bench.carried_out()


def test_what_the_scheduler_refuses_is_refused_in_its_words(bench):
    for spec in bench.impossible():
        error = raised(lambda spec=spec: bench.submit(spec))
        assert error.kind == "refused" and error.message
        left = bench.seen(spec.name)  # Slurm may keep what it refused as a failed job
        assert left is None or (left.state, left.started_at) == ("failed", left.ended_at)


@on("sandbox", "kubernetes", REAL)  # the agent's launcher calls nobody
def test_one_call_of_a_kind_tells_all_jobs_of_a_cluster(bench):
    made = {spec.name for spec in (bench.spec(), bench.spec(), bench.spec()) if bench.submit(spec)}
    bench.until(max(made, key=lambda name: int(name[4:])), lambda job: True)
    before = [bench.asked(call) for call in bench.calls_of_a_list()]
    assert made <= {job.name for job in bench.launcher.observe(bench.endpoint)}
    assert [bench.asked(call) for call in bench.calls_of_a_list()] == [count + 1 for count in before]


def test_a_scheduler_that_does_not_answer_is_unclear_and_no_empty_list(bench):
    bench.fault("no_answer", "list")
    assert raised(lambda: bench.launcher.observe(bench.endpoint)).kind == "unclear"


@on("sandbox", "kubernetes", REAL)
def test_a_stranger_is_denied(bench):
    for stranger in bench.strangers():
        assert raised(lambda stranger=stranger: bench.launcher.observe(stranger)).kind == bench.denied


def test_the_end_of_the_output_can_be_read(bench):
    script = (
        "echo first line\nfor n in 1 2 3 4; do echo $n/4; done\nexit 1"
        if bench.real
        else ("echo first line\nsrun python train.py\nexit 1")
    )
    spec = bench.spec(script, environment={"STEPS": "4"}, log_path="/fsx/cohort/logs/%j.out")
    told = bench.submit(spec)
    bench.end(spec.name)
    for _ in range(20):
        bench.ship()
        text = bench.launcher.tail(bench.account, bench.endpoint, told)
        if text:
            break
        bench.wait()
    assert "first line" in text and "4/" in text
    assert bench.launcher.tail(bench.account, bench.endpoint, told, lines=2).splitlines() == text.splitlines()[-2:]
    assert bench.launcher.tail(bench.account, bench.endpoint, bench.nobody) == ""


@on("sandbox", REAL, AGENT)
def test_a_lost_node_is_told_and_the_job_goes_on_under_its_own_id(bench):
    spec = bench.spec(bench.sleep(1200), nodes=2)
    told = bench.submit(spec)
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
    told = bench.submit(spec)
    held = bench.until(spec.name, lambda job: True)
    assert (held.state, held.held, held.queue_position) == ("queued", True, None)
    bench.do("release", told)
    assert bench.end(spec.name).state == "succeeded"


def test_a_job_that_waits_can_be_held_and_released(bench):
    first, second = bench.spec(bench.sleep(600), nodes=2), bench.spec(bench.sleep(10), nodes=2)
    taking = bench.submit(first)
    told = bench.submit(second)
    bench.until(first.name, lambda job: job.state == "running")
    bench.do("hold", told)
    bench.until(second.name, lambda job: job.held)
    bench.do("cancel", taking)
    bench.over(first.name)
    bench.wait()
    assert bench.seen(second.name).state == "queued"
    bench.do("release", told)
    assert bench.end(second.name).state == "succeeded"


def test_to_hold_or_release_what_has_ended_is_no_error(bench):
    spec = bench.spec(bench.sleep(10))
    told = bench.submit(spec)
    bench.end(spec.name)
    for verb in ("hold", "release"):
        bench.do(verb, told)
        bench.do(verb, bench.nobody)
    bench.carried_out()
    assert bench.seen(spec.name).state == "succeeded"


def test_a_running_job_is_begun_again_under_its_own_id(bench):
    began = datetime.now(UTC)
    spec = bench.spec(bench.sleep(600))
    told = bench.submit(spec)
    bench.until(spec.name, lambda job: job.state == "running")
    if refuses(bench, "requeue", lambda: bench.do("requeue", told)):
        return
    bench.twice_at_once("requeue", told)
    again = bench.until(spec.name, lambda job: job.restarts)
    assert (again.external_id, again.restarts) == (told, 1)
    assert bench.until(spec.name, lambda job: job.state == "running").restarts == 1
    bench.begun_again = spec.name, began


def test_to_requeue_what_has_ended_begins_nothing(bench):
    spec = bench.spec(bench.sleep(10))
    told = bench.submit(spec)
    ended = bench.end(spec.name)
    if not refuses(bench, "requeue", lambda: bench.do("requeue", told)):
        bench.do("requeue", bench.nobody)
        bench.carried_out()
    bench.wait()
    assert bench.seen(spec.name) == ended


def test_an_array_is_one_id_and_one_name_with_a_job_for_each_task(bench):
    spec = bench.spec(bench.sleep(20), array="0-3%2", log_path="/fsx/cohort/logs/%A_%a.out")
    if refuses(bench, "array", lambda: bench.submit(spec)):
        return
    told = bench.submit(spec)
    assert bench.submit(spec) == told

    def tasks() -> list[JobSeen]:
        return [job for job in bench.launcher.observe(bench.endpoint) if job.name == spec.name]

    for _ in range(100):
        if len(tasks()) == 4 and {task.state for task in tasks()} <= set(ENDS):
            break
        bench.wait()
    assert {task.external_id for task in tasks()} == {told}
    assert sorted(task.array_task for task in tasks()) == ["0", "1", "2", "3"]
    assert {task.state for task in tasks()} == {"succeeded"}


def test_a_job_waits_for_the_one_that_it_depends_on(bench):
    first = bench.spec(bench.sleep(60))
    before = bench.submit(first)
    second = bench.spec(bench.sleep(10), after=(("afterok", before),))
    if refuses(bench, "after", lambda: bench.submit(second)):
        return
    bench.submit(second)
    waiting = bench.until(second.name, lambda job: job.reason == "Dependency")
    assert waiting.state == "queued"
    bench.end(first.name)
    assert bench.end(second.name).state == "succeeded"


def test_a_job_does_not_start_before_its_time(bench):
    spec = bench.spec(bench.sleep(10), begin_at=bench.in_a_while())
    if refuses(bench, "begin_at", lambda: bench.submit(spec)):
        return
    bench.submit(spec)
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
        if spec.only and refuses(bench, "only", lambda spec=spec: bench.submit(spec)):
            continue
        bench.submit(spec)
        assert bench.end(spec.name).nodes == (one,)


@on(REAL, AGENT)  # the sandbox's Slurm shows none of these
def test_what_a_script_asks_in_its_own_lines_reaches_slurm(bench):
    asked = "--cpus-per-task=3 --mem=2G --account=proving --qos=normal --nice=7 --gres=gpu:2 --chdir=/tmp"
    spec = bench.spec(f"#SBATCH {asked}\ntrue")
    options = slurm_options.kept(job_lint.lint(spec.script).facts["options"])
    assert len(options) == len(asked.split())
    told = bench.submit(dataclasses.replace(spec, options=options, held=True))
    shown = bench.slurm.ask("scontrol", "show", "job", told)
    for words in (
        "CPUs/Task=3",
        "MinMemoryNode=2G",
        "Account=proving",
        "QOS=normal",
        "Nice=7",
        "gpu:2",
        "WorkDir=/tmp",
    ):
        assert words in shown, shown


def test_the_nodes_are_told_with_what_they_hold(bench):
    nodes = bench.launcher.nodes(bench.endpoint)
    assert len(nodes) == WORKERS + bench.real
    assert [node.state for node in nodes].count("idle") >= WORKERS
    spec = bench.spec(bench.sleep(600), nodes=2)
    bench.submit(spec)
    running = bench.until(spec.name, lambda job: job.state == "running")
    for _ in range(20):
        busy = {node.name for node in bench.launcher.nodes(bench.endpoint) if node.state == "busy"}
        if set(running.nodes) <= busy:
            return
        bench.wait()
    raise AssertionError((running.nodes, busy))


def test_a_job_that_outlives_its_limit_is_timed_out(bench):
    spec = bench.outlives()  # before the next statement, which makes Slurm forget it
    ended = bench.until(spec.name, lambda job: job.state in ENDS, tries=1_000)
    assert (ended.state, ended.engine_state) == ("timed_out", bench.stopped)


@on("sandbox", "kubernetes", REAL)  # what the agent then looks up is proven with the agent
def test_a_job_that_left_the_schedulers_memory_is_not_in_the_list(bench):
    spec = bench.spec(bench.sleep(5))
    told = bench.submit(spec)
    bench.end(spec.name)
    bench.forget(spec)
    assert bench.seen(spec.name) is None
    if bench.real:
        # Accounting remembers: what may have been submitted before is never submitted again.
        assert bench.submit(dataclasses.replace(spec, again=True)) == told


def _accounted(bench: Bench, since: datetime, name: str, count: int) -> list[Ended]:
    """The runs of a job, once accounting has so many of them, in their order."""
    until = time.monotonic() + 60  # what writes the accounts down is not in a hurry
    while time.monotonic() < until:
        bench.account_now()
        told = bench.launcher.ended(bench.endpoint, since)
        assert len({(run.external_id, run.name, run.attempt) for run in told}) == len(told), "one run is told once"
        rows = [run for run in told if run.name == name]
        if len(rows) >= count:
            return sorted(rows, key=lambda run: (run.attempt, run.external_id))
        bench.wait()
    raise AssertionError(f"accounting has {rows} of {name}; {bench.said()}")


def test_accounting_tells_what_ended_or_that_nobody_keeps_it(bench):
    began = datetime.now(UTC)
    look = lambda: bench.launcher.ended(bench.endpoint, began)
    if refuses(bench, "ended", look) or not bench.real:
        assert raised(look).code == "NoAccounting"
        return
    spec, array = bench.spec("sleep 1", nodes=2), bench.spec("true", array="0-1")
    told, _ = bench.submit(spec), bench.submit(array)
    seen = bench.end(spec.name)
    assert len(_accounted(bench, began, array.name, 2)) == 2
    run = _accounted(bench, began, spec.name, 1)[-1]
    assert (run.external_id, run.state, run.nodes, run.accelerators) == (told, "succeeded", seen.nodes, 16)
    assert (run.started_at, run.ended_at, run.attempt) == (seen.started_at, seen.ended_at, seen.restarts + 1)
    if bench.begun_again:
        # Each time that a job was begun is a run, with a number.
        name, since = bench.begun_again
        assert [run.attempt for run in _accounted(bench, since, name, 2)] == [1, 2]


def test_an_endpoint_is_not_there_for_a_cluster_nobody_made(cloud):
    assert slurm_endpoint(let_in(cloud, "300000000001", REGION), "nobody") is None


TOLD = 'echo "rank $SLURM_PROCID of $SLURM_NTASKS FI=${FI_PROVIDER-}"'
# Programs that say which rank of how many they are; those that torchrun would start are said by it.
PROGRAMS = {"torchrun": STUBS["torchrun"], "aws": STUBS["aws"], "python3": TOLD, "all_reduce_perf": TOLD}


@on(REAL)
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
