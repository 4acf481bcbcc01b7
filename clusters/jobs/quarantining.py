"""Pure: when a node has failed so often that no job should meet it. Only what somebody saw counts, never silence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

# Alerts that say what is wrong with a machine. One that says that nothing is heard of it does not: it may be well.
ALERTS = frozenset({"GpuNotWell", "GpuMemoryErrors", "EfaDeviceMissing", "NeuronMemoryErrors"})


@dataclass(frozen=True)
class Rule:
    """How many faults within how long are too many. One fault happens to every machine, and a second may be the job's own
    doing; a dying accelerator raises an alert, loses its job and makes its node impaired within minutes: that is one event."""

    strikes: int = 3
    window: timedelta = timedelta(days=7)
    one_event: timedelta = timedelta(minutes=30)


@dataclass(frozen=True)
class Fault:
    """Something that was seen of the instance in a seat."""

    at: datetime
    what: str  # a word of KINDS
    told: str = ""

    def kept(self) -> dict[str, Any]:
        return {"at": self.at.isoformat(), "what": self.what, "told": self.told}


def strikes(faults: Sequence[Fault], now: datetime, rule: Rule) -> list[Fault]:
    """The faults of the window, what belongs to one event once, the oldest first."""
    found: list[Fault] = []
    for fault in sorted(faults, key=lambda one: one.at):
        if now - rule.window <= fault.at <= now and (not found or fault.at - found[-1].at > rule.one_event):
            found.append(fault)
    return found


def condemned(faults: Sequence[Fault], now: datetime, rule: Rule) -> list[Fault]:
    """The evidence for keeping jobs away from it; empty while there is too little."""
    found = strikes(faults, now, rule)
    return found if len(found) >= rule.strikes else []
