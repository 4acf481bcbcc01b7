"""How allauth and axes are told our rules of signing in."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import render
from django.utils import timezone

from program import oidc
from tenants.models import Person
from tenants.secret_fields import open_text, seal_text


class InvitationOnly(DefaultAccountAdapter):  # type: ignore[misc]
    """Nobody signs up: people are invited by their organisation or by the programme office."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class KnownSubjects(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """An account at a provider is known by issuer and subject alone; an address that it claims opens nothing."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False

    def new_user(self, request: HttpRequest, sociallogin: Any) -> Person:
        """Somebody who is never saved; allauth writes them into the session, which knows no default of the database."""
        return Person(joined_at=timezone.now())

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse an answer that another issuer signed; of what the provider tells, nothing else is kept."""
        account = sociallogin.account
        issuer = account.extra_data.get("id_token", {}).get("iss", "")
        if oidc.plain(issuer) != oidc.plain(settings.OIDC_ISSUER):
            raise ImmediateHttpResponse(render(request, "socialaccount/authentication_error.html", status=403))
        account.extra_data = {"id_token": {"iss": issuer, "sub": account.uid}}
        if account.pk:
            account.save(update_fields=["extra_data"])  # looking it up has kept the whole answer already


class SealedSecrets(DefaultMFAAdapter):  # type: ignore[misc]
    """The secrets of second steps lie sealed in the database, as every secret does."""

    def encrypt(self, text: str) -> str:
        return seal_text(text)

    def decrypt(self, encrypted_text: str) -> str:
        return open_text(encrypted_text)


def attempted_address(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The address somebody tries to sign in with, as axes counts it."""
    return str((credentials or {}).get("email") or (credentials or {}).get("username") or request.POST.get("login", ""))
