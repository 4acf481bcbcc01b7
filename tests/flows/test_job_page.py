"""A job's page in a real browser: the log follows whoever reads its end and leaves alone whoever reads further up."""

import math
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect

from clusters.engine import job_watching
from clusters.launchers.log_pages import LogPage
from clusters.models import Job, JobProgress
from tenants.wall.acting import acting_for
from tests import examples
from tests.clusters.test_job_page import step
from tests.conftest import World, make_world
from tests.flows.test_meeting import Visitor

pytestmark = pytest.mark.chromium
SHOTS = os.environ.get("SHOTS", "")


@pytest.fixture
def world(transactional_db: Any) -> World:
    return make_world()


def write(job: Job, *lines: str, begin: Any = None, every: float = 0.0, attempt: int = 1) -> None:
    now = timezone.now()
    at = begin or now
    with acting_for(job.tenant, staff=True):
        row = Job.objects.get(pk=job.pk)
        page = LogPage(tuple((at + timedelta(seconds=every * n), line) for n, line in enumerate(lines)), "f/1")
        output = job_watching.understood(page, JobProgress.objects.filter(job=job).first(), row.log_tail, now)
        Job.objects.filter(pk=row.pk).update(**job_watching.take(row, output, attempt))


def a_run(job: Job) -> None:
    """Five hours, a checkpoint, an Xid, a restart from the checkpoint, and on."""
    begin = timezone.now() - timedelta(hours=5)
    curve = [step(n, f"{2 + 9 * math.exp(-n / 90) + math.sin(n) / 25:.6E}") for n in range(1, 400)]
    curve.insert(
        350, "  successfully saved checkpoint from iteration     350 to /fsx/checkpoints/pretrain [ t 1/2, p 1/4 ]"
    )
    write(
        job,
        "world size: 32",
        *(f"{rank}: NCCL version 2.21.5" for rank in range(0, 32, 8)),
        *curve,
        begin=begin,
        every=36,
    )
    write(
        job,
        "Nov 30 12:00:00 ip-10-0-0-2 kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=4711, GPU has fallen off the bus.",
        "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=600000) ran",
        begin=timezone.now() - timedelta(minutes=50),
    )
    write(
        job,
        "successfully loaded checkpoint from /fsx/checkpoints/pretrain [ t 1/2, p 1/4 ] at iteration 350",
        *(step(n, f"{2.3 + math.sin(n) / 25:.6E}") for n in range(351, 420)),
        begin=timezone.now() - timedelta(minutes=40),
        every=36,
        attempt=2,
    )


def test_the_log_follows_and_keeps_its_place(world: World, live_server: Any, browser: Browser) -> None:
    with acting_for(world.hoshi, staff=True):
        made = examples.make(world, world.hoshi, 1)
        job = examples.job(
            made["clusters"],
            "pretrain-70b-long-name-of-a-run",
            nodes=12,
            accelerators=32,
            restarts=1,
            time_limit_minutes=60 * 24 * 30,
            started_at=timezone.now() - timedelta(minutes=41),
            log_tail="",
            log_read_at=None,
            node_names=[f"ip-10-0-0-{n}" for n in range(1, 13)],
        )
    a_run(job)
    visitor = Visitor(browser, live_server.url, world.person("ml_engineer"))
    page = visitor.go(f"/t/hoshi/jobs/{job.pk}/")
    log = page.locator("#log-lines")
    at_end = "log => log.scrollHeight - log.scrollTop - log.clientHeight < 40"
    assert log.evaluate(at_end)
    page.locator("#more-nodes summary").click()
    was = page.locator("#now .since time").get_attribute("datetime")
    write(job, "a new line at the end", step(421))
    page.wait_for_selector("text=a new line at the end", timeout=15_000)
    assert log.evaluate(at_end)
    expect(page.locator("#now .since time")).not_to_have_attribute("datetime", was or "", timeout=15_000)
    expect(page.locator("#more-nodes table")).to_be_visible()  # what was opened stays open
    log.evaluate("log => { log.scrollTop = 100 }")
    write(job, "another one below")
    expect(log).to_contain_text("another one below", timeout=15_000)
    assert log.evaluate("log => log.scrollTop") == 100
    assert page.locator("#risk").inner_text().count("accelerator-hours") == 1
    assert page.locator(".chart polyline").count() >= 4
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"wider than {width}"
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"job-{width}.png", full_page=True)
    visitor.go(f"/t/hoshi/jobs/{job.pk}/log/")
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / "job-log.png", full_page=True)
    assert not visitor.faults
    page.context.close()
