"""The whole programme as one file, for its office: from the page of its rules, and by the API."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from program import states
from program.transfer.writing import whole
from tenants import programme_settings
from tenants.history import timeline
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.listing import filters_of
from tenants.web.problems import Refused

YAML = "application/yaml"


@allow(roles.TAKE_ALL)
@require_safe
def download(request: HttpRequest) -> StreamingHttpResponse:
    """The file. Who took it stands in the office's history."""
    return _sent(request)


@allow(roles.TAKE_ALL)
@extend_schema(responses={(200, YAML): OpenApiTypes.BINARY})
@endpoint("GET")
def programme_file(request: Request) -> StreamingHttpResponse:
    """The whole programme as one file, internal text included, as `manage.py programme_import` takes it."""
    filters_of(request, {})
    return _sent(request)


def _sent(request: Any) -> StreamingHttpResponse:
    if not request.tenant.is_office:
        raise Http404
    if not request.internal:
        raise Refused(
            "internal_token",
            _("The file holds internal text, and this token does not see it. Issue one that does."),
            status=403,
        )
    row = programme_settings.programme()
    if request.method == "GET":
        timeline.record(states.TAKEN_OUT, about=request.tenant, by=request.actor, name=row.name)
    answer = StreamingHttpResponse(whole.pieces(), content_type=YAML)
    answer["Content-Disposition"] = f'attachment; filename="{row.code}.yaml"'
    answer["Cache-Control"] = "no-store"
    return answer
