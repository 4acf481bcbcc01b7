"""A planned launch from the plan to the stop; and the board, which counts from history and shows each their own."""

import copy
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.actions import request_cluster
from clusters.models import CloudAccount, Cluster, ServiceQuota
from program import board, launch_checks, launching
from program.models import Launch, LaunchCluster, LaunchWave
from support.actions import open_case
from support.models import Case
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.programme_day import programme_zone
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tenants.work import due, loop
from tenants.work.models import Due
from tests import examples
from tests.examples import BODY

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
NOW = datetime.now(UTC)


def today():
    return NOW.astimezone(programme_zone()).date()


@pytest.fixture
def account(world):
    def make(tenant, instances=20):
        with acting_for(tenant, staff=True):
            number = f"{300_000_000_000 + CloudAccount.objects.count() + (1 if tenant.slug == 'umi' else 0)}"
            row = CloudAccount.objects.create(
                tenant=tenant,
                account_id=number,
                role_arn="arn:aws:iam::1:role/x",
                external_id="x",
                regions=["ap-northeast-1"],
            )
            ServiceQuota.objects.create(
                tenant=tenant,
                account=row,
                region="ap-northeast-1",
                service="sagemaker",
                name="ml.p5.48xlarge for cluster usage",
                value=instances,
                read_at=NOW,
            )
        return row

    return make


@pytest.fixture
def asked(world, account):
    """A cluster that a participant asked for and that waits for its approval."""

    def make(tenant, name="train", body=BODY):
        where = account(tenant)
        with acting_for(tenant, staff=True):
            return request_cluster(
                participation=world.participations[tenant.slug],
                account=where,
                name=name,
                body=body,
                by=world.person("platform_engineer", tenant).actor,
            )

    return make


@pytest.fixture
def launch(world):
    with acting_for(world.office, staff=True):
        return launching.plan_launch(
            cycle=world.cycle,
            name="First light",
            day=today(),
            waves=[None, None],
            by=world.person("programme_manager").actor,
        )


def state_of(cluster):
    with acting_for(cluster.tenant_id, staff=True):
        return Cluster.objects.get(pk=cluster.pk).state


def start(world, launch, number=1):
    lead = world.person("lead_architect")
    return launching.start_wave(launch=launch, number=number, person=lead, by=lead.actor)


def test_a_wave_starts_what_fits_and_leaves_behind_what_does_not(world, launch, asked, account):
    manager = world.person("programme_manager").actor
    good, late = asked(world.hoshi), asked(world.umi)
    launching.add_cluster(launch=launch, cluster=good, wave=1, by=manager)
    launching.add_cluster(launch=launch, cluster=late, wave=1, by=manager)
    with acting_for(world.umi, staff=True):
        ServiceQuota.objects.filter(account=late.account_id).update(value=2)
    with acting_for(world.office, staff=True), pytest.raises(Refused) as unchecked:
        start(world, launch)
    assert unchecked.value.code == "nobody_goes"
    lines = {line.name + line.tenant.slug: line for line in launching.check_launch(launch=launch, by=manager)}
    assert (lines["trainhoshi"].verdict, lines["trainumi"].verdict) == ("go", "no_go")
    assert "4" in lines["trainumi"].verdict_why and lines["trainumi"].findings[0]["level"] == "refused"
    told = start(world, launch)
    assert told == {"started": ["hoshi train"], "left": ["umi train"]}
    assert (state_of(good), state_of(late)) == ("approved", "requested")
    with acting_for(world.office, staff=True):
        launch.refresh_from_db()
        assert (launch.state, LaunchWave.objects.get(launch=launch, number=1).state) == ("running", "started")
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="launch_cluster.started").count() == 1
    with acting_for(world.umi, staff=True):
        ServiceQuota.objects.filter(account=late.account_id).update(value=20)
    launching.check_launch(launch=launch, by=manager)
    assert start(world, launch)["started"] == ["umi train"]  # once it fits, its wave can be started for it too
    assert state_of(late) == "approved"


def test_a_cluster_that_nobody_asked_for_is_asked_for_and_approved_by_two_people(world, launch, account):
    manager = world.person("programme_manager")
    where = account(world.hoshi)
    line = launching.add_wish(
        launch=launch,
        participation=world.participations["hoshi"],
        account=where,
        name="new",
        body=BODY,
        wave=1,
        by=manager.actor,
    )
    assert (line.planned, line.accelerators, line.instance_type, line.region) == (
        4,
        32,
        "p5.48xlarge",
        "ap-northeast-1",
    )
    launching.check_launch(launch=launch, by=manager.actor)
    alone = launching.start_wave(launch=launch, number=1, person=manager, by=manager.actor)
    assert alone == {"started": [], "left": ["hoshi new"]}
    with acting_for(world.hoshi, staff=True):
        line.refresh_from_db()
        assert line.verdict == "no_go" and "somebody else" in line.verdict_why and not Cluster.objects.exists()
    launching.check_launch(launch=launch, by=manager.actor)
    assert start(world, launch)["started"] == ["hoshi new"]
    with acting_for(world.hoshi, staff=True):
        cluster = Cluster.objects.get()
    assert (cluster.state, cluster.requested_by) == ("approved", manager.actor)


def test_a_go_needs_a_preflight_and_a_persons_no_stands(world, launch, asked):
    lead = world.person("lead_architect").actor
    line = launching.add_cluster(launch=launch, cluster=asked(world.hoshi), wave=1, by=lead)
    for verdict, why in (("go", ""), ("no_go", " ")):
        with acting_for(world.hoshi, staff=True), pytest.raises(Refused):
            launching.decide(line=line, verdict=verdict, why=why, by=lead)
    launching.decide(line=line, verdict="no_go", why="Their data is not there", by=lead)
    (checked,) = launching.check_launch(launch=launch, by=lead)
    assert (checked.verdict, checked.verdict_why) == ("no_go", "Their data is not there")
    with acting_for(world.hoshi, staff=True), pytest.raises(Stale):
        launching.decide(line=line, verdict="go", by=lead, version=1)
    assert launching.decide(line=line, verdict="go", by=lead, version=checked.version).verdict == "go"


def test_a_launch_that_is_stopped_starts_nothing_until_it_is_resumed(world, launch, asked):
    lead = world.person("lead_architect").actor
    first, second = asked(world.hoshi), asked(world.umi)
    launching.add_cluster(launch=launch, cluster=first, wave=1, by=lead)
    launching.add_cluster(launch=launch, cluster=second, wave=2, by=lead)
    launching.check_launch(launch=launch, by=lead)
    start(world, launch)
    launching.stop_launch(launch=launch, why="The fabric is unstable", by=lead)
    with acting_for(world.office, staff=True), pytest.raises(Refused) as stopped:
        start(world, launch, 2)
    assert stopped.value.code == "stopped" and state_of(second) == "requested"
    launching.resume_launch(launch=launch, by=lead)
    assert start(world, launch, 2)["started"] == ["umi train"]
    launching.end_launch(launch=launch, by=lead)
    assert launch.state == "done"


def test_what_cannot_be_part_of_a_launch_is_refused(world, launch, asked, account):
    lead = world.person("lead_architect").actor
    cluster = asked(world.hoshi)
    launching.add_cluster(launch=launch, cluster=cluster, wave=1, by=lead)
    unreadable = copy.deepcopy(BODY) | {"architecture": "no-such"}
    where = account(world.umi)
    tries = {
        "in_launch": lambda: launching.add_cluster(launch=launch, cluster=cluster, wave=2, by=lead),
        "wave": lambda: launching.add_cluster(launch=launch, cluster=cluster, wave=7, by=lead),
        "unreadable": lambda: launching.add_wish(
            launch=launch,
            participation=world.participations["umi"],
            account=where,
            name="x",
            body=unreadable,
            wave=1,
            by=lead,
        ),
        "launch_exists": lambda: launching.plan_launch(
            cycle=world.cycle, name="First light", day=today(), waves=[], by=lead
        ),
    }
    for code, act in tries.items():
        with acting_for(world.office, staff=True), pytest.raises(Refused) as refused:
            act()
        assert refused.value.code == code


def serve(cluster, nodes=4, at=None):
    """The entries that the engine writes when a cluster comes into service."""
    with acting_for(cluster.tenant_id, staff=True):
        cluster = Cluster.objects.get(pk=cluster.pk)
        for seat in range(1, nodes + 1):
            examples.node(cluster, seat)
        span = [f"{cluster.name}-gpu-1…{nodes}"]
        timeline.record("nodes.running", about=cluster, by="engine", at=at, was="pending", count=nodes, nodes=span)
        Cluster.objects.filter(pk=cluster.pk).update(state="creating")
        cluster.state = "creating"
        move(cluster, "ready", by="engine", at=at, name=cluster.name, nodes=nodes)


def test_todays_board_counts_planned_against_in_service_from_history(world, asked):
    ready = asked(world.hoshi)
    asked(world.umi)
    serve(ready)
    with reading_everyone():
        found = board.board(today(), datetime.now(UTC))
    assert (found.live, found.imported) == (True, False)
    assert [(row.tenant, row.in_service, row.planned, row.whole) for row in found.rows] == [
        ("hoshi", 4, 4, True),
        ("umi", 0, 4, False),
    ]
    assert (
        found.total.in_service,
        found.total.planned,
        found.total.accelerators_in_service,
        found.total.accelerators,
    ) == (4, 8, 32, 64)
    assert [(one.name, one.in_service, one.planned) for one in found.by_region] == [("ap-northeast-1", 4, 8)]
    assert [point.total for point in found.curve.points] == [0, 4]
    with reading_everyone():
        earlier = board.board(today() - timedelta(days=1), datetime.now(UTC))
    assert (earlier.live, earlier.rows) == (False, [])


def test_a_blocker_is_a_case_and_leads_to_it(world, asked):
    cluster = asked(world.hoshi)
    with acting_for(world.hoshi, staff=True):
        case = open_case(tenant=world.hoshi, title="No capacity", severity="urgent", by="engine", cluster=cluster)
        open_case(tenant=world.hoshi, title="Old and low", severity="low", by="engine", at=NOW - timedelta(days=9))
    client = Client()
    client.force_login(world.person("lead_architect"), BACKEND)
    page = client.get("/launch/").content.decode()
    assert f"/t/hoshi/cases/{case.pk}/" in page and "No capacity" in page and "Old and low" not in page


def imported(world):
    day = datetime(2025, 1, 15, 1, tzinfo=UTC)
    for tenant, name, count, minutes in (
        (world.hoshi, "train", 20, 65),
        (world.umi, "vision", 12, 155),
        (world.umi, "vision", 4, 200),
    ):
        with acting_for(tenant, staff=True):
            launching.record_in_service(
                participation=world.participations[tenant.slug],
                cluster_name=name,
                region="ap-northeast-1" if tenant == world.hoshi else "us-east-1",
                instance_type="p5.48xlarge",
                count=count,
                at=day + timedelta(minutes=minutes),
                by="import",
            )
    return day.date()


def test_an_imported_day_has_its_own_board(world, asked):
    serve(asked(world.hoshi))
    day = imported(world)
    with reading_everyone():
        assert day in board.days(NOW)
        found = board.board(day, NOW)
    assert (found.imported, found.live) == (True, False)
    assert [(row.name, row.in_service, row.planned, row.accelerators) for row in found.rows] == [
        ("train", 20, 20, 160),
        ("vision", 16, 16, 128),
    ]
    assert [point.total for point in found.curve.points] == [0, 20, 32, 36]
    assert [(one.name, one.planned) for one in found.by_region] == [("ap-northeast-1", 20), ("us-east-1", 16)]
    client = Client()
    client.force_login(world.person("auditor"), BACKEND)
    page = client.get(f"/launch/?day={day}").content.decode()
    assert "imported" in page and "<polyline" in page
    assert (
        client.get("/launch/?day=soon").status_code == 404 and client.get("/launch/?day=2026-02-31").status_code == 404
    )


def test_each_participant_sees_its_own_board(world, launch, asked):
    lead = world.person("lead_architect").actor
    for tenant in (world.hoshi, world.umi):
        launching.add_cluster(launch=launch, cluster=asked(tenant, name=f"of-{tenant.slug}"), wave=1, by=lead)
    day = imported(world)
    client = Client()
    client.force_login(world.person("business_lead"), BACKEND)
    for address in ("/launch/", f"/launch/?day={day}", "/api/v1/launch/", f"/api/v1/launch/?day={day}"):
        text = client.get(address).content.decode()
        assert "hoshi" in text.lower() and "umi" not in text.lower(), address
        assert "First light" not in text or "api" in address
    figures = client.get(f"/api/v1/launch/?day={day}").json()
    assert (figures["total"]["in_service"], figures["by_type"][0]["accelerators"]) == (20, 160)
    assert client.get("/api/v1/launch/?day=soon").status_code == 400


def test_a_launch_is_run_from_its_pages(world, asked):
    cluster = asked(world.hoshi)
    manager, lead = Client(), Client()
    manager.force_login(world.person("programme_manager"), BACKEND)
    lead.force_login(world.person("lead_architect"), BACKEND)
    told = {
        "cycle": str(world.cycle.pk),
        "name": "Second light",
        "day": str(today()),
        "waves": "2",
        "minutes_between": "30",
        "first_at": "2031-01-15T09:00",
    }
    planned = manager.post("/t/programme/launches/plan/", told)
    assert planned.status_code == 303
    with reading_everyone():
        launch = Launch.objects.get()
        waves = list(LaunchWave.objects.order_by("number").values_list("starts_at", flat=True))
    assert waves == [
        datetime(2031, 1, 15, 0, 0, tzinfo=UTC),
        datetime(2031, 1, 15, 0, 30, tzinfo=UTC),
    ]  # Tokyo's morning
    at = planned["Location"]
    assert "train" in manager.get(at).content.decode()
    assert manager.post(f"{at}add/", {"cluster": str(cluster.pk), "wave": "1"}).status_code == 303
    assert manager.post(f"{at}check/").status_code == 303
    with reading_everyone():
        line = LaunchCluster.objects.get()
    assert lead.post(f"{at}lines/{line.pk}/", {f"{line.pk}-verdict": "no_go", f"{line.pk}-why": ""}).status_code == 422
    assert lead.post(f"{at}lines/{line.pk}/", {f"{line.pk}-verdict": "go"}).status_code == 303
    assert lead.post(f"{at}waves/2/").status_code == 409
    assert lead.post(f"{at}waves/1/").status_code == 303
    assert state_of(cluster) == "approved"
    assert lead.post(f"{at}stop/", {"stop-why": ""}).status_code == 422
    assert lead.post(f"{at}stop/", {"stop-why": "Enough for today"}).status_code == 303
    page = lead.get(at).content.decode()
    assert "Enough for today" in page and 'data-state="stopped"' in page
    with reading_everyone():
        launch.refresh_from_db()
    assert launch.state == "stopped"


def test_a_wish_is_added_by_its_page_and_what_cannot_be_read_says_why(world, launch, account):
    manager = Client()
    manager.force_login(world.person("programme_officer"), "allauth.account.auth_backends.AuthenticationBackend")
    where = f"/t/programme/launches/{launch.pk}/wish/"
    assert where in manager.get(f"/t/programme/launches/{launch.pk}/").content.decode()
    sent = {"account": str(account(world.hoshi).pk), "name": "wished", "wave": "1", "body": json.dumps(BODY)}
    assert manager.get(where).status_code == 200
    for changed, says in [
        ({"body": "{not json"}, "Line 1, character 2: this is no JSON"),
        ({"body": "architecture: no-such"}, "no-such"),
        ({"account": ""}, "This field is required"),
        ({"wave": "9"}, "not one of the available choices"),
    ]:
        answer = manager.post(where, sent | changed)
        assert answer.status_code == 422 and says in answer.content.decode(), (changed, answer.content.decode()[-4000:])
    assert manager.post(where, sent).status_code == 303
    with acting_for(world.hoshi):
        line = LaunchCluster.objects.get(name="wished")
    assert (line.wave, line.planned, line.cluster_id) == (1, 4, None)
    assert manager.post(where, sent).status_code == 409  # once is enough


def test_every_night_each_planned_launch_is_checked_whole(world, launch, asked, monkeypatch):
    """What fitted at noon and does not any more is no go in the morning and a case of its participant, once; the check
    comes again by itself."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # no account can be asked here, so what was known counts
    manager = world.person("programme_manager").actor
    line = launching.add_cluster(launch=launch, cluster=asked(world.hoshi), wave=1, by=manager)
    [fitted] = launching.check_launch(launch=launch, by=manager)
    assert fitted.verdict == "go"

    def night():
        due.wish("launch-preflight", "installation")
        launch_checks.check_all(due.claim(["launch-preflight"]))
        loop.HANDLERS["launch-line"][1](due.claim(["launch-line"]))
        while held := due.claim(["triage"]):
            loop.HANDLERS["triage"][1](held)
        with acting_for(world.hoshi, staff=True):
            return LaunchCluster.objects.get(pk=line.pk), list(Case.objects.all())

    line, cases = night()
    assert (line.verdict, cases) == ("go", [])
    with acting_for(world.hoshi, staff=True):
        ServiceQuota.objects.update(value=1)
    line, cases = night()
    assert (line.verdict, line.verdict_by) == ("no_go", "engine")
    assert any(one["code"] == "type_quota_exceeded" for one in line.findings)
    assert [case.title.startswith(f"{line.name} no longer fits for its launch: You asked for") for case in cases] == [
        True
    ]
    assert cases[0].tenant_id == world.hoshi.pk
    assert night()[1] == cases  # it still does not fit, and that is no news
    assert Due.objects.get(kind="launch-preflight").due_at > timezone.now() + timedelta(hours=23)
