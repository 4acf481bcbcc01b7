"""The API of files: which ones there are, what is known of one, and its content."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import renderer_classes
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import files
from tenants.models import Attachment
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.listing import Id, Listing, OneOf, Shown, Word, one


class FileShown(Shown):
    """A file that somebody, or the engine, attached to something."""

    BESIDE = ("content",)

    audience = serializers.ChoiceField(choices=Attachment.AUDIENCES)
    subject = serializers.CharField(help_text="What it is attached to: case, or part (of a cluster).")
    subject_id = serializers.UUIDField()
    name = serializers.CharField()
    media_type = serializers.CharField(help_text="As its sender said; it is handed out as application/octet-stream.")
    size = serializers.IntegerField(help_text="In bytes.")
    sha256 = serializers.CharField()
    actor = serializers.CharField(help_text="Who attached it: person:…, token:… or engine.")
    content = serializers.CharField(help_text="Where its bytes are.")


FILES = Listing(
    "files",
    FileShown,
    {
        "subject": Word("subject", "case or part."),
        "subject_id": Id("subject_id"),
        "audience": OneOf("audience", ["shared", "internal"]),
    },
    newest="created_at",
)


def visible(request: Request) -> QuerySet[Attachment]:
    """The files that whoever asks may open."""
    return files.visible_files(role=request.role, person=request.person)


def shown_files(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the address of their content."""
    return [
        row | {"content": reverse("api-tenant-file-content", args=[row["tenant__slug"], row["id"]])} for row in rows
    ]


@allow(roles.READ_CASES)
@FILES.described
@endpoint("GET")
def all_files(request: Request) -> Response:
    """Files, the newest first."""
    return FILES.answer(request, visible(request).values(*FILES.columns()), shown_files)


@allow(roles.READ_CASES)
@extend_schema(responses=FileShown)
@endpoint("GET")
def file(request: Request, pk: UUID) -> Response:
    """What is known of one file."""
    [row] = shown_files([one(visible(request), FileShown, pk)])
    return Response(FileShown(row).data)


class Bytes(BaseRenderer):
    """Lets a client ask for any type: it is given bytes, and renders nothing."""

    media_type = "*/*"
    format = ""

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return JSONRenderer().render(data)


@allow(roles.READ_CASES)
@extend_schema(responses={(200, "application/octet-stream"): OpenApiResponse(OpenApiTypes.BINARY)})
@endpoint("GET")
@renderer_classes([Bytes])
def content(request: Request, pk: UUID) -> HttpResponse:
    """The bytes of one file, as they were attached."""
    row = visible(request).filter(pk=pk).first()
    if row is None:
        raise Http404
    return files.handed_out(row)
