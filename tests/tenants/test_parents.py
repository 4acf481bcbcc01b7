"""An address that is cut short leads to what lies above it, and an unknown one to our own page, also under DEBUG."""

import re
import uuid

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from tenants.web.parents import above
from tests.conftest import World
from tests.examples import routes

SAMPLES = {"uuid": str(uuid.UUID(int=1)), "int": "1", "slug": "hoshi", "str": "word"}


def is_page(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def test_every_address_above_a_page_leads_to_a_page() -> None:
    parents = set()
    for route in routes():
        if route.is_api or "^" in route.pattern:
            continue
        pieces = re.sub(r"<(\w+):\w+>", lambda found: SAMPLES[found[1]], route.pattern).strip("/").split("/")
        parents |= {"/" + "/".join(pieces[:count]) + "/" for count in range(1, len(pieces))}
    assert len(parents) > 100
    for path in sorted(parents):
        there = above(path)
        assert is_page(path) != bool(there), path  # a page is left alone
        assert not there or is_page(there), (path, there)


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/t/hoshi/clusters/", "/clusters/"),
        ("/t/hoshi/clusters", "/clusters/"),
        ("/t/hoshi/record/model/", "/t/hoshi/"),
        ("/t/hoshi/minutes/", "/reviews/"),
        ("/t/hoshi/contacts/", "/t/hoshi/people/"),
        (f"/t/hoshi/clusters/{uuid.UUID(int=1)}/fleet/", f"/t/hoshi/clusters/{uuid.UUID(int=1)}/"),
        ("/t/", "/"),
        ("/t/hoshi/nonsense/", ""),
        ("/nonsense/", ""),
        ("/api/v1/nonsense/", ""),
        ("/clusters/", ""),
    ],
)
def test_where_an_address_leads_that_is_no_page(path: str, there: str) -> None:
    assert above(path) == there


def test_an_unknown_address_shows_our_own_page_also_while_developing(world: World, settings: object) -> None:
    settings.DEBUG = True  # type: ignore[attr-defined]
    client = Client()
    assert client.get("/t/hoshi/clusters/")["Location"] == "/clusters/"
    assert client.get("/clusters")["Location"] == "/clusters/"
    for lost in (client.get("/nonsense/"), client.post("/t/hoshi/clusters/")):
        assert lost.status_code == 404 and "There is nothing here for you" in lost.content.decode()
    assert client.get("/api/v1/nonsense/").json()["code"] == "not_found"
