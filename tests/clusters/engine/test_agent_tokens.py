"""The token of a head node's agent gets into the participant's account, where the head node fetches it, and nowhere else."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.test import Client

from clusters.actions import agents, changes
from clusters.models import HeadNodeAgent
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.engine.conftest import Bench

HELLO = {"version": "1.0", "identity": "a" * 32}


def told(bench: Bench) -> dict[str, Any]:
    name = f"cohort/clusters/{bench.part('cluster').name}/agent"
    return json.loads(bench.cloud_account("secretsmanager").get_secret_value(SecretId=name)["SecretString"])


def pull(secret: dict[str, Any], settings: Any) -> int:
    path = secret["url"].removeprefix(settings.SITE_URL)
    head = {"Authorization": f"Bearer {secret['token']}"}
    return Client().post(f"{path}/pull/", HELLO, content_type="application/json", headers=head).status_code


def test_a_token_is_delivered_renewed_and_put_again_when_the_answer_is_lost(bench: Bench, settings: Any):
    cluster = bench.look(bench.approved())
    with pytest.raises(ClientError, match="ResourceNotFound"):
        told(bench)
    with acting_for(bench.tenant, staff=True):
        agents.choose_reach(cluster=cluster, reach="agent", by="engine")
    bench.cloud.fault("timeout_after_success", service="secretsmanager", operation="CreateSecret", times=1)
    bench.step("agent_token")
    [agent] = bench.rows(HeadNodeAgent)
    assert agent.undelivered == "" and agent.delivered_at
    first = told(bench)
    assert pull(first, settings) == 200
    with acting_for(bench.tenant, staff=True):
        agents.renew_token(cluster=cluster, by="engine")
    bench.step("agent_token")
    second = told(bench)
    assert second["url"] == first["url"] and second["token"] != first["token"]
    assert pull(second, settings) == 200


def test_the_way_is_chosen_with_the_request(bench: Bench):
    asked = bench.request("inland", reach="agent")
    assert (asked.reach, bench.rows(HeadNodeAgent)) == ("agent", [])
    cluster = bench.look(bench.approved("coast", reach="agent"))
    [agent] = bench.rows(HeadNodeAgent)
    assert agent.cluster_id == cluster.pk and agent.undelivered
    bench.step("agent_token")  # before the head node comes
    assert told(bench)["url"].endswith(f"/clusters/{cluster.pk}/agent")


def test_the_way_is_not_changed_with_the_configuration(bench: Bench):
    near = bench.until(bench.approved("near"), "ready")
    with acting_for(bench.tenant, staff=True):
        for more, code in (({"reach": "agent"}, "reach_elsewhere"), ({}, "nothing_changes")):
            with pytest.raises(Refused) as refused:
                changes.change_cluster(cluster=near, body=bench.body(**more), by="engine", reason="")
            assert refused.value.code == code
