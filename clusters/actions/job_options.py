"""What a launch may ask for beside nodes and time: when, after what, how many times, how often again, and the idle rule."""

import re
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import states
from clusters.models import Cluster, Job
from tenants.web.problems import Refused

MOST_TASKS = 1000
MOST_RESTARTS = 100
LONGEST_IDLE = 60 * 24 * 7
LATEST = timedelta(days=366)
OF_SLURM = ("begin_at", "after", "after_how", "array")  # what Kubernetes has no word for
ARRAY = re.compile(r"(\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*)(?:%[1-9]\d{0,5})?")


def checked(
    cluster: Cluster,
    *,
    begin_at: datetime | None = None,
    array: str = "",
    after: Job | None = None,
    after_how: str = "",
    restarts_an_hour: int = 3,
    idle_minutes: int | None = None,
    idle_cancels: bool = False,
    held: bool = False,
) -> dict[str, Any]:
    """Columns of the new job. Raises Refused, naming the field, for what cannot be."""
    now = timezone.now()
    if cluster.orchestrator == "hyperpod-eks":
        _only_slurm({"begin_at": begin_at, "after": after, "after_how": after_how, "array": array})
    _begin(begin_at, now)
    if array:
        _array(array)
    if after is not None:
        _after(cluster, after, after_how)
    elif after_how:
        raise _refused("after", _("Say after which job it is to begin, or leave out how that one has to end."))
    if not 0 <= restarts_an_hour <= MOST_RESTARTS:
        raise _refused(
            "restarts_an_hour",
            _("A job may be begun again 0 to %(most)s times an hour; you sent %(asked)s."),
            most=MOST_RESTARTS,
            asked=restarts_an_hour,
        )
    if idle_minutes is not None and not 1 <= idle_minutes <= LONGEST_IDLE:
        raise _refused(
            "idle_minutes",
            _("The idle rule takes 1 to %(most)s minutes; you sent %(asked)s."),
            most=LONGEST_IDLE,
            asked=idle_minutes,
        )
    if idle_cancels and idle_minutes is None:
        raise _refused("idle_minutes", _("Say after how many silent minutes the job is to be cancelled."))
    return {
        "begin_at": begin_at,
        "array": array,
        "after": after,
        "after_how": (after_how or Job.How.OK) if after is not None else "",
        "restarts_an_hour": restarts_an_hour,
        "idle_minutes": idle_minutes,
        "idle_cancels": idle_cancels,
        "held": held,
    }


def _only_slurm(asked: dict[str, Any]) -> None:
    for name, value in asked.items():
        if value:
            raise _refused(
                name,
                _(
                    "A cluster on Kubernetes knows no later start, no order of jobs and no arrays: leave this out, or hold the "
                    "job and release it when it may begin."
                ),
            )


def _begin(begin_at: datetime | None, now: datetime) -> None:
    if begin_at is not None and not now - timedelta(minutes=1) <= begin_at <= now + LATEST:
        raise _refused(
            "begin_at",
            _("The start is between now and a year from now; you sent %(asked)s."),
            asked=begin_at.isoformat(timespec="minutes"),
        )


def _array(array: str) -> None:
    found = ARRAY.fullmatch(array)
    if found is None or len(array) > 60:
        raise _refused(
            "array",
            _("“%(asked)s” is no array of tasks. Write for instance 0-3, or 0-9%%2 for two at a time."),
            asked=array[:60],
        )
    count = 0
    for piece in found[1].split(","):
        first, _dash, last = piece.partition("-")
        count += int(last or first) - int(first) + 1
        if int(last or first) < int(first) or int(last or first) > MOST_TASKS or count > MOST_TASKS:
            raise _refused(
                "array",
                _("An array has at most %(most)s tasks, numbered 0 to %(most)s from low to high; you sent %(asked)s."),
                most=MOST_TASKS,
                asked=array,
            )


def _after(cluster: Cluster, after: Job, how: str) -> None:
    if after.cluster_id != cluster.pk:
        raise _refused(
            "after",
            _("The job %(name)s runs on another cluster; a job can wait only for one on its own."),
            name=after.name,
        )
    if how not in ("", *Job.How.values):
        raise _refused("after_how", _("“%(asked)s” is none of afterok, afterany and afternotok."), asked=how[:20])
    if after.state in states.JOB_ENDS and not after.external_id:
        raise _refused(
            "after",
            _("The job %(name)s ended before it reached the scheduler; it cannot be waited for."),
            name=after.name,
        )


def _refused(field: str, sentence: str, **values: Any) -> Refused:
    return Refused(f"job_{field}", sentence % values, status=422, field=field)
