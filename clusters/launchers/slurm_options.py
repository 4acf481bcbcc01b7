"""Which options of a job script go to Slurm's REST server, and in which words: sbatch reads them, slurmrestd does not. Pure."""

import math
import re
from collections.abc import Mapping
from typing import Any

from clusters.providers import ProviderError

TEXTS = {"account": "account", "constraint": "constraints", "licenses": "licenses", "qos": "qos",
         "reservation": "reservation", "wckey": "wckey"}  # fmt: skip
NUMBERS = {"cpus-per-task": "cpus_per_task", "core-spec": "core_specification", "nice": "nice",
           "threads-per-core": "threads_per_core"}  # fmt: skip
MEMORY = {"mem": "memory_per_node", "mem-per-cpu": "memory_per_cpu"}
DEVICES = ("gres", "gpus-per-node")
SENT = frozenset([*TEXTS, *NUMBERS, *MEMORY, *DEVICES, "chdir", "wait-all-nodes"])
# The launch says these itself, whole nodes and a log that is added to among them; the rest means nothing to a server.
SAID = frozenset(
    "comment error exclusive export get-user-env job-name nodes ntasks-per-node open-mode output parsable partition "
    "quiet requeue time verbose".split()
)
MEGABYTES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "": 1.0}
LONGEST = 200


def kept(options: Mapping[str, str]) -> dict[str, str]:
    """Of the options of a script, those that are sent."""
    return {name: value for name, value in options.items() if name in SENT}


def properties(options: Mapping[str, str], *, old: bool) -> dict[str, Any]:
    """The fields of a job for what its script asks; `old`: v0.0.38, which takes plain numbers and names devices otherwise.
    Memory is in MB. Raises `refused` for a value that sbatch would not take either."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if name in TEXTS:
            found[TEXTS[name]] = _text(name, value)
        elif name in NUMBERS:
            found[NUMBERS[name]] = _whole(name, value or "100" if name == "nice" else value)
        elif name in MEMORY:
            amount = _megabytes(name, value)
            found[MEMORY[name]] = amount if old else {"set": True, "infinite": False, "number": amount}
        elif name in DEVICES:
            found |= _devices(name, _text(name, value), old=old)
        elif name == "chdir" and value.startswith("/"):
            found["current_working_directory"] = _text(name, value)
        elif name == "wait-all-nodes":
            found["wait_all_nodes"] = value == "1"
    return found


def _devices(name: str, value: str, *, old: bool) -> dict[str, Any]:
    if old:
        return {"gres" if name == "gres" else "gpus_per_node": value}
    listed = value.split(",") if name == "gres" else [f"gpu:{one}" for one in value.split(",")]
    return {"tres_per_node": ",".join(f"gres/{one.removeprefix('gres/').removeprefix('gres:')}" for one in listed)}


def _text(name: str, value: str) -> str:
    if not value or len(value) > LONGEST or not value.isprintable():
        raise _bad(name, value, f"text of at most {LONGEST} characters")
    return value


def _whole(name: str, value: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}", value):
        raise _bad(name, value, "a whole number")
    return int(value)


def _megabytes(name: str, value: str) -> int:
    told = re.fullmatch(r"(\d{1,12})([KMGT]?)B?", value.upper())
    if told is None:
        raise _bad(name, value, "an amount such as 64G, or 0 for all of a node's")
    return math.ceil(int(told[1]) * MEGABYTES[told[2]])


def _bad(name: str, value: str, wanted: str) -> ProviderError:
    sentence = f"The script says --{name}={value[:60]}, which is not {wanted}. Correct the line, and launch it again."
    return ProviderError("refused", sentence, code="BadOption")
