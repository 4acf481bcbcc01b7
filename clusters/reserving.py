"""A reservation's state by its times and the provider's word, when to warn of its end, what overlaps and what is idle; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

WARN_DAYS = (14, 7, 3, 1)  # before its end
# The provider's words, in small letters, for what is no more, and for what is not paid or not there yet.
GONE = frozenset({"expired", "cancelled", "failed", "payment-failed", "unsupported", "unavailable"})
NOT_YET = frozenset({"pending", "scheduled", "payment-pending", "assessing", "delayed"})


@dataclass(frozen=True)
class Held:
    """One reservation: a number of instances from a moment to a moment."""

    name: str
    kind: str
    instance_type: str
    region: str
    az_id: str
    count: int
    starts_at: datetime
    ends_at: datetime
    state: str = "bought"


@dataclass(frozen=True)
class Next:
    """What becomes of it now: its state, a warning so many days before the end, and when to look again; None: never."""

    state: str
    warn: int | None
    warned: int | None
    again: datetime | None


def follow(state: str, starts_at: datetime, ends_at: datetime, word: str, warned: int | None, now: datetime) -> Next:
    """`warned` is the nearest warning that was given; after an extension, those that are ahead again are given again."""
    if state in ("wanted", "ended"):
        return Next(state, None, warned, None)
    word = word.lower()
    if word in GONE or now >= ends_at:
        return Next("ended", None, warned, None)
    if state != "active":
        state = "active" if now >= starts_at and word not in NOT_YET else "bought"
    due = [days for days in WARN_DAYS if ends_at - now <= timedelta(days=days)]
    nearest = min(due, default=None)
    warn = nearest if nearest is not None and (warned is None or nearest < warned) else None
    ahead = [ends_at - timedelta(days=days) for days in WARN_DAYS if days not in due]
    moments = [ends_at, *ahead, *([starts_at] if now < starts_at else [])]
    return Next(state, warn, nearest, min(moment for moment in moments if moment > now))


def overlaps(held: Sequence[Held]) -> list[tuple[Held, Held]]:
    """Two of the same type and Region that hold at the same time: each pair once, by their beginnings."""
    rows = sorted((one for one in held if one.state != "ended"), key=lambda one: (one.starts_at, one.name))
    return [
        (one, other)
        for number, one in enumerate(rows)
        for other in rows[number + 1 :]
        if (one.instance_type, one.region) == (other.instance_type, other.region)
        and one.starts_at < other.ends_at
        and other.starts_at < one.ends_at
    ]


def used(bodies: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Instances by the plan or reservation that groups of configurations name."""
    found: dict[str, int] = {}
    for body in bodies:
        for group in body.get("instance_groups", ()):
            for name in filter(None, {group.get("training_plan"), group.get("reservation")}):
                found[name] = found.get(name, 0) + group["count"]
    return found


def idle(one: Held, taken: Mapping[str, int]) -> int:
    """Instances that are reserved now and named by no cluster; nothing of what is not there yet or over."""
    return max(0, one.count - taken.get(one.name, 0)) if one.state == "active" else 0


def idle_hours(one: Held, nodes: int, now: datetime) -> int:
    """Instance-hours until its end, when that many stay idle."""
    return nodes * max(0, int((one.ends_at - now).total_seconds() // 3600))
