"""Signing in at another provider, in a browser and against a provider that really runs: linked by issuer and subject alone."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from playwright.sync_api import Browser, Page, expect

from program import oidc
from tenants.models import Person
from tests.conftest import World, make_world

pytestmark = pytest.mark.chromium
PASSWORD = "correct horse battery"


@dataclass
class Provider:
    issuer: str


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    """oidc-provider-mock as a process of its own; it knows one subject, and claims the address of somebody else for it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # It names itself by the address that it is asked at.
    issuer = f"http://127.0.0.1:{port}"
    claims = {"sub": "subject-1", "email": "programme_manager@example.org", "email_verified": True, "name": "Mallory"}
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), "--host", "127.0.0.1"]
    running = subprocess.Popen(
        [*command, "--user-claims", json.dumps(claims)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    settings.OIDC_ISSUER = issuer
    settings.SOCIALACCOUNT_PROVIDERS = oidc.providers(issuer=issuer, client_id="cohort", secret="s", name="Uni Login")
    try:
        _until_it_answers(port)
        yield Provider(issuer)
    finally:
        running.terminate()
        running.wait(10)


def _until_it_answers(port: int) -> None:
    import urllib.request

    for _try in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/.well-known/openid-configuration", timeout=1).read()
            return
        except OSError:
            import time

            time.sleep(0.1)
    pytest.fail("oidc-provider-mock does not answer")


@pytest.fixture
def world(transactional_db: Any) -> World:
    return make_world()


def at_the_provider(page: Page) -> None:
    page.get_by_role("button", name="subject-1").first.click()


def test_an_account_is_linked_by_its_owner_and_then_opens_exactly_that_account(
    world: World, provider: Provider, live_server: Any, browser: Browser
) -> None:
    person = world.person("ml_engineer")
    person.set_password(PASSWORD)
    person.save()
    page = browser.new_context(locale="en-US").new_page()
    page.set_default_timeout(15_000)

    # Unknown: the address that the provider claims is the manager's, and opens nothing.
    page.goto(f"{live_server.url}/accounts/login/")
    page.get_by_role("button", name="Sign in with Uni Login").click()
    at_the_provider(page)
    expect(page.locator("h1")).to_have_text("Accounts are by invitation")
    assert page.goto(f"{live_server.url}/clusters/").url.startswith(f"{live_server.url}/accounts/login/")
    assert not SocialAccount.objects.exists() and Person.objects.count() == len(world.people)

    # Linked by whoever is signed in with a password.
    page.locator("#id_login").fill(person.email)
    page.locator("#id_password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.goto(f"{live_server.url}/accounts/3rdparty/")
    page.get_by_role("button", name="Link your account at Uni Login").click()
    at_the_provider(page)
    expect(page.locator("h1")).to_have_text("Is it still you?")
    page.locator("#id_password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("h1")).to_have_text("Linked accounts")
    expect(page.locator("main")).to_contain_text("subject-1")
    linked = SocialAccount.objects.get()
    assert (linked.user, linked.provider, linked.uid) == (person, oidc.provider_id(provider.issuer), "subject-1")
    assert "Mallory" not in str(linked.extra_data)

    # And from then on it opens that account, however often, and no second one.
    for _time in range(2):
        page.context.clear_cookies()
        page.goto(f"{live_server.url}/accounts/login/")
        page.get_by_role("button", name="Sign in with Uni Login").click()
        at_the_provider(page)
        page.wait_for_url(f"{live_server.url}/**")
        page.goto(f"{live_server.url}/t/hoshi/people/")
        expect(page.locator("h1")).to_have_text("People")
        assert page.goto(f"{live_server.url}/t/umi/people/").status == 404
    assert SocialAccount.objects.count() == 1 and "Mallory" not in str(SocialAccount.objects.get().extra_data)

    # Denied at the provider: a page of ours, and nobody is signed in.
    page.context.clear_cookies()
    page.goto(f"{live_server.url}/accounts/login/")
    page.get_by_role("button", name="Sign in with Uni Login").click()
    page.get_by_role("button", name="Deny").click()
    expect(page.locator("h1")).to_have_text("Signing in did not work")
