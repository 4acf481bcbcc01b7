"""Seals over settled history: one digest an hour and tenant, each naming the one before it."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from tenants.history.models import Seal
from tenants.models.tenancy import Tenant
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.loop import handler

# Postgres folds the entries itself: one pass, and the digest is of what the table holds, not of what Python was told.
FOLD = """
select count(*), coalesce(encode(sha256(convert_to(%s || coalesce(string_agg(line, e'\\n' order by id), ''), 'UTF8')), 'hex'), ''),
       (select coalesce(json_object_agg(kind, n), '{}') from (
          select kind, count(*) as n from tenants_entry
          where tenant_id = %s and recorded_at > %s and recorded_at <= %s group by kind) as kinds)
from (select id, row(id, participation, audience, occurred_at at time zone 'UTC', recorded_at at time zone 'UTC', kind, subject,
             subject_id, cluster, severity, source, actor, on_behalf_of, action_id, corrects_id, facts)::text as line
      from tenants_entry where tenant_id = %s and recorded_at > %s and recorded_at <= %s) as lines
"""
BEGINNING = "-infinity"


@dataclass(frozen=True)
class Broken:
    """A seal that its entries no longer match."""

    tenant: str
    seal: int
    reason: str


def settled_until() -> datetime:
    """Nothing recorded before this can still appear: no transaction outlives a minute, we wait longer."""
    with connection.cursor() as cursor:
        cursor.execute("select statement_timestamp() - %s", [timedelta(seconds=settings.SETTLE_SECONDS)])
        return cursor.fetchone()[0]


def _fold(tenant: Tenant, after: datetime | str, until: datetime, previous: str) -> tuple[int, str, dict[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(FOLD, [previous, tenant.pk, after, until, tenant.pk, after, until])
        entries, digest, counts = cursor.fetchone()
    return entries, digest, counts if isinstance(counts, dict) else json.loads(counts)


def seal(tenant: Tenant, until: datetime | None = None) -> Seal | None:
    """Seal what settled since the last seal. None when nothing did. Runs inside acting_for(tenant, staff=True)."""
    last = Seal.objects.order_by("-until").first()
    until = until or settled_until()
    if last and until <= last.until:
        return None
    previous = last.digest if last else ""
    entries, digest, counts = _fold(tenant, last.until if last else BEGINNING, until, previous)
    if not entries:
        return None
    return Seal.objects.create(
        tenant=tenant, until=until, entries=entries, counts=counts, digest=digest, previous=previous
    )


def verify(tenant: Tenant) -> list[Broken]:
    """Every seal of this tenant that no longer fits its entries: changed, removed, added or cut."""
    broken: list[Broken] = []
    after: datetime | str = BEGINNING
    previous = ""
    for sealed in Seal.objects.order_by("until"):
        if sealed.previous != previous:
            broken.append(Broken(tenant.slug, sealed.pk, "does not follow the seal before it"))
        entries, digest, counts = _fold(tenant, after, sealed.until, sealed.previous)
        if entries != sealed.entries:
            broken.append(Broken(tenant.slug, sealed.pk, f"has {entries} entries, was sealed with {sealed.entries}"))
        elif digest != sealed.digest:
            broken.append(Broken(tenant.slug, sealed.pk, "has an entry that was changed"))
        elif counts != sealed.counts:
            broken.append(Broken(tenant.slug, sealed.pk, "counts kinds differently"))
        after, previous = sealed.until, sealed.digest
    return broken


@handler("seal")
def seal_hourly(held: due.Held) -> None:
    """One tenant's seal, wished for again every hour."""
    tenant = Tenant.objects.get(pk=held.ref)
    with acting_for(tenant, staff=True):
        seal(tenant)
        due.finish(held, again_in=timedelta(hours=1))
