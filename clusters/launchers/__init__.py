"""The contract every launcher keeps: how a training job reaches a cluster's scheduler. No Django, no waiting, no decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from clusters.providers import Account

State = Literal["queued", "starting", "running", "recovering", "succeeded", "failed", "cancelled", "timed_out"]


@dataclass(frozen=True)
class Endpoint:
    """How a cluster's scheduler is reached: read from the participant's account, never typed by hand."""

    url: str
    versions: tuple[str, ...]  # REST API versions the server offers, e.g. ("v0.0.40",); newest is spoken
    user: str
    jwt_key: bytes
    log_group: str  # the log group in the participant's account to which the cluster ships each job's output


@dataclass(frozen=True)
class LaunchSpec:
    """One job as it is wanted. `name` is the key: it is looked up before any second submission."""

    name: str
    script: str
    nodes: int
    partition: str = ""
    time_limit_minutes: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    comment: str = ""
    log_path: str = ""  # where standard output goes on shared storage


@dataclass(frozen=True)
class JobSeen:
    """What the scheduler says of one job, in our word and in its own."""

    name: str
    external_id: str
    state: State
    engine_state: str  # the scheduler's own word, e.g. NODE_FAIL
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


class Launcher(Protocol):
    """All may raise clusters.providers.ProviderError; `submit` raises kind `unclear` when no answer came."""

    def submit(self, endpoint: Endpoint, spec: LaunchSpec) -> str: ...  # the scheduler's job id
    def observe(self, endpoint: Endpoint) -> list[JobSeen]: ...  # one list call for the whole cluster
    def cancel(self, endpoint: Endpoint, external_id: str) -> None: ...
    def tail(self, account: Account, endpoint: Endpoint, external_id: str, lines: int = 200) -> str: ...
