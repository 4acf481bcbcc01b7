"""A world in which both tenants own one of everything, kept for a module of tests that only ask; nothing they do stays."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import setup_databases

from tenants.models import Person, Tenant
from tenants.wall import roles
from tenants.wall.identity import issue_token
from tests import examples
from tests.conftest import World, make_world
from tests.examples import Examples

NOWHERE = "no-such-tenant"


@dataclass
class Town:
    world: World
    hoshi: Examples
    umi: Examples
    clients: dict[Any, Client] = field(default_factory=dict)

    def client(self, person: Person | None) -> Client:
        """A browser in which this person is signed in; None: nobody."""
        if person not in self.clients:
            self.clients[person] = Client(raise_request_exception=False)
            if person is not None:
                self.clients[person].force_login(person, "allauth.account.auth_backends.AuthenticationBackend")
        return self.clients[person]

    def token(self, person: Person, tenant: Tenant | None = None, internal: bool = False) -> Client:
        """A program with a token of this person."""
        _row, text = issue_token(person=person, name="crawl", tenant=tenant, internal=internal)
        return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {text}"})


@contextmanager
def nothing_stays() -> Iterator[None]:
    """What happens in here is taken back, also when it went well."""
    with transaction.atomic():
        try:
            yield
        finally:
            transaction.set_rollback(True)


def ask(client: Client, method: str, address: str, body: Any = None, **headers: str) -> HttpResponse:
    """One request whose effects do not stay, so that the next one finds what this one found."""
    kind = "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
    with nothing_stays():
        answer = client.generic(method, address, body or b"", content_type=kind, headers=headers)
        if answer.streaming:
            # Read whole while its rows are there, so that it is looked at like any other.
            whole = b"".join(answer.streaming_content)
            answer = HttpResponse(whole, status=answer.status_code, headers=dict(answer.items()))
    client.cookies.pop("messages", None)  # the next page would tell what this one did
    return answer


@pytest.fixture(scope="module")
def town(django_db_setup: Any, django_db_blocker: Any) -> Iterator[Town]:
    """Made once for a module: a thousand questions are asked of the same objects."""
    with django_db_blocker.unblock():
        if not connection.settings_dict["NAME"].startswith("test_"):
            # pytest-django makes the database only when a test asks for its own fixtures, and these live for one test.
            setup_databases(verbosity=0, interactive=False, aliases={"default"})
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    # One transaction for the whole module lives longer than a request may.
                    cursor.execute(
                        "set local transaction_timeout = 0; set local idle_in_transaction_session_timeout = 0"
                    )
                yield make_town()
                transaction.set_rollback(True)
        finally:
            connection.scope = None


def make_town() -> Town:
    world = make_world()
    made = [examples.make(world, tenant, number) for number, tenant in enumerate((world.hoshi, world.umi), start=1)]
    examples.review_of(world, made)
    examples.meetings_of(world, made)
    examples.enablement_of(world, made)
    for tenant in (world.office, world.hoshi, world.umi):
        examples.the_rest(tenant)
    examples.seat_service_engineer(world, world.hoshi)
    return Town(world, *made)


def cells(town: Town) -> list[tuple[str, Person]]:
    """(the role one has at hoshi, a person who has it), for every role that exists."""
    world = town.world
    return [(role, world.person(role)) for role in (*roles.STAFF_ROLES, *roles.CUSTOMER_ROLES)]
