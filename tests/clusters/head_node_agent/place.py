"""A ready cluster that is reached by its agent, without a cloud: its rows, its token, and the engine's hands."""

import json
import time
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client

from clusters.actions import agents, launch_job
from clusters.launchers import AgentEndpoint
from clusters.launchers.agent import ByAgent
from clusters.models import CloudAccount, Cluster, HeadNodeAgent, Job, Node, Revision
from tenants.wall.acting import acting_for
from tenants.work import due, loop

HELLO = {"version": "1.0", "boot": "b-1", "identity": "a" * 32, "host": "head-1", "user": "cohort"}


@dataclass
class Place:
    """One cluster of one tenant."""

    tenant: Any
    cluster: Cluster
    token: str

    @property
    def endpoint(self) -> AgentEndpoint:
        return AgentEndpoint(str(self.tenant.pk), str(self.cluster.pk))

    @property
    def path(self) -> str:
        return f"/api/v1/t/{self.tenant.slug}/clusters/{self.cluster.pk}/agent"

    def post(self, verb: str, body: Any = None, token: str | None = None, **more: Any) -> Any:
        content = body if isinstance(body, bytes) else json.dumps({**HELLO, **(body or {})})
        head = {"Authorization": f"Bearer {self.token if token is None else token}"}
        client = Client(enforce_csrf_checks=True)
        return client.post(f"{self.path}/{verb}/", content, content_type="application/json", headers=head, **more)

    def pull(self) -> list[dict[str, Any]]:
        return self.post("pull").json()["orders"]

    def report(self, **told: Any) -> Any:
        return self.post("report", {"jobs": None, "nodes": None, "logs": [], "ended": [], **told})

    def jobs(self, *rows: dict[str, Any]) -> Any:
        return self.report(
            jobs={"digest": f"{abs(hash(str(rows))):064x}"[-64:], "rows": [row_of(**row) for row in rows]}
        )

    def launch(self, name: str = "train", script: str = "#!/bin/bash\nsrun true\n", **more: Any) -> Job:
        with acting_for(self.tenant):
            return launch_job(cluster=self.cluster, name=name, script=script, by="engine", **{"nodes": 1, **more})

    def step(self, kind: str = "jobs") -> None:
        """One claim and one step, due or not."""
        with connection.cursor() as cursor:
            # Only this cluster's: another's would be a step of somebody else.
            due_at = "statement_timestamp() + case when ref = %s then interval '0' else interval '1 day' end"
            cursor.execute(f"update tenants_due set due_at = {due_at} where kind = %s", [str(self.cluster.pk), kind])
        for _ in range(50):
            held = due.claim([kind])
            if held is not None:
                break
            time.sleep(0.05)  # a report that comes in just now has the row
        assert held is not None, "nothing waits: has the job ended?"
        loop.HANDLERS[kind][1](held)

    def now(self, row: Any) -> Any:
        with acting_for(self.tenant, staff=True):
            return type(row).objects.get(pk=row.pk)

    @property
    def agent(self) -> HeadNodeAgent:
        with acting_for(self.tenant, staff=True):
            return HeadNodeAgent.objects.get(cluster=self.cluster)

    @property
    def launcher(self) -> ByAgent:
        return ByAgent()


def row_of(**more: Any) -> dict[str, Any]:
    """A job as the agent tells of it."""
    return {
        "job_id": 7, "array_job_id": 0, "array_task_id": None, "array_task_string": "", "name": "job", "user_name": "cohort",
        "partition": "workers", "job_state": ["RUNNING"], "state_reason": "None",
        "exit_code": {"return_code": 0, "signal": {"id": 0}}, "nodes": "gpu[1-2]", "restart_cnt": 0,
        "submit_time": 1796096000, "start_time": 1796096400, "end_time": 1796100000, "eligible_time": 1796096000,
        "time_limit": 60, "priority": 1, "tres_alloc_str": "cpu=8,gres/gpu=16", **more,
    }  # fmt: skip


def settle(world: Any, slug: str = "hoshi", name: str = "inland", partition: str = "workers") -> Place:
    tenant = getattr(world, slug)
    with acting_for(tenant, staff=True):
        number = "111122223333" if slug == "hoshi" else "444455556666"
        account = CloudAccount.objects.create(
            tenant=tenant, account_id=number, role_arn=f"arn:aws:iam::{number}:role/x", external_id=slug
        )
        cluster = Cluster.objects.create(
            tenant=tenant, participation=world.participations[slug], account=account, name=name, architecture="hyperpod-slurm",
            architecture_version="2026.12", orchestrator="hyperpod-slurm", region="ap-northeast-1", az_id="apne1-az4",
            main_type="p5.48xlarge", nodes_wanted=2, nodes_running=2, requested_by="engine",
        )  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute("update clusters_cluster set state = 'ready' where id = %s", [cluster.pk])
        Revision.objects.create(tenant=tenant, cluster=cluster, number=1, body={}, author="engine")
        Node.objects.bulk_create(
            Node(tenant=tenant, cluster=cluster, group=partition, seat=seat, name=f"gpu{seat}", role="compute", instance_type="p5.48xlarge", accelerators=8)
            for seat in (1, 2)
        )  # fmt: skip
        agents.choose_reach(cluster=cluster, reach="agent", by="engine")
        token = str(HeadNodeAgent.objects.get(cluster=cluster).undelivered)
        cluster.refresh_from_db()
    return Place(tenant, cluster, token)
