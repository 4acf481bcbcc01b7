"""Rows as files that people keep: CSV, XLSX or YAML, written as they are read, a handful of participants at a time."""

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import yaml
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from tenants.import_export import NUMBER, Column, Current, Kind
from tenants.models import Tenant
from tenants.sheets import CSV, XLSX, YAML
from tenants.wall.acting import acting_for
from tenants.web.tables import cell

AT_A_TIME = 50  # participants whose rows are read in one transaction
PIECE = 64 * 1024
WIDE = {"number": 12, "day": 12, "yes_no": 8, "moment": 28}  # letters; ids and text are wider
MOST_DIGITS = 15
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
    numbers = _numbers(kind)
    if format == XLSX:
        return workbook([(kind, rows)])
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


def _numbers(kind: Kind) -> set[int]:
    return {index for index, column in enumerate(kind.columns) if column.look == "number"}


def _note(column: Column) -> str:
    """What people call a column and its words, in the language of whoever asks; imports do not look at it."""
    words = [f"{word}: {label}" for word, label in column.choices]
    return "\n".join(str(part) for part in (column.label, column.help, *words) if part)


def workbook(tables: Sequence[tuple[Kind, Rows]]) -> Iterator[bytes]:
    """A workbook piece by piece, with a sheet for each table."""
    noted = [(kind, rows, [_note(column) for column in kind.columns]) for kind, rows in tables]  # in today's language
    return _xlsx(noted)


def _xlsx(tables: Sequence[tuple[Kind, Rows, Sequence[str]]]) -> Iterator[bytes]:
    book = Workbook(write_only=True)
    for kind, rows, notes in tables:
        _fill(book, kind, rows, notes)
    with tempfile.TemporaryFile() as kept:
        book.save(kept)
        kept.seek(0)
        while piece := kept.read(PIECE):
            yield piece


def _fill(book: Any, kind: Kind, rows: Rows, notes: Sequence[str]) -> None:
    numbers = _numbers(kind)
    sheet = book.create_sheet(kind.word)
    sheet.freeze_panes = "A2"
    # A workbook that is written row by row has its widths before its rows: they follow from what a column holds.
    for at, column in enumerate(kind.columns, 1):
        wide = 38 if column.name == "id" else WIDE.get(column.look, 24)
        sheet.column_dimensions[get_column_letter(at)].width = max(wide, len(column.name) + 3)
    sheet.append([_head(sheet, column.name, note) for column, note in zip(kind.columns, notes, strict=True)])
    for row in rows:
        sheet.append(
            [
                _number(value) if index in numbers and _is_kept(value) else _text(sheet, value)
                for index, value in enumerate(_safe(row, numbers))
            ]
        )


def _number(value: str) -> int | float:
    return float(value) if "." in value else int(value)


def _is_kept(value: str) -> bool:
    """Whether a spreadsheet, which counts in doubles, gives this number back letter by letter."""
    if not NUMBER.fullmatch(value) or len(value) > MOST_DIGITS:
        return False
    return f"{Decimal(str(_number(value))).normalize():f}" == value


def _head(sheet: Any, name: str, note: str) -> Any:
    made = _text(sheet, name)
    made.font = Font(bold=True)
    made.comment = Comment(ILLEGAL_CHARACTERS_RE.sub("\ufffd", note), "Cohort", height=160, width=320)
    return made


def _text(sheet: Any, value: str) -> Any:
    """A cell that is text and stays it, whatever is typed over it: 3.10 is no number, and nothing is a formula."""
    made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value))
    made.data_type, made.number_format = "s", "@"
    return made
