"""Writes of the clusters layer: what people wish. The engine makes it so; nothing here talks to a cloud."""

import re
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Sum
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import checking, locks, operating, states
from clusters.architectures.configuration import Configuration
from clusters.engine import names, turns
from clusters.models import (
    Bucket,
    CloudAccount,
    Cluster,
    Job,
    Node,
    Operation,
    Revision,
)
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import ApiToken, Participation, Person
from tenants.web.problems import Refused, rule_broken
from tenants.work import due

LARGEST_SCRIPT = 1_000_000
LONGEST_MINUTES = 60 * 24 * 366
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def request_cluster(
    *,
    participation: Participation,
    account: CloudAccount,
    name: str,
    body: Any,
    by: str,
    reason: str = "",
    on_behalf_of: str = "",
) -> Cluster:
    """Ask for a cluster. Raises Refused("preflight") with all findings, Refused("name_taken").

    Two requests at once wait for each other at the account, so that a quota is never promised twice.
    """
    account = CloudAccount.objects.select_for_update().get(pk=account.pk)
    checked = checking.check(account=account, name=name, body=body)
    wish = checking.refuse_unless_it_fits(checked)
    if not name:
        raise Refused("name_missing", _("Give the cluster a name."), status=422)
    cluster = _new_cluster(participation, account, name, wish, by)
    Revision.objects.create(
        tenant_id=cluster.tenant_id, cluster=cluster, number=1, body=wish.document(), author=by, reason=reason[:300]
    )
    if wish.storage.bucket:
        Bucket.objects.create(tenant_id=cluster.tenant_id, cluster=cluster, name=wish.storage.bucket)
    timeline.record(
        states.CLUSTER_WISHED,
        about=cluster,
        by=by,
        on_behalf_of=on_behalf_of,
        name=name,
        summary=summary(wish),
        revision=1,
    )
    operation = operating.hold_for_creation(cluster, by=by, reason=reason)
    if not operation.second_person:
        _approved(cluster, operation, by="engine")
    return cluster


def _new_cluster(
    participation: Participation, account: CloudAccount, name: str, wish: Configuration, by: str
) -> Cluster:
    try:
        with transaction.atomic():
            return Cluster.objects.create(
                tenant_id=participation.tenant_id,
                participation=participation,
                account=account,
                name=name,
                architecture=wish.architecture,
                architecture_version=wish.version,
                orchestrator=wish.made_of().label,
                region=wish.region,
                az_id=wish.az_id,
                requested_by=by,
                **operating.sizes(wish),
            )
    except IntegrityError as error:
        if rule_broken(error) != "cluster_name_per_tenant":
            raise
        raise Refused(
            "name_taken", _("You already have a cluster named '%(name)s'; choose another name.") % {"name": name}
        ) from None


def summary(wish: Configuration) -> str:
    """What was asked for in a few words, e.g. `20 × p5.48xlarge + 1 × m5.8xlarge in ap-northeast-1`."""
    counts = sorted(wish.counts().items(), key=lambda pair: -pair[1])
    return " + ".join(f"{count} × {kind}" for kind, count in counts) + f" in {wish.region}"


def approve_cluster(*, cluster: Cluster, person: Person, by: str, version: int | None = None, plan: str = "") -> None:
    """Agree to what somebody else asked for: a new cluster, or a change of one. `plan` is the digest that was looked at.

    Raises Refused: own_request, not_waiting, plan_changed, jobs_running.
    """
    cluster = operating.newest(cluster, version)
    operation = locks.held(cluster)
    if operation is None and cluster.state == "requested":  # asked for before operations were kept
        operation = operating.hold_for_creation(cluster, by=cluster.requested_by, reason="")
    if operation is None or operation.state != "waiting":
        if _asked_for(cluster, person):
            raise _own_request()
        raise Refused(
            "not_waiting", _("This cluster is not waiting for an approval; it is %(state)s.") % {"state": cluster.state}
        )
    operating.approve_operation(operation=operation, cluster=cluster, person=person, by=by, plan=plan)
    if operation.kind == Operation.Kind.CREATE:
        _approved(cluster, operation, by=by)
    else:
        operating.start_change(operation, cluster, operating.foresight.read_configuration(operation.body), by=by)


def _own_request() -> Refused:
    return Refused(
        "own_request", _("You asked for this cluster yourself; somebody else has to approve it."), status=403
    )


def _asked_for(cluster: Cluster, person: Person) -> bool:
    """Whether the person asked for it, also by a program with one of the own tokens."""
    word, _sep, pk = cluster.requested_by.partition(":")
    own_token = word == "token" and ApiToken.objects.filter(pk=pk, person=person).exists()
    return own_token or cluster.requested_by == person.actor


def _approved(cluster: Cluster, operation: Operation, *, by: str) -> None:
    move(cluster, "approved", by=by, columns={"approved_by": by, "approved_at": Now()}, name=cluster.name)
    locks.begin(operation, cluster, by=by, generation=cluster.generation)
    wish_for(cluster)


def retire_cluster(*, cluster: Cluster, by: str, why: str, version: int | None = None) -> None:
    """Wish that it be gone. The row stays until everything of it is seen gone. It overtakes whatever else is under way."""
    cluster = _newest(cluster, version)
    if not cluster.wanted or cluster.state == "deleted":
        raise Refused("already_retired", _("This cluster is already being deleted."))
    running = Job.objects.filter(cluster=cluster, state__in=states.JOB_LIVE, purpose=Job.Purpose.TRAINING).count()
    if running:
        sentence = ngettext(
            "%(n)s job is still running on it. Cancel it first.",
            "%(n)s jobs are still running on it. Cancel them first.",
            running,
        )
        raise Refused("jobs_running", sentence % {"n": running}, jobs=running)
    under_way = locks.held(cluster)
    if under_way is not None:
        locks.end(under_way, cluster, "cancelled", by=by, why=why)
    operation = operating.hold_for_deletion(cluster, by=by, reason=why)
    Cluster.objects.filter(pk=cluster.pk).update(wanted=False, generation=F("generation") + 1, version=F("version") + 1)
    timeline.record(states.CLUSTER_RETIRED, about=cluster, by=by, name=cluster.name, why=why)
    locks.begin(operation, cluster, by=by, generation=cluster.generation + 1)
    if cluster.state == "requested":
        move(cluster, "deleted", by=by, name=cluster.name)
        locks.end(operation, cluster, "done", by=by)
        return
    wish_for(cluster)


def stop_fleet(*, cluster: Cluster, by: str, why: str, version: int | None = None) -> None:
    """Wish that the instances of all queues end; the head node, the storage and the configuration stay."""
    cluster = _with_fleet(cluster, version)
    if cluster.fleet_wanted == "stopped":
        raise Refused("fleet_stopped", _("The compute fleet is stopped already, or about to be."))
    live = Job.objects.filter(cluster=cluster, state__in=states.JOB_LIVE)
    jobs, nodes = live.count(), live.aggregate(nodes=Sum("nodes"))["nodes"] or 0
    if jobs:
        sentence = ngettext(
            "%(n)s job that asks for %(nodes)s nodes has not ended. Cancel it first, or wait.",
            "%(n)s jobs that ask for %(nodes)s nodes in all have not ended. Cancel them first, or wait.",
            jobs,
        )
        raise Refused("jobs_running", sentence % {"n": jobs, "nodes": nodes}, jobs=jobs, nodes=nodes)
    _wish_fleet(cluster, "stopped")
    timeline.record(states.FLEET_STOP, about=cluster, by=by, name=cluster.name, why=why)


def start_fleet(*, cluster: Cluster, by: str, why: str = "", version: int | None = None) -> None:
    """Wish that the instances of all queues come; afterwards the cluster is proven again."""
    cluster = _with_fleet(cluster, version)
    if cluster.fleet_wanted == "running" and cluster.fleet in {
        "",
        *states.FLEET["running"][0],
        *states.FLEET["running"][1],
    }:
        raise Refused("fleet_running", _("The compute fleet runs already, or is about to."))
    _wish_fleet(cluster, "running")
    timeline.record(states.FLEET_START, about=cluster, by=by, name=cluster.name, why=why)


def _with_fleet(cluster: Cluster, version: int | None) -> Cluster:
    cluster = _newest(cluster, version)
    if cluster.orchestrator != "parallelcluster":
        raise Refused(
            "no_fleet",
            _("Only a ParallelCluster has a compute fleet to start and stop; this one runs %(what)s.")
            % {"what": cluster.orchestrator},
        )
    if not cluster.wanted or cluster.state not in ("ready", "degraded", "updating"):
        raise Refused(
            "not_ready",
            _("The cluster %(name)s is %(state)s; its compute fleet can be started and stopped when it is ready.")
            % {"name": cluster.name, "state": "deleting" if not cluster.wanted else cluster.state},
        )
    locks.refuse_while_held(cluster)
    locks.refuse_while_held(cluster)
    return cluster


def _wish_fleet(cluster: Cluster, wanted: str) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(
        fleet_wanted=wanted, generation=F("generation") + 1, needs_person="", version=F("version") + 1
    )
    wish_for(cluster)


def retry_cluster(*, cluster: Cluster, by: str, why: str = "", version: int | None = None) -> None:
    """Try again: a new generation of the same wish, held by an operation of its own; the failed one stays as it ended."""
    cluster = _newest(cluster, version)
    if cluster.state in ("requested", "deleted"):
        raise Refused(
            "nothing_to_retry", _("There is nothing to try again while it is %(state)s.") % {"state": cluster.state}
        )
    operating.try_again(cluster, by=by, why=why)
    timeline.record(states.CLUSTER_RETRIED, about=cluster, by=by, name=cluster.name, why=why)
    wish_for(cluster)


def wish_for(cluster: Cluster) -> None:
    """Ask the engine to look at this cluster, in the transaction of the change."""
    turns.wish(cluster)


_newest = operating.newest


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
) -> Job:
    """Launch a job. It is handed to the scheduler by the engine, found again by its name, and never submitted twice."""
    cluster = _newest(cluster, None)
    seats = Node.objects.filter(cluster=cluster, role="compute").exclude(state="gone")
    groups = list(seats.values_list("group", "accelerators"))
    partition = _checked_job(cluster, name, script, nodes, partition, time_limit_minutes, environment or {}, groups)
    job = Job(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        name=name,
        script=script.replace("\r\n", "\n"),
        nodes=nodes,
        partition=partition,
        time_limit_minutes=time_limit_minutes,
        environment=environment or {},
        accelerators=nodes * max((each for group, each in groups if group == partition), default=0),
        configuration=Revision.objects.filter(cluster=cluster).order_by("-number").values_list("number", flat=True)[0],
        launched_by=by,
    )
    job.engine_name = names.job_name(settings.INSTALLATION_ID, job.pk, name)
    job.save(force_insert=True)
    timeline.record(states.JOB_WISHED, about=job, by=by, on_behalf_of=on_behalf_of, name=name, nodes=nodes)
    wish_for_jobs(cluster)
    return job


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
    if cluster.orchestrator not in states.TAKES_JOBS:
        raise Refused(
            "no_launcher",
            _("Jobs can be launched on Slurm clusters; this one runs %(what)s.") % {"what": cluster.orchestrator},
        )
    if not cluster.wanted:
        raise Refused(
            "not_ready",
            _("The cluster %(name)s is being deleted; no job can be launched on it.") % {"name": cluster.name},
        )
    if cluster.state not in ("ready", "degraded", "updating"):
        raise Refused(
            "not_ready",
            _("The cluster %(name)s is %(state)s; jobs can be launched when it is ready.")
            % {"name": cluster.name, "state": cluster.state},
        )
    if cluster.fleet_wanted == "stopped" or cluster.fleet in states.FLEET["stopped"][0] | states.FLEET["stopped"][1]:
        raise Refused(
            "fleet_stopped",
            _("The compute fleet of %(name)s is stopped; start it, and launch the job when it is ready.")
            % {"name": cluster.name},
        )
    if not name.strip() or len(name) > 120 or not name.isprintable():
        raise Refused("job_name", _("A job's name has 1 to 120 printable characters."), status=422, field="name")
    if not script.startswith("#!"):
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
            _("You asked for %(asked)s nodes; the partition %(partition)s has %(most)s.")
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
    job = Job.objects.select_for_update(of=("self",)).select_related("cluster__account").get(pk=job.pk)
    if job.state in states.JOB_ENDS:
        raise Refused("job_ended", _("This job has already ended: it is %(state)s.") % {"state": job.state})
    if job.cancel_wished_at is not None:
        return
    Job.objects.filter(pk=job.pk).update(cancel_wished_at=Now(), version=F("version") + 1)
    timeline.record(states.JOB_CANCEL, about=job, by=by, name=job.name, why=why)
    wish_for_jobs(job.cluster)


def wish_for_jobs(cluster: Cluster) -> None:
    due.wish("jobs", cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane)
