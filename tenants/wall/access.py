"""`@allow` is the one door: who is it, which tenant, may they; then one transaction that acts for exactly that."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.translation import gettext_lazy
from rest_framework.request import Request

from tenants.history import timeline
from tenants.models import Assignment, Membership, Person, Tenant, holding
from tenants.wall import roles, second_step
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.idempotency import form_once
from tenants.web.problems import RETRIED, answer, is_api

SAFE = ("GET", "HEAD", "OPTIONS")

AUDIT_OPENED = timeline.kind("audit.opened", gettext_lazy("{actor} opened {path}"), audience="internal")


class SwallowedError(RuntimeError):
    """A view caught a database error outside a savepoint and answered as if all were well; nothing was saved."""


@dataclass(frozen=True)
class Seat:
    """Where a person sits for this request: the tenant (None: all that they may see), the role, what is visible."""

    tenant: Tenant | None
    role: str
    internal: bool
    scope: Callable[[], AbstractContextManager[None]]


def allow(allowed: frozenset[str], *, write: frozenset[str] | None = None, upload: bool = False) -> Callable[..., Any]:
    """Let these roles in; `write` narrows who may use an unsafe method. `upload`: the body may be a form with files."""
    changing = allowed if write is None else write

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, tenant: str | None = None, **kwargs: Any) -> HttpResponse:
            if request.person is None:
                return _not_signed_in(request)
            if second_step.overdue(request):
                return second_step.asked_for(request)
            # A slow upload is waited for here, not inside the transaction; files go to the disk and not through `body`.
            # Whoever looked for the form's token has read a body of parts already, and it cannot be read twice.
            in_parts = request.content_type == "multipart/form-data" and (upload or request._read_started)
            _ = request.FILES if in_parts else request.body
            found = seat(request.person, tenant, request.token)
            request.tenant, request.role, request.internal = found.tenant, found.role, found.internal
            safe = request.method in SAFE
            if found.role not in (allowed if safe else changing):
                raise PermissionDenied
            if not safe and request.token and request.token.scope == "read":
                raise PermissionDenied
            try:
                return _run(view, found, request, *args, **kwargs)
            except OperationalError as error:
                if getattr(error.__cause__, "pgcode", None) not in RETRIED:
                    raise
                return _run(view, found, request, *args, **kwargs)

        guarded.roles = {"read": allowed, "write": changing}
        return guarded

    return decorate


def _run(
    view: Callable[..., HttpResponse], found: Seat, request: HttpRequest, *args: Any, **kwargs: Any
) -> HttpResponse:
    with found.scope():
        response = form_once(view, request, *args, **kwargs)
        if hasattr(response, "render") and not response.is_rendered:
            response.render()  # templates and serializers may still query
        if connection.needs_rollback and response.status_code < 400:
            raise SwallowedError(request.path)
    if found.role == roles.AUDITOR and request.method in SAFE:
        _note_what_an_auditor_opened(found, request)
    return response


def at_the_office(request: HttpRequest | Request) -> None:
    """What the office keeps is found at its own address alone; at a participant's there is none. Raises Http404."""
    if not request.tenant.is_office:
        raise Http404


def _not_signed_in(request: HttpRequest) -> HttpResponse:
    if is_api(request):
        response = answer(request, 401, "not_signed_in", "Sign in, or send a token as 'Authorization: Bearer TOKEN'.")
        response["WWW-Authenticate"] = "Bearer"
        return response
    if request.headers.get("HX-Request"):
        response = HttpResponse(status=401)
        response["HX-Redirect"] = resolve_url(settings.LOGIN_URL)
        return response
    return redirect_to_login(request.get_full_path() if request.method in SAFE else "/")


def _note_what_an_auditor_opened(found: Seat, request: HttpRequest) -> None:
    place = found.tenant or Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        timeline.record(AUDIT_OPENED, about=place, by=request.actor, path=request.get_full_path()[:500])


def seat(person: Person, slug: str | None, token: Any = None) -> Seat:
    """Where this person sits. Raises Http404 where they have no seat: what is not yours does not exist."""
    memberships = list(
        Membership.objects.filter(holding(), person=person, person__is_active=True)
        .select_related("tenant")
        .order_by("pk")
    )
    office = next((m for m in memberships if m.tenant.is_office), None)
    # A narrowed token sits at its one tenant wherever it asks, and only while its person still sits there.
    asked = token.tenant.slug if token and token.tenant_id and slug is None else slug
    found = _staff_seat(person, office, asked) if office else _customer_seat(memberships, asked)
    return _narrowed(found, token, named=slug is not None) if token else found


def _staff_seat(person: Person, office: Membership, slug: str | None) -> Seat:
    internal = office.role in roles.SEES_INTERNAL
    if office.role == roles.SERVICE_ENGINEER:
        return _service_seat(person, office, slug)
    if slug is None:
        if office.role == roles.AUTOMATION:
            everybody = list(Tenant.objects.filter(is_office=False))
            return Seat(None, office.role, internal, lambda: acting_for(*everybody))
        return Seat(None, office.role, internal, reading_everyone)
    tenant = office.tenant if slug == office.tenant.slug else Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise Http404
    role = office.role
    if role == roles.ACCOUNT_TEAM and not tenant.is_office and not assigned(person, tenant):
        role = roles.ACCOUNT_TEAM_ELSEWHERE
    return Seat(tenant, role, internal, lambda: acting_for(tenant, staff=internal))


def _service_seat(person: Person, office: Membership, slug: str | None) -> Seat:
    """A service engineer sits at the tenants whose cases were escalated to the component, and nowhere else."""
    theirs = _served(person)
    if slug is None:
        return Seat(None, office.role, True, lambda: acting_for(*theirs, staff=True))
    tenant = next((tenant for tenant in theirs if tenant.slug == slug), None)
    if tenant is None:
        raise Http404
    return Seat(tenant, office.role, True, lambda: acting_for(tenant, staff=True))


def _served(person: Person) -> list[Tenant]:
    rows = Assignment.objects.filter(holding(), person=person, duty="service").select_related("tenant")
    return [row.tenant for row in rows]


def _customer_seat(memberships: list[Membership], slug: str | None) -> Seat:
    if slug is None and memberships:
        # One person may have several tenants and a role in each: without naming one, only what all of them allow.
        role = memberships[0].role if len({m.role for m in memberships}) == 1 else roles.VIEWER
        return Seat(None, role, False, lambda: acting_for(*(m.tenant for m in memberships)))
    found = next((membership for membership in memberships if membership.tenant.slug == slug), None)
    if found is None:
        raise Http404
    return Seat(found.tenant, found.role, False, lambda: acting_for(found.tenant))


def _narrowed(found: Seat, token: Any, *, named: bool) -> Seat:
    """A token is its person's seat, narrowed to its tenant, and sees internal text only when it says so."""
    internal = found.internal and token.internal
    if token.tenant_id and found.tenant.pk != token.tenant_id:
        raise Http404
    if found.tenant is not None:
        return Seat(
            found.tenant if named else None, found.role, internal, lambda: acting_for(found.tenant, staff=internal)
        )
    if found.internal and not internal:
        served = found.role == roles.SERVICE_ENGINEER
        places = _served(token.person) if served else list(Tenant.objects.filter(is_office=False))
        return Seat(None, found.role, False, lambda: acting_for(*places))
    return Seat(None, found.role, internal, found.scope)


def assigned(person: Person, tenant: Tenant) -> bool:
    return Assignment.objects.filter(holding(), person=person, tenant=tenant).exclude(duty="service").exists()
