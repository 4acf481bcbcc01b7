"""Starts the whole process tree of `make up` for a test, on a free port and with a state folder of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from program.devstack.embedded import die_with_parent
from program.devstack.seed import begin_from_seed

CHECKOUT = Path(__file__).parent.parent
# What the test run set for itself would lead the tree to the test run's own servers.
OURS = ("DEBUG", "DB_", "BROKER_URL", "VAR", "PORT", "AWS_", "COHORT_TEST_FOLDER", "DJANGO_", "INSTALLATION_ID")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RunningTree:
    """`manage.py up` as a child of the test."""

    def __init__(self, var: Path, port: int | None = None, *words: str, anew: bool = False, **settings: str) -> None:
        """`anew`: as on a machine that never ran it; else the tables are there, as after any first start."""
        self.var, self.port = var, port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        # The linter costs seconds in every tree, and has tests of its own.
        self.environment |= {"VAR": str(var), "PORT": str(self.port), "DEMO": "0", "LINT_TEMPLATES": "0"} | settings
        var.mkdir(parents=True, exist_ok=True)
        if not anew and not (var / "postgres").exists():
            begin_from_seed(var / "postgres")
        self.output = var.with_suffix(".up.log")
        with self.output.open("wb") as output:
            self.child = subprocess.Popen(
                [sys.executable, "manage.py", "up", *words],
                cwd=CHECKOUT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # A test run that is killed takes its trees with it.
                preexec_fn=die_with_parent(signal.SIGTERM),
            )

    def said(self) -> str:
        """What it told the terminal so far."""
        return self.output.read_text()

    def wait_until_ready(self, seconds: float = 180) -> RunningTree:
        """Wait for the line that says it is ready."""
        end = time.monotonic() + seconds
        while "Cohort is ready" not in self.said():
            assert self.child.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.1)
        return self

    def manage(self, *words: str, seconds: float = 60) -> str:
        """Run a command against this tree and give what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=CHECKOUT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def pid(self, name: str) -> int:
        """The process of one member: postgres, valkey, cloud, web, worker-engine, worker-slow, beat."""
        return int((self.var / "log" / f"{name}.pid").read_text())

    def processes(self) -> list[str]:
        """Every living process whose command line or environment names this tree's state folder."""
        found = []
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            try:
                words = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
            except OSError:
                continue
            if str(self.var).encode() in words:
                found.append(process.name + " " + (process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def stop(self, with_signal: int = signal.SIGINT, seconds: float = 60) -> int:
        """End it and give its exit code."""
        if self.child.poll() is None:
            self.child.send_signal(with_signal)
        return self.child.wait(seconds)
