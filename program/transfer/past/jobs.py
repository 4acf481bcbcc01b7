"""Imports the jobs that have ended, with what their schedulers said; the script of such a run is not known any more."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from clusters import states
from clusters.engine import names
from clusters.models import Cluster, Job, Revision
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.checks import JOB_LIVES
from program.transfer.past.rows import Past, imported, known
from program.transfer.programme_file import clusters
from program.transfer.words import JOB_ENDS
from tenants.history import timeline
from tenants.history.moves import move
from tenants.wall.acting import acting_for

NOT_SEEN = _("It came with a file. Nobody has seen it since.")


def load(past: Past, *, living: bool = False) -> tuple[int, list[str]]:
    """How many came in, and which wait for a cluster that is not there yet.

    `living`: also those that ran or waited there. Nobody has seen them here, and that is what is said of them.
    """
    told = (*JOB_ENDS, *JOB_LIVES) if living else tuple(JOB_ENDS)
    count, waiting = 0, []
    for participant in past.told["participants"]:
        rows = [row for row in past.of("jobs", participant["slug"]) if row["state"] in told]
        with acting_for(past.who.tenants[participant["slug"]], staff=True):
            there = known(states.JOB_WISHED)
            missing = [row for row in rows if row["id"] not in there]
            made = {cluster.name: cluster for cluster in Cluster.objects.exclude(state="deleted")} if missing else {}
            for row in missing:
                if row["cluster"] in made:
                    with one_action():
                        _job(past, row, made[row["cluster"]], past.of_team(participant["slug"], "contacts.ml"))
                    count += 1
                else:
                    waiting.append(row["id"])
    return count, waiting


def _job(past: Past, row: Row, cluster: Cluster, by: str) -> None:
    submitted = past.shift.moment(row["submitted_at"])
    job = Job(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        name=row["name"],
        nodes=row["nodes"],
        accelerators=row["nodes"] * _accelerators(past, row["cluster"]),
        configuration=Revision.objects.filter(cluster=cluster).order_by("number").values_list("number", flat=True)[0],
        launched_by=by,
        created_at=submitted,
        submitted_at=submitted,
        restarts=row.get("restarts", 0),
        checkpoint_step=row.get("step") if row.get("last_checkpoint_at") else None,
        checkpoint_at=past.shift.moment(row["last_checkpoint_at"]) if row.get("last_checkpoint_at") else None,
    )
    job.engine_name = names.job_name(settings.INSTALLATION_ID, job.pk, job.name)
    job.save(force_insert=True)
    told = {"name": job.name, **imported()}
    timeline.record(
        states.JOB_WISHED, about=job, by=by, at=submitted, nodes=job.nodes, **told | {"imported": row["id"]}
    )
    started = past.shift.moment(row["started_at"]) if row.get("started_at") else None
    if started or row["state"] == "running":
        move(job, "running", by="engine", at=started or submitted, columns={"started_at": started}, **told)
    if row["state"] in JOB_ENDS:
        _end(job, row, past.shift.moment(row["ended_at"]), by)
        return
    with override(None):
        why = str(NOT_SEEN)
    unknown = {"unknown_since": past.as_of, "unknown_reason": why, "reason": row.get("reason", "")}
    if row["state"] == "pending":
        move(job, "queued", by="engine", at=submitted, columns=unknown, **told)
    else:
        Job.objects.filter(pk=job.pk).update(**unknown)


def _end(job: Job, row: Row, ended: datetime, by: str) -> None:
    state, word = JOB_ENDS[row["state"]]
    code, reason = row.get("exit_code"), row.get("reason", "")
    columns = {
        "ended_at": ended,
        "observed_at": ended,
        "engine_state": word,
        "reason": reason,
        # A shell tells a signal as a negative code.
        "exit_code": code if code is not None and code >= 0 else 0 if state == "succeeded" else None,
        "signal": -code if code is not None and code < 0 else None,
    }
    why = reason or word
    if state == "cancelled":
        timeline.record(states.JOB_CANCEL, about=job, by=by, at=ended, name=job.name, why=why, **imported())
    move(job, state, by="engine", at=ended, columns=columns, name=job.name, why=why, **imported())


def _accelerators(past: Past, name: str) -> int:
    """Of one worker of a cluster of the file."""
    of_type = {row["name"]: row["accelerators"] for row in past.told["instance_types"]}
    cluster = next(cluster for _, _, cluster in clusters(past.told) if cluster["name"] == name)
    return max(of_type.get(group["instance_type"], 0) for group in cluster["instance_groups"])
