"""Celery as a doorbell: how bells are rung, and what a dead or frozen broker costs."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from kombu.exceptions import OperationalError

from program.beat import schedule
from program.celery import app
from program.devstack.embedded import Valkey


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """A Valkey of this test's own, which it may freeze."""
    folder = Path(os.environ["COHORT_TEST_FOLDER"]) / f"own-{time.monotonic_ns() % 10**6}"
    folder.mkdir()
    with (folder / "log").open("w") as log:
        server = Valkey(folder / "data", folder, durable=False).start(log)
        yield server
        assert server.child is not None
        server.child.send_signal(signal.SIGCONT)
        server.stop()


def ring(server: Valkey) -> float:
    """Publish one bell to this broker; the seconds it took."""
    began = time.monotonic()
    with app.connection_for_write(f"redis+socket://{server.socket}?virtual_host=0") as connection:
        app.send_task("tenants.work.tasks.ring", queue="engine", connection=connection, retry=False)
    return time.monotonic() - began


def test_a_bell_is_rung_quickly(broker: Valkey) -> None:
    # The first also loads what it needs, and a busy machine may hold up any one of them.
    assert min(ring(broker) for _ in range(4)) < 1


def test_a_frozen_broker_costs_a_moment_and_not_the_process(broker: Valkey) -> None:
    assert broker.child is not None
    ring(broker)
    broker.child.send_signal(signal.SIGSTOP)
    # Without time limits the bell would wait for ever, and so would this test.
    thaw = threading.Timer(10, broker.child.send_signal, [signal.SIGCONT])
    thaw.start()
    began = time.monotonic()
    with pytest.raises((OperationalError, TimeoutError)):
        ring(broker)
    thaw.cancel()
    assert time.monotonic() - began < 8  # before the thaw, whatever else the machine does


def test_a_dead_broker_costs_a_moment_and_not_the_process(broker: Valkey) -> None:
    broker.stop()
    began = time.monotonic()
    with pytest.raises((OperationalError, ConnectionError)):
        ring(broker)
    assert time.monotonic() - began < 5


def test_bells_go_to_queues_that_exist_and_expire() -> None:
    queues = {queue.name for queue in app.conf.task_queues}
    assert queues == {"engine", "slow", "deliver"}
    for entry in schedule().values():
        assert entry["options"]["queue"] in queues
        assert entry["options"]["expires"] <= 10


def test_the_schedule_rings_known_tasks_and_nothing_else() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in schedule().values()} <= set(app.tasks)


def test_a_step_ends_before_its_lease() -> None:
    assert app.conf.task_soft_time_limit < app.conf.task_time_limit < settings.LEASE_SECONDS
    assert app.conf.broker_transport_options["visibility_timeout"] > app.conf.task_time_limit


def test_lost_workers_lose_no_bell_and_no_result_is_kept() -> None:
    conf = app.conf
    assert (conf.task_acks_late, conf.task_reject_on_worker_lost, conf.worker_prefetch_multiplier) == (True, True, 1)
    assert conf.task_ignore_result
    assert conf.result_backend is None
    assert conf.accept_content == ["json"]
