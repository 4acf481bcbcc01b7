"""One look at a budget: tell at its percentages, and go through the stop rule step by step, by the verbs that people have."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import capacity_queries, foresight, states
from clusters.actions import changes
from clusters.actions import jobs as job_actions
from clusters.budgets import actions, prices, queries, stopping, telling
from clusters.budgets.reckoning import Reckoning
from clusters.budgets.stopping import JobNow, Step, Terms
from clusters.engine.facts import ENGINE
from clusters.models import BudgetRow, BudgetWatch, Cluster, Job, Operation
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.models import Participation
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.work import due, heartbeat
from tenants.work.loop import handler

log = structlog.get_logger(__name__)

HOURLY, LATER = timedelta(hours=1), timedelta(minutes=10)
SOON = timedelta(seconds=15)  # while jobs are stopped: a checkpoint that was just saved is the best moment
OVER = frozenset({"closed", "withdrawn"})


@handler(heartbeat.recurs("budgets-of-all"), queue="deliver")
def all_budgets(held: due.Held) -> None:
    """Keep the prices of now, and have every budget looked at."""
    with reading_everyone():
        wanted = list(BudgetRow.objects.order_by().values_list("participation_id", "tenant_id").distinct())
    with transaction.atomic():
        try:
            prices.keep()
        except Refused as refused:
            log.warning("prices_not_kept", why=refused.sentence)
        for pk, tenant in wanted:
            due.wish(actions.KIND, pk, tenant=tenant)
        due.finish(held, again_in=HOURLY)


@dataclass(frozen=True)
class Look:
    """What one step found before it writes."""

    place: Participation
    found: Reckoning
    terms: Terms
    now: datetime
    paused: bool


def step(held: due.Held) -> None:
    """Look at one budget. Lost contact ends nothing: what nobody sees is neither counted nor stopped."""
    with acting_for(held.tenant_id, staff=True):
        place = (
            Participation.objects.select_related("cycle__programme", "tenant").filter(pk=held.ref).first()
        )  # fmt: skip
        if place is None or place.state in OVER or not BudgetRow.objects.filter(participation=place).exists():
            due.finish(held, again_in=None)
            return
        actions.hold(place)
        row = actions.watched(place)
        found = queries.reckoning(queries.one(place), queries.book_of(place))
        now, stands = timezone.now(), queries.standing(row, found)
        look = Look(place, found, queries.terms(place.cycle.programme, row), now, stands.paused(now))
        jobs = _jobs(place)
        running = sum(job.state not in states.JOB_WAITS for job in jobs)
        todo = stopping.follow(stands, look.terms, look.now, running=running)
        due.finish(held, again_in=SOON if todo.state == "stopping" else LATER)
        _write(row, todo, look, jobs)
        quiet = _quiet(place, jobs) if todo.state in ("stopping", "stopped") and not look.paused else []
    for cluster in quiet:
        _shrink(held.tenant_id, cluster, look)


def _jobs(place: Participation) -> list[Job]:
    live = Job.objects.filter(
        cluster__participation=place, state__in=states.JOB_LIVE, purpose=Job.Purpose.TRAINING
    ).select_related("cluster")
    return list(live.order_by("pk"))


def _write(row: BudgetWatch, todo: Step, look: Look, jobs: list[Job]) -> None:
    facts = telling.amounts(look.found, look.place.cycle.programme.currency)
    if todo.warned != row.warned:
        BudgetWatch.objects.filter(pk=row.pk).update(warned=todo.warned)
    if todo.warn is not None:
        entry = timeline.record(states.BUDGET_WARNED, about=row, by=ENGINE, percent=todo.warn, **facts)
        telling.tell(look.place, entry)
    if todo.state != row.state:
        entry = move(row, todo.state, by=ENGINE, columns={"since": look.now}, **facts)
        if todo.state in ("notice", "stopping"):
            telling.tell(look.place, entry)
        if todo.state == "notice" and look.terms.rule == "stop" and jobs:
            _tell_of_jobs(row, look, jobs)
    if row.state == "stopping" and not look.paused:
        for job in jobs:
            _stop(job, row.since, look)


def _tell_of_jobs(row: BudgetWatch, look: Look, jobs: list[Job]) -> None:
    """Whoever has no checkpoint loses all of it: told while there is time to save one."""
    unsaved = sorted(job.name for job in jobs if job.checkpoint_at is None)
    at = (look.now + look.terms.notice).isoformat(timespec="minutes")
    names = sorted(job.name for job in jobs)[:50]
    timeline.record(states.BUDGET_JOBS_TOLD, about=row, by=ENGINE, names=names, unsaved=unsaved[:50], begins=at)


def _stop(job: Job, since: datetime, look: Look) -> None:
    runs, held = job.state not in states.JOB_WAITS, job.wish == Job.Wish.HOLD or job.held
    now_is = JobNow(
        runs=runs,
        checkpoint_at=job.checkpoint_at,
        lost=job.unknown_since is not None or job.cluster.unknown_since is not None,
        wished=job.cancel_wished_at is not None or (held and not runs),  # it may have started before it was held
    )
    what = stopping.deed(now_is, since, look.terms, look.now)
    if what == "wait":
        return
    why = _why(job, since, look)
    act = job_actions.hold_job if what == "hold" else job_actions.cancel_job
    try:
        with transaction.atomic():
            act(job=job, by=ENGINE, why=why)
    except Refused as refused:  # its scheduler cannot hold, or it has just ended: the next look decides anew
        log.info("budget_job_not_stopped", job=str(job.pk), deed=what, why=refused.sentence)


def _why(job: Job, since: datetime, look: Look) -> str:
    if job.state in states.JOB_WAITS:
        return _("The budget of the term is used up.")
    if job.checkpoint_at is None:
        return _("The budget of the term is used up; this was told before.")
    if job.checkpoint_at > since:
        return _("The budget of the term is used up, and it has just saved a checkpoint.")
    return _("The budget of the term is used up, and its last checkpoint was waited for long enough.")


def _quiet(place: Participation, jobs: list[Job]) -> list[Cluster]:
    """Clusters without a job that holds nodes, that are seen and at rest."""
    busy = {job.cluster_id for job in jobs if job.state not in states.JOB_WAITS}
    rows = Cluster.objects.filter(participation=place, state__in=["ready", "degraded"], wanted=True, unknown_since=None)
    return [row for row in rows.order_by("pk") if row.pk not in busy]


def _shrink(tenant: Any, cluster: Cluster, look: Look) -> None:
    """Ask once for fewer nodes. A person has to agree; nothing is deleted, and no storage is touched."""
    with acting_for(tenant, staff=True):
        reached = Entry.objects.filter(kind="budget_watch.notice", participation=look.place.pk).order_by("-pk").first()
        begins = reached.recorded_at if reached else look.now
        asked = Operation.objects.filter(cluster=cluster, second_person=Operation.Second.BUDGET, created_at__gte=begins)
        said = Entry.objects.filter(kind=states.BUDGET_SHRINK_NOT, cluster=cluster.pk, recorded_at__gte=begins)
        if asked.exists() or said.exists():
            return
        why = _("The budget of the term is used up.")
        try:
            with transaction.atomic():
                body = stopping.smallest(foresight.current(cluster).document(), capacity_queries.accelerated_types())
                if body is not None:
                    changes.change_cluster(
                        cluster=cluster, body=body, by=ENGINE, reason=why, stop_jobs=True,
                        second_person=Operation.Second.BUDGET,
                    )  # fmt: skip
        except Refused as refused:
            if refused.code != "busy":  # what is under way is waited for
                timeline.record(
                    states.BUDGET_SHRINK_NOT,
                    about=cluster,
                    by=ENGINE,
                    name=cluster.name,
                    why=str(refused.sentence)[:500],
                )
