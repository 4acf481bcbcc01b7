"""What gets installed: pinned, hashed, from wherever the machine's own index is."""

import importlib.util
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-pcluster.lock"]


def blocks(lock: str) -> list[tuple[str, str]]:
    """Each pinned package with its lines; one that differs by Python version is there twice."""
    text = (CHECKOUT / lock).read_text()
    return [(found[1], found[0]) for found in re.finditer(r"^([a-z0-9._-]+)==(?:.|\n(?=\s))+", text, re.MULTILINE)]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_pinned_and_hashed(lock: str) -> None:
    text = (CHECKOUT / lock).read_text()
    starts = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(starts) == len(blocks(lock)) > 60
    assert [name for name, block in blocks(lock) if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("lock", [*LOCKS, "pyproject.toml"])
def test_no_index_is_named(lock: str) -> None:
    text = (CHECKOUT / lock).read_text()
    assert re.findall(r"https?://\S+|file:\S+|--(?:extra-)?index\S*|--find-links\S*", text) == []


def test_the_tests_run_on_the_versions_that_the_portal_runs_on() -> None:
    def versions(lock: str) -> set[str]:
        return {block.splitlines()[0] for _, block in blocks(lock)}

    assert versions("requirements.lock") <= versions("requirements-dev.lock")


def test_the_driver_is_psycopg2_alone() -> None:
    assert not {"psycopg", "psycopg-binary", "psycopg-c"} & {name for name, _ in blocks("requirements-dev.lock")}
    assert importlib.util.find_spec("psycopg") is None
