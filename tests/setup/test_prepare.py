"""Making and mending the environment, without installing anything."""

import os
import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2]
SCRIPT = CHECKOUT / "program" / "devstack" / "prepare.py"


@pytest.fixture
def prepare(tmp_path: Path) -> dict[str, Any]:
    """The script's names, with a checkout of its own that has a finished environment."""
    names = runpy.run_path(str(SCRIPT), run_name="prepare")
    inside = names["installed"].__globals__
    inside["CHECKOUT"] = str(tmp_path)
    inside["VENV"] = str(tmp_path / ".venv")
    inside["PYTHON"] = str(tmp_path / ".venv" / "bin" / "python")
    inside["UV"] = str(tmp_path / ".venv" / "bin" / "uv")
    for lock in names["LOCKS"].values():
        shutil.copy(CHECKOUT / lock, tmp_path)
    package = Path(inside["site_packages"]()) / "thing-1.dist-info"
    package.mkdir(parents=True)
    (package.parent / "thing.py").write_text("")
    (package / "RECORD").write_text("thing.py,sha256=x,0\nthing-1.dist-info/RECORD,,\nthing.pyc,,\n")
    for kind, lock in names["LOCKS"].items():
        Path(inside["mark"]("installed-" + kind)).write_text(names["stamp_of"](lock))
    return inside


def test_a_finished_environment_is_left_alone(prepare: dict[str, Any]) -> None:
    assert prepare["installed"]("run")
    assert prepare["installed"]("tests")


def test_a_changed_lock_is_installed_again(prepare: dict[str, Any]) -> None:
    with (Path(prepare["CHECKOUT"]) / "requirements-dev.lock").open("a") as lock:
        lock.write("more==1\n")
    assert prepare["installed"]("run")
    assert not prepare["installed"]("tests")


def test_a_missing_file_of_a_package_is_noticed(prepare: dict[str, Any]) -> None:
    (Path(prepare["site_packages"]()) / "thing.py").unlink()
    assert not prepare["installed"]("run")
    assert Path(prepare["mark"]("unfinished")).exists()


def test_an_interrupted_installation_is_begun_afresh(prepare: dict[str, Any]) -> None:
    Path(prepare["mark"]("unfinished")).touch()
    told: list[list[str]] = []
    prepare["run"] = lambda argv, problem: told.append(argv)
    prepare["make_venv"]()
    assert told == [[sys.executable, "-m", "venv", prepare["VENV"]]]
    assert not Path(prepare["site_packages"]()).exists()


def test_too_little_room_is_said_before_anything_is_installed(
    prepare: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(prepare["mark"]("installed-run"))).unlink()
    (Path(prepare["mark"]("installed-tests"))).unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**8))
    with pytest.raises(SystemExit) as ended:
        prepare["install"]("run")
    assert ended.value.code == 2
    assert "Less than 1 GB is free" in capsys.readouterr().err


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 10, 14), (3, 14, 0)])
def test_a_python_that_does_not_fit_is_named(
    prepare: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: tuple[int, int, int],
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SystemExit):
        prepare["use_a_fit_python"]()
    assert f"Python 3.11 to 3.13 is needed; {sys.executable} is 3.{version[1]}" in capsys.readouterr().err


def test_another_python_that_fits_is_used(prepare: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(shutil, "which", lambda name: sys.executable if name == "python3.12" else None)
    went: list[str] = []
    monkeypatch.setattr(os, "execv", lambda program, argv: went.append(program) or sys.exit(0))
    with pytest.raises(SystemExit):
        prepare["use_a_fit_python"]()
    assert went == [sys.executable]


def test_what_a_failing_program_said_is_shown(prepare: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        prepare["run"]([sys.executable, "-c", "print('no such host'); raise SystemExit(1)"], "It did not work.")
    assert capsys.readouterr().err == "It did not work.\n    no such host\n"


def test_uv_is_pinned_by_the_lock_that_it_installs(prepare: dict[str, Any]) -> None:
    told: list[list[str]] = []
    prepare["run"] = lambda argv, problem: told.append(argv)
    prepare["install_uv"]()
    asked = Path(prepare["mark"]("uv.txt")).read_text()
    assert asked.startswith("uv==")
    assert asked.count("--hash=sha256:") > 5
    assert "--require-hashes" in told[0]


def test_the_script_runs_on_a_python_that_is_too_old_to_run_the_portal() -> None:
    # No syntax newer than what an old machine's python3 reads: it has to get as far as its sentence.
    import ast

    ast.parse(SCRIPT.read_text(), feature_version=(3, 7))
