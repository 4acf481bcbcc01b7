"""The content-security policy and its neighbours, on every answer."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from program.oidc import origin


def policy(issuer: str = "") -> str:
    """The policy; a form may lead to the provider where people sign in, because the answer to one sends them there."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            f"form-action 'self' {origin(issuer)}".strip(),
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    )


class SecurityHeadersMiddleware:
    """Adds the headers; a view that must allow more sets its own policy, and that one stays."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", policy(settings.OIDC_ISSUER))
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response
