"""Writes about the agent on a head node: its token, how its cluster is reached, its orders, and all that it tells."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Max
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from clusters import agent_reports, measured_software, states
from clusters.actions import changes
from clusters.actions.jobs import wish_for_jobs
from clusters.launchers.slurm_dialects import gpus, hosts
from clusters.models import AgentLog, AgentOrder, AgentRun, Cluster, HeadNodeAgent, Job
from tenants.history import timeline
from tenants.web.problems import Refused
from tenants.work import due

BYTES = 32
OVERLAP = timedelta(
    days=1
)  # for so long the token before is good too: the head node has it until it fetches the new one
SILENT = timedelta(seconds=90)  # who has not spoken for so long was away
DELIVERY = "agent_token"
# Whoever comes later finds a job in another state: it is looked at again before it is asked again.
STALE_ORDER = timedelta(minutes=10)
ORDERS_A_PULL, ORDERS_BYTES = 20, 3_000_000
LOG_KEPT, LOGS_KEPT = 256_000, 1_000
ORDERS_KEPT = timedelta(days=30)


def choose_reach(*, cluster: Cluster, reach: str, by: str, version: int | None = None) -> None:
    """Say how the cluster's scheduler is reached. The agent gets its token with the first choice of it."""
    cluster = changes.newest(cluster, version)
    if cluster.orchestrator not in states.TAKES_JOBS or not cluster.wanted:
        raise Refused(
            "no_agent", _("%(name)s has no Slurm whose head node could run the agent.") % {"name": cluster.name}
        )
    if reach == cluster.reach:
        return
    Cluster.objects.filter(pk=cluster.pk).update(reach=reach, version=F("version") + 1)
    with override(None):  # the history keeps our own word, and each reader's language is put in when it is read
        how = str(Cluster.Reach(reach).label)
    timeline.record(states.REACH_CHANGED, about=cluster, by=by, name=cluster.name, how=how)
    agent = HeadNodeAgent.objects.filter(cluster=cluster).first()
    if reach == Cluster.Reach.AGENT and (agent is None or agent.revoked_at is not None):
        _give_token(cluster, agent, by=by)
    wish_for_jobs(cluster)


def equip(cluster: Cluster, *, by: str) -> None:
    """A new cluster that is to be reached by its agent gets its token before its head node comes."""
    if cluster.reach == Cluster.Reach.AGENT and not HeadNodeAgent.objects.filter(cluster=cluster).exists():
        _give_token(cluster, None, by=by)


def renew_token(*, cluster: Cluster, by: str, version: int | None = None) -> None:
    """Another token for the agent. The engine brings it into the account; the head node fetches it when the old one fails."""
    cluster = changes.newest(cluster, version)
    agent = HeadNodeAgent.objects.select_for_update().filter(cluster=cluster).first()
    if agent is None or not cluster.wanted:
        raise Refused("no_agent", _("%(name)s is not reached by an agent.") % {"name": cluster.name})
    _give_token(cluster, agent, by=by)
    timeline.record(states.AGENT_TOKEN, about=agent, by=by, cluster_name=cluster.name)


def _give_token(cluster: Cluster, agent: HeadNodeAgent | None, *, by: str) -> None:
    token = secrets.token_urlsafe(BYTES)
    columns: dict[str, Any] = {
        "digest": _digest(token),
        "undelivered": token,
        "made_by": by,
        "made_at": Now(),
        "delivered_at": None,
        "revoked_at": None,
    }
    if agent is None:
        HeadNodeAgent.objects.create(tenant_id=cluster.tenant_id, cluster=cluster, **columns)
    else:
        before = {} if agent.revoked_at else {"before_digest": agent.digest, "before_until": timezone.now() + OVERLAP}
        HeadNodeAgent.objects.filter(pk=agent.pk).update(**columns, **before)
    due.wish(DELIVERY, cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane)


def revoke(cluster: Cluster, *, why: str, by: str) -> None:
    """Nothing opens any more: the cluster goes, or somebody says so."""
    agent = HeadNodeAgent.objects.filter(cluster=cluster, revoked_at=None).first()
    if agent is not None:
        HeadNodeAgent.objects.filter(pk=agent.pk).update(
            digest="", before_digest="", before_until=None, undelivered="", revoked_at=Now()
        )
        timeline.record(states.AGENT_REVOKED, about=agent, by=by, cluster_name=cluster.name, why=why)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def opens(agent: HeadNodeAgent, token: str) -> bool:
    """Whether this token is the agent's, or was until lately."""
    good = [agent.digest]
    if agent.before_digest and agent.before_until and agent.before_until > timezone.now():
        good.append(agent.before_digest)
    shown = _digest(token)
    return agent.revoked_at is None and any(hmac.compare_digest(each, shown) for each in good if each)


def order(*, tenant: Any, cluster: Any, kind: str, key: str, target: str, arguments: Mapping[str, Any]) -> AgentOrder:
    """The order of this key; given now when there was none. Orders of a cluster are done in their order."""
    found = AgentOrder.objects.filter(cluster=cluster, key=key).first()
    if found is not None:
        return found
    HeadNodeAgent.objects.select_for_update().filter(cluster=cluster).first()  # one number at a time
    AgentOrder.objects.filter(cluster=cluster, answered_at__lt=timezone.now() - ORDERS_KEPT).delete()
    last = AgentOrder.objects.filter(cluster=cluster).aggregate(last=Max("number"))["last"] or 0
    made, _new = AgentOrder.objects.get_or_create(
        tenant_id=tenant,
        cluster_id=cluster,
        key=key,
        defaults={"kind": kind, "target": target, "number": last + 1, "arguments": json.dumps(arguments)},
    )
    return made


def heard(agent: HeadNodeAgent, hello: agent_reports.Hello, cluster: Cluster) -> None:
    """Somebody with the cluster's token spoke."""
    now = timezone.now()
    silent = agent.last_seen_at is None or agent.last_seen_at < now - SILENT
    if not silent and agent.identity != hello.identity:
        raise Refused(
            "another_agent",
            _("Another head node speaks for this cluster; you may when it has been silent for %(n)s seconds.")
            % {"n": SILENT.seconds},
            status=409,
        )
    away = silent or agent.boot != hello.boot
    columns: dict[str, Any] = {
        "last_seen_at": now,
        "agent_version": hello.version,
        "boot": hello.boot,
        "identity": hello.identity,
        "host": hello.host,
        "username": hello.user,
    }
    if away or agent.connected_at is None:
        columns["connected_at"] = now
        facts = {"cluster_name": cluster.name, "version": hello.version, "host": hello.host or "?"}
        timeline.record(states.AGENT_SEEN, about=agent, by="provider:agent", source="provider", **facts)
    HeadNodeAgent.objects.filter(pk=agent.pk).update(**columns)


def hand_out(cluster: Cluster, identity: str) -> list[dict[str, Any]]:
    """What the agent is to do now, oldest first: also what it took before and never answered."""
    found: list[dict[str, Any]] = []
    size = 0
    rows = AgentOrder.objects.select_for_update().filter(cluster=cluster, answered_at=None).order_by("number")
    for row in rows[:ORDERS_A_PULL]:
        why = _no_longer(row)
        if why:
            _answered(row, cluster, went_well=False, told=why)
            continue
        size += len(row.arguments)
        if found and size > ORDERS_BYTES:
            break
        again = row.taken_at is not None and row.taken_by != identity
        found.append({"id": str(row.pk), "kind": row.kind, "again": again, "arguments": json.loads(row.arguments)})
    # Whoever had it first stays its taker: everybody else looks the job up before it is done.
    given = AgentOrder.objects.filter(pk__in=[each["id"] for each in found], taken_at=None)
    given.update(taken_at=Now(), taken_by=identity)
    return found


def _no_longer(row: AgentOrder) -> str:
    """Why an order that nobody has begun is not carried out any more."""
    if row.taken_at is not None:
        return ""
    if row.kind == AgentOrder.Kind.SUBMIT:
        job = Job.objects.filter(cluster_id=row.cluster_id, engine_name=row.target).first()
        if job is not None and (job.state in states.JOB_ENDS or job.cancel_wished_at is not None):
            return "Cancelled before the head node fetched it."
    elif row.kind != AgentOrder.Kind.CANCEL and row.created_at < timezone.now() - STALE_ORDER:
        return "The head node did not fetch it within ten minutes."
    return ""


def take_answer(cluster: Cluster, answer: agent_reports.Answer) -> bool:
    """False: there is no such order here. The same answer again changes nothing."""
    row = AgentOrder.objects.select_for_update().filter(cluster=cluster, pk=answer.order).first()
    if row is None:
        return False
    if row.answered_at is None:
        if answer.went_well and row.kind == AgentOrder.Kind.SUBMIT and not answer.job:
            raise Refused(
                "bad_report", _("A job that was submitted has an id; send it as job."), status=422, field="job"
            )
        _answered(row, cluster, went_well=answer.went_well, told=answer.told, job=answer.job)
    return True


def _answered(row: AgentOrder, cluster: Cluster, *, went_well: bool, told: str = "", job: str = "") -> None:
    AgentOrder.objects.filter(pk=row.pk).update(
        answered_at=Now(), went_well=went_well, told=told, external_id=job, arguments=""
    )
    if row.kind == AgentOrder.Kind.SUBMIT:
        # The engine asked and heard nothing; now it may ask again at once, and hears.
        Job.objects.filter(cluster=cluster, engine_name=row.target, external_id="").update(last_call_at=None)
    wish_for_jobs(cluster)


def take_report(agent: HeadNodeAgent, cluster: Cluster, report: agent_reports.Report) -> dict[str, Any]:
    """Keep what it tells; the answer says what of it is to be sent again and how far each log has come."""
    now = timezone.now()
    columns: dict[str, Any] = {"slurm_version": report.slurm, "trouble": report.trouble}
    send = []
    for name, listed in (("jobs", report.jobs), ("nodes", report.nodes)):
        if listed is None:
            continue
        if listed.rows is not None:
            columns |= {name: listed.rows, f"{name}_digest": listed.digest, f"{name}_at": now}
        elif getattr(agent, f"{name}_digest") == listed.digest:
            columns[f"{name}_at"] = now
        else:
            send.append(name)
    if report.accounts is not None:
        columns["accounts"] = report.accounts
    HeadNodeAgent.objects.filter(pk=agent.pk).update(**columns)
    if report.slurm and report.slurm != agent.slurm_version:
        measured_software.keep(cluster.participation_id, {"slurm": report.slurm})
    _keep_runs(cluster, report.runs)
    if columns.get("jobs") is not None and columns["jobs_digest"] != agent.jobs_digest:
        wish_for_jobs(cluster)
    return {"send": send, "logs": _keep_logs(cluster, report.pieces, now), "refused": report.refused}


def _keep_runs(cluster: Cluster, runs: list[agent_reports.Run]) -> None:
    """Accounts are written once: the same run again is the same row."""
    AgentRun.objects.bulk_create(
        (
            AgentRun(
                tenant_id=cluster.tenant_id,
                cluster=cluster,
                external_id=run.external_id,
                attempt=run.attempt,
                name=run.name,
                engine_state=run.engine_state,
                started_at=run.started_at,
                ended_at=run.ended_at,
                node_names=list(hosts(run.nodes)),
                accelerators=gpus(run.tres),
                exit_code=run.exit_code,
                signal=run.signal or None,
            )
            for run in runs
        ),
        ignore_conflicts=True,
    )


def _keep_logs(cluster: Cluster, pieces: list[agent_reports.Piece], now: datetime) -> dict[str, list[int]]:
    names = {piece.name for piece in pieces}
    rows = {row.name: row for row in AgentLog.objects.select_for_update().filter(cluster=cluster, name__in=names)}
    for piece in pieces:
        row = rows.setdefault(
            piece.name, AgentLog(tenant_id=cluster.tenant_id, cluster=cluster, name=piece.name, turn=piece.turn)
        )
        _append(row, piece)
        row.received_at = now
    for row in rows.values():
        row.save()
    surplus = AgentLog.objects.filter(cluster=cluster).order_by("-received_at").values_list("pk", flat=True)
    if names:
        AgentLog.objects.filter(pk__in=list(surplus[LOGS_KEPT : LOGS_KEPT + 100])).delete()
    return {name: [row.turn, row.ends_at] for name, row in rows.items()}


def _append(row: AgentLog, piece: agent_reports.Piece) -> None:
    """Add a piece to the end. One that was sent before adds nothing; what is missing in between is said."""
    if piece.turn < row.turn:
        return
    anew = piece.turn > row.turn
    if anew:
        row.turn, row.starts_at, row.ends_at = piece.turn, piece.at, piece.at
    end = piece.at + piece.size
    if end <= row.ends_at:
        return
    text = piece.text
    if anew and row.text:  # what was there before may not have been read yet
        text = f"{'' if row.text.endswith(chr(10)) else chr(10)}[… the file was begun anew …]\n{text}"
    if piece.at < row.ends_at:
        text = text.encode()[row.ends_at - piece.at :].decode("utf-8", "ignore")
    elif piece.at > row.ends_at:
        text = f"\n[… {piece.at - row.ends_at} bytes were not sent …]\n{text}"
    row.text += text
    row.characters += len(text)
    row.ends_at = end
    if len(row.text) > LOG_KEPT:
        row.starts_at = max(row.starts_at, end - LOG_KEPT)
        row.text = row.text[-LOG_KEPT:]


def again_in(cluster: Cluster) -> float:
    """How soon the agent should ask again: quickly while somebody waits."""
    live = Job.objects.filter(cluster=cluster, state__in=states.JOB_LIVE).exists()
    return float(settings.AGENT_SECONDS if live else settings.AGENT_SECONDS * 3)
