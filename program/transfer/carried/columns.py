"""A row of a table as a row of the file, and back; amounts are texts, because a number of YAML may lose their cents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from program.transfer.dates import Row, Shift, moment
from program.transfer.words import is_machine
from program.transfer.writing.names import stamp


def told(thing: models.Model, names: Iterable[str]) -> Row:
    """The columns by their names, without those that say nothing."""
    values = {name: getattr(thing, name) for name in names}
    return {name: _plain(value) for name, value in values.items() if value not in (None, "", [], {})}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return stamp(value)
    return value.isoformat() if isinstance(value, date) else value


def values(model: type[models.Model], row: Row, names: Iterable[str], shift: Shift) -> dict[str, Any]:
    """The columns that a row of the file says, for its model."""
    return {name: _value(model._meta.get_field(name), row[name], shift) for name in names if name in row}


def _value(field: Any, value: Any, shift: Shift) -> Any:
    if isinstance(field, models.DateTimeField):
        return shift.moment(value)
    return shift.day(value) if isinstance(field, models.DateField) else field.to_python(value)


def rows(told_of: Any, where: str) -> Iterator[tuple[str, Row]]:
    """Each with its place, of those that are rows; the others are told by `shapes`."""
    for number, row in enumerate(told_of if isinstance(told_of, list) else []):
        if isinstance(row, dict):
            yield f"{where}[{number}]", row


def shapes(told_of: Any, where: str) -> Iterator[str]:
    if not isinstance(told_of, list) or not all(isinstance(row, dict) for row in told_of):
        yield f"{where}: is not a list of rows with named fields"


def problems(model: type[models.Model], row: Row, names: Iterable[str], where: str) -> Iterator[str]:
    """What the columns do not take."""
    for name in names:
        field: Any = model._meta.get_field(name)
        if name not in row:
            if not (field.blank or field.null or field.has_default() or field.has_db_default()):
                yield f"{where}.{name}: is missing"
            continue
        try:
            if isinstance(field, models.DateTimeField):
                moment(row[name])
            elif not isinstance(row[name], list | dict) or isinstance(field, models.JSONField):
                field.clean(row[name], None)
            else:
                yield f"{where}.{name}: cannot be {str(row[name])[:60]!r}"
        except ValidationError as error:
            yield f"{where}.{name}: {' '.join(error.messages)}"
        except (TypeError, ValueError, AttributeError):
            yield f"{where}.{name}: cannot be {str(row[name])[:60]!r}"


def person(row: Row, name: str, people: Iterable[str], where: str, *, machine: bool = True) -> Iterator[str]:
    """Somebody of the file, or the engine."""
    handle = row.get(name)
    if handle is not None and handle not in people and not (machine and is_machine(str(handle))):
        yield f"{where}.{name}: {str(handle)[:60]} is no person"


def participant(row: Row, told_all: Row, where: str) -> Iterator[str]:
    if row.get("participant") not in {one["slug"] for one in told_all["participants"]}:
        yield f"{where}.participant: {str(row.get('participant'))[:60]} is no participant"
