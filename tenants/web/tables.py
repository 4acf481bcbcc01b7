"""Tables as CSV files: what a spreadsheet would take for a formula is text there, too."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(value: Any) -> Any:
    """A value as a cell. Text that a spreadsheet would run begins with an apostrophe; numbers stay numbers."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    return f"'{value}" if _would_run(value) else value


def unescaped(text: str) -> str:
    """What `cell` was given: the apostrophe that it put before a formula is taken away, one that was written stays."""
    return text[1:] if text.startswith("'") and _would_run(text) else text


def _would_run(text: str) -> bool:
    # Also behind apostrophes, or taking one away would change what somebody wrote.
    return text.lstrip("'").lstrip(" \n").startswith(FORMULA)


def as_csv(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """A file to keep, in UTF-8 with the mark by which spreadsheets know it."""
    kept = io.StringIO()
    writer = csv.writer(kept)
    writer.writerow(header)
    writer.writerows([cell(value) for value in row] for row in rows)
    response = HttpResponse("\ufeff" + kept.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
