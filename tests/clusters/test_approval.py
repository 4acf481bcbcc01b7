"""Nobody approves what they asked for themselves, by whichever door."""

import json
import uuid
from typing import Any

import pytest
from django.test import Client

from tenants.wall.identity import issue_token
from tests import examples
from tests.conftest import World


def send(text: str, path: str, body: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {text}", "Idempotency-Key": uuid.uuid4().hex}
    return Client(headers=headers).post(f"/api/v1/t/hoshi/{path}", json.dumps(body), content_type="application/json")


@pytest.mark.parametrize("same_token", [True, False])
def test_asking_with_a_token_and_approving_as_its_person_is_refused(world: World, same_token: bool) -> None:
    made = examples.make(world, world.hoshi, 1)
    lead = world.person("lead_architect")
    first = issue_token(person=lead, name="one")[1]
    second = first if same_token else issue_token(person=lead, name="two")[1]
    body = {
        "participation": str(made["participations"].pk),
        "account": made.account_id,
        "name": "next",
        "configuration": examples.BODY,
    }
    asked = send(first, "clusters/", body)
    assert asked.status_code == 202 and asked.json()["state"] == "requested"
    approve = f"clusters/{asked.json()['id']}/approve/"
    refused = send(second, approve, {"why": "my own"})
    assert (refused.status_code, refused.json()["code"]) == (403, "own_request")
    manager = issue_token(person=world.person("programme_manager"), name="t")[1]
    approved = send(manager, approve, {})
    assert (approved.status_code, approved.json()["state"]) == (202, "approved")
