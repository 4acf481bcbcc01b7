"""What one job looks like in each version of Slurm's REST API, and what its words mean in ours."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

from clusters.launchers import JobSeen, LaunchSpec, State

# Every word of Slurm's own list. Base states that end a job come first, flags that say more than a base state next;
# the first one that a job carries decides.
STATES: Mapping[str, State] = {
    "NODE_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "BOOT_FAIL": "failed",
    "PREEMPTED": "failed",
    "TIMEOUT": "timed_out",
    "DEADLINE": "timed_out",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "FAILED": "failed",
    "COMPLETED": "succeeded",
    "CONFIGURING": "starting",
    "POWER_UP_NODE": "starting",
    "STAGE_OUT": "running",
    "SIGNALING": "running",
    "RESIZING": "running",
    "STOPPED": "running",
    "SUSPENDED": "running",  # it holds its nodes and will go on
    "RUNNING": "running",
    "RESV_DEL_HOLD": "queued",
    "EXPEDITING": "queued",
    "PENDING": "queued",
    "COMPLETING": "running",
    "UPDATE_DB": "running",
    "REQUEUED": "recovering",
    "REQUEUE_FED": "recovering",
    "REQUEUE_HOLD": "recovering",
    "SPECIAL_EXIT": "recovering",
    "LAUNCH_FAILED": "failed",
    "RECONFIG_FAIL": "failed",
}
SEARCH_PATH = "/opt/slurm/bin:/usr/local/bin:/usr/bin:/bin"  # a job's environment is only what it is given
SHARED_FOLDER = "/fsx"


def state(words: list[str], restarts: int) -> tuple[State, str]:
    """Our word and the word of Slurm that decided."""
    going_back = [word for word in words if STATES.get(word) == "recovering"]
    if going_back or (restarts and "PENDING" in words):
        return "recovering", (going_back or ["PENDING"])[0]
    if "COMPLETING" in words:
        # Not over: Slurm may still send it back to the queue, and with us an end is final.
        return "running", "COMPLETING"
    for word in STATES:
        if word in words:
            return STATES[word], word
    # A word that a later Slurm may invent is no end: the job is looked at again.
    return "running", "|".join(words) or "UNKNOWN"


@dataclass(frozen=True)
class Dialect:
    """v0.0.40 and later: lists of words, numbers that may be unset, an environment of lines."""

    version: str

    def request(self, spec: LaunchSpec) -> dict[str, Any]:
        job: dict[str, Any] = {**_job(spec), "script": spec.script}
        job["nodes"] = f"{spec.nodes}-{spec.nodes}"
        job["shared"] = ["none"]
        job["environment"] = [f"{key}={value}" for key, value in _environment(spec).items()]
        job["open_mode"] = ["APPEND"]
        if spec.time_limit_minutes is not None:
            job["time_limit"] = {"set": True, "infinite": False, "number": spec.time_limit_minutes}
        return {"job": job}

    def seen(self, job: Mapping[str, Any]) -> JobSeen:
        words = job.get("job_state") or []
        exit_code = job.get("exit_code") or {}
        return _seen(
            job,
            [words] if isinstance(words, str) else list(words),
            code=_plain(exit_code.get("return_code")),
            signal=_plain((exit_code.get("signal") or {}).get("id")),
        )


class OldDialect(Dialect):
    """v0.0.38: plain numbers and words, an environment of pairs, the script beside the job."""

    def request(self, spec: LaunchSpec) -> dict[str, Any]:
        job = {**_job(spec), "nodes": [spec.nodes, spec.nodes], "open_mode": "append"}
        job["exclusive"] = "exclusive"  # the server's own description says "true", which it refuses
        job["environment"] = _environment(spec)
        if spec.time_limit_minutes is not None:
            job["time_limit"] = spec.time_limit_minutes
        return {"job": job, "script": spec.script}

    def seen(self, job: Mapping[str, Any]) -> JobSeen:
        status = job.get("exit_code") or 0  # as wait(2) tells it
        return _seen(job, [job["job_state"]], code=status >> 8, signal=status & 0x7F)


# Newest first: the first one that a server offers is spoken.
DIALECTS: Mapping[str, Dialect] = {
    dialect.version: dialect
    for dialect in (Dialect("v0.0.42"), Dialect("v0.0.41"), Dialect("v0.0.40"), OldDialect("v0.0.38"))
}


def _job(spec: LaunchSpec) -> dict[str, Any]:
    job: dict[str, Any] = {"name": spec.name, "current_working_directory": SHARED_FOLDER}
    # Whole nodes. Slurm cuts the nodes down to the number of tasks, which is one unless said.
    job["tasks"], job["tasks_per_node"] = spec.nodes, 1
    if spec.log_path:
        job["standard_output"] = spec.log_path
    if spec.partition:
        job["partition"] = spec.partition
    if spec.comment:
        job["comment"] = spec.comment
    return job


def _environment(spec: LaunchSpec) -> dict[str, str]:
    return {"PATH": SEARCH_PATH, **spec.environment}


def _seen(job: Mapping[str, Any], words: list[str], *, code: int | None, signal: int | None) -> JobSeen:
    restarts = _plain(job.get("restart_cnt")) or 0
    ours, theirs = state(words, restarts)
    ended, reason = ours in ("succeeded", "failed", "cancelled", "timed_out"), job.get("state_reason") or ""
    started = ended or ours == "running"
    return JobSeen(
        name=job.get("name") or "",
        external_id=str(job["job_id"]),
        state=ours,
        engine_state=theirs,
        reason="" if reason == "None" else reason,
        # Until then Slurm's numbers stand for nothing, and its times are expectations.
        exit_code=code if ended else None,
        signal=(signal or None) if ended else None,
        nodes=hosts(job.get("nodes") or ""),
        restarts=restarts,
        submitted_at=_time(job.get("submit_time")),
        started_at=_time(job.get("start_time")) if started else None,
        ended_at=_time(job.get("end_time")) if ended else None,
    )


def _plain(number: Any) -> int | None:
    """{"set": true, "number": 5} or 5."""
    if isinstance(number, Mapping):
        return int(number.get("number", 0)) if number.get("set") and not number.get("infinite") else None
    return int(number) if number is not None else None


def _time(number: Any) -> datetime | None:
    seconds = _plain(number)
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def hosts(text: str) -> tuple[str, ...]:
    """`gpu[1-3,07],head` -> gpu1, gpu2, gpu3, gpu07, head."""
    if text.strip() in ("", "(null)", "None assigned"):
        return ()
    found: list[str] = []
    for entry in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text.strip()):
        pieces = re.split(r"\[([^\]]*)\]", entry)
        choices = [_range(piece) if index % 2 else [piece] for index, piece in enumerate(pieces)]
        found.extend("".join(choice) for choice in product(*choices))
    return tuple(found)


def _range(text: str) -> list[str]:
    names: list[str] = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        if last:
            names.extend(str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
        else:
            names.append(first)
    return names
