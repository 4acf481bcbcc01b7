"""Every night the full preflight of each planned launch, so that what stopped fitting is known before the morning of the day."""

from datetime import timedelta

from django.db import transaction

from program.launching import check_launch
from program.models import Launch
from tenants.wall.acting import reading_everyone
from tenants.work import due, heartbeat
from tenants.work.loop import handler

DAILY = timedelta(days=1)


@handler(heartbeat.recurs("launch-preflight"), queue="deliver")
def check_all(held: due.Held) -> None:
    """Look at every launch of which something has not started; doing it again says the same again."""
    with reading_everyone():
        waiting = list(Launch.objects.filter(state__in=["planned", "running"]).select_related("cycle"))
    for launch in waiting:
        check_launch(launch=launch, by="engine")
    with transaction.atomic():
        due.finish(held, again_in=DAILY)
