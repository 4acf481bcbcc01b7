"""What an operator types: due, work, verify, rotate_keys, after_restore."""

import base64
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from clusters.models import CloudAccount, Cluster, ClusterAccess, Job
from program.management.commands.rotate_keys import secret_columns
from tenants import entries
from tenants.history import seals, timeline
from tenants.history.models import Entry
from tenants.models import Due, Tenant
from tenants.secret_fields import seal_text
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, loop
from tests.conftest import World


def _said(command: str, *words: str) -> str:
    out = StringIO()
    call_command(command, *words, stdout=out)
    return out.getvalue()


def _key(letter: str) -> str:
    return base64.urlsafe_b64encode(letter.encode() * 32).decode()


def _cluster(tenant: Tenant, world: World, name: str, state: str) -> Cluster:
    with acting_for(tenant):
        account, _ = CloudAccount.objects.get_or_create(
            tenant=tenant, account_id="000000000001", defaults={"role_arn": "arn", "external_id": "x"}
        )
        return Cluster.objects.create(
            tenant=tenant, participation=world.participations[tenant.slug], account=account, name=name, state=state,
            architecture="hyperpod-slurm", architecture_version="1", orchestrator="hyperpod-slurm",
            region="us-east-1", az_id="use1-az6", main_type="p5.48xlarge", requested_by="engine",
        )  # fmt: skip


@pytest.mark.django_db
def test_due_shows_what_waits_and_why_something_is_stuck(world: World) -> None:
    due.wish("cluster", "late", tenant=world.hoshi)
    due.wish("cluster", "hopeless", tenant=world.hoshi)
    Due.objects.filter(ref="hopeless").update(stuck="No progress in 8 attempts.", attempt=8)
    shown = _said("due")
    line = next(line for line in shown.splitlines() if line.startswith("cluster"))
    assert line.split()[1:3] == ["2", "1"] and line.split()[-1] == "1"
    assert "hopeless after 8 attempts: No progress" in shown


@pytest.mark.django_db
def test_due_lets_something_stuck_be_tried_again(world: World) -> None:
    due.wish("cluster", "hopeless", tenant=world.hoshi, lane="1/us-east-1")
    Due.objects.filter(ref="hopeless").update(stuck="No progress.", attempt=8)
    _said("due", "--again", "cluster", "hopeless")
    row = Due.objects.get(ref="hopeless")
    assert (row.stuck, row.attempt, row.lane, row.tenant_id) == ("", 0, "1/us-east-1", world.hoshi.pk)
    with pytest.raises(CommandError, match="Nothing of kind"):
        _said("due", "--again", "cluster", "unheard-of")


@pytest.mark.django_db(transaction=True)
def test_work_handles_what_is_due_without_a_broker(db: Any) -> None:
    due.wish("heartbeat", "here")
    assert "handled" in _said("work", "--once", "--queue", "engine")
    assert Due.objects.get(kind="heartbeat", ref="here").done_at is not None


@pytest.mark.django_db
def test_work_refuses_a_queue_that_nobody_declared(db: Any) -> None:
    with pytest.raises(CommandError, match="There is no queue nonsense; there are: deliver"):
        _said("work", "--once", "--queue", "nonsense")
    assert "engine" in loop.queues()


def _changed(tenant: Tenant, statement: str) -> None:
    """As somebody with the owner's rights would, behind the portal's back."""
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        cursor.execute(statement, [tenant.pk])
        cursor.execute("reset role")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("update tenants_entry set actor = 'engine' where tenant_id = %s", "has an entry that was changed"),
        ("delete from tenants_entry where tenant_id = %s", "was sealed with"),
    ],
)
def test_verify_names_the_seal_that_no_longer_fits(world: World, statement: str, why: str) -> None:
    with acting_for(world.hoshi, staff=True):
        timeline.record(entries.JOINED, about=world.hoshi, by="person:1", person="Emi", role="viewer")
        seals.seal(world.hoshi, timezone.now() + timedelta(seconds=1))
    assert "hoshi: 1 seals over 1 entries" in _said("verify")
    _changed(world.hoshi, statement)
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify", stdout=out)
    assert ended.value.code == 1
    assert why in out.getvalue() and "of hoshi" in out.getvalue()
    assert "umi: 0 seals" in out.getvalue()


def test_every_column_that_keeps_a_secret_is_found() -> None:
    assert (ClusterAccess, "jwt_key") in list(secret_columns())


def _access(world: World, tenant: Tenant) -> ClusterAccess:
    with acting_for(tenant):
        return ClusterAccess.objects.create(
            tenant=tenant, cluster=_cluster(tenant, world, "one", "ready"), url="http://127.0.0.1:1/", username="cohort",
            jwt_key="a secret", log_group="/g", read_at=timezone.now(),
        )  # fmt: skip


def _stored(row: ClusterAccess, tenant: Tenant) -> str:
    with acting_for(tenant), connection.cursor() as cursor:
        cursor.execute("select jwt_key from clusters_clusteraccess where id = %s", [row.pk])
        return str(cursor.fetchone()[0])


@pytest.mark.django_db
def test_keys_are_rotated_for_every_tenant(world: World, settings: Any) -> None:
    settings.SECRET_KEYS = ["old:" + _key("a")]
    rows = {tenant: _access(world, tenant) for tenant in (world.hoshi, world.umi)}
    settings.SECRET_KEYS = ["new:" + _key("b"), "old:" + _key("a")]
    assert "clusters_clusteraccess.jwt_key: 2 sealed anew" in _said("rotate_keys")
    settings.SECRET_KEYS = ["new:" + _key("b")]
    for tenant, row in rows.items():
        assert _stored(row, tenant).startswith("new:")
        with acting_for(tenant):
            assert ClusterAccess.objects.get(pk=row.pk).jwt_key == "a secret"
    assert ": 0 sealed anew" in _said("rotate_keys")


@pytest.mark.django_db
def test_a_secret_whose_key_is_lost_is_named_and_left_alone(world: World, settings: Any) -> None:
    settings.SECRET_KEYS = ["old:" + _key("a")]
    row = _access(world, world.hoshi)
    was = _stored(row, world.hoshi)
    settings.SECRET_KEYS = ["new:" + _key("b")]
    with pytest.raises(CommandError, match=str(row.pk)):
        _said("rotate_keys")
    assert _stored(row, world.hoshi) == was
    assert seal_text("x").startswith("new:")


@pytest.mark.django_db
def test_after_a_restore_nothing_half_made_goes_on_by_itself(world: World) -> None:
    half, whole = _cluster(world.hoshi, world, "half", "creating"), _cluster(world.umi, world, "whole", "ready")
    for cluster in (half, whole):
        due.wish("cluster", cluster.pk, tenant=cluster.tenant_id)
    old = due.claim(["cluster"])
    assert old is not None
    shown = _said("after_restore")
    assert f"hoshi cluster half (creating): due --again cluster {half.pk}" in shown
    assert due.claim(["cluster"]).ref == str(whole.pk)  # type: ignore[union-attr]
    assert due.claim(["cluster"]) is None
    with pytest.raises(due.LostLease):
        due.finish(old, again_in=None)
    _said("due", "--again", "cluster", str(half.pk))
    assert due.claim(["cluster"]).ref == str(half.pk)  # type: ignore[union-attr]
    with reading_everyone():
        assert Entry.objects.get(kind="installation.restored").facts["held"] == 1


@pytest.mark.django_db
def test_after_a_restore_no_job_is_submitted_a_second_time_by_itself(world: World) -> None:
    cluster = _cluster(world.hoshi, world, "one", "ready")
    with acting_for(world.hoshi):
        Job.objects.create(
            tenant=world.hoshi,
            cluster=cluster,
            name="train",
            engine_name="n",
            script="#!",
            nodes=1,
            launched_by="engine",
        )
    assert "jobs train on one" in _said("after_restore")
    assert due.claim(["jobs"]) is None


@pytest.mark.django_db
def test_a_restore_is_not_gone_about_while_workers_run(world: World) -> None:
    due.wish("heartbeat", "here")
    held = due.claim(["heartbeat"])
    assert held is not None
    due.finish(held, again_in=None)
    with pytest.raises(CommandError, match="Stop them first"):
        _said("after_restore")
