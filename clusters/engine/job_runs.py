"""What people wished of a job, how often it was begun again and why, and whether it stands idle."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import states
from clusters.engine.facts import ENGINE
from clusters.engine.follow import Followed
from clusters.launchers import JobSeen
from clusters.models import Attempt, Job, JobProgress
from clusters.providers import ProviderError
from tenants import programme_settings
from tenants.history import timeline

HOUR = timedelta(hours=1)
MEASURED = timedelta(minutes=5)  # for so long the last measure of its accelerators speaks for now
FRESH = timedelta(minutes=2)  # output that was read longer ago says nothing about silence


@dataclass(frozen=True)
class IdleRule:
    """After how many silent minutes a job is idle (None: only where its launch says so), unless it computes this much."""

    minutes: int | None = None
    below_percent: int = 5


def standing(
    job: Job, now: datetime, progress: JobProgress | None = None, rule: IdleRule | None = None
) -> dict[str, Any]:
    """What `follow` has to know of a job beside its state. Of a job that computes without a word no silence is known."""
    rule = rule or IdleRule()
    stepped = progress.step_at if progress else None
    quiet_from = max(filter(None, (job.output_at, job.started_at, stepped)), default=None)
    known = quiet_from is not None and job.log_read_at is not None and now - job.log_read_at < FRESH
    known = known and not computes(progress, now, rule)
    limit = minutes_allowed(job, rule)
    return {
        "cancel_age": (now - job.cancel_wished_at).total_seconds() if job.cancel_wished_at else 0.0,
        "wish": job.wish,
        "wish_age": (now - job.wished_at).total_seconds() if job.wished_at else 0.0,
        "wish_restarts": job.wish_restarts,
        "waits": job.after_id is not None and not job.after.external_id and job.after.state not in states.JOB_ENDS,
        "budget": job.restarts_an_hour,
        "forgiven": max(job.restarts_forgiven, _long_ago(job, now)),
        "idle_seconds": (now - quiet_from).total_seconds() if known and quiet_from else None,
        "idle_limit": limit * 60 if limit else None,
    }


def idle_rule() -> IdleRule:
    """As the programme's office has it."""
    told = programme_settings.programme()
    return IdleRule(told.idle_minutes, told.idle_below_percent)


def minutes_allowed(job: Job, rule: IdleRule) -> int | None:
    """As its launch says, else as the programme does for training; None: it may be silent."""
    return job.idle_minutes or (rule.minutes if job.purpose == Job.Purpose.TRAINING else None)


def computes(progress: JobProgress | None, now: datetime, rule: IdleRule) -> bool:
    """Whether its accelerators were measured to be used, lately."""
    if progress is None or progress.activity is None or progress.activity_at is None:
        return False
    return now - progress.activity_at < MEASURED and progress.activity >= rule.below_percent


def _long_ago(job: Job, now: datetime) -> int:
    """Restarts that are more than an hour old, or that somebody asked for."""
    if not job.restarts:
        return 0
    runs = Attempt.objects.filter(job=job, number__gt=1)
    old = runs.filter(created_at__lt=now - HOUR).order_by("-number").values_list("number", flat=True).first() or 1
    return old - 1 + runs.filter(number__gt=old, cause=Attempt.Cause.REQUEUE).count()


def options(job: Job) -> dict[str, Any]:
    """The part of a launch that says when and how often."""
    after = ((job.after_how, job.after.external_id),) if job.after_id and job.after.external_id else ()
    return {
        "array": job.array,
        "after": after,
        "begin_at": job.begin_at,
        "held": job.wish == Job.Wish.HOLD or job.held,
        "again": job.last_call_at is not None,
    }


def keep(job: Job, seen: JobSeen, lost: dict[str, str]) -> None:
    """The runs of a job as far as they were seen. One that is about to begin again has its row before it starts."""
    begins = seen.restarts > job.restarts
    if begins:
        _close(job, seen)
    if seen.started_at is None and not begins:
        return
    told = {
        "external_id": seen.external_id,
        "started_at": seen.started_at,
        "ended_at": seen.ended_at,
        "node_names": list(seen.nodes),
        "exit_code": seen.exit_code,
        "reason": seen.reason,
    }
    cause, words = _cause(job, seen, lost)
    row, new = Attempt.objects.update_or_create(
        tenant_id=job.tenant_id,
        job=job,
        number=seen.restarts + 1,
        defaults=told,
        create_defaults=told | {"cause": cause, "cause_told": words},
    )
    if seen.ended_at and seen.state in ("failed", "timed_out") and row.lost_hours is None:
        Attempt.objects.filter(pk=row.pk).update(lost_hours=_lost(job, row.started_at, seen.ended_at))
    if new and row.number > 1:
        label = str(Attempt.Cause(cause).label)
        why = f"{label}: {words}" if words else label
        timeline.record(
            states.JOB_BEGUN_AGAIN, about=job, by=ENGINE, name=job.name, number=row.number, why=why, cause=cause
        )


def _close(job: Job, seen: JobSeen) -> None:
    """The runs before have ended, at the latest now; what they had not saved is lost."""
    for row in Attempt.objects.filter(job=job, ended_at=None, number__lte=seen.restarts):
        ended = timezone.now()
        lost = _lost(job, row.started_at, ended)
        Attempt.objects.filter(pk=row.pk).update(ended_at=ended, lost_hours=lost)


def _cause(job: Job, seen: JobSeen, lost: dict[str, str]) -> tuple[str, str]:
    """Why a run begins, by what was seen: a node of the run before that is down, or a wish."""
    if not seen.restarts:
        return Attempt.Cause.FIRST, ""
    gone = {name: lost[name] for name in job.node_names if name in lost}
    if gone:
        return Attempt.Cause.NODE, "; ".join(f"{name}: {why}" for name, why in gone.items())
    if job.wish == Job.Wish.REQUEUE:
        return Attempt.Cause.REQUEUE, ""
    return Attempt.Cause.SCHEDULER, ""


def _lost(job: Job, started: datetime | None, ended: datetime) -> Decimal | None:
    """Instance hours since its last checkpoint, or since it began."""
    if started is None:
        return None
    saved = max(started, job.checkpoint_at) if job.checkpoint_at and job.checkpoint_at < ended else started
    return Decimal(str(round((ended - saved).total_seconds() / 3600 * job.nodes, 2)))


def write(job: Job, seen: JobSeen | None, step: Followed, error: ProviderError | None) -> None:
    """Keep what became of a wish; say what went over its budget or stands idle."""
    columns: dict[str, Any] = {}
    if seen is not None and seen.held != job.held and step.state not in states.JOB_ENDS:
        columns["held"] = seen.held
        timeline.record(states.JOB_HELD if seen.held else states.JOB_LET_GO, about=job, by=ENGINE, name=job.name)
    if step.state in states.JOB_ENDS:
        columns |= {"held": False, "queue_position": None}
    if job.wish and error is not None and error.kind in ("refused", "denied"):
        timeline.record(
            states.JOB_WISH_REFUSED,
            about=job,
            by=ENGINE,
            name=job.name,
            wish=str(Job.Wish(job.wish).label),
            why=error.message,
        )
        columns |= {"wish": "", "wished_at": None, "wish_refused": error.message}
    elif step.wish_done or (job.wish and step.state in states.JOB_ENDS):
        columns |= {"wish": "", "wished_at": None, "wish_refused": ""}
    if step.over_budget and step.call and seen is not None:
        count = seen.restarts - max(job.restarts_forgiven, _long_ago(job, timezone.now()))
        timeline.record(
            states.JOB_OVER_BUDGET, about=job, by=ENGINE, name=job.name, count=count, most=job.restarts_an_hour
        )
    if step.idle and job.idle_since is None:
        columns |= _idle(job)
    if columns:
        Job.objects.filter(pk=job.pk).update(**columns, version=F("version") + 1)


def _idle(job: Job) -> dict[str, Any]:
    """Said once; cancelled only where whoever launched it chose so."""
    minutes = minutes_allowed(job, idle_rule())
    timeline.record(states.JOB_IDLE, about=job, by=ENGINE, name=job.name, minutes=minutes, nodes=job.nodes)
    if not job.idle_cancels:
        return {"idle_since": Now()}
    why = _("It printed nothing for %(minutes)s minutes.") % {"minutes": minutes}
    timeline.record(states.JOB_CANCEL, about=job, by=ENGINE, name=job.name, why=why)
    return {"idle_since": Now(), "cancel_wished_at": Now()}
