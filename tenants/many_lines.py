"""Many lines of the record at once, as an import writes them: what `actions` does with one after the other, in few statements.

Whatever is not plain raises OneByOne, and nothing is written: the actions then find out which line it is, and say why.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from tenants import entries
from tenants.actions import because, plain
from tenants.history import timeline


class OneByOne(Exception):
    """These lines have to be written one after the other."""


class _Plainly(AbstractContextManager[None]):
    """A savepoint; what a check or the database refuses inside of it is a OneByOne."""

    def __enter__(self) -> None:
        self.atomic = transaction.atomic()
        self.atomic.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.atomic.__exit__(kind, error, trace)
        if isinstance(error, ValidationError | IntegrityError):
            raise OneByOne from error


def add(blocks: Sequence[Any], *, by: str, why: str = "") -> None:
    """Add lines of one kind, of any participations of the scope. Raises OneByOne."""
    with _Plainly():
        _check(blocks)
        type(blocks[0]).objects.bulk_create(blocks)
        type(blocks[0]).kept_together(blocks, by=by)
        told = ((block, {"what": str(block), **because(why)}) for block in blocks)
        timeline.record_many(entries.RECORD_ADDED, told, by=by)


def edit(asked: Sequence[tuple[Any, Mapping[str, Any]]], *, by: str, why: str = "") -> None:
    """Change fields of lines of one kind: (line as it was read, field -> value). Raises OneByOne, also when one was changed since."""
    model = type(asked[0][0])
    with _Plainly():
        held = model.objects.select_for_update().order_by("pk").in_bulk([block.pk for block, _changes in asked])
        changed: list[tuple[Any, dict[str, list[Any]]]] = []
        for block, changes in asked:
            row = held.get(block.pk)
            if row is None or row.version != block.version:
                raise OneByOne
            pairs = {name: (getattr(row, name), new) for name, new in changes.items() if getattr(row, name) != new}
            if not pairs:
                continue
            for name, (_old, new) in pairs.items():
                setattr(row, name, new)
            row.version, row.why = row.version + 1, why
            changed.append((row, {name: [plain(old), plain(new)] for name, (old, new) in pairs.items()}))
        if not changed:
            return
        rows = [row for row, _told in changed]
        _check(rows)
        _save(rows, {name for _row, told in changed for name in told})
        model.kept_together(rows, by=by)
        told_of = (
            (row, {"what": str(row), "fields": sorted(told), "changes": told, **because(why)}) for row, told in changed
        )
        timeline.record_many(entries.RECORD_CHANGED, told_of, by=by)


def _check(rows: Sequence[Any]) -> None:
    """Constraints are the database's: what breaks one is found out one by one."""
    keys = [field.name for field in rows[0]._meta.concrete_fields if field.is_relation]
    for row in rows:
        row.clean_fields(exclude=keys)
    type(rows[0]).clean_together(rows)


def _save(rows: Sequence[Any], names: set[str]) -> None:
    columns = {field.name for field in rows[0]._meta.concrete_fields}
    if "updated_at" in columns:
        now = timezone.now()  # bulk_update() leaves to us what save() does
        for row in rows:
            row.updated_at = now
    type(rows[0]).objects.bulk_update(rows, sorted((names | {"version", "updated_at"}) & columns))
