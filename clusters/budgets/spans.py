"""Pure: what costs from when to when, each instance-moment once, whether it runs, is reserved or is only granted."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Literal

Kind = Literal["reserved", "instances", "storage", "granted"]
KINDS: tuple[Kind, ...] = ("reserved", "instances", "storage", "granted")


@dataclass(frozen=True)
class Good:
    """What has a price: an instance type or a file system, on an engine (hyperpod, ec2, storage) in a Region."""

    what: str
    engine: str
    region: str


@dataclass(frozen=True)
class Stay:
    """So many (instances, or GiB) from a moment to a moment (half open). `claim`: the reservation that they run in."""

    good: Good
    count: int
    begins: datetime
    ends: datetime
    claim: str = ""


@dataclass(frozen=True)
class Reserved:
    """Instances that are paid for whether something runs in them or not."""

    name: str
    good: Good
    count: int
    begins: datetime
    ends: datetime


@dataclass(frozen=True)
class Grant:
    """A step of what the programme allows; `asked`: it was granted for a request, so money was promised for it."""

    good: Good
    delta: int
    begins: datetime
    ends: datetime
    asked: bool


@dataclass(frozen=True)
class Piece:
    """What costs, and why: so many of one good, the same all the time from its beginning to its end."""

    kind: Kind
    good: Good
    count: int
    begins: datetime
    ends: datetime

    @property
    def hours(self) -> Decimal:
        """Instance-hours."""
        return self.count * Decimal((self.ends - self.begins).total_seconds()) / 3600


def pieces(stays: Sequence[Stay], reserved: Sequence[Reserved], grants: Sequence[Grant], now: datetime) -> list[Piece]:
    """What costs. Whatever runs in a reservation costs nothing beside it; what exceeds it does, as do instances before it
    begins and after its end. Of what is granted for a request only what is neither reserved nor running binds money, and
    only from now on: what was not used costs nothing."""
    found = [Piece("reserved", one.good, one.count, one.begins, one.ends) for one in reserved if one.ends > one.begins]
    found += _beyond(stays, {one.name: one for one in reserved})
    return [*found, *_free_of_grants(found, grants, now)]


def _beyond(stays: Sequence[Stay], reserved: Mapping[str, Reserved]) -> Iterator[Piece]:
    claimed: dict[tuple[str, Good], list[Stay]] = defaultdict(list)
    for stay in stays:
        if stay.ends <= stay.begins:
            continue
        if stay.claim in reserved:
            claimed[stay.claim, stay.good].append(stay)
        else:
            kind: Kind = "storage" if stay.good.engine == "storage" else "instances"
            yield Piece(kind, stay.good, stay.count, stay.begins, stay.ends)
    for name in sorted({name for name, _good in claimed}):
        yield from _of_reservation(reserved[name], [(g, s) for (n, g), s in claimed.items() if n == name])


def _of_reservation(one: Reserved, goods: Iterable[tuple[Good, list[Stay]]]) -> Iterator[Piece]:
    """What does not fit in; instances of another type, or of another Region, are not in it at all."""
    for good, stays in goods:
        fits = (good.what, good.region) == (one.good.what, one.good.region)
        edges = {edge for stay in stays for edge in (stay.begins, stay.ends)}
        for begins, ends in pairwise(sorted(edges | {one.begins, one.ends})):
            there = sum(stay.count for stay in stays if stay.begins <= begins < stay.ends)
            room = one.count if fits and one.begins <= begins < one.ends else 0
            if there > room:
                yield Piece("instances", good, there - room, begins, ends)


def _free_of_grants(taken: Sequence[Piece], grants: Sequence[Grant], now: datetime) -> Iterator[Piece]:
    places: dict[tuple[str, str], list[Grant]] = defaultdict(list)
    for grant in grants:
        places[grant.good.what, grant.good.region].append(grant)
    for place, steps in sorted(places.items()):
        if not any(step.asked for step in steps):
            continue
        used = [one for one in taken if (one.good.what, one.good.region) == place and one.ends > now]
        edges = {edge for step in steps for edge in (step.begins, step.ends)}
        edges |= {edge for one in used for edge in (one.begins, one.ends)}
        for begins, ends in pairwise(sorted({max(edge, now) for edge in edges} | {now})):
            holds = [step for step in steps if step.begins <= begins < step.ends]
            asked = max(0, sum(step.delta for step in holds if step.asked))
            there = sum(one.count for one in used if one.begins <= begins < one.ends)
            free = min(asked, max(0, sum(step.delta for step in holds) - there))
            if free:
                yield Piece("granted", steps[0].good, free, begins, ends)


def cut(found: Iterable[Piece], moments: Iterable[datetime]) -> Iterator[Piece]:
    """The same, with none that goes across one of these moments."""
    edges = sorted(set(moments))
    for piece in found:
        inside = [edge for edge in edges if piece.begins < edge < piece.ends]
        for begins, ends in pairwise([piece.begins, *inside, piece.ends]):
            yield replace(piece, begins=begins, ends=ends)


def together(found: Iterable[Stay]) -> list[Stay]:
    """Equal stays as one with their count: the nodes of a group come and go at the same moments."""
    counts: dict[Stay, int] = defaultdict(int)
    for stay in found:
        counts[replace(stay, count=1)] += stay.count
    return [replace(stay, count=count) for stay, count in counts.items() if count]


@dataclass(frozen=True)
class Change:
    """What if: so many accelerated instances fewer from now on, and everything gone on that day. Nothing: as it is."""

    fewer: int = 0
    ends: date | None = None

    def __bool__(self) -> bool:
        return bool(self.fewer or self.ends)


def changed(
    stays: Sequence[Stay], now: datetime, fewer: int, ends: datetime | None, kinds: frozenset[str]
) -> list[Stay]:
    """The stays if from now on so many instances of these types were fewer, those outside of reservations and the most first,
    and if all ended then. What is reserved stays paid, so giving it up saves nothing."""
    left, found = fewer, []
    ahead = [stay for stay in stays if stay.ends > now]
    for stay in sorted(ahead, key=lambda one: (one.claim != "", -one.count)):
        gone = min(left, stay.count) if stay.good.what in kinds and not stay.claim else 0
        left -= gone
        last = min(stay.ends, max(ends, now)) if ends else stay.ends
        if stay.begins < now:
            found += [replace(stay, ends=now)]
        found.append(replace(stay, begins=max(stay.begins, now), ends=last, count=stay.count - gone))
    return [stay for stay in stays if stay.ends <= now] + [
        stay for stay in found if stay.count and stay.ends > stay.begins
    ]
