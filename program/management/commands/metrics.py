"""`manage.py metrics`: what the processes of this machine counted, and what waits in the database, for Prometheus."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import Error, connection
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from tenants.work.loop import HANDLERS
from tenants.work.overview import waiting_by_kind


class Waiting(Collector):
    """What is due, read when somebody asks: a number that the last worker wrote would stand still when all workers do."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("cohort_database_up", "Whether the database answered.")
        try:
            rows = {row.kind: row for row in waiting_by_kind()}
        except Error:
            rows = {}
            up.add_metric([], 0)
        else:
            up.add_metric([], 1)
        finally:
            connection.close()  # each question is asked by a thread of its own
        yield up
        if up.samples[0].value:
            yield from self._of(rows)

    def _of(self, rows: dict[str, Any]) -> Iterator[Metric]:
        told = {
            "due": "How many rows of this kind are due now.",
            "in_flight": "How many rows of this kind are being handled.",
            "stuck": "How many rows of this kind gave up and wait for a person.",
            "age": "For how many seconds the oldest due row of this kind has been waiting.",
        }
        for name, help in told.items():
            family = GaugeMetricFamily(
                "cohort_due_age_seconds" if name == "age" else f"cohort_{name}", help, labels=["kind"]
            )
            for kind in sorted({*HANDLERS, *rows}):
                family.add_metric([kind], float(getattr(rows[kind], name) or 0) if kind in rows else 0)
            yield family


class Command(BaseCommand):
    help = "Answer Prometheus on METRICS_HOST and METRICS_PORT, until SIGTERM."

    def handle(self, *args: Any, **options: Any) -> None:
        registry = CollectorRegistry()
        if settings.PROMETHEUS_MULTIPROC_DIR:
            MultiProcessCollector(registry)
        registry.register(Waiting())
        ended = threading.Event()
        for wanted in (signal.SIGINT, signal.SIGTERM):
            signal.signal(wanted, lambda *_: ended.set())
        server, thread = start_http_server(settings.METRICS_PORT, settings.METRICS_HOST, registry)
        ended.wait()
        server.shutdown()
        thread.join()
