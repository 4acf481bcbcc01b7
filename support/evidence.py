"""What is frozen into a case when it opens: the facts as they were, so that later changes cannot blur them."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from clusters.models import Alert, Cluster, ExternalObject, Job, Node, Revision, UsageDispute
from support.rules import failure_of, key_of
from tenants.history.models import Entry

LINES = 200


@dataclass(frozen=True)
class Found:
    """What a rule needs to know about an entry: facts that fill it, frozen evidence, the log's last lines."""

    cluster: Cluster | None
    facts: dict[str, str]
    evidence: dict[str, Any]
    job: Job | None = None
    log: str = ""
    category: str = ""
    severity: str = ""


def of_job(entry: Entry) -> Found | None:
    """A failed job with its nodes, exit, scheduler's words, last log lines and the configuration it ran on."""
    job = Job.objects.select_related("cluster").filter(pk=entry.subject_id).first()
    if job is None:
        return None
    log = "\n".join(job.log_tail.splitlines()[-LINES:])
    failure = failure_of(
        engine_state=job.engine_state, reason=job.reason, exit_code=job.exit_code, signal=job.signal, log=log
    )
    key = key_of(job.name)
    code = failure.code if failure else f"exit-{job.exit_code}-{job.signal or 0}"
    return Found(
        cluster=job.cluster,
        job=job,
        log=log,
        category=failure.category if failure else "",
        facts={
            "job": job.name,
            "job_key": key,
            "what": str(failure.words) if failure else _exit_words(job),
            "failure": code if failure and failure.wide else f"{key}/{code}",
        },
        evidence={
            "entry": entry.pk,
            "job": {
                "id": str(job.pk),
                "name": job.name,
                "external_id": job.external_id,
                "state": entry.kind.partition(".")[2],
            },
            "nodes": job.node_names,
            "exit_code": job.exit_code,
            "signal": job.signal,
            "reason": job.reason,
            "engine_state": job.engine_state,
            "restarts": job.restarts,
            "started_at": _iso(job.started_at),
            "ended_at": _iso(job.ended_at),
            "lost_hours": None if job.lost_hours is None else f"{job.lost_hours:f}",
            "log": log if log or job.log_read_at else None,  # None: the last lines could not be read
            "cluster": _cluster(job.cluster),
            "configuration": _configuration(job.cluster, job.configuration),
        },
    )


OPENS_A_CASE = frozenset({"critical", "urgent", "high"})
# What the name of a rule speaks of.
ABOUT = {"Gpu": "gpu", "Efa": "efa", "Neuron": "neuron", "Lustre": "storage"}


def of_alert(entry: Entry) -> Found | None:
    """An alert that somebody should look at now, with its labels as they came; None for one that can wait."""
    alert = Alert.objects.select_related("cluster").filter(pk=entry.subject_id).first()
    if alert is None or alert.severity not in OPENS_A_CASE:
        return None
    return Found(
        cluster=alert.cluster,
        category=next((category for word, category in ABOUT.items() if alert.name.startswith(word)), ""),
        severity=alert.severity,
        facts={"name": alert.name, "cluster_name": alert.cluster.name, "summary": alert.summary or alert.node},
        evidence={
            "entry": entry.pk,
            "alert": {
                "id": str(alert.pk),
                "name": alert.name,
                "node": alert.node,
                "summary": alert.summary,
                "fingerprint": alert.fingerprint,
                "starts_at": _iso(alert.starts_at),
                "labels": alert.labels,
            },
            "cluster": _cluster(alert.cluster),
        },
    )


def of_dispute(entry: Entry) -> Found | None:
    """Hours that a participant says are counted wrong, with the numbers as they were shown."""
    dispute = UsageDispute.objects.select_related("cluster").filter(pk=entry.subject_id).first()
    if dispute is None:
        return None
    facts = {name: str(value) for name, value in entry.facts.items()}
    return Found(
        cluster=dispute.cluster,
        facts=facts,
        evidence={"entry": entry.pk, "cluster": _cluster(dispute.cluster), "usage": facts},
    )


def of_cluster(entry: Entry) -> Found | None:
    """A broken cluster with what is not as it should be: its parts, its nodes, its conditions."""
    cluster = Cluster.objects.filter(pk=entry.cluster).first()
    if cluster is None:
        return None
    parts = ExternalObject.objects.filter(cluster=cluster).order_by("position")
    nodes = Node.objects.filter(cluster=cluster).exclude(state="running").order_by("name")[:LINES]
    latest = Revision.objects.filter(cluster=cluster).order_by("-number").first()
    return Found(
        cluster=cluster,
        facts={
            "name": cluster.name,
            "why": str(entry.facts.get("why") or _("no reason given")),
            "part": str(entry.facts.get("part", "")),
        },
        evidence={
            "entry": entry.pk,
            "reason": entry.facts.get("why", ""),
            "cluster": _cluster(cluster),
            "conditions": cluster.conditions,
            "parts": [
                {"name": p.name, "kind": p.kind, "state": p.state, "status": p.status, "reason": p.reason}
                for p in parts
            ],
            "nodes": [{"name": n.name, "state": n.state, "status": n.engine_status, "reason": n.reason} for n in nodes],
            "configuration": {"number": latest.number, "body": latest.body} if latest else None,
        },
    )


def of_facts(entry: Entry) -> Found:
    """What is told of a participation or an account and of no cluster of ours: the entry says it all."""
    facts = {name: str(value) for name, value in entry.facts.items()}
    return Found(cluster=None, facts=facts, evidence={"entry": entry.pk, **facts})


def _exit_words(job: Job) -> str:
    if job.signal:
        return _("ended by signal %(signal)s") % {"signal": job.signal}
    if job.exit_code is not None:
        return _("exit code %(code)s") % {"code": job.exit_code}
    return job.reason or job.engine_state or _("no reason given")


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "id": str(cluster.pk),
        "name": cluster.name,
        "region": cluster.region,
        "az_id": cluster.az_id,
        "architecture": f"{cluster.architecture} {cluster.architecture_version}",
        "state": cluster.state,
        "status": cluster.observed_status,
    }


def _configuration(cluster: Cluster, number: int) -> dict[str, Any] | None:
    revision = Revision.objects.filter(cluster=cluster, number=number).first()
    return {"number": number, "body": revision.body} if revision else None


def _iso(moment: Any) -> str | None:
    return moment.isoformat() if moment else None
