"""The jobs of each Slurm cluster, and the scheduler that lets them start, end, fail and begin again in their own time."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from clusters.sandbox import facts
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.hyperpod.model import Cluster, Node
from clusters.sandbox.slurm import places
from clusters.sandbox.slurm.script import Plan, plan

NEVER = float("inf")
# A job that is put back into the queue waits this long: credentials of its first start must have run out.
REQUEUE_WAIT = 120.0
LIVE = ("PENDING", "RUNNING")
NETWORK_BROKE = (
    "[rank3]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2772, remote process exited or there"
    " was a network error, NCCL version 2.23.4"
)


@dataclass
class Attempt:
    """One start of a job: where, when, and what its script does."""

    started: float
    plan: Plan
    hosts: list[str]
    ended: float = NEVER


@dataclass
class Job:
    """One job as Slurm knows it."""

    id: int
    name: str
    user: str
    partition: str
    nodes: int
    script: str
    environment: dict[str, str]
    comment: str
    limit: float
    requeue: bool
    submitted: float
    output: str
    folder: str
    eligible: float
    array: str = ""  # "0-3%2" as it was asked for
    array_id: int = 0
    task: int | None = None
    after: tuple[tuple[str, int], ...] = ()
    deadline: float = NEVER
    shares: bool = False  # it needs no node for itself
    held: bool = False
    state: str = "PENDING"
    reason: str = "None"
    exit_code: int = 0
    signal: int = 0
    restarts: int = 0
    ends: float = NEVER
    ended: float | None = None
    attempts: list[Attempt] = field(default_factory=list)
    # A fault: after which part of its time it ends, in which state.
    doomed: dict[str, Any] | None = None
    only: tuple[str, ...] = ()  # hosts that it must have
    without: tuple[str, ...] = ()  # hosts that it must not have

    @property
    def hosts(self) -> list[str]:
        """The instances that it runs, or ran last, on."""
        return self.attempts[-1].hosts if self.attempts and self.state != "PENDING" else []

    @property
    def started(self) -> float | None:
        return self.attempts[-1].started if self.attempts and self.state != "PENDING" else None


@dataclass
class Queue:
    """All jobs of one cluster; `settled` is until when the scheduler has been played."""

    cluster_id: str
    settled: float
    next_id: int = 1
    jobs: dict[int, Job] = field(default_factory=dict)


def shelf_of(account: str, region: str) -> str:
    return f"slurm/{account}/{region}"


def queue_of(cloud: Cloud, cluster: Cluster) -> Queue:
    """The cluster's queue, played until now; another cluster of the same name starts with an empty one."""
    queues = cloud.store.read(shelf_of(cluster.account, cluster.region))
    queue: Queue | None = queues.get(cluster.name)
    if queue is None or queue.cluster_id != cluster.id:
        queue = Queue(cluster.id, cloud.now())
        cloud.store.change(shelf_of(cluster.account, cluster.region))[cluster.name] = queue
    return queue


def catch_up(cloud: Cloud, account: str, region: str) -> None:
    """Play every scheduler of this account and Region until now."""
    queues: dict[str, Queue] = cloud.store.read(shelf_of(account, region))
    if not queues:
        return
    present = places.clusters(cloud, account, region)
    for name, queue in list(queues.items()):
        cluster = present.get(name)
        if cluster is not None and cluster.id == queue.cluster_id and any(j.state in LIVE for j in queue.jobs.values()):
            play(cloud, cluster, queue, cloud.now())


def play(cloud: Cloud, cluster: Cluster, queue: Queue, now: float) -> None:
    """From one moment at which something changes to the next: ends, failures of nodes, starts."""
    while True:
        at = _next_moment(cluster, queue, now)
        if at is None:
            queue.settled = max(queue.settled, now)
            return
        cloud.store.change(shelf_of(cluster.account, cluster.region))
        queue.settled = at
        for job in [job for job in queue.jobs.values() if job.state == "RUNNING"]:
            _maybe_ends(cluster, job, at)
        _start_what_fits(cluster, queue, at)


def _next_moment(cluster: Cluster, queue: Queue, now: float) -> float | None:
    live = [job for job in queue.jobs.values() if job.state in LIVE]
    if not live:
        return None
    moments = [job.ends for job in live if job.state == "RUNNING"]
    moments += [at for job in live if job.state == "PENDING" for at in (job.eligible, job.deadline)]
    moments += [time for node in cluster.nodes for time in (node.ready, node.failed, node.gone)]
    moments += [end for node in cluster.nodes for _, end in node.away]
    due = [time for time in moments if queue.settled < time <= now]
    return min(due) if due else None


def _maybe_ends(cluster: Cluster, job: Job, at: float) -> None:
    attempt = job.attempts[-1]
    present = {node.id: node for node in cluster.present(at)}
    lost = [host for host in attempt.hosts if host not in present or present[host].status(at) == "Failure"]
    if lost and at < job.ends:
        attempt.ended = at
        if job.requeue:
            job.state, job.reason, job.ends = "PENDING", "BeginTime", NEVER
            job.restarts, job.eligible = job.restarts + 1, at + REQUEUE_WAIT
        else:
            _end(job, at, "NODE_FAIL", "NodeDown", 0, 0)
    elif at >= job.ends:
        _end_as_planned(job, at)


def _end_as_planned(job: Job, at: float) -> None:
    attempt = job.attempts[-1]
    if job.doomed is not None:
        state = job.doomed["state"] or "FAILED"
        reason = {"OUT_OF_MEMORY": "OutOfMemory", "TIMEOUT": "TimeLimit", "NODE_FAIL": "NodeDown"}.get(
            state, "NonZeroExitCode"
        )
        memory = state == "OUT_OF_MEMORY"
        _end(job, at, state, reason, 0 if memory else int(job.doomed["exit_code"]), 125 if memory else 0)
    elif attempt.plan.seconds > job.limit:
        _end(job, at, "TIMEOUT", "TimeLimit", 0, 15)
    elif attempt.plan.exit_code or attempt.plan.signal:
        _end(job, at, "FAILED", "NonZeroExitCode", attempt.plan.exit_code, attempt.plan.signal)
    else:
        _end(job, at, "COMPLETED", "None", 0, 0)


def _end(job: Job, at: float, state: str, reason: str, exit_code: int, signal: int) -> None:
    job.state, job.reason, job.exit_code, job.signal, job.ended, job.ends = state, reason, exit_code, signal, at, NEVER
    if job.attempts and job.attempts[-1].ended > at:
        job.attempts[-1].ended = at


def _start_what_fits(cluster: Cluster, queue: Queue, at: float) -> None:
    """First come, first served, in each partition."""
    waiting: set[str] = set()
    for job in sorted(queue.jobs.values(), key=lambda job: job.id):
        if job.state != "PENDING":
            continue
        if at >= job.deadline:
            _end(job, at, "DEADLINE", "DeadLine", 0, 0)
            continue
        why = _waits(queue, job, at)
        if why:
            job.reason = why
            continue
        chosen = _room(cluster, queue, job, at)
        if job.partition in waiting and not job.shares:
            job.reason = "Priority"
        elif chosen is None:
            job.reason = "Resources"
            waiting.add(job.partition)
        else:
            _start(cluster, job, chosen, at)
            for wanted in job.attempts[-1].plan.requeues:
                _requeue(queue, wanted, job.user, at)


def _waits(queue: Queue, job: Job, at: float) -> str:
    """Why it may not start whatever room there is; empty when it may."""
    if job.held:
        return "JobHeldUser"
    if job.eligible > at:
        return "BeginTime"
    for how, number in job.after:
        state = queue.jobs[number].state if number in queue.jobs else "COMPLETED"
        if state in LIVE:
            return "Dependency"
        if (how == "afterok" and state != "COMPLETED") or (how == "afternotok" and state == "COMPLETED"):
            return "DependencyNeverSatisfied"
    most = re.search(r"%(\d+)$", job.array)
    if most:
        running = [one for one in queue.jobs.values() if one.array_id == job.array_id and one.state == "RUNNING"]
        if len(running) >= int(most[1]):
            return "JobArrayTaskLimit"
    return ""


def _room(cluster: Cluster, queue: Queue, job: Job, at: float) -> list[Node] | None:
    """Nodes for it: jobs take them whole, but for those that share."""
    there = [node for node in nodes_of(cluster, job.partition, at) if node.status(at) == "Running"]
    busy = {host for one in queue.jobs.values() if one.state == "RUNNING" for host in one.hosts}
    free = [node for node in there if node.id not in busy and node.host not in job.without]
    if job.only:
        free.sort(key=lambda node: node.host not in job.only)
        if not set(job.only) <= {node.host for node in free[: job.nodes]}:
            return None
    return free[: job.nodes] if len(free) >= job.nodes else None


def _requeue(queue: Queue, number: int, user: str, at: float) -> None:
    """As `scontrol requeue incomplete` of that user: what has ended, or is another's, is left alone."""
    job = queue.jobs.get(number)
    if job is None or job.user != user or job.state != "RUNNING":
        return
    job.attempts[-1].ended = at
    job.state, job.reason, job.ends = "PENDING", "BeginTime", NEVER
    job.restarts, job.eligible = job.restarts + 1, at + REQUEUE_WAIT


def _start(cluster: Cluster, job: Job, nodes: list[Node], at: float) -> None:
    _, each = facts.accelerators(nodes[0].type.removeprefix("ml."))
    told = {
        **job.environment,
        "SLURM_JOB_ID": str(job.id),
        "SLURM_JOB_NAME": job.name,
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_JOB_NODELIST": ",".join(node.host for node in nodes),
        "SLURM_JOB_PARTITION": job.partition,
        "SLURM_RESTART_COUNT": str(job.restarts),
    }
    before = job.attempts[-1] if job.attempts else None
    saved = before.plan.saved(before.ended - before.started) if before else []
    does = plan(job.script, told, job.comment, job.limit, each * len(nodes), f"{cluster.id}/{job.id}", saved)
    job.attempts.append(Attempt(at, does, [node.id for node in nodes]))
    job.state, job.reason = "RUNNING", "None"
    job.ends = at + min(does.seconds, job.limit)
    if job.doomed is not None:
        job.ends = at + min(does.seconds, job.limit) * 0.4
        text = job.doomed["message"] or NETWORK_BROKE
        does.said.append((job.ends - at, text))


def nodes_of(cluster: Cluster, partition: str, at: float) -> list[Node]:
    groups = cluster.partitions.get(partition, [])
    return [node for node in cluster.present(at) if node.group in groups]


def submit(cloud: Cloud, cluster: Cluster, queue: Queue, job: Job, tasks: list[int]) -> None:
    """One job, or one for each task of an array: the first bears the array's id."""
    cloud.store.change(shelf_of(cluster.account, cluster.region))
    for task in tasks or [None]:
        one = replace(job, id=queue.next_id, array_id=job.id if tasks else 0, task=task, attempts=[])
        queue.jobs[one.id] = one
        queue.next_id += 1
    _start_what_fits(cluster, queue, cloud.now())


def cancel(cloud: Cloud, cluster: Cluster, queue: Queue, job: Job) -> None:
    """To cancel what has ended changes nothing."""
    if job.state in LIVE:
        cloud.store.change(shelf_of(cluster.account, cluster.region))
        running = job.state == "RUNNING"
        _end(job, cloud.now(), "CANCELLED", "None", 0, 15 if running else 0)
        _start_what_fits(cluster, queue, cloud.now())


def hold(cloud: Cloud, cluster: Cluster, job: Job, wanted: bool) -> None:
    """Held or released. What runs goes on, and would be held when it has to begin again."""
    cloud.store.change(shelf_of(cluster.account, cluster.region))
    job.held = wanted
    if job.state == "PENDING":
        job.reason = "JobHeldUser" if wanted else "None"
    queue = queue_of(cloud, cluster)
    _start_what_fits(cluster, queue, cloud.now())


def streams(cloud: Cloud, cluster: Cluster) -> dict[str, Callable[[], list[tuple[int, str]]]]:
    """Job id -> what its output file holds by now, shipped to the log group."""
    queue = cloud.store.read(shelf_of(cluster.account, cluster.region)).get(cluster.name)
    if queue is None or queue.cluster_id != cluster.id:
        return {}
    return {str(job.id): _reader(cloud, job) for job in queue.jobs.values() if job.attempts}


def _reader(cloud: Cloud, job: Job) -> Callable[[], list[tuple[int, str]]]:
    def read() -> list[tuple[int, str]]:
        now, found = cloud.now(), []
        for attempt in job.attempts:
            until = min(now, attempt.ended) - attempt.started
            for offset, text in attempt.plan.lines(until):
                found.append((int(cloud.clock.shown(attempt.started + offset).timestamp() * 1000), text))
        return found + _last_words(cloud, job)

    return read


def _last_words(cloud: Cloud, job: Job) -> list[tuple[int, str]]:
    """What slurmstepd adds when it ends a job itself."""
    words = {
        "TIMEOUT": f"slurmstepd: error: *** JOB {job.id} CANCELLED DUE TO TIME LIMIT ***",
        "CANCELLED": f"slurmstepd: error: *** JOB {job.id} CANCELLED ***",
        "NODE_FAIL": f"slurmstepd: error: *** JOB {job.id} CANCELLED DUE TO NODE FAILURE ***",
        "OUT_OF_MEMORY": "slurmstepd: error: Detected 1 oom_kill event in StepId={job.id}.batch. Some of the step tasks have"
        " been OOM Killed.",
    }
    if job.ended is None or job.state not in words:
        return []
    return [(int(cloud.clock.shown(job.ended).timestamp() * 1000), words[job.state].replace("{job.id}", str(job.id)))]
