"""A cluster with everything around it: watched, with images by digest and the participant's own script; its alerts come in."""

import json
from typing import Any

import pytest
from django.test import Client

from clusters import actions, node_setups
from clusters.actions import alerts, changes
from clusters.models import Alert, AlertIntake, CloudAccount, ContainerImage, ExternalObject, Leftover
from support.models import Case
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tests.clusters.engine.conftest import Bench

DIGEST = "sha256:" + "ab" * 32
SCRIPT = "#!/bin/bash\nset -euo pipefail\nnvidia-smi\n"


def keep(bench: Bench, text: str = SCRIPT, name: str = "drivers") -> Any:
    with acting_for(bench.tenant):
        return node_setups.keep(tenant=bench.tenant, name=name, text=text, by="engine")


def image(bench: Bench, digest: str = DIGEST) -> dict[str, str]:
    return {"name": "train", "uri": f"{bench.cloud_account.id}.dkr.ecr.ap-northeast-1.amazonaws.com/train@{digest}"}


def objects(bench: Bench) -> dict[str, str]:
    s3, bucket = bench.cloud_account("s3"), bench.part("base").outputs["LifecycleBucketName"]
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    return {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode() for key in keys}


def told(status: str = "firing", **more: Any) -> dict[str, Any]:
    alert = {
        "status": status,
        "fingerprint": "3fa1c0de",
        "startsAt": "2026-11-01T10:00:00Z",
        "endsAt": "2026-11-01T10:30:00Z" if status == "resolved" else "0001-01-01T00:00:00Z",
        "labels": {"alertname": "GpuNotWell", "severity": "critical", "instance": "10.0.128.20", "gpu": "3"},
        "annotations": {"summary": "GPU 3 of 10.0.128.20 reported Xid 79"},
        **more,
    }
    return {"version": "4", "status": status, "receiver": "portal", "alerts": [alert]}


def post(bench: Bench, cluster: Any, body: Any, token: str) -> Any:
    address = f"/t/{bench.tenant.slug}/clusters/{cluster.pk}/alerts/"
    content = body if isinstance(body, bytes) else json.dumps(body)
    head = {"Authorization": f"Bearer {token}"}
    return Client(enforce_csrf_checks=True).post(address, content, content_type="application/json", headers=head)


def token_in_account(bench: Bench) -> str:
    name = f"cohort/monitoring/{bench.part('cluster').name}/alerts"
    return bench.cloud_account("secretsmanager").get_secret_value(SecretId=name)["SecretString"]


@pytest.fixture
def whole(bench: Bench) -> Any:
    keep(bench)
    cluster = bench.approved(
        observability="managed", images=[image(bench)], node_setup={"name": "drivers", "version": 1}
    )
    return bench.until(cluster, "ready")


def test_a_whole_cluster_is_watched_carries_its_files_and_hears_of_its_alerts(bench: Bench, whole, settings):
    parts = sorted(bench.rows(ExternalObject), key=lambda part: part.position)
    assert [part.role for part in parts] == ["base", "grafana", "observability", "cluster"]
    files = {key.rpartition("/")[2]: text for key, text in objects(bench).items()}
    assert files["participant.sh"] == SCRIPT
    assert json.loads(files["participant.json"]) == {"name": "drivers", "version": 1}
    [named] = json.loads(files["images.json"])["images"]
    assert (named["digest"], named["file"]) == (DIGEST, "train-abababababab.sqsh")
    assert {"collector.sh", "find_nodes.sh", "dashboard-gpu.json"} <= set(files)
    [row] = bench.rows(ContainerImage)
    assert (row.name, row.digest, row.revision, row.until_revision) == ("train", DIGEST, 1, None)

    token = token_in_account(bench)
    assert post(bench, whole, told(), "wrong").status_code == 401
    assert post(bench, whole, told(), token).json() == {"new": 1, "again": 0, "over": 0}
    assert post(bench, whole, told(), token).json() == {"new": 0, "again": 1, "over": 0}
    [alert] = bench.rows(Alert)
    assert (alert.state, alert.severity, alert.node, alert.told) == ("firing", "urgent", "10.0.128.20", 2)
    bench.step("triage")
    [case] = bench.rows(Case)
    assert (case.severity, case.category, case.state) == ("urgent", "gpu", "new")
    assert case.title == "GpuNotWell on train: GPU 3 of 10.0.128.20 reported Xid 79"
    assert post(bench, whole, told("resolved"), token).json() == {"new": 0, "again": 0, "over": 1}
    bench.step("alert_over")
    assert [bench.rows(Alert)[0].state, bench.rows(Case)[0].state] == ["resolved", "resolved"]
    assert bench.kinds("alert.") == ["alert.firing", "alert.resolved"]

    with acting_for(bench.tenant, staff=True):
        alerts.renew_token(cluster=whole, by="engine")
    assert post(bench, whole, told(fingerprint="other"), token).status_code == 200  # until the change has arrived
    bench.until(whole, "ready")
    bench.look(whole, steps=4, minutes=5)
    newer = token_in_account(bench)
    assert newer != token and post(bench, whole, told(fingerprint="third"), newer).status_code == 200
    with acting_for(bench.tenant, staff=True):
        AlertIntake.objects.update(before_until="2026-01-01T00:00:00Z")
    assert post(bench, whole, told(fingerprint="fourth"), token).status_code == 401

    settings.CONSISTENCY_SECONDS = 0
    with acting_for(bench.tenant, staff=True):
        actions.retire_cluster(cluster=whole, by="engine", why="test")
    bench.until(whole, "deleted")
    assert (
        bench.cloud_account("ec2").describe_instances(
            Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}]
        )["Reservations"]
        == []
    )
    kinds = {row.kind for row in bench.rows(Leftover)}
    assert "AWS::ECR::Repository" in kinds and not any(kind.startswith(("AWS::APS", "AWS::Grafana")) for kind in kinds)


def test_what_is_no_longer_wished_goes_and_another_script_is_a_planned_change(bench: Bench, whole, settings):
    settings.CONSISTENCY_SECONDS = 0
    keep(bench, SCRIPT + "echo more\n")
    by = bench.world.person("platform_engineer")
    body = bench.body(observability="none", node_setup={"name": "drivers", "version": 2}, images=[])
    with acting_for(bench.tenant):
        operation = changes.change_cluster(cluster=whole, body=body, by=by.actor, reason="less")
    words = {(effect["kind"], effect["part"]) for effect in operation.plan["effects"]}
    assert {("removed", "observability"), ("removed", "grafana"), ("later", "cluster")} <= words
    asked = [(each["path"], each["old"], each["new"]) for each in operation.plan["changes"]]
    assert ("node_setup.version", 1, 2) in asked and ("observability", "managed", "none") in asked
    if operation.state == "waiting":
        lead = bench.world.person("lead_architect")
        with acting_for(bench.tenant, staff=True):
            actions.approve_cluster(cluster=whole, person=lead, by=lead.actor)
    bench.look(whole, steps=3, minutes=5)
    bench.until(whole, "ready")
    states = {part.role: part.state for part in bench.rows(ExternalObject)}
    assert states == {"base": "exists", "cluster": "exists", "observability": "gone", "grafana": "gone"}
    [row] = bench.rows(ContainerImage)
    assert row.until_revision == 2
    files = objects(bench)
    assert sum(text == SCRIPT + "echo more\n" for text in files.values()) == 1


def test_a_script_of_the_participant_that_fails_is_named_as_theirs(bench: Bench, settings):
    settings.CONSISTENCY_SECONDS = 0
    keep(bench, "#!/bin/bash\nset -euo pipefail\necho the driver is missing\nexit 7\n")
    cluster = bench.approved(node_setup={"name": "drivers", "version": 1})
    failed = bench.until(cluster, "failed")
    told = bench.part("cluster").reason
    assert "“drivers”, version 1, ended with code 7 on ip-10-0-128-20" in told and "the driver is missing" in told
    assert any(told in str(condition["sentence"]) for condition in failed.conditions)
    [entry] = bench.rows(Entry, kind="node_setup.failed")
    assert (entry.facts["name"], entry.facts["number"], entry.facts["code"]) == ("drivers", 1, 7)


def test_the_account_says_whether_it_has_identity_center(bench: Bench):
    bench.step("account")
    assert bench.rows(CloudAccount)[0].identity_center == "yes"
