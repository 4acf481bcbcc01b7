"""Lists of the API: a noun declares its rows and filters once, and gets its pages, its refusals and its schema from that."""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.web import pages
from tenants.web.bodies import nearest
from tenants.web.problems import Refused

TEXT = re.compile(r"[\w.:/@+-]{1,120}")
PAGING = ("cursor", "page_size")
PAGES: dict[str, Any] = {}


class Shown(serializers.Serializer):
    """What the API shows of a row of `values()`; its fields' sources are the columns to ask for."""

    BESIDE: tuple[str, ...] = ()  # fields that are no column: whoever shows the row puts them there

    id = serializers.UUIDField()
    tenant = serializers.SlugField(source="tenant.slug", help_text="The organisation it belongs to.")
    created_at = serializers.DateTimeField()

    @classmethod
    def columns(cls) -> list[str]:
        """The columns this needs, as `values()` spells them."""
        return [
            (declared.source or key).replace(".", "__")
            for key, declared in cls._declared_fields.items()
            if key not in cls.BESIDE
        ]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return super().to_representation(_unfolded(instance) if isinstance(instance, dict) else instance)


class WarningShown(serializers.Serializer):
    """Something that was done all the same and may not be meant."""

    code = serializers.CharField()
    sentence = serializers.CharField(help_text="What may be wrong, with the values, in the reader's language.")
    about = serializers.ListField(child=serializers.UUIDField(), help_text="What else it speaks of, by id.")


def _unfolded(row: dict[str, Any]) -> dict[str, Any]:
    """{"tenant__slug": x} as {"tenant": {"slug": x}}."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        first, _sep, rest = name.partition("__")
        if rest:
            found.setdefault(first, {})[rest] = value
        else:
            found[name] = value
    return found


@dataclass(frozen=True)
class OneOf:
    """A filter that takes words of a closed list, several when repeated."""

    column: str
    allowed: Iterable[str]
    help: str = ""

    def read(self, name: str, sent: list[str]) -> dict[str, Any]:
        known = sorted(self.allowed)
        for value in sent:
            if value not in known:
                raise _unfit(name, value, _("Allowed are: %(words)s.") % {"words": ", ".join(known)}, allowed=known)
        return {f"{self.column}__in": sent}

    def described(self, name: str) -> OpenApiParameter:
        return OpenApiParameter(name, str, enum=sorted(self.allowed), many=True, explode=True, description=self.help)


@dataclass(frozen=True)
class Id:
    """A filter that takes one id."""

    column: str
    help: str = ""

    def read(self, name: str, sent: list[str]) -> dict[str, Any]:
        try:
            return {self.column: uuid.UUID(sent[-1])}
        except ValueError:
            raise _unfit(name, sent[-1], _("Send an id like 123e4567-e89b-42d3-a456-426614174000.")) from None

    def described(self, name: str) -> OpenApiParameter:
        return OpenApiParameter(name, OpenApiTypes.UUID, description=self.help)


@dataclass(frozen=True)
class Word:
    """A filter that takes one word as it is stored."""

    column: str
    help: str = ""

    def read(self, name: str, sent: list[str]) -> dict[str, Any]:
        if not TEXT.fullmatch(sent[-1]):
            raise _unfit(name, sent[-1], _("Send up to 120 letters, digits and any of . : / @ + - _"))
        return {self.column: sent[-1]}

    def described(self, name: str) -> OpenApiParameter:
        return OpenApiParameter(name, str, description=self.help)


@dataclass(frozen=True)
class Moment:
    """A filter that takes a date with time and zone."""

    column: str
    help: str = ""

    def read(self, name: str, sent: list[str]) -> dict[str, Any]:
        return {self.column: moment(name, sent[-1])}

    def described(self, name: str) -> OpenApiParameter:
        return OpenApiParameter(name, OpenApiTypes.DATETIME, description=self.help)


Filter = OneOf | Id | Word | Moment


def moment(name: str, sent: str) -> datetime:
    """A time with its zone. Raises Refused (400)."""
    try:
        found = parse_datetime(sent.replace(" ", "+"))  # an unquoted + arrives as a space
        if found is not None and found.tzinfo is not None and 1970 <= found.year <= 9000:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise _unfit(name, sent, _("Send a time with its zone, like 2026-01-31T18:00:00+09:00."))


def _unfit(name: str, value: str, hint: str, **facts: Any) -> Refused:
    shown = value[:60].encode("utf-8", "replace").decode().replace("\x00", "␀")
    sentence = _("'%(name)s' cannot be '%(value)s'. %(hint)s") % {"name": name, "value": shown, "hint": hint}
    return Refused("filter", sentence, status=400, field=name, value=shown, **facts)


def filters_of(request: Request, known: Mapping[str, Filter], beside: Iterable[str] = ()) -> dict[str, Any]:
    """What the query string asks for, as arguments of filter(). Raises Refused (400) for anything undeclared."""
    found: dict[str, Any] = {}
    for name, sent in request.GET.lists():
        if name in PAGING or name in beside:
            continue
        if name not in known:
            shown = name[:60].encode("utf-8", "replace").decode().replace("\x00", "␀")
            allowed = sorted([*known, *beside, *PAGING])
            sentence = _("There is no filter '%(name)s' here. %(hint)s") % {
                "name": shown,
                "hint": nearest(shown, allowed),
            }
            raise Refused("filter", sentence, status=400, field=shown, allowed=allowed)
        found |= known[name].read(name, sent)
    return found


def one(rows: QuerySet, shown: type[Shown] | None, pk: Any, *more: str) -> Any:
    """The row of this id as `shown` needs it, or the object itself. Raises Http404, whoever's the id may be."""
    found = rows.filter(pk=pk)
    row = (found.values(*dict.fromkeys(["id", *shown.columns(), *more])) if shown else found).first()
    if row is None:
        raise Http404
    return row


@dataclass(frozen=True)
class Listing:
    """A noun of the API as a list: what a row shows, how it is ordered and by what it can be narrowed."""

    noun: str
    shown: type[serializers.Serializer]
    filters: Mapping[str, Filter] = field(default_factory=dict)
    newest: str = ""  # the time to order by, newest first; empty: by name
    name: str = "name"
    beside: tuple[str, ...] = ()  # parameters that the view reads itself

    def answer(
        self, request: Request, rows: QuerySet, show: Callable[[list[Any]], list[Any]] | None = None
    ) -> Response:
        """One page of `rows`; `show` turns its rows into what the serializer shows when they are more than columns."""
        found = self.page(request, rows if show else rows.values(*self.columns()))
        shown = self.shown(show(found.rows) if show else found.rows, many=True).data
        return Response({"results": shown, "next": request.build_absolute_uri(found.next) if found.next else None})

    def columns(self) -> list[str]:
        return list(dict.fromkeys(["id", self.newest or self.name, *self.shown.columns()]))  # type: ignore[attr-defined]

    def page(self, request: Request, rows: QuerySet) -> pages.Page:
        rows = rows.filter(**filters_of(request, self.filters, self.beside))
        size = pages.size_of(request)
        if self.newest:
            return pages.newest_first(rows, request, at=self.newest, size=size)
        return pages.by_name(rows, request, name=self.name, size=size)

    @property
    def described(self) -> Callable[[Any], Any]:
        """The decorator that puts this list into the schema."""
        parameters = [declared.described(name) for name, declared in self.filters.items()]
        parameters.append(OpenApiParameter("cursor", str, description="Taken from `next`; never made up."))
        parameters.append(
            OpenApiParameter("page_size", int, description=f"1 to {pages.LARGEST}; {pages.SIZE} unless said.")
        )
        return extend_schema(methods=["GET"], parameters=parameters, responses=self.paged())

    def paged(self) -> Any:
        # One class for a noun, wherever it is listed: the schema knows components by their class.
        name = f"{self.noun.title().replace('_', '')}Page"
        if name not in PAGES:
            end = serializers.URLField(allow_null=True, help_text="The address of the next page; null on the last.")
            PAGES[name] = inline_serializer(name, {"results": self.shown(many=True), "next": end})
        return PAGES[name]
