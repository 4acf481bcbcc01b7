"""Every night the full preflight of each planned launch, so that what stopped fitting is known before the morning of the day."""

from datetime import timedelta

from django.db import transaction

from clusters.engine import asking
from clusters.models import CloudAccount
from program.launching import check_line, lines_of
from program.models import Launch, LaunchCluster
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, heartbeat
from tenants.work.loop import handler

DAILY = timedelta(days=1)
ONE = "launch-line"


@handler(heartbeat.recurs("launch-preflight"), queue="deliver")
def check_all(held: due.Held) -> None:
    """Have every cluster looked at that has not started, each by itself: its account may be slow, or shut."""
    with reading_everyone():
        waiting = list(Launch.objects.filter(state__in=["planned", "running"]).select_related("cycle"))
    lines = [line for launch in waiting for line in lines_of(launch) if line.started_at is None]
    with transaction.atomic():
        for line in lines:
            due.wish(ONE, line.pk, tenant=line.tenant_id, lane=_lane(line))
        due.finish(held, again_in=DAILY)


def _lane(line: LaunchCluster) -> str:
    with acting_for(line.tenant_id, staff=True):
        return CloudAccount.objects.get(pk=line.account_id).lane(line.region)


@handler(ONE)
def check_one(held: due.Held) -> None:
    """Ask the account afresh, then hold the wish against what it says; where it does not answer, against what was known."""
    with acting_for(held.tenant_id, staff=True):
        line = LaunchCluster.objects.filter(pk=held.ref).first()
    if line is not None and line.started_at is None:
        asking.refresh(line.tenant_id, line.account_id, line.region)
    with acting_for(held.tenant_id, staff=True):
        line = LaunchCluster.objects.filter(pk=held.ref, started_at=None).first()
        if line is not None:
            check_line(line, by="engine", nightly=True)
        due.finish(held, again_in=None)
