"""Idempotency keys with real commits: twins at once, answers given again, keys of others."""

import threading
import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from support import actions
from support.models import Case
from tenants.models import IdempotencyKey
from tenants.wall.acting import acting_for, reading_everyone
from tenants.wall.identity import issue_token
from tests.conftest import make_world

BODY = {"title": "It broke", "severity": "high"}


@pytest.fixture
def world(transactional_db: Any) -> Any:
    return make_world()


def token(world: Any, role: str, tenant: Any = None) -> str:
    return issue_token(person=world.person(role, tenant), name="t")[1]


def post(text: str, key: str | None, body: dict[str, Any] = BODY, tenant: str = "hoshi") -> Any:
    headers = {"Authorization": f"Bearer {text}", **({"Idempotency-Key": key} if key else {})}
    client = Client(raise_request_exception=False)
    return client.post(f"/api/v1/t/{tenant}/cases/", body, content_type="application/json", headers=headers)


def cases() -> int:
    with reading_everyone():
        return Case.objects.count()


def at_once(*sends: Any) -> list[Any]:
    answers: list[Any] = [None] * len(sends)
    barrier = threading.Barrier(len(sends))

    def send(index: int) -> None:
        try:
            barrier.wait()
            answers[index] = sends[index]()
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(index,)) for index in range(len(sends))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return answers


def test_a_repeated_request_is_done_once_and_answered_the_same(world):
    text = token(world, "ml_engineer")
    first, again = post(text, "k"), post(text, "k")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json() and cases() == 1
    assert again["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first


def test_without_a_key_two_requests_are_two(world):
    text = token(world, "ml_engineer")
    assert post(text, None).json()["id"] != post(text, None).json()["id"] and cases() == 2


def test_six_twins_at_once_make_one_case(world):
    text = token(world, "ml_engineer")
    answers = at_once(*[lambda: post(text, "k")] * 6)
    assert {answer.status_code for answer in answers} <= {201, 409}
    made = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(made) == 1 and cases() == 1


def test_a_twin_of_a_slow_request_is_told_to_come_back(world, monkeypatch):
    text, real = token(world, "ml_engineer"), actions.open_case

    def slow(**values: Any) -> Case:
        made = real(**values)
        time.sleep(3)
        return made

    monkeypatch.setattr("support.actions.open_case", slow)
    statuses = sorted(answer.status_code for answer in at_once(*[lambda: post(text, "k")] * 2))
    assert statuses == [201, 409] and cases() == 1
    assert post(text, "k")["Idempotency-Replayed"] == "true"


def test_the_refused_twin_says_when_to_come_back(world, monkeypatch):
    text, real = token(world, "ml_engineer"), actions.open_case
    monkeypatch.setattr("support.actions.open_case", lambda **values: (time.sleep(3), real(**values))[1])
    refused = next(answer for answer in at_once(*[lambda: post(text, "k")] * 2) if answer.status_code == 409)
    assert (refused.json()["code"], refused["Retry-After"]) == ("twin_in_progress", "1")


def test_what_failed_is_not_remembered(world):
    text = token(world, "ml_engineer")
    assert post(text, "k", {"title": ""}).status_code == 422
    assert post(text, "k").status_code == 201 and cases() == 1


def test_a_key_belongs_to_whoever_used_it_and_to_the_tenant(world):
    mine, colleague, theirs = (
        token(world, "ml_engineer"),
        token(world, "platform_engineer"),
        token(world, "ml_engineer", world.umi),
    )
    answers = [post(mine, "k"), post(colleague, "k"), post(theirs, "k", tenant="umi")]
    assert [answer.status_code for answer in answers] == [201] * 3
    assert len({answer.json()["id"] for answer in answers}) == 3
    # Another's key cannot be probed either: a different body with it is simply another request.
    assert post(theirs, "k2", {"title": "x", "severity": "low"}, tenant="umi").status_code == 201


def test_the_answer_is_kept_with_what_it_speaks_of_or_not_at_all(world, monkeypatch):
    text = token(world, "ml_engineer")

    def broken(**values: Any) -> None:
        raise RuntimeError("the process dies here")

    monkeypatch.setattr("support.actions.open_case", broken)
    assert post(text, "k").status_code == 500
    with acting_for(world.hoshi):
        assert not IdempotencyKey.objects.exists()


def test_two_who_change_the_same_line_at_once_do_not_overwrite_each_other(world):
    text = token(world, "ml_engineer")
    client = Client(headers={"Authorization": f"Bearer {text}"})
    lines = f"/api/v1/t/hoshi/records/{world.participations['hoshi'].pk}/models/"
    model = {
        "code": "M",
        "name": "x",
        "family": "dense",
        "total_params_b": "7",
        "active_params_b": "7",
        "modalities": ["text"],
    }
    line = lines + client.post(lines, model, content_type="application/json").json()["id"] + "/"

    def change(phase: str) -> Any:
        headers = {"Authorization": f"Bearer {text}", "If-Match": '"1"'}
        return Client().patch(line, {"phase": phase}, content_type="application/json", headers=headers)

    answers = at_once(*[lambda phase=phase: change(phase) for phase in ("a", "b", "c", "d")])
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]
    won = next(answer.json()["phase"] for answer in answers if answer.status_code == 200)
    lost = [answer.json() for answer in answers if answer.status_code == 412]
    assert all(problem["changes"]["phase"][0] == won for problem in lost), "nothing typed is lost"
    assert client.get(line).json()["version"] == 2
