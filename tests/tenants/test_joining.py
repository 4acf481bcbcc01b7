"""Asking to join: the same answer for every name, the leads alone decide, and a yes is an invitation."""

import re
from typing import Any

import pytest
from django.core import mail as outbox
from django.core.cache import caches
from django.test import Client

from tenants import joining, joining_views
from tenants.models import Invitation, JoinRequest
from tenants.names import same_name
from tenants.wall.acting import acting_for
from tests.conftest import World
from tests.tenants.test_inviting import BACKEND, work_off

ASKED = {"organisation": "hoshi  language WORKS", "name": "Ken", "email": "Ken@Example.org", "message": "Data team"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Hoshi", "hoshi ", True),
        ("ＨＯＳＨＩ　Works", "hoshi works", True),
        ("ホシ", "ﾎｼ", True),
        ("Hoshi", "Hoshi Inc", False),
        ("", "Hoshi", False),
    ],
)
def test_names_that_are_the_same_to_a_person(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) is same


def said(answer: Any) -> str:
    assert answer.status_code == 200
    return re.sub(r"\b[A-Za-z0-9]{64}\b", "(token)", answer.content.decode())


def requests(world: World) -> list[JoinRequest]:
    with acting_for(world.hoshi):
        return list(JoinRequest.objects.order_by("created_at"))


@pytest.mark.django_db
def test_whoever_asks_learns_nothing_and_the_leads_are_told_once(world: World, client: Client) -> None:
    answers = [
        said(client.post("/join/", ASKED | {"organisation": name}))
        for name in ("Hoshi Language Works", "hoshi  language WORKS", "No Such Works", "Programme office")
    ]
    answers.append(said(client.post("/join/", ASKED | {"email": world.person("viewer").email})))
    assert len(set(answers)) == 1
    [row] = requests(world)
    assert (row.email, row.state) == ("ken@example.org", "open")
    work_off()
    leads = {world.person(role).email for role in ("business_lead", "technical_lead")}
    assert {address for sent in outbox.outbox for address in sent.to} == leads
    assert "Data team" in outbox.outbox[0].body
    bad = client.post("/join/", ASKED | {"email": "nobody", "name": "a\u202eb"})
    assert bad.status_code == 422


@pytest.mark.django_db
def test_a_lead_says_yes_by_an_invitation_and_nobody_else_decides(world: World, client: Client) -> None:
    client.post("/join/", ASKED)
    client.post("/join/", ASKED | {"email": "other@example.org"})
    first, second = requests(world)
    accept, decline = (f"/t/hoshi/join-requests/{row.pk}/" for row in (first, second))
    client.force_login(world.person("programme_manager"), BACKEND)
    assert "Ken" in client.get("/t/hoshi/people/").content.decode()
    assert client.post(f"{accept}accept/", {"role": "viewer"}).status_code == 403
    client.force_login(world.person("viewer"), BACKEND)
    assert "Ken" not in client.get("/t/hoshi/people/").content.decode()
    client.force_login(world.person("business_lead", world.umi), BACKEND)
    assert client.get(f"{accept}accept/").status_code == 404
    assert client.get(f"{accept.replace('hoshi', 'umi')}accept/").status_code == 404
    client.force_login(world.person("business_lead"), BACKEND)
    assert client.get(f"{accept}accept/").status_code == 200
    assert client.post(f"{accept}accept/", {"role": "ml_engineer"}).status_code == 303
    assert client.post(f"{decline}decline/").status_code == 303
    assert (
        client.post(f"/api/v1{accept}accept/", {"role": "viewer"}, content_type="application/json").status_code == 409
    )
    assert [row.state for row in requests(world)] == ["accepted", "declined"]
    with acting_for(world.hoshi):
        made = Invitation.objects.get()
    assert (made.email, made.role, made.state) == ("ken@example.org", "ml_engineer", "open")


@pytest.mark.django_db
def test_a_stranger_with_a_program_fills_no_mailbox(world: World) -> None:
    for number in range(joining.MOST_OPEN + 5):
        joining.ask(organisation="Hoshi Language Works", email=f"n{number}@example.org", name="N")
    assert len(requests(world)) == joining.MOST_OPEN
    with acting_for(world.hoshi):
        JoinRequest.objects.update(created_at="2020-01-01T00:00Z")
    joining.ask(organisation="Hoshi Language Works", email="later@example.org", name="N")
    assert [row.email for row in requests(world) if row.state == "open"] == ["later@example.org"]


@pytest.mark.django_db
def test_a_stranger_with_a_program_is_slowed_down(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining_views, "ASKED_FROM_ONE_PLACE", "2/hour")
    caches["throttles"].clear()
    place = {"REMOTE_ADDR": "203.0.113.77"}
    sent = [
        client.post("/join/", ASKED | {"email": f"n{number}@example.org"}, **place).status_code for number in range(3)
    ]
    assert sent == [200, 200, 429]
    with acting_for(world.hoshi):
        assert JoinRequest.objects.count() == 2
    caches["throttles"].clear()
