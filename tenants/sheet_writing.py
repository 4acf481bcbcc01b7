"""Rows as files that people keep: CSV, XLSX or YAML, written as they are read, a handful of participants at a time."""

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import yaml
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from tenants.import_export import Current, Kind
from tenants.models import Tenant
from tenants.sheets import CSV, XLSX, YAML
from tenants.wall.acting import acting_for
from tenants.web.tables import cell

AT_A_TIME = 50  # participants whose rows are read in one transaction
PIECE = 64 * 1024
TYPES = {
    CSV: "text/csv; charset=utf-8",
    XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    YAML: "application/yaml; charset=utf-8",
}
Rows = Iterable[Sequence[str]]


def rows_of(
    kind: Kind, tenants: Sequence[Tenant], *, staff: bool, wanted: Callable[[Current], bool]
) -> Iterator[list[str]]:
    """The cells of every row, as text; reads in scopes of its own and never yields inside one."""
    for first in range(0, len(tenants), AT_A_TIME):
        some = tenants[first : first + AT_A_TIME]
        with acting_for(*some, staff=staff):
            found = [row for row in kind.rows(some) if wanted(row)]
        for row in found:
            yield [cells_of(kind, row, column.name) for column in kind.columns]


def cells_of(kind: Kind, row: Current, name: str) -> str:
    return row.id if name == "id" else str(kind.by_name[name].write(row.values.get(name)))


def written(kind: Kind, format: str, rows: Rows) -> Iterator[bytes]:
    """A file piece by piece, its first line the columns."""
    names = [column.name for column in kind.columns]
    numbers = {index for index, column in enumerate(kind.columns) if column.look == "number"}
    if format == XLSX:
        return _xlsx(kind.word, names, rows, numbers)
    return (piece.encode() for piece in (_yaml(names, rows) if format == YAML else _csv(names, rows, numbers)))


def _csv(names: Sequence[str], rows: Rows, numbers: set[int]) -> Iterator[str]:
    kept = io.StringIO()
    writer = csv.writer(kept)
    kept.write("\ufeff")  # by which spreadsheets know UTF-8
    writer.writerow(names)
    for row in rows:
        writer.writerow(_safe(row, numbers))
        if kept.tell() > PIECE:
            yield kept.getvalue()
            kept.seek(0)
            kept.truncate()
    yield kept.getvalue()


def _safe(row: Sequence[str], numbers: set[int]) -> list[Any]:
    """Cells that no spreadsheet runs; numbers may begin with a minus."""
    return [value if index in numbers else cell(value) for index, value in enumerate(row)]


def _yaml(names: Sequence[str], rows: Rows) -> Iterator[str]:
    """Every value is a text in quotes, so that nobody takes 3.10 for a number or no for a truth."""
    yield f"# {', '.join(names)}\n"
    empty = True
    for row in rows:
        empty = False
        told = dict(zip(names, row, strict=True))
        yield yaml.dump([told], Dumper=Quoting, allow_unicode=True, sort_keys=False, width=10_000)
    if empty:
        yield "[]\n"


class Quoting(yaml.SafeDumper):
    """Quotes values and leaves the names of columns as they are."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        node = super().represent_mapping(tag, mapping, flow_style)
        for _name, value in node.value:
            value.style = '"'
        return node


def _xlsx(title: str, names: Sequence[str], rows: Rows, numbers: set[int]) -> Iterator[bytes]:
    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    sheet.append([_text(sheet, name) for name in names])
    for row in rows:
        sheet.append([_text(sheet, value) for value in _safe(row, numbers)])
    with tempfile.TemporaryFile() as kept:
        book.save(kept)
        kept.seek(0)
        while piece := kept.read(PIECE):
            yield piece


def _text(sheet: Any, value: str) -> Any:
    """A cell that is text and stays it, whatever is typed over it: 3.10 is no number, and nothing is a formula."""
    made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value))
    made.data_type, made.number_format = "s", "@"
    return made
