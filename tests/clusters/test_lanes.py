"""What waits for one participant's account never waits for another's, also when both name the same account."""

import importlib

from django.db import connection

from clusters.engine import turns
from tenants.models import Due
from tenants.wall.acting import acting_for
from tenants.work import due
from tests.support.conftest import cluster_of

MIGRATION = importlib.import_module("clusters.migrations.0005_lanes_per_tenant")


def test_two_tenants_that_name_one_account_do_not_hold_each_other_back(world):
    ours, theirs = cluster_of(world, world.hoshi), cluster_of(world, world.umi)
    assert ours.account.account_id == theirs.account.account_id
    for cluster in (ours, theirs):
        with acting_for(cluster.tenant_id):
            turns.wish(cluster)
    due.cool(theirs.lane, 60)
    held = due.claim(["cluster"])
    assert held.ref == str(ours.pk) and due.claim(["cluster"]) is None


def test_a_lane_is_one_account_in_one_region_and_fits_its_column(world):
    cluster = cluster_of(world, world.hoshi)
    other = cluster_of(world, world.hoshi, "other")
    assert cluster.lane == other.lane and cluster.lane.startswith("111122223333/ap-northeast-1/")
    assert cluster.account.lane() != cluster.lane
    assert len(cluster.account.lane("x" * 20)) <= Due._meta.get_field("lane").max_length


def test_what_waits_already_changes_its_lane(world):
    cluster = cluster_of(world, world.hoshi)
    for kind, ref in (("cluster", cluster.pk), ("account", cluster.account_id)):
        due.wish(kind, ref, tenant=world.hoshi, lane="111122223333")
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        cursor.execute(MIGRATION.LANES)
        cursor.execute("set local role none")
    lanes = dict(Due.objects.values_list("kind", "lane"))
    assert lanes == {"cluster": cluster.lane, "account": cluster.account.lane()}
