"""Reads of what a job tells of itself, and what follows from it: pace, risk, silence, suspects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters.jobs.logs import forecast, risk, stalls, suspects, timeouts
from clusters.models import Attempt, Job, JobFault, JobOutput, JobPoint, JobProgress, JobRank, Node, Reservation
from clusters.states import JOB_ENDS
from tenants.queries import history

STALE_AFTER = timedelta(minutes=5)  # of a running job's newest measure; older ones are shown as old
TAIL_LINES = 400
ALIVE = timedelta(minutes=10)
NODE_TROUBLE = ("node.impaired", "node.replacing", "node.gone")


@dataclass(frozen=True)
class Ranks:
    """How many ranks were heard of lately, of how many. `world` is None where nobody says."""

    heard: int
    world: int | None
    by: str


@dataclass(frozen=True)
class Watched:
    """Everything that a job's page, and the API, tell of how it goes."""

    progress: JobProgress | None
    points: list[JobPoint]
    faults: list[JobFault]
    ranks: Ranks | None
    in_use: timeouts.InUse
    silence: stalls.Silence
    risk: risk.AtRisk | None
    nodes: list[suspects.NodeTold]
    seats: dict[str, Node]  # by the scheduler's name of a node

    @property
    def newest(self) -> JobPoint | None:
        return max(self.points, key=lambda point: (point.at, point.step), default=None)


def progress_of(job: Job) -> JobProgress | None:
    return JobProgress.objects.filter(job=job).first()


def points(job: Job) -> list[JobPoint]:
    """At most some 2,000: they are thinned when they are written."""
    return list(JobPoint.objects.filter(job=job).order_by("attempt", "step"))


def watched(job: Job, now: datetime) -> Watched:
    """Seven statements, however long the job is."""
    progress = progress_of(job)
    faults = list(JobFault.objects.filter(job=job).order_by("at", "id"))
    ranks = list(JobRank.objects.filter(job=job).order_by("rank"))
    in_use = timeouts.in_use(
        job.script, progress.log_format if progress else "", progress.timeout_seconds if progress else None
    )
    running = job.state == "running"
    silence = stalls.silence(running, progress.last_line_at if progress else None, job.log_read_at, in_use.seconds)
    at_risk = risk.at_risk(
        now=now, begun=job.started_at, saved=job.checkpoint_at, accelerators=job.accelerators, running=running
    )
    left = _left(job)
    names = list(left.node_names) if left else list(job.node_names)
    trouble = trouble_of(job, progress, faults) or (left.ended_at if left else None)
    seats = _seats(job, names)
    return Watched(
        progress,
        points(job),
        faults,
        _alive(job, progress, ranks),
        in_use,
        silence,
        at_risk,
        nodes_of(names, job.restarts + (0 if left else 1), progress, ranks, faults, trouble, seats),
        seats,
    )


def trouble_of(job: Job, progress: JobProgress | None, faults: Sequence[JobFault]) -> datetime | None:
    """When the newest run got into trouble; None while it is in none."""
    latest = max((fault.attempt for fault in faults), default=0)
    first = next((fault.at for fault in faults if fault.attempt == latest), None)
    if job.state in ("failed", "recovering"):
        return first or job.ended_at
    if progress is not None and progress.stalled_since is not None:
        return progress.stalled_since
    serious = next((fault.at for fault in faults if fault.attempt == latest and fault.fault_kind != "exception"), None)
    return serious if job.state not in JOB_ENDS and latest == job.restarts + 1 else None


def _alive(job: Job, progress: JobProgress | None, ranks: list[JobRank]) -> Ranks | None:
    """Ranks of the current run that were heard within some minutes before the newest of all that was heard."""
    current = [row for row in ranks if row.attempt == job.restarts + 1]
    if not current:
        return None
    newest = max(row.heard_at for row in current)
    heard = sum(newest - row.heard_at <= ALIVE for row in current)
    by = "reporter" if any(row.source == "reporter" for row in current) else "log"
    return Ranks(heard, progress.world if progress else None, by)


def unwell(job: Job) -> list[Any]:
    """Nodes that are not well while a job waits for them: whoever looks at it sees at once when that changes."""
    if job.state != "recovering":
        return []
    rows = Node.objects.filter(cluster_id=job.cluster_id).exclude(state="running").order_by("pk")
    return list(rows.values_list("pk", "state"))


def _left(job: Job) -> Attempt | None:
    """The run that broke, while the job waits for nodes to begin again on: what it ran on is what is suspected."""
    if job.state != "recovering" or job.node_names:
        return None
    return Attempt.objects.filter(job=job, ended_at__isnull=False).exclude(node_names=[]).order_by("-number").first()


def nodes_of(
    names: list[str],
    attempt: int,
    progress: JobProgress | None,
    ranks: Sequence[JobRank],
    faults: Sequence[JobFault],
    trouble: datetime | None,
    seats: dict[str, Node],
) -> list[suspects.NodeTold]:
    """Each node of the job with its last words and the signs against it."""
    if not names:
        return []
    told = {name: suspects.NodeTold(name) for name in names}
    for row in ranks:
        name = _place(row.host, row.rank, names, progress.world if progress else None)
        if name and row.attempt == attempt:
            before = told[name].heard_at
            told[name].heard_at = max(before, row.heard_at) if before else row.heard_at
    for fault in faults:
        why = suspects.sign_of(fault.fault_kind, fault.xid)
        name = _place(fault.host, fault.rank, names, progress.world if progress else None)
        if why and name:
            told[name].signs.append(suspects.Sign(why, fault.at, fault.text))
    for entry in _bad_news(seats.values(), trouble):
        name = next((name for name, node in seats.items() if node.pk == entry.subject_id), None)
        if name:
            text = str(entry.facts.get("why") or entry.kind.removeprefix("node."))
            told[name].signs.append(suspects.Sign("node_bad", entry.occurred_at, text))
    return suspects.weigh(list(told.values()), trouble)


def _seats(job: Job, names: Iterable[str]) -> dict[str, Node]:
    """By the scheduler's name of a node, the seat that it is: schedulers call it by its name, its address or its instance."""
    found: dict[str, Node] = {}
    if not names:
        return {}
    for node in Node.objects.filter(cluster_id=job.cluster_id):
        for alias in (node.name, f"ip-{node.private_ip.replace('.', '-')}", node.instance_id, node.private_ip):
            if alias:
                found[alias] = node
    return {name: found[name.split(".")[0]] for name in names if name.split(".")[0] in found}


def _place(host: str, rank: int | None, names: list[str], world: int | None) -> str:
    """The node on which something happened: by its host, or by its rank where ranks fill one node after the other."""
    if host:
        return next((name for name in names if name.split(".")[0] == host.split(".")[0]), "")
    if rank is None or not world or world % len(names):
        return ""
    index = rank // (world // len(names))
    return names[index] if index < len(names) else ""


def _bad_news(nodes: Iterable[Node], trouble: datetime | None) -> list[Any]:
    ids = [node.pk for node in nodes]
    if trouble is None or not ids:
        return []
    rows = history(kinds=NODE_TROUBLE, after=trouble - suspects.NEAR, before=trouble + suspects.NEAR)
    return list(rows.filter(subject="node", subject_id__in=ids).order_by("occurred_at")[:200])


def measures(rows: Sequence[JobPoint]) -> list[forecast.Measure]:
    return [
        forecast.Measure(
            row.step,
            row.at,
            row.tokens_per_second,
            row.samples_per_second,
            row.consumed_tokens,
            row.consumed_samples,
            row.batch,
            row.mfu,
        )
        for row in sorted(rows, key=lambda row: (row.at, row.step))
    ]


def limits(job: Job) -> list[tuple[str, datetime]]:
    """What a run has to be done by: (which, when), the earliest first."""
    found: list[tuple[str, datetime]] = []
    if job.started_at and job.time_limit_minutes:
        found.append(("time_limit", job.started_at + timedelta(minutes=job.time_limit_minutes)))
    cluster = job.cluster
    held = Reservation.objects.exclude(state="wanted").filter(
        participation_id=cluster.participation_id, region=cluster.region, instance_type=cluster.main_type
    )
    if (ends := held.order_by("-ends_at").values_list("ends_at", flat=True).first()) is not None:
        found.append(("reservation", ends))
    cycle = cluster.participation.cycle
    for which, day in (("stage_gate", cycle.stage_gate_on), ("cycle", cycle.ends_on)):
        if day is not None:
            found.append((which, datetime(day.year, day.month, day.day, 23, 59, tzinfo=UTC)))
    return sorted(found, key=lambda pair: pair[1])


def tail(job: Job, after: int | None = None, most: int = TAIL_LINES) -> tuple[int, list[str]]:
    """The newest lines, at most `most`, with the number of the first of them; only those from number `after` on if given.
    Of a log that grew faster than it is asked for, what lies between is left out: the number tells."""
    lines: list[str] = []
    first = 0
    for row in JobOutput.objects.filter(job=job).order_by("-number")[:2]:
        lines, first = [*row.text.split("\n"), *lines], row.first_line
    begin = max(first, after or 0, first + len(lines) - most)
    return begin, lines[begin - first :]


def stretch(job: Job, number: int | None) -> JobOutput | None:
    """One stretch of a job's output; the newest without a number."""
    rows = JobOutput.objects.filter(job=job).order_by("-number")
    return (rows if number is None else rows.filter(number=number)).first()


def ends_of_output(job: Job) -> tuple[int, int] | None:
    """The numbers of the oldest and the newest stretch that are kept."""
    numbers = JobOutput.objects.filter(job=job).order_by("number").values_list("number", flat=True)
    found = list(numbers)
    return (found[0], found[-1]) if found else None
