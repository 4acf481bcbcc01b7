"""Structured logs, one JSON object a line, joined to a page and to the history by `request_id`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import structlog
import structlog.tracebacks
from django.http import HttpRequest, HttpResponse

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
# Without the local variables of each frame: they hold what participants keep from each other, and secrets.
PLAIN = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def logging_settings(*, readable: bool) -> dict[str, Any]:
    """The LOGGING of Django; `readable` is for people at a terminal, without it lines are JSON."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    last = (
        [structlog.dev.ConsoleRenderer(colors=False)]
        if readable
        else [structlog.processors.ExceptionRenderer(PLAIN), structlog.processors.JSONRenderer()]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            name: {"level": "INFO"}
            for name in ("tenants", "clusters", "support", "program", "gunicorn.error", "celery.apps.worker")
        }
        | {"django": {"handlers": [], "level": "WARNING", "propagate": True}}
        | {"django.server": {"handlers": [], "level": "INFO", "propagate": True}},
    }


class RequestIdMiddleware:
    """Gives every request an id: `request.id`, every log line of it, and the header X-Request-Id of the answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Never taken from the client: the history is joined by it.
        request.id = str(uuid.uuid4())  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request_id=request.id):  # type: ignore[attr-defined]
            response = self.get_response(request)
        response["X-Request-Id"] = request.id  # type: ignore[attr-defined]
        return response
