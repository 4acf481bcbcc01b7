"""What every answer of the web carries, and the two public answers."""

import pytest
from django.db import OperationalError
from django.test import Client


@pytest.mark.django_db
def test_the_portal_says_that_it_is_ready(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("program.health.MigrationExecutor.migration_plan", lambda self, targets: [("a", False)])
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["why"]) == (503, "1 migrations are not applied.")


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, connection: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("program.health.MigrationExecutor.__init__", broken)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["why"]) == (503, "The database does not answer.")


def test_the_process_answers_without_asking_anybody(client: Client) -> None:
    # Without the mark of a database test any query would raise.
    assert client.get("/healthz").content == b"ok\n"


def test_every_answer_has_a_strict_policy_and_an_id_of_its_own(client: Client) -> None:
    one, two = client.get("/healthz", headers={"X-Request-Id": "mine"}), client.get("/healthz")
    rules = set(one["Content-Security-Policy"].split("; "))
    assert rules >= {
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    }
    assert (
        "unsafe" not in one["Content-Security-Policy"]
        and one["Content-Security-Policy"] == two["Content-Security-Policy"]
    )
    assert len({one["X-Request-Id"], two["X-Request-Id"], "mine"}) == 3
    assert one["X-Frame-Options"] == "DENY"
    assert one["X-Content-Type-Options"] == "nosniff"
