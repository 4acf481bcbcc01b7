"""Keyset pages: a cursor names the last row seen, so that page 1,000 costs what page 1 does."""

import base64
import binascii
import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet, UUIDField
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from tenants.web.problems import Refused

SIZE = 50
LARGEST = 200


@dataclass(frozen=True)
class Page:
    """Rows of one page and the address of the next, None at the end."""

    rows: list[Any]
    next: str | None


def newest_first(rows: QuerySet, request: HttpRequest, at: str = "occurred_at", size: int = SIZE) -> Page:
    """A page ordered by (`at`, id), newest first. Raises Refused for a cursor that is none of ours."""
    cursor = request.GET.get("cursor")
    if cursor:
        moment, pk = _read(cursor, datetime, rows)
        # filter and exclude: the plan of a row comparison, which the ORM cannot say.
        rows = rows.filter(**{f"{at}__lte": moment}).exclude(**{at: moment, "id__gte": pk})
    found = list(rows.order_by(f"-{at}", "-id")[: size + 1])
    return Page(found[:size], _address(request, found[size - 1], at) if len(found) > size else None)


def newer(rows: QuerySet, request: HttpRequest, first: Any, at: str = "occurred_at", size: int = SIZE) -> str | None:
    """The address of the page before the one that begins with `first`; None when that is the newest already."""
    moment = _value(first, at)
    ahead = rows.filter(**{f"{at}__gte": moment}).exclude(**{at: moment, "id__lte": first.pk})
    found = list(ahead.order_by(at, "id")[: size + 1])
    if not found:
        return None
    if len(found) > size:
        return _address(request, found[size], at)
    query = request.GET.copy()
    query.pop("cursor", None)
    return f"{request.path}?{query.urlencode()}"


def by_name(rows: QuerySet, request: HttpRequest, name: str = "name", size: int = SIZE) -> Page:
    """A page ordered by (`name`, id)."""
    cursor = request.GET.get("cursor")
    if cursor:
        last, pk = _read(cursor, str, rows)
        rows = rows.filter(**{f"{name}__gte": last}).exclude(**{name: last, "id__lte": pk})
    found = list(rows.order_by(name, "id")[: size + 1])
    return Page(found[:size], _address(request, found[size - 1], name) if len(found) > size else None)


def size_of(request: HttpRequest) -> int:
    """`page_size`, 1 to 200. Raises Refused for anything else."""
    asked = request.GET.get("page_size", str(SIZE))
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked[:6]) <= LARGEST:
        raise Refused(
            "page_size",
            _("'page_size' takes a number from 1 to %(most)s; you sent '%(asked)s'.")
            % {"most": LARGEST, "asked": asked[:40]},
            status=400,
        )
    return int(asked)


def _value(row: Any, name: str) -> Any:
    for step in name.split("__"):
        row = row[name] if isinstance(row, dict) else getattr(row, step)
        if isinstance(row, str | int | datetime):
            break
    return row


def _address(request: HttpRequest, last: Any, name: str) -> str:
    value = _value(last, name)
    pk = last["id"] if isinstance(last, dict) else last.pk
    written = json.dumps([value.isoformat() if isinstance(value, datetime) else value, str(pk)]).encode()
    query = request.GET.copy()
    query["cursor"] = base64.urlsafe_b64encode(written).decode()
    return f"{request.path}?{urlencode(list(query.lists()), doseq=True)}"


def _read(cursor: str, kind: type, rows: QuerySet) -> tuple[Any, str]:
    numbered = not isinstance(rows.model._meta.pk, UUIDField)
    try:
        if len(cursor) > 500:
            raise ValueError
        value, pk = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
        # Compared as they are written: 123 is no UUID and "٣" no number, and the database must not be the one to say so.
        pk = str(int(pk)) if numbered and str(pk).isascii() and len(str(pk)) < 19 else str(uuid.UUID(pk))
        if numbered and not pk.isdigit():
            raise ValueError
        value = parse_datetime(value) if kind is datetime else str(value)
        if value is None or b"\x00" in str(value).encode():
            raise ValueError
        if kind is datetime and (value.tzinfo is None or not 1970 <= value.year <= 9000):
            raise ValueError
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise Refused("cursor", _("The cursor is not one of ours; start again without it."), status=400) from None
    return value, pk
