"""The API of a case's files: which there are, and attaching one."""

from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import parser_classes
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from support import queries
from support.attaching import attach_to_case
from support.models import Case, CaseNote
from tenants.files_api import FILES, FileShown, shown_files
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import one


class FileAsked(Asked):
    """A form of the type multipart/form-data."""

    file = serializers.FileField(max_length=200, help_text="Up to 20 MiB; its name is kept.")
    audience = serializers.ChoiceField(choices=CaseNote.AUDIENCES, default="shared")


def _case(request: Request, pk: UUID) -> Case:
    found = queries.cases(role=request.role, person=request.person).select_related("tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def _page(request: Request, pk: UUID) -> Response:
    return FILES.answer(request, queries.case_files(_case(request, pk)).values(*FILES.columns()), shown_files)


@allow(roles.READ_CASES)
@FILES.described
@endpoint("GET")
def files(request: Request, pk: UUID) -> Response:
    """What is attached to a case, newest first."""
    return _page(request, pk)


@allow(roles.READ_CASES, write=roles.ANSWER_CASES, upload=True)
@FILES.described
@extend_schema(methods=["POST"], request={"multipart/form-data": FileAsked}, responses={201: FileShown})
@endpoint("GET", "POST")
@parser_classes([MultiPartParser])
@repeatable(required=False)
def tenant_files(request: Request, pk: UUID) -> Response:
    """What is attached to a case; attach a file, for all who may see it or for staff only."""
    if request.method != "POST":
        return _page(request, pk)
    case, sent = _case(request, pk), asked(FileAsked, request)
    file = sent["file"]
    kept = attach_to_case(
        case=case,
        name=file.name,
        content=file.read(),
        media_type=file.content_type or "",
        audience=sent["audience"],
        by=request.actor,
    )
    [row] = shown_files([one(queries.case_files(case), FileShown, kept.pk)])
    return Response(FileShown(row).data, status=201)
