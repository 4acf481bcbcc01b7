"""How a module of the sandbox says which calls it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusters.sandbox.cloud import Cloud
    from clusters.sandbox.credentials import Principal


@dataclass
class Call:
    """One call, checked and read: where it acts, what it wants, when it came in sandbox time."""

    account: str
    region: str
    service: str
    operation: str
    parameters: dict[str, Any]
    now: float
    principal: "Principal | None" = None
    effective: bool = field(default=False)  # the journal's word for: it created something

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def shelf(self, service: str = "") -> str:
        return f"{service or self.service}/{self.account}/{self.region}"


Handler = Callable[["Cloud", Call], Any]
OPERATIONS: dict[tuple[str, str], Handler] = {}


def operation(service: str, name: str) -> Callable[[Handler], Handler]:
    """Register the answer to one operation of one service."""

    def register(handler: Handler) -> Handler:
        OPERATIONS[service, name] = handler
        return handler

    return register


def page(items: list[Any], parameters: dict[str, Any], *, size: str = "MaxResults", token: str = "NextToken",
         most: int = 100) -> tuple[list[Any], dict[str, str]]:  # fmt: skip
    """One page of a list and, where there is more, the token of the next."""
    start = int(parameters.get(token) or 0)
    end = start + min(int(parameters.get(size) or most), most)
    return items[start:end], {token: str(end)} if end < len(items) else {}
