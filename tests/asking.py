"""Asks a running portal by its API, and the sandbox cloud for its journal, as anybody outside would: over HTTP."""

from __future__ import annotations

import json
import time
import urllib.request
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from tests.tree import RunningTree

Row = dict[str, Any]


class Portal:
    """One person's view of the portal, by a token."""

    def __init__(self, tree: RunningTree, email: str, *words: str) -> None:
        """`words` as `issue_token` takes them."""
        self.url = tree.url
        self.token = tree.manage("issue_token", email, *words).strip().splitlines()[-1]

    def rows(self, path: str, **query: Any) -> list[Row]:
        """Every row of a list, over all its pages."""
        found: list[Row] = []
        url = f"{self.url}/api/v1/{path}" + (f"?{urlencode(query)}" if query else "")
        while url:
            page = _json(url, Authorization=f"Bearer {self.token}")
            found += page["results"]
            url = page["next"]
        return found

    def shown(self, path: str) -> Row:
        return dict(_json(f"{self.url}/api/v1/{path}", Authorization=f"Bearer {self.token}"))

    def sends(self, path: str, body: Row) -> Row:
        """What is answered to something that is asked for, once."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        told = json.dumps(body).encode()
        return dict(_json(f"{self.url}/api/v1/{path}", told, Authorization=f"Bearer {self.token}", **headers))


class Cloud:
    """The sandbox cloud's own door for tests."""

    def __init__(self, tree: RunningTree) -> None:
        self.url = json.loads((tree.var / "environment.json").read_text())["AWS_ENDPOINT_URL"]

    def journal(self, **filters: Any) -> list[Row]:
        """The calls that it answered, oldest first."""
        return list(_json(f"{self.url}/_sandbox/journal?{urlencode(filters)}")["calls"])

    def slow_calls_left(self) -> int:
        """How many more calls will be slow; one less means that one has just begun."""
        return sum(
            fault["times"] for fault in _json(f"{self.url}/_sandbox/faults")["faults"] if fault["fault"] == "slow"
        )

    def post(self, what: str, wish: Any) -> Row:
        return dict(_json(f"{self.url}/_sandbox/{what}", data=json.dumps(wish).encode()))

    def heal(self) -> None:
        """Switch all faults off."""
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/_sandbox/faults", method="DELETE"), timeout=20):
            return

    def created(self) -> list[tuple[str, str, str, str]]:
        """(operation, account, Region, name) of every call that made a cluster or a stack."""
        return [
            (call["operation"], call["account"], call["region"], call["parameters"].get(key, ""))
            for operation, key in (("CreateStack", "StackName"), ("CreateCluster", "ClusterName"))
            for call in self.journal(operation=operation, effective=1)
        ]


def _json(url: str, data: bytes | None = None, **headers: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=20) as answer:
        return json.load(answer)


def wait_for(what: str, look: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so; fail with its name when the time is over."""
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, f"after {seconds:.0f} s still not: {what}"
        time.sleep(1.0)  # whoever is asked has the same processors to do it with
