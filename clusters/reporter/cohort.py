"""Reports a training run to Cohort. One file, the standard library only; copy it beside your script.

    from cohort import run
    run.log(step=step, loss=loss, tokens_per_second=rate)   # where your loop prints
    run.saved(step, path)                                   # after a checkpoint is complete

Cohort gives its jobs COHORT_RUN_URL and COHORT_RUN_TOKEN; without them every call does nothing. It never raises, never
waits for the network in your loop, and loses nothing while the portal is away: reports are first written to a file, which is
sent from a thread and, if the process dies, by the next process of the same job on the same disk.
"""

import contextlib
import json
import math
import os
import platform
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

__all__ = ["Run", "run"]

EVERY = 10.0  # seconds between two messages
BEAT = 60.0  # seconds between two signs of life
MOST = 500  # reports of one message
SPOOL_BYTES = 20_000_000  # then the oldest half is let go
TIMEOUT = 10.0
NEVER_AGAIN = frozenset({401, 404, 410})  # the token is not taken, or the job is gone: silence is better than noise
BAD_BATCH = frozenset({400, 413, 422})  # will never be taken as it is


class Run:
    """One process of a run. Calls take microseconds: they write one line to a local file."""

    def __init__(self, environment: Any = None) -> None:
        env = os.environ if environment is None else environment
        self._url, self._token = env.get("COHORT_RUN_URL", ""), env.get("COHORT_RUN_TOKEN", "")
        self._rank = _number(env.get("RANK") or env.get("SLURM_PROCID"), 0)
        self._world = _number(env.get("WORLD_SIZE") or env.get("SLURM_NTASKS"), 0)
        self._local = _number(env.get("LOCAL_RANK") or env.get("SLURM_LOCALID"), 0)
        self._attempt = _number(env.get("SLURM_RESTART_COUNT"), 0) + 1
        self._host = env.get("SLURMD_NODENAME") or os.uname().nodename
        folder = env.get("COHORT_RUN_SPOOL") or os.path.join(env.get("TMPDIR", "/tmp"), "cohort-run")
        self._spool = Path(folder) / f"{_short(self._url)}-{self._rank}.jsonl"
        self._lock = threading.Lock()  # of the file
        self._sending = threading.Lock()  # one message at a time, or one would take away what the other has not sent
        self._begun = False
        self._told = False  # which software this is
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._pid = os.getpid()

    @property
    def on(self) -> bool:
        return bool(self._url and self._token) and not self._stopped

    def log(self, step: int, loss: float | None = None, **measures: float | None) -> None:
        """A training step. Measures: tokens_per_second, samples_per_second, tflops, mfu (percent), learning_rate, grad_norm,
        step_seconds, consumed_tokens, consumed_samples; and total_steps, how many there will be. Rank 0 alone is heard."""
        if self._rank == 0:
            self._put("point", step=step, loss=loss, **measures)

    def saved(self, step: int, path: object = "") -> None:
        """A checkpoint is complete."""
        if self._rank == 0:
            self._put("saved", step=step, path=str(path)[:500])

    def resumed(self, step: int, path: object = "") -> None:
        """This run goes on from a checkpoint."""
        if self._rank == 0:
            self._put("resumed", step=step, path=str(path)[:500])

    def alive(self, text: str = "") -> None:
        """A sign of life. One process of each node gives it by itself once it has logged anything."""
        self._put("alive", text=str(text)[:300])

    def flush(self, seconds: float = 5.0) -> bool:
        """Try to send what waits, for at most so long; True when nothing waits any more. For the end of a script."""
        end = time.monotonic() + seconds
        with contextlib.suppress(Exception):
            while self.on and time.monotonic() < end:
                if self._send(min(TIMEOUT, max(0.1, end - time.monotonic()))) is None:
                    return True
                time.sleep(0.05)
        return not self.on

    def _put(self, kind: str, **told: Any) -> None:
        if not self.on:
            return
        with contextlib.suppress(Exception):
            if os.getpid() != self._pid:  # a forked worker has no thread of its own
                self._thread, self._pid = None, os.getpid()
                self._lock, self._sending = threading.Lock(), threading.Lock()
            line = {"kind": kind, "at": time.time(), "attempt": self._attempt, "rank": self._rank, "host": self._host}
            line |= {name: _plain(value) for name, value in told.items() if value is not None}
            if self._world:
                line["world"] = self._world
            with self._lock:
                self._spool.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # The first line begins anew: a process that was killed may have left half a line.
                lead, self._begun = ("" if self._begun else "\n"), True
                with self._spool.open("a", encoding="utf-8") as file:
                    file.write(f"{lead}{json.dumps(line)}\n")
                if self._spool.stat().st_size > SPOOL_BYTES:
                    self._let_go()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._loop, name="cohort-run", daemon=True)
                self._thread.start()
            self._wake.set()

    def _let_go(self) -> None:
        kept = self._spool.read_bytes()[-SPOOL_BYTES // 2 :]
        self._spool.write_bytes(kept[kept.find(b"\n") + 1 :])

    def _loop(self) -> None:
        beat = time.monotonic()
        wait = EVERY
        if self._rank == 0 and not self._told:
            self._told = True
            self._put("software", versions=_versions())
        while self.on:
            self._wake.wait(BEAT)
            self._wake.clear()
            with contextlib.suppress(Exception):
                if self._local == 0 and time.monotonic() - beat >= BEAT:
                    beat = time.monotonic()
                    self._put("alive", busy=_busy())
                went = self._send(TIMEOUT)
                wait = EVERY if went is not False else min(wait * 2, 300.0)
            time.sleep(wait)

    def _send(self, timeout: float) -> bool | None:
        """One message: True when it was taken, False when it was not, None when nothing waits."""
        with self._sending:
            return self._send_alone(timeout)

    def _send_alone(self, timeout: float) -> bool | None:
        with self._lock:
            if not self._spool.exists():
                return None
            lines = self._spool.read_bytes().splitlines(keepends=True)[:MOST]
        if not lines:
            return None
        reports = [report for line in lines if (report := _read(line)) is not None]
        status = self._post(json.dumps({"reports": reports}).encode(), timeout) if reports else 200
        if status in NEVER_AGAIN:
            self._stopped = True
            return False
        if status != 200 and status not in BAD_BATCH:
            return False
        sent = sum(map(len, lines))
        with self._lock:
            rest = self._spool.read_bytes()[sent:]
            fresh = self._spool.with_suffix(".new")
            fresh.write_bytes(rest)
            os.replace(fresh, self._spool)
        return True

    def _post(self, body: bytes, timeout: float) -> int:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except (OSError, ValueError):
            return 0


def _busy() -> float | None:
    """Percent to which this node's GPUs are used, the busiest of them; None where the node has no tool that tells."""
    asked = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    with contextlib.suppress(Exception):
        told = subprocess.run(asked, capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout.split()
        return max(min(100.0, float(each)) for each in told)
    return None


def _versions() -> dict[str, str]:
    """Component -> version, of what this process has loaded already; nothing is imported for it."""
    found = {"python": platform.python_version()}
    for name in (
        "torch",
        "jax",
        "transformers",
        "deepspeed",
        "megatron.core",
        "nemo",
        "flash_attn",
        "transformer_engine",
    ):
        with contextlib.suppress(Exception):
            found[name.replace(".", "_")] = str(sys.modules[name].__version__)
    with contextlib.suppress(Exception):
        found["cuda"] = str(sys.modules["torch"].version.cuda or "")
        found["nccl"] = ".".join(map(str, sys.modules["torch"].cuda.nccl.version()))
    with contextlib.suppress(Exception):
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
        found["nvidia_driver"] = told.splitlines()[0].strip()
    return {name: version for name, version in found.items() if version}


def _plain(value: Any) -> Any:
    """Tensors and numbers of numpy as a number; what is no number in words, since JSON has none for it."""
    if isinstance(value, bool | int | str | dict):
        return value
    number = float(value.item() if hasattr(value, "item") else value)
    return number if math.isfinite(number) else "nan" if math.isnan(number) else "inf"


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isdecimal() else otherwise


def _short(url: str) -> str:
    """The job of an address, as a file's name."""
    return "".join(letter for letter in url if letter.isalnum() or letter == "-")[-60:] or "run"


def _read(line: bytes) -> Any:
    """A line that a killed process left half written is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None


run = Run()
