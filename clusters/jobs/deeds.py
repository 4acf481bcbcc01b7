"""What may be asked of a job now, deed by deed; of what may not: why, and what to do. Actions, pages and API ask here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from django.utils.translation import gettext as _

from clusters import states
from clusters.models import Job
from tenants.web.problems import Refused

Deed = Literal["cancel", "hold", "release", "requeue", "resubmit"]
DEEDS: tuple[Deed, ...] = get_args(Deed)
# Our word for a job -> what may be asked of it; `held` and wishes that are open narrow it further.
POSSIBLE: Mapping[str, frozenset[Deed]] = {
    "requested": frozenset({"cancel", "hold", "release"}),
    "submitted": frozenset({"cancel", "hold", "release"}),
    "queued": frozenset({"cancel", "hold", "release"}),
    "starting": frozenset({"cancel", "requeue"}),
    "running": frozenset({"cancel", "requeue"}),
    "recovering": frozenset({"cancel", "hold", "release"}),
    "succeeded": frozenset({"resubmit"}),
    "failed": frozenset({"resubmit"}),
    "cancelled": frozenset({"resubmit"}),
    "timed_out": frozenset({"resubmit"}),
}


@dataclass(frozen=True)
class Standing:
    """Everything that decides what may be done with a job."""

    state: str
    held: bool = False
    wish: str = ""
    cancel_wished: bool = False
    proof: bool = False


def of(job: Job) -> Standing:
    return Standing(
        job.state, job.held, job.wish, job.cancel_wished_at is not None, job.purpose != Job.Purpose.TRAINING
    )


def refusal(now: Standing, deed: Deed) -> Refused | None:
    """Why it is not possible now, with what to do instead; None when it is."""
    if now.state in states.JOB_ENDS and deed != "resubmit":
        return Refused("job_ended", _("This job has already ended: it is %(state)s.") % {"state": now.state})
    if now.proof and deed != "cancel":
        return Refused("job_is_proof", _("This is a test of the cluster itself; it can only be cancelled."))
    if deed not in POSSIBLE[now.state]:
        return Refused("job_not_possible", _sentence(deed) % {"state": now.state})
    if deed != "resubmit" and now.cancel_wished:
        return Refused("job_cancelling", _("It is being cancelled already; wait until the scheduler confirms it."))
    if deed in ("hold", "release", "requeue") and now.wish:
        sentence = _("Somebody asked for something else a moment ago (%(wish)s). Wait until the scheduler confirms it.")
        return Refused("job_wish_open", sentence % {"wish": now.wish})
    if deed == "hold" and now.held:
        return Refused("job_held", _("This job is held already. Let it go, or cancel it."))
    if deed == "release" and not now.held:
        return Refused("job_not_held", _("This job is not held: it starts by itself when its turn comes."))
    return None


def deeds(now: Standing) -> dict[str, Refused | None]:
    """Every deed, with why it is not possible."""
    return {deed: refusal(now, deed) for deed in DEEDS}


def _sentence(deed: Deed) -> str:
    if deed == "requeue":
        return _("Only what runs can be begun again; this job is %(state)s.")
    if deed == "resubmit":
        return _("This job is %(state)s. Cancel it first, or wait for its end; then launch it again.")
    return _("Only what waits can be held or let go; this job is %(state)s. Cancel it, or begin it again.")
