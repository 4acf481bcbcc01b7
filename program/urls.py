"""The whole URL space on one screen."""

from __future__ import annotations

from django.urls import include, path

from program import health

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("api/v1/", include("program.api_urls")),
]

handler404 = "tenants.web.problems.not_found"
