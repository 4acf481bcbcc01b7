"""The list of participants, the board of who looks after them and a participant's page cost as much with 1,000 as with 10."""

from datetime import date
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters import models as c
from support.models import Case
from tenants import models as t
from tenants.wall.acting import acting_for
from tests.clusters.test_pages import signed_in
from tests.conftest import World

ADDRESSES = ("/", "/engagement/", "/t/hoshi/", "/t/participant-3/", "/api/v1/participations/", "/api/v1/tenants/")


def more(world: World, first: int, until: int) -> None:
    """Participants number `first` to `until`, each with somebody who leads them, a cluster, an open case and an entry."""
    numbers = range(first, until)
    lead = world.person("lead_architect")
    tenants = t.Tenant.objects.bulk_create(t.Tenant(slug=f"participant-{n}", name=f"Participant {n}") for n in numbers)
    t.Assignment.objects.bulk_create(
        t.Assignment(tenant=tenant, person=lead, duty="lead", starts_on=date(2024, 1, 1)) for tenant in tenants
    )
    with acting_for(*tenants, staff=True):
        parts = t.Participation.objects.bulk_create(
            t.Participation(tenant=tenant, cycle=world.cycle, code=f"P{n}", project="p", state="active")
            for tenant, n in zip(tenants, numbers, strict=True)
        )
        t.TrainingModel.objects.bulk_create(
            t.TrainingModel(
                tenant=part.tenant, participation=part, code="M", name="n", family="dense", total_params_b=1,
                active_params_b=1,
            )
            for part in parts
        )  # fmt: skip
        accounts = c.CloudAccount.objects.bulk_create(
            c.CloudAccount(tenant=part.tenant, account_id=f"{500_000_000_000 + n}", role_arn="r", external_id=f"x{n}")
            for part, n in zip(parts, numbers, strict=True)
        )
        c.Cluster.objects.bulk_create(_cluster(part, account) for part, account in zip(parts, accounts, strict=True))
        Case.objects.bulk_create(
            Case(
                tenant=part.tenant, number=f"CASE-{n:05d}", title="t", severity="high", opened_at=part.created_at,
                opened_by=lead.actor, owner=lead,
            )
            for part, n in zip(parts, numbers, strict=True)
        )  # fmt: skip
        t.Entry.objects.bulk_create(
            t.Entry(
                tenant=part.tenant, participation=part.pk, kind="interaction.noted", subject="participation",
                subject_id=part.pk, actor=lead.actor, action_id=part.pk, facts={"medium": "call"},
            )
            for part in parts
        )  # fmt: skip


def _cluster(part: t.Participation, account: Any) -> c.Cluster:
    return c.Cluster(
        tenant=part.tenant, participation=part, account=account, name="lab", architecture="hyperpod-slurm",
        architecture_version="2026.11", orchestrator="hyperpod-slurm", region="ap-northeast-1", az_id="apne1-az4",
        state="failed", main_type="p5.48xlarge", requested_by="engine",
    )  # fmt: skip


def statements(client: Client) -> dict[str, int]:
    found = {}
    for address in ADDRESSES:
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(address)
        assert answer.status_code == 200, address
        found[address] = len(asked)
    return found


def test_lists_and_pages_of_participants_ask_as_often_with_1000_as_with_10(world: World) -> None:
    client = signed_in(world.person("programme_manager"))
    more(world, 0, 10)
    statements(client)  # what a process keeps for its life is nobody's cost
    ten = statements(client)
    more(world, 10, 1000)
    assert statements(client) == ten
    assert max(ten.values()) < 80, ten
