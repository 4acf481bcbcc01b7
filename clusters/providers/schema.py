"""Asks ParallelCluster's own schema about a configuration while somebody types; quick, or not at all.

The answer comes from a process beside us (`schema_server.py`), over a socket of this machine. Whoever asks waits a
moment at most, and after one that stayed silent nobody waits for a while.
"""

import json
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PATIENCE = 2.0  # seconds for everything: to be heard, and to be answered
REST = 15.0  # seconds in which nobody asks one that stayed silent
LONGEST = 1_000_000

Why = Literal["off", "away", "late", "dumb"]


@dataclass(frozen=True)
class Problem:
    """One thing the schema does not take: where, as keys and numbers, and its own words."""

    path: tuple[str | int, ...]
    says: str


class NotChecked(Exception):
    """Nobody answered. off: there is none on this installation; away: none is there now; late: silent; dumb: it fell over."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


class _Rest:
    """Until when nobody asks, for all threads of this process."""

    def __init__(self) -> None:
        self.lock, self.until = threading.Lock(), 0.0

    def begin(self) -> None:
        with self.lock:
            self.until = time.monotonic() + REST

    def over(self) -> bool:
        with self.lock:
            return time.monotonic() >= self.until

    def end(self) -> None:
        with self.lock:
            self.until = 0.0


resting = _Rest()


def problems(address: str, *, name: str, region: str, configuration: Mapping[str, Any]) -> list[Problem]:
    """What the schema finds, in the order of the configuration. Raises NotChecked."""
    if not address:
        raise NotChecked("off")
    if not resting.over():
        raise NotChecked("late")
    question = json.dumps({"name": name, "region": region, "configuration": configuration}).encode() + b"\n"
    try:
        said = _ask(address, question)
    except TimeoutError:
        resting.begin()
        raise NotChecked("late") from None
    except OSError:
        raise NotChecked("away") from None
    try:
        told = json.loads(said)["problems"]
        return [Problem(tuple(each["path"]), str(each["says"])) for each in told]
    except (ValueError, LookupError, TypeError):
        raise NotChecked("dumb") from None


def _ask(address: str, question: bytes) -> bytes:
    end, said = time.monotonic() + PATIENCE, b""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE)
        line.connect(address)
        line.sendall(question)
        while not said.endswith(b"\n") and len(said) < LONGEST:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            line.settimeout(left)
            piece = line.recv(65_536)
            if not piece:
                break
            said += piece
    return said
