"""Who asks the API too often is told when to ask again; pages, other callers and writes go on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from tenants.wall.identity import issue_token
from tests.conftest import World


@pytest.fixture(autouse=True)
def three_a_minute(settings: Any) -> Iterator[None]:
    settings.API_READS, settings.API_WRITES = "3/minute", "2/minute"
    yield
    caches["throttles"].clear()


def token(world: World, role: str = "ml_engineer") -> Client:
    _row, text = issue_token(person=world.person(role), name="test")
    return Client(headers={"Authorization": f"Bearer {text}"})


@pytest.mark.django_db
def test_the_fourth_question_is_refused_with_the_time_to_wait(world: World) -> None:
    client = token(world)
    assert [client.get("/api/v1/cases/").status_code for _ in range(3)] == [200] * 3
    answer = client.get("/api/v1/clusters/")
    assert answer.status_code == 429 and answer["Content-Type"].startswith("application/problem+json")
    assert 1 <= int(answer["Retry-After"]) <= 60
    told = json.loads(answer.content)
    assert told["code"] == "throttled" and answer["Retry-After"] in told["detail"]


@pytest.mark.django_db
def test_writes_are_counted_apart_and_a_refused_one_changes_nothing(world: World) -> None:
    client = token(world)
    for _ in range(4):
        client.get("/api/v1/cases/")
    case = {"title": "It broke", "severity": "low"}
    sent = [client.post("/api/v1/t/hoshi/cases/", case, content_type="application/json") for _ in range(3)]
    assert [answer.status_code for answer in sent] == [201, 201, 429]
    other = token(world, "lead_architect").get("/api/v1/t/hoshi/cases/").json()["results"]
    assert len(other) == 2


@pytest.mark.django_db
def test_nobody_else_is_held_back_and_pages_never(world: World) -> None:
    busy = token(world)
    for _ in range(4):
        busy.get("/api/v1/cases/")
    # The same person's other token, somebody else's session, and the person's own browser.
    assert token(world).get("/api/v1/cases/").status_code == 200
    browser = Client()
    browser.force_login(world.person("ml_engineer"), "allauth.account.auth_backends.AuthenticationBackend")
    assert [browser.get("/cases/").status_code for _ in range(6)] == [200] * 6
    assert browser.get("/api/v1/cases/").status_code == 200
