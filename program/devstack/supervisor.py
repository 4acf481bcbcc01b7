"""One process tree: started in order, watched, and ended in reverse order, also when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from program.devstack.embedded import die_with_parent

LOG_LIMIT = 10_000_000


class Ended(RuntimeError):
    """A process of the tree ended or never became ready; the message tells a person which one, and where its log lies."""


class Stopped(Exception):
    """Somebody asked the tree to stop while it was still starting."""


@dataclass
class Process:
    """One member of the tree."""

    name: str
    argv: list[str]
    ready: Callable[[], bool] | None = None
    # Sent one after the other, each with `patience` seconds, before SIGKILL ends whatever is left.
    goodbyes: tuple[int, ...] = (signal.SIGTERM,)
    patience: float = 5
    # What the kernel sends when the tree's own process dies: a fast end, nobody waits any more.
    orphaned: int = signal.SIGTERM
    restarts: bool = False
    # It does one thing and ends; nobody waits for it.
    ends: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    child: subprocess.Popen[bytes] | None = None
    began_at: int = 0

    def alive(self) -> bool:
        return self.child is not None and self.child.poll() is None


class Tree:
    """The processes of one stack, with one log file each."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.members: list[Process] = []
        self.together: list[tuple[Process, ...]] = []
        self.asked_to_stop = False
        # First of all: a signal during start-up must not be lost, and a shell's `&` starts us with SIGINT ignored.
        for wanted in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(wanted, self._ask_to_stop)

    def _ask_to_stop(self, *_: Any) -> None:
        self.asked_to_stop = True

    def say(self, sentence: str) -> None:
        """Tell the person at the terminal."""
        print(f"cohort | {sentence}", flush=True)

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def launch(self, member: Process) -> None:
        """Start one process without waiting for it."""
        log = self.log_of(member.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > LOG_LIMIT:
            log.replace(log.with_suffix(".log.1"))
        member.began_at = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            member.child = subprocess.Popen(
                member.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **member.environment},
                preexec_fn=die_with_parent(member.orphaned),
                **member.options,
            )
        # For tests and for people who want to see what happens when just this one dies.
        note = log.with_suffix(".pid.new")
        note.write_text(str(member.child.pid))
        # Whoever reads it at this moment must not find it empty.
        note.replace(log.with_suffix(".pid"))
        if member not in self.members:
            self.members.append(member)

    def wait_for(self, *members: Process, seconds: float = 120) -> None:
        """Wait until these answer."""
        end = time.monotonic() + seconds
        for member in members:
            while member.ready is not None and not member.ready():
                self._check()
                if time.monotonic() > end:
                    raise Ended(f"{member.name} was not ready after {seconds:.0f} seconds. {self.last_lines(member)}")
                time.sleep(0.05)
        self._check()

    def start(self, *members: Process) -> None:
        """Start these side by side and wait until all of them answer."""
        self.together.append(members)
        for member in members:
            self.launch(member)
        self.wait_for(*members)

    def run(self, name: str, argv: list[str], *, shown: bool = False) -> int:
        """Run a program to its end beside the tree, and give its exit code; `shown` copies its words to the terminal."""
        once = Process(name, argv)
        self.launch(once)
        self.members.remove(once)
        assert once.child is not None
        position = once.began_at
        try:
            while True:
                code = once.child.poll()
                if shown:
                    position = self._copy(name, position)
                if code is not None:
                    return code
                self._check()
                time.sleep(0.1)
        finally:
            self.end(once)

    def _copy(self, name: str, position: int) -> int:
        with self.log_of(name).open("rb") as log:
            log.seek(position)
            *lines, rest = log.read().split(b"\n")
            for line in lines:
                self.say(f"  {line.decode(errors='replace')}")
            return log.tell() - len(rest)

    def _check(self) -> None:
        if self.asked_to_stop:
            raise Stopped
        for member in list(self.members):
            if not member.alive():
                self._finished(member) if member.ends else self._ended(member)

    def _finished(self, member: Process) -> None:
        assert member.child is not None
        self.members.remove(member)
        if member.child.returncode:
            self.say(f"{member.name} did not succeed. {self.last_lines(member)}")

    def _ended(self, member: Process) -> None:
        assert member.child is not None
        code = member.child.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        if not member.restarts:
            raise Ended(f"{member.name} {how}. {self.last_lines(member)}")
        self.say(f"{member.name} {how}; starting it again")
        self._end_group(member)
        time.sleep(0.5)
        self.launch(member)

    def last_lines(self, member: Process, count: int = 15) -> str:
        """The end of a process's log, for a message."""
        log = self.log_of(member.name)
        with log.open("rb") as lines:
            lines.seek(max(member.began_at, log.stat().st_size - 20_000))
            tail = lines.read().decode(errors="replace").splitlines()[-count:]
        if not tail:
            return f"It wrote nothing to {log}."
        return f"The end of {log}:\n" + "\n".join(f"    {line}" for line in tail)

    def watch(self) -> None:
        """Stay until somebody asks to stop (Stopped) or a process ends (Ended)."""
        while True:
            self._check()
            time.sleep(0.25)

    def stop(self) -> None:
        """End everything: what was started together side by side, the groups in reverse order."""
        for group in [*reversed(self.together), tuple(self.members)]:
            self.end(*group)
        self.members.clear()
        self.together.clear()

    def end(self, *group: Process) -> None:
        """End these and whatever they have left of their own."""
        longest = max((len(member.goodbyes) for member in group), default=0)
        for turn in range(longest):
            going = [member for member in group if member.alive() and turn < len(member.goodbyes)]
            for member in going:
                assert member.child is not None
                member.child.send_signal(member.goodbyes[turn])
            end = time.monotonic() + max((member.patience for member in going), default=0)
            while any(member.alive() for member in going) and time.monotonic() < end:
                time.sleep(0.02)
        for member in group:
            if member.child is not None:
                self._end_group(member)
                member.child.wait(5)

    def _end_group(self, member: Process) -> None:
        assert member.child is not None
        try:
            os.killpg(member.child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            # Nobody of its group is left, or only somebody whose number was given to another user's process since.
            return


def python(*words: str) -> list[str]:
    """A command line of this very Python."""
    return [sys.executable, *words]
