"""What is stored of a stack: its template and wishes, its resources and what they became, and its events."""

import secrets
import uuid
from dataclasses import dataclass, field
from typing import Any

from clusters.sandbox import moto_services
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation import (  # noqa: F401 - they register their kinds
    databases,
    groups,
    machines,
    network,
    records,
    storage,
    watching,
)
from clusters.sandbox.cloudformation import identity as _identity  # noqa: F401
from clusters.sandbox.cloudformation.resources import KINDS, Place
from clusters.sandbox.cloudformation.scope import Scope
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call

NEVER = float("inf")


@dataclass
class Resource:
    """One resource of a stack; `ends` is when what is in progress will be done."""

    logical: str
    type: str
    status: str = ""
    physical: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    ends: float = NEVER
    changed: float = 0.0
    reason: str = ""

    @property
    def present(self) -> bool:
        """Something of it exists that a delete would have to remove."""
        return bool(self.physical) and self.status not in ("DELETE_COMPLETE", "DELETE_SKIPPED")

    @property
    def busy(self) -> bool:
        return self.status.endswith("_IN_PROGRESS")


@dataclass
class Event:
    """One line of the stack's history."""

    id: str
    at: float
    logical: str
    physical: str
    type: str
    status: str
    reason: str
    token: str = ""  # of the call behind it


@dataclass
class Stack:
    """One stack; `due` is when something happens next to it."""

    name: str
    id: str
    account: str
    region: str
    body: str
    template: dict[str, Any]
    parameters: dict[str, str]
    tags: list[dict[str, str]]
    capabilities: list[str]
    began: float
    token: str = ""
    call_token: str = ""  # of the newest call; every event since carries it
    on_failure: str = "ROLLBACK"
    protected: bool = False
    status: str = "CREATE_IN_PROGRESS"
    reason: str = ""
    due: float = NEVER
    updated: float | None = None
    deleted: float | None = None
    resources: dict[str, Resource] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    outputs: list[dict[str, str]] = field(default_factory=list)
    retain: list[str] = field(default_factory=list)
    # An update: what was before, and the steps still to do.
    before: tuple[str, dict[str, Any], dict[str, str]] | None = None
    steps: list[tuple[str, str]] = field(default_factory=list)
    done: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    leftovers: list[Resource] = field(default_factory=list)

    def move(self, at: float, status: str, reason: str = "") -> None:
        self.status, self.reason = status, reason
        self.events.append(
            Event(
                str(uuid.uuid4()), at, self.name, self.id, "AWS::CloudFormation::Stack", status, reason, self.call_token
            )
        )

    def note(self, at: float, resource: Resource, status: str, reason: str = "") -> None:
        resource.status, resource.reason, resource.changed = status, reason, at
        name = f"{resource.logical}-{status}-{uuid.uuid4()}"
        said = (resource.logical, resource.physical, resource.type, status, reason)
        self.events.append(Event(name, at, *said, self.call_token))

    def place(self, cloud: Cloud, logical: str) -> Place:
        tags = tuple((tag["Key"], tag["Value"]) for tag in self.tags)
        return Place(cloud, self.account, self.region, self.name, self.id, logical, tags)


def new_id(region: str, account: str, name: str) -> str:
    return (
        f"arn:aws:cloudformation:{region}:{account}:stack/{name}/{uuid.UUID(bytes=secrets.token_bytes(16), version=4)}"
    )


def shelf_of(account: str, region: str) -> str:
    return f"cloudformation/{account}/{region}"


def scope_of(cloud: Cloud, stack: Stack) -> Scope:
    """What the names in the stack's template mean right now."""
    present = {name: resource for name, resource in stack.resources.items() if resource.present}
    others = cloud.store.read(shelf_of(stack.account, stack.region)).get("stacks", {}).values()
    exports = {
        o["ExportName"]: o["OutputValue"] for s in others for o in s.outputs if "ExportName" in o and not s.deleted
    }
    return Scope(
        template=stack.template,
        parameters=stack.parameters,
        pseudo={
            "AccountId": stack.account,
            "NotificationARNs": [],
            "Partition": "aws",
            "Region": stack.region,
            "StackId": stack.id,
            "StackName": stack.name,
            "URLSuffix": "amazonaws.com",
        },
        zones=list(moto_services.zones(stack.region)),
        physical={name: _ref(resource) for name, resource in present.items()},
        attributes={name: resource.attributes for name, resource in present.items()},
        imports=exports,
    )


def _ref(resource: Resource) -> str:
    """What Ref gives; nearly always the physical id."""
    return resource.physical


def known_types() -> dict[str, tuple[str, ...]]:
    return {name: rule.attributes for name, rule in KINDS.items()}


def all_stacks(cloud: Cloud, call: Call) -> dict[str, Stack]:
    stacks: dict[str, Stack] = cloud.store.read(call.shelf()).get("stacks", {})
    return stacks


def living(cloud: Cloud, call: Call) -> dict[str, Stack]:
    return {stack.name: stack for stack in all_stacks(cloud, call).values() if stack.deleted is None}


def find(cloud: Cloud, call: Call, name: str) -> Stack | None:
    return all_stacks(cloud, call).get(name) or living(cloud, call).get(name)


def existing(cloud: Cloud, call: Call, name: str) -> Stack:
    stack = find(cloud, call, name)
    if stack is None:
        raise AwsError("ValidationError", f"Stack with id {name} does not exist", 400)
    return stack
