"""The whole URL space on one screen."""

from __future__ import annotations

from django.urls import path

from program import health

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
]
