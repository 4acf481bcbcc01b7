"""Tables that people send, as CSV, XLSX or YAML: read into lines of named cells, or refused with the place and the way out.

Pure: it knows no database. Nothing in a file is ever run; a cell is text, and what the file itself takes it for is kept
beside it, so that 012 or 3.10 is refused instead of silently becoming 10 or 3.1.
"""

import codecs
import csv
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NoReturn
from xml.etree.ElementTree import ParseError

import yaml
from django.utils.translation import gettext as _
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from tenants.web.problems import Refused
from tenants.web.tables import unescaped

CSV, XLSX, YAML = "csv", "xlsx", "yaml"
FORMATS = (CSV, XLSX, YAML)
ENDINGS = {".csv": CSV, ".tsv": CSV, ".txt": CSV, ".xlsx": XLSX, ".yaml": YAML, ".yml": YAML}
MOST_ROWS = 10_000
MOST_COLUMNS = 200
MOST_UNPACKED = 200 * 1024 * 1024
MOST_PARTS = 300
ZIP, OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
DELIMITERS = ",;\t"
TAGS = {"bool": "boolean", "int": "number", "float": "number", "timestamp": "date", "null": "nothing"}
# What openpyxl and zipfile raise for files that are damaged or no workbooks at all.
DAMAGED = (
    InvalidFileException, zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, AttributeError,
    IndexError, EOFError, OSError, RuntimeError, NotImplementedError,
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """The text of a cell. `told` is what the file takes it for where that is not text, `read` how that would be read."""

    text: str
    told: str = ""  # number, boolean, date, time or nothing
    read: str = ""


@dataclass(frozen=True)
class Problem:
    """What is wrong in a file: the line (None: the file as a whole), the column where it is one, and what to do."""

    line: int | None
    column: str
    sentence: str

    def plain(self) -> dict[str, Any]:
        return {"line": self.line, "column": self.column, "sentence": str(self.sentence)}


@dataclass(frozen=True)
class Line:
    number: int
    cells: Mapping[str, Cell]


@dataclass
class Sheet:
    """A file as it was read: lines whose cells have names, and what was wrong with single lines."""

    format: str
    headers: list[str]
    lines: list[Line] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read(content: bytes, name: str, *, known: Sequence[str], needed: Iterable[str]) -> Sheet:
    """The table in a file. Raises Refused (422, 413 for too many rows) when it cannot be read as one.

    `known` are the columns that may be there, `needed` those that have to be; all that is wrong with them is said at once.
    """
    format = _format(content, name)
    if format == XLSX:
        rows, columns = _xlsx(content, name), known
    elif format == YAML:
        return _yaml(_decoded(content), known, needed)
    else:
        rows, columns = _csv(_decoded(content), known), known
    return _table(format, rows, columns, needed)


def _format(content: bytes, name: str) -> str:
    ending = "." + name.rpartition(".")[2].lower() if "." in name else ""
    format = ENDINGS.get(ending)
    if content.startswith(OLD_EXCEL):
        _refuse("format", _("This is a workbook of an old kind. Save it as .xlsx or as 'CSV UTF-8', and send that."))
    if format is None:
        sentence = _("'%(name)s' ends in none of %(endings)s. Save the table as one of these.")
        _refuse("format", sentence % {"name": name[:80], "endings": ", ".join(ENDINGS)})
    if not content.strip():
        _refuse("file_empty", _("'%(name)s' is empty.") % {"name": name[:80]})
    if (format == XLSX) != content.startswith(ZIP):
        sentence = _("'%(name)s' is not what its ending says. Save it again as .csv, .xlsx or .yaml.")
        _refuse("format", sentence % {"name": name[:80]})
    return format


def _refuse(code: str, sentence: str, *, status: int = 422, **facts: Any) -> NoReturn:
    raise Refused(code, sentence, status=status, field="file", **facts)


def _decoded(content: bytes) -> str:
    """UTF-8, with or without its mark, or Shift_JIS; a text that only happens to be readable so is refused."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        _refuse("encoding", _("The file is UTF-16. Save it as 'CSV UTF-8', and send that."), encoding="utf-16")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text, at = _shift_jis(content), error.start
        if not text:
            line = content.count(b"\n", 0, at) + 1
            sentence = _("Line %(line)s is neither UTF-8 nor Shift_JIS (byte %(at)s). Save the file as 'CSV UTF-8'.")
            _refuse("encoding", sentence % {"line": line, "at": at}, line=line)
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        _refuse("encoding", _("Line %(line)s holds a NUL character. Save the file as 'CSV UTF-8'.") % {"line": line})
    return text


def _shift_jis(content: bytes) -> str:
    """The text, or "" for what is likelier something else: Latin letters with accents decode as rare signs."""
    try:
        text = content.decode("cp932")
    except UnicodeDecodeError:
        return ""
    signs = [sign.encode("cp932", "replace") for sign in {*text} if not sign.isascii()]
    usual = sum(0x81 <= sign[0] <= 0x9F for sign in signs)
    return text if 2 * usual >= len(signs) else ""


def _csv(text: str, known: Sequence[str]) -> Iterator[tuple[int, list[Cell]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, known), strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "end of data" in str(error) or "field limit" in str(error):
                sentence = _(
                    "From line %(line)s on a quotation mark is not closed, or a cell is longer than %(most)s letters."
                )
                _refuse("quote", sentence % {"line": begins, "most": csv.field_size_limit()}, line=begins)
            sentence = _("Line %(line)s cannot be read as CSV: %(why)s.")
            _refuse("csv", sentence % {"line": begins, "why": error}, line=begins)
        yield begins, [Cell(unescaped(value)) for value in row]


def _delimiter(text: str, known: Sequence[str]) -> str:
    """That by which most of the first line's words are columns."""
    first = next(iter(io.StringIO(text, newline=None)), "")
    return max(DELIMITERS, key=lambda sign: sum(word.strip(' "\n') in known for word in first.split(sign)))


def _table(format: str, rows: Iterator[tuple[int, list[Cell]]], known: Sequence[str], needed: Iterable[str]) -> Sheet:
    """Rows under the names of the first one."""
    rows = ((number, cells) for number, cells in rows if any(cell.text.strip() for cell in cells))
    first = next(rows, None)
    if first is None:
        _refuse("file_empty", _("There is no line in the file. Begin with the names of the columns."))
    headers = [cell.text.strip() for cell in first[1]]
    while headers and not headers[-1]:
        headers.pop()  # spreadsheets count columns that were only ever touched
    _check_headers(headers, known, needed)
    sheet = Sheet(format, headers)
    for number, cells in rows:
        _refuse_too_many(len(sheet.lines))
        if any(cell.text.strip() for cell in cells[len(headers) :]) or len(cells) < len(headers) and format == CSV:
            sentence = _(
                "This line has %(n)s cells; the first line names %(columns)s columns. Look for a missing or extra separator."
            )
            sheet.problems.append(Problem(number, "", sentence % {"n": len(cells), "columns": len(headers)}))
        named = zip(headers, [*cells, *[Cell("")] * (len(headers) - len(cells))], strict=False)
        sheet.lines.append(Line(number, dict(named)))
    return sheet


def _refuse_too_many(there: int) -> None:
    if there >= MOST_ROWS:
        sentence = _("The file has more than %(most)s rows. Split it, and send the parts one after the other.")
        _refuse("too_many_rows", sentence % {"most": MOST_ROWS}, status=413, most=MOST_ROWS)


def _check_headers(headers: Sequence[str], known: Sequence[str], needed: Iterable[str]) -> None:
    """Raises Refused that names every unknown, doubled and missing column."""
    unknown = [name for name in dict.fromkeys(headers) if name not in known]
    twice = [name for name in dict.fromkeys(headers) if name in known and list(headers).count(name) > 1]
    missing = [name for name in needed if name not in headers and "id" not in headers]
    told = []
    if unknown:
        told.append(_("unknown: %(names)s") % {"names": ", ".join(f"'{name[:40]}'" for name in unknown[:20])})
    if twice:
        told.append(_("there twice: %(names)s") % {"names": ", ".join(twice)})
    if missing:
        told.append(_("missing: %(names)s") % {"names": ", ".join(missing)})
    if told:
        sentence = _("The columns do not fit (%(what)s). Known are: %(known)s.")
        facts = {"unknown": [name[:40] for name in unknown[:20]], "twice": twice, "missing": missing}
        _refuse("columns", sentence % {"what": "; ".join(told), "known": ", ".join(known)}, **facts)


def _xlsx(content: bytes, name: str) -> Iterator[tuple[int, list[Cell]]]:
    try:
        _refuse_a_bomb(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions that do not matter here
            book = load_workbook(io.BytesIO(content), read_only=True, data_only=False, keep_links=False)
            sheets = book.worksheets
            if len(sheets) != 1:
                sentence = _("The workbook has %(n)s sheets. Keep the one with the table, and send it again.")
                _refuse("sheets", sentence % {"n": len(sheets)}, n=len(sheets))
            sheets[0].reset_dimensions()
            for number, row in enumerate(sheets[0].iter_rows(max_col=MOST_COLUMNS), 1):
                cells = [_of_workbook(cell.value) for cell in row]
                _refuse_what_no_column_keeps(number, cells)
                yield number, cells
    except DAMAGED:
        sentence = _("'%(name)s' cannot be read as a workbook: it is damaged, protected or something else.")
        _refuse("workbook", sentence % {"name": name[:80]})


def _refuse_a_bomb(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        parts = packed.infolist()
        if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > MOST_UNPACKED:
            _refuse(
                "workbook_size",
                _("The workbook unpacks to more than %(most)s MiB. Send it as CSV.") % {"most": 200},
                status=413,
            )
        for part in parts:
            with packed.open(part) as opened:
                # No workbook has one, and what it may define unfolds without end.
                if b"<!DOCTYPE" in opened.read(4096):
                    raise zipfile.BadZipFile("a document type")


def _of_workbook(value: Any) -> Cell:
    if value is None:
        return Cell("")
    if isinstance(value, bool):
        return Cell("yes" if value else "no", "boolean", str(value))
    if isinstance(value, int | float | Decimal):
        plain = f"{Decimal(str(value)).normalize():f}" if value == value and abs(value) != float("inf") else str(value)
        return Cell(plain, "number", plain)
    if isinstance(value, datetime):
        shown = value.date().isoformat() if value.time() == time() else value.isoformat()
        return Cell(shown, "date", shown)
    if isinstance(value, date | time):
        return Cell(value.isoformat(), "date" if isinstance(value, date) else "time", value.isoformat())
    return Cell(unescaped(str(value)))


def _yaml(text: str, known: Sequence[str], needed: Iterable[str]) -> Sheet:
    """One document: a list of mappings from columns to texts; no tags, anchors or second document."""
    sheet, names = Sheet(YAML, []), {}
    for number, cells in _entries(_events(text)):
        _refuse_too_many(len(sheet.lines))
        names |= dict.fromkeys(cells)
        sheet.lines.append(Line(number, cells))
    sheet.headers = list(names)
    _check_headers(sheet.headers, known, needed if sheet.lines else ())
    return sheet


def _events(text: str) -> Iterator[Any]:
    documents = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = event.start_mark.line + 1
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                _refuse(
                    "yaml", _("Line %(line)s begins a second document. Send one list in one document.") % {"line": line}
                )
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                sentence = _("Line %(line)s uses an anchor or alias (& or *). Write every value out.")
                _refuse("yaml", sentence % {"line": line}, line=line)
            if getattr(event, "tag", None):
                sentence = _("Line %(line)s has the tag '%(tag)s'. Only plain texts are read; take it away.")
                _refuse("yaml", sentence % {"line": line, "tag": event.tag[:60]}, line=line)
            yield event
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        why = error.problem or error.context or ""
        hint = _("Tabs cannot indent; use spaces.") if "'\\t'" in why or "tab" in why else ""
        sentence = _("Line %(line)s cannot be read as YAML: %(why)s. %(hint)s") % {
            "line": line,
            "why": why,
            "hint": hint,
        }
        _refuse("yaml", sentence.strip(), line=line)
    except yaml.YAMLError as error:
        _refuse("yaml", _("The file cannot be read as YAML: %(why)s.") % {"why": str(error)[:120]})


def _entries(events: Iterator[Any]) -> Iterator[tuple[int, dict[str, Cell]]]:
    events = (event for event in events if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent))
    _expect(next(events), yaml.SequenceStartEvent)
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        _expect(event, yaml.MappingStartEvent)
        begins, cells = event.start_mark.line + 1, {}
        for key in events:
            if isinstance(key, yaml.MappingEndEvent):
                break
            value = next(events)
            _expect(key, yaml.ScalarEvent)
            _expect(value, yaml.ScalarEvent)
            if key.value in cells:
                line = key.start_mark.line + 1
                sentence = _("Line %(line)s has '%(name)s' a second time in one row. Keep one of them.")
                _refuse("yaml", sentence % {"line": line, "name": key.value[:40]}, line=line)
            cells[key.value] = _of_yaml(value)
            _refuse_what_no_column_keeps(value.start_mark.line + 1, [Cell(key.value), cells[key.value]])
        yield begins, cells
    for _rest in events:
        pass  # a second document shows itself only when one reads on


def _refuse_what_no_column_keeps(line: int, cells: Iterable[Cell]) -> None:
    """A NUL or half of a surrogate pair, which both formats can write as an escape."""
    if any(letter == "\x00" or "\ud800" <= letter <= "\udfff" for cell in cells for letter in cell.text):
        sentence = _("Line %(line)s holds a NUL or half of a character. Take it out.")
        _refuse("encoding", sentence % {"line": line}, line=line)


def _expect(event: Any, kind: type) -> None:
    if not isinstance(event, kind):
        line = event.start_mark.line + 1
        sentence = _(
            "Line %(line)s does not fit. Write a list of rows, each with 'column: \"text\"', like the export does."
        )
        _refuse("yaml", sentence % {"line": line}, line=line)


RESOLVER = yaml.SafeLoader("")


def _of_yaml(event: Any) -> Cell:
    if not event.implicit[0] or not event.value:
        return Cell(event.value)
    tag = RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False))
    told = TAGS.get(str(tag).rpartition(":")[2], "")
    return Cell(event.value, told, _as_parsed(event.value) if told else "")


def _as_parsed(text: str) -> str:
    try:
        return str(yaml.safe_load(text))
    except (yaml.YAMLError, ValueError, OverflowError):
        return "–"
