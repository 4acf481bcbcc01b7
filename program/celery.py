"""The Celery application: three queues of bells that wake workers; the work itself waits in the database."""

from __future__ import annotations

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_init
from kombu import Queue

from program.beat import schedule

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "program.settings")

QUEUES = ("engine", "slow", "deliver")

app = Celery("cohort", set_as_current=True)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.conf.task_routes = {"tenants.work.tasks.ring": {"queue": "engine"}}
app.conf.imports = ["tenants.work.tasks"]
app.conf.beat_schedule = schedule()


@worker_init.connect
def connect_once(**kwargs: Any) -> None:
    """A worker whose database or role is unfit ends at its start, not at its first task."""
    from django.core.exceptions import ImproperlyConfigured
    from django.db import connection

    try:
        connection.ensure_connection()
    except ImproperlyConfigured as unfit:
        raise SystemExit(
            str(unfit)
        ) from unfit  # of whatever is an Exception, Celery would only write a line to the log
    # Its children are forked from here and must not share the connection.
    connection.close()


@setup_logging.connect
def keep_our_logs(**kwargs: Any) -> None:
    """Celery would put its own handlers in place of ours."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)
