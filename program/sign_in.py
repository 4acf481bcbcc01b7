"""How allauth and axes are told our rules of signing in."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class InvitationOnly(DefaultAccountAdapter):  # type: ignore[misc]
    """Nobody signs up: people are invited by their organisation or by the programme office."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


def attempted_address(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The address somebody tries to sign in with, as axes counts it."""
    return str((credentials or {}).get("email") or (credentials or {}).get("username") or request.POST.get("login", ""))
