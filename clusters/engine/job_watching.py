"""What a job's output tells, written down: the output itself, steps, checkpoints, ranks, faults, stalls.

All of it happens in the transaction that finishes the engine's step, so a stretch of output is taken once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from clusters import measured_software, states
from clusters.engine.facts import ENGINE
from clusters.jobs.logs import cleaning, stalls, thinning, timeouts
from clusters.jobs.logs.joining import unseen
from clusters.jobs.logs.reading import Carry, Heard, Line, Point, Read, Saved, read
from clusters.launchers.log_pages import LogPage, gap
from clusters.models import Job, JobFault, JobOutput, JobPoint, JobProgress, JobRank
from tenants.history import timeline

STRETCH = 64_000  # characters of one stretch of output
KEPT = 4_000_000  # characters that are kept of one job
TAIL = 64_000  # characters that the job itself carries: evidence for cases
MOST_POINTS, THINNED = 2_000, 1_000
MOST_FAULTS = 200
COLUMNS = (
    "loss",
    "tokens_per_second",
    "samples_per_second",
    "tflops",
    "mfu",
    "learning_rate",
    "grad_norm",
    "step_seconds",
    "batch",
    "consumed_tokens",
    "consumed_samples",
)


@dataclass(frozen=True)
class Output:
    """A page of a log, cleaned and read, before it is written down."""

    lines: tuple[str, ...]
    read: Read
    position: str
    more: bool = False  # there was more than one step reads


def understood(page: LogPage, progress: JobProgress | None, tail: str, now: datetime) -> Output:
    """Read a page; `tail` is the end of what is kept already. Touches no table."""
    texts: Sequence[tuple[datetime | None, str]] = page.lines
    if not page.joined:
        fresh, whole = unseen(tail.split("\n") if tail else [], [cleaning.shown(text) for _, text in page.lines])
        texts = page.lines[len(page.lines) - len(fresh) :] if fresh else ()
        if not whole:
            texts = (gap("more was written than is kept where it was read"), *texts)
    # What is dated in the future was written by a clock that is ahead.
    lines = [Line(min(at or now, now), text) for at, text in texts]
    carry = Carry.of(progress.carry if progress else {})
    return Output(tuple(cleaning.shown(line.text) for line in lines), read(lines, carry), page.position)


def progress_of(job: Job) -> JobProgress:
    """The row of a job, made when there is none; locked."""
    row, _made = JobProgress.objects.get_or_create(tenant_id=job.tenant_id, job=job)
    return JobProgress.objects.select_for_update().get(pk=row.pk)


def take(job: Job, output: Output, attempt: int) -> dict[str, Any]:
    """Write down what a stretch of output tells; answers the columns of the job that follow from it."""
    progress = progress_of(job)
    told = output.read
    changed: dict[str, Any] = {"log_position": output.position, "carry": told.carry.kept()}
    columns: dict[str, Any] = {"log_read_at": timezone.now()}
    if output.lines:
        changed["log_lines"] = _keep_output(job, progress, output.lines, told.last_at or timezone.now())
        columns["log_tail"] = "\n".join([*([job.log_tail] if job.log_tail else []), *output.lines])[-TAIL:]
        changed["last_line_at"] = told.last_at
    changed |= {
        name: value
        for name, value in (
            ("log_format", told.format[:40]),
            ("total_steps", told.total_steps),
            ("world", told.world),
            ("timeout_seconds", told.timeout_seconds),
        )
        if value
    }
    changed |= keep_points(job, progress, told.points, attempt, "log")
    columns |= keep_checkpoint(job, progress, told.saved, changed)
    keep_resume(progress, told.resumed, attempt, changed)
    keep_ranks(job, told.ranks, attempt, "log")
    _keep_faults(job, told, attempt)
    measured_software.keep_of_job(job, told.versions)
    write_progress(progress, changed)
    return columns


def write_progress(progress: JobProgress, changed: dict[str, Any]) -> None:
    """Write the changed columns, and what follows from them: whether a restore was really drilled."""
    now = {name: changed.get(name, getattr(progress, name)) for name in ("step", "resumed_step", "resumed_attempt")}
    if now["resumed_step"] is not None and progress.drilled_at is None and (now["step"] or 0) > now["resumed_step"]:
        changed["drilled_at"] = changed.get("step_at") or timezone.now()
    JobProgress.objects.filter(pk=progress.pk).update(**changed)
    for name, value in changed.items():
        setattr(progress, name, value)


def _keep_output(job: Job, progress: JobProgress, lines: tuple[str, ...], until: datetime) -> int:
    """Append to the newest stretch, begin others, let the oldest go. Answers the number of the next line."""
    newest = JobOutput.objects.filter(job=job).order_by("-number").first()
    number, next_line = (newest.number if newest else 0), progress.log_lines
    pending: list[str] = []
    size = newest.size if newest else 0
    for line in lines:
        if size + len(line) + 1 > STRETCH and (pending or newest):
            newest, number, next_line = _put(job, newest, number, next_line, pending, until)
            newest, pending, size = None, [], 0
        pending.append(line)
        size += len(line) + 1
    _newest, _number, next_line = _put(job, newest, number, next_line, pending, until)
    _let_go(job)
    return next_line


def _put(
    job: Job, newest: JobOutput | None, number: int, next_line: int, pending: list[str], until: datetime
) -> tuple[JobOutput | None, int, int]:
    if not pending:
        return newest, number, next_line
    text = "\n".join(pending)
    if newest is not None:
        joined = f"{newest.text}\n{text}"
        JobOutput.objects.filter(pk=newest.pk).update(
            text=joined, size=len(joined), lines=newest.lines + len(pending), until=until
        )
        return newest, number, next_line + len(pending)
    row = JobOutput.objects.create(
        tenant_id=job.tenant_id,
        job=job,
        number=number + 1,
        first_line=next_line,
        lines=len(pending),
        size=len(text),
        text=text,
        until=until,
    )
    return row, number + 1, next_line + len(pending)


def _let_go(job: Job) -> None:
    kept = 0
    for number, size in JobOutput.objects.filter(job=job).order_by("-number").values_list("number", "size"):
        kept += size
        if kept > KEPT:
            JobOutput.objects.filter(job=job, number__lt=number + 1).delete()
            return


def keep_points(job: Job, progress: JobProgress, points: Iterable[Point], attempt: int, source: str) -> dict[str, Any]:
    """Merge points into the job's, each (run, step) once; answers what changes of the progress."""
    told = {point.step: point for point in points}
    if not told:
        return {}
    known = {row.step: row for row in JobPoint.objects.filter(job=job, attempt=attempt, step__in=list(told))}
    rows = [_row(job, known.get(step), point, attempt, source) for step, point in told.items()]
    JobPoint.objects.bulk_create(
        rows,
        batch_size=1_000,
        update_conflicts=True,
        unique_fields=["tenant", "job", "attempt", "step"],
        update_fields=["at", "source", "loss_word", *COLUMNS],
    )
    _thin(job)
    newest = max(told.values(), key=lambda point: (point.at, point.step))
    changed: dict[str, Any] = {}
    if progress.step_at is None or newest.at >= progress.step_at:
        changed = {"step": newest.step, "step_at": newest.at}
    odd = max((point for point in told.values() if point.loss_word), key=lambda point: point.at, default=None)
    if odd is not None:
        changed |= {"loss_word": odd.loss_word, "loss_word_step": odd.step}
    return changed


def _row(job: Job, known: JobPoint | None, point: Point, attempt: int, source: str) -> JobPoint:
    values = {name: point.values.get(name) for name in COLUMNS}
    each = point.values.get("tokens_per_accelerator")
    if values["tokens_per_second"] is None and each is not None and job.accelerators:
        values["tokens_per_second"] = each * job.accelerators
    if known is not None:
        values = {name: value if value is not None else getattr(known, name) for name, value in values.items()}
    word = point.loss_word or (known.loss_word if known is not None and "loss" not in point.values else "")
    if word:
        values["loss"] = None
    return JobPoint(
        tenant_id=job.tenant_id,
        job=job,
        attempt=attempt,
        step=point.step,
        at=point.at,
        source=source,
        loss_word=word,
        **values,
    )


def _thin(job: Job) -> None:
    if JobPoint.objects.filter(job=job).count() <= MOST_POINTS:
        return
    rows = list(JobPoint.objects.filter(job=job).order_by("attempt", "step").only("pk", "loss", "loss_word"))
    kept = thinning.thin(rows, THINNED, lambda row: row.loss, lambda row: bool(row.loss_word))
    JobPoint.objects.filter(job=job).exclude(pk__in=[row.pk for row in kept]).delete()


def keep_checkpoint(job: Job, progress: JobProgress, saved: Saved | None, changed: dict[str, Any]) -> dict[str, Any]:
    """The columns of the job for its newest complete checkpoint; an older one tells nothing new."""
    if saved is None or saved.step is None:
        return {}
    if job.checkpoint_at is not None and saved.at <= job.checkpoint_at:
        return {}
    changed["checkpoint_path"] = saved.path[:500]
    return {"checkpoint_step": saved.step, "checkpoint_at": saved.at}


def keep_resume(progress: JobProgress, resumed: Saved | None, attempt: int, changed: dict[str, Any]) -> None:
    if resumed is None or resumed.step is None:
        return
    if progress.resumed_at is None or resumed.at > progress.resumed_at:
        changed |= {"resumed_step": resumed.step, "resumed_at": resumed.at, "resumed_attempt": attempt}


def keep_ranks(job: Job, ranks: dict[int, Heard], attempt: int, source: str) -> None:
    rows = [
        JobRank(
            tenant_id=job.tenant_id, job=job, rank=rank, host=heard.host[:120], attempt=attempt, heard_at=heard.at,
            text=heard.text, source=source,
        )
        for rank, heard in ranks.items()
        if rank < 100_000
    ]  # fmt: skip
    JobRank.objects.bulk_create(
        rows,
        batch_size=1_000,
        update_conflicts=True,
        unique_fields=["tenant", "job", "rank"],
        update_fields=["host", "attempt", "heard_at", "text", "source"],
    )


def _keep_faults(job: Job, told: Read, attempt: int) -> None:
    if not told.faults:
        return
    room = MOST_FAULTS - JobFault.objects.filter(job=job).count()
    if room <= 0:  # the first say more than the last: what follows a fault are its echoes
        return
    JobFault.objects.bulk_create(
        JobFault(
            tenant_id=job.tenant_id, job=job, attempt=attempt, at=at + timedelta(microseconds=order), fault_kind=fault.kind, rank=fault.rank,
            host=fault.host[:120], xid=fault.xid, text=fault.text,
        )
        for order, (at, fault) in enumerate(told.faults[:room])  # lines of one moment keep their order
    )  # fmt: skip


def watch_silence(job: Job, state: str, read_at: datetime | None) -> None:
    """Tell the history when a running job falls silent for longer than its communicator waits, and when it speaks again."""
    progress = JobProgress.objects.filter(job=job).filter(~Q(last_line_at=None)).first()
    if progress is None:
        return
    in_use = timeouts.in_use(job.script, progress.log_format, progress.timeout_seconds)
    found = stalls.silence(state == "running", progress.last_line_at, read_at, in_use.seconds)
    if found.word == "stalled" and progress.stalled_since is None:
        JobProgress.objects.filter(pk=progress.pk).update(stalled_since=found.since)
        timeline.record(
            states.JOB_STALLED, about=job, by=ENGINE, name=job.name, minutes=round(in_use.seconds / 60), since=found.since.isoformat() if found.since else "",
        )  # fmt: skip
    elif progress.stalled_since is not None and found.word != "stalled":
        JobProgress.objects.filter(pk=progress.pk).update(stalled_since=None)
        minutes = round((timezone.now() - progress.stalled_since).total_seconds() / 60)
        timeline.record(states.JOB_SPEAKS, about=job, by=ENGINE, name=job.name, minutes=minutes)
