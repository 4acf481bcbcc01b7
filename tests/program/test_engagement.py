"""The engagement board: gaps as a table, and one line for each participant."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client

from program.engagement import gaps
from support.actions import open_case, plan_case
from tenants.models import Assignment
from tenants.wall.acting import acting_for
from tests.conftest import World

NOW = datetime(2026, 5, 15, tzinfo=UTC)
ALL = {"account", "lead", "deputy"}


@pytest.mark.parametrize(
    ("staffed", "days", "promised", "found"),
    [
        (ALL, 1, None, []),
        (ALL, 13, date(2026, 5, 15), []),
        (ALL, 14, None, ["quiet"]),
        (ALL, None, None, ["quiet"]),
        (ALL, 1, date(2026, 5, 14), ["overdue"]),
        ({"lead"}, 1, None, ["account", "deputy"]),
        (set(), None, date(2026, 1, 1), ["account", "lead", "deputy", "quiet", "overdue"]),
    ],
)
def test_what_is_missing(staffed: set[str], days: int | None, promised: date | None, found: list[str]) -> None:
    last = None if days is None else NOW - timedelta(days=days)
    assert gaps(staffed=staffed, last_contact=last, promised=promised, now=NOW) == found


@pytest.mark.django_db
def test_staff_see_a_line_for_each_participant_and_customers_see_none(world: World, client: Client) -> None:
    lead = world.person("lead_architect")
    Assignment.objects.create(person=lead, tenant=world.hoshi, duty="lead", starts_on=date(2020, 1, 1))
    with acting_for(world.hoshi, staff=True):
        case = open_case(tenant=world.hoshi, title="Slow", severity="low", by="engine")
        plan_case(case=case, owner=lead, next_step="Look", due=date(2020, 2, 3), by=lead.actor)
    backend = "allauth.account.auth_backends.AuthenticationBackend"
    client.force_login(lead, backend)
    page = client.get("/engagement/").content.decode()
    assert "Hoshi Language Works" in page and "Umi Vision" in page
    assert "no deputy" in page and "a promise is overdue" in page and "3 Feb 2020" in page
    client.force_login(world.person("business_lead"), backend)
    assert client.get("/engagement/").status_code == 403


@pytest.mark.django_db
def test_a_contact_is_noted_once_and_every_page_tells_the_same_of_it(world: World, client: Client) -> None:
    aoi, backend = world.person("account_team"), "allauth.account.auth_backends.AuthenticationBackend"
    client.force_login(aoi, backend)
    form = client.get("/t/hoshi/history/note/?from=engagement").context["form"]
    assert form.initial.get("audience", form.fields["audience"].initial) == "internal"
    body = {
        "medium": "call", "with_whom": "Emi Sato", "text": "They wait for data", "audience": "internal",
        "promise": "Answer on the licence", "promised_for": "",
    }  # fmt: skip
    assert client.post("/t/hoshi/history/note/", body).status_code == 422
    answer = client.post("/t/hoshi/history/note/?from=engagement", body | {"promised_for": "2020-02-03"})
    assert (answer.status_code, answer["Location"]) == (303, "/engagement/")
    again = client.post(
        "/t/hoshi/history/note/?from=history",
        {"medium": "call", "text": "They wait for data, Emi Sato", "audience": "internal"},
    )
    assert again["Location"] == "/t/hoshi/history/"
    board, mine = client.get("/engagement/").content.decode(), client.get("/engagement/?mine=1").content.decode()
    assert "Umi Vision" in board and "Umi Vision" not in mine
    for page in (
        board,
        mine,
        client.get("/t/hoshi/").content.decode(),
        client.get("/t/hoshi/hand-over/").content.decode(),
    ):
        assert all(words in page for words in ("Emi Sato", "They wait for data", "Answer on the licence"))
    assert "a promise is overdue" in client.get("/").content.decode()
    client.force_login(world.person("business_lead"), backend)
    for address in ("/t/hoshi/", "/t/hoshi/hand-over/", "/t/hoshi/history/"):
        assert "They wait for data" not in client.get(address).content.decode()
