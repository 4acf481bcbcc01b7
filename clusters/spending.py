"""What a cluster has cost: the hours that instances sat in its seats, at the prices of the operator's file."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, Sum
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from clusters import foresight
from clusters.models import Cluster, NodeInstance
from clusters.plans.prices import CENT
from tenants.web.problems import Refused

HOUR = Decimal(3600)


@dataclass(frozen=True)
class Spent:
    """Node-hours of one instance type; `amount` is None where the file has no price."""

    instance_type: str
    hours: Decimal
    price: Decimal | None

    @property
    def amount(self) -> Decimal | None:
        return None if self.price is None else (self.hours * self.price).quantize(CENT)


@dataclass(frozen=True)
class Spending:
    lines: tuple[Spent, ...]
    currency: str
    dated: date | None
    expired: bool = False
    fictional: bool = False
    trouble: str = ""  # why there are no prices

    @property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines if line.amount is not None), Decimal(0)).quantize(CENT)

    @property
    def unpriced(self) -> list[str]:
        return [line.instance_type for line in self.lines if line.amount is None]

    @property
    def hours(self) -> Decimal:
        return sum((line.hours for line in self.lines), Decimal(0)).quantize(Decimal("0.1"))


def node_hours(row: Cluster) -> dict[str, Decimal]:
    """Hours by instance type, by the database's clock; who still sits is counted until now."""
    stay = ExpressionWrapper(Coalesce(F("sat_until"), Now()) - F("sat_from"), output_field=DurationField())
    rows = (
        NodeInstance.objects.filter(node__cluster=row)
        .values("node__instance_type")
        .annotate(stayed=Sum(stay))
        .order_by("node__instance_type")
    )
    return {found["node__instance_type"]: Decimal(found["stayed"].total_seconds()) / HOUR for found in rows}


def spent(row: Cluster) -> Spending:
    """Node-hours and what they cost."""
    hours = node_hours(row)
    try:
        known = foresight.price_list()
    except Refused as refused:
        lines = tuple(Spent(kind, found, None) for kind, found in hours.items())
        return Spending(lines, "", None, trouble=str(refused.sentence))
    engine = "ec2" if row.orchestrator == "parallelcluster" else "hyperpod"
    lines = tuple(Spent(kind, found, known.instance_hour(engine, kind, row.region)) for kind, found in hours.items())
    return Spending(lines, known.currency, known.dated, known.expired(timezone.localdate()), known.fictional)


def told(found: Spending) -> dict[str, Any]:
    """As the API says it."""
    return {
        "currency": found.currency,
        "total": str(found.total),
        "node_hours": str(found.hours),
        "unpriced": found.unpriced,
        "prices_dated": found.dated.isoformat() if found.dated else None,
        "prices_expired": found.expired,
        "prices_fictional": found.fictional,
        "lines": [
            {
                "instance_type": line.instance_type,
                "hours": str(line.hours.quantize(Decimal("0.01"))),
                "price": None if line.price is None else str(line.price),
                "amount": None if line.amount is None else str(line.amount),
            }
            for line in found.lines
        ],
    }
