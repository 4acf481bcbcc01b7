"""The engine's pulse: a row due every 15 s. An idle engine has no other sign of life."""

from datetime import timedelta

from django.conf import settings
from django.db import connection

from tenants import files
from tenants.models import Due, IdempotencyKey, Tenant
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.loop import handler

BEAT = timedelta(seconds=15)
DAILY = timedelta(days=1)
SEAL_AFTER = timedelta(minutes=10)


@handler("heartbeat")
def beat(held: due.Held) -> None:
    due.finish(held, again_in=BEAT)


@handler("tidy", queue="deliver")
def tidy(held: due.Held) -> None:
    """Forget stored answers after 72 hours and ended sessions; see that every tenant's history is being sealed."""
    for tenant in Tenant.objects.all():
        due.wish("seal", tenant.pk, tenant=tenant, after=SEAL_AFTER)
        with acting_for(tenant, staff=True):
            IdempotencyKey.objects.extra(where=["created_at < statement_timestamp() - interval '72 hours'"]).delete()
    with connection.cursor() as cursor:
        cursor.execute("delete from django_session where expire_date < statement_timestamp()")
    due.finish(held, again_in=DAILY)


def begin() -> None:
        files.sweep(tenant)
    """Make sure that what recurs is waited for; called at every ring, costs one index look-up once it has begun."""
    if Due.objects.filter(kind="heartbeat", ref=settings.INSTALLATION_ID).exists():
        return
    due.wish("heartbeat", settings.INSTALLATION_ID)
    due.wish("tidy", settings.INSTALLATION_ID)
