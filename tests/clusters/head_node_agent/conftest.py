"""A head node of our own making: a small Slurm on the path, a portal that a test scripts, and the agent as a real process."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

AGENT = Path(__file__).parents[3] / "clusters" / "head_node_agent" / "cohort_agent.py"
TOKEN = "t" * 43


class Head:
    """The machine: its folders, its Slurm, its agent."""

    def __init__(self, root: Path, url: str, token: str = TOKEN) -> None:
        self.root, self.slurm, self.logs = root, root / "slurm", root / "logs"
        for folder in (self.slurm, self.logs):
            folder.mkdir()
        shutil.copy(Path(__file__).with_name("fake_slurm.py"), self.slurm / "fake_slurm.py")
        for name in ("sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo"):
            script = self.slurm / name
            script.write_text(f"#!{sys.executable} -SE\n" + (self.slurm / "fake_slurm.py").read_text())
            script.chmod(0o755)
        self.write_token(url, token)
        self.settings: dict[str, Any] = {
            "token_file": str(root / "token.json"), "state": str(root / "state"), "logs": str(self.logs),
            "work_folder": "/", "search_path": f"{self.slurm}:/usr/bin:/bin", "settle_seconds": 0, "poll_seconds": 0.2,
            "program_seconds": 10, "longest_wait_seconds": 0.3,
        }  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def write_token(self, url: str, token: str = TOKEN, mode: int = 0o600) -> None:
        path = self.root / "token.json"
        path.write_text(json.dumps({"url": url, "token": token}))
        path.chmod(mode)

    def start(self) -> subprocess.Popen[bytes]:
        configuration = self.root / "agent.json"
        configuration.write_text(json.dumps(self.settings))
        with open(self.root / "agent.log", "ab") as said:
            self.process = subprocess.Popen([sys.executable, str(AGENT), str(configuration)], stderr=said, stdout=said)
        return self.process

    def start_killed(self, nth: int) -> subprocess.Popen[bytes]:
        """The agent, ended by SIGKILL at its nth step."""
        configuration = self.root / "agent.json"
        configuration.write_text(json.dumps(self.settings))
        command = [sys.executable, str(Path(__file__).with_name("killed.py")), str(AGENT), str(configuration)]
        with open(self.root / "agent.log", "ab") as said:
            self.process = subprocess.Popen(
                command, stderr=said, stdout=said, env={**os.environ, "KILLED_AT": str(nth)}
            )
        return self.process

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    @property
    def said(self) -> str:
        return (self.root / "agent.log").read_text()

    def kept(self) -> dict[str, Any]:
        path = self.slurm / "jobs.json"
        return json.loads(path.read_text()) if path.exists() else {"jobs": [], "calls": []}

    def jobs(self, name: str = "") -> list[dict[str, Any]]:
        return [job for job in self.kept()["jobs"] if not name or job["name"] == name]

    def become(self, number: int, **columns: Any) -> None:
        """What Slurm says of a job from now on."""
        kept = self.kept()
        kept["jobs"][number - 1].update(columns)
        (self.slurm / "jobs.json").write_text(json.dumps(kept))


class Scripted:
    """A portal that hands out what a test says, and keeps what it is told."""

    def __init__(self) -> None:
        self.orders: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.reports: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.ends: dict[str, list[int]] = {}
        self.again_in = 0.2
        self.answers_to_lose = 0
        self.status = 200
        portal = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                portal.heads.append(dict(self.headers))
                if portal.status != 200:
                    return self._send(portal.status, {"detail": "away"})
                verb = self.path.strip("/").rpartition("/")[2]
                if verb == "answer":
                    if portal.answers_to_lose:
                        portal.answers_to_lose -= 1
                        self.close_connection = True
                        return None
                    portal.answers[body["id"]] = body
                elif verb == "report":
                    portal.reports.append(body)
                    for piece in body["logs"]:
                        portal.ends[piece["name"]] = [piece["turn"], piece["at"] + piece["bytes"]]
                open_ones = [order for order in portal.orders if order["id"] not in portal.answers]
                return self._send(200, {"orders": open_ones, "again_in": portal.again_in, "logs": portal.ends})

            def _send(self, status: int, told: dict[str, Any]) -> None:
                data = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/agent"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def order(self, kind: str, identity: str = "o-1", **arguments: Any) -> None:
        self.orders.append({"id": identity, "kind": kind, "arguments": arguments})

    def submit(self, name: str = "job-1", identity: str = "o-1", **more: Any) -> None:
        self.order("submit", identity, name=name, script="#!/bin/bash\nsrun train\n", nodes=2, **more)


def until(what: Callable[[], Any], seconds: float = 20) -> Any:
    """What it says as soon as it says something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")


@pytest.fixture
def portal() -> Iterator[Scripted]:
    made = Scripted()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def head(tmp_path: Path, portal: Scripted) -> Iterator[Head]:
    made = Head(tmp_path, portal.url)
    yield made
    made.stop()
