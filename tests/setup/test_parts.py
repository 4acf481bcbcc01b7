"""The lines at the end of a run: a part that did not run is never silent."""

from types import SimpleNamespace

import pytest

from tests import parts


def verdict(*markers: str, when: str = "call") -> SimpleNamespace:
    return SimpleNamespace(when=when, keywords=dict.fromkeys(markers, 1))


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root on Debian, with Chromium and without Slurm."""
    monkeypatch.setattr(parts, "must_run", lambda: True)
    monkeypatch.setattr(parts, "chromium", lambda: "/usr/bin/chromium")
    monkeypatch.setattr(parts.shutil, "which", lambda name, path="": None)


def test_a_part_that_ran_is_counted_by_its_verdicts() -> None:
    reports = [verdict("chromium"), verdict("chromium", when="setup"), verdict("slurm"), verdict()]
    assert parts.lines(reports, whole=True)[:1] == [("Chromium: ran 1 tests", False)]


def test_a_missing_browser_fails_a_whole_run_where_it_could_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "chromium", lambda: None)
    line, failure = parts.lines([], whole=True)[0]
    assert (line, failure) == (
        "Chromium: did NOT run because there is no Chromium here (apt-get install chromium)",
        True,
    )
    assert not parts.lines([], whole=False)[0][1]
    monkeypatch.setattr(parts, "must_run", lambda: False)
    assert not parts.lines([], whole=True)[0][1]


def test_browser_tests_that_nobody_wrote_fail_a_whole_run() -> None:
    assert parts.lines([], whole=True)[0] == ("Chromium: did NOT run because none was selected", True)


def test_a_missing_slurm_fails_a_whole_run_where_it_could_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    line, failure = parts.lines([], whole=True)[1]
    why = "there is no slurmctld here (as root on Debian, make test installs it)"
    assert (line, failure) == (f"Slurm: did NOT run because {why}", True)
    monkeypatch.setattr(parts, "must_run", lambda: False)
    assert parts.lines([], whole=True)[1] == (line, False)


def test_who_is_not_root_is_told_why_no_slurm_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.shutil, "which", lambda name, path="": name)
    monkeypatch.setattr(parts.os, "geteuid", lambda: 1000)
    assert parts.no_slurm() == "its nodes can be started by root only"
