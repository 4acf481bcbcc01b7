"""Fifty at once get what one may have; any sequence of asking, growing, shrinking, stopping and deleting counts once."""

import contextlib
import copy
import io
import threading

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters import capacity_queries
from clusters.actions import changes, clusters, holding, locks
from clusters.models import CloudAccount, Cluster, LedgerRow, QuotaGrant, ServiceQuota
from tenants.history.moves import move
from tenants.models import Programme
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests import examples

P5 = "p5.48xlarge"


def wish(count):
    body = copy.deepcopy(examples.BODY)
    body["instance_groups"][1]["count"] = count
    return body


def prepared(world, granted):
    """An account without other limits, and so many instances granted; the example cluster is none of it."""
    made = examples.make(world, world.hoshi, 1)
    Programme.objects.update(approval_over_instances=1000)
    with acting_for(world.hoshi, staff=True):
        ServiceQuota.objects.update(value=1000)
        other = Cluster.objects.get(pk=made["clusters"].pk)
        if (under_way := locks.held(other)) is not None:
            locks.end(under_way, other, "cancelled", by="engine")
        Cluster.objects.filter(pk=other.pk).update(state="deleting")
        other.refresh_from_db()
        move(other, "deleted", by="engine", name=other.name)
        holding.settle(other, by="engine")
        line = QuotaGrant.objects.get()
        line.approved_instances = granted
        line.kept(by="engine")
    return world.participations["hoshi"], made["accounts"]


@pytest.mark.django_db(transaction=True)
def test_of_fifty_at_once_one_gets_what_one_may_have(world):
    participation, account = prepared(world, 1)
    barrier, answers = threading.Barrier(50), []

    def ask(number):
        barrier.wait()
        try:
            with acting_for(world.hoshi, staff=True):
                clusters.request_cluster(
                    participation=participation, account=account, name=f"race-{number}", body=wish(1), by="engine"
                )
            answers.append("taken")
        except Refused as refused:
            answers.append(str(refused.sentence))
        except OperationalError:
            answers.append("waited in vain")  # the door tells to try again
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert answers.count("taken") == 1 and len(answers) == 50
    said = [answer for answer in answers if answer not in ("taken", "waited in vain")]
    assert len(said) >= 10
    assert all("0 are free in ap-northeast-1: the programme grants 1 and 1 are held" in answer for answer in said)
    with acting_for(world.hoshi):
        assert capacity_queries.used_of({participation.pk}) == {(participation.pk, "ap-northeast-1", P5): 1}
        assert capacity_queries.unsettled() == {}


@pytest.mark.django_db
def test_a_refusal_says_what_is_free_and_what_is_about_to_be(world):
    participation, account = prepared(world, 4)

    def refused(count):
        with acting_for(world.hoshi, staff=True), pytest.raises(Refused) as told:
            clusters.request_cluster(
                participation=participation, account=account, name="more", body=wish(count), by="engine"
            )
        return str(told.value.sentence)

    with acting_for(world.hoshi, staff=True):
        first = clusters.request_cluster(
            participation=participation, account=account, name="first", body=wish(3), by="engine"
        )
        Cluster.objects.filter(pk=first.pk).update(state="ready")
        locks.end(locks.held(first), Cluster.objects.get(pk=first.pk), "done", by="engine")
    nothing = refused(2)
    assert "1 are free" in nothing and "Nothing is about to become free" in nothing
    assert "the programme's office, through a request for capacity" in nothing
    with acting_for(world.hoshi, staff=True):
        changes.change_cluster(cluster=first, body=wish(1), by="engine", reason="smaller")
    assert "of which 2 become free" in refused(2)
    with acting_for(world.hoshi, staff=True):
        locks.end(locks.held(first), Cluster.objects.get(pk=first.pk), "done", by="engine")
        done = clusters.request_cluster(
            participation=participation, account=account, name="second", body=wish(3), by="engine"
        )
        LedgerRow.objects.create(
            tenant=world.hoshi, ledger="use", participation=participation, region="ap-northeast-1", instance_type=P5,
            option="odcr", delta=2, cluster=done, by="engine",
        )  # fmt: skip
        assert list(capacity_queries.unsettled()) == [done]
    said = io.StringIO()
    with contextlib.suppress(SystemExit):  # the example's file has no content
        call_command("verify", tenant="hoshi", settle=True, stdout=said)
    assert "second of hoshi holds 2 p5.48xlarge odcr, 3 p5.48xlarge on_demand and should hold 3" in said.getvalue()
    with acting_for(world.hoshi, staff=True):
        assert capacity_queries.unsettled() == {}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["request", "change", "change", "done", "done", "failed", "give_up", "retry", "retire", "deleted", "again"]),
        st.integers(0, 2),
        st.integers(1, 6),
    ),
    min_size=5,
    max_size=14,
)  # fmt: skip


class Play:
    """The real actions on up to three clusters, and the engine's part done by hand."""

    MOST = 8

    def __init__(self, participation, account):
        self.participation, self.account, self.made = participation, account, 0

    def cluster(self, index):
        rows = list(Cluster.objects.exclude(state="deleted").order_by("created_at", "name"))
        return rows[index % len(rows)] if rows else None

    def do(self, step, index, count):
        if step == "request":
            self.made += 1
            clusters.request_cluster(
                participation=self.participation,
                account=self.account,
                name=f"c{self.made}",
                body=wish(count),
                by="engine",
            )
        elif (cluster := self.cluster(index)) is not None:
            getattr(self, step)(cluster, count)

    def change(self, cluster, count):
        changes.change_cluster(cluster=cluster, body=wish(count), by="engine", reason="size")

    def give_up(self, cluster, count):
        changes.give_up(cluster=cluster, by="engine")

    def retry(self, cluster, count):
        clusters.retry_cluster(cluster=cluster, by="engine")

    def retire(self, cluster, count):
        clusters.retire_cluster(cluster=cluster, by="engine", why="over")

    def again(self, cluster, count):
        holding.settle(cluster, by="engine")

    def done(self, cluster, count):
        self._end(cluster, "done", "ready")

    def failed(self, cluster, count):
        self._end(cluster, "failed", "failed")

    def deleted(self, cluster, count):
        operation = locks.held(cluster)
        if operation and operation.kind == "delete" and operation.state == "running":
            Cluster.objects.filter(pk=cluster.pk).update(state="deleting")
            cluster.refresh_from_db()
            move(cluster, "deleted", by="engine", name=cluster.name)
            locks.end(operation, cluster, "done", by="engine")

    def _end(self, cluster, to, state):
        operation = locks.held(cluster)
        if operation and operation.kind in ("create", "change") and operation.state == "running":
            Cluster.objects.filter(pk=cluster.pk).update(state=state)
            cluster.refresh_from_db()
            locks.end(operation, cluster, to, by="engine", why="said so")


@pytest.mark.django_db
def test_no_sequence_counts_twice_or_releases_twice(world):
    participation, account = prepared(world, Play.MOST)
    with connection.cursor() as cursor:  # a machine that stands still for a while is no fault of what is tested
        cursor.execute("set local transaction_timeout = 0; set local idle_in_transaction_session_timeout = 0")

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def walk(steps):
        with acting_for(world.hoshi, staff=True), transaction.atomic():
            play = Play(participation, CloudAccount.objects.get(pk=account.pk))
            for step in [("request", 0, 4), *steps]:
                try:
                    with transaction.atomic():
                        play.do(*step)
                except Refused:
                    pass
                used = capacity_queries.used_of({participation.pk}).get((participation.pk, "ap-northeast-1", P5), 0)
                assert 0 <= used <= Play.MOST, steps
            assert capacity_queries.unsettled() == {}, steps
            for cluster in Cluster.objects.exclude(state="deleted"):
                rows = LedgerRow.objects.filter(cluster=cluster, ledger="use").values_list("delta", flat=True)
                assert sum(rows) >= 0
            transaction.set_rollback(True)

    walk()
