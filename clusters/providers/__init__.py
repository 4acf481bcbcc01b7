"""The contract every provider adapter keeps. An adapter translates; it never waits, retries, decides or imports Django."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

Phase = Literal["absent", "busy", "ready", "failed", "deleting"]
# The provider's words for: there are no machines now. A file system's "storage capacity" is something else.
NO_CAPACITY = re.compile(
    r"insufficient\w*\s*capacity|insufficient instances|\b(no|not|have|have not|enough|sufficient|available)\b[^.]{0,40}(?<!storage )\bcapacity\b"
    r"|capacity (constraint|is not available|not available)",
    re.IGNORECASE,
)
FleetVerb = Literal["start", "stop"]
Rescue = Literal["continue", "rollback"]
ErrorKind = Literal["throttled", "unclear", "expired", "denied", "refused"]


@dataclass(frozen=True)
class Account:
    """Where to act: a participant's cloud account (12 digits), a Region, and how to be let in."""

    account_id: str
    region: str
    role_arn: str
    external_id: str
    session_name: str  # at most 64 characters; appears in the account's own audit trail


@dataclass(frozen=True)
class Part:
    """One external object as it is wanted: its name and token are functions of stored facts, never random at call time."""

    kind: str  # a key of ADAPTERS
    name: str
    token: str
    tags: Mapping[str, str]  # the ownership tags; what does not carry them is foreign
    body: Mapping[str, Any]  # the request, complete; empty when only looking or deleting


@dataclass(frozen=True)
class NodeSeen:
    """One seat of an instance group and the instance that sits in it now, in the engine's own words."""

    group: str
    instance_id: str
    instance_type: str  # without the `ml.` prefix
    status: str  # the engine's word, e.g. Running, Pending, Failure
    message: str = ""
    private_ip: str = ""
    az_id: str = ""
    launched_at: datetime | None = None
    software_at: datetime | None = None  # when the engine last changed its machine image


@dataclass(frozen=True)
class PartEvent:
    """Something the engine itself reports about a part; `key` is stable, so that an event is recorded once."""

    key: str
    at: datetime
    resource: str
    status: str
    message: str = ""


@dataclass(frozen=True)
class Seen:
    """What the provider says right now."""

    phase: Phase
    status: str = ""  # the engine's own word
    reason: str = ""  # the engine's own sentence
    external_id: str = ""
    ours: bool = True  # carries the ownership tags of this Part
    fleet: str = ""  # the engine's word for all instances of its queues, where they can be started and stopped together
    put_back: bool = False  # our last update was undone by the provider: ready, with the configuration it had before
    outputs: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[NodeSeen, ...] = ()
    events: tuple[PartEvent, ...] = ()
    stuck: tuple[Mapping[str, str], ...] = ()  # what its rollback stopped at: resource, type, reason
    lines: tuple[Mapping[str, Any], ...] | None = (
        None  # where they were asked for: what its nodes' set-up says: at (milliseconds), node, text
    )
    body: Mapping[str, Any] = field(default_factory=dict)  # what can be compared with the wish, e.g. counts per group


@dataclass(frozen=True)
class Ordered:
    """What the provider answered to an order, node by node: never one word for a batch."""

    accepted: tuple[str, ...] = ()
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # instance -> code and sentence


class ProviderError(Exception):
    """A call that did not succeed. `kind` says what the engine may do next; `message` is the provider's sentence.

    throttled: nothing happened, later. unclear: sent, no answer; only looking helps. expired: fresh credentials.
    denied: role, trust or policy; needs a person. refused: validation, quota, capacity.
    """

    def __init__(self, kind: ErrorKind, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.kind, self.message, self.code = kind, message, code


Order = Literal["reboot", "replace", "remove", "software"]


class Provider(Protocol):
    """Each call may be repeated, but for `order`; none waits. All may raise ProviderError, `look` too."""

    def look(self, account: Account, part: Part) -> Seen: ...
    def create(self, account: Account, part: Part) -> str: ...  # the external id, or "" where it is not known yet
    def update(self, account: Account, part: Part) -> None: ...
    def delete(self, account: Account, part: Part) -> None: ...
    def cancel(self, account: Account, part: Part) -> None: ...  # stop the update that is under way, and put it back
    # Out of a state that it stopped in: go on with a rollback, without what is skipped, or begin one.
    def rescue(self, account: Account, part: Part, how: Rescue, skip: Sequence[str]) -> None: ...
    def order(
        self, account: Account, part: Part, order: Order, targets: Sequence[str]
    ) -> Ordered: ...  # instances, or groups for software


class HasFleet(Protocol):
    """An engine that can start and stop the instances of its queues; to be seen by a `Seen` that tells its fleet."""

    def move_fleet(self, account: Account, part: Part, verb: FleetVerb) -> None: ...


@runtime_checkable
class Rehearses(Protocol):
    """An engine whose own validators can look at a change without making it."""

    def rehearse(self, account: Account, part: Part) -> str | None: ...  # why not; "": it may; None: not yet


# Whether to go on: asked again and again while a program runs; the first no ends it.
Keep = Callable[[], bool]
# Kinds whose create, update and delete run a program for most of a minute; a look is as quick as any other.
SLOW = frozenset({"parallelcluster"})


def for_ever() -> bool:
    return True


def adapter(kind: str, keep: Keep = for_ever, *, program: Path | None = None) -> Provider:
    """The adapter of a kind of part: `stack`, `hyperpod` or `parallelcluster`; `program` is ParallelCluster's."""
    from clusters.providers import hyperpod, parallelcluster, programs, stacks

    adapters: dict[str, Provider] = {
        "stack": stacks.Stacks(),
        "hyperpod": hyperpod.HyperPod(),
        "parallelcluster": parallelcluster.ParallelCluster(keep, program or programs.INSTALLED),
    }
    return adapters[kind]
