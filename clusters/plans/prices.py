"""What a configuration costs for an hour and a month, by a dated price file that the operator of the portal owns."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from clusters.architectures.configuration import Configuration
from clusters.plans.templates import resources
from clusters.wording import gettext_noop

HOURS_A_MONTH = 730
UNITS = (gettext_noop("instances"), gettext_noop("GiB"), gettext_noop("MB/s"), gettext_noop("resources"))
CENT = Decimal("0.01")


class UnreadablePrices(ValueError):
    """The operator's price file is not there or says something that is no price."""


@dataclass(frozen=True)
class Prices:
    """The price file as it is; a question that it does not answer is answered with None."""

    title: str
    dated: date
    expires: date
    currency: str
    fictional: bool
    tables: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)

    def expired(self, today: date) -> bool:
        return today > self.expires

    def _find(self, table: str, name: str, region: str) -> Decimal | None:
        price = self.tables.get(table, {}).get(name)
        factor = self.tables.get("region_factor", {}).get(region, Decimal(1))
        return None if price is None else price * factor

    def instance_hour(self, engine: str, instance_type: str, region: str) -> Decimal | None:
        return self._find("hyperpod" if engine == "hyperpod" else "ec2", instance_type.removeprefix("ml."), region)

    def gib_month(self, kind: str, region: str) -> Decimal | None:
        return self._find("gib_month", kind, region)

    def mbs_month(self, kind: str, region: str) -> Decimal | None:
        return self._find("mbs_month", kind, region)

    def resource_hour(self, kind: str, region: str) -> Decimal | None:
        return self._find("resource_hour", kind, region)

    def charged(self, kind: str) -> bool:
        """Whether such a resource costs something by the hour."""
        return kind in self.tables.get("resource_hour", {})


def read_prices(text: str) -> Prices:
    """Raises UnreadablePrices with a sentence that names the line or the field."""
    try:
        told = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise UnreadablePrices(f"The price file is no TOML: {error}.") from error
    for name, kind in {"title": str, "dated": date, "expires": date, "currency": str, "fictional": bool}.items():
        if not isinstance(told.get(name), kind):
            raise UnreadablePrices(f"The price file needs {name!r}; it says {told.get(name)!r}.")
    tables = {name: _table(name, value) for name, value in told.items() if isinstance(value, dict)}
    return Prices(told["title"], told["dated"], told["expires"], told["currency"], told["fictional"], tables)


def _table(name: str, told: Mapping[str, Any]) -> dict[str, Decimal]:
    found = {}
    for key, value in told.items():
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value < 0:
            raise UnreadablePrices(f"The price of {key!r} in [{name}] is {value!r}; it has to be a number, 0 or more.")
        found[key] = Decimal(value)
    return found


@lru_cache(maxsize=4)
def _read(path: str, _changed: int) -> Prices:
    return read_prices(Path(path).read_text("utf-8"))


def prices(path: str) -> Prices:
    """The file at this path; it is read anew when it was changed. Raises UnreadablePrices."""
    try:
        return _read(path, Path(path).stat().st_mtime_ns)
    except OSError as error:
        raise UnreadablePrices(f"The price file {path} cannot be read: {error.strerror}.") from error


@dataclass(frozen=True)
class Line:
    """One thing that costs; `each_hour` is None where the file has no price."""

    what: str  # as the price file calls it
    count: int
    unit: str
    each_hour: Decimal | None
    advance: str = ""  # the plan or reservation that is paid in advance

    @property
    def per_hour(self) -> Decimal | None:
        return None if self.each_hour is None else self.each_hour * self.count

    @property
    def per_month(self) -> Decimal | None:
        return None if self.per_hour is None else self.per_hour * HOURS_A_MONTH


@dataclass(frozen=True)
class Cost:
    """What is known of it, and what has no price."""

    lines: tuple[Line, ...] = ()

    @property
    def per_hour(self) -> Decimal:
        return sum((line.per_hour for line in self.lines if line.per_hour is not None), Decimal(0)).quantize(CENT)

    @property
    def per_month(self) -> Decimal:
        return sum((line.per_month for line in self.lines if line.per_month is not None), Decimal(0)).quantize(CENT)

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(line.what for line in self.lines if line.each_hour is None)


def cost(wish: Configuration, templates: Iterable[tuple[str, Mapping[str, str]]], known: Prices) -> Cost:
    """`templates` are the stacks of the cluster with their parameters: some of their resources cost by the hour."""
    engine, region = wish.made_of().engine, wish.region
    lines = [
        Line(
            group.instance_type,
            group.count,
            "instances",
            known.instance_hour(engine, group.instance_type, region),
            group.training_plan or group.reservation,
        )
        for group in wish.instance_groups
    ]
    lines += _storage(wish, known)
    kinds = [resource.type for text, given in templates for resource in resources(text, given).values()]
    lines += [
        Line(kind.split("::", 1)[1], kinds.count(kind), "resources", known.resource_hour(kind, region))
        for kind in sorted(set(kinds))
        if known.charged(kind)
    ]
    return Cost(tuple(lines))


def _storage(wish: Configuration, known: Prices) -> list[Line]:
    lustre, openzfs, region = wish.storage.lustre, wish.storage.openzfs, wish.region
    rate = known.gib_month(f"lustre-{lustre.mbs_per_tib}", region)
    lines = [Line(f"lustre-{lustre.mbs_per_tib}", lustre.capacity_gib, "GiB", _hourly(rate))]
    if openzfs:
        lines.append(Line("openzfs", openzfs.capacity_gib, "GiB", _hourly(known.gib_month("openzfs", region))))
        lines.append(Line("openzfs", openzfs.mbs, "MB/s", _hourly(known.mbs_month("openzfs", region))))
    return lines


def storage_line(kind: str, rate: int | None, size: int, region: str, known: Prices) -> Line:
    """One file system by its size; the throughput of OpenZFS, which costs apart, is not known here."""
    what = f"lustre-{rate}" if kind == "lustre" else kind
    return Line(what, size, "GiB", _hourly(known.gib_month(what, region)))


def _hourly(monthly: Decimal | None) -> Decimal | None:
    return None if monthly is None else monthly / HOURS_A_MONTH
