"""What waits, by kind: for the engine room's page and for the command line."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

BY_KIND = """
select kind, count(*),
       count(*) filter (where stuck = '' and leased_until is null and due_at <= statement_timestamp()),
       min(due_at) filter (where stuck = '' and leased_until is null and due_at <= statement_timestamp()),
       extract(epoch from statement_timestamp()
         - min(due_at) filter (where stuck = '' and leased_until is null and due_at <= statement_timestamp())),
       count(*) filter (where leased_until > statement_timestamp()),
       count(*) filter (where stuck <> '')
from tenants_due group by kind order by kind"""
STUCK = "select id, kind, ref, tenant_id, lane, attempt, stuck from tenants_due where stuck <> '' order by kind, ref limit %s"


@dataclass(frozen=True)
class Waiting:
    """One kind: how many there are, how many are due now and since when, how many are being handled, how many are stuck."""

    kind: str
    known: int
    due: int
    oldest: datetime | None
    age: Decimal | None  # of the oldest, in seconds by the database's clock
    in_flight: int
    stuck: int


def waiting_by_kind() -> list[Waiting]:
    with connection.cursor() as cursor:
        cursor.execute(BY_KIND)
        return [Waiting(*row) for row in cursor.fetchall()]


def stuck(limit: int = 100) -> list[dict[str, Any]]:
    """What gave up after too many attempts, with the reason; each waits for somebody to wish it again."""
    with connection.cursor() as cursor:
        cursor.execute(STUCK, [limit])
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
