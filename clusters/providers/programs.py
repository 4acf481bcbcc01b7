"""Runs the command line of ParallelCluster: one at a time on a machine, alive only while whoever asked for it holds its turn.

The lock of the machine is handed to the program itself, so that it is free only when the program is really gone, also
when the worker that started it was killed.
"""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusters.providers import Keep, ProviderError

INSTALLED = Path(__file__).resolve().parents[2] / ".pcluster-venv" / "bin" / "pcluster"
LONGEST = 240.0  # seconds; a creation takes 15 to 40 on two busy cores
LOOK_EVERY = 0.2
SAID, LOG = 1_000_000, 300_000  # characters that are kept of what it said and of its log
SET_DEATH_SIGNAL = 1
SCRATCH = "cohort-pcluster-"


@dataclass(frozen=True)
class Ran:
    """One program that ran to its end, or was ended; `code` is negative for a signal."""

    words: tuple[str, ...]
    code: int
    seconds: float
    peak_mib: int
    said: str
    log: str
    ended_by_us: str = ""  # why we ended it

    @property
    def answer(self) -> Mapping[str, Any] | None:
        """What it said, when that can be read."""
        try:
            told = json.loads(self.said)
        except ValueError:
            return None
        return told if isinstance(told, dict) else None


def _ready(program: Path) -> None:
    if not os.access(program, os.X_OK):
        sentence = "ParallelCluster is not installed on this machine yet; its clusters wait until it is."
        raise ProviderError("throttled", sentence, code="ProgramMissing")


def could_begin(program: Path) -> None:
    """Raises ProviderError when it certainly could not begin now: nothing needs to be prepared then."""
    _ready(program)
    with _Turn():
        return


def run(
    program: Path, words: tuple[str, ...], *, files: Mapping[str, str], environment: Mapping[str, str], keep: Keep
) -> Ran:
    """Run it in a scratch folder that holds `files`, with nothing of our own environment. Raises ProviderError when it
    cannot begin."""
    _ready(program)
    with _Turn() as lock, tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as scratch:
        os.pwrite(lock, scratch.encode(), 0)
        for name, text in files.items():
            (Path(scratch) / name).write_text(text)
        return _run([str(program), *words], Path(scratch), _environment(program, scratch, environment), lock, keep)


class _Turn:
    """This machine's one turn, or ProviderError when another program has it.

    The lock's file names the last program. When the worker that started it was killed, so was the program; whatever it
    had started itself is ended here, before anybody else may begin.
    """

    def __enter__(self) -> int:
        name = os.environ.get("PCLUSTER_LOCK") or os.path.join(tempfile.gettempdir(), f"cohort-pcluster-{os.getuid()}")
        self.lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self.lock)
            sentence = "ParallelCluster works for another cluster on this machine; this one is next."
            raise ProviderError("throttled", sentence, code="ProgramBusy") from None
        self._clear_away()
        return self.lock

    def __exit__(self, *_: object) -> None:
        os.close(self.lock)

    def _clear_away(self) -> None:
        scratch = os.pread(self.lock, 1000, 0).decode("utf-8", "replace").strip()
        os.ftruncate(self.lock, 0)
        if not os.path.basename(scratch).startswith(SCRATCH):
            return
        for process in Path("/proc").glob("[0-9]*"):
            try:
                ours = f"HOME={scratch}".encode() in (process / "environ").read_bytes().split(b"\0")
                if ours:
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue  # it has ended meanwhile, or is none of ours
        shutil.rmtree(scratch, ignore_errors=True)


def _environment(program: Path, scratch: str, given: Mapping[str, str]) -> dict[str, str]:
    return {
        "HOME": scratch,
        "TMPDIR": scratch,
        "PATH": f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "LANG": "C.UTF-8",
        "NODE_NO_WARNINGS": "1",
        "PYTHONUNBUFFERED": "1",
        **given,
    }


def _run(argv: list[str], scratch: Path, environment: dict[str, str], lock: int, keep: Keep) -> Ran:
    began, why = time.monotonic(), ""
    with (scratch / "said").open("wb") as said, (scratch / "errors").open("wb") as errors:
        process = subprocess.Popen(
            argv,
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=errors,
            start_new_session=True,
            pass_fds=(lock,),
            preexec_fn=_die_with_parent(),
        )
        try:
            while (ended := _ended(process)) is None and not why:
                time.sleep(LOOK_EVERY)
                if time.monotonic() - began > LONGEST:
                    why = f"It did not end within {LONGEST:.0f} seconds."
                elif not keep():
                    why = "The turn of this cluster ended before it did."
        finally:
            _end(process)  # also whatever it has started and left behind
    code, peak = ended or _ended(process, wait=True) or (-signal.SIGKILL, 0)
    process.returncode = code
    return Ran(
        words=tuple(argv[1:]),
        code=code,
        seconds=time.monotonic() - began,
        peak_mib=peak,
        said=_clean(_read(scratch / "said", SAID), environment),
        log=_clean(_read(scratch / ".parallelcluster" / "pcluster-cli.log", LOG), environment)
        + _clean(_read(scratch / "errors", LOG), environment),
        ended_by_us=why,
    )


def _die_with_parent() -> Callable[[], None]:
    """What the child does first: ask the kernel to be killed when we are."""
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def first() -> None:
        libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # we died before the kernel knew
            os._exit(1)

    return first


def _ended(process: subprocess.Popen[bytes], *, wait: bool = False) -> tuple[int, int] | None:
    """Exit code and peak memory in MiB, once it has ended."""
    try:
        pid, status, usage = os.wait4(process.pid, 0 if wait else os.WNOHANG)
    except ChildProcessError:
        return None
    return (os.waitstatus_to_exitcode(status), usage.ru_maxrss // 1024) if pid else None


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _read(path: Path, most: int) -> str:
    if not path.exists():
        return ""
    return path.read_bytes()[-most:].decode("utf-8", "replace")


def _clean(text: str, environment: Mapping[str, str]) -> str:
    """A log is kept, keys are not."""
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        if environment.get(name):
            text = text.replace(environment[name], f"<{name}>")
    return text
