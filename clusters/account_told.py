"""What an account told of itself, kind by kind with its age, laid over what the catalogue and the ledgers know. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters import facts as known_facts
from clusters.facts import Facts
from clusters.preflight_ec2 import Held
from clusters.training_plans import Plan

STALE = timedelta(hours=24)  # an account is read every hour; what is older is no longer known


@dataclasses.dataclass(frozen=True)
class Fact:
    """One kind of fact. `body` is None where nobody knows, or no longer; `why` says why then."""

    body: Mapping[str, Any] | None = None
    read_at: datetime | None = None
    why: str = ""


NOBODY = Fact()


class Told:
    """Everything that an account told, as of now."""

    def __init__(self, facts: Mapping[str, Fact], now: datetime) -> None:
        self.facts = {name: _unless_stale(each, now) for name, each in facts.items()}

    def __getitem__(self, kind: str) -> Fact:
        return self.facts.get(kind, NOBODY)

    def value(self, kind: str, name: str, otherwise: Any = None) -> Any:
        """One thing of a kind, or `otherwise` where the kind is not known."""
        body = self[kind].body
        return otherwise if body is None else body.get(name, otherwise)


NOTHING = Told({}, datetime.min.replace(tzinfo=UTC))


def _unless_stale(fact: Fact, now: datetime) -> Fact:
    if fact.read_at is None or now - fact.read_at > STALE:
        return Fact(None, fact.read_at, fact.why)
    return fact


def offers(facts: Facts, told: Told, region: str) -> Facts:
    """The catalogue's facts with the account's own zones of each type in front of the snapshot's."""
    offered = told.value("offerings", "offered")
    if not offered:
        return facts
    own = {(region, name): tuple(zones) for name, zones in offered.items()}
    return dataclasses.replace(facts, offerings={**facts.offerings, **own})


def plans(recorded: Sequence[Plan], told: Told, region: str) -> list[Plan]:
    """Training plans as the account lists them, where it did; one that it does not list is none."""
    listed = told.value("capacity", "plans")
    if listed is None:
        return list(recorded)
    used = {each.name: each.used for each in recorded}
    return [
        Plan(
            name, known_facts.plain_name(one["type"]), region, _zone(one, told), **_common(one), used=used.get(name, 0)
        )
        for name, one in listed.items()
    ]


def held(recorded: Sequence[Held], told: Told, region: str) -> list[Held]:
    """The same of reservations of EC2."""
    listed = told.value("capacity", "reservations")
    if listed is None:
        return list(recorded)
    used = {each.id: each.used for each in recorded}
    return [
        Held(name, one["kind"], known_facts.plain_name(one["type"]), region, _zone(one, told), **_common(one), used=used.get(name, 0))
        for name, one in listed.items()
    ]  # fmt: skip


def _zone(one: Mapping[str, Any], told: Told) -> str:
    """A plan names its zone by the name that only this account gives it."""
    names = told.value("zones", "names") or {}
    return str(one.get("zone_id") or names.get(one.get("zone_name", ""), ""))


def _common(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "count": int(one["count"]),
        "state": str(one["state"]).lower(),
        "starts_at": _moment(one.get("starts")),
        "ends_at": _moment(one.get("ends")),
    }


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
