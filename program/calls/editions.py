"""The editions of an application in words: what changed with each, before and after, as its writer and its readers see it."""

from typing import Any

from django.utils.formats import date_format

from program.calls import need, queries
from program.models import Application
from tenants.field_labels import field_label

LONGEST = 300


def of(row: Application) -> list[dict[str, Any]]:
    """The newest first: number, at, by, and `changed`: label, before and after of each answer. In the office's scope."""
    found = queries.editions(row)
    for one in found:
        one["changed"] = [
            {"label": field_label(Application.SUBJECT, name), "before": said(name, was), "after": said(name, now)}
            for name, (was, now) in one["changes"].items()
        ]
    return found


def said(name: str, value: Any) -> str:
    """An answer in words; "" where nothing was said. A time profile is a line for each span."""
    if name == "need":
        return "\n".join(span_words(span) for span in need.read(value or []))
    if name == "procure":
        return str(dict(Application.Procure.choices).get(value, value or ""))
    told = "" if value is None else str(value)
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"


def span_words(span: need.Span) -> str:
    days = " – ".join(date_format(day, "SHORT_DATE_FORMAT") for day in (span.starts_on, span.ends_on))
    count = f"{span.peak}" if span.minimum == span.peak else f"{span.minimum}–{span.peak}"
    return f"{days}: {count} × {' / '.join(span.types)}, {' / '.join(span.regions)}"
