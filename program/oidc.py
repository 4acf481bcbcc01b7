"""Signing in at an organisation's own provider, by OpenID Connect: where it is, and under which name its accounts are kept."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import urlsplit


def provider_id(issuer: str) -> str:
    """The name under which accounts of an issuer are linked: another issuer's subject is never the same account."""
    return f"oidc-{hashlib.sha256(plain(issuer).encode()).hexdigest()[:16]}"


def plain(issuer: str) -> str:
    return issuer.strip().rstrip("/")


def origin(issuer: str) -> str:
    """Where the browser is sent to, as a content-security policy writes it; empty without an issuer."""
    parts = urlsplit(issuer)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def providers(*, issuer: str, client_id: str, secret: str, name: str) -> dict[str, Any]:
    """allauth's SOCIALACCOUNT_PROVIDERS: one provider, or none without an issuer."""
    app = {
        "provider_id": provider_id(issuer),
        "name": name,
        "client_id": client_id,
        "secret": secret,
        "settings": {"server_url": plain(issuer), "uid_field": "sub"},
    }
    return {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app] if issuer else []}}
