"""What the kinds of resources in a template have in common: how one is made, changed and removed, and how long that takes."""

import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError


@dataclass(frozen=True)
class Place:
    """Where and for which stack a resource is made; `ask` calls the service itself."""

    cloud: Cloud
    account: str
    region: str
    stack: str
    stack_id: str
    logical: str
    stack_tags: tuple[tuple[str, str], ...] = ()

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        wish = {name: value for name, value in parameters.items() if value is not None}
        return self.cloud.ask(self.account, self.region, service, operation, **wish)

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def tags(self, own: list[dict[str, str]] | None = None) -> list[dict[str, str]]:
        """The resource's own tags, the stack's, and the ones that the service adds itself."""
        all_tags = dict(self.stack_tags)
        all_tags |= {str(tag["Key"]): str(tag["Value"]) for tag in own or []}
        all_tags |= {
            "aws:cloudformation:stack-name": self.stack,
            "aws:cloudformation:stack-id": self.stack_id,
            "aws:cloudformation:logical-id": self.logical,
        }
        return [{"Key": key, "Value": value} for key, value in all_tags.items()]

    def plain_tags(self, own: list[dict[str, str]] | None = None) -> list[dict[str, str]]:
        """The same for services that refuse tags beginning with `aws:` from anybody."""
        return [tag for tag in self.tags(own) if not tag["Key"].startswith("aws:")]

    def name(self, most: int = 64, lower: bool = False) -> str:
        """A name for a resource that was given none."""
        tail = "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(12))
        text = f"{self.stack}-{self.logical}"[: most - 13] + f"-{tail}"
        return text.lower() if lower else text


class Anything(tuple[str, ...]):
    """Attributes whose names nobody knows before they are there: outputs of a nested stack, data of a function."""

    def __contains__(self, name: object) -> bool:
        return True


Made = tuple[str, dict[str, Any]]  # the physical id and the attributes


@dataclass(frozen=True)
class Kind:
    """One type of resource."""

    create: Callable[[Place, dict[str, Any]], Made]
    delete: Callable[[Place, str, dict[str, Any]], None]
    required: frozenset[str]
    optional: frozenset[str] = frozenset()
    attributes: tuple[str, ...] = ()
    comes: float | Callable[[dict[str, Any]], float] = 5.0
    goes: float = 3.0
    update: Callable[[Place, str, dict[str, Any], dict[str, Any]], dict[str, Any]] | None = None
    in_place: Callable[[dict[str, Any], dict[str, Any]], bool] = lambda _old, _new: True  # or else it is replaced
    anything: bool = False  # properties that only the function behind it knows
    snapshot: Callable[[Place, str, dict[str, Any]], None] | None = None  # what the policy of that name leaves behind
    iam: str = ""  # the capability that a template with this type needs

    def seconds(self, properties: dict[str, Any]) -> float:
        return self.comes(properties) if callable(self.comes) else self.comes


KINDS: dict[str, Kind] = {}


def kind(name: str, *, required: str = "", optional: str = "", attributes: str = "", **rest: Any) -> None:
    KINDS[name] = Kind(
        required=frozenset(required.split()),
        optional=frozenset(optional.split()),
        attributes=tuple(attributes.split()),
        **rest,
    )


def check_properties(name: str, properties: dict[str, Any]) -> None:
    """The shape of a resource's properties, as its schema in the registry would check it."""
    rule = KINDS[name]
    missing = sorted(rule.required - set(properties))
    if missing:
        raise AwsError("InvalidRequest", f"Model validation failed (#: required key [{missing[0]}] not found)", 400)
    strange = sorted(set(properties) - rule.required - rule.optional)
    if strange and not rule.anything:
        message = f"Model validation failed (#: extraneous key [{strange[0]}] is not permitted)"
        raise AwsError("InvalidRequest", message, 400)


def truth(value: Any) -> bool:
    return str(value).lower() == "true"


def whole(value: Any) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise AwsError("InvalidRequest", f"{value} is not an integer", 400) from None


def typed(value: Any, numbers: tuple[str, ...], truths: tuple[str, ...] = (), name: str = "") -> Any:
    """A resolved template has only text where a parameter was used; the services want numbers and truth values."""
    if isinstance(value, dict):
        return {key: typed(inner, numbers, truths, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [typed(inner, numbers, truths, name) for inner in value]
    if name in numbers:
        return whole(value)
    return truth(value) if name in truths else value
