"""The persona picker: where it is on, a person is chosen instead of a password; where it is off, it does not exist."""

from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import include, path

from tenants import personas
from tests.conftest import World

urlpatterns = [
    path("accounts/login/", personas.SignIn.as_view(), name="account_login"),
    path("accounts/", include("allauth.urls")),
    path("personas/", personas.pick, name="personas"),
]
alone = override_settings(ROOT_URLCONF=__name__)


@pytest.fixture
def on(settings: Any) -> None:
    settings.PERSONA_PICKER = True


@alone
def test_a_chosen_person_is_signed_in_and_comes_where_they_wanted(on: None, world: World) -> None:
    person = world.person("platform_engineer", world.umi)
    client = Client(enforce_csrf_checks=False)
    answer = client.post("/personas/", {"email": person.email, "next": "/t/umi/"})
    assert (answer.status_code, answer["Location"]) == (302, "/t/umi/")
    assert client.session["_auth_user_id"] == str(person.pk)


@alone
def test_a_stranger_to_all_organisations_cannot_be_chosen(on: None, world: World) -> None:
    for email in (world.people["stranger"].email, "nobody@example.org", "a\x00b", ""):
        assert Client().post("/personas/", {"email": email}).status_code == 404


@alone
def test_the_picker_does_not_exist_where_it_is_off(world: World) -> None:
    person = world.person("programme_manager")
    assert Client().post("/personas/", {"email": person.email}).status_code == 404
    page = Client().get("/accounts/login/")
    assert page.status_code == 200
    assert person.email not in page.content.decode()


@alone
def test_the_sign_in_page_offers_the_people(on: None, world: World) -> None:
    page = Client().get("/accounts/login/").content.decode()
    assert world.person("lead_architect").email in page
    assert world.people["stranger"].email not in page
    assert "lead architect" in page


@alone
def test_nobody_is_led_to_another_site(on: None, world: World) -> None:
    person = world.person("viewer")
    for wanted in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        assert Client().post("/personas/", {"email": person.email, "next": wanted})["Location"] == "/"


@alone
def test_choosing_needs_the_csrf_token(on: None, world: World) -> None:
    person = world.person("viewer")
    assert Client(enforce_csrf_checks=True).post("/personas/", {"email": person.email}).status_code == 403
