"""A cluster that is stepped by hand against the sandbox cloud, so that every state in between can be seen."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from clusters import actions
from clusters.accounts import add_account
from clusters.models import CloudAccount, Cluster, ExternalObject, Job, Node
from clusters.providers import aws
from tenants.history.models import Entry
from tenants.models import Person
from tenants.wall.acting import acting_for
from tenants.work import due, loop
from tests.clusters.sandbox.conftest import cloud, programme_file  # noqa: F401  the fixtures
from tests.clusters.sandbox.driver import HUB, REGION, Account, Process


@dataclass
class Bench:
    """The world, an account in the sandbox that lets us in, and the hands that step."""

    world: Any
    cloud: Process
    cloud_account: Account
    account: CloudAccount

    @property
    def tenant(self) -> Any:
        return self.world.hoshi

    def body(self, count: int = 2, **more: Any) -> dict[str, Any]:
        return {
            "architecture": "hyperpod-slurm",
            "region": REGION,
            "az_id": "apne1-az4",
            "subnet_cidr": "/22",
            "instance_groups": [
                {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
                {"name": "workers", "instance_type": "p5.48xlarge", "count": count},
            ],
            "storage": {"lustre": {"capacity_gib": 1200, "mbs_per_tib": 250}},
            **more,
        }

    def request(self, name: str = "train", **more: Any) -> Cluster:
        by = self.world.person("platform_engineer")
        with acting_for(self.tenant):
            return actions.request_cluster(
                participation=self.world.participations["hoshi"],
                account=self.account,
                name=name,
                body=self.body(**more),
                by=by.actor,
            )

    def approved(self, name: str = "train", **more: Any) -> Cluster:
        cluster = self.request(name, **more)
        approver: Person = self.world.person("lead_architect")
        with acting_for(self.tenant, staff=True):
            actions.approve_cluster(cluster=cluster, person=approver, by=approver.actor)
        return cluster

    def step(self, kind: str = "cluster") -> None:
        """One claim and one step of whatever of this kind is waiting, due or not."""
        with connection.cursor() as cursor:
            cursor.execute(
                "update tenants_due set due_at = statement_timestamp() where kind = %s and due_at is not null", [kind]
            )
            cursor.execute("delete from tenants_lane")
        held = due.claim([kind])
        if held is not None:
            loop.HANDLERS[kind][1](held)

    def look(self, cluster: Cluster, steps: int = 1, minutes: float = 0) -> Cluster:
        for _ in range(steps):
            if minutes:
                self.cloud.advance(minutes * 60)
            self.step()
        return self.now(cluster)

    def until(self, cluster: Cluster, state: str, steps: int = 40) -> Cluster:
        """Step on, five minutes of the cloud each time, jobs too, until the state is there."""
        for _ in range(steps):
            if self.look(cluster, minutes=5).state == state:
                break
            self.step("jobs")
        found = self.now(cluster)
        assert found.state == state, (found.state, found.needs_person, found.unknown_reason, found.conditions)
        return found

    def now(self, cluster: Cluster) -> Cluster:
        with acting_for(self.tenant):
            return Cluster.objects.select_related("account").get(pk=cluster.pk)

    def rows(self, model: Any, **where: Any) -> list[Any]:
        with acting_for(self.tenant, staff=True):
            return list(model.objects.filter(**where))

    def part(self, role: str) -> ExternalObject:
        return self.rows(ExternalObject, role=role)[0]

    def kinds(self, prefix: str = "cluster.") -> list[str]:
        """Kinds of the history in the order in which they happened."""
        return [entry.kind for entry in sorted(self.rows(Entry, kind__startswith=prefix), key=lambda entry: entry.pk)]

    def creates(self, operation: str = "CreateCluster") -> int:
        calls = self.cloud.calls(operation=operation, account=self.cloud_account.id, limit=10000)
        return sum(bool(call["effective"]) for call in calls)

    def nodes(self) -> list[Node]:
        return self.rows(Node)

    def jobs(self) -> list[Job]:
        return self.rows(Job)


@pytest.fixture
def bench(world: Any, cloud: Process, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Any:  # noqa: F811
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", HUB[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", HUB[1])
    aws._start_again()
    cloud_account = Account(cloud)
    with acting_for(world.hoshi):
        account = add_account(
            tenant=world.hoshi, account_id=cloud_account.id, name="training", regions=[REGION], by="engine"
        )
        CloudAccount.objects.filter(pk=account.pk).update(external_id=cloud_account.external_id)
    cloud_account.open_for_the_hub()
    yield Bench(world, cloud, cloud_account, account)
    cloud.ask("DELETE", "faults")
