"""Two tenants, a person per role, a stranger: the world most tests begin with; and the browser and the running tree."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest
from django.db import connections
from hypothesis import HealthCheck, settings

from program.devstack.embedded import DATABASE
from tenants.models import Assignment, Cycle, Membership, Participation, Person, Programme, Tenant
from tenants.wall import roles
from tenants.wall.acting import acting_for
from tests.parts import chromium
from tests.tree import RunningTree

# Playwright's synchronous interface keeps an event loop in the thread, and Django would refuse the database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
# For the same reason Django would take the thread for another one and open a second connection that sees nothing of the test.
connections._connections = threading.local()
# A busy machine draws slowly and answers late; neither is a fault of what is tested.
settings.register_profile("cohort", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cohort")
# The seed that the run's server began from has every migration done; a test's database is a copy of it.
connections["default"].settings_dict["TEST"]["TEMPLATE"] = DATABASE
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()


@dataclass
class World:
    """The office, two participants and their people; fixtures make people without passwords, hashing is slow."""

    office: Tenant
    hoshi: Tenant
    umi: Tenant
    cycle: Cycle
    people: dict[str, Person] = field(default_factory=dict)
    participations: dict[str, Participation] = field(default_factory=dict)

    def person(self, role: str, tenant: Tenant | None = None) -> Person:
        """The person with this role, at `tenant` for a customer's role (hoshi unless said)."""
        return self.people[role if role in roles.STAFF_ROLES else f"{role}@{(tenant or self.hoshi).slug}"]


def seats(world: World) -> list[tuple[str, Tenant, str]]:
    """(key, where, role) of everybody who sits somewhere."""
    staff = [(role, world.office, role) for role in roles.STAFF_ROLES]
    both = (world.hoshi, world.umi)
    return staff + [(f"{role}@{tenant.slug}", tenant, role) for tenant in both for role in roles.CUSTOMER_ROLES]


def _people(world: World) -> None:
    """All of them at once: a world is made for more than a thousand tests."""
    keys = [key for key, *_ in seats(world)] + ["stranger"]
    made = Person.objects.bulk_create(
        Person(email=f"{key.replace('@', '.')}@example.org", name=key.replace("_", " ").title()) for key in keys
    )
    world.people.update(zip(keys, made, strict=True))
    Membership.objects.bulk_create(
        Membership(person=world.people[key], tenant=tenant, role=role, starts_on=date(2020, 1, 1))
        for key, tenant, role in seats(world)
    )


@pytest.fixture
def world(db: Any) -> World:
    return make_world()


def make_world() -> World:
    """The world itself, for fixtures that keep it longer than one test."""
    office = Tenant.objects.create(slug="programme", name="Programme office", is_office=True)
    hoshi = Tenant.objects.create(slug="hoshi", name="Hoshi Language Works")
    umi = Tenant.objects.create(slug="umi", name="Umi Vision")
    programme = Programme.objects.create(code="NFMP", name="National Foundation Model Programme", timezone="Asia/Tokyo")
    cycle = Cycle.objects.create(
        programme=programme, code="C2", name="Cycle 2", state="running", starts_on=date(2025, 1, 6)
    )
    made = World(office, hoshi, umi, cycle)
    _people(made)
    for tenant in (hoshi, umi):
        with acting_for(tenant):
            made.participations[tenant.slug] = Participation.objects.create(
                tenant=tenant,
                cycle=cycle,
                code=tenant.slug[:3].upper(),
                project=f"The model of {tenant.name}",
                state="active",
            )
    Assignment.objects.create(
        person=made.people["account_team"], tenant=hoshi, duty="account", starts_on=date(2020, 1, 1)
    )
    return made


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium: Playwright's own would have to be downloaded."""
    return {**browser_type_launch_args, "executable_path": chromium(), "args": QUIET}


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTree]:
    """The whole process tree without the demo, shared by all tests of a run that mark themselves `tree`."""
    running = RunningTree(tmp_path_factory.mktemp("tree") / "var")
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()
