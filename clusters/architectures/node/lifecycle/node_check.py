"""Looks whether a new node has what its instance type should have: accelerators, EFA devices, the file system.

node_check.py TYPE EXPECTED.json [--without-mounts]; what is missing is told in a sentence, and the node does not join.
"""

import glob
import json
import os
import subprocess
import sys
from collections.abc import Callable

ROOT = "/"


def accelerators(kind: str) -> int:
    """How many the node shows."""
    if kind == "Neuron":
        return len(glob.glob(os.path.join(ROOT, "dev/neuron[0-9]*")))
    try:
        told = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(row.startswith("GPU ") for row in told.splitlines())


def efa() -> int:
    return len(glob.glob(os.path.join(ROOT, "sys/class/infiniband/*")))


def wrong(instance_type: str, expected: dict, mounted: Callable[[str], bool]) -> list[str]:
    """A sentence for each thing that is not as it should be."""
    told = expected.get(instance_type.replace("ml.", "", 1))
    if told is None:
        return []  # a controller or login node
    found = []
    shown = accelerators(told["accelerator"])
    if shown < told["accelerators"]:
        found.append(f"this {instance_type} shows {shown} of {told['accelerators']} accelerators")
    shown = efa()
    if shown < told["efa"]:
        found.append(
            f"this {instance_type} shows {shown} of {told['efa']} EFA devices; with fewer, training would fall back to TCP"
        )
    if not mounted("/fsx"):
        found.append("/fsx is not mounted")
    return found


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        mounted = os.path.ismount if "--without-mounts" not in sys.argv else bool
        problems = wrong(sys.argv[1], json.load(file), mounted)
    for problem in problems:
        print(f"cohort: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)
