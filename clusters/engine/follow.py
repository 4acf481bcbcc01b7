"""What a scheduler's word about a job means for our row. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusters.launchers import JobSeen
from clusters.states import JOB, JOB_ENDS

FORGOTTEN_LOOKS = 3  # looks in a row, and the window below, before a job counts as forgotten by its scheduler


@dataclass(frozen=True)
class JobNow:
    """A job as we know it; ages are seconds."""

    state: str
    external_id: str = ""
    cancel_wished: bool = False
    absences: int = 0  # looks in a row that did not list it, this one included
    call_age: float | None = None  # since we last asked the scheduler for something about it


@dataclass(frozen=True)
class Followed:
    """What to do and what to show. `call` is at most one of submit and cancel."""

    state: str
    call: str = ""
    why: str = ""


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
        return Followed(seen.state, why=seen.reason or seen.engine_state)
    call = "cancel" if job.cancel_wished and (job.call_age is None or job.call_age > 30) else ""
    state = seen.state if seen.state == job.state or seen.state in JOB[job.state] else job.state
    return Followed(state, call, seen.reason)


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
        return Followed(job.state, "submit")
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
