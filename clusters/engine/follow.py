"""What a scheduler's word about a job means for our row. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusters.launchers import JobSeen
from clusters.states import JOB, JOB_ENDS, JOB_WAITS

FORGOTTEN_LOOKS = 3  # looks in a row, and the window below, before a job counts as forgotten by its scheduler
ASK_AGAIN = 30.0  # seconds after which a call that changed nothing is made again
# The state of an array is the first of these that one of its tasks is in.
LIVELIEST = ("running", "starting", "recovering", "queued")
WORST = ("failed", "timed_out", "cancelled", "succeeded")


@dataclass(frozen=True)
class JobNow:
    """A job as we know it; ages are seconds."""

    state: str
    external_id: str = ""
    cancel_wished: bool = False
    cancel_age: float = 0.0
    absences: int = 0  # looks in a row that did not list it, this one included
    call_age: float | None = None  # since we last asked the scheduler for something about it
    wish: str = ""  # hold, release or requeue
    wish_age: float = 0.0
    wish_restarts: int = 0  # restarts when it was wished
    waits: bool = False  # for a job that has no id yet
    budget: int | None = None  # restarts that it may have in an hour; None: as many as it likes
    forgiven: int = 0  # restarts that do not count any more
    idle_seconds: float | None = None  # it has printed nothing for so long; None: not known
    idle_limit: float | None = None


@dataclass(frozen=True)
class Followed:
    """What to do and what to show. `call` is at most one of submit, cancel, hold, release and requeue."""

    state: str
    call: str = ""
    why: str = ""
    wish_done: bool = False  # the scheduler confirms it, or it has become pointless
    over_budget: bool = False
    idle: bool = False


def together(listed: Iterable[JobSeen]) -> dict[str, JobSeen]:
    """Name -> job; the tasks of an array are told as one."""
    found: dict[str, list[JobSeen]] = {}
    for job in listed:
        found.setdefault(job.name, []).append(job)
    return {name: jobs[0] if len(jobs) == 1 else _one(jobs) for name, jobs in found.items()}


def _one(tasks: Sequence[JobSeen]) -> JobSeen:
    words = {task.state for task in tasks}
    state = next(word for word in (*LIVELIEST, *WORST) if word in words)
    chosen = next(task for task in tasks if task.state == state)
    started = [task.started_at for task in tasks if task.started_at]
    ended = [task.ended_at for task in tasks if task.ended_at]
    places = [task.queue_position for task in tasks if task.queue_position]
    return replace(
        chosen,
        nodes=tuple(sorted({node for task in tasks if task.state == state for node in task.nodes})),
        restarts=max(task.restarts for task in tasks),
        started_at=min(started, default=None),
        ended_at=max(ended, default=None) if state in JOB_ENDS else None,
        queue_position=min(places, default=None),
        held=state in JOB_WAITS and all(task.held for task in tasks if task.state == state),
        array_task="",
    )


def recounted(seen: JobSeen, state: str, restarts: int, started_at: datetime | None) -> JobSeen:
    """What is seen of a job whose engine does not count its restarts: we do, from one look to the next.

    A world that was whole and is short, or that began anew between two looks, began again; until it is whole it recovers.
    """
    if seen.restarts is not None:
        return seen
    anew = bool(seen.started_at and started_at and seen.started_at > started_at + timedelta(seconds=1))
    short = seen.state in ("recovering", "starting", "queued")
    count = restarts + (state == "running" and not seen.held and (short or (anew and seen.state not in JOB_ENDS)))
    recovers = count > 0 and short and not seen.held
    return replace(seen, restarts=count, state="recovering" if recovers else seen.state)


def follow(job: JobNow, seen: JobSeen | None, *, consistency: float) -> Followed:
    """The next step for one job, given what the scheduler's list says of it (None: it is not on the list)."""
    if job.state in JOB_ENDS:
        return Followed(job.state)
    if seen is None:
        return _not_listed(job, consistency)
    if seen.state in JOB_ENDS:
        return Followed(seen.state, why=seen.reason or seen.engine_state, wish_done=bool(job.wish))
    state = seen.state if seen.state == job.state or seen.state in JOB[job.state] else job.state
    then = Followed(state, why=seen.reason)
    if job.cancel_wished:
        return replace(then, call="cancel" if _may_ask(job, job.cancel_age) else "")
    if job.wish:
        if _confirmed(job, seen):
            return replace(then, wish_done=True)
        return replace(then, call=job.wish if _may_ask(job, job.wish_age) else "")
    if _over_budget(job, seen):
        return replace(then, over_budget=True, call="hold" if _may_ask(job, 0.0) else "")
    return replace(then, idle=_idle(job, seen))


def _may_ask(job: JobNow, wish_age: float) -> bool:
    """Not yet asked since the wish, or long enough ago."""
    return job.call_age is None or job.call_age > ASK_AGAIN or job.call_age > wish_age > 0


def _confirmed(job: JobNow, seen: JobSeen) -> bool:
    if job.wish == "hold":
        return seen.held or seen.state not in JOB_WAITS  # it has started: nothing is left to hold back
    if job.wish == "release":
        return not seen.held
    return seen.restarts > job.wish_restarts or seen.state in ("queued", "recovering")


def _over_budget(job: JobNow, seen: JobSeen) -> bool:
    """Begun again too often, and about to be again. What runs is left alone."""
    again = seen.restarts - job.forgiven
    return job.budget is not None and seen.state == "recovering" and not seen.held and again > job.budget


def _idle(job: JobNow, seen: JobSeen) -> bool:
    return (
        seen.state == "running"
        and job.idle_limit is not None
        and job.idle_seconds is not None
        and job.idle_seconds >= job.idle_limit
    )


def whole_or_not_running(seen: JobSeen | None, nodes: int, state: str) -> JobSeen | None:
    """A job whose world is short does not run, whatever its scheduler calls it: it starts, or recovers if it ran before.
    For schedulers that tell each node of a job; where none is told, nothing is known of its world."""
    if seen is None or seen.state != "running" or not seen.nodes or len(seen.nodes) >= nodes:
        return seen
    why = seen.reason or f"{len(seen.nodes)} of {nodes} nodes are there."
    return replace(seen, state="recovering" if state in ("running", "recovering") else "starting", reason=why)


def _not_listed(job: JobNow, consistency: float) -> Followed:
    if not job.external_id and job.call_age is None:
        if job.cancel_wished:
            return Followed("cancelled", why="Cancelled before it was submitted.")
        return Followed(job.state, "" if job.waits else "submit")
    young = job.call_age is not None and job.call_age < consistency
    if young or job.absences < FORGOTTEN_LOOKS:
        return Followed(job.state)
    if not job.external_id:
        # Asked for, never answered, and not there after the window: asking again under the same name is safe.
        return (
            Followed("cancelled", why="Cancelled before it was submitted.")
            if job.cancel_wished
            else Followed(job.state, "submit")
        )
    if job.cancel_wished:
        return Followed("cancelled", why="The scheduler no longer lists it after the cancel.")
    return Followed("failed", why="The scheduler no longer knows this job; how it ended is not known.")
