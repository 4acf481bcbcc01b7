"""Polling that costs nothing while nothing changes: a page carries the stamp of what it shows and asks for newer."""

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse


def stamp(*shown: Any) -> str:
    """A short digest of plain values; two pages that show the same have the same."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:20]


def asked(request: HttpRequest) -> bool:
    """Whether this is a page asking for what is newer than it shows."""
    return bool(request.headers.get("HX-Request")) and "since" in request.GET


def unchanged(request: HttpRequest, newest: str) -> HttpResponse | None:
    """The answer to a page that already shows the newest, otherwise None."""
    return HttpResponse(status=204) if asked(request) and request.GET["since"] == newest else None


def address(request: HttpRequest, newest: str) -> str:
    """Where this page asks for what is newer, its filters kept."""
    query = request.GET.copy()
    query["since"] = newest
    return f"{request.path}?{query.urlencode()}"
