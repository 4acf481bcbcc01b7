"""After how long a silent communicator gives up: what is in use for a job, and how we know. Pure."""

import re
from dataclasses import dataclass
from typing import Literal

Source = Literal["log", "script", "framework", "default"]
NCCL_DEFAULT = 600.0  # seconds: the process group's default for NCCL since PyTorch 2.2
# Frameworks that set their own: DeepSpeed half an hour; torchtitan after its first step.
FRAMEWORKS = {"DeepSpeed": 1800.0, "torchtitan": 100.0}
# How scripts set it: the option or variable, and seconds per unit.
SET = (
    (re.compile(r"--distributed-timeout-minutes[= ]+(\d{1,6})\b"), 60.0),
    (re.compile(r"--ddp[-_]timeout[= ]+(\d{1,8})\b"), 1.0),
    (re.compile(r"\bddp_timeout\s*[:=]\s*(\d{1,8})\b"), 1.0),
    (re.compile(r"--comm\.train_timeout_seconds[= ]+(\d{1,8})\b"), 1.0),
    (re.compile(r"\bDEEPSPEED_TIMEOUT=[\"']?(\d{1,6})\b"), 60.0),
    (re.compile(r"\bTORCH_NCCL_TIMEOUT_SEC=[\"']?(\d{1,8})\b"), 1.0),
    (re.compile(r"\bNCCL_TIMEOUT=[\"']?(\d{1,8})\b"), 1.0),
)


@dataclass(frozen=True)
class InUse:
    seconds: float
    source: Source


def in_use(script: str, log_format: str = "", told: float | None = None) -> InUse:
    """What the log says wins over what the script sets, and that over the framework's own default."""
    if told:
        return InUse(told, "log")
    for pattern, unit in SET:
        found = [line for line in script.splitlines() if not line.lstrip().startswith("#") and pattern.search(line)]
        if found and (match := pattern.search(found[-1])) and int(match[1]) > 0:
            return InUse(int(match[1]) * unit, "script")
    if log_format in FRAMEWORKS:
        return InUse(FRAMEWORKS[log_format], "framework")
    return InUse(NCCL_DEFAULT, "default")
