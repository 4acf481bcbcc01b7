"""The pages about everybody: portfolio, participant, engine room."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from clusters.models import Cluster
from tenants.history.models import Entry
from tenants.models import Person
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.models import Due, Lane
from tests import examples
from tests.conftest import World
from tests.examples import Examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def hoshi(world: World) -> Examples:
    return examples.make(world, world.hoshi, 1)


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person, BACKEND)
    return client


def shown(person: Person, address: str) -> str:
    answer = signed_in(person).get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def change(world: World, made: Examples, **columns: Any) -> None:
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=made["clusters"].pk).update(**columns)


def test_who_needs_attention_most_comes_first(world: World, hoshi: Examples) -> None:
    change(world, hoshi, state="failed")
    page = shown(world.person("programme_manager"), "/")
    attention = page[page.index('id="attention"') : page.index('id="participants"')]
    assert attention.index("Hoshi Language Works") < attention.index("Umi Vision")
    assert "1 cluster failed" in attention


def test_a_customer_sees_its_own_participation_and_nobody_else(world: World, hoshi: Examples) -> None:
    page = shown(world.person("business_lead"), "/")
    assert "Hoshi Language Works" in page and "Umi Vision" not in page
    assert "Your participations" in page


def test_a_service_engineer_is_led_to_the_cases(world: World) -> None:
    answer = signed_in(world.person("service_engineer")).get("/")
    assert (answer.status_code, answer["Location"]) == (303, "/cases/")


def test_a_participant_without_anything_says_what_will_be_there(world: World) -> None:
    page = shown(world.person("platform_engineer", world.umi), "/t/umi/")
    for sentence in (
        "No clusters yet",
        "No open cases",
        "No model recorded",
        "Nothing granted yet",
        "No cloud account yet",
    ):
        assert sentence in page


def test_a_programme_without_participants_says_so(world: World) -> None:
    for tenant in (world.hoshi, world.umi):
        with acting_for(tenant):
            type(world.participations[tenant.slug]).objects.update(state="withdrawn")
    assert "Nobody takes part yet" in shown(world.person("lead_architect"), "/")


def test_the_engine_is_alive_when_its_heart_beat_in_the_last_minute(world: World) -> None:
    manager = world.person("programme_manager")
    assert "The engine does not answer." in shown(manager, "/status/")
    due.wish("heartbeat", "here")
    Due.objects.filter(kind="heartbeat").update(done_at=timezone.now() - timedelta(seconds=20))
    assert "The engine is alive." in shown(manager, "/status/")
    Due.objects.filter(kind="heartbeat").update(done_at=timezone.now() - timedelta(seconds=70))
    assert "The engine does not answer." in shown(manager, "/status/")


def test_what_is_stuck_is_wished_again_with_one_button_and_a_line_in_the_history(world: World, hoshi: Examples) -> None:
    due.wish("cluster", hoshi["clusters"].pk, tenant=world.hoshi, lane="1/x")
    row = Due.objects.get(kind="cluster", ref=str(hoshi["clusters"].pk))
    Due.objects.filter(pk=row.pk).update(stuck="ConnectTimeout", attempt=8)
    assert "ConnectTimeout" in shown(world.person("programme_manager"), "/status/")
    assert signed_in(world.person("auditor")).post("/status/", {"row": row.pk}).status_code == 403
    assert signed_in(world.person("programme_manager")).post("/status/", {"row": row.pk}).status_code == 303
    row.refresh_from_db()
    assert (row.stuck, row.attempt) == ("", 0)
    with acting_for(world.hoshi, staff=True):
        assert Entry.objects.get(kind="work.again").actor == world.person("programme_manager").actor
    with acting_for(world.hoshi):
        assert not Entry.objects.filter(kind="work.again").exists(), "what operators do is internal"


@pytest.mark.parametrize("row", ["", "x", "-1", "٣", "9" * 30, "1" * 17])
def test_a_row_that_is_not_stuck_is_left_alone(world: World, row: str) -> None:
    assert signed_in(world.person("programme_manager")).post("/status/", {"row": row}).status_code == 303


def test_accounts_that_asked_us_to_slow_down_are_told_until_they_have_cooled(world: World) -> None:
    Lane.objects.create(name="411122223333/us-east-1", cool_until=timezone.now() + timedelta(seconds=30))
    Lane.objects.create(name="499999999999/us-east-1", cool_until=timezone.now() - timedelta(seconds=30))
    page = shown(world.person("programme_manager"), "/status/")
    assert "411122223333/us-east-1" in page and "499999999999" not in page


@pytest.mark.parametrize("role", ["business_lead", "platform_engineer", "account_team", "service_engineer"])
def test_the_engine_room_is_closed_to_most(world: World, role: str) -> None:
    assert signed_in(world.person(role)).get("/status/").status_code == 403
