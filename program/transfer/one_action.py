"""Entries that one line of the file, or one block of it, leads to belong together, as those of one request do."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import structlog


@contextmanager
def one_action() -> Iterator[None]:
    with structlog.contextvars.bound_contextvars(request_id=str(uuid.uuid4())):
        yield
