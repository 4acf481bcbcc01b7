"""The engine's pulse: a row due every 15 s. An idle engine has no other sign of life."""

from datetime import timedelta

from django.conf import settings
from django.db import connection

from tenants import files, mail
from tenants.models import Due, IdempotencyKey, Tenant
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.loop import handler

RECURRING = {"heartbeat", "tidy"}  # kinds with one row each, which wishes for itself again
BEAT = timedelta(seconds=15)
DAILY = timedelta(days=1)
SEAL_AFTER = timedelta(minutes=10)


def recurs(kind: str) -> str:
    """Declare a kind that is waited for from the first ring on, also where the portal ran before it existed."""
    RECURRING.add(kind)
    return kind


@handler("heartbeat")
def beat(held: due.Held) -> None:
    due.finish(held, again_in=BEAT)


@handler("tidy", queue="deliver")
def tidy(held: due.Held) -> None:
    """Forget stored answers after 72 hours, old deliveries, ended sessions and bytes without a row; see that every history is being sealed."""
    for tenant in Tenant.objects.all():
        due.wish("seal", tenant.pk, tenant=tenant, after=SEAL_AFTER)
        due.wish("people", tenant.pk, tenant=tenant)
        files.sweep(tenant)
        with acting_for(tenant, staff=True):
            IdempotencyKey.objects.extra(where=["created_at < statement_timestamp() - interval '72 hours'"]).delete()
            mail.forget_old()
    with connection.cursor() as cursor:
        cursor.execute("delete from django_session where expire_date < statement_timestamp()")
    due.finish(held, again_in=DAILY)


def begin() -> None:
    """Make sure that what recurs is waited for; called at every ring, costs one index look-up once it has begun."""
    known = Due.objects.filter(kind__in=RECURRING, ref=settings.INSTALLATION_ID).values_list("kind", flat=True)
    for kind in sorted(RECURRING - set(known)):
        due.wish(kind, settings.INSTALLATION_ID)
