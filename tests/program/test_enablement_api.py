"""The API of sessions, onboarding, reports and articles: the same actions as the pages, with their refusals."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tenants.models import Person
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tests.conftest import World


def program(person: Person, internal: bool = True) -> Client:
    _row, text = issue_token(person=person, name="test", internal=internal)
    return Client(headers={"Authorization": f"Bearer {text}"})


def post(client: Client, where: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{where}", body, content_type="application/json")


@pytest.fixture
def lead(world: World) -> Client:
    return program(world.person("lead_architect"))


def test_a_session_from_plan_to_survey(world: World, lead: Client) -> None:
    engineer = program(world.person("ml_engineer", world.hoshi), internal=False)
    planned = {
        "cycle": "C2",
        "kind": "clinic",
        "title": "Clinic",
        "starts_at": (timezone.now() + timedelta(days=2)).isoformat(),
        "minutes": 60,
        "speakers": [world.person("lead_architect").email],
    }
    assert post(lead, "t/programme/sessions/", **(planned | {"cycle": "C9"})).json()["errors"][0]["allowed"] == ["C2"]
    made = post(lead, "t/programme/sessions/", **planned).json()
    where = f"t/programme/sessions/{made['id']}"
    assert engineer.get("/api/v1/sessions/").json()["results"] == []
    assert post(lead, f"{where}/announce/", version=made["version"]).status_code == 200
    assert post(lead, f"{where}/edit/", version=made["version"], title="x").status_code == 409  # somebody announced it
    mine = post(engineer, f"t/hoshi/enrolments/{made['id']}/register/").json()
    assert mine["registered"] == 1 and [one["came"] for one in mine["registrations"]] == [None]
    assert post(engineer, f"{where}/call-off/", why="x").status_code == 404
    assert post(lead, f"{where}/attendance/", others=1).json()["code"] == "session_ahead"
    assert post(engineer, f"t/hoshi/enrolments/{made['id']}/leave/").json()["registered"] == 0


def test_a_list_is_laid_out_and_a_test_is_ticked_with_its_log(world: World, lead: Client) -> None:
    participation = str(world.participations["hoshi"].pk)
    asked = {"participation": participation, "lead": world.person("lead_architect").email}
    made = post(lead, "t/hoshi/onboarding/", **asked, held_at=timezone.now().isoformat())
    assert made.status_code == 201, made.content
    longer = post(lead, f"t/hoshi/onboarding/{made.json()['id']}/change/", minutes=45)
    assert (longer.status_code, longer.json()["minutes"]) == (200, 45), longer.content
    step = next(one for one in made.json()["steps"] if one["measure"] == "nccl")
    assert "NCCOM the one for Trainium" in step["help"]
    where = f"t/hoshi/onboarding/{made.json()['id']}/steps/{step['id']}"
    proof = {"done_on": "2026-01-07", "bus_gbps": "371.20", "nodes": 16}
    assert post(lead, f"{where}/tick/", **proof).json()["field"] == "file"
    told = post(lead, f"{where}/tick/", **proof, log="# Avg bus bandwidth : 371.2\n").json()
    assert [(one["state"], one["bus_gbps"]) for one in told["steps"] if one["id"] == step["id"]] == [("done", "371.20")]
    assert post(lead, f"{where}/skip/", why="no").json()["code"] == "illegal_move"
    assert post(lead, f"{where}/untick/", why="another cluster").status_code == 200
    engineer = program(world.person("platform_engineer", world.hoshi), internal=False)
    assert post(engineer, f"{where}/skip/", why="no").status_code == 403
    assert len(engineer.get("/api/v1/onboarding/").json()["results"]) == 1


def test_a_report_from_asked_for_to_accepted(world: World) -> None:
    manager = program(world.person("programme_manager"))
    business = program(world.person("business_lead", world.hoshi), internal=False)
    asked = {"cycle": "C2", "kind": "final_report", "period": "C2", "due_on": "2020-01-01"}
    assert post(manager, "t/programme/asked-reports/", **asked).json() == {"owing": 2}
    (row,) = business.get("/api/v1/reports/").json()["results"]
    assert row["late"] is True and row["state"] == "not_started"
    where = f"t/hoshi/reports/{row['id']}"
    assert post(business, f"{where}/accept/").json()["code"] == "not_your_part"
    assert post(business, f"{where}/hand-in/", text="What we did.").json()["late"] is False
    assert post(manager, f"{where}/send-back/", why="Name the licence.").json()["answer"] == "Name the licence."
    again = post(business, f"{where}/hand-in/", text="What we did, Apache 2.0.").json()
    assert post(manager, f"{where}/accept/", version=again["version"]).json()["state"] == "accepted"


def test_an_article_is_published_once_it_tells_of_nobody(world: World, lead: Client) -> None:
    with acting_for(world.hoshi, staff=True):
        from support.actions import open_case

        case = open_case(tenant=world.hoshi, title="Loss", severity="low", by="engine")
    made = post(lead, "t/programme/articles/", title="Loss", body="hoshi saw it", audience="shared", case=str(case.pk))
    where = f"t/programme/articles/{made.json()['id']}"
    refused = post(lead, f"{where}/publish/")
    assert refused.status_code == 409 and refused.json()["leaks"] == [
        {"kind": "participant", "text": "hoshi", "line": 2}
    ]
    changed = post(lead, f"{where}/edit/", title="Loss", body="Seen once.", audience="shared", version=1)
    assert changed.json()["version"] == 2
    assert post(lead, f"{where}/publish/").json()["state"] == "published"
    customer = program(world.person("ml_engineer", world.hoshi), internal=False)
    assert [one["code"] for one in customer.get("/api/v1/articles/?q=seen").json()["results"]] == ["KB-001"]
    assert customer.get("/api/v1/articles/?q=nothing").json()["results"] == []
    mine = customer.get(f"/api/v1/t/hoshi/cases/{case.pk}/articles/").json()["results"]
    assert [one["kind"] for one in mine] == ["origin"]
    off = post(lead, f"t/hoshi/cases/{case.pk}/articles/", article=made.json()["id"], off=True)
    assert off.json()["results"] == []
