"""Faults by switch: what a cloud does now and then, made to happen on the next matching calls."""

from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from clusters.sandbox.journal import named
from clusters.sandbox.store import Store

KINDS = (
    "no_capacity",
    "timeout_after_success",
    "throttling",
    "error_after_success",
    "expired_token",
    "vanished",
    "slow",
    "not_found",
    "node_failure",
    "no_answer",
    "job_fails",
    "resource_fails",
    "resource_stays",
    "quota_denied",
    "image_pull",
    "kueue_stuck",
    "gone",
)
SHELF = "faults"


@dataclass
class Fault:
    """One switch; it is off when `times` matching calls have met it."""

    fault: str
    service: str = ""
    operation: str = ""
    account: str = ""
    match: str = ""
    times: int = 1
    seconds: float = 0.0
    state: str = ""
    exit_code: int = 1
    message: str = ""


class Faults:
    """All switches that are on, kept over restarts."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def switched_on(self) -> list[dict[str, Any]]:
        return [asdict(fault) for fault in self.store.read(SHELF).get("on", [])]

    def switch_on(self, fault: Fault) -> None:
        self.store.change(SHELF).setdefault("on", []).append(fault)

    def clear(self) -> None:
        self.store.put(SHELF, {"on": []})

    def take(self, kinds: tuple[str, ...], account: str, service: str, operation: str, names: dict[str, Any],
             ) -> Fault | None:  # fmt: skip
        """The first switch that fits this call; taking it uses it up by one."""
        switches: list[Fault] = self.store.read(SHELF).get("on", [])
        for fault in switches:
            fits = (
                fault.fault in kinds
                and fault.account in ("", account)
                and fault.service in ("", service)
                and fault.operation in ("", operation)
                and (not fault.match or any(_matches(fault.match, value) for value in names.values()))
            )
            if fits:
                fault.times -= 1
                self.store.change(SHELF)["on"] = [other for other in switches if other.times > 0]
                return fault
        return None

    def take_for_call(self, kinds: tuple[str, ...], account: str, service: str, operation: str,
                      parameters: dict[str, Any]) -> Fault | None:  # fmt: skip
        return self.take(kinds, account, service, operation, named(parameters)) if self.store.read(SHELF) else None


def _matches(pattern: str, value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(fnmatchcase(str(one), pattern) for one in values)
