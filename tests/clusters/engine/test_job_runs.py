"""Wishes, runs and their causes, budgets and the idle rule: the engine's own steps against a real Slurm."""

import base64
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from clusters import actions
from clusters.engine import job_runs
from clusters.engine import jobs as engine
from clusters.engine.follow import Followed
from clusters.launchers import LaunchSpec, SlurmEndpoint
from clusters.launchers.slurm import _ask, spoken
from clusters.models import Attempt, CloudAccount, Cluster, ClusterAccess, Job, JobProgress, Revision
from clusters.providers import ProviderError
from tenants.history.models import Entry
from tenants.models import Due
from tenants.wall.acting import acting_for
from tenants.work import due
from tests import examples
from tests.conftest import World
from tests.slurm.cluster import RealSlurm
from tests.slurm.cutting import CuttingLine

pytestmark = pytest.mark.slurm

TRAINS = "#!/bin/bash\nwhile true; do sleep 1; done\n"


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    with RealSlurm(3) as running:
        yield running


@pytest.fixture(scope="module")
def line(slurm: RealSlurm) -> Iterator[CuttingLine]:
    made = CuttingLine(slurm.ports["slurmrestd"])
    yield made
    made.close()


class Bench:
    """A ready cluster whose scheduler is the real one, and the hands that step its jobs."""

    def __init__(self, world: World, slurm: RealSlurm, line: CuttingLine) -> None:
        self.tenant, self.slurm, self.line = world.hoshi, slurm, line
        with acting_for(self.tenant, staff=True):
            account = CloudAccount.objects.create(
                tenant=self.tenant, account_id="123456789012", role_arn="r", external_id="x"
            )
            self.cluster: Cluster = examples.cluster(self.tenant, world.participations["hoshi"], account, "train")
            Revision.objects.create(
                tenant=self.tenant, cluster=self.cluster, number=1, body=examples.BODY, author="engine"
            )
            for seat in (1, 2, 3):
                examples.node(self.cluster, seat, group="workers")
            ClusterAccess.objects.create(
                tenant=self.tenant, cluster=self.cluster, url=line.url, versions=list(slurm.versions),
                username=slurm.user, jwt_key=base64.b64encode(slurm.key).decode(), log_group="/l", read_at=timezone.now(),
            )  # fmt: skip

    def launch(self, name: str = "train", script: str = TRAINS, nodes: int = 1, **more: Any) -> Job:
        with acting_for(self.tenant):
            return actions.launch_job(
                cluster=self.cluster, name=name, script=script, nodes=nodes, partition="workers", by="engine", **more
            )

    def do(self, action: Callable[..., Any], job: Job, **more: Any) -> Any:
        with acting_for(self.tenant):
            return action(job=job, by="engine", **more)

    def step(self) -> None:
        with acting_for(self.tenant, staff=True):
            due.wish("jobs", self.cluster.pk, tenant=self.cluster.tenant_id, lane=self.cluster.lane)
        Due.objects.filter(kind="jobs").update(due_at=timezone.now() - timedelta(seconds=1))
        held = due.claim(["jobs"])
        assert held is not None
        engine.step(held)

    def now(self, job: Job) -> Job:
        with acting_for(self.tenant, staff=True):
            return Job.objects.get(pk=job.pk)

    def until(self, job: Job, wanted: Callable[[Job], object], seconds: float = 40) -> Job:
        end = time.monotonic() + seconds
        while not wanted(found := self.now(job)):
            assert time.monotonic() < end, (
                found.state,
                found.engine_state,
                found.reason,
                found.unknown_reason,
                found.wish,
            )
            self.step()
            time.sleep(0.3)
        return found

    def change(self, job: Job, **columns: Any) -> None:
        with acting_for(self.tenant, staff=True):
            Job.objects.filter(pk=job.pk).update(**columns)

    def attempts(self, job: Job) -> list[Attempt]:
        with acting_for(self.tenant, staff=True):
            return list(Attempt.objects.filter(job=job).order_by("number"))

    def kinds(self, job: Job) -> list[str]:
        with acting_for(self.tenant, staff=True):
            return list(Entry.objects.filter(subject_id=job.pk).order_by("id").values_list("kind", flat=True))


@pytest.fixture
def bench(world: World, slurm: RealSlurm, line: CuttingLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    # Whose log nobody ships has none: what is read here is the scheduler.
    monkeypatch.setattr(engine, "_tails", lambda *_: {})
    monkeypatch.setattr(engine, "EVIDENCE_PATIENCE", timedelta(0))
    line.heal()
    line.asked.clear()
    for node in slurm.names:
        slurm.resume(node)
    yield Bench(world, slurm, line)
    slurm.ask("scancel", "-u", slurm.user, check=False)


def test_a_requeue_is_the_same_job_again_and_says_who_wished_it(bench):
    job = bench.launch()
    running = bench.until(job, lambda row: row.state == "running")
    bench.change(job, last_call_at=F("last_call_at") - timedelta(minutes=1))
    bench.do(actions.requeue_job, job)
    again = bench.until(job, lambda row: row.restarts == 1 and row.state == "running")
    assert (again.external_id, again.wish) == (running.external_id, "")
    first, second = bench.attempts(job)
    assert (first.cause, second.cause) == ("first", "requeue")
    assert first.ended_at and first.lost_hours is not None and second.started_at and not second.ended_at
    assert "job.begun_again" in bench.kinds(job)


def test_a_lost_node_is_the_cause_of_the_next_run(bench):
    job = bench.launch(nodes=2)
    before = bench.until(job, lambda row: row.state == "running")
    bench.slurm.set_down(before.node_names[0], "XID 79")
    bench.until(job, lambda row: row.restarts == 1 and row.state == "running")
    second = bench.attempts(job)[1]
    assert (second.cause, second.cause_told) == ("node", f"{before.node_names[0]}: XID 79")
    assert before.node_names[0] not in second.node_names


def test_what_was_begun_again_too_often_is_held_until_somebody_lets_it_go(bench):
    job = bench.launch(restarts_an_hour=0)
    before = bench.until(job, lambda row: row.state == "running")
    bench.change(job, last_call_at=F("last_call_at") - timedelta(minutes=1))
    bench.slurm.set_down(before.node_names[0])
    held = bench.until(job, lambda row: row.held)
    assert held.state == "recovering" and "job.over_budget" in bench.kinds(job)
    bench.do(actions.release_job, job)
    assert bench.until(job, lambda row: row.state == "running").held is False
    assert bench.kinds(job).count("job.over_budget") == 1


def test_a_wish_that_the_scheduler_refuses_is_told_and_over(bench, monkeypatch):
    def refuses(*_: Any) -> None:
        raise ProviderError("refused", "No core was free.", code="NoRequeue")

    monkeypatch.setattr("clusters.launchers.slurm.Slurm.requeue", refuses)
    job = bench.launch()
    bench.until(job, lambda row: row.state == "running")
    bench.change(job, last_call_at=F("last_call_at") - timedelta(minutes=1))
    bench.do(actions.requeue_job, job)
    told = bench.until(job, lambda row: not row.wish)
    assert (told.state, told.wish_refused) == ("running", "No core was free.")
    assert "job.wish_refused" in bench.kinds(job)


@pytest.mark.parametrize("cancels", [False, True])
def test_a_silent_job_is_said_and_cancelled_only_where_that_was_chosen(bench, cancels):
    job = bench.launch(idle_minutes=10, idle_cancels=cancels)
    bench.until(job, lambda row: row.state == "running")
    with acting_for(bench.tenant, staff=True):
        job_runs.write(Job.objects.get(pk=job.pk), None, Followed("running", idle=True), None)
        job_runs.write(Job.objects.get(pk=job.pk), None, Followed("running", idle=True), None)
    assert bench.kinds(job).count("job.idle") == 1
    if cancels:
        assert bench.until(job, lambda row: row.state == "cancelled")
    else:
        assert bench.now(job).cancel_wished_at is None


@pytest.mark.parametrize(("quiet", "read", "seconds"), [(11, 0, 660), (1, 0, 60), (11, 3, None)])
def test_silence_is_counted_only_while_the_output_is_read(quiet, read, seconds):
    now = timezone.now()
    ago = lambda minutes: now - timedelta(minutes=minutes)
    job = Job(started_at=ago(60), output_at=ago(quiet), log_read_at=ago(read), idle_minutes=10)
    assert job_runs.standing(job, now)["idle_seconds"] == seconds


@pytest.mark.parametrize(
    ("busy", "measured", "rule", "asked", "expected"),
    [  # expected: (silent seconds, limit in seconds)
        (None, None, job_runs.IdleRule(), 10, (660, 600)),
        (80.0, 1, job_runs.IdleRule(), 10, (None, 600)),  # it computes without a word
        (5.0, 1, job_runs.IdleRule(), 10, (None, 600)),
        (4.9, 1, job_runs.IdleRule(), 10, (660, 600)),
        (80.0, 6, job_runs.IdleRule(), 10, (660, 600)),  # an old measure speaks for nobody
        (30.0, 1, job_runs.IdleRule(20, 40), 10, (660, 600)),
        (None, None, job_runs.IdleRule(20), None, (660, 1200)),  # the programme's rule, where its launch has none
        (None, None, job_runs.IdleRule(), None, (660, None)),
    ],
)
def test_a_silent_job_that_computes_is_not_idle(busy, measured, rule, asked, expected):
    now = timezone.now()
    ago = lambda minutes: now - timedelta(minutes=minutes) if minutes is not None else None
    job = Job(started_at=ago(60), output_at=ago(11), log_read_at=now, idle_minutes=asked)
    found = job_runs.standing(job, now, JobProgress(activity=busy, activity_at=ago(measured)), rule)
    assert (found["idle_seconds"], found["idle_limit"]) == expected
    stepped = job_runs.standing(job, now, JobProgress(step_at=ago(2)), rule)
    assert stepped["idle_seconds"] == 120  # what the reporter tells is a word too
    job.purpose = Job.Purpose.PROOF
    assert job_runs.standing(job, now, None, job_runs.IdleRule(20))["idle_limit"] == (asked * 60 if asked else None)


def test_lost_contact_touches_nothing(bench):
    job = bench.launch()
    running = bench.until(job, lambda row: row.state == "running")
    for _ in range(3):
        bench.line.fault("no_answer", "GET jobs")
        with acting_for(bench.tenant, staff=True):
            kept = list(ClusterAccess.objects.filter(cluster=bench.cluster).values())
        bench.step()
        with acting_for(bench.tenant, staff=True):
            ClusterAccess.objects.update_or_create(cluster=bench.cluster, defaults=kept[0])
        lost = bench.now(job)
        assert lost.unknown_since and (lost.state, lost.restarts) == ("running", 0)
    back = bench.until(job, lambda row: row.unknown_since is None)
    assert (back.state, back.external_id, len(bench.attempts(job))) == ("running", running.external_id, 1)
    assert sum(asked.operation == "POST job/submit" for asked in bench.line.asked) == 1


def test_a_submission_whose_answer_was_lost_is_adopted_and_never_made_twice(bench):
    job = bench.launch()
    bench.line.fault("timeout_after_success", "POST job/submit")
    bench.step()
    assert bench.now(job).state == "requested" and not bench.now(job).external_id
    adopted = bench.until(job, lambda row: row.state == "running")
    assert adopted.external_id
    assert sum(asked.operation == "POST job/submit" for asked in bench.line.asked) == 1


def test_no_field_of_a_launch_reaches_a_shell(bench):
    evil = "$(touch /fsx/pwned); `touch /fsx/pwned` && touch /fsx/pwned #'\""
    script = '#!/bin/bash\nprintf %s "$TOKEN" > /fsx/told\n'
    job = bench.launch(name=evil, script=script, environment={"TOKEN": evil})
    bench.until(job, lambda row: row.state == "succeeded", 60)
    assert (bench.slurm.folder / "fsx" / "told").read_text() == evil
    assert not (bench.slurm.folder / "fsx" / "pwned").exists()


@pytest.fixture
def crowd(slurm: RealSlurm) -> list[str]:
    """Names of a thousand jobs that wait; made before any transaction is open."""
    endpoint = SlurmEndpoint(slurm.url, slurm.versions, slurm.user, slurm.key, "/l")
    dialect = spoken(endpoint)
    names = [f"crowd-{number}" for number in range(1000)]
    for name in names:
        wanted = LaunchSpec(name, "#!/bin/bash\nsleep 1\n", 1, slurm.partition, held=True)
        _ask(endpoint, dialect, "POST", "job/submit", dialect.request(wanted))
    return names


def test_a_thousand_jobs_are_watched_with_one_list_call_a_step(crowd, bench, capsys):
    with acting_for(bench.tenant, staff=True):
        Job.objects.bulk_create(
            [
                Job(
                    tenant=bench.tenant, cluster=bench.cluster, name=name, engine_name=name, script="#!/bin/bash\n",
                    nodes=1, state="submitted", launched_by="engine", last_call_at=timezone.now(),
                )
                for name in crowd
            ]
        )  # fmt: skip
    bench.line.asked.clear()
    took = []
    for _ in range(2):
        began = time.monotonic()
        bench.step()
        took.append(time.monotonic() - began)
    operations = [asked.operation for asked in bench.line.asked]
    with acting_for(bench.tenant, staff=True):
        assert Job.objects.filter(cluster=bench.cluster, state="queued", held=True).count() == 1000
    assert operations == ["GET jobs"] * 2
    with capsys.disabled():
        print(
            f"\n1,000 jobs of one cluster: one list call a step; {took[0]:.1f} s the first step, {took[1]:.1f} s the next"
        )
