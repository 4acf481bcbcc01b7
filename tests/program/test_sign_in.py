"""Signing in: the second step by app and recovery code, secrets sealed, and providers told apart by their issuer."""

import base64
import hmac
import re
import struct
import time
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.test import Client, override_settings

from program import oidc
from program.apps import refuse_the_demo_in_production
from program.security_headers import policy
from tests.conftest import World

PASSWORD = "correct horse battery"


def test_an_issuer_has_a_name_of_its_own_and_nobody_elses() -> None:
    one, other = "https://login.example.org/realm", "https://login.example.com/realm"
    assert oidc.provider_id(one) == oidc.provider_id(f"{one}/") != oidc.provider_id(other)
    assert oidc.providers(issuer="", client_id="", secret="", name="x")["openid_connect"]["APPS"] == []
    assert "form-action 'self' https://login.example.org;" in policy(one) and "form-action 'self';" in policy()


def test_a_provider_without_https_is_refused_in_production() -> None:
    with override_settings(DEBUG=False, OIDC_ISSUER="http://login.example.org"), pytest.raises(ImproperlyConfigured):
        refuse_the_demo_in_production()


def code(secret: str) -> str:
    """What an app shows now (RFC 6238), reckoned without the library that checks it."""
    moment = struct.pack(">Q", int(time.time()) // 30)
    digest = hmac.new(base64.b32decode(secret), moment, "sha1").digest()
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"


def sign_in(client: Client, email: str, password: str = PASSWORD):
    return client.post("/accounts/login/", {"login": email, "password": password})


@pytest.mark.django_db
def test_the_second_step_is_set_up_asked_for_and_opened_by_app_or_recovery_code(world: World, settings: Any) -> None:
    person = world.person("ml_engineer")
    person.set_password(PASSWORD)
    person.save()
    client = Client()
    assert sign_in(client, person.email).status_code == 302
    asked = client.get("/accounts/2fa/totp/activate/")
    assert asked["Location"].startswith("/accounts/reauthenticate/"), "not by whoever finds an open browser"
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 302
    shown = client.get("/accounts/2fa/totp/activate/").content.decode()
    secret = re.search(r'id="secret">(\w+)<', shown)[1]
    assert client.post("/accounts/2fa/totp/activate/", {"code": "000000"}).status_code == 200
    assert client.post("/accounts/2fa/totp/activate/", {"code": code(secret)}).status_code == 302
    kept = Authenticator.objects.get(user=person, type="totp").data
    assert secret not in str(kept), "sealed"
    settings.SECRET_KEYS = [f"next:{Fernet.generate_key().decode()}", *settings.SECRET_KEYS]
    call_command("rotate_keys", stdout=StringIO())
    settings.SECRET_KEYS = settings.SECRET_KEYS[:1]
    assert Authenticator.objects.get(user=person, type="totp").data["secret"].startswith("next:")
    codes = re.findall(r"<li>(\d+)</li>", client.get("/accounts/2fa/recovery-codes/").content.decode())
    assert len(codes) >= 8

    thief = Client()
    assert sign_in(thief, person.email)["Location"].startswith("/accounts/2fa/authenticate/")
    assert thief.get("/t/hoshi/").status_code == 302, "a password alone opens nothing"
    assert thief.post("/accounts/2fa/authenticate/", {"code": "000000"}).status_code == 200
    assert thief.get("/t/hoshi/").status_code == 302

    other = Client()
    sign_in(other, person.email)
    assert other.post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 302
    assert other.get("/t/hoshi/").status_code == 200
    again = Client()
    sign_in(again, person.email)
    assert again.post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200, "used up"
    for _try in range(30):
        answer = again.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert again.post("/accounts/2fa/authenticate/", {"code": codes[1]}).status_code != 302, "guessing ends"
    assert answer.status_code == 200
