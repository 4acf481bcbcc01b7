"""The pages about cases: their order, who sees and may do what, refusals that keep what was typed."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from tenants.wall.acting import acting_for

DAY = timedelta(days=1)


@pytest.fixture
def as_(world):
    """A browser that is signed in as somebody of this role."""

    def signed_in(role, tenant=None):
        client = Client(raise_request_exception=True)
        client.force_login(world.person(role, tenant), backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    return signed_in


def address(name, case, tenant="hoshi"):
    return reverse(name, args=[tenant, case.pk])


@pytest.fixture
def case(world, new_case):
    with acting_for(world.hoshi):
        return new_case(
            title="Loss is not a number",
            severity="high",
            by=world.person("ml_engineer").actor,
            text="Since step 41,200.",
        )


def text(answer):
    return answer.content.decode()


def test_everybody_with_a_seat_reads_the_case_and_its_shared_notes(as_, world, case):
    for role in ("programme_manager", "lead_architect", "auditor", "viewer", "ml_engineer"):
        page = as_(role).get(address("case", case))
        assert page.status_code == 200
        assert "Loss is not a number" in text(page) and "Since step 41,200." in text(page)


def test_another_participant_finds_neither_the_case_nor_its_number(as_, world, case):
    client = as_("platform_engineer", world.umi)
    assert client.get(address("case", case)).status_code == 404
    assert client.get(address("case", case, "umi")).status_code == 404
    assert "Loss is not a number" not in text(client.get("/cases/"))
