"""What is rung regularly: static, in UTC, safe to ring twice or from any number of beats."""

from __future__ import annotations

from typing import Any

from django.conf import settings


def schedule() -> dict[str, dict[str, Any]]:
    """The schedule of Celery beat."""
    return {
        "ring": {
            "task": "tenants.work.tasks.ring",
            "schedule": settings.BELL_SECONDS,
            # While no worker listens, bells must not pile up.
            "options": {"expires": 10, "queue": "engine"},
        }
    }
