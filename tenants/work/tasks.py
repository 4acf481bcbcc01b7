"""Celery's doorbell: `ring` looks at the database and sends bells, `work` answers one. No message carries an id."""

from celery import shared_task
from django.db import close_old_connections

from tenants.work import due, heartbeat, loop

BELLS = 8  # per ring and queue: more would only find nothing left to claim
# A queue's own limits where a step may take longer than the usual minute: it waits for a program, and renews its lease.
LIMITS = {"slow": {"soft_time_limit": 600, "time_limit": 630}}
BELL_EXPIRES = 10  # seconds; a late bell means nothing


@shared_task(name="tenants.work.tasks.work", ignore_result=True)
def work(queue: str) -> int:
    """Work off what is due on this queue."""
    return loop.work_off(queue)


@shared_task(name="tenants.work.tasks.ring", ignore_result=True)
def ring() -> None:
    """Free what dead workers held, and send as many bells as there are due rows."""
    close_old_connections()
    heartbeat.begin()
    due.free_the_dead()
    for queue in loop.queues():
        for _ in range(min(due.waiting(loop.kinds_of(queue)), BELLS)):
            work.apply_async(args=[queue], queue=queue, expires=BELL_EXPIRES, retry=False, **LIMITS.get(queue, {}))
