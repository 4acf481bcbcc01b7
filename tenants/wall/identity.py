"""Who is asking: a session or a bearer token becomes a person. Which tenant is meant is never decided here."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from datetime import timedelta

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from tenants.models import ApiToken, Person, Tenant
from tenants.web.problems import Refused, answer, is_api

PREFIX_LENGTH = 12
# A machine shows the token of its cluster there, which is no person's: the view itself looks at it.
MACHINES = re.compile(r"/api/v1/t/[^/]+/clusters/[^/]+/agent/(pull|answer|report)/")
LONGEST_DAYS = 365


def issue_token(
    *,
    person: Person,
    name: str,
    tenant: Tenant | None = None,
    days: int = 90,
    scope: str = "write",
    internal: bool = False,
) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown once and not kept. Raises Refused outside 1 to 365 days."""
    if not 1 <= days <= LONGEST_DAYS:
        raise Refused("token_days", f"A token lives 1 to {LONGEST_DAYS} days; you asked for {days}.", asked=days)
    text = secrets.token_urlsafe(32)  # 256 random bits
    token = ApiToken.objects.create(
        person=person,
        tenant=tenant,
        name=name,
        scope=scope,
        internal=internal,
        prefix=text[:PREFIX_LENGTH],
        digest=hashlib.sha256(text.encode()).hexdigest(),
        expires_at=timezone.now() + timedelta(days=days),
    )
    return token, text


def bearer(text: str) -> ApiToken | None:
    """The living token of this text, or None."""
    token = ApiToken.objects.select_related("person", "tenant").filter(prefix=text[:PREFIX_LENGTH]).first()
    digest = hashlib.sha256(text.encode()).hexdigest()
    if token is None or not hmac.compare_digest(token.digest, digest):
        return None
    if token.revoked_at or token.expires_at <= timezone.now() or not token.person.is_active:
        return None
    # Once an hour is exact enough to find a forgotten token, and spares a write per request.
    if token.last_used_at is None or token.last_used_at < timezone.now() - timedelta(hours=1):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=Now())
    return token


class IdentityMiddleware:
    """Sets `request.person`, `request.token` and `request.actor`, the id that the history keeps."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.person, request.token, request.actor = None, None, ""
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        # A token opens the API alone: pages are for people, who sit where their seats are and not where a token is narrowed to.
        if MACHINES.fullmatch(request.path):
            return self.get_response(request)
        if scheme and is_api(request):
            request.token = bearer(text.strip()) if scheme.lower() == "bearer" and "\x00" not in text else None
            if request.token is None:
                response = answer(request, 401, "not_signed_in", "The token is unknown, expired or withdrawn.")
                response["WWW-Authenticate"] = "Bearer"
                return response
            request.person, request.actor = request.token.person, request.token.actor
        elif request.user.is_authenticated:
            request.person, request.actor = request.user, request.user.actor
        if request.person and not request.token:
            translation.activate(request.person.language)
            request.LANGUAGE_CODE = translation.get_language()
            if not is_api(request):  # whose times are in UTC, with their offset
                with timezone.override(request.person.timezone):
                    return self.get_response(request)
        return self.get_response(request)
