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
    return f"'{value}" if value.lstrip(" \n").startswith(FORMULA) else value


def as_csv(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """A file to keep, in UTF-8 with the mark by which spreadsheets know it."""
    kept = io.StringIO()
    writer = csv.writer(kept)
    writer.writerow(header)
    writer.writerows([cell(value) for value in row] for row in rows)
    response = HttpResponse("\ufeff" + kept.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
