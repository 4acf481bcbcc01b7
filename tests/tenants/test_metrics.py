"""Counting in many processes: nobody writes where another one does, and what the dead counted stays."""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from tenants.metrics import CountAnswersMiddleware
from tenants.work import due, loop
from tests.tree import RunningTree

CHECKOUT = Path(__file__).resolve().parents[2]
COUNTS = """
import multiprocessing, os
from tenants import metrics
pids, together = [], multiprocessing.get_context("fork").Barrier(3)
for child in range(3):
    pid = os.fork()
    if pid == 0:
        metrics.provider_error("stack", "throttled")
        os.write(1, f"{metrics.slot()}\\n".encode())  # in one piece: the others write too
        together.wait()  # all live at once
        os._exit(0)
    pids.append(pid)
metrics.provider_error("stack", "throttled")
[os.waitpid(pid, 0) for pid in pids]
"""
TELLS = """
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print(generate_latest(registry).decode())
"""


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "program.settings"}
    setup = "import django; django.setup()\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + code], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_processes_of_a_fork_count_apart_and_the_next_ones_take_the_dead_ones_places(tmp_path: Path) -> None:
    slots = sorted(run(COUNTS, tmp_path).split())
    assert slots == ["1", "2", "3"], "the parent has 0, and all lived at once"
    assert sorted(run(COUNTS, tmp_path).split()) == slots
    assert len(list(tmp_path.glob("counter_*.db"))) == 4
    told = figures(run(TELLS, tmp_path))
    assert told["cohort_provider_errors_total", (("kind", "throttled"), ("of", "stack"))] == 8


@pytest.mark.parametrize(
    ("path", "status", "labels"), [("/x/", 500, ("page", "5xx")), ("/api/v1/x/", 204, ("api", "2xx"))]
)
def test_every_answer_is_counted_by_its_door_and_class(path: str, status: int, labels: tuple[str, str]) -> None:
    door = {"door": labels[0], "status": labels[1]}
    before = REGISTRY.get_sample_value("cohort_answers_total", door) or 0
    CountAnswersMiddleware(lambda request: HttpResponse(status=status))(RequestFactory().get(path))
    assert REGISTRY.get_sample_value("cohort_answers_total", door) == before + 1


@pytest.mark.django_db
def test_a_view_that_breaks_is_counted_as_such(monkeypatch: Any) -> None:
    labels = {"door": "page", "status": "5xx"}
    before = REGISTRY.get_sample_value("cohort_answers_total", labels) or 0
    monkeypatch.setattr("program.health.MigrationExecutor", lambda connection: 1 / 0)
    assert Client(raise_request_exception=False).get("/readyz").status_code == 500
    assert REGISTRY.get_sample_value("cohort_answers_total", labels) == before + 1


@pytest.mark.django_db
def test_a_turn_is_timed_under_its_kind_and_its_end(monkeypatch: Any) -> None:
    monkeypatch.setitem(loop.HANDLERS, "test", ("engine", lambda held: (_ for _ in ()).throw(due.LostLease("x"))))
    due.wish("test", "1")
    held = due.claim(["test"])
    assert held is not None
    loop.handle(held)
    labels = {"kind": "test", "outcome": "lost"}
    assert REGISTRY.get_sample_value("cohort_turn_seconds_count", labels) == 1


def test_a_running_tree_answers_prometheus_with_what_all_of_its_processes_counted(tree: RunningTree) -> None:
    url = next(line.split()[-1] for line in tree.said().splitlines() if "Metrics for Prometheus" in line)
    for _ in range(20):
        urllib.request.urlopen(f"{tree.url}/healthz").read()
    end = time.monotonic() + 40
    while True:
        told = figures(urllib.request.urlopen(url, timeout=10).read().decode())
        turns = told.get(("cohort_turn_seconds_count", (("kind", "heartbeat"), ("outcome", "done"))), 0)
        if turns >= 2 or time.monotonic() > end:
            break
        time.sleep(1)
    assert turns >= 2, "the workers' own counts, from the exporter's process"
    assert told["cohort_answers_total", (("door", "page"), ("status", "2xx"))] >= 20
    assert told["cohort_answers_total", (("door", "page"), ("status", "5xx"))] == 0
    assert told["cohort_database_up", ()] == 1
    assert 0 <= told["cohort_due_age_seconds", (("kind", "heartbeat"),)] < 60
    assert told["cohort_stuck", (("kind", "cluster"),)] == 0
    assert url.startswith("http://127.0.0.1:")
