"""The parts of the suite that not every machine can run: each ends the run with one line, so that nothing is skipped in silence."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest


def chromium() -> str | None:
    """The browser's program, if there is one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def pcluster() -> bool:
    """Whether the real command line of ParallelCluster is here, in its own environment."""
    return (Path(__file__).parent.parent / ".pcluster-venv" / "bin" / "pcluster").exists()


SLURM = ("slurmctld", "slurmd", "slurmrestd", "slurmdbd", "scontrol", "munged", "mariadbd", "unshare")


def no_slurm() -> str | None:
    """Why no real Slurm can be started here."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [program for program in SLURM if not shutil.which(program, path=path)]
    if missing:
        return f"there is no {missing[0]} here (as root on Debian, make test installs it)"
    if os.geteuid() != 0:
        return "its nodes can be started by root only"
    return None


@dataclass(frozen=True)
class Part:
    """Tests that carry `marker` and need something that may be missing."""

    marker: str
    title: str
    missing: Callable[[], str | None]
    expected: bool = True


PARTS = (
    Part(
        "chromium", "Chromium", lambda: None if chromium() else "there is no Chromium here (apt-get install chromium)"
    ),
    Part("slurm", "Slurm", lambda: no_slurm()),
    Part(
        "prometheus",
        "Prometheus",
        lambda: None if shutil.which("promtool") else "there is no Prometheus here (apt-get install prometheus)",
    ),
    Part("pcluster", "ParallelCluster", lambda: None if pcluster() else "it is not installed (make test installs it)"),
)


# The whole is done sooner when the longest files begin first: those that mostly wait, for clocks of the product and the
# sandbox cloud, beside those that only compute. A third process computes while two wait.
LONGEST_FIRST = (
    "flows/test_operate.py",
    "faults/test_pcluster_kills.py",
    "test_access.py",
    "flows/test_launch.py",
    "flows/test_real_slurm.py",
    "test_pages_checks.py",
    "faults/test_kills.py",
    "contracts/test_providers.py",
    "test_bad_input.py",
    "flows/test_story.py",
    "test_canary.py",
    "contracts/test_launchers.py",
    "flows/test_preflight.py",
    "test_queries.py",
    "setup/test_up.py",
    "flows/",
    "clusters/head_node_agent/",
    "clusters/engine/",
    "contracts/",
    "setup/",
    "clusters/",
)


def _turn(item: pytest.Item) -> int:
    path = item.nodeid.removeprefix("tests/")
    return next((turn for turn, start in enumerate(LONGEST_FIRST) if path.startswith(start)), len(LONGEST_FIRST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_turn)
    for part in PARTS:
        why = part.missing()
        if why is None:
            continue
        for item in items:
            if part.marker in item.keywords:
                item.add_marker(pytest.mark.skip(reason=why))


def ran(reports: Iterable[object], marker: str) -> int:
    """How many tests of a part came to a verdict."""
    return sum(1 for report in reports if getattr(report, "when", "") == "call" and marker in report.keywords)  # type: ignore[attr-defined]


def lines(reports: list[object], *, whole: bool) -> list[tuple[str, bool]]:
    """One line for each part, and whether it is a failure that it did not run."""
    found = []
    for part in PARTS:
        count = ran(reports, part.marker)
        if count:
            found.append((f"{part.title}: ran {count} tests", False))
        else:
            why = part.missing() or "none was selected"
            found.append((f"{part.title}: did NOT run because {why}", whole and part.expected and must_run()))
    return found


def must_run() -> bool:
    """Root on Debian can install whatever is missing, so there a missing part is a failure."""
    return os.geteuid() == 0 and Path("/etc/debian_version").exists()


def _verdicts(config: pytest.Config) -> list[object]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter else {}
    return [report for kind in ("passed", "failed", "xfailed", "xpassed") for report in stats.get(kind, [])]


def _whole(config: pytest.Config) -> bool:
    chosen = config.getoption("keyword") or config.getoption("markexpr") or config.getoption("collectonly")
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    failed = any(failure for _, failure in lines(_verdicts(session.config), whole=_whole(session.config)))
    if failed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.section("optional parts")
    for line, failure in lines(_verdicts(config), whole=_whole(config)):
        terminalreporter.write_line(line + (" (a failure on this machine)" if failure else ""), red=failure)
