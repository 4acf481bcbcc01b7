"""The API of tables as files: what can be imported and exported, exports, and imports that are checked first and applied then."""

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import parser_classes, renderer_classes
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import importing, states
from tenants.files_api import Bytes
from tenants.import_export import KINDS, Kind
from tenants.import_views import exported, kind_named, run_of, sent
from tenants.models import Import
from tenants.sheets import FORMATS
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, optional_version
from tenants.web.attempt import attempt
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, OneOf, Shown, one
from tenants.web.problems import Stale, answer


class ColumnShown(serializers.Serializer):
    name = serializers.CharField()
    label = serializers.CharField()
    look = serializers.ChoiceField(choices=["text", "number", "day", "yes_no", "words", "choice", "moment"])
    key = serializers.BooleanField(help_text="By these a row without an id is found again.")
    needed = serializers.BooleanField(help_text="A new row has to say it.")
    reading = serializers.BooleanField(help_text="Shown in exports; an import does not change it.")
    choices = serializers.ListField(child=serializers.CharField())
    help = serializers.CharField()


class TableShown(serializers.Serializer):
    """A kind of row as a file."""

    table = serializers.CharField()
    title = serializers.CharField()
    may_import = serializers.BooleanField(help_text="Whether your role may import such rows.")
    columns = ColumnShown(many=True)


class TableList(serializers.Serializer):
    results = TableShown(many=True)
    next = serializers.URLField(allow_null=True)


class FaultShown(serializers.Serializer):
    line = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(help_text="Empty: the line as a whole.")
    sentence = serializers.CharField()


class CellsShown(serializers.Serializer):
    line = serializers.IntegerField()
    what = serializers.ChoiceField(choices=["new", "changed"])
    name = serializers.CharField()
    fresh = serializers.BooleanField(default=False, help_text="It makes a participant that is not there yet.")
    near = serializers.CharField(default="", help_text="The participant that is there and may have been meant.")
    cells = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(allow_blank=True)),
        help_text="[column, old, new] as text.",
    )


class ImportRow(Shown):
    """A file that was sent, and what became of it."""

    table = serializers.CharField()
    name = serializers.CharField()
    format = serializers.ChoiceField(choices=FORMATS)
    state = serializers.ChoiceField(choices=sorted(states.IMPORT))
    asked_by = serializers.CharField(help_text="person:… or token:…")
    rows = serializers.IntegerField()
    done = serializers.IntegerField(help_text="Rows looked at so far.")
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    same = serializers.IntegerField()
    problem_count = serializers.IntegerField()
    ended_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class ImportShown(ImportRow):
    """The same with what would change: the first 200 rows, and the first 100 faults."""

    problems = FaultShown(many=True)
    changes = CellsShown(many=True)
    meanwhile = serializers.ListField(
        child=serializers.IntegerField(), help_text="Lines that do something else than when the file was checked first."
    )


class ImportAsked(Asked):
    """A form of the type multipart/form-data."""

    file = serializers.FileField(
        max_length=200, help_text=gettext_lazy("CSV, XLSX or YAML, up to 20 MiB and 10,000 rows.")
    )


class ImportDoingAsked(Asked):
    version = serializers.IntegerField(
        min_value=0, max_value=2_147_483_647, required=False, help_text="The one you looked at; another one is refused."
    )


class ImportApplyAsked(ImportDoingAsked):
    sure = serializers.BooleanField(
        default=False, help_text="That participants called nearly as one that is there are really new."
    )


IMPORTS = Listing("imports", ImportRow, {"state": OneOf("state", states.IMPORT)}, newest="created_at")


def _table(kind: Kind, role: str) -> dict[str, Any]:
    columns = [
        {
            "name": column.name, "label": str(column.label), "look": column.look, "key": column.name in kind.key,
            "needed": column.needed, "reading": column.fixed or column.told, "help": str(column.help),
            "choices": [word for word, _label in column.choices],
        }
        for column in kind.columns
    ]  # fmt: skip
    return {"table": kind.word, "title": str(kind.title), "may_import": role in kind.write, "columns": columns}


@allow(roles.READ)
@extend_schema(responses=TableList)
@endpoint("GET")
def tables(request: Request) -> Response:
    """The kinds of rows that can be exported here, and imported by whoever may."""
    told = [_table(kind, request.role) for kind in KINDS.values() if request.role in kind.read]
    return Response(TableList({"results": told, "next": None}).data)


@allow(roles.READ)
@extend_schema(responses=TableShown)
@endpoint("GET")
def table(request: Request, word: str) -> Response:
    """One kind of row, with its columns."""
    return Response(TableShown(_table(kind_named(word, request.role), request.role)).data)


@allow(roles.READ)
@extend_schema(
    parameters=[
        OpenApiParameter("format", str, enum=FORMATS, description="csv unless said."),
        OpenApiParameter("template", str, enum=["0", "1"], description="1: the columns alone."),
        OpenApiParameter("participant", str, many=True, explode=True, description="Any column filters by its text."),
    ],
    responses={(200, "application/octet-stream"): OpenApiResponse(OpenApiTypes.BINARY)},
)
@endpoint("GET")
@renderer_classes([Bytes])
def export(request: Request, word: str) -> HttpResponseBase:
    """The rows as a file. Imported again, it changes nothing."""
    response = exported(request, kind_named(word, request.role))
    response["Content-Type"] = "application/octet-stream"
    return response


@allow(roles.EDIT_RECORD, upload=True)
@extend_schema(request={"multipart/form-data": ImportAsked}, responses={201: ImportShown, 202: ImportShown})
@endpoint("POST")
@parser_classes([MultiPartParser])
@repeatable(required=False)
def begin(request: Request, word: str) -> Response:
    """Send a file to be checked: 201 when that is done, 202 when it is long. Nothing is changed before it is applied.

    Faults in a short file are a 422 with `problems`; those of a long one stand in the import.
    """
    kind = kind_named(word, request.role)
    if request.role not in kind.write:
        raise PermissionDenied
    run = importing.begin(**sent(request, kind, asked(ImportAsked, request)["file"]))
    return _shown(run, 202 if run.state in importing.UNDER_WAY else 201)


def _shown(run: Import, status: int = 200) -> Response:
    row = one(Import.objects.all(), ImportShown, run.pk)
    return Response(ImportShown(row).data, status=status)


@allow(roles.EDIT_RECORD)
@IMPORTS.described
@endpoint("GET")
def imports(request: Request) -> Response:
    """The files that were sent here, newest first."""
    mine = [kind.word for kind in KINDS.values() if request.role in kind.write]
    return IMPORTS.answer(request, Import.objects.filter(table__in=mine))


def _as_seen(request: Request, pk: UUID, body: type[Asked] = ImportDoingAsked) -> Import:
    """The import, when it is still what its sender looked at. Raises Stale otherwise."""
    run, version = run_of(request, pk), optional_version(request, asked(body, request))
    if version not in (None, run.version):
        sentence = _("This import is at version %(now)s, and you looked at %(seen)s. Read it again.")
        raise Stale("stale", sentence % {"now": run.version, "seen": version}, version=run.version)
    return run


@allow(roles.EDIT_RECORD)
@extend_schema(responses=ImportShown)
@endpoint("GET")
def import_(request: Request, pk: UUID) -> Response:
    """One file: what it would change or what is wrong with it."""
    return _shown(run_of(request, pk))


@allow(roles.EDIT_RECORD)
@extend_schema(request=ImportApplyAsked, responses={200: ImportShown, 202: ImportShown})
@endpoint("POST")
@repeatable(required=False)
def apply(request: Request, pk: UUID) -> Any:
    """Import what was shown, whole or not at all; 202 when it is long.

    409 `changed_meanwhile` when rows were changed since: the import then shows what would happen now. 422 `near` when a
    new participant is called nearly as one that is there, until `sure` says that it is new.
    """
    run, sure = _as_seen(request, pk, ImportApplyAsked), asked(ImportApplyAsked, request)["sure"]
    told = {
        "sure": sure,
        "by": request.actor,
        "person": request.person,
        "role": request.role,
        "staff": request.internal,
    }
    _done, refused = attempt(importing.apply, run=run, **told)
    if refused is None:
        return _shown(run, 202 if run.state in importing.UNDER_WAY else 200)
    if refused.code != importing.MEANWHILE:
        raise refused
    run.refresh_from_db()
    importing.look_again(run=run, staff=request.internal)
    return answer(request._request, refused.status, refused.code, refused.sentence, **refused.facts)


@allow(roles.EDIT_RECORD)
@extend_schema(request=ImportDoingAsked, responses=ImportShown)
@endpoint("POST")
def cancel(request: Request, pk: UUID) -> Response:
    """Call it off; nothing of it is kept."""
    run = _as_seen(request, pk)
    importing.cancel(run=run, by=request.actor)
    return _shown(run)
