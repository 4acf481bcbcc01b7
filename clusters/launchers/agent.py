"""Slurm through the agent on its head node: what is wanted is an order that it fetches, what is seen is its last report.

It asks no cloud, only our own tables, and so it is the one launcher that knows them.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from clusters.actions import agents
from clusters.launchers import Ability, AgentEndpoint, Ended, JobSeen, LaunchSpec, LogPage, NodeSeen, slurm_options
from clusters.launchers.log_pages import gap
from clusters.launchers.slurm_dialects import Dialect, state
from clusters.models import AgentLog, AgentOrder, AgentRun, HeadNodeAgent
from clusters.providers import Account, ProviderError
from tenants.wall.acting import acting_for

# The agent sends its rows in the words of Slurm's REST API, so that there is one reading of them.
WORDS = Dialect("agent")
LINE_END = re.compile(r"\r\n|\n|\r")


class ByAgent:
    """The launcher of a cluster whose head node asks us, because we cannot ask it."""

    consistency = math.inf  # an order may lie for a while before the head node fetches it

    def cannot(self, endpoint: AgentEndpoint) -> Mapping[Ability, str]:
        return {}  # Slurm's own programs have a word for everything; whether accounts are kept, the agent tells

    def submit(self, endpoint: AgentEndpoint, spec: LaunchSpec) -> str:
        """Gives the order, once for each name. Raises `unclear` until the agent has answered it."""
        with acting_for(endpoint.tenant, staff=True):
            agent = _agent(endpoint)
            known = [job for job in _jobs(agent) if job.name == spec.name]
            if known:
                return known[0].external_id
            row = agents.order(
                tenant=endpoint.tenant,
                cluster=endpoint.cluster,
                kind=AgentOrder.Kind.SUBMIT,
                key=f"submit:{spec.name}",
                target=spec.name,
                arguments=_asked(spec),
            )
        if row.answered_at is None:
            raise ProviderError(
                "unclear", f"The order waits for the head node's agent. {_silence(agent)}", code="Waits"
            )
        if not row.went_well:
            raise ProviderError("refused", row.told or "The head node's agent refused it.", code="Refused")
        return row.external_id

    def observe(self, endpoint: AgentEndpoint) -> list[JobSeen]:
        with acting_for(endpoint.tenant, staff=True):
            agent = _agent(endpoint)
        _fresh(agent, agent.jobs_at)
        return _jobs(agent)

    def nodes(self, endpoint: AgentEndpoint) -> list[NodeSeen]:
        with acting_for(endpoint.tenant, staff=True):
            agent = _agent(endpoint)
        _fresh(agent, agent.nodes_at)
        return [WORDS.node(row) for row in agent.nodes]

    def cancel(self, endpoint: AgentEndpoint, external_id: str) -> None:
        self._tell(endpoint, AgentOrder.Kind.CANCEL, external_id, {"job": external_id})

    def hold(self, endpoint: AgentEndpoint, external_id: str) -> None:
        self._tell(endpoint, AgentOrder.Kind.HOLD, external_id, {"job": external_id})

    def release(self, endpoint: AgentEndpoint, external_id: str) -> None:
        self._tell(endpoint, AgentOrder.Kind.RELEASE, external_id, {"job": external_id})

    def requeue(self, endpoint: AgentEndpoint, external_id: str) -> None:
        self._tell(endpoint, AgentOrder.Kind.REQUEUE, external_id, {"job": external_id})

    def set_node(self, endpoint: AgentEndpoint, name: str, wanted: str, reason: str) -> None:
        """Set a node down, drain it, or resume it: down, drain, resume."""
        self._tell(endpoint, AgentOrder.Kind.NODE, name, {"node": name, "state": wanted, "reason": reason})

    def tail(self, account: Account, endpoint: AgentEndpoint, external_id: str, lines: int = 200) -> str:
        with acting_for(endpoint.tenant, staff=True):
            row = AgentLog.objects.filter(cluster=endpoint.cluster, name=external_id).first()
        return "\n".join(row.text.splitlines()[-max(lines, 1) :]) if row else ""

    def page(
        self,
        account: Account,
        endpoint: AgentEndpoint,
        external_id: str,
        position: str,
        since: datetime | None,
        *,
        ended: bool,
    ) -> LogPage:
        with acting_for(endpoint.tenant, staff=True):
            row = AgentLog.objects.filter(cluster=endpoint.cluster, name=external_id).first()
        if row is None:
            return LogPage((), position)
        return read_on(row.text, row.characters, position, ended=ended, joined=bool(position) or since is None)

    def ended(self, endpoint: AgentEndpoint, since: datetime) -> list[Ended]:
        with acting_for(endpoint.tenant, staff=True):
            agent = _agent(endpoint)
            whole = since.replace(microsecond=0)  # as Slurm counts
            rows = list(
                AgentRun.objects.filter(cluster=endpoint.cluster, ended_at__gte=whole).order_by(
                    "ended_at", "external_id", "attempt"
                )
            )
        if agent.accounts is False:
            raise ProviderError("refused", "This cluster keeps no accounting database.", code="NoAccounting")
        if agent.accounts is None:
            raise ProviderError("unclear", f"Nobody has told of the cluster's accounts yet. {_silence(agent)}")
        return [_ended(row) for row in rows]

    def _tell(self, endpoint: AgentEndpoint, kind: str, target: str, arguments: dict[str, Any]) -> None:
        """One order of a kind about one thing at a time; the refusal of the last one is said once."""
        with acting_for(endpoint.tenant, staff=True):
            before = _orders(endpoint, kind, target)
            last = before.order_by("-number").first()
            if last is not None and last.answered_at is None:
                return
            if last is not None and not last.went_well and last.told_at is None:
                AgentOrder.objects.filter(pk=last.pk).update(told_at=Now())
            else:
                agents.order(
                    tenant=endpoint.tenant,
                    cluster=endpoint.cluster,
                    kind=kind,
                    key=f"{kind}:{target}:{last.number if last else 0}",  # twice at once is the same order
                    target=target,
                    arguments=arguments,
                )
                return
        raise ProviderError("refused", last.told or "The head node's agent refused it.", code="Refused")


def read_on(text: str, characters: int, position: str, *, ended: bool, joined: bool = True) -> LogPage:
    """The whole lines of what is kept, the last of so many characters ever sent, after a position among these; what was let go
    before it was read is said. A bar of progress that moves without a line feed is lines too."""
    read, begin = int(position) if position.isdecimal() else 0, characters - len(text)
    rest = text[max(0, read - begin) :]
    cut = len(rest) if ended else max(rest.rfind("\n"), rest.rfind("\r")) + 1
    if not cut:
        return LogPage((), position, joined)
    lines = LINE_END.split(rest[:cut].removesuffix("\n").removesuffix("\r"))
    told: list[tuple[datetime | None, str]] = [(None, line) for line in lines]
    if read < begin and joined:
        told.insert(0, gap(f"{begin - read} characters were let go before they were read"))
    return LogPage(tuple(told), str(max(read, begin) + cut), joined)


def _orders(endpoint: AgentEndpoint, kind: str, target: str) -> QuerySet[AgentOrder]:
    return AgentOrder.objects.filter(cluster=endpoint.cluster, kind=kind, target=target)


def _agent(endpoint: AgentEndpoint) -> HeadNodeAgent:
    agent = HeadNodeAgent.objects.filter(cluster=endpoint.cluster).first()
    if agent is None:
        raise ProviderError("unclear", "The head node's agent has no token yet.", code="NoAgent")
    return agent


def _fresh(agent: HeadNodeAgent, at: datetime | None) -> None:
    if at is None or at < timezone.now() - timedelta(seconds=settings.AGENT_LOST_SECONDS):
        told = _silence(agent) or "The agent on the head node speaks, but its last report is old."
        raise ProviderError("unclear", told, code="AgentSilent")


def _silence(agent: HeadNodeAgent) -> str:
    """Why we know nothing newer; empty when the agent is there."""
    if agent.last_seen_at is None:
        return "The agent on the head node has not spoken yet."
    seconds = (timezone.now() - agent.last_seen_at).total_seconds()
    if seconds > settings.AGENT_LOST_SECONDS:
        return f"The agent on the head node was last heard at {agent.last_seen_at:%Y-%m-%d %H:%M:%S} UTC."
    return f"The agent cannot ask Slurm: {agent.trouble}" if agent.trouble else ""


def _jobs(agent: HeadNodeAgent) -> list[JobSeen]:
    places = WORDS.places(agent.jobs)
    return [WORDS.seen(row, places.get(row["job_id"])) for row in agent.jobs if row["user_name"] == agent.username]


def _asked(spec: LaunchSpec) -> dict[str, Any]:
    """Everything that sbatch is to be told, as the agent reads it."""
    return {
        "name": spec.name,
        "script": spec.script,
        "nodes": spec.nodes,
        "processes_per_node": spec.processes_per_node,
        "partition": spec.partition,
        "time_limit_minutes": spec.time_limit_minutes,
        "environment": dict(spec.environment),
        "comment": spec.comment,
        "array": spec.array,
        "after": [list(pair) for pair in spec.after],
        "begin_at": f"{spec.begin_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if spec.begin_at else "",
        "requeue": spec.requeue,
        "folder": slurm_options.properties(spec.options, old=False).get("current_working_directory", ""),
        "held": spec.held,
        "only": list(spec.only),
        "without": list(spec.without),
    }


def _ended(row: AgentRun) -> Ended:
    ours, theirs = state([row.engine_state], 0)
    return Ended(
        external_id=row.external_id,  # of a task of an array its own, 57_0: tasks are runs beside each other
        attempt=row.attempt,
        name=row.name,
        state=ours,
        engine_state=theirs,
        started_at=row.started_at,
        ended_at=row.ended_at,
        nodes=tuple(row.node_names),
        accelerators=row.accelerators,
        exit_code=row.exit_code,
        signal=row.signal,
    )
