"""Budgets: the rows whose sum each is, what happens at its limit, and the exchange rates that the office entered."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from clusters import states
from clusters.budgets.actions import wish
from clusters.models import BudgetRow, BudgetWatch, ExchangeRate
from program.transfer.carried import columns
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported
from program.transfer.writing.names import Writing
from tenants.history import timeline
from tenants.models import Participation, Programme
from tenants.wall.acting import acting_for

ROW = ("line", "delta", "currency", "why", "reference", "created_at")
WATCH = ("rule", "counts", "paused_until", "paused_why", "warned")
RATE = ("of", "rate", "currency", "starts_on", "source", "created_at")


def budget_rows(writing: Writing) -> list[Row]:
    """By participant and in the order in which they were written."""
    rows = BudgetRow.objects.filter(participation__in=writing.all_participations)
    found = [
        {"participant": writing.slugs[row.tenant_id]}
        | writing.in_cycle(row.participation_id)
        | columns.told(row, ROW)
        | ({"moved": str(row.moved)} if row.moved else {})
        | {"by": writing.actor(row.by)}
        for row in rows.order_by("created_at", "line", "delta", "pk")
    ]
    return sorted(found, key=lambda row: row["participant"])


def budget_limits(writing: Writing) -> list[Row]:
    """Of whom something else holds than the programme has, or who was told of the limit already."""
    rows = BudgetWatch.objects.filter(participation__in=writing.all_participations).order_by("pk")
    found = [(row, columns.told(row, WATCH)) for row in rows]
    told = [
        {"participant": writing.slugs[row.tenant_id]}
        | writing.in_cycle(row.participation_id)
        | {name: value for name, value in values.items() if value != 0}
        | ({"paused_by": writing.actor(row.paused_by)} if row.paused_by else {})
        for row, values in found
        if any(values.values())
    ]
    return sorted(told, key=lambda row: (row["participant"], row.get("in_cycle", "")))


def exchange_rates(writing: Writing) -> list[Row]:
    rows = ExchangeRate.objects.filter(programme=writing.programme).order_by("starts_on", "pk")
    return [columns.told(row, RATE) | {"by": writing.actor(row.by)} for row in rows]


def problems(told: Row) -> Iterator[str]:
    people = {row["handle"] for row in told["people"]}
    for section, model, names in (("budget_rows", BudgetRow, ROW), ("budget_limits", BudgetWatch, WATCH)):
        yield from columns.shapes(told.get(section, []), section)
        for where, row in columns.rows(told.get(section, []), section):
            yield from columns.participant(row, told, where)
            yield from columns.problems(model, row, names, where)
            yield from columns.person(row, "by", people, where)
            yield from columns.person(row, "paused_by", people, where)
            if "moved" in row and not _is_id(row["moved"]):
                yield f"{where}.moved: {str(row['moved'])[:60]} is no id"
    yield from columns.shapes(told.get("exchange_rates", []), "exchange_rates")
    for where, row in columns.rows(told.get("exchange_rates", []), "exchange_rates"):
        yield from columns.problems(ExchangeRate, row, RATE, where)
        yield from columns.person(row, "by", people, where)


def _is_id(text: object) -> bool:
    try:
        UUID(str(text))
    except ValueError:
        return False
    return True


def load(past: Past) -> int:
    """What is there stays: a participation that has rows gets none. Returns how many rows came in."""
    count = 0
    for slug, in_cycle, place, _record in past.records():
        rows, limits = (
            [row for row in past.of(section, slug) if row.get("in_cycle") == in_cycle]
            for section in ("budget_rows", "budget_limits")
        )
        with acting_for(place.tenant_id, staff=True):
            if not BudgetRow.objects.filter(participation=place).exists():
                for row in rows:
                    with one_action():
                        _row(past, row, place)
                    count += 1
            for row in limits:
                if not BudgetWatch.objects.filter(participation=place).exists():
                    by = past.actor(row["paused_by"]) if "paused_by" in row else ""
                    values = columns.values(BudgetWatch, row, WATCH, past.shift)
                    BudgetWatch.objects.create(tenant_id=place.tenant_id, participation=place, paused_by=by, **values)
            if BudgetRow.objects.filter(participation=place).exists():
                wish(place)
    _rates(past)
    return count


def _row(past: Past, row: Row, place: Participation) -> None:
    by = past.actor(row.get("by"))
    before = sum(one.delta for one in BudgetRow.objects.filter(participation=place, currency=row["currency"]))
    made = BudgetRow.objects.create(
        tenant_id=place.tenant_id, participation=place, by=by, moved=UUID(row["moved"]) if "moved" in row else None,
        **columns.values(BudgetRow, row, ROW, past.shift),
    )  # fmt: skip
    timeline.record(
        states.BUDGET_CHANGED, about=made, by=by, at=made.created_at,
        **imported(
            delta=f"{made.delta:+,.2f}", currency=made.currency, line=made.line, after=f"{before + made.delta:,.2f}",
            why=made.why, reference=made.reference,
        ),
    )  # fmt: skip


def _rates(past: Past) -> None:
    programme = Programme.objects.get(code=past.told["programme"]["code"])
    if ExchangeRate.objects.filter(programme=programme).exists():
        return
    with acting_for(past.office, staff=True):
        for row in past.told.get("exchange_rates", []):
            by = past.actor(row.get("by"))
            made = ExchangeRate.objects.create(
                programme=programme, by=by, **columns.values(ExchangeRate, row, RATE, past.shift)
            )
            with one_action():
                timeline.record(
                    states.BUDGET_RATE, about=past.office, by=by, at=made.created_at,
                    **imported(
                        of=made.of, rate=f"{made.rate.normalize():f}", currency=made.currency,
                        day=made.starts_on.isoformat(), told_by=made.source,
                    ),
                )  # fmt: skip
