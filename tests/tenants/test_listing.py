"""Pages of the API's lists: every row once, whatever the page's size and whatever happens between two pages."""

from typing import Any

import pytest
from django.test import Client

from tenants.history import timeline
from tenants.models import FrameworkUse, Participation
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token


@pytest.fixture
def client(world: Any) -> Client:
    return Client(
        headers={
            "Authorization": f"Bearer {issue_token(person=world.person('programme_manager'), name='t', internal=True)[1]}"
        }
    )


def walk(client: Client, address: str, between: Any = lambda: None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while address:
        page = client.get(address).json()
        found += page["results"]
        address = page["next"]
        between()
    return found


@pytest.fixture
def twelve(world: Any) -> None:
    with acting_for(world.hoshi):
        for number in range(12):
            # Equal names: only the id tells them apart.
            timeline.record(
                "member.left", about=world.hoshi, by="engine", person=str(number), at="2026-01-01T00:00:00+00:00"
            )


@pytest.mark.parametrize("size", [1, 5, 12, 13, 200])
def test_every_row_comes_once(client, twelve, size):
    ids = [row["id"] for row in walk(client, f"/api/v1/entries/?page_size={size}")]
    assert len(ids) == len(set(ids)) == 12 and ids == sorted(ids, reverse=True)


def test_rows_that_come_meanwhile_do_not_shift_the_pages(world, client, twelve):
    before = {row["id"] for row in walk(client, "/api/v1/entries/")}

    def one_more() -> None:
        with acting_for(world.hoshi):
            timeline.record("member.left", about=world.hoshi, by="engine", person="late")

    seen = [row["id"] for row in walk(client, "/api/v1/entries/?page_size=5", one_more)]
    assert len(seen) == len(set(seen)) and before <= set(seen)


def test_the_next_page_keeps_the_filters(world, client, twelve):
    with acting_for(world.hoshi):
        timeline.record("member.joined", about=world.hoshi, by="engine", person="x", role="viewer")
    rows = walk(client, "/api/v1/entries/?kind=member.left&page_size=5&severity=low&severity=high")
    assert rows == []
    assert {row["kind"] for row in walk(client, "/api/v1/entries/?kind=member.left&page_size=5")} == {"member.left"}


def test_an_empty_list_is_a_list(client):
    assert client.get("/api/v1/clusters/").json() == {"results": [], "next": None}


def test_filters_of_several_words_take_any_of_them(client, world):
    both = client.get("/api/v1/participations/?state=active&state=closed").json()["results"]
    assert {row["code"] for row in both} == {"HOS", "UMI"}
    assert client.get("/api/v1/participations/?state=closed").json()["results"] == []


def test_history_is_filtered_by_time_kind_and_prefix(world, client, twelve):
    with acting_for(world.hoshi):
        timeline.record(
            "record.added", about=Participation.objects.get(), by="engine", what="x", at="2026-02-01T00:00:00+00:00"
        )
    ask = lambda query: len(client.get(f"/api/v1/entries/?{query}").json()["results"])
    assert ask("prefix=member.") == 12 and ask("prefix=record.") == 1 and ask("prefix=case.") == 0
    assert ask("after=2026-02-01T00:00:00Z") == 1 and ask("before=2026-02-01T09:00:00%2B09:00") == 12
    assert ask("prefix=member.&kind=record.added") == 0
    assert ask("subject=participation") == 1


def test_the_record_lists_each_participation_with_its_own_lines(world, client):
    for tenant in (world.hoshi, world.umi):
        with acting_for(tenant):
            FrameworkUse.objects.create(
                tenant=tenant, participation=world.participations[tenant.slug], name=f"of {tenant.slug}"
            )
    rows = {
        row["tenant"]: [line["name"] for line in row["framework"]]
        for row in client.get("/api/v1/records/").json()["results"]
    }
    assert rows == {"hoshi": ["of hoshi"], "umi": ["of umi"]}
