"""Everything that waits: wish, claim, finish, renew, free the dead. Celery only rings the bell.

What is due, who holds it and how often it was tried is decided by these few statements.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

PER_LANE = 5  # in flight per cloud account, so that one participant cannot starve the others
CLAIMING = 7_001  # advisory lock: without it many workers claiming at once exceed PER_LANE
MOST_ATTEMPTS = 8


class LostLease(Exception):
    """Somebody else holds it now: whatever was found out is thrown away, the next holder looks for itself."""


@dataclass(frozen=True)
class Held:
    """A claimed row. `epoch` fences everything its holder writes."""

    id: int
    kind: str
    ref: str
    tenant_id: UUID | None
    lane: str
    epoch: int
    attempt: int


# A wish never takes a row from its holder; `again` makes the holder's end another beginning.
WISH = """
insert into tenants_due (kind, ref, tenant_id, lane, due_at) values (%s, %s, %s, %s, clock_timestamp() + %s)
on conflict (kind, ref) do update set stuck = '', again = tenants_due.leased_until is not null,
  attempt = case when tenants_due.leased_until is null then 0 else tenants_due.attempt end,
  lane = excluded.lane, due_at = least(tenants_due.due_at, excluded.due_at)"""
# statement_timestamp(): clock_timestamp() is volatile and walks the whole index, now() stands still in a transaction.
CLAIM = """
with busy as (
  select lane from tenants_due where leased_until > statement_timestamp() and lane <> '' group by lane having count(*) >= %s
  union select name from tenants_lane where cool_until > statement_timestamp()),
next as (
  select id from tenants_due
  where due_at <= statement_timestamp() and leased_until is null and stuck = '' and kind = any(%s)
    and lane not in (select lane from busy)
  order by due_at limit 1 for update skip locked)
update tenants_due d set epoch = epoch + 1, attempt = attempt + 1, again = false, leased_until = clock_timestamp() + %s
from next where d.id = next.id returning d.id, d.kind, d.ref, d.tenant_id, d.lane, d.epoch, d.attempt"""
# Whoever wished while it was held asked for a new try: it is not stuck, and its attempts count from nought.
FINISH = """
update tenants_due set leased_until = null, done_at = clock_timestamp(), stuck = case when again then '' else %s end,
  attempt = case when %s or again then 0 when %s then greatest(attempt - 1, 0) else attempt end,
  due_at = case when again then clock_timestamp() else clock_timestamp() + %s end
where id = %s and epoch = %s and leased_until is not null"""
REMOVE = "delete from tenants_due where id = %s and epoch = %s and leased_until is not null and not again"
RENEW = "update tenants_due set leased_until = clock_timestamp() + %s where id = %s and epoch = %s and leased_until is not null"
# What somebody has locked is freed at the next ring: waiting for it would keep the bells from being sent.
FREE = """
update tenants_due set leased_until = null, attempt = case when again then 0 else attempt end
where id in (select id from tenants_due where leased_until < statement_timestamp() for update skip locked)"""
COUNT = """
select count(*) from tenants_due where due_at <= statement_timestamp() and leased_until is null and stuck = '' and kind = any(%s)"""
COOL = """
insert into tenants_lane (name, cool_until) values (%s, clock_timestamp() + %s)
on conflict (name) do update set cool_until = greatest(tenants_lane.cool_until, excluded.cool_until)"""


def wish(kind: str, ref: Any, *, tenant: Any = None, lane: str = "", after: timedelta = timedelta(0)) -> None:
    """Ask for `ref` to be handled, in the transaction of the change that makes it necessary."""
    _run(WISH, [kind, str(ref), getattr(tenant, "pk", tenant), lane, after])


def lease() -> timedelta:
    return timedelta(seconds=settings.LEASE_SECONDS)


def claim(kinds: list[str]) -> Held | None:
    """The next due row of these kinds, now ours until the lease ends; its attempt is counted before any work."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", [CLAIMING])
        cursor.execute(CLAIM, [PER_LANE, kinds, lease()])
        row = cursor.fetchone()
    return Held(*row) if row else None


def finish(
    held: Held, *, again_in: timedelta | None, progress: bool = True, give_back: bool = False, stuck: str = ""
) -> None:
    """End our turn, in the transaction that writes the result and after locking the thing itself.

    `again_in` None: nothing to do until somebody wishes. Without `progress` the attempt counts on; `give_back` takes
    it back (throttled: we never got to try). Raises LostLease when the row is no longer ours.
    """
    if not _run(FINISH, [stuck, progress, give_back, again_in, held.id, held.epoch]):
        raise LostLease(f"{held.kind} {held.ref} epoch {held.epoch}")


def remove(held: Held) -> None:
    """End our turn for good: what waited for one entry is done. A wish made meanwhile keeps the row."""
    if not _run(REMOVE, [held.id, held.epoch]):
        finish(held, again_in=None)


def renew(held: Held) -> bool:
    """Hold it for another lease; False when it is no longer ours."""
    return bool(_run(RENEW, [lease(), held.id, held.epoch]))


def free_the_dead() -> int:
    return _run(FREE, [])


def waiting(kinds: list[str]) -> int:
    """How many rows of these kinds are due now."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [kinds])
        return int(cursor.fetchone()[0])


def cool(lane: str, seconds: float) -> None:
    """Claim nothing of this cloud account for a while: it throttled us."""
    _run(COOL, [lane, timedelta(seconds=seconds)])


def _run(sql: str, values: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)
