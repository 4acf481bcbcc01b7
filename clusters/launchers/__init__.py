"""The contract every launcher keeps: how a training job reaches a cluster's scheduler. No Django, no waiting, no decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from clusters.providers import Account, ProviderError

State = Literal["queued", "starting", "running", "recovering", "succeeded", "failed", "cancelled", "timed_out"]
NodeState = Literal["idle", "busy", "draining", "down", "unknown"]
# What not every scheduler can do: fields of LaunchSpec by their names, and two of the verbs below.
Ability = Literal["array", "after", "begin_at", "only", "requeue", "ended"]


@dataclass(frozen=True)
class SlurmEndpoint:
    """How a cluster's Slurm is reached: read from the participant's account, never typed by hand."""

    url: str
    versions: tuple[str, ...]  # REST API versions the server offers, e.g. ("v0.0.40",); newest is spoken
    user: str
    jwt_key: bytes = field(repr=False)
    log_group: str  # the log group in the participant's account to which the cluster ships each job's output


@dataclass(frozen=True)
class KubernetesEndpoint:
    """How a cluster's Kubernetes API is reached."""

    url: str
    ca_pem: str
    token: str = field(repr=False)
    namespace: str
    log_group: str


@dataclass(frozen=True)
class AgentEndpoint:
    """A cluster whose head node asks us: its orders and reports are rows of ours. Both are ids."""

    tenant: str
    cluster: str


Endpoint = SlurmEndpoint | KubernetesEndpoint | AgentEndpoint


@dataclass(frozen=True)
class LaunchSpec:
    """One job as it is wanted. `name` is the key: it is looked up before any second submission."""

    name: str
    script: str
    nodes: int
    partition: str = ""
    time_limit_minutes: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    files: Mapping[str, str] = field(default_factory=dict)  # Kubernetes: what Python finds in every pod, by name
    comment: str = ""
    log_path: str = ""  # where standard output goes on shared storage
    processes_per_node: int = 1
    accelerators_per_node: int = 0
    array: str = ""  # "0-3%2": tasks 0 to 3, two at a time
    after: tuple[tuple[str, str], ...] = ()  # (("afterok", external id), ...): afterok, afterany, afternotok
    begin_at: datetime | None = None
    requeue: bool = True  # whether the scheduler begins it again when a node is lost
    held: bool = False
    manifest: Mapping[str, Any] | None = None  # Kubernetes: the object to create, already carrying `name`
    only: tuple[str, ...] = ()  # the nodes that it must have, by the scheduler's names for them
    without: tuple[str, ...] = ()  # nodes that it must not have
    options: Mapping[str, str] = field(default_factory=dict)  # of the script's own #SBATCH lines, by their long names
    again: bool = False  # it may have been submitted before: what has left the scheduler's memory is looked for too


@dataclass(frozen=True)
class LogPage:
    """Lines with when they were written (None: nobody says). `joined`: they follow what was read before; otherwise they are
    the last lines there are, which may overlap it."""

    lines: tuple[tuple[datetime | None, str], ...]
    position: str
    joined: bool = True


@dataclass(frozen=True)
class JobSeen:
    """What the scheduler says of one job, in our word and in its own. The tasks of an array are jobs of one name."""

    name: str
    external_id: str
    state: State
    engine_state: str  # the scheduler's own word, e.g. NODE_FAIL
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    nodes: tuple[str, ...] = ()
    restarts: int | None = 0  # None: the engine does not count them
    restart_limit: int | None = None  # how often it may begin again, where its own text says so
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    queue_position: int | None = None  # 1 is the next to start in its partition; None: it does not queue
    held: bool = False
    array_task: str = ""  # "3"; "0-3%2" for the tasks of an array that have not begun
    accelerators: int | None = None  # None: the scheduler does not count them
    time_limit_minutes: int | None = None
    begin_at: datetime | None = None


@dataclass(frozen=True)
class NodeSeen:
    """What the scheduler says of one node."""

    name: str
    state: NodeState
    engine_state: str  # its own words, joined by "+"
    reason: str = ""
    reason_at: datetime | None = None
    accelerators: int | None = None
    accelerators_used: int | None = None


@dataclass(frozen=True)
class Ended:
    """One run of a job as the scheduler's accounting keeps it; a job that was begun again has several."""

    external_id: str
    attempt: int  # 1 is the first run
    name: str
    state: State
    engine_state: str
    started_at: datetime | None
    ended_at: datetime | None
    nodes: tuple[str, ...] = ()
    accelerators: int | None = None
    exit_code: int | None = None
    signal: int | None = None


def refuse(spec: LaunchSpec, cannot: Mapping[Ability, str]) -> None:
    """Raises `refused` with a launcher's own sentence when a job wants what it cannot do."""
    asked: Mapping[Ability, object] = {
        "array": spec.array,
        "after": spec.after,
        "begin_at": spec.begin_at,
        "only": spec.only,
    }
    for ability, wanted in asked.items():
        if wanted and ability in cannot:
            raise ProviderError("refused", cannot[ability], code="NotHere")


E = TypeVar("E", contravariant=True)


class Launcher(Protocol[E]):
    """All may raise clusters.providers.ProviderError; `submit` raises kind `unclear` when no answer came."""

    consistency: float  # seconds after a call for which it proves nothing that a job is not in the list

    def cannot(self, endpoint: E) -> Mapping[Ability, str]:
        """What it never does on this cluster -> the sentence with which it refuses it. Asks nobody."""
        ...

    def submit(self, endpoint: E, spec: LaunchSpec) -> str:
        """The scheduler's id. Looks for a job of that name, and takes it over, before it submits."""
        ...

    def observe(self, endpoint: E) -> list[JobSeen]:
        """One list call for the whole cluster."""
        ...

    def nodes(self, endpoint: E) -> list[NodeSeen]: ...

    def cancel(self, endpoint: E, external_id: str) -> None:
        """A job that has ended or is not known is no error, for this and the three below."""
        ...

    def hold(self, endpoint: E, external_id: str) -> None: ...
    def release(self, endpoint: E, external_id: str) -> None: ...

    def requeue(self, endpoint: E, external_id: str) -> None:
        """Begin it again under the same id. Raises kind `refused`, with what to do instead, where that is impossible."""
        ...

    def tail(self, account: Account, endpoint: E, external_id: str, lines: int = 200) -> str: ...

    def page(
        self, account: Account, endpoint: E, external_id: str, position: str, since: datetime | None, *, ended: bool
    ) -> LogPage:
        """What a job wrote since the position of the page before; `since` is when the last known line was written. Whatever
        cannot be had any more is said by a line of `gap`."""
        ...

    def ended(self, endpoint: E, since: datetime) -> list[Ended]:
        """Runs that accounting says have ended since. Raises `refused`, code NoAccounting, where the cluster keeps none."""
        ...


@runtime_checkable
class Tidies(Protocol[E]):
    """What only a launcher has whose scheduler leaves something of a job behind."""

    def tidy(self, endpoint: E, external_id: str) -> int:
        """Take away what a job that has ended still holds; how many things that were."""
        ...


def launcher(orchestrator: str, *, by_agent: bool = False) -> Launcher[Any]:
    """The launcher for a cluster by what schedules on it (hyperpod-slurm, parallelcluster, hyperpod-eks) and by the way."""
    if by_agent:
        from clusters.launchers.agent import ByAgent

        return ByAgent()
    if orchestrator == "hyperpod-eks":
        from clusters.launchers.kubernetes import Kubernetes

        return Kubernetes()
    from clusters.launchers.slurm import Slurm

    return Slurm()
