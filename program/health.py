"""Two public answers for load balancers: the process lives, and it can do its work."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is asked."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """The database answers, under a fit role, with every migration applied. (The broker is not the web's business.)"""
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return JsonResponse({"ready": False, "why": "The database does not answer."}, status=503)
    if waiting:
        return JsonResponse({"ready": False, "why": f"{len(waiting)} migrations are not applied."}, status=503)
    return JsonResponse({"ready": True})
