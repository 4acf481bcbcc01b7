"""Who is asking was settled before DRF; a session must still prove that its own page sent the request."""

from typing import Any

from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request


class HandedOver(BaseAuthentication):
    """Hands over the person that the identity middleware found; asks for a CSRF token only of sessions."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        inner = request._request
        if inner.person is None:
            return None
        if inner.token is None:
            check = CSRFCheck(lambda _: None)  # type: ignore[arg-type]
            check.process_request(inner)
            reason = check.process_view(inner, None, (), {})
            if reason:
                raise exceptions.PermissionDenied(f"CSRF: {reason}")
        return inner.person, inner.token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
