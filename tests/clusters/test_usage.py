"""Usage as it is counted, shown, disputed and settled: from rows of accounting or from our own watching, each once."""

import csv
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from clusters.accounting import usage
from clusters.accounting.time_classes import ORDER
from clusters.actions import usage as acting
from clusters.engine import usage as counting
from clusters.engine.usage import Answer
from clusters.launchers import Ended
from clusters.models import (
    AccountingRead,
    Attempt,
    CloudAccount,
    Cluster,
    ClusterAccess,
    JobRun,
    Node,
    NodeInstance,
    UsageDay,
    UsageDispute,
)
from support.models import Case
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.timeline import KINDS, Kind
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.web.tables import as_csv
from tenants.work import due, loop
from tests import examples
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
KEPT, NONE_KEPT = Answer("yes"), Answer("no", told="No slurmdbd")
HOUR = 3600


@pytest.fixture
def row(world: World) -> Cluster:
    """A cluster of two nodes of eight accelerators that came up ten days ago at noon of UTC."""
    began = (timezone.now() - timedelta(days=10)).replace(hour=12, minute=0, second=0, microsecond=0)
    with acting_for(world.hoshi, staff=True):
        account = CloudAccount.objects.create(
            tenant=world.hoshi, account_id="123456789012", role_arn="r", external_id="x"
        )
        made = examples.cluster(world.hoshi, world.participations["hoshi"], account, "train", created_at=began)
        for seat in (1, 2):
            node = examples.node(made, seat)
            Node.objects.filter(pk=node.pk).update(private_ip=f"10.0.0.{seat}")
            NodeInstance.objects.create(tenant=world.hoshi, node=node, instance_id=node.instance_id, sat_from=began)
        ClusterAccess.objects.create(
            tenant=world.hoshi, cluster=made, url="http://127.0.0.1:1/", username="c", jwt_key="c2VjcmV0", log_group="g",
            read_at=began,
        )  # fmt: skip
    return made


def ended(began: datetime, hours: float, **more: Any) -> Ended:
    values = {
        "external_id": "7", "attempt": 1, "name": "by-hand", "state": "succeeded", "engine_state": "COMPLETED",
        "started_at": began, "ended_at": began + timedelta(hours=hours), "nodes": ("ip-10-0-0-1", "ip-10-0-0-2"),
        "accelerators": 16, "exit_code": 0, "signal": None,
    }  # fmt: skip
    return Ended(**{**values, **more})


def counted(row: Cluster, answer: Answer) -> dict[date, UsageDay]:
    with acting_for(row.tenant_id, staff=True):
        locked = Cluster.objects.select_related("participation__cycle__programme").get(pk=row.pk)
        counting.count(locked, answer, asked_at=timezone.now())
        return {day.day: day for day in UsageDay.objects.filter(cluster=row)}


def days_ago(row: Cluster, days: int, hour: int = 3) -> datetime:
    return row.created_at.replace(hour=hour) + timedelta(days=10 - days)


def test_the_same_rows_of_accounting_again_change_nothing(row):
    answer = Answer("yes", (ended(days_ago(row, 5), 4), ended(days_ago(row, 4), 1, external_id="8")))
    first = counted(row, answer)
    second = counted(row, answer)
    with acting_for(row.tenant_id):
        assert JobRun.objects.count() == 2
        assert not Entry.objects.filter(kind="cluster.usage_corrected").exists()
    assert sum(day.used for day in first.values()) == 5 * 16 * HOUR
    assert {day: one.used for day, one in first.items()} == {day: one.used for day, one in second.items()}


def test_attempts_that_a_later_list_numbers_from_one_again_are_the_same_attempts(row):
    """A list that begins after the first attempt calls the second one the first."""
    first, second = ended(days_ago(row, 5), 4), ended(days_ago(row, 2), 1, attempt=2)
    counted(row, Answer("yes", (first, second)))
    counted(row, Answer("yes", (ended(days_ago(row, 2), 1, attempt=1), ended(days_ago(row, 1), 1, attempt=2))))
    with acting_for(row.tenant_id):
        kept = list(JobRun.objects.order_by("started_at").values_list("attempt", "started_at"))
    assert kept == [(1, days_ago(row, 5)), (2, days_ago(row, 2)), (3, days_ago(row, 1))]


def test_a_run_over_midnight_of_tokyo_is_in_two_days_and_its_classes_sum(row):
    began = days_ago(row, 5, hour=14)  # 23:00 in Tokyo
    days = counted(row, Answer("yes", (ended(began, 3),)))
    local = (began + timedelta(hours=9)).date()
    assert (days[local].used, days[local + timedelta(days=1)].used) == (16 * HOUR, 2 * 16 * HOUR)
    assert (days[local].training, days[local].idle) == (16 * HOUR, 23 * 16 * HOUR)
    for day in days.values():
        assert day.reserved == sum(getattr(day, name) for name in ORDER)


def test_the_database_refuses_a_day_whose_classes_do_not_sum(row):
    with acting_for(row.tenant_id), pytest.raises(IntegrityError, match="usage_classes_sum"), transaction.atomic():
        UsageDay.objects.create(
            tenant_id=row.tenant_id, cluster=row, day=date(2026, 1, 1), zone="UTC", reserved=10, idle=9,
            computed_at=timezone.now(),
        )  # fmt: skip


def test_accounting_comes_before_what_we_watched_and_never_beside_it(row):
    began = days_ago(row, 1)
    with acting_for(row.tenant_id, staff=True):
        job = examples.job(row, "pretrain", engine_name="cohort-pretrain", nodes=2, accelerators=16, external_id="7")
        Attempt.objects.create(
            tenant_id=row.tenant_id, job=job, number=1, external_id="7", started_at=began,
            ended_at=began + timedelta(hours=2), node_names=["ip-10-0-0-1", "ip-10-0-0-2"],
        )  # fmt: skip
    watched = counted(row, NONE_KEPT)
    assert sum(day.used for day in watched.values()) == 2 * 16 * HOUR
    assert {day.source for day in watched.values()} == {"watched"}
    told = counted(row, Answer("yes", (ended(began, 2.5, name="cohort-pretrain"),)))
    with acting_for(row.tenant_id):
        run = JobRun.objects.get()
        assert (run.source, run.job, run.name) == ("accounting", job, "pretrain")
    assert sum(day.used for day in told.values()) == 2.5 * 16 * HOUR


def test_what_runs_is_counted_until_it_was_last_seen_and_no_further(row):
    began = timezone.now().replace(microsecond=0) - timedelta(hours=3)
    with acting_for(row.tenant_id, staff=True):
        job = examples.job(row, "p", nodes=2, accelerators=16, external_id="7", observed_at=began + timedelta(hours=1))
        Attempt.objects.create(tenant_id=row.tenant_id, job=job, number=1, external_id="7", started_at=began)
    assert sum(day.used for day in counted(row, NONE_KEPT).values()) == 16 * HOUR


def test_between_two_attempts_its_nodes_recover(row):
    began = days_ago(row, 3)
    with acting_for(row.tenant_id, staff=True):
        job = examples.job(row, "p", engine_name="cohort-p", nodes=2, accelerators=16, external_id="7")
        JobRun.objects.filter(job=job).delete()
    rows = (
        ended(began, 1, name="cohort-p", state="failed"),
        ended(began + timedelta(hours=3), 1, name="cohort-p", attempt=2),
    )
    days = counted(row, Answer("yes", rows))
    assert sum(day.recovering for day in days.values()) == 2 * 16 * HOUR
    assert sum(day.training for day in days.values()) == 2 * 16 * HOUR


def test_a_job_that_hangs_is_stalled_until_it_speaks_again(row):
    for word in ("stalled", "speaks"):
        KINDS.setdefault(f"job.{word}", Kind(f"job.{word}", ""))
    began = days_ago(row, 3)
    with acting_for(row.tenant_id, staff=True):
        job = examples.job(row, "p", engine_name="cohort-p", nodes=2, accelerators=16, external_id="7")
        at = began + timedelta(hours=2)
        since = (began + timedelta(hours=1)).isoformat()
        timeline.record("job.stalled", about=job, by="engine", at=at, name="p", minutes=60, since=since)
        timeline.record("job.speaks", about=job, by="engine", at=at + timedelta(hours=1), name="p", minutes=120)
    days = counted(row, Answer("yes", (ended(began, 5, name="cohort-p"),)))
    assert sum(day.stalled for day in days.values()) == 2 * 16 * HOUR
    assert sum(day.training for day in days.values()) == 3 * 16 * HOUR


@pytest.mark.parametrize(
    ("nodes", "accelerators", "found"),
    [
        (("ip-10-0-0-1",), None, 8),  # whole nodes: those of the node
        (("ip-10-0-0-1.ec2.internal",), None, 8),
        (("ip-10-0-0-1",), 4, 4),
        (("elsewhere",), None, None),  # nobody can say
        ((), None, None),
    ],
)
def test_accelerators_that_the_accounting_does_not_count_are_those_of_the_nodes_or_not_measured(
    row, nodes, accelerators, found
):
    days = counted(row, Answer("yes", (ended(days_ago(row, 3), 1, nodes=nodes, accelerators=accelerators),)))
    with acting_for(row.tenant_id):
        assert JobRun.objects.get().accelerators == found
    assert sum(day.unmeasured for day in days.values()) == (found is None)
    assert sum(day.used for day in days.values()) == (found or 0) * HOUR


def test_where_nobody_could_see_a_job_usage_is_not_measured_and_is_not_summed_as_nought(row, world):
    with acting_for(row.tenant_id, staff=True):
        ClusterAccess.objects.all().delete()
    counted(row, Answer("unknown"))
    with acting_for(row.tenant_id):
        month = row.created_at.date().replace(day=1)
        rows = usage.months(month)
        assert [one.used for one in rows] == [None]
        assert usage.total(rows).used is None
        measured = usage.Sums(used=3 * HOUR, clusters=1)
        both = usage.total([*rows, measured])
        assert (both.used, both.clusters, both.unmeasured_clusters, both.complete) == (3 * HOUR, 2, 1, False)


def test_accounting_that_does_not_answer_makes_nothing_unmeasured_that_was_measured(row):
    before = counted(row, Answer("yes", (ended(days_ago(row, 3), 1),)))
    after = counted(row, Answer("unknown", told="Slurm gave no answer"))
    assert {day: one.used for day, one in before.items()} == {day: one.used for day, one in after.items()}
    with acting_for(row.tenant_id):
        read = AccountingRead.objects.get()
        assert (read.kept, read.told) == ("yes", "Slurm gave no answer")


def test_a_closed_day_changes_only_with_a_line_that_keeps_both_numbers(row):
    late = days_ago(row, 6)
    before = counted(row, KEPT)
    day = before[(late + timedelta(hours=9)).date()]
    assert day.closed_at is not None and day.used == 0
    counted(row, Answer("yes", (ended(late, 1),)))
    with acting_for(row.tenant_id):
        entry = Entry.objects.get(kind="cluster.usage_corrected")
        assert entry.facts["changed"]["used"] == [0, 16 * HOUR]
        assert entry.facts["day"] == day.day.isoformat()
        assert UsageDay.objects.get(pk=day.pk).used == 16 * HOUR


def test_an_empty_seat_waits_for_the_provider(row):
    with acting_for(row.tenant_id, staff=True):
        NodeInstance.objects.filter(node__seat=2).update(sat_until=days_ago(row, 5))
        days = counted(row, KEPT)
        day = days[(days_ago(row, 3) + timedelta(hours=9)).date()]
        assert day.reserved == 24 * 8 * HOUR  # on demand: what sits there is what costs
        examples.c.Reservation.objects.create(state="bought",
            tenant_id=row.tenant_id, participation_id=row.participation_id, kind="training_plan", external_id="tp",
            region=row.region, az_id=row.az_id, instance_type=row.main_type, count=2, starts_at=row.created_at,
            ends_at=timezone.now() + timedelta(days=30),
        )  # fmt: skip
        UsageDay.objects.all().delete()
    days = counted(row, KEPT)
    day = days[(days_ago(row, 3) + timedelta(hours=9)).date()]
    assert (day.reserved, day.waiting_provider, day.idle) == (48 * 8 * HOUR, 24 * 8 * HOUR, 24 * 8 * HOUR)


def test_a_dispute_opens_a_case_shows_since_when_and_keeps_both_numbers(row, world):
    counted(row, Answer("yes", (ended(days_ago(row, 3), 4),)))
    month = days_ago(row, 3).date().replace(day=1)
    lead = world.person("business_lead")
    with acting_for(row.tenant_id, staff=True):
        told = acting.dispute_usage(
            cluster=row, month=month, reason="The node was dead.", by=lead.actor, claimed_hours=Decimal("60")
        )
        with pytest.raises(Refused, match="disputed already"):
            acting.dispute_usage(cluster=row, month=month, reason="again", by=lead.actor)
    while held := due.claim(["triage"]):
        loop.HANDLERS["triage"][1](held)
    with acting_for(row.tenant_id, staff=True):
        assert Case.objects.get().category == "usage"
        acting.settle_dispute(dispute=told, answer="It was.", settled_hours=Decimal("60"), by="engine")
        with pytest.raises(Refused, match="settled already"):
            acting.settle_dispute(dispute=told, answer="It was.", settled_hours=Decimal("1"), by="engine")
        kept = UsageDispute.objects.get()
        assert (kept.used_then, kept.settled_hours, kept.state) == (64 * HOUR, Decimal("60.00"), "settled")
        entry = Entry.objects.get(kind="usage_dispute.settled")
        assert (entry.facts["before"], entry.facts["after"]) == ("64.00", "60")


def test_lent_nodes_are_neither_idle_nor_anybodys_training(row):
    with acting_for(row.tenant_id, staff=True):
        with pytest.raises(Refused, match="has 2 with accelerators"):
            acting.lend_nodes(cluster=row, nodes=3, borrower="Serving", reason="night", by="engine")
        made = acting.lend_nodes(cluster=row, nodes=1, borrower="Serving", reason="night", by="engine")
        type(made).objects.filter(pk=made.pk).update(begins_at=days_ago(row, 2))
        acting.take_back(cluster=row, by="engine")
        type(made).objects.filter(pk=made.pk).update(ends_at=days_ago(row, 1))
        with pytest.raises(Refused, match="No node of train is lent"):
            acting.take_back(cluster=row, by="engine")
    days = counted(row, KEPT)
    assert sum(day.lent for day in days.values()) == 24 * 8 * HOUR


def signed_in(world: World, role: str) -> Client:
    client = Client()
    client.force_login(world.person(role), backend=BACKEND)
    return client


def test_the_pages_show_the_month_and_its_sum_and_what_is_not_measured(row, world):
    counted(
        row,
        Answer(
            "yes",
            (ended(days_ago(row, 3), 4), ended(days_ago(row, 3), 1, external_id="9", nodes=(), accelerators=None)),
        ),
    )
    month = days_ago(row, 3).date().replace(day=1)
    for role in ("programme_manager", "viewer"):
        client = signed_in(world, role)
        text = client.get(f"/usage/?month={month:%Y-%m}").content.decode()
        assert "64 h" in text and "without 1 run that was not measured" in text
        text = client.get(f"/t/hoshi/clusters/{row.pk}/usage/?month={month:%Y-%m}").content.decode()
        assert "64 h" in text and "not measured" in text
    assert signed_in(world, "programme_manager").get("/usage/?month=soon").status_code == 400
    client = signed_in(world, "platform_engineer")
    at = f"/t/hoshi/clusters/{row.pk}/usage/dispute/?month={month:%Y-%m}"
    assert client.post(at, {"month": f"{month:%Y-%m}", "reason": "  "}).status_code == 422
    assert client.post(at, {"month": f"{month:%Y-%m}", "reason": "wrong"}).status_code == 303
    assert "disputed since" in client.get(f"/usage/?month={month:%Y-%m}").content.decode()
    empty = client.get("/usage/?month=2001-01").content.decode()
    assert "Nothing is counted in this month" in empty


def test_the_table_for_spreadsheets_runs_no_formula_and_sums_to_the_page(row, world):
    counted(row, Answer("yes", (ended(days_ago(row, 3), 4, name='=cmd|"/c calc"!A1'),)))
    month = days_ago(row, 3).date().replace(day=1)
    client = signed_in(world, "viewer")
    told = client.get(f"/usage/export/?month={month:%Y-%m}").content.decode("utf-8-sig")
    [line] = csv.DictReader(io.StringIO(told))
    assert int(line["used_seconds"]) == 64 * HOUR
    told = client.get(f"/t/hoshi/clusters/{row.pk}/usage/export/?month={month:%Y-%m}").content.decode("utf-8-sig")
    [line] = csv.DictReader(io.StringIO(told))
    assert line["job"].startswith("'=cmd") and int(line["seconds_in_month"]) == 64 * HOUR


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r1"])
def test_text_that_a_spreadsheet_would_run_is_kept_as_text(text):
    kept = as_csv("x.csv", ["a"], [[text], [-1]]).content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(kept, newline="")))
    assert rows[1] == [f"'{text}"] and rows[2] == ["-1"]


def test_whole_months_of_the_page_are_the_sum_of_their_runs(row):
    """A month's number, the sum of its days and the sum of its runs are one number."""
    rows = tuple(
        ended(days_ago(row, 9, hour=1) + timedelta(hours=7 * number), 5.5, external_id=str(number))
        for number in range(20)
    )
    counted(row, Answer("yes", rows))
    with acting_for(row.tenant_id):
        zone, total = "Asia/Tokyo", 0
        for month in {day.replace(day=1) for day in UsageDay.objects.values_list("day", flat=True)}:
            [found] = usage.months(month)
            assert found.used == sum(usage.seconds_of(run, month, zone) or 0 for run in usage.runs_of(row, month, zone))
            total += found.used
        assert total == 20 * 5.5 * 16 * HOUR
    assert datetime.now(UTC) > row.created_at
