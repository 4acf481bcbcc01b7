"""What a job's page, its log and its reporter show and take."""

import json
import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.engine import job_watching
from clusters.launchers.log_pages import LogPage
from clusters.models import Attempt, Job, JobFault, JobOutput, JobPoint, JobProgress, JobRank, JobReporter
from tenants.history.models import Entry
from tenants.models import Cycle, TrainingModel
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for
from tests import examples
from tests.clusters.job_logs.test_formats import MEGATRON

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def job(world):
    """A job as it began an hour ago, with nothing told of it yet."""
    with acting_for(world.hoshi, staff=True):
        made = examples.make(world, world.hoshi, 1)
        return examples.job(
            made["clusters"],
            "train",
            nodes=2,
            accelerators=16,
            started_at=timezone.now() - timedelta(hours=1),
            log_tail="",
            log_read_at=None,
            node_names=["ip-10-0-0-1", "ip-10-0-0-2"],
        )


@pytest.fixture
def client(world):
    client = Client()
    client.force_login(world.person("ml_engineer"), BACKEND)
    return client


def told(job, *lines, attempt=1, ago=0, state="running"):
    """As the engine takes a page of its log."""
    now = timezone.now()
    at = now - timedelta(seconds=ago)
    with acting_for(job.tenant, staff=True):
        row = Job.objects.get(pk=job.pk)
        progress = JobProgress.objects.filter(job=row).first()
        page = LogPage(tuple((at, line) for line in lines), f"f/{len(lines)}")
        output = job_watching.understood(page, progress, row.log_tail, now)
        columns = job_watching.take(row, output, attempt)
        job_watching.watch_silence(row, state, columns["log_read_at"])
        Job.objects.filter(pk=row.pk).update(**columns)


def step(number, loss="2.5E+00"):
    return MEGATRON.replace("      100/", f"{number:9d}/").replace("8.123456E+00", loss)


def page(client, job, query="", **headers):
    answer = client.get(f"/t/hoshi/jobs/{job.pk}/{query}", headers=headers)
    assert answer.status_code == 200, answer.content[:500]
    return answer.content.decode()


def test_the_page_shows_measures_charts_and_what_a_lost_node_would_cost(client, job):
    told(job, *(step(number, f"{9 - number / 10:.6E}") for number in range(1, 60)))
    told(job, "  successfully saved checkpoint from iteration      50 to /fsx/ckpt [ t 1/2, p 1/4 ]", ago=1800)
    text = page(client, job)
    assert "Megatron-LM" in text and "step 59" in text and "500000" in text
    assert (
        text.count("<polyline") == 4 and "412.3" in text
    )  # loss, samples a second, TFLOP/s … and the gradient's norm is level
    assert "8.0 accelerator-hours" in text and "30 minutes × 16" in text
    assert "/fsx/ckpt" in text and "never" in text
    assert "10.0 minutes" in text and "PyTorch" in text


def test_a_format_that_is_not_known_is_said_to_be_so_and_is_no_0(client, job):
    told(job, "epoch one is going well", "loss is great")
    text = page(client, job)
    assert "Its output is not recognised" in text and "epoch one is going well" in text
    assert "cannot say:" in text


def test_a_loss_that_is_no_number_is_shown_as_one(client, job):
    told(job, step(7, "NAN"))
    assert "The loss of step 7 is no number:" in page(client, job)
    with acting_for(job.tenant):
        point = JobPoint.objects.get(job=job)
        assert (point.loss, point.loss_word) == (None, "nan")


def test_what_a_log_holds_is_shown_as_text(client, job):
    told(job, "<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\x00\x01\x02" * 40, "x" * 1_000_000)
    text = page(client, job)
    assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text
    assert "no text]" in text and "more characters]" in text and "\x1b" not in text


def test_steps_that_are_told_again_after_a_restart_belong_to_their_run(job):
    told(job, step(10, "4.0E+00"), step(20, "3.0E+00"))
    told(job, step(20, "3.0E+00"))
    told(job, step(20, "3.5E+00"), attempt=2)
    with acting_for(job.tenant):
        rows = JobPoint.objects.filter(job=job).order_by("attempt", "step").values_list("attempt", "step", "loss")
        assert list(rows) == [(1, 10, 4.0), (1, 20, 3.0), (2, 20, 3.5)]


def test_points_are_bounded_and_keep_their_extremes(job):
    for begin in range(0, 6000, 3000):
        told(job, *(f"step={n} loss={99 if n == 4321 else 2.0 + n % 7}" for n in range(begin, begin + 3000)))
    with acting_for(job.tenant):
        rows = JobPoint.objects.filter(job=job)
        assert rows.count() <= job_watching.MOST_POINTS
        assert rows.filter(step=4321, loss=99).exists() and rows.filter(step=5999).exists()


def test_the_output_is_kept_in_stretches_without_a_gap_and_the_oldest_go(job, monkeypatch):
    monkeypatch.setattr(job_watching, "STRETCH", 400)
    monkeypatch.setattr(job_watching, "KEPT", 2000)
    for begin in range(0, 300, 30):
        told(job, *(f"line {number}" for number in range(begin, begin + 30)))
    with acting_for(job.tenant):
        rows = list(JobOutput.objects.filter(job=job).order_by("number"))
        lines = [line for row in rows for line in row.text.split("\n")]
    assert lines == [f"line {number}" for number in range(rows[0].first_line, 300)]
    assert [row.number for row in rows] == list(range(rows[0].number, rows[-1].number + 1))
    assert rows[0].first_line > 0 and sum(row.size for row in rows) <= 2400
    assert all(row.first_line + row.lines == after.first_line for row, after in zip(rows, rows[1:], strict=False))


def test_the_log_follows_from_where_the_page_is(client, job):
    told(job, "one", "two")
    address = f"/t/hoshi/jobs/{job.pk}/log/tail/"
    follow = {"hx-request": "true"}
    assert client.get(f"{address}?after=2", headers=follow).status_code == 204
    told(job, "three")
    text = client.get(f"{address}?after=2", headers=follow).content.decode()
    assert "three" in text and "two" not in text and "after=3" in text
    assert client.get(f"{address}?after=x", headers=follow).status_code == 400
    assert "<!doctype" in client.get(address).content.decode()  # without the script, a page


def test_older_output_is_paged_and_all_of_it_can_be_kept(client, job, monkeypatch):
    monkeypatch.setattr(job_watching, "STRETCH", 60)
    told(job, *(f"line {number}" for number in range(30)))
    newest = client.get(f"/t/hoshi/jobs/{job.pk}/log/").content.decode()
    assert "line 29" in newest and "Older" in newest
    assert "line 0" in client.get(f"/t/hoshi/jobs/{job.pk}/log/?page=1").content.decode()
    assert client.get(f"/t/hoshi/jobs/{job.pk}/log/?page=99").status_code == 404
    whole = client.get(f"/t/hoshi/jobs/{job.pk}/log/download/")
    assert whole.content.decode() == "\n".join(f"line {number}" for number in range(30))
    assert "attachment" in whole["Content-Disposition"]


def test_silence_is_no_failure_before_the_time_out_and_a_hang_after_it(client, job):
    told(job, "step=1 loss=2", ago=500)
    told(job)
    assert "No line" in page(client, job) and "It hangs:" not in page(client, job)
    with acting_for(job.tenant):
        JobProgress.objects.filter(job=job).update(last_line_at=timezone.now() - timedelta(seconds=700))
    told(job)
    assert "It hangs:" in page(client, job)
    told(job)
    with acting_for(job.tenant):
        assert Entry.objects.filter(kind="job.stalled", subject_id=job.pk).count() == 1
    told(job, "step=2 loss=2")
    with acting_for(job.tenant):
        assert Entry.objects.filter(kind="job.speaks", subject_id=job.pk).count() == 1
        assert JobProgress.objects.get(job=job).stalled_since is None


def test_a_restore_is_drilled_once_a_run_has_gone_beyond_its_checkpoint(client, job):
    told(job, "successfully loaded checkpoint from /fsx/ckpt [ t 1/2, p 1/4 ] at iteration 50", step(50), attempt=2)
    assert "from step 50" not in page(client, job)
    told(job, step(51), attempt=2)
    assert "from step 50" in page(client, job)


def test_the_node_with_the_xid_is_the_suspect(client, job):
    told(
        job,
        "world size: 16",
        "Nov 30 12:00:00 ip-10-0-0-2 kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=4711, GPU has fallen off the bus.",
        "[rank1]: RuntimeError: NCCL communicator was aborted: some NCCL operations have failed or timed out",
    )
    text = page(client, job)
    assert "very likely, 90 %" in text and "an Xid that only hardware causes" in text
    with acting_for(job.tenant):
        assert set(JobFault.objects.filter(job=job).values_list("host", "rank", "xid")) == {
            ("ip-10-0-0-2", None, 79),
            ("", 1, None),
        }


def test_the_forecast_stands_against_its_limits_and_answers_what_if(client, job):
    with acting_for(job.tenant, staff=True):
        Job.objects.filter(pk=job.pk).update(time_limit_minutes=120)
        now = timezone.now()
        JobProgress.objects.create(tenant=job.tenant, job=job, total_steps=1000, step=100, step_at=now)
    points(job)
    text = page(client, job)
    assert "4,800" in text and "86,400,000,000" in text  # 100 steps in 30 minutes; 1e6 tokens a second
    assert " h too late" in text  # 900 steps more are four and a half hours, the limit is one hour away
    text = page(client, job, "?nodes=40")
    assert "What if: 40 nodes" in text and "to spare" in text.partition("what_if_answer")[2]
    assert "What if" in page(client, job, "?nodes=0")


def test_the_models_amount_stands_against_the_stage_gate(client, job):
    with acting_for(job.tenant, staff=True):
        Cycle.objects.update(stage_gate_on=programme_today() + timedelta(days=10))
        model = TrainingModel.objects.get(participation_id=Job.objects.get(pk=job.pk).cluster.participation_id)
        TrainingModel.objects.filter(pk=model.pk).update(
            target_amount=1000, done_amount=400, amount_unit="billion_tokens", name="Hoshi 7B"
        )
    text = page(client, job)
    assert "400 of 1,000 billion tokens" in text and "what its model is counted in was not measured" in text
    points(job)
    text = page(client, job)
    assert "86.4 billion tokens" in text.partition('id="aim"')[2]  # 1e6 tokens a second
    assert " days to spare" in text.partition('id="aim"')[2]  # 600 billion are 6.9 days
    answer = page(client, job, "?speed=50&lost_days=2").partition("what_if_answer")[2]
    assert "50 % of the throughput, 2 days lost" in answer and "43.2 billion tokens" in answer and "too late" in answer
    assert "Its MFU was not measured" in page(client, job, "?mfu=50")
    goes = client.get(f"/api/v1/t/hoshi/jobs/{job.pk}/progress/?nodes=4").json()["aim"]
    assert goes["per_day"] == pytest.approx(172.8) and goes["unknown"] == ""
    with acting_for(job.tenant, staff=True):
        TrainingModel.objects.create(
            tenant=job.tenant, participation=model.participation, code="two", name="Second", family="dense",
            total_params_b=1, active_params_b=1,
        )  # fmt: skip
    assert "Choose below which one" in page(client, job)
    assert "nobody recorded" in page(client, job, "?model=two") or "has no target" in page(client, job, "?model=two")


def points(job):
    now = timezone.now()
    with acting_for(job.tenant, staff=True):
        for n in range(11):
            JobPoint.objects.create(
                tenant=job.tenant, job=job, attempt=1, step=n * 10, at=now - timedelta(minutes=(10 - n) * 3),
                tokens_per_second=1e6,
            )  # fmt: skip


def test_a_measure_that_is_old_says_so(client, job):
    told(job, step(1), ago=400)
    assert "old: measured" in page(client, job)


def test_what_a_person_disliked_on_it_is_gone(client, job):
    names = [f"ip-10-0-0-{n}" for n in range(1, 161)]
    now = timezone.now()
    with acting_for(job.tenant, staff=True):
        Job.objects.filter(pk=job.pk).update(
            nodes=160, accelerators=1280, node_names=names, checkpoint_step=1, checkpoint_at=now
        )
        Attempt.objects.create(tenant=job.tenant, job=job, number=1, external_id="1", node_names=names, started_at=now)
    text = page(client, job)
    assert "ip-10-0-0-[4-160]" in text and "show all 160" in text and "next to nothing" in text
    assert "Launch another like it" in text and "Launch as it was" not in text
    told(job, step(7))
    with acting_for(job.tenant, staff=True):
        Job.objects.filter(pk=job.pk).update(state="recovering")
    text = page(client, job)
    assert "before it stopped: measured" in text and "If a node fell now" not in text
    with acting_for(job.tenant, staff=True):
        Job.objects.filter(pk=job.pk).update(state="failed", ended_at=now)
    text = page(client, job)
    assert text.count("Launch again") == 1 and "Change it first" in text and "Launch another" not in text
    text = client.get(f"/jobs/compare/?old={job.pk}&new={job.pk}").content.decode()
    assert "Last loss" in text and "2.5000" in text and "Tokens a second" in text


# Its reporter


@pytest.fixture
def door(job):
    with acting_for(job.tenant, staff=True):
        JobReporter.objects.create(tenant=job.tenant, job=job, token="right", made_at=timezone.now())
    return f"/t/hoshi/jobs/{job.pk}/reports/"


def post(door, *reports, token="right", **more):
    body = {
        "reports": [{"at": time.time(), "attempt": 1, "rank": 0, "host": "ip-10-0-0-1", **each} for each in reports]
    }
    return Client().post(
        door, json.dumps(body | more), content_type="application/json", headers={"authorization": f"Bearer {token}"}
    )


def test_reports_become_points_checkpoints_and_ranks_once(client, job, door):
    message = (
        {"kind": "point", "step": 5, "loss": 2.5, "tokens_per_second": 1000.0, "total_steps": 90, "world": 16},
        {"kind": "saved", "step": 5, "path": "/fsx/5"},
        {"kind": "alive", "rank": 8},
    )
    for _ in range(2):
        answer = post(door, *message)
        assert (answer.status_code, answer.json()) == (200, {"taken": 3})
    with acting_for(job.tenant):
        (point,) = JobPoint.objects.filter(job=job)
        assert (point.step, point.loss, point.source) == (5, 2.5, "reporter")
        assert set(JobRank.objects.filter(job=job).values_list("rank", flat=True)) == {0, 8}
        assert Job.objects.get(pk=job.pk).checkpoint_step == 5
    text = page(client, job)
    assert "2 of 16 heard lately" in text and "/fsx/5" in text
    assert post(door, {"kind": "alive", "busy": 101}).status_code == 422
    for busy in (12.0, 97.5, 3):  # where one node computes, the job does
        assert post(door, {"kind": "alive", "busy": busy}).status_code == 200
    with acting_for(job.tenant):
        assert JobProgress.objects.get(job=job).activity == 97.5


def test_what_the_log_and_the_reporter_say_of_one_step_is_put_together(job, door):
    told(job, "step=5 loss=2.5")
    post(door, {"kind": "point", "step": 5, "tflops": 400})
    with acting_for(job.tenant):
        (point,) = JobPoint.objects.filter(job=job)
        assert (point.loss, point.tflops) == (2.5, 400)


@pytest.mark.parametrize("token", ["wrong", "", "right right", "reports-of-hoshi"])
def test_a_token_that_is_not_this_jobs_learns_nothing(job, door, token):
    answers = {
        post(address, {"kind": "alive"}, token=token).content
        for address in (
            door,
            door.replace("hoshi", "umi"),
            door.replace("hoshi", "nobody"),
            door.replace(str(job.pk), "0" * 8 + "-0000-4000-8000-" + "0" * 12),
        )
    }
    assert len(answers) == 1 and b"not_known" in answers.pop()


@pytest.mark.parametrize(
    ("report", "field"),
    [
        ({"kind": "point"}, "step"),
        ({"kind": "point", "step": -1}, "step"),
        ({"kind": "point", "step": 2**60}, "step"),
        ({"kind": "point", "step": True}, "step"),
        ({"kind": "point", "step": 1, "loss": "low"}, "loss"),
        ({"kind": "point", "step": 1, "tflops": True}, "tflops"),
        ({"kind": "nothing"}, "kind"),
        ({"kind": ["point"]}, "kind"),
        ({"kind": "alive", "at": "now"}, "at"),
        ({"kind": "alive", "at": 1e300}, "at"),
        ({"kind": "alive", "rank": 10**9}, "rank"),
        ({"kind": "saved", "step": 1, "path": 7}, "path"),
    ],
)
def test_a_bad_report_is_refused_in_a_sentence_and_keeps_nothing(job, door, report, field):
    answer = post(door, {"kind": "point", "step": 1, "loss": 2.0}, report)
    assert answer.status_code == 422 and answer.json()["field"] == f"reports[1].{field}"
    with acting_for(job.tenant):
        assert not JobPoint.objects.filter(job=job).exists()


def test_a_job_that_reports_without_end_is_slowed_down(job, door, monkeypatch):
    monkeypatch.setattr("clusters.actions.reporting.MOST_A_MINUTE", 2)
    answers = [post(door, {"kind": "alive"}) for _ in range(4)]
    assert answers[-1].status_code == 429 and int(answers[-1]["Retry-After"]) > 0


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b"{}", b'{"reports": 1}', b"[" * 100_000, b"\xff\xfe"])
def test_a_message_that_is_none_is_refused(door, body):
    answer = Client().post(door, body, content_type="application/json", headers={"authorization": "Bearer right"})
    assert answer.status_code == 422


def test_the_reporter_can_be_fetched_by_a_job(client, job):
    told(job, "nothing that is known")
    assert "from cohort import run" in page(client, job) and "/reporter/cohort.py" in page(client, job)
    answer = Client().get("/reporter/cohort.py")
    assert answer.status_code == 200 and b"class Run" in answer.content
