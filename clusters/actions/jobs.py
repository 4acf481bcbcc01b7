"""Writes about jobs: launch one, cancel one."""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import endings, states
from clusters.actions import changes, job_options, reporting, software
from clusters.budgets import actions as budgets
from clusters.engine import names, reaching
from clusters.jobs import deeds as job_deeds
from clusters.jobs import launching, manifest_files
from clusters.jobs import lint as job_lint
from clusters.jobs import scripts as job_scripts
from clusters.launchers import manifests
from clusters.models import Cluster, ContainerImage, Job, JobScriptVersion, Node, Quarantine, Revision
from tenants import participating
from tenants.history import timeline
from tenants.models import DataIngest
from tenants.web.problems import Refused
from tenants.work import due

LARGEST_SCRIPT = 1_000_000
INGEST = "data-ingest"  # the template that brings data in
LONGEST_MINUTES = 60 * 24 * 366
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def launch_job(
    *,
    cluster: Cluster,
    name: str,
    script: str,
    nodes: int,
    by: str,
    partition: str = "",
    time_limit_minutes: int | None = None,
    environment: dict[str, str] | None = None,
    on_behalf_of: str = "",
    accepted: bool = True,
    template: str = "",
    template_version: str = "",
    template_parameters: Mapping[str, Any] | None = None,
    script_version: JobScriptVersion | None = None,
    again_of: Job | None = None,
    **options: Any,
) -> Job:
    """Launch a job. It is handed to the scheduler by the engine, found again by its name, and never submitted twice.

    A script with an error is refused; one with warnings when they are not `accepted`."""
    cluster = changes.newest(cluster, None)
    participating.refuse_unless_permitted(cluster.participation, participating.JOBS)
    on_kubernetes = cluster.orchestrator == "hyperpod-eks"
    if on_kubernetes and manifest_files.is_manifest(script):
        nodes = manifests.pods(manifest_files.checked(script, reaching.on_kubernetes(cluster).namespace))
    seats = Node.objects.filter(cluster=cluster, role="compute").exclude(state="gone")
    away = Quarantine.objects.filter(cluster=cluster, lifted_at=None).values_list("node_id", flat=True)
    groups = list(seats.exclude(pk__in=away).values_list("group", "accelerators"))
    budgets.refuse_job_at_limit(cluster)
    partition = _checked_job(cluster, name, script, nodes, partition, time_limit_minutes, environment or {}, groups)
    chosen = job_options.checked(cluster, **options)
    chosen["run_version"] = again_of.run_version + 1 if again_of is not None else 1
    begins = max(chosen["begin_at"] or timezone.now(), timezone.now())
    endings.refuse_past_the_end(endings.of_cluster(cluster), partition, time_limit_minutes, begins)
    place = launching.place_of(cluster, partition)
    around = launching.around(cluster, place, nodes=nodes, minutes=time_limit_minutes, environment=environment or ())
    linted = job_lint.lint(script, around)
    job_scripts.refuse_errors(linted, accepted=accepted)
    if not accepted and template != INGEST:
        _refuse_before_the_data(cluster)
    image, digest = software.image_of(cluster, script)
    if on_kubernetes and not digest:
        image, digest = _image_for_a_pod(cluster, script)
    job = Job(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        name=name,
        script=script,
        nodes=nodes,
        partition=partition,
        time_limit_minutes=time_limit_minutes,
        environment=environment or {},
        image=image,
        image_digest=digest,
        template=template,
        template_version=template_version,
        template_parameters=dict(template_parameters or {}),
        processes_per_node=linted.facts.get("processes_per_node"),
        heals=linted.heals,
        script_version=script_version,
        again_of=again_of,
        accelerators=nodes * max((each for group, each in groups if group == partition), default=0),
        configuration=Revision.objects.filter(cluster=cluster).order_by("-number").values_list("number", flat=True)[0],
        launched_by=by,
        **chosen,
    )
    named = names.kubernetes_job_name if on_kubernetes else names.job_name
    job.engine_name = named(settings.INSTALLATION_ID, job.pk, name)
    token = reporting.new_token()
    job.environment = {**(environment or {}), **reporting.variables(job, cluster.tenant.slug, token)}
    job.environment_names = sorted(set(environment or {}) - {reporting.URL, reporting.TOKEN})  # ours are nobody's wish
    job.save(force_insert=True)
    reporting.open_door(job, token)
    timeline.record(states.JOB_WISHED, about=job, by=by, on_behalf_of=on_behalf_of, name=name, nodes=nodes)
    wish_for_jobs(cluster)
    return job


def _refuse_before_the_data(cluster: Cluster) -> None:
    """The first training job of a participation waits for its data, unless somebody says that it need not."""
    of = {"cluster__participation_id": cluster.participation_id, "purpose": Job.Purpose.TRAINING}
    if Job.objects.filter(**of).exclude(template=INGEST).exists():
        return
    late = DataIngest.objects.filter(participation_id=cluster.participation_id, ready_on=None)
    names = list(
        late.exclude(engine_state__in=DataIngest.CALLED_OFF).order_by("name").values_list("name", flat=True)[:5]
    )
    if names:
        raise Refused(
            "data_not_ready",
            _(
                "This would be the first training job, and data that the record names is not ready: %(names)s. "
                "Set its day of being ready in the record, or launch with the warnings."
            )
            % {"names": ", ".join(names)},
            status=422,
            field="accept",
        )


def _checked_job(
    cluster: Cluster,
    name: str,
    script: str,
    nodes: int,
    partition: str,
    minutes: int | None,
    environment: dict[str, str],
    groups: list[tuple[str, int]],
) -> str:
    """The partition it goes to. Raises Refused with a sentence for whatever does not fit."""
    changes.refuse_unless_possible(cluster, "launch")
    if not name.strip() or len(name) > 120 or not name.isprintable():
        raise Refused("job_name", _("A job's name has 1 to 120 printable characters."), status=422, field="name")
    if manifest_files.is_manifest(script) and cluster.orchestrator != "hyperpod-eks":
        raise Refused(
            "job_script", _("A script begins with '#!', for instance '#!/bin/bash'."), status=422, field="script"
        )
    if len(script) > LARGEST_SCRIPT or "\x00" in script:
        raise Refused(
            "job_script",
            _("A script has at most %(most)s characters, none of them NUL.") % {"most": LARGEST_SCRIPT},
            status=422,
            field="script",
        )
    if minutes is not None and not 1 <= minutes <= LONGEST_MINUTES:
        raise Refused(
            "job_minutes",
            _("The time limit is 1 to %(most)s minutes; you sent %(asked)s.")
            % {"most": LONGEST_MINUTES, "asked": minutes},
            status=422,
            field="time_limit_minutes",
        )
    for key, value in environment.items():
        if not ENVIRONMENT_NAME.fullmatch(key) or not isinstance(value, str) or "\x00" in value or "\n" in value:
            raise Refused(
                "job_environment",
                _("'%(key)s' is no name of an environment variable, or its value is not one line of text.")
                % {"key": key[:60]},
                status=422,
                field="environment",
            )
    return _partition(nodes, partition, [group for group, _ in groups])


def _image_for_a_pod(cluster: Cluster, script: str) -> tuple[str, str]:
    """A manifest names its own; a script runs in the first of the cluster's images. Raises Refused where it has none."""
    if manifest_files.is_manifest(script):
        return "", ""
    row = ContainerImage.objects.filter(cluster=cluster, until_revision=None).order_by("name").first()
    if row is None:
        raise Refused(
            "job_image",
            _(
                "On Kubernetes a script runs in an image, and the configuration of %(name)s names none. "
                "Add one to it by digest, or launch a manifest."
            )
            % {"name": cluster.name},
            status=422,
            field="script",
        )
    return row.name, row.digest


def _partition(nodes: int, partition: str, seats: list[str]) -> str:
    known = sorted(set(seats))
    if partition and partition not in known:
        raise Refused(
            "job_partition",
            _("There is no partition '%(asked)s'; there are: %(known)s.")
            % {"asked": partition[:63], "known": ", ".join(known)},
            status=422,
            field="partition",
        )
    chosen = partition or max(known, key=seats.count, default="")
    most = seats.count(chosen)
    if not 1 <= nodes <= most:
        raise Refused(
            "job_nodes",
            _("You asked for %(asked)s nodes; the partition %(partition)s has %(most)s that are not in quarantine.")
            % {"asked": nodes, "partition": chosen, "most": most},
            status=422,
            field="nodes",
            asked=nodes,
            allowed=most,
            unit="nodes",
        )
    return chosen


def cancel_job(*, job: Job, by: str, why: str = "") -> None:
    """Wish that it end. The wish is kept until the scheduler confirms it."""
    job = _locked(job)
    if job.cancel_wished_at is not None and job.state not in states.JOB_ENDS:
        return
    _unless_possible(job, "cancel")
    Job.objects.filter(pk=job.pk).update(cancel_wished_at=Now(), wish="", wished_at=None, version=F("version") + 1)
    timeline.record(states.JOB_CANCEL, about=job, by=by, name=job.name, why=why)
    wish_for_jobs(job.cluster)


def hold_job(*, job: Job, by: str, why: str = "") -> None:
    """Wish that it does not start until somebody lets it go."""
    _wish(job, "hold", states.JOB_HOLD, by, why)


def release_job(*, job: Job, by: str, why: str = "") -> None:
    """Wish that it may start. Whatever began it again too often before counts no longer."""
    participating.refuse_unless_permitted(job.cluster.participation, participating.JOBS)
    _wish(job, "release", states.JOB_RELEASE, by, why, restarts_forgiven=F("restarts"))


def requeue_job(*, job: Job, by: str, why: str = "") -> None:
    """Wish that it be begun again from its last checkpoint, as the same job at its scheduler."""
    participating.refuse_unless_permitted(job.cluster.participation, participating.JOBS)
    _wish(job, "requeue", states.JOB_REQUEUE, by, why, wish_restarts=F("restarts"))


def resubmit_job(*, job: Job, by: str, why: str = "", **changed: Any) -> Job:
    """Launch it again as the next version of the same run. `changed`: arguments of `launch_job` that differ."""
    job = _locked(job)
    _unless_possible(job, "resubmit")
    same = {
        "name": job.name,
        "script": job.script,
        "nodes": job.nodes,
        "partition": job.partition,
        "time_limit_minutes": job.time_limit_minutes,
        "environment": job.environment,
        "array": job.array,
        "restarts_an_hour": job.restarts_an_hour,
        "idle_minutes": job.idle_minutes,
        "idle_cancels": job.idle_cancels,
    }
    return launch_job(cluster=job.cluster, by=by, **(same | changed), again_of=job)


def _locked(job: Job) -> Job:
    return Job.objects.select_for_update(of=("self",)).select_related("cluster__account").get(pk=job.pk)


def _unless_possible(job: Job, deed: job_deeds.Deed) -> None:
    if refused := job_deeds.refusal(job_deeds.of(job), deed):
        raise refused


def _wish(job: Job, deed: job_deeds.Deed, kind: str, by: str, why: str, **columns: Any) -> None:
    job = _locked(job)
    _unless_possible(job, deed)
    Job.objects.filter(pk=job.pk).update(
        wish=deed, wished_at=Now(), wish_refused="", version=F("version") + 1, **columns
    )
    timeline.record(kind, about=job, by=by, name=job.name, why=why)
    wish_for_jobs(job.cluster)


def wish_for_jobs(cluster: Cluster) -> None:
    due.wish("jobs", cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane)
