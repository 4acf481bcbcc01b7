"""Prices and exchange rates of their time: the price file as it was kept whenever it changed, and what the office entered."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from django.core.serializers.json import DjangoJSONEncoder
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from clusters import foresight
from clusters.budgets.spans import Good
from clusters.models import ExchangeRate, PriceList
from clusters.plans.prices import HOURS_A_MONTH, Prices
from tenants.models import Programme
from tenants.web.problems import Refused

STORAGE, THROUGHPUT = "storage", "openzfs-mbs"


@dataclass(frozen=True)
class Book:
    """Answers what an hour of something cost at a moment, in `currency`; None: not known."""

    currency: str
    zone: str
    lists: Sequence[Prices] = ()  # by the day they are dated
    rates: Mapping[str, Sequence[tuple[date, Decimal]]] = field(default_factory=dict)  # of a currency, by day
    trouble: str = ""

    @cached_property
    def _dated(self) -> list[date]:
        return [one.dated for one in self.lists]

    def at(self, day: date) -> Prices | None:
        """The list that held; before the first that is known, the first: it says so in the notes."""
        return self.lists[max(bisect_right(self._dated, day) - 1, 0)] if self.lists else None

    def rate(self, currency: str, day: date) -> Decimal | None:
        if currency == self.currency:
            return Decimal(1)
        held = [rate for first, rate in self.rates.get(currency, ()) if first <= day]
        return held[-1] if held else None

    def __call__(self, good: Good, moment: datetime) -> Decimal | None:
        day = moment.astimezone(ZoneInfo(self.zone)).date()
        known = self.at(day)
        each = _each(known, good) if known else None
        rate = self.rate(known.currency, day) if known else None
        return each * rate if each is not None and rate is not None else None

    def days(self) -> list[date]:
        """When a price or a rate changes."""
        return [*self._dated, *(day for steps in self.rates.values() for day, _rate in steps)]

    def notes(self, begins: date, today: date) -> list[str]:
        """What has to be known of these prices."""
        found = [self.trouble] if self.trouble else []
        newest = self.at(today)
        if newest is None:
            return [*found, _("No price is known, so no amount is.")]
        if self.rate(newest.currency, today) is None:
            sentence = _("Prices are in %(of)s, and no rate to %(currency)s is entered: no amount is known.")
            found.append(sentence % {"of": newest.currency, "currency": self.currency})
        elif newest.currency != self.currency and self.rate(newest.currency, begins) is None:
            sentence = _(
                "No rate from %(of)s to %(currency)s is entered for all of the term: earlier amounts are not known."
            )
            found.append(sentence % {"of": newest.currency, "currency": self.currency})
        if newest.fictional:
            found.append(_("The prices are fictional."))
        if newest.expired(today):
            found.append(
                _("The prices expired on %(day)s.") % {"day": date_format(newest.expires, "SHORT_DATE_FORMAT")}
            )
        if self._dated[0] > begins:
            sentence = _(
                "No prices from before %(day)s are kept, so the hours before it are reckoned at the prices of that day."
            )
            found.append(sentence % {"day": date_format(self._dated[0], "SHORT_DATE_FORMAT")})
        return found


def _each(known: Prices, good: Good) -> Decimal | None:
    """For an hour of one; of a file system for an hour of one GiB, or of one MB/s."""
    if good.engine != STORAGE:
        return known.instance_hour(good.engine, good.what, good.region)
    monthly = (
        known.mbs_month("openzfs", good.region) if good.what == THROUGHPUT else known.gib_month(good.what, good.region)
    )
    return None if monthly is None else monthly / HOURS_A_MONTH


def book(programme: Programme) -> Book:
    """All that is known of prices, the file as it is now included."""
    lists, trouble = [_read(row) for row in PriceList.objects.order_by("dated", "kept_at")], ""
    try:
        now = foresight.price_list()
        lists = sorted([*lists, now], key=lambda one: one.dated)
    except Refused as refused:
        trouble = str(refused.sentence)
    rates: dict[str, list[tuple[date, Decimal]]] = {}
    known = ExchangeRate.objects.filter(programme=programme.pk, currency=programme.currency).order_by("starts_on", "pk")
    for of, day, rate in known.values_list("of", "starts_on", "rate"):
        rates.setdefault(of, []).append((day, rate))
    return Book(programme.currency, programme.timezone, lists, rates, trouble)


def keep() -> bool:
    """Keep the price file as it is now, once; whether it was a new one. Raises Refused when it cannot be read."""
    now = foresight.price_list()
    tables = {name: dict(table) for name, table in now.tables.items()}
    told: dict[str, Any] = {
        "title": now.title[:200], "dated": now.dated, "expires": now.expires, "currency": now.currency[:3],
        "fictional": now.fictional, "tables": tables,
    }  # fmt: skip
    text = json.dumps(told, cls=DjangoJSONEncoder, sort_keys=True)
    _row, new = PriceList.objects.get_or_create(digest=hashlib.sha256(text.encode()).hexdigest(), defaults=told)
    return new


def _read(row: PriceList) -> Prices:
    tables = {name: {key: Decimal(str(price)) for key, price in table.items()} for name, table in row.tables.items()}
    return Prices(row.title, row.dated, row.expires, row.currency, row.fictional, tables)
