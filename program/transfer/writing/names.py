"""Whom and what the file names: people by their e-mail addresses, participants by slug, and numbers that are unique in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property, wraps
from typing import Any
from uuid import UUID

from program.transfer.dates import Row
from tenants.models import ApiToken, Cycle, Membership, Participation, Person, Programme, Tenant
from tenants.participating import current_first

ENGINE = "engine"


@dataclass(frozen=True)
class Writing:
    """What every section shares while everybody is being read: the moment, and who is who."""

    now: datetime

    @cached_property
    def programme(self) -> Programme | None:
        return Programme.objects.order_by("pk").first()

    @cached_property
    def cycles(self) -> list[Cycle]:
        return list(Cycle.objects.filter(programme=self.programme).order_by("starts_on", "code"))

    @cached_property
    def running(self) -> Cycle | None:
        """The cycle whose sessions and reviews the file tells: the one that runs, else the newest."""
        return next(
            (cycle for cycle in self.cycles if cycle.state == "running"), self.cycles[-1] if self.cycles else None
        )

    @cached_property
    def every(self) -> dict[UUID, list[Participation]]:
        """Participant -> all of its participations, the one that pages speak of first."""
        rows = current_first().select_related("tenant", "cycle")
        found: defaultdict[UUID, list[Participation]] = defaultdict(list)
        for row in sorted(rows, key=lambda one: (one.rank, -one.cycle.starts_on.toordinal(), one.cycle.code)):
            found[row.tenant_id].append(row)
        return found

    @cached_property
    def participations(self) -> list[Participation]:
        """Of each participant the one that pages speak of, in the order of their codes."""
        return sorted((rows[0] for rows in self.every.values()), key=lambda row: (row.code, row.tenant.slug))

    @cached_property
    def all_participations(self) -> list[UUID]:
        return [row.pk for rows in self.every.values() for row in rows]

    def in_cycle(self, participation: UUID | None) -> Row:
        """What names a participation beside its participant, where it is another than the one that pages speak of."""
        code = self._others.get(participation) if participation else None
        return {"in_cycle": code} if code else {}

    @cached_property
    def _others(self) -> dict[UUID, str]:
        return {row.pk: row.cycle.code for rows in self.every.values() for row in rows[1:]}

    @cached_property
    def of_tenant(self) -> dict[UUID, Participation]:
        return {row.tenant_id: row for row in self.participations}

    @cached_property
    def slugs(self) -> dict[UUID, str]:
        """Of the participants that the file has."""
        return {row.tenant_id: row.tenant.slug for row in self.participations}

    @cached_property
    def office(self) -> Tenant | None:
        return Tenant.objects.filter(is_office=True).first()

    @cached_property
    def people(self) -> dict[UUID, Person]:
        """Everybody who has, or once had, a role."""
        seated = Membership.objects.values("person")
        return {person.pk: person for person in Person.objects.filter(pk__in=seated).order_by("email")}

    @cached_property
    def tokens(self) -> dict[str, UUID]:
        return {str(pk): person for pk, person in ApiToken.objects.values_list("pk", "person")}

    def handle(self, person: UUID | None) -> str | None:
        """How the file calls a person; None for nobody, and for somebody who never had a role."""
        found = self.people.get(person) if person else None
        return found.email if found else None

    def actor(self, actor: str) -> str:
        """A person's handle, also behind a token; the engine and providers by their own names."""
        word, _sep, key = actor.partition(":")
        if word == "provider":
            return actor
        if word == "token":
            return self.handle(self.tokens.get(key)) or ENGINE
        return (self.handle(UUID(key)) if word == "person" else None) or ENGINE


def once(find: Callable[[Writing], Any]) -> Callable[[Writing], Any]:
    """What several sections need is read for the first of them."""

    @wraps(find)
    def found(writing: Writing) -> Any:
        kept: dict[str, Any] = writing.__dict__.setdefault("found", {})
        if find.__name__ not in kept:
            kept[find.__name__] = find(writing)
        return kept[find.__name__]

    return found


def told(**values: Any) -> Row:
    """A row without what is not known: the reader takes a missing key for that."""
    return {name: value for name, value in values.items() if value not in (None, "")}


def stamp(at: datetime | None) -> str | None:
    """UTC to the second, or to the microsecond where it has one, so that it comes back as it was."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at else None


def day(on: date | None) -> str | None:
    return on.isoformat() if on else None


def number(value: Decimal | float | None) -> int | float | None:
    """23.000 is 23, and 4.700 is 4.7."""
    if value is None:
        return None
    return int(value) if value == int(value) else float(value)


def unique(numbers: Mapping[UUID, tuple[str, str]]) -> dict[UUID, str]:
    """Key -> (number, slug) to an id of its own: the number, and with the participant where several have the same one."""
    times = Counter(number for number, _slug in numbers.values())
    return {key: number if times[number] == 1 else f"{number}/{slug}" for key, (number, slug) in numbers.items()}


def numbered(known: Iterable[tuple[Any, str]], word: str) -> dict[Any, str]:
    """In their order: the id that each came with, or the next one that is free."""
    rows = list(known)
    taken, following, ids = {name for _key, name in rows if name}, 0, {}
    for key, name in rows:
        while not name:
            following += 1
            candidate = f"{word}-{following:04d}"
            name = "" if candidate in taken else candidate
        ids[key] = name
    return ids
