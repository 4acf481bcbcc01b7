"""The blocks of a record that are in the file as their columns are named: written, checked and read by these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

from program.transfer import records
from program.transfer.dates import Row, Shift
from tenants.models import DataIngest, Evaluation, Milestone, MonitoringLink, Result
from tenants.models.record import RecordBlock

# Name in the file -> the block, and by what two of its rows are the same.
BLOCKS: dict[str, tuple[type[RecordBlock], tuple[str, ...]]] = {
    "milestones": (Milestone, ("title",)),
    "data": (DataIngest, ("name",)),
    "monitoring_links": (MonitoringLink, ("name",)),
    "evaluations": (Evaluation, ("model_code", "benchmark", "measured_on")),
    "results": (Result, ("kind", "title")),
}
OURS = {"id", "tenant", "created_at", "participation", "version", "updated_at"}


def columns(model: type[RecordBlock]) -> list[Any]:
    """What people have written into it."""
    return [field for field in model._meta.concrete_fields if field.name not in OURS]


def written(places: list[UUID]) -> defaultdict[UUID, Row]:
    """Participation -> its blocks by their names; those without rows are left out."""
    found: defaultdict[UUID, Row] = defaultdict(dict)
    for name, (model, key) in BLOCKS.items():
        for block in model.objects.filter(participation__in=places).order_by(*key, "pk"):
            found[block.participation_id].setdefault(name, []).append(_row(block))
    return found


def _row(block: RecordBlock) -> Row:
    values = {field.name: getattr(block, field.name) for field in columns(type(block))}
    return {name: _plain(value) for name, value in values.items() if value not in (None, "", [])}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value.isoformat() if isinstance(value, date) else value


def read(row: Row, shift: Shift) -> Iterator[tuple[RecordBlock, tuple[str, ...]]]:
    """The blocks of a participant of the file, not yet kept, each with the names of what makes it the same as another."""
    for name, (model, key) in BLOCKS.items():
        for told in row.get(name, []):
            yield (
                model(
                    **{
                        field.name: _value(field, told[field.name], shift)
                        for field in columns(model)
                        if field.name in told
                    }
                ),
                key,
            )


def _value(field: Any, value: Any, shift: Shift) -> Any:
    if isinstance(field, models.DateField):
        return shift.day(value)
    return Decimal(str(value)) if isinstance(field, models.DecimalField) else field.to_python(value)


def problems(told: Row) -> Iterator[str]:
    """Rows that their columns do not take."""
    for place_of, _slug, row in records.of(told):
        codes = {model["code"] for model in row["models"]}
        for name, (model, _key) in BLOCKS.items():
            rows = row.get(name, [])
            for place, one in enumerate(rows if isinstance(rows, list) else [None]):
                where = f"{place_of}.{name}[{place}]"
                if not isinstance(one, dict):
                    yield f"{where}: is not a list of named fields"
                    continue
                yield from _of_row(model, one, where)
                if "model_code" in one and one["model_code"] not in codes:
                    yield f"{where}.model_code: {one['model_code']} is no model of this participant"


def _of_row(model: type[RecordBlock], row: Row, where: str) -> Iterator[str]:
    known = {field.name: field for field in columns(model)}
    for name in sorted(set(row) - set(known)):
        yield f"{where}.{name}: there is no such field"
    for name, field in known.items():
        needed = name not in row and not field.blank and not field.has_default()
        if needed:
            yield f"{where}.{name}: is missing"
        elif name in row:
            try:
                field.clean(row[name], None)
            except (ValidationError, TypeError) as error:
                yield f"{where}.{name}: {' '.join(getattr(error, 'messages', [str(error)]))}"
