"""The proof of a new generation mounts and signs in on every node (cluster failures 35 and 41), run by bash with stand-ins."""

import os
import subprocess
from pathlib import Path

import pytest

from clusters.engine.proofs import smoke_script

STUBS = {
    "srun": 'shift\nexec "$@"',
    "findmnt": 'case " $MOUNTED " in *" $2 "*) exit 0;; esac\nexit 1',
    "ls": 'case " $READABLE " in *" $1 "*) exit 0;; esac\necho "ls: cannot open $1" >&2\nexit 2',
    "getent": 'if [ "$2" = ubuntu ] && [ -n "$HOME_OF_UBUNTU" ]; then echo "ubuntu:x:1000:1000::$HOME_OF_UBUNTU:/bin/bash"; fi',
    "stat": 'if [ "$2" = %U ]; then echo "$OWNER"; else echo "$MODE"; fi',
}


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    for name, body in STUBS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({}, ""),
        ({"HOME_OF_UBUNTU": ""}, ""),  # an image with another user, or with none
        ({"MODE": "700"}, ""),
        ({"MOUNTED": "/home"}, "/fsx is not mounted"),
        ({"MOUNTED": "/fsx"}, "/home is not mounted"),
        ({"READABLE": "/home"}, "/fsx cannot be read"),
        ({"HOME_OF_UBUNTU": "/nowhere/ubuntu"}, "ubuntu cannot sign in: there is no /nowhere/ubuntu"),
        ({"OWNER": "root"}, "ubuntu cannot sign in: {home} belongs to somebody else"),
        ({"MODE": "777"}, "ubuntu cannot sign in: others may write in {home}"),
    ],
)
def test_rows_35_and_41_a_node_without_its_file_systems_or_homes_is_named(
    stubs: Path, facts: dict[str, str], says: str
) -> None:
    home = str(stubs / "home")
    told = {"MOUNTED": "/fsx /home", "READABLE": "/fsx /home", "HOME_OF_UBUNTU": home, "OWNER": "ubuntu", "MODE": "755"}
    environment = {"PATH": f"{stubs}:{os.environ['PATH']}", "SLURM_JOB_NUM_NODES": "1", **told, **facts}
    ran = subprocess.run(
        ["bash", "-c", smoke_script(["/fsx", "/home"])], env=environment, capture_output=True, text=True, timeout=20
    )
    assert (ran.returncode != 0) == bool(says), ran.stderr
    assert says.format(home=home) in ran.stderr
    assert "smoke job on 1 nodes" in ran.stdout
