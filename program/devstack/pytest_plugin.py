"""Starts PostgreSQL and Valkey for a test run; loaded by `-p`, because pytest-django reads the settings before any conftest."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
import time
from pathlib import Path

from program.devstack.embedded import DATABASE, Postgres, Valkey
from program.devstack.seed import begin_from_seed

PREFIX = "cohort-test-"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sweep() -> None:
    """A run that was killed ends its servers (they die with it) but leaves its folder."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not _alive(int(pid)) and time.time() - left.stat().st_mtime > 60:
            shutil.rmtree(left, ignore_errors=True)


def _start() -> None:
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    # The user the server runs as may be another one, and then it has to pass through.
    folder.chmod(0o711)
    log = (folder / "servers.log").open("w")
    begin_from_seed(folder / "postgres")
    postgres = Postgres(folder / "postgres", folder / "s", durable=False).start(log)
    with postgres.connect("postgres") as connection, connection.cursor() as cursor:
        # Only its owner may copy a database, unless it is a template.
        cursor.execute(f"alter database {DATABASE} is_template true")
    connection.close()
    valkey = Valkey(folder / "valkey", folder, durable=False).start(log)
    os.environ.update(
        COHORT_TEST_FOLDER=str(folder),
        DEBUG="1",
        VAR=str(folder / "var"),
        DB_HOST=str(postgres.sockets),
        BROKER_URL=f"redis+socket://{valkey.socket}?virtual_host=0",
        INSTALLATION_ID="test",
        # A crawl asks more in a minute than any program should; the throttles have tests of their own.
        API_READS="1000000/minute",
        API_WRITES="1000000/minute",
    )
    # Left over from a shell, these would lead a test to a cloud that is not its own.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    mine = os.getpid()

    def stop() -> None:
        # A forked child inherits this hook, and must not end its parent's servers.
        if os.getpid() == mine:
            valkey.stop()
            postgres.stop()
            log.close()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)


def _apart(worker: str) -> None:
    """One of several processes of a run: the same servers, a broker's database and a state folder of its own."""
    folder = Path(os.environ["COHORT_TEST_FOLDER"])
    os.environ["VAR"] = str(folder / f"var-{worker}")
    broker = os.environ["BROKER_URL"].partition("?")[0]
    os.environ["BROKER_URL"] = f"{broker}?virtual_host={1 + int(worker.removeprefix('gw'))}"


def pytest_collection_finish() -> None:
    """What was imported and collected lives as long as the run: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


# At its usual thresholds the collector takes a quarter of the time in which seven thousand tests are collected.
gc.set_threshold(100_000, 50, 100)
# The workers of xdist inherit the environment, and with it the servers of the process that started them.
if "COHORT_TEST_FOLDER" not in os.environ:
    _start()
elif "PYTEST_XDIST_WORKER" in os.environ:
    _apart(os.environ["PYTEST_XDIST_WORKER"])
