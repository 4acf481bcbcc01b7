"""The embedded servers, and the test run that starts them."""

import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from program.devstack import embedded
from program.devstack.embedded import Postgres, Unavailable, Valkey, postgres_programs, valkey_program

CHECKOUT = Path(__file__).parents[2]


def test_an_interrupted_first_start_is_begun_afresh(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "PG_VERSION").write_text("18\n")
    (tmp_path / "data.unfinished").touch()
    server = Postgres(data, tmp_path / "s", durable=False)
    server.initialise()
    assert (data / "base").is_dir()
    assert not (tmp_path / "data.unfinished").exists()


def test_a_database_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "PG_VERSION").write_text("18\n")
    Postgres(data, tmp_path / "s").initialise()
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_a_server_that_cannot_start_says_so(tmp_path: Path) -> None:
    valkey = Valkey(tmp_path / "missing", tmp_path)
    valkey.make_room()
    (tmp_path / "missing").rmdir()
    with (tmp_path / "log").open("w") as log, pytest.raises(Unavailable, match="Valkey ended at once"):
        embedded.wait_until(valkey.answers, subprocess.Popen(valkey.command(), stdout=log, stderr=log), "Valkey", 5)


def test_programs_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POSTGRES_BIN", str(tmp_path))
    monkeypatch.setenv("VALKEY_BIN", str(tmp_path / "valkey"))
    assert postgres_programs() == tmp_path
    assert valkey_program() == tmp_path / "valkey"


def test_a_machine_without_a_database_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))
    with pytest.raises(Unavailable, match="No PostgreSQL 17 or newer was found.*POSTGRES_BIN"):
        postgres_programs()


def test_an_older_database_of_the_system_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("15", "9.6", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "postgres").touch()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(tmp_path / v / "bin" for v in ("15", "9.6", "17")))
    assert postgres_programs() == tmp_path / "17" / "bin"


def test_root_runs_it_as_nobody_where_user_namespaces_are_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert embedded.without_root(["postgres"]) == (["postgres"], {"user": 65534, "group": 65534, "extra_groups": []})
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert embedded.without_root(["postgres"]) == (["postgres"], {})


def test_a_folder_that_nobody_cannot_enter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr("shutil.chown", lambda *_: None)
    with pytest.raises(Unavailable, match=f"cannot enter {closed}"):
        embedded.own_folder(closed / "data", {"user": 65534})


def test_a_killed_test_run_leaves_no_server(tmp_path: Path) -> None:
    code = (
        "import os; os.environ.pop('COHORT_TEST_FOLDER', None); import program.devstack.pytest_plugin as p; import time;"
        "print(os.environ['COHORT_TEST_FOLDER'], flush=True); time.sleep(60)"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=CHECKOUT)
    assert isinstance(run.stdout, io.BufferedReader)
    folder = run.stdout.readline().decode().strip()
    assert servers(folder)
    run.send_signal(signal.SIGKILL)
    run.wait()
    end = time.monotonic() + 10
    while servers(folder):
        assert time.monotonic() < end, servers(folder)
        time.sleep(0.1)


def servers(folder: str) -> list[str]:
    """The living processes that name this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if folder in words:
            found.append(words)
    return found
