"""What of a line speaks of a checkpoint, a rank, a host, or of something that went wrong. Pure."""

import re
from dataclasses import dataclass

STEP = r"(?:global_step|checkpoint[-_]|step[-_=:]?\s*|iter(?:ation)?[-_]?\s*)"
# Written once a checkpoint is complete. `step` or a path that ends in it; where neither is told the last step counts.
SAVED = (
    re.compile(r"successfully saved checkpoint (?:from|at) iteration\s+(?P<step>\d+)(?: to (?P<path>\S+))?", re.I),
    re.compile(r"Async checkpoint save for step (?P<step>\d+) \((?P<path>[^)]+)\) finalized successfully", re.I),
    re.compile(r"\bCheckpoint (?P<path>global_step(?P<step>\d+)) is ready now", re.I),
    re.compile(r"\[Torch\] Saved (?P<path>\S*?global_step(?P<step>\d+)/\S+?)\.?$", re.I),
    re.compile(r"finished saving (?:the )?checkpoint \(finalized tmp dir\) to `?(?P<path>[^\s`]*?/(?P<step>\d+)(?:/[^\s`]*)?)`?\.?$", re.I),
    re.compile(r"finished saving the checkpoint\b.{0,80}?\bstep\s*[=:]?\s*(?P<step>\d+)", re.I),
    re.compile(r"finished saving the checkpoint\b", re.I),
    re.compile(r"\bLast step checkpoint completed\b", re.I),
    re.compile(r"(?:async saving|saving) of checkpoint (?:to )?(?P<path>\S*?(?P<step>\d+)\S*) completed", re.I),
    re.compile(r"\bsaved checkpoint\b(?: to)?(?: (?P<path>/\S+|s3:\S+))?.{0,80}?\b(?:step|iteration|global_step)[\s=:_-]*(?P<step>\d+)", re.I),
)  # fmt: skip
# Written when one begins and the loop waits for it: complete once the loop has gone on to a later step.
BEGUN = (
    re.compile(r"saving model checkpoint to (?P<path>\S*checkpoint-(?P<step>\d+))", re.I),
    re.compile(r"\bSaving checkpoint at (?P<path>\S*/(?P<step>\d+))\b", re.I),
)
RESUMED = (
    re.compile(r"successfully loaded checkpoint from (?P<path>\S+).*? at iteration\s+(?P<step>\d+)", re.I),
    re.compile(r"Continuing training from global step (?P<step>\d+)", re.I),
    re.compile(r"Loading the checkpoint from (?P<path>\S*?step-(?P<step>\d+))", re.I),
    re.compile(r"Loading the checkpoint at step (?P<step>\d+)", re.I),
    re.compile(r"Training starts at step (?P<after>\d+)", re.I),
    re.compile(r"Resum(?:ed|ing) (?:training )?from (?:the )?(?:last )?(?:checkpoint|ckpt)\s*:?\s*(?:at )?(?P<path>\S*?(?:checkpoint-|step[-_=]?)(?P<step>\d+))", re.I),
    re.compile(r"restor(?:ed|ing) from .{0,80}?\bstep[ =:]+(?P<step>\d+)", re.I),
    re.compile(r"Restored all states from the checkpoint at (?P<path>\S+?step=(?P<step>\d+)\S*)", re.I),
    re.compile(r"\[Torch\] Loaded checkpoint from (?P<path>\S*?global_step(?P<step>\d+)\S*?)\.?(?:\s|$)", re.I),
)  # fmt: skip
# srun --label, torchrun's tee, torch's own prefix, and PyTorch's watchdog.
RANK = (
    re.compile(r"^\s*\[?(?:rank|Rank)[ =:]?(?P<rank>\d{1,5})\]?[:\s\]]"),
    re.compile(r"^(?P<rank>\d{1,5}):\s"),
    re.compile(r"\[Rank (?P<rank>\d{1,5})\]"),
    re.compile(r"\b[Rr]ank[ =:]{1,2}(?P<rank>\d{1,5})\b"),
)
NCCL_HOST = re.compile(r"(?:^|\s)(?P<host>[A-Za-z0-9][\w.-]{1,62}):\d+:\d+ \[\d+\] NCCL ")
KERNEL_HOST = re.compile(r"(?:^|\s)(?P<host>[a-z0-9][\w-]{1,62}) kernel:")
WORLD = re.compile(r"\b(?:world[ _]size|nranks)\s*[:=]?\s*(?P<world>\d{1,6})\b", re.I)
TIMEOUT = re.compile(r"\bTimeout\(ms\)=(?P<ms>\d{1,12})\b")
XID = re.compile(r"\bXid \((?P<device>[^)]{1,60})\): (?P<xid>\d{1,4})\b", re.I)
KINDS = (
    ("xid", XID),
    ("communicator", re.compile(r"collective operation timeout|NCCL (?:communicator )?.{0,40}(?:timed out|timeout)|some NCCL operations have failed or timed out|ncclRemoteError|ncclSystemError|NCCL WARN .{0,80}(?:closed|reset|abort)", re.I)),
    ("out_of_memory", re.compile(r"CUDA out of memory|OutOfMemoryError|RESOURCE_EXHAUSTED|oom-kill|Out of memory: Killed|NRT_RESOURCE", re.I)),
    ("device", re.compile(r"CUDA error:|uncorrectable ECC|NVLink.{0,40}error|GPU has fallen off the bus|NRT_EXEC_HW_ERR|device-side assert", re.I)),
    ("lost_process", re.compile(r"exitcode\s*:?\s*-?\d+ \(pid|ChildFailedError|srun: error: \S+: tasks?|Signal \d+ \(SIG|Segmentation fault|Bus error|slurmstepd: error", re.I)),
    ("exception", re.compile(r"^(?:\S+[:\]]\s*){0,3}(?:[\w.]+\.)?\w*(?:Error|Exception)(?::|$)|Traceback \(most recent call last\)|\bFATAL\b")),
)  # fmt: skip
KIND_NAMES = tuple(name for name, _ in KINDS)
SRUN_HOST = re.compile(r"srun: error: (?P<host>[A-Za-z0-9][\w.-]{0,62}): tasks?")


@dataclass(frozen=True)
class Checkpoint:
    """`step` is None where the line does not tell it."""

    step: int | None
    path: str = ""


@dataclass(frozen=True)
class Fault:
    """One line that says that something went wrong."""

    kind: str  # of KIND_NAMES
    text: str
    rank: int | None = None
    host: str = ""
    xid: int | None = None


def saved(line: str) -> Checkpoint | None:
    return _checkpoint(SAVED, line) if "sav" in line.lower() or "heckpoint" in line else None


def begun(line: str) -> Checkpoint | None:
    return _checkpoint(BEGUN, line) if "aving" in line else None


def resumed(line: str) -> Checkpoint | None:
    """The checkpoint that a run went on from."""
    return _checkpoint(RESUMED, line)


def _checkpoint(patterns: tuple[re.Pattern[str], ...], line: str) -> Checkpoint | None:
    for pattern in patterns:
        if found := pattern.search(line):
            told = found.groupdict()
            step = int(told["step"]) if told.get("step") else int(told["after"]) - 1 if told.get("after") else None
            if step is not None and step > 2**62:
                return None
            return Checkpoint(step if step is None or step >= 0 else None, (told.get("path") or "")[:500])
    return None


def rank_of(line: str) -> int | None:
    for pattern in RANK:
        if found := pattern.search(line):
            return int(found["rank"])
    return None


def host_of(line: str) -> str:
    for pattern in (NCCL_HOST, SRUN_HOST, KERNEL_HOST):
        if found := pattern.search(line):
            return found["host"]
    return ""


def fault(line: str) -> Fault | None:
    """What went wrong by this line; None when it says nothing of the kind."""
    for kind, pattern in KINDS:
        if pattern.search(line):
            xid = XID.search(line)
            return Fault(kind, line[:500], rank_of(line), host_of(line), int(xid["xid"]) if xid else None)
    return None


def world(line: str) -> int | None:
    found = WORLD.search(line)
    return int(found["world"]) if found else None


def timeout_seconds(line: str) -> float | None:
    """The time-out that the communicator itself names when it gives up."""
    found = TIMEOUT.search(line)
    return int(found["ms"]) / 1000 if found else None
