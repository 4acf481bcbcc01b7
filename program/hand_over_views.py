"""The hand-over sheet as a page to print, as Markdown and by the API."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from program.hand_over import Sheet, markdown, sheet
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web.api import endpoint
from tenants.web.problems import Refused

SHARED, INTERNAL = "shared", "internal"


def made_for(request: Any) -> Sheet:
    """The sheet that this reader asks for: staff may also ask for the one that the participant may have."""
    if request.tenant.is_office:
        raise Http404
    asked = request.GET.get("audience", INTERNAL if request.internal else SHARED)
    if asked not in (SHARED, INTERNAL):
        sentence = _("'audience' takes 'shared' or 'internal'; you sent '%(value)s'.")
        shown = asked[:40].encode("utf-8", "replace").decode().replace("\x00", "␀")
        raise Refused("audience", sentence % {"value": shown}, status=400, field="audience")
    audience = asked if request.internal else SHARED
    told = {"tenant": request.tenant, "person": request.person, "role": request.role, "now": timezone.now()}
    if audience == INTERNAL:
        return sheet(audience=audience, **told)
    with acting_for(request.tenant):  # as the participant's own people: nothing internal exists in here
        return sheet(audience=audience, **told)


def stamp(made: Sheet, zone: str) -> str:
    """Who made it and when, and for whom it is."""
    moment = made.made_at.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %Z")
    told = {"moment": moment, "name": made.reader}
    if made.audience == INTERNAL:
        return _("Hand-over sheet of %(moment)s, made for %(name)s. Internal: the participant never gets it.") % told
    return _("Hand-over sheet of %(moment)s, made for %(name)s. It holds nothing internal.") % told


@allow(roles.READ)
@require_safe
def hand_over(request: HttpRequest) -> HttpResponse:
    """The sheet on one page that prints."""
    made = made_for(request)
    context = {
        "sheet": made,
        "stamp": stamp(made, request.person.timezone),
        "may_choose": request.internal,
        "other": SHARED if made.audience == INTERNAL else INTERNAL,
    }
    return render(request, "program/hand_over.html", context)


@allow(roles.READ)
@require_safe
def hand_over_markdown(request: HttpRequest) -> HttpResponse:
    """The sheet as a Markdown file."""
    made = made_for(request)
    text = markdown(made, stamp(made, request.person.timezone))
    answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = f"hand-over-{made.tenant}-{made.made_at:%Y-%m-%d}"
    answer["Content-Disposition"] = f'attachment; filename="{name}.md"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


class SectionShown(serializers.Serializer):
    """A part of the sheet, as a table of texts."""

    code = serializers.CharField()
    title = serializers.CharField()
    columns = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))


class HandOverShown(serializers.Serializer):
    """All that whoever takes over a participant has to know."""

    id = serializers.UUIDField(help_text="Of the organisation.")
    tenant = serializers.SlugField()
    created_at = serializers.DateTimeField(source="made_at")
    audience = serializers.ChoiceField(choices=[SHARED, INTERNAL])
    reader = serializers.CharField()
    sections = SectionShown(many=True)
    markdown = serializers.CharField(help_text="The same as Markdown.")


@allow(roles.READ)
@extend_schema(
    parameters=[
        OpenApiParameter(
            "audience", OpenApiTypes.STR, enum=[SHARED, INTERNAL], description="Internal is for staff, who get it unless asked otherwise."
        )
    ],
    responses=HandOverShown,
)  # fmt: skip
@endpoint("GET")
def hand_over_api(request: Request) -> Response:
    """The hand-over sheet of one participant."""
    made = made_for(request)
    told = {name: getattr(made, name) for name in ("tenant", "audience", "made_at", "reader", "sections")}
    told["id"] = request.tenant.pk
    told["markdown"] = markdown(made, stamp(made, request.person.timezone))
    return Response(HandOverShown(told).data)
