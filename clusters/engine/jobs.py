"""One step for all live jobs of one cluster: one list call, then per job what follows from it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from clusters.engine import job_runs, job_specs, job_watching, reaching, turns, waiting
from clusters.engine.facts import ENGINE, account_of
from clusters.engine.follow import Followed, JobNow, follow, recounted, together, whole_or_not_running
from clusters.engine.job_turns import Nodes, Turn
from clusters.launchers import Endpoint, JobSeen, Launcher, Tidies, launcher
from clusters.launchers.log_pages import gap, next_page
from clusters.models import Cluster, ClusterAccess, ExternalObject, Job, JobProgress
from clusters.providers import Account, ProviderError
from clusters.states import JOB_CANCEL, JOB_ENDS, JOB_LIVE
from tenants import metrics
from tenants.history import timeline
from tenants.history.moves import move
from tenants.wall.acting import acting_for
from tenants.work import due

log = structlog.get_logger(__name__)

WATCH = timedelta(seconds=5)
ANSWER = timedelta(seconds=2)  # whoever asked something of the scheduler waits to see it done
LOST = timedelta(seconds=30)
LOGS_A_STEP = 5
EVIDENCE_PATIENCE = timedelta(minutes=2)
PAGES_A_STEP = 5  # of one log: 50,000 lines


@dataclass
class Known:
    """What a step needs, read before any call."""

    now: datetime  # by the database's clock, which also dated the calls
    cluster: Cluster
    account: Account
    way: reaching.Way
    access: ClusterAccess | None
    jobs: list[Job]
    standings: dict[Any, dict[str, Any]]
    gone: bool  # nothing is left of the cluster that could ever tell of a job
    progress: dict[Any, JobProgress]


def step(held: due.Held) -> None:
    """Handle the due jobs of one cluster."""
    with acting_for(held.tenant_id, staff=True):
        known = _read(held)
        if known is None or not known.jobs:
            due.finish(held, again_in=None)
            return
        if known.gone:
            _end_with_their_cluster(held, known)
            return
    scheduler = launcher(known.cluster.orchestrator, by_agent=known.way.agent is not None)
    try:
        endpoint = reaching.kept(known.way, known.access) if known.access else reaching.look(known.way)
        if endpoint is None:
            raise ProviderError("unclear", "The cluster has not said yet how its scheduler is reached.")
        listed = together(scheduler.observe(endpoint))
    except ProviderError as error:
        metrics.provider_error("scheduler", error.kind)
        _lost(held, known, error)
        return
    for job in known.jobs:
        if seen := listed.get(job.engine_name):
            listed[job.engine_name] = recounted(seen, job.state, job.restarts, job.started_at)
    nodes = Nodes(lambda: scheduler.nodes(endpoint))
    seen_of = [(job, listed.get(job.engine_name)) for job in known.jobs]
    todo = [Turn(job, seen, _followed(known, scheduler, job, seen)) for job, seen in seen_of]
    todo = waiting.explained(known.cluster.orchestrator, nodes, todo, known.now)
    called = _one_call(held, known, scheduler, endpoint, todo)
    lost = _lost_nodes(nodes, todo)
    tails = _tails(scheduler, known, endpoint, todo)
    untidy = _untidy(scheduler, endpoint, todo)
    with acting_for(held.tenant_id, staff=True):
        _write(held, known, endpoint, todo, called, tails, untidy, lost)


def _read(held: due.Held) -> Known | None:
    cluster = Cluster.objects.select_related("account").annotate(now=Now()).filter(pk=held.ref).first()
    if cluster is None:
        return None
    access = ClusterAccess.objects.filter(cluster=cluster).first()
    live = Job.objects.filter(cluster=cluster, state__in=JOB_LIVE).select_related("after")
    jobs = list(live.order_by("created_at"))
    parts = {part.role: part for part in ExternalObject.objects.filter(cluster=cluster)}
    part, account = parts.get("cluster"), account_of(cluster.account, cluster.region)
    way = reaching.Way(cluster.orchestrator, account, {role: part.name for role, part in parts.items()})
    way = replace(way, agent=reaching.agent_of(cluster), namespace=reaching.on_kubernetes(cluster).namespace)
    progress = {row.job_id: row for row in JobProgress.objects.filter(job__in=live)}
    rule = job_runs.idle_rule()
    return Known(
        cluster.now,
        cluster,
        account,
        way,
        access,
        jobs,
        {job.pk: job_runs.standing(job, cluster.now, progress.get(job.pk), rule) for job in jobs},
        cluster.state == "deleted" or (part is not None and part.state == "gone"),
        progress,
    )


def _end_with_their_cluster(held: due.Held, known: Known) -> None:
    """No scheduler will ever tell how these ended, and nobody could retire a cluster whose jobs never end."""
    rows = list(Job.objects.select_for_update().filter(cluster=known.cluster, state__in=JOB_LIVE).order_by("pk"))
    due.finish(held, again_in=None)
    for row in rows:
        wished = row.cancel_wished_at is not None or not known.cluster.wanted
        step = Followed(
            "cancelled" if wished else "failed", why="The cluster it ran on is gone; how it ended is not known."
        )
        columns = {"reason": step.why, "ended_at": timezone.now(), "unknown_since": None, "unknown_reason": ""}
        move(row, step.state, by=ENGINE, columns=columns, **_told(row, None, step, columns))


def _followed(known: Known, scheduler: Launcher[Any], job: Job, seen: JobSeen | None) -> Followed:
    age = (known.now - job.last_call_at).total_seconds() if job.last_call_at else None
    now = JobNow(
        state=job.state,
        external_id=job.external_id,
        cancel_wished=job.cancel_wished_at is not None,
        absences=job.absences + 1,
        call_age=age,
        **known.standings[job.pk],
    )
    if known.cluster.orchestrator != "hyperpod-eks":  # there, several pods of a job may share a node
        seen = whole_or_not_running(seen, job.nodes, job.state)
    return follow(now, seen, consistency=min(settings.CONSISTENCY_SECONDS, scheduler.consistency))


def _lost(held: due.Held, known: Known, error: ProviderError) -> None:
    """Lost contact changes no state: it is said since when, and looked again."""
    with acting_for(held.tenant_id, staff=True):
        jobs = Job.objects.filter(pk__in=[job.pk for job in known.jobs], state__in=JOB_LIVE)
        jobs.update(unknown_since=Coalesce("unknown_since", Now()), unknown_reason=error.message)
        # The key or the address may have changed, and an old server says neither: read them again.
        if known.access and error.kind in ("denied", "unclear"):
            ClusterAccess.objects.filter(cluster=known.cluster).delete()
        due.finish(held, again_in=LOST, give_back=error.kind == "throttled", progress=error.kind != "throttled")
        if error.kind == "throttled":
            due.cool(held.lane, 20)


@dataclass(frozen=True)
class Called:
    """The one call of this step and its answer."""

    job: Job
    verb: str
    external_id: str = ""
    error: ProviderError | None = None


def _one_call(
    held: due.Held, known: Known, scheduler: Launcher[Any], endpoint: Endpoint, todo: list[Turn]
) -> Called | None:
    found = next(((turn.job, turn.step.call) for turn in todo if turn.step.call), None)
    if found is None:
        return None
    job, verb = found
    with acting_for(held.tenant_id, staff=True):
        # In the order of the actions: whoever cancels holds the job and then wishes.
        Job.objects.filter(pk=job.pk).update(last_call_at=Now(), absences=0)
        if not due.renew(held):
            raise due.LostLease(f"{held.kind} {held.ref}")
        wanted = job_specs.spec(job, known.cluster) if verb == "submit" else None
    try:
        if wanted is not None:
            return Called(job, verb, scheduler.submit(endpoint, wanted))
        getattr(scheduler, verb)(endpoint, job.external_id)
        return Called(job, verb)
    except ProviderError as error:
        metrics.provider_error("scheduler", error.kind)
        log.warning("job_call_failed", verb=verb, job=job.engine_name, kind=error.kind, message=error.message)
        return Called(job, verb, error=error)


def _tails(
    scheduler: Launcher[Any], known: Known, endpoint: Endpoint, todo: list[Turn]
) -> dict[Any, job_watching.Output]:
    """What those that run, and those that have just ended, wrote since; the ended first, they are evidence."""
    told = [(turn.job, turn.seen) for turn in todo if turn.seen]
    wanted = [(job, seen) for job, seen in told if seen.started_at or seen.state in JOB_ENDS]
    wanted.sort(key=lambda pair: (pair[1].state not in JOB_ENDS, pair[0].log_read_at is not None, pair[0].log_read_at))
    tails: dict[Any, job_watching.Output] = {}
    for job, seen in wanted[:LOGS_A_STEP]:
        try:
            tails[job.pk] = _output(scheduler, known, endpoint, job, seen)
        except ProviderError as error:
            metrics.provider_error("log", error.kind)
            log.warning("log_not_read", job=job.engine_name, kind=error.kind, message=error.message)
    return tails


def _output(scheduler: Launcher[Any], known: Known, endpoint: Endpoint, job: Job, seen: JobSeen) -> job_watching.Output:
    """What one job wrote since it was last read, page by page until nothing more comes."""
    progress = known.progress.get(job.pk)
    position, since = (progress.log_position, progress.last_line_at) if progress else ("", None)
    pages = []
    for _ in range(PAGES_A_STEP):
        page = next_page(
            scheduler, known.account, endpoint, seen.external_id, position, since, ended=seen.state in JOB_ENDS
        )
        pages.append(page)
        if not page.lines or not page.joined:
            break
        position = page.position
    last = pages[-1]
    more = bool(last.lines) and last.joined
    lines = tuple(line for page in pages for line in page.lines)
    if more and seen.ended_at is not None and known.now - seen.ended_at >= EVIDENCE_PATIENCE:
        lines, more = (*lines, gap("it wrote more than was read until it was closed")), False
    return replace(job_watching.understood(replace(last, lines=lines), progress, job.log_tail, known.now), more=more)


def _untidy(scheduler: Launcher[Any], endpoint: Endpoint, todo: list[Turn]) -> set[Any]:
    """Take away what jobs that have just ended still hold; whose remains could not be taken away ends a little later."""
    left: set[Any] = set()
    if not isinstance(scheduler, Tidies):
        return left
    for job, seen in [(turn.job, turn.seen) for turn in todo if turn.step.state in JOB_ENDS]:
        if seen is None:
            continue
        try:
            taken = scheduler.tidy(endpoint, seen.external_id)
            if taken:
                log.info("job_tidied", job=job.engine_name, taken=taken)
        except ProviderError as error:
            metrics.provider_error("scheduler", error.kind)
            log.warning("job_not_tidied", job=job.engine_name, kind=error.kind, message=error.message)
            if seen.ended_at and timezone.now() - seen.ended_at < EVIDENCE_PATIENCE:
                left.add(job.pk)
    return left


def _lost_nodes(nodes: Nodes, todo: list[Turn]) -> dict[str, str]:
    """Node -> what the scheduler says of it, of nodes that are down; asked only when a job was begun again."""
    if not any(turn.seen and (turn.seen.restarts or 0) > turn.job.restarts for turn in todo):
        return {}
    told = nodes.told() or ()
    return {node.name: node.reason or node.engine_state for node in told if node.state in ("down", "draining")}


def _unread_evidence(seen: JobSeen | None, step: Followed, tail: job_watching.Output | None) -> bool:
    """A job that has just ended whose log could not be read to its end: that waits a little, the log is its evidence."""
    if (
        step.state not in JOB_ENDS
        or (tail is not None and not tail.more)
        or seen is None
        or seen.started_at is None
        or seen.ended_at is None
    ):
        return False
    return timezone.now() - seen.ended_at < EVIDENCE_PATIENCE


def _write(
    held: due.Held,
    known: Known,
    endpoint: Endpoint,
    todo: list[Turn],
    called: Called | None,
    tails: dict[Any, job_watching.Output],
    untidy: set[Any],
    lost: dict[str, str],
) -> None:
    unread = untidy | {turn.job.pk for turn in todo if _unread_evidence(turn.seen, turn.step, tails.get(turn.job.pk))}
    Cluster.objects.select_for_update().get(pk=known.cluster.pk)
    rows = {
        row.pk: row
        for row in Job.objects.select_for_update().filter(pk__in=[turn.job.pk for turn in todo]).order_by("pk")
    }
    more = any(turn.step.call for turn in todo if called is None or turn.job.pk != called.job.pk)
    live = bool(unread) or any(turn.step.state not in JOB_ENDS for turn in todo)
    again = timedelta(0) if more else ANSWER if called else WATCH
    due.finish(held, again_in=again if live else None)
    if known.access is None and known.way.agent is None:
        reaching.keep(known.cluster, endpoint)
    same: list[Any] = []
    for turn in todo:
        row, seen, step = rows[turn.job.pk], turn.seen, turn.step
        if row.state not in JOB_ENDS and row.pk in unread and (tail := tails.get(row.pk)):
            Job.objects.filter(pk=row.pk).update(
                **job_watching.take(row, tail, (seen.restarts or 0) + 1 if seen else 1)
            )
        if row.state in JOB_ENDS or row.pk in unread:
            continue
        mine = called if called is not None and called.job.pk == row.pk else None
        if mine:
            _answered(row, mine)
        if _observed(row, seen, step, tails.get(row.pk), lost):
            same.append(row.pk)
        _stopped_at_its_limit(row, seen, step)
        job_runs.write(row, seen, step, mine.error if mine else None)
    Job.objects.filter(pk__in=same).update(observed_at=Now())
    proven = any(turn.step.state in JOB_ENDS for turn in todo if turn.job.purpose == Job.Purpose.PROOF)
    if proven or lost:  # what the provider says of a node that the scheduler lost is not waited for
        turns.wish(known.cluster)
    if any(turn.step.state in JOB_ENDS for turn in todo):
        turns.wish_for_count(known.cluster)


def _stopped_at_its_limit(row: Job, seen: JobSeen | None, step: Followed) -> None:
    """Operators were seen to begin a job again without end: we count, and wish it over."""
    if seen is None or seen.restart_limit is None or step.state in JOB_ENDS or row.cancel_wished_at is not None:
        return
    if (seen.restarts or 0) > seen.restart_limit:
        Job.objects.filter(pk=row.pk, cancel_wished_at=None).update(cancel_wished_at=Now())
        why = f"It began again {seen.restarts} times; its own limit is {seen.restart_limit}."
        timeline.record(JOB_CANCEL, about=row, by=ENGINE, name=row.name, why=why)


def _answered(row: Job, called: Called) -> None:
    if called.verb != "submit":
        return
    if called.error is None:
        columns = {"external_id": called.external_id, "submitted_at": timezone.now()}
        move(row, "submitted", by=ENGINE, columns=columns, name=row.name, external_id=called.external_id)
    elif called.error.kind in ("refused", "denied"):
        move(
            row,
            "failed",
            by=ENGINE,
            columns={"reason": called.error.message, "ended_at": timezone.now()},
            name=row.name,
            why=called.error.message,
        )
    elif called.error.kind == "throttled":
        Job.objects.filter(pk=row.pk).update(last_call_at=None)  # nothing was done, so nothing has to be waited for


def _observed(
    row: Job, seen: JobSeen | None, step: Followed, tail: job_watching.Output | None, lost: dict[str, str]
) -> bool:
    """Write what was seen; whether nothing of it is new, so that many rows can be dated at once."""
    columns: dict[str, Any] = {"observed_at": Now(), "unknown_since": None, "unknown_reason": "", "absences": 0}
    if tail is not None:
        columns |= job_watching.take(row, tail, (seen.restarts if seen else row.restarts) + 1)
        job_watching.watch_silence(row, step.state, columns["log_read_at"])
        if tail.lines:
            columns |= {"output_at": timezone.now(), "idle_since": None}
    if seen is None:
        columns["absences"] = row.absences + 1
    else:
        columns |= {
            "external_id": seen.external_id,
            "engine_state": seen.engine_state,
            "reason": seen.reason,
            "exit_code": seen.exit_code,
            "signal": seen.signal,
            "node_names": list(seen.nodes),
            "restarts": seen.restarts,
            "queue_position": seen.queue_position,
            "submitted_at": row.submitted_at or seen.submitted_at,
            "started_at": seen.started_at,
            "ended_at": seen.ended_at,
        }
        job_runs.keep(row, seen, lost)
    if step.state != row.state and row.state not in JOB_ENDS and step.state in row.MOVES[row.state]:
        columns.setdefault("reason", step.why)
        columns["lost_hours"] = _lost_hours(row, seen) if step.state in ("failed", "timed_out") else None
        move(row, step.state, by=ENGINE, columns=columns, **_told(row, seen, step, columns))
        return False
    if all(getattr(row, name) == value for name, value in columns.items() if name != "observed_at"):
        return True
    Job.objects.filter(pk=row.pk).update(**columns)
    return False


def _told(row: Job, seen: JobSeen | None, step: Followed, columns: dict[str, Any]) -> dict[str, Any]:
    """What the history keeps of a job's step."""
    told: dict[str, Any] = {
        "name": row.name,
        "external_id": columns.get("external_id", row.external_id),
        "why": step.why,
    }
    if seen is not None:
        told |= {"engine_state": seen.engine_state, "exit_code": seen.exit_code, "nodes": list(seen.nodes)[:64]}
    if columns.get("lost_hours") is not None:
        told["lost_hours"] = str(columns["lost_hours"])
    return told


def _lost_hours(row: Job, seen: JobSeen | None) -> Decimal | None:
    """Instance hours of the run that failed; how much of it a checkpoint saved is not known here."""
    if seen is None or seen.started_at is None or seen.ended_at is None:
        return None
    hours = (seen.ended_at - seen.started_at).total_seconds() / 3600 * row.nodes
    return Decimal(str(round(hours, 2)))
