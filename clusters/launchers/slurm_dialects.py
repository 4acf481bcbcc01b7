"""What one job looks like in each version of Slurm's REST API, and what its words mean in ours."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, product
from types import MappingProxyType
from typing import Any, ClassVar

from clusters.launchers import Ability, Ended, JobSeen, LaunchSpec, NodeSeen, NodeState, State, slurm_options

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
HELD = ("JobHeldUser", "JobHeldAdmin", "job requeued in held state", "launch failed requeued held")
SEARCH_PATH = "/opt/slurm/bin:/usr/local/bin:/usr/bin:/bin"  # a job's environment is only what it is given
SHARED_FOLDER = "/fsx"
MOST_HOSTS = 20_000  # a few letters can stand for more names than a machine has memory


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
    tells_every_run = True  # accounting's list has a row for each run of a job, if asked
    cannot: ClassVar[Mapping[Ability, str]] = {}

    def request(self, spec: LaunchSpec) -> dict[str, Any]:
        job: dict[str, Any] = {**_job(spec, old=False), "script": spec.script}
        job["nodes"] = f"{spec.nodes}-{spec.nodes}"
        job["shared"] = ["none"]
        job["environment"] = [f"{key}={value}" for key, value in _environment(spec).items()]
        job["open_mode"] = ["APPEND"]
        if spec.time_limit_minutes is not None:
            job["time_limit"] = _number(spec.time_limit_minutes)
        if spec.begin_at is not None:
            job["begin_time"] = _number(int(spec.begin_at.timestamp()))
        job["requeue"] = spec.requeue
        for word, names in (("required_nodes", spec.only), ("excluded_nodes", spec.without)):
            if names:
                job[word] = list(names)
        return {"job": job}

    def errand(self, name: str, line: str, partition: str, until: datetime) -> dict[str, Any]:
        """One short command on any core that is free before then, for what the REST API has no word for."""
        job = {**_errand(name, partition), "script": f"#!/bin/bash\n{line}\n", "environment": [f"PATH={SEARCH_PATH}"]}
        job |= {"nodes": "1-1", "time_limit": _number(1), "deadline": _number(int(until.timestamp()))}
        return {"job": job}

    def seen(self, job: Mapping[str, Any], place: int | None = None) -> JobSeen:
        return _seen(job, _words(job.get("job_state")), place, *self.ending(job))

    def ending(self, job: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """Exit code and signal."""
        told = job.get("exit_code") or {}
        return _plain(told.get("return_code")), _plain((told.get("signal") or {}).get("id")) or None

    def identity(self, job: Mapping[str, Any]) -> str:
        """The id to ask for: of an array, the array's own."""
        array = job.get("array_job_id") or (job.get("array") or {}).get("job_id") or 0
        return str(_plain(array) or job["job_id"])

    def places(self, jobs: Sequence[Mapping[str, Any]]) -> dict[int, int]:
        """Job id -> its place in the queue of its partition, 1 first; held jobs have none."""
        found: dict[int, int] = {}
        waiting = [job for job in jobs if "PENDING" in _words(job.get("job_state")) and not _held(job)]
        waiting.sort(key=lambda job: (-(_plain(job.get("priority")) or 0), job["job_id"]))
        counts: Counter[str] = Counter()
        for job in waiting:
            counts[job.get("partition") or ""] += 1
            found[job["job_id"]] = counts[job.get("partition") or ""]
        return found

    def node(self, node: Mapping[str, Any]) -> NodeSeen:
        words = [*_words(node.get("state")), *_words(node.get("state_flags"))]
        return NodeSeen(
            name=node["name"],
            state=node_state(words),
            engine_state="+".join(word.upper() for word in words),
            reason=node.get("reason") or "",
            reason_at=_time(node.get("reason_changed_at")) if node.get("reason") else None,
            accelerators=gpus(node.get("gres")),
            accelerators_used=gpus(node.get("gres_used")),
        )

    def runs(self, rows: Sequence[Mapping[str, Any]]) -> list[Ended]:
        """What accounting keeps, one entry for each run; it keeps no count of them, so they are counted in order."""
        found, attempts = [], Counter[tuple[str, str]]()
        for row in sorted(rows, key=lambda row: ((row.get("time") or {}).get("start") or 0, row["job_id"])):
            key = str(row["job_id"]), row.get("name") or ""  # a controller that forgot its jobs may give an id again
            attempts[key] += 1
            found.append(self._run(row, attempts[key]))
        return found

    def _run(self, row: Mapping[str, Any], attempt: int) -> Ended:
        told = row.get("state") or {}
        ours, theirs = state(_words(told.get("current") if isinstance(told, Mapping) else told), 0)
        code, signal = self.ending(row)
        times = row.get("time") or {}
        return Ended(
            external_id=str(row["job_id"]),
            attempt=attempt,
            name=row.get("name") or "",
            state=ours,
            engine_state=theirs,
            started_at=_time(times.get("start")),
            ended_at=_time(times.get("end")),
            nodes=hosts(row.get("nodes") or ""),
            accelerators=_counted((row.get("tres") or {}).get("allocated") or []),
            exit_code=code,
            signal=signal,
        )


class OldDialect(Dialect):
    """v0.0.38: plain numbers and words, an environment of pairs, the script beside the job."""

    tells_every_run = False
    # Its REST server knows the word and turns it down; a test on any other node would say nothing of these.
    cannot = MappingProxyType({"only": "This Slurm's REST API cannot say on which nodes a job runs."})

    def request(self, spec: LaunchSpec) -> dict[str, Any]:
        job = {**_job(spec, old=True), "nodes": [spec.nodes, spec.nodes], "open_mode": "append"}
        job["exclusive"] = "exclusive"  # the server's own description says "true", which it refuses
        job["environment"] = _environment(spec)
        if spec.time_limit_minutes is not None:
            job["time_limit"] = spec.time_limit_minutes
        if spec.begin_at is not None:
            job["begin_time"] = f"uts{int(spec.begin_at.timestamp())}"  # text, and in no zone
        if spec.requeue:
            job["requeue"] = True  # it reads false as true: left out, the cluster's own JobRequeue decides
        if spec.without:
            job["exclude_nodes"] = ",".join(spec.without)
        return {"job": job, "script": spec.script}

    def errand(self, name: str, line: str, partition: str, until: datetime) -> dict[str, Any]:
        job = {**_errand(name, partition), "nodes": [1, 1], "time_limit": 1, "environment": {"PATH": SEARCH_PATH}}
        job["deadline"] = f"uts{int(until.timestamp())}"
        return {"job": job, "script": f"#!/bin/bash\n{line}\n"}

    def ending(self, job: Mapping[str, Any]) -> tuple[int | None, int | None]:
        told = job.get("exit_code") or 0
        if isinstance(told, Mapping):  # accounting's way, which says 0 of every job
            if "state" in job and "COMPLETED" not in str(job["state"]):
                return None, _plain((told.get("signal") or {}).get("signal_id")) or None
            return _plain(told.get("return_code")), _plain((told.get("signal") or {}).get("signal_id")) or None
        return told >> 8, (told & 0x7F) or None  # as wait(2) tells it


# Newest first: the first one that a server offers is spoken.
DIALECTS: Mapping[str, Dialect] = {
    dialect.version: dialect
    for dialect in (Dialect("v0.0.42"), Dialect("v0.0.41"), Dialect("v0.0.40"), OldDialect("v0.0.38"))
}


def _job(spec: LaunchSpec, *, old: bool) -> dict[str, Any]:
    job: dict[str, Any] = {
        "current_working_directory": SHARED_FOLDER,
        **slurm_options.properties(spec.options, old=old),
    }
    job["name"] = spec.name
    # Whole nodes. Slurm cuts the nodes down to the number of tasks, which is one unless said.
    job["tasks"], job["tasks_per_node"] = spec.nodes * spec.processes_per_node, spec.processes_per_node
    if spec.array:
        job["array"] = spec.array
    if spec.after:
        job["dependency"] = ",".join(f"{how}:{identity}" for how, identity in spec.after)
    if spec.held:
        job["hold"] = True
    if spec.log_path:
        job["standard_output"] = spec.log_path
    if spec.partition:
        job["partition"] = spec.partition
    if spec.comment:
        job["comment"] = spec.comment
    return job


def _errand(name: str, partition: str) -> dict[str, Any]:
    nowhere = {"standard_output": "/dev/null", "standard_error": "/dev/null"}
    return {"name": name, "partition": partition, "current_working_directory": "/tmp", "tasks": 1, **nowhere}


def _environment(spec: LaunchSpec) -> dict[str, str]:
    return {"PATH": SEARCH_PATH, **spec.environment}


def _seen(job: Mapping[str, Any], words: list[str], place: int | None, code: int | None, signal: int | None) -> JobSeen:
    restarts = _plain(job.get("restart_cnt")) or 0
    ours, theirs = state(words, restarts)
    ended, reason = ours in ("succeeded", "failed", "cancelled", "timed_out"), job.get("state_reason") or ""
    started = ended or ours == "running"
    return JobSeen(
        name=job.get("name") or "",
        external_id=str(_plain(job.get("array_job_id")) or job["job_id"]),
        state=ours,
        engine_state=theirs,
        reason="" if reason == "None" else reason,
        # Until then Slurm's numbers stand for nothing, and its times are expectations.
        exit_code=code if ended else None,
        signal=signal if ended else None,
        nodes=hosts(job.get("nodes") or ""),
        restarts=restarts,
        submitted_at=_time(job.get("submit_time")),
        started_at=_time(job.get("start_time")) if started else None,
        ended_at=_time(job.get("end_time")) if ended else None,
        queue_position=place,
        held=_held(job),
        array_task=_task(job),
        accelerators=gpus(job.get("tres_alloc_str") or job.get("tres_req_str")),
        time_limit_minutes=_plain(job.get("time_limit")),
        begin_at=_time(job.get("eligible_time")) if reason == "BeginTime" else None,
    )


def _words(told: Any) -> list[str]:
    if isinstance(told, str):
        return [told] if told else []
    return [str(word) for word in told or []]


def _held(job: Mapping[str, Any]) -> bool:
    return "PENDING" in _words(job.get("job_state")) and job.get("state_reason") in HELD


def _task(job: Mapping[str, Any]) -> str:
    if not _plain(job.get("array_job_id")):
        return ""
    waiting, one = job.get("array_task_string") or "", _plain(job.get("array_task_id"))
    return waiting or ("" if one is None else str(one))


def gpus(text: Any) -> int | None:
    """`gpu:h100:8(IDX:0-7)` or `cpu=8,gres/gpu=16` -> how many; None where the text does not speak of any."""
    found = re.findall(r"(?:^|,)(?:gres/)?gpu(?::[^:=,(]+)?[:=](\d+)", str(text or ""))
    return max(map(int, found)) if found else None


def _counted(tres: Sequence[Mapping[str, Any]]) -> int | None:
    counts = [int(one["count"]) for one in tres if one.get("type") == "gres" and str(one.get("name")).startswith("gpu")]
    return max(counts, default=None)


def node_state(words: Sequence[str]) -> NodeState:
    """Our word for a node. Whoever does not answer yet is not down."""
    said = {word.upper() for word in words}
    if said & {"DOWN", "ERROR", "FAIL", "INVALID_REG", "POWERED_DOWN", "POWER_DOWN"}:
        return "down"
    if said & {"DRAIN", "DRAINING", "MAINTENANCE", "REBOOT_REQUESTED", "REBOOT_ISSUED"}:
        return "draining"
    if said & {"NOT_RESPONDING", "UNKNOWN", "FUTURE"}:
        return "unknown"
    if said & {"ALLOCATED", "MIXED", "COMPLETING"}:
        return "busy"
    return "idle" if "IDLE" in said else "unknown"


def _number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


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
        found.extend("".join(choice) for choice in islice(product(*choices), MOST_HOSTS - len(found)))
    return tuple(found)


def _range(text: str) -> list[str]:
    names: list[str] = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        if last:
            begin, end = (int(each) if each.isdecimal() else 0 for each in (first, last))
            numbers = range(begin, min(end, begin + MOST_HOSTS) + 1)
            names.extend(str(number).zfill(len(first)) for number in numbers[: MOST_HOSTS - len(names)])
        else:
            names.append(first)
    return names
