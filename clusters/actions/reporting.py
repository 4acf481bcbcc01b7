"""The door through which a job reports by itself: its token, and what comes in."""

import hmac
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import measured_software
from clusters.engine import job_watching
from clusters.jobs.logs.reading import Heard, Point, Saved, finite
from clusters.models import Job, JobProgress, JobReporter
from clusters.reports import Reported
from tenants.web.problems import Refused

BYTES = 32
MOST_A_MINUTE = 240  # messages of one job: one process of each node sends one in ten seconds at most
NODES_WITHIN = timedelta(minutes=2)  # every node measures once a minute
EARLY = timedelta(minutes=10)  # a clock may be wrong by as much
URL, TOKEN = "COHORT_RUN_URL", "COHORT_RUN_TOKEN"


def variables(job: Job, tenant_slug: str, token: str) -> dict[str, str]:
    """What a job's environment holds so that it can report."""
    where = reverse("take_reports", kwargs={"tenant": tenant_slug, "pk": job.pk})
    return {URL: f"{settings.SITE_URL.rstrip('/')}{where}", TOKEN: token}


def new_token() -> str:
    return secrets.token_urlsafe(BYTES)


def open_door(job: Job, token: str) -> None:
    JobReporter.objects.create(tenant_id=job.tenant_id, job=job, token=token, made_at=timezone.now())


def opens(reporter: JobReporter, token: str) -> bool:
    return hmac.compare_digest(reporter.token.encode(), token.encode())


def take_reports(*, reporter: JobReporter, job: Job, told: list[Reported]) -> dict[str, int]:
    """Write down what a message says; the same message again changes nothing. Raises Refused("too_many")."""
    now = timezone.now()
    _count(reporter, now)
    progress = job_watching.progress_of(job)
    changed: dict[str, object] = {}
    columns: dict[str, object] = {}
    told = [each for each in told if each.at <= now + EARLY]
    for attempt in sorted({each.attempt for each in told}):
        mine = [each for each in told if each.attempt == attempt]
        points = [_point(each, now) for each in mine if each.kind == "point"]
        changed |= job_watching.keep_points(job, progress, points, attempt, "reporter")
        for each in sorted((one for one in mine if one.kind in ("saved", "resumed")), key=lambda one: one.at):
            kept = Saved(each.step, each.path, min(each.at, now))
            if each.kind == "saved":
                columns |= job_watching.keep_checkpoint(job, progress, kept, changed)
            else:
                job_watching.keep_resume(progress, kept, attempt, changed)
        heard = {
            each.rank: Heard(min(each.at, now), each.text, each.host) for each in sorted(mine, key=lambda one: one.at)
        }
        job_watching.keep_ranks(job, heard, attempt, "reporter")
    for name in ("world", "total_steps"):
        if (value := next((getattr(each, name) for each in reversed(told) if getattr(each, name)), None)) is not None:
            changed[name] = value
    changed |= _activity(progress, told, now)
    versions = {name: version for each in told for name, version in each.versions.items()}
    measured_software.keep_of_job(job, versions)
    if changed:
        job_watching.write_progress(progress, changed)
    if columns:
        Job.objects.filter(pk=job.pk).update(**columns)
    return {"taken": len(told)}


def _activity(progress: JobProgress, told: list[Reported], now: datetime) -> dict[str, object]:
    """The busiest node of the last minutes: where one computes, the job does."""
    measured = [
        (each.busy, min(each.at, now)) for each in told if each.busy is not None and now - each.at < NODES_WITHIN
    ]
    if progress.activity is not None and progress.activity_at is not None and now - progress.activity_at < NODES_WITHIN:
        measured.append((progress.activity, progress.activity_at))
    if not measured:
        return {}
    busy, at = max(measured)
    return {"activity": busy, "activity_at": at}


def _point(each: Reported, now: datetime) -> Point:
    values, word = finite(each.values)
    return Point(each.step, min(each.at, now), values, word)


def _count(reporter: JobReporter, now: datetime) -> None:
    minute = now.replace(second=0, microsecond=0)
    row = JobReporter.objects.select_for_update().get(pk=reporter.pk)
    this_minute = row.this_minute + 1 if row.minute == minute else 1
    if this_minute > MOST_A_MINUTE:
        raise Refused(
            "too_many",
            _("This job has sent %(most)s messages within a minute; send again in the next.") % {"most": MOST_A_MINUTE},
            status=429,
            retry_after=60 - now.second,
        )
    JobReporter.objects.filter(pk=row.pk).update(
        minute=minute, this_minute=this_minute, reports=F("reports") + 1, used_at=Now()
    )
