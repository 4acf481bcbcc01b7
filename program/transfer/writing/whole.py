"""The whole file: every section in its place, written one after the other, all of one moment of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import yaml
from django.db import connection, transaction

from program.transfer.carried import calls, duty, money
from program.transfer.carried import capacity as asked
from program.transfer.dates import Row
from program.transfer.programme_file import SCHEMA
from program.transfer.writing import (
    capacity,
    cases,
    directory,
    enablement,
    interactions,
    jobs,
    participants,
    reviews,
    totals,
)
from program.transfer.writing.names import Writing, stamp
from support.writing import moment
from tenants.wall.acting import reading_everyone

IN_MEMORY = 4_000_000  # bytes; what is longer lies in a temporary file until it was sent
PIECE = 64_000
ROWS = 200  # of a list are put into words at once

SECTIONS: dict[str, Callable[[Writing], Any]] = {
    "totals": totals.totals,
    "programme": directory.programme,
    "cycles": directory.cycles,
    "instance_types": totals.instance_types,
    "people": directory.people,
    "participants": participants.participants,
    "launch_day": capacity.launch_day,
    "quota_requests": capacity.quota_requests,
    "reservations": capacity.reservations,
    "onboarding": enablement.onboarding,
    "enablement_sessions": enablement.sessions,
    "jobs": jobs.jobs,
    "usage": capacity.usage,
    "cases": cases.cases,
    "health_events": jobs.health_events,
    "interactions": interactions.interactions,
    "knowledge_articles": enablement.articles,
    "weekly_reviews": reviews.reviews,
    "action_items": reviews.action_items,
    "decisions": reviews.decisions,
    "reports": enablement.reports,
    "audit_samples": capacity.audit_samples,
    "capacity_requests": asked.capacity_requests,
    "budget_rows": money.budget_rows,
    "budget_limits": money.budget_limits,
    "exchange_rates": money.exchange_rates,
    "calls": calls.calls,
    "duty_shifts": duty.duty_shifts,
}
# What a file cannot carry, or what would be worth nothing in another installation.
LEFT_OUT = (
    "Files that people uploaded: they lie in the store of files and are copied with it.",
    "Secrets: passwords, second steps, tokens, the links of invitations and applications, external ids of accounts.",
    "The files of imports; mails and whether they arrived; sessions and reviews of other cycles than the one that runs.",
    "What is read from the cloud again: service quotas, nodes, the logs of jobs, preflights, plans.",
)


def meta(now: datetime) -> Row:
    return {
        "schema": SCHEMA,
        "as_of": stamp(now),
        "timestamps": "ISO 8601 UTC with Z; dates are local to the programme.",
        "left_out": list(LEFT_OUT),
    }


def write(file: IO[str], now: datetime | None = None) -> None:
    """The programme as it stands, as of `now`, which is now. Everything is read at one moment, and no secret is among it."""
    with _one_moment(), reading_everyone():
        now = moment(now)
        writing = Writing(now)
        file.write(_words({"meta": meta(now)}))
        for name, section in SECTIONS.items():
            for text in _section(name, section(writing)):
                file.write(text)


def pieces() -> Iterator[bytes]:
    """The same for a response that is sent as it is read; nothing is sent while the database is."""
    with SpooledTemporaryFile(max_size=IN_MEMORY, mode="w+", encoding="utf-8") as file:
        write(file)
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece.encode()


@contextmanager
def _one_moment() -> Iterator[None]:
    """What is written meanwhile is not in the file: its sums would not hold any more. Part of an open transaction otherwise."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            # It may take longer than a request: nothing is locked, and nobody waits for it.
            cursor.execute(
                "set transaction isolation level repeatable read, read only; "
                "set local transaction_timeout = 0; set local statement_timeout = '60s'"
            )
        yield


def _section(name: str, rows: Any) -> Iterator[str]:
    """A list piece by piece: what the parts say one after the other is what the whole would."""
    if isinstance(rows, dict):
        yield _words({name: rows})
        return
    found = _chunks(rows)
    first = next(found, None)
    if first is None:
        yield _words({name: []})
        return
    yield f"{name}:\n" + _words(first)
    yield from (_words(chunk) for chunk in found)


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == ROWS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Without anchors: two rows that say the same are two rows."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _words(rows: Any) -> str:
    return str(yaml.dump(rows, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120))
