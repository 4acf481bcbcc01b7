"""`make up` from outside: what is in its way, what it leaves behind, and what it keeps."""

import os
import shutil
import signal
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import override_settings

from program.devstack import environment
from program.management.commands import up
from tests.tree import RunningTree

MEMBERS = ("postgres", "valkey", "cloud", "web", "worker-engine", "worker-slow", "beat", "metrics")


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code
    except OSError:
        return 0


def wait_until_nothing_is_left(tree: RunningTree, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while left := tree.processes():
        assert time.monotonic() < end, left
        time.sleep(0.1)


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        tree = RunningTree(tmp_path / "var", other.getsockname()[1], anew=True)
        assert tree.child.wait(30) == 2
    assert tree.said() == f"Port {tree.port} is in use. Stop what listens there, or say `make up PORT=8080`.\n"


@pytest.mark.parametrize("port", ["http", "0", "70000"])
def test_a_port_that_is_none_is_said(tmp_path: Path, port: str) -> None:
    tree = RunningTree(tmp_path / "var", PORT=port, anew=True)
    assert tree.child.wait(30) != 0
    assert tree.said() == f"PORT is {port}, but must be a number from 1 to 65535.\n"


def test_a_folder_that_another_stack_runs_on_is_said(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    lock = environment.taken(tmp_path / "var")
    assert lock is not None
    environment.remember(tmp_path / "var", {"PORT": "8123"})
    tree = RunningTree(tmp_path / "var", anew=True)
    assert tree.child.wait(30) == 2
    lock.close()
    assert f"Another `make up` (process {os.getpid()}, port 8123) already runs on {tmp_path / 'var'}." in tree.said()
    assert "Traceback" not in tree.said()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with override_settings(VAR=tmp_path / "file"), pytest.raises(up.CannotStart, match="cannot be written"):
        up._take(tmp_path / "file")


def test_too_little_room_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**8))
    with override_settings(PORT=0), pytest.raises(up.CannotStart, match="Less than 1 GB is free"):
        up._take(tmp_path)


def test_a_socket_path_that_is_too_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/" + "long" * 30)
    with override_settings(PORT=0), pytest.raises(up.CannotStart, match="too long for a socket"):
        up._take(tmp_path)


def test_the_sandbox_cloud_keeps_its_port(tmp_path: Path) -> None:
    with override_settings(PORT=20_000):
        first = up._cloud_port(tmp_path)
    with override_settings(PORT=30_000):
        assert up._cloud_port(tmp_path) == first


def test_commands_speak_to_the_stack_that_runs_and_to_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DB_HOST", "DB_HOST_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VAR", str(tmp_path))
    lock = environment.taken(tmp_path)
    assert lock is not None
    environment.remember(tmp_path, {"DB_HOST": "/somewhere"})
    assert environment.for_command(["due"])["DB_HOST"] == "/somewhere"
    lock.close()
    assert environment.for_command(["due"]) == {}
    monkeypatch.setenv("DB_HOST", "db.example.org")
    assert environment.for_command(["due"]) == {}


@pytest.mark.tree
def test_everything_runs_and_a_killed_supervisor_leaves_nothing_and_loses_nothing(tmp_path: Path) -> None:
    tree = RunningTree(tmp_path / "var", anew=True).wait_until_ready()
    try:
        assert "with a new database" in tree.said()
        assert status(tree.url + "/healthz") == status(tree.url + "/readyz") == 200
        assert len({tree.pid(name) for name in MEMBERS}) == len(MEMBERS)
        tree.manage("shell", "-c", "from tenants.models import Person; Person.objects.create(email='kept@example.org')")
        tree.child.send_signal(signal.SIGKILL)
        tree.child.wait()
        wait_until_nothing_is_left(tree)

        again = RunningTree(tree.var, tree.port).wait_until_ready()
        assert "with a new database" not in again.said()
        asked = "from tenants.models import Person; print(Person.objects.filter(email='kept@example.org').count())"
        assert again.manage("shell", "-v", "0", "-c", asked).split()[-1] == "1"

        os.kill(again.pid("beat"), signal.SIGKILL)
        assert again.child.wait(60) == 1
        assert "beat was ended by SIGKILL" in again.said()
        wait_until_nothing_is_left(again)
        assert not (again.var / "environment.json").exists()
    finally:
        tree.stop()


@pytest.mark.tree
def test_ctrl_c_ends_everything_in_good_order(tmp_path: Path) -> None:
    tree = RunningTree(tmp_path / "var", None, "--restart").wait_until_ready()
    try:
        worker = tree.pid("worker-engine")
        os.kill(worker, signal.SIGKILL)
        end = time.monotonic() + 20
        while tree.pid("worker-engine") == worker:
            assert time.monotonic() < end, tree.said()
            time.sleep(0.1)
        assert tree.child.poll() is None
    finally:
        assert tree.stop() == 0
    assert tree.processes() == []
    assert "everything stopped" in tree.said()
    assert "database system is shut down" in (tree.var / "log" / "postgres.log").read_text()
