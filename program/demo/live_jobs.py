"""Launches the file's running and waiting jobs as a person would, as soon as their cluster takes jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import yaml

from clusters import actions
from clusters.engine import reaching
from clusters.launchers import manifests
from clusters.models import Cluster, Job
from clusters.states import TAKES_JOBS
from program.transfer import programme_file
from program.transfer.dates import Row
from program.transfer.directory import Directory
from program.transfer.past.checks import JOB_LIVES
from tenants.models import Person, Tenant
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.loop import handler

WAITS = "demo_jobs"
LOOK_AGAIN = timedelta(seconds=15)
KEY = "PROGRAMME_JOB"  # in a job's environment: which job of the file it is, so that none is launched twice
STEPS = 200_000
# No registry has it: on the sandbox cloud nothing is pulled, and what a person would see is an image by its digest.
IMAGE = "{account}.dkr.ecr.{region}.amazonaws.com/training@sha256:" + "d3" * 32
SCRIPT = f"""#!/bin/bash
#SBATCH --exclusive
srun python train.py --train-iters {STEPS}
"""


def wish(told: Row, who: Directory) -> int:
    """Ask for the jobs of every cluster that is there and still lacks some. Returns for how many jobs."""
    count = 0
    for participant in told["participants"]:
        with acting_for(who.tenants[participant["slug"]], staff=True):
            for cluster in Cluster.objects.filter(wanted=True, orchestrator__in=TAKES_JOBS):
                missing = list(_missing(told, cluster, participant["slug"]))
                if missing:
                    due.wish(WAITS, cluster.pk, tenant=cluster.tenant_id)
                count += len(missing)
    return count


def _missing(told: Row, cluster: Cluster, slug: str) -> Iterator[Row]:
    launched = {job.environment.get(KEY) for job in Job.objects.filter(cluster=cluster)}
    for row in told.get("jobs", []):
        here = (row["participant"], row["cluster"]) == (slug, cluster.name)
        if here and row["state"] in JOB_LIVES and row["id"] not in launched:
            yield row


@handler(WAITS)
def launch_when_ready(held: due.Held) -> None:
    """The jobs of one cluster, in the file's order, so that those that wait there wait here too."""
    with acting_for(held.tenant_id, staff=True):
        cluster = (
            Cluster.objects.select_related("account")
            .select_for_update(of=("self",), no_key=True)
            .filter(pk=held.ref)
            .first()
        )
        if cluster is None or not cluster.wanted:
            due.remove(held)
            return
        if cluster.state != "ready":
            due.finish(held, again_in=LOOK_AGAIN)
            return
        told, tenant = programme_file.read(), Tenant.objects.get(pk=held.tenant_id)
        by = _engineer(told, tenant.slug)
        for row in _missing(told, cluster, tenant.slug):
            actions.launch_job(
                cluster=cluster,
                name=row["name"],
                script=_script(cluster, row),
                nodes=row["nodes"],
                by=by,
                environment={KEY: row["id"]},
            )
        due.remove(held)


def _script(cluster: Cluster, row: Row) -> str:
    """The script of a job; on Kubernetes the manifest that runs it."""
    if cluster.orchestrator != "hyperpod-eks":
        return SCRIPT
    place = manifests.Place(reaching.on_kubernetes(cluster).namespace, cluster.main_type)
    image = IMAGE.format(account=cluster.account.account_id, region=cluster.region)
    work = manifests.Work(name="training", image=image, nodes=row["nodes"], script=SCRIPT)
    return yaml.safe_dump(manifests.pytorch_job(place, work), sort_keys=False)


def _engineer(told: Row, slug: str) -> str:
    handle = next(row["team"]["contacts"]["ml"] for row in told["participants"] if row["slug"] == slug)
    email = next(row["email"] for row in told["people"] if row["handle"] == handle)
    return Person.objects.get(email__iexact=email).actor
