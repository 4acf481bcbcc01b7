"""A cluster with a configuration, and jobs on it, for tests of cases."""

from collections.abc import Callable
from typing import Any

import pytest

from clusters.models import CloudAccount, Cluster, Job, Revision
from support.actions import open_case
from support.models import Case
from tenants.models import Tenant
from tenants.wall.acting import acting_for
from tests.conftest import World


def cluster_of(world: World, tenant: Tenant, name: str = "lab") -> Cluster:
    with acting_for(tenant):
        account, _new = CloudAccount.objects.get_or_create(
            tenant=tenant, account_id="111122223333", defaults={"role_arn": "arn", "external_id": "x"}
        )
        cluster = Cluster.objects.create(
            tenant=tenant,
            participation=world.participations[tenant.slug],
            account=account,
            name=name,
            architecture="hyperpod-slurm",
            architecture_version="1",
            orchestrator="slurm",
            region="ap-northeast-1",
            az_id="apne1-az4",
            state="ready",
            main_type="p5.48xlarge",
            requested_by="engine",
        )
        Revision.objects.create(
            tenant=tenant, cluster=cluster, number=1, body={"groups": [{"count": 4}]}, author="engine"
        )
    return cluster


@pytest.fixture
def cluster(world: World) -> Cluster:
    return cluster_of(world, world.hoshi)


@pytest.fixture
def failed_job(cluster: Cluster) -> Callable[..., Job]:
    """Makes a job that has ended badly, with its last lines already read."""

    def make(name: str = "pretrain", **fields: Any) -> Job:
        values = {
            "state": "failed",
            "engine_state": "FAILED",
            "reason": "NonZeroExitCode",
            "exit_code": 1,
            "node_names": ["lab-1", "lab-2"],
            "external_id": "7",
            "log_tail": "\n".join(f"step {n}" for n in range(300)),
        }
        with acting_for(cluster.tenant_id):
            return Job.objects.create(
                tenant_id=cluster.tenant_id,
                cluster=cluster,
                name=name,
                engine_name=f"{name}-{Job.objects.count()}",
                script="#!/bin/bash",
                nodes=2,
                launched_by="engine",
                **{**values, **fields},
            )

    return make


@pytest.fixture
def new_case(world: World) -> Callable[..., Case]:
    """Opens a case at hoshi unless told otherwise; call it inside a scope."""

    def make(**values: Any) -> Case:
        tenant = values.pop("tenant", world.hoshi)
        return open_case(
            **{"tenant": tenant, "title": "Loss is not a number", "severity": "high", "by": "engine", **values}
        )

    return make
