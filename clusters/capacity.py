"""Grant, service quota, reservation and use of one type in one Region, side by side and in every unit; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from clusters.granted import ANY, Granted
from clusters.wording import gettext_noop

# What each of the three ways of saying no number means, in words.
WORDS: Mapping[str, str] = {
    "limited": gettext_noop("limited"),
    "none": gettext_noop("none allowed"),
    "not_set": gettext_noop("not set"),
    "unlimited": gettext_noop("unlimited"),
}
WAYS: Mapping[str, str] = {
    "": gettext_noop("any way of buying"),
    "on_demand": gettext_noop("on demand"),
    "odcr": gettext_noop("on-demand capacity reservation"),
    "capacity_block": gettext_noop("Capacity Block"),
    "training_plan": gettext_noop("training plan"),
}
HOURS_A_DAY = 24


@dataclass(frozen=True)
class Kind:
    """An instance type in a Region, and what one instance is in other units; None: not known."""

    instance_type: str
    region: str
    accelerators: int | None = None
    vcpus: int | None = None

    def units(self, instances: int | None) -> dict[str, int | None]:
        """The same number as instances, accelerators and vCPUs."""
        each = {"instances": 1, "accelerators": self.accelerators, "vcpus": self.vcpus}
        return {name: None if instances is None or one is None else instances * one for name, one in each.items()}


@dataclass(frozen=True)
class Allowed:
    """A quota as an account tells it, and how many instances it comes to; None: the account has not told of it."""

    account: str
    service: str
    name: str
    unit: str
    value: int | None
    instances: int | None
    read_at: datetime | None = None

    @property
    def word(self) -> str:
        if self.value is None:
            return "not_set"
        return "limited" if self.value else "none"


@dataclass(frozen=True)
class Way:
    """One way of buying: what may be taken this way, what is reserved, held, and free."""

    option: str
    granted: int | None
    reserved: int
    held: int
    free: int | None

    @property
    def in_quota(self) -> bool:
        """Whether the provider counts it against the account's quota; a Capacity Block is outside the quotas of EC2."""
        return self.option != "capacity_block"

    @property
    def words(self) -> str:
        return WAYS[self.option]

    @property
    def idle(self) -> int:
        """Reserved, and held by no cluster."""
        return max(0, self.reserved - self.held)


@dataclass(frozen=True)
class Coming:
    """Instances that are granted from a later day; without `ends_on` nothing ends them."""

    instances: int
    starts_on: date
    ends_on: date | None = None


def coming(rows: Iterable[tuple[int, date, date | None]], today: date) -> list[Coming]:
    """Of rows of a grant (instances, from, to) what more begins later, the first first; rows of the same days are one."""
    sums: dict[tuple[date, date | None], int] = {}
    for delta, first, last in rows:
        if first > today:
            sums[first, last] = sums.get((first, last), 0) + delta
    found = [Coming(count, first, last) for (first, last), count in sums.items() if count > 0]
    return sorted(found, key=lambda one: (one.starts_on, one.ends_on or date.max))


@dataclass(frozen=True)
class Joined:
    """Everything about one type in one Region."""

    kind: Kind
    granted: Granted = field(default_factory=Granted)
    ways: Sequence[Way] = ()
    allowed: Sequence[Allowed] = ()
    granted_hours: int | None = None  # accelerator-hours of the whole cycle; None: no number, or no end
    used_hours: int | None = None  # None: not measured
    coming: Sequence[Coming] = ()  # what is granted from a later day

    @property
    def word(self) -> str:
        return self.granted.word

    @property
    def in_words(self) -> str:
        return WORDS[self.word]

    @property
    def held(self) -> int:
        return sum(way.held for way in self.ways)

    @property
    def reserved(self) -> int:
        return sum(way.reserved for way in self.ways)

    @property
    def free(self) -> int | None:
        """However it is bought."""
        return self.granted.free({way.option: way.held for way in self.ways}, *(way.option for way in self.ways))

    @property
    def over(self) -> int:
        return self.granted.over({way.option: way.held for way in self.ways})

    @property
    def allowed_word(self) -> str:
        """Whether any account has told what it allows."""
        told = [one for one in self.allowed if one.value is not None]
        if not told:
            return "not_set"
        return "limited" if any(one.value for one in told) else "none"


def joined(kind: Kind, granted: Granted, held: Mapping[str, int], reserved: Mapping[str, int], **more: Any) -> Joined:
    """One line for each way of buying of which there is something; what is for any way comes first."""
    options = {
        option for option, count in [*(granted.by_option or {}).items(), *held.items(), *reserved.items()] if count
    }
    ways = [
        Way(
            option,
            (granted.by_option or {}).get(option, 0) if granted.total is not None else None,
            reserved.get(option, 0),
            held.get(option, 0),
            granted.free(held, option),
        )
        for option in sorted(options | {ANY})
    ]
    return Joined(kind, granted, ways, **more)


def hours(
    rows: Iterable[tuple[int, date, date | None]], begins: date, ends: date | None, accelerators: int | None
) -> int | None:
    """Accelerator-hours that rows (instances, from, to) come to within a cycle, whole days; None where nothing ends them."""
    if accelerators is None:
        return None
    total = 0
    for delta, first, last in rows:
        until = min((day for day in (last, ends) if day is not None), default=None)
        if until is None:
            return None
        days = (until - max(first, begins) + timedelta(days=1)).days
        total += delta * max(days, 0) * HOURS_A_DAY * accelerators
    return total
