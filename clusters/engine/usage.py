"""One step for the accounting of one cluster: ask what its scheduler keeps, write its runs down, count its days anew."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Exists, Max, Min, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from clusters import states
from clusters.accounting import accelerator_hours
from clusters.accounting.accelerator_hours import Run
from clusters.accounting.time_classes import classified
from clusters.actions import holding
from clusters.engine import reaching, turns, usage_facts
from clusters.engine.facts import ENGINE, account_of
from clusters.launchers import Ended, launcher
from clusters.models import AccountingRead, Attempt, Cluster, ClusterAccess, ExternalObject, Job, JobRun, Node, UsageDay
from clusters.providers import ProviderError
from tenants import metrics
from tenants.history import timeline
from tenants.models import Programme
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, heartbeat
from tenants.work.loop import handler

log = structlog.get_logger(__name__)

HOURLY = timedelta(hours=1)
# A controller writes a job's end to its accounting with delay, and a database that was away catches up: what was read is
# read again from so long before.
OVERLAP = timedelta(days=2)
FIRST_READ = timedelta(days=400)
GRACE = timedelta(days=2)  # so long after its end a day takes late facts without a word


@handler(heartbeat.recurs("usage-of-all"), queue="deliver")
def all_clusters(held: due.Held) -> None:
    """Have every cluster counted that is there, or has days that are not closed yet."""
    with reading_everyone():
        open_days = UsageDay.objects.filter(cluster=OuterRef("pk"), closed_at=None)
        rows = Cluster.objects.filter(~Q(state="deleted") | Exists(open_days)).select_related("account")
        wanted = [(row.pk, row.tenant_id, row.lane) for row in rows]
    with transaction.atomic():
        for pk, tenant, lane in wanted:
            due.wish(turns.COUNT, pk, tenant=tenant, lane=lane)
        due.finish(held, again_in=HOURLY)


@dataclass(frozen=True)
class Answer:
    """What the scheduler's accounting said; `kept` is yes, no or unknown."""

    kept: str
    rows: tuple[Ended, ...] = ()
    told: str = ""


def step(held: due.Held) -> None:
    """Count one cluster. What does not answer stays as it was: silence is no usage of nought."""
    with acting_for(held.tenant_id, staff=True):
        row = Cluster.objects.select_related("account", "participation__cycle__programme").filter(pk=held.ref).first()
        if row is None:
            due.finish(held, again_in=None)
            return
        access = ClusterAccess.objects.filter(cluster=row).first()
        read_until = AccountingRead.objects.filter(cluster=row).values_list("read_until", flat=True).first()
        asked_at = timezone.now()
        names = dict(ExternalObject.objects.filter(cluster=row).values_list("role", "name"))
        account = account_of(row.account, row.region)
        way = reaching.Way(row.orchestrator, account, names, agent=reaching.agent_of(row))
    answer = _asked(way, row, access, (read_until or asked_at - FIRST_READ) - OVERLAP)
    with acting_for(held.tenant_id, staff=True):
        row = Cluster.objects.select_for_update(of=("self",)).select_related(
            "participation__cycle__programme"
        ).get(pk=row.pk)  # fmt: skip
        due.finish(held, again_in=None)
        count(row, answer, asked_at=asked_at)
        holding.settle_what_was_migrated(row)
        turns.wish_for_judgement(row)  # of runs that were lost with their node


def _asked(way: reaching.Way, row: Cluster, access: ClusterAccess | None, since: datetime) -> Answer:
    if access is None and way.agent is None:
        return Answer("unknown", told="The cluster has not said yet how its scheduler is reached.")
    scheduler = launcher(row.orchestrator, by_agent=way.agent is not None)
    try:
        endpoint = reaching.kept(way, access) if access else way.agent
        return Answer("yes", tuple(scheduler.ended(endpoint, since)))
    except ProviderError as error:
        if error.code == "NoAccounting":
            return Answer("no", told=error.message)
        metrics.provider_error("accounting", error.kind)
        log.warning("accounting_not_read", cluster=str(row.pk), kind=error.kind, message=error.message)
        return Answer("unknown", told=error.message)


def count(row: Cluster, answer: Answer, *, asked_at: datetime) -> None:
    """Write runs and days down, within the scope and with the cluster locked. The same again changes nothing."""
    now = timezone.now()
    _keep_answer(row, answer, asked_at)
    changed = [*keep_accounting(row, answer.rows), *keep_watched(row)]
    zone = zone_of(row)
    first, last = _first_day(row, changed, zone, now), accelerator_hours.day_of(now, zone)
    since = _moment(accelerator_hours.midnight(first, zone))
    found, runs = usage_facts.known(row, since, now), runs_of(row, since, now)
    before = {day.day: day for day in UsageDay.objects.filter(cluster=row, day__gte=first)}
    for day in accelerator_hours.days(first, last):
        begins, ends = accelerator_hours.bounds(day, zone)
        until = min(ends, int(now.timestamp()))
        counted = _counted(found, runs, begins, until)
        counted |= {"zone": zone, "source": _source(row, answer.kept, counted["runs"])}
        keep_day(row, day, counted, before.get(day), now, closing=now.timestamp() >= ends + GRACE.total_seconds())


def zone_of(row: Cluster) -> str:
    """The zone in which its programme counts days."""
    programme: Programme = row.participation.cycle.programme
    return programme.timezone


def _keep_answer(row: Cluster, answer: Answer, asked_at: datetime) -> None:
    columns: dict[str, Any] = {"kept": answer.kept, "told": answer.told, "asked_at": asked_at}
    if answer.kept == "yes":
        columns["read_until"] = asked_at
    elif answer.kept == "unknown" and AccountingRead.objects.filter(cluster=row).exclude(read_until=None).exists():
        columns.pop("kept")  # it kept some before: that it does not answer now does not say that it keeps none
    AccountingRead.objects.update_or_create(tenant_id=row.tenant_id, cluster=row, defaults=columns)


def keep_accounting(row: Cluster, rows: Iterable[Ended]) -> list[datetime]:
    """Each row of the accounting once, whenever it comes; the beginnings of those that are new or changed."""
    told = list(rows)
    if not told:
        return []
    ids = {one.external_id for one in told}
    here: dict[str, list[JobRun]] = {}
    for run in JobRun.objects.filter(cluster=row, external_id__in=ids).order_by("attempt"):
        here.setdefault(run.external_id, []).append(run)
    names = {one.name for one in told}
    mine = {job.engine_name: job for job in Job.objects.filter(cluster=row, engine_name__in=names)}
    nodes = usage_facts.by_name(list(Node.objects.filter(cluster=row)))
    changed: list[datetime] = []
    for one in told:
        before, attempt = _same(one, here.setdefault(one.external_id, []))
        job = mine.get(one.name)
        values = {
            "job": job,
            "name": (job.name if job else one.name)[:200],
            "source": JobRun.Source.ACCOUNTING,
            "outcome": one.state,
            "engine_state": one.engine_state[:40],
            "started_at": one.started_at,
            "ended_at": one.ended_at,
            "counted_until": one.ended_at,
            "nodes": len(one.nodes) or (job.nodes if job else None),
            "accelerators": _accelerators(one, job, nodes),
            "node_names": list(one.nodes),
            "exit_code": one.exit_code,
            "signal": one.signal,
        }
        kept, began = _keep(row, before, one.external_id, attempt, values)
        here[one.external_id] = [run for run in here[one.external_id] if run.pk != kept.pk] + [kept]
        changed += began
    return changed


def _same(one: Ended, known: list[JobRun]) -> tuple[JobRun | None, int]:
    """The row of this very run, and its number. A list of some days numbers what is in it from one; what began at the
    same second is the same run whatever its number there."""
    began = next((run for run in known if run.started_at == one.started_at), None)
    if began is not None:
        return began, began.attempt
    numbered = next((run for run in known if run.attempt == one.attempt), None)
    if numbered is not None and numbered.source == JobRun.Source.WATCHED:
        return numbered, one.attempt
    return None, max((run.attempt for run in known), default=0) + 1 if numbered else one.attempt


def _accelerators(one: Ended, job: Job | None, nodes: dict[str, Node]) -> int | None:
    """What the accounting counted; else those of the nodes it ran on, for jobs get whole nodes; else nobody knows."""
    if one.accelerators is not None:
        return one.accelerators
    hits = usage_facts.found_by(one.nodes, nodes)
    if one.nodes and len(hits) == len(one.nodes):
        return sum(node.accelerators for node in hits)
    return job.accelerators if job else None


def keep_watched(row: Cluster) -> list[datetime]:
    """Attempts that we watched, of which the accounting has not told."""
    recent = Q(job__ended_at=None) | Q(job__ended_at__gt=timezone.now() - GRACE - OVERLAP)
    attempts = list(Attempt.objects.filter(recent, job__cluster=row).select_related("job").order_by("job", "number"))
    ids = {one.external_id for one in attempts}
    here = {(run.external_id, run.attempt): run for run in JobRun.objects.filter(cluster=row, external_id__in=ids)}
    changed: list[datetime] = []
    for number, one in enumerate(attempts):
        before = here.get((one.external_id, one.number))
        if one.started_at is None or (before is not None and before.source == JobRun.Source.ACCOUNTING):
            continue
        following = attempts[number + 1] if number + 1 < len(attempts) else None
        later = following if following is not None and following.job_id == one.job_id else None
        ended = one.ended_at
        until = ended or (later.started_at if later else None) or one.job.observed_at or one.started_at
        values = {
            "job": one.job,
            "name": one.job.name,
            "source": JobRun.Source.WATCHED,
            "outcome": one.job.state if later is None and one.job.state in states.JOB_ENDS else "",
            "engine_state": one.job.engine_state if later is None else "",
            "started_at": one.started_at,
            "ended_at": ended,
            "counted_until": max(until, one.started_at),
            "nodes": len(one.node_names) or one.job.nodes,
            "accelerators": one.job.accelerators,
            "node_names": one.node_names,
            "exit_code": one.exit_code,
            "signal": one.job.signal if later is None else None,
        }
        changed += _keep(row, before, one.external_id, one.number, values)[1]
    return changed


def _keep(
    row: Cluster, before: JobRun | None, external_id: str, attempt: int, values: dict[str, Any]
) -> tuple[JobRun, list[datetime]]:
    """The row as it is now, and when it began, before and now, if anything of it is new."""
    moments = [moment for moment in (values["started_at"], before.started_at if before else None) if moment]
    if before is None:
        made = JobRun.objects.create(
            tenant_id=row.tenant_id, cluster=row, external_id=external_id, attempt=attempt, told_at=Now(), **values
        )
        return made, moments
    different = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not different:
        return before, []
    JobRun.objects.filter(pk=before.pk).update(told_at=Now(), **different)
    for name, value in different.items():
        setattr(before, name, value)
    return before, moments


def _first_day(row: Cluster, changed: list[datetime], zone: str, now: datetime) -> date:
    """The earliest day that may have changed: one that is still open, or one that something new speaks of."""
    counted = UsageDay.objects.filter(cluster=row).aggregate(open=Min("day", filter=Q(closed_at=None)), last=Max("day"))
    begun = max(row.created_at, now - FIRST_READ)
    earliest = [counted["open"] or counted["last"] or accelerator_hours.day_of(begun, zone)]
    earliest += [accelerator_hours.day_of(max(moment, begun), zone) for moment in changed]
    return min(earliest)


def keep_day(
    row: Cluster, day: date, counted: dict[str, Any], before: UsageDay | None, now: datetime, *, closing: bool
) -> None:
    """Write one day down; a closed one changes only with a line in the history that keeps both numbers."""
    if before is None:
        closed = now if closing else None
        UsageDay.objects.create(
            tenant_id=row.tenant_id, cluster=row, day=day, computed_at=now, closed_at=closed, **counted
        )
        return
    different = {name: value for name, value in counted.items() if getattr(before, name) != value}
    if before.closed_at is not None and different:
        fields = {name: [_said(getattr(before, name)), _said(value)] for name, value in sorted(different.items())}
        timeline.record(
            states.USAGE_CORRECTED, about=row, by=ENGINE, day=day.isoformat(), name=row.name, fields=sorted(fields),
            changed=fields,
        )  # fmt: skip
    columns = different | ({"closed_at": now} if closing and before.closed_at is None else {})
    UsageDay.objects.filter(pk=before.pk).update(computed_at=now, **columns)


def _said(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


def _counted(found: usage_facts.Known, runs: list[Run], begins: int, until: int) -> dict[str, Any]:
    classes = classified(found.lanes, found.claims, found.facts, begins, until, each=found.each)
    ran = accelerator_hours.used(runs, begins, until)
    return {
        **classes,
        "reserved": sum(classes.values()),
        "used": ran.seconds,
        "runs": ran.runs,
        "unmeasured": ran.unmeasured,
    }


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def runs_of(row: Cluster, since: datetime, until: datetime) -> list[Run]:
    rows = JobRun.objects.filter(cluster=row, started_at__lt=until, counted_until__gt=since)
    return [
        Run(usage_facts.seconds(began), usage_facts.seconds(to), accelerators)
        for began, to, accelerators in rows.values_list("started_at", "counted_until", "accelerators")
    ]


def _source(row: Cluster, kept: str, runs: int) -> str:
    """Who measured that day. Where nobody could have seen a job, none is no answer."""
    if kept == "yes" or AccountingRead.objects.filter(cluster=row, kept="yes").exists():
        return UsageDay.Source.ACCOUNTING
    watched = row.orchestrator in states.TAKES_JOBS and ClusterAccess.objects.filter(cluster=row).exists()
    return UsageDay.Source.WATCHED if watched or runs else UsageDay.Source.NOBODY
