"""The API's schema as a document and as a page to read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from tenants.wall import roles
from tenants.wall.access import allow


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The OpenAPI document. It is the same for everybody and while the process lives."""
    return SchemaGenerator().get_schema(request=None, public=True)


@allow(roles.EVERYONE)
@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document."""
    return JsonResponse(document(), json_dumps_params={"default": str})


@allow(roles.EVERYONE)
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The document to read and to try out."""
    get_token(request)  # sets the cookie that proves a tried-out request to be this page's
    return HttpResponse(render_to_string("program/api_docs.html", {"LANGUAGE_CODE": get_language()}))
