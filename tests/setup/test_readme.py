"""README.md is one page, and it tells every setting and every command that exists."""

import re
from pathlib import Path

from tests.setup.test_compose import known

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text()


def test_every_setting_is_told_and_no_other() -> None:
    table = README.split("| setting |")[1]
    told = set(re.findall(r"`([A-Z][A-Z_]+)`", table))
    assert told == known()


def test_every_command_that_is_told_exists() -> None:
    commands = {path.stem for path in (CHECKOUT / "program" / "management" / "commands").glob("*.py")}
    told = set(re.findall(r"manage\.py ([a-z_]+)", README)) | {"issue_token", "due", "verify", "shell", "work"}
    assert told <= commands


def test_every_target_that_is_told_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+)", README)) - {"it"} <= targets


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_.]*|[a-z.-]+\.yml)`|\]\((\S+)\)", README)
    # Made by running or by collecting, or told inside the line of its folder.
    parts = {"var/", "var/log/"} | {f"{folder}/" for folder in ("wall", "architectures", "providers", "launchers")}
    parts |= {f"{folder}/" for folder in ("engine", "sandbox", "demo", "devstack", "contracts", "setup")}
    for name in {one or other for one, other in named} - parts:
        assert (CHECKOUT / name).exists() or (CHECKOUT / "clusters" / name).exists(), name


def test_it_is_one_page() -> None:
    assert len(README.splitlines()) < 100
