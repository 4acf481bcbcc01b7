"""The life of a participation and of a cycle: what each state permits, what keeps it from the next, and copying a cycle."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters import actions
from clusters.actions import capacity, changes
from clusters.models import Cluster, Job
from program import life, sessions
from program.calls import calling, cycles
from program.models import Call, Onboarding, OnboardingStep, Report, Session
from tenants import mail, participating
from tenants.actions import confirm_block
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.models import Cycle, DataIngest, Delivery, Participation, Result, TrainingModel
from tenants.participating import CAPACITY, CLUSTERS, DEEDS, JOBS, PERMITS, RECORD, Facts
from tenants.programme_day import programme_today
from tenants.queries import ages_of_blocks, lines
from tenants.states import PARTICIPATION
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tests import examples
from tests.conftest import World
from tests.program.test_calls import browser


@pytest.mark.parametrize(
    ("state", "facts", "open_to", "blocked"),
    [
        ("applied", Facts(), {"selected", "withdrawn"}, {}),
        ("selected", Facts(cycle_closed=True), {"withdrawn"}, {"onboarding": "cycle is closed"}),
        ("onboarding", Facts(list_laid_out=False), {"suspended", "withdrawn"}, {"active": "not laid out"}),
        ("onboarding", Facts(steps_open=3), {"suspended", "withdrawn"}, {"active": "3 steps"}),
        ("onboarding", Facts(), {"active", "suspended", "withdrawn"}, {}),
        ("active", Facts(clusters=["lab"]), {"closing", "suspended"}, {"withdrawn": "lab"}),
        ("suspended", Facts(was="active", steps_open=3), {"active", "withdrawn"}, {}),
        ("suspended", Facts(was="onboarding"), {"onboarding", "withdrawn"}, {}),
        ("closing", Facts(final_report=""), set(), {"closed": "asked for"}),
        ("closing", Facts(final_report="submitted"), set(), {"closed": "not accepted"}),
        ("closing", Facts(reservations=2), set(), {"closed": "2 reservations"}),
        ("closing", Facts(), {"closed"}, {}),
        ("closed", Facts(), set(), {}),
    ],
)
def test_what_may_follow_and_what_keeps_it_from_there(
    state: str, facts: Facts, open_to: set[str], blocked: dict[str, str]
) -> None:
    found = participating.steps(state, facts)
    assert {one.to for one in found if not one.blocked} == open_to
    assert {one.to for one in found if one.blocked} == set(blocked)
    for one in found:
        assert not one.blocked or blocked[one.to] in " ".join(one.blocked)


def test_every_state_says_what_it_permits() -> None:
    assert set(PERMITS) == set(PARTICIPATION)
    for state in PARTICIPATION:
        for deed in DEEDS:
            row = Participation(code="P", state=state)
            if deed in PERMITS[state]:
                participating.refuse_unless_permitted(row, deed)
            else:
                with pytest.raises(Refused, match="P may not do this now"):
                    participating.refuse_unless_permitted(row, deed)
    assert PERMITS["suspended"] == {RECORD} and not {CLUSTERS, JOBS, CAPACITY} & PERMITS["closed"]


@pytest.mark.django_db
def test_a_participation_goes_on_from_its_page_with_reason_and_history(world: World) -> None:
    row, officer = world.participations["hoshi"], browser(world.person("programme_officer"))
    at = f"/t/hoshi/participations/{row.pk}/"
    assert officer.post(at, {"to": "suspended"}).status_code == 422  # without a reason
    assert officer.post(at, {"to": "suspended", "why": "The gate was missed."}).status_code == 303
    customer = browser(world.person("technical_lead"))
    page = customer.get(at)
    assert page.status_code == 200 and b"The gate was missed." in page.content and b"Go on" not in page.content
    assert customer.post(at, {"to": "active"}).status_code == 403
    with acting_for(world.hoshi, staff=True):
        row.refresh_from_db()
        asked = {
            "participation": row, "instance_type": "p5.48xlarge", "region": "ap-northeast-1", "instances": 1,
            "starts_on": programme_today(), "reason": "more", "by": "engine",
        }  # fmt: skip
        with pytest.raises(Refused) as refused:
            capacity.ask(**asked, kind="more")
        assert refused.value.code == "participation_state"
        assert life.facts_of(row).was == "active"
        with pytest.raises(Stale):
            life.go_on(participation=row, to="active", by="engine", version=1)
    assert officer.post(at, {"to": "onboarding"}).status_code == 422  # it was active
    for to in ("active", "closing"):
        assert officer.post(at, {"to": to}).status_code == 303
    refused_page = officer.post(at, {"to": "closed"})
    assert refused_page.status_code == 409 and b"final report" in refused_page.content
    with acting_for(world.hoshi, staff=True):
        report = Report.objects.create(
            tenant=world.hoshi, participation=row, kind="final_report", period="C2", due_on=date(2030, 1, 1)
        )
        move(report, "submitted", by="engine", report="final report", period="C2")
        move(report, "accepted", by="engine", report="final report", period="C2")
    assert officer.post(at, {"to": "closed"}).status_code == 303
    with acting_for(world.hoshi, staff=True):
        kinds = list(Entry.objects.filter(subject="participation").order_by("id").values_list("kind", flat=True))
    assert kinds == [f"participation.{state}" for state in ("suspended", "active", "closing", "closed")]


@pytest.mark.django_db
def test_onboarding_is_complete_before_it_trains(world: World) -> None:
    with acting_for(world.umi, staff=True):
        row = Participation.objects.create(tenant=world.umi, cycle=_another(world), code="U2", project="The next model")
        for to in ("selected", "onboarding"):
            life.go_on(participation=row, to=to, by="engine")
        board = Onboarding.objects.create(
            tenant=world.umi, participation=row, lead=world.person("lead_architect"), held_at=timezone.now(), minutes=60
        )
        OnboardingStep.objects.create(tenant=world.umi, onboarding=board, position=1, text="dashboards connected")
        with pytest.raises(Refused, match="1 step of onboarding is open"):
            life.go_on(participation=row, to="active", by="engine")


def _another(world: World) -> Cycle:
    return Cycle.objects.create(
        programme=world.cycle.programme,
        code="C3",
        name="Cycle 3",
        starts_on=date(2026, 1, 5),
        ends_on=date(2026, 6, 28),
    )


@pytest.mark.parametrize(
    ("old", "new", "days"),
    [
        (date(2025, 1, 6), date(2025, 7, 7), 182),
        (date(2025, 1, 6), date(2025, 7, 9), 182),
        (date(2025, 1, 6), date(2025, 7, 11), 189),
        (date(2025, 1, 6), date(2025, 1, 6), 0),
        (date(2025, 7, 7), date(2025, 1, 6), -182),
    ],
)
def test_a_copy_moves_by_whole_weeks(old: date, new: date, days: int) -> None:
    assert cycles.whole_weeks(old, new) == timedelta(days=days)


def test_an_hour_stays_the_same_on_the_wall() -> None:
    before = datetime(2026, 3, 2, 9, tzinfo=UTC)  # 10:00 in Berlin, in winter
    assert cycles.later(before, timedelta(days=28), "Europe/Berlin").astimezone(UTC).hour == 8  # 10:00 in summer


@pytest.mark.django_db
def test_a_cycle_is_copied_with_sessions_and_call_but_without_people(world: World) -> None:
    Cycle.objects.filter(pk=world.cycle.pk).update(ends_on=date(2025, 6, 30), stage_gate_on=date(2025, 3, 31))
    lead = world.person("lead_architect")
    sessions.plan_session(
        by=lead.actor, speakers=[lead], cycle=world.cycle, kind="workshop", title="NCCL hands-on",
        starts_at=datetime(2025, 1, 15, 4, tzinfo=UTC), minutes=90, seats=None,
    )  # fmt: skip
    calling.draft(
        by=lead.actor, cycle=world.cycle, title="Who trains?", text="Say so.", small_hours=5000,
        opens_at=datetime(2024, 11, 1, tzinfo=UTC), closes_at=datetime(2024, 12, 1, tzinfo=UTC),
    )  # fmt: skip
    manager = browser(world.person("programme_manager"))
    at, told = (
        f"/t/programme/cycles/{world.cycle.pk}/copy/",
        {"code": "C3", "name": "Cycle 3", "starts_on": "2025-07-07"},
    )
    assert manager.get(at).status_code == 200
    looked = manager.post(at, told | {"do": "look"})
    assert looked.status_code == 200 and b"NCCL hands-on" in looked.content and not Cycle.objects.filter(code="C3")
    assert manager.post(at, told | {"code": "C2", "do": "copy"}).status_code == 422
    assert manager.post(at, told | {"starts_on": "9999-12-31", "do": "look"}).status_code == 422
    assert manager.post(at, told | {"do": "copy"}).status_code == 303
    made = Cycle.objects.get(code="C3")
    assert (made.state, made.stage_gate_on, made.ends_on) == ("preparing", date(2025, 9, 29), date(2025, 12, 29))
    with acting_for(world.office, staff=True):
        [session] = Session.objects.filter(cycle=made)
        assert session.starts_at == datetime(2025, 7, 16, 4, tzinfo=UTC) and session.announced_at is None
        [call] = Call.objects.filter(cycle=made)
        assert (call.state, call.text, call.small_hours) == ("draft", "Say so.", 5000)
        assert Entry.objects.filter(kind="cycle.copied").count() == 1
    with reading_everyone():
        assert not Participation.objects.filter(cycle=made).exists()


@pytest.mark.django_db
def test_the_days_of_a_cycle_change_with_history_and_it_closes_when_nobody_is_left(world: World) -> None:
    officer = browser(world.person("programme_officer"))
    at = f"/t/programme/cycles/{world.cycle.pk}"
    told: dict[str, Any] = {"name": "Cycle 2", "starts_on": "2025-01-06", "stage_gate_on": "2025-04-01", "version": 1}
    assert officer.post(f"{at}/edit/", told | {"stage_gate_on": "2024-01-01"}).status_code == 422
    assert officer.post(f"{at}/edit/", told).status_code == 303
    assert officer.post(f"{at}/edit/", told | {"name": "Other"}).status_code == 409  # an old version
    with acting_for(world.office, staff=True):
        [entry] = Entry.objects.filter(kind="record.changed")
    assert entry.facts["changes"] == {"stage_gate_on": [None, "2025-04-01"]}
    blocked = officer.post(f"{at}/go-on/", {"to": "closed"})
    assert blocked.status_code == 409 and b"2 participations" in blocked.content
    with reading_everyone():
        rows = list(Participation.objects.all())
    for row in rows:
        with acting_for(row.tenant_id, staff=True):
            move(row, "withdrawn", by="engine", why="over")
    assert officer.post(f"{at}/go-on/", {"to": "closed"}).status_code == 303
    assert Cycle.objects.get(pk=world.cycle.pk).state == "closed"


@pytest.mark.django_db
def test_the_next_cycle_does_not_hide_the_one_that_runs(world: World) -> None:
    with acting_for(world.hoshi, staff=True):
        ahead = Participation.objects.create(tenant=world.hoshi, cycle=_another(world), code="H3", project="The next")
        move(ahead, "selected", by="engine")
        running = world.participations["hoshi"]
        assert list(participating.current_first()) == [running, ahead]
        move(running, "closing", by="engine")
        move(running, "closed", by="engine")
        assert participating.current_first().first() == ahead
    page = browser(world.person("technical_lead")).get("/t/hoshi/")
    assert page.status_code == 200 and b"The next" in page.content


@pytest.mark.django_db
def test_the_office_gives_a_report_another_day_with_its_reason(world: World) -> None:
    with acting_for(world.hoshi, staff=True):
        report = Report.objects.create(
            tenant=world.hoshi, participation=world.participations["hoshi"], kind="final_report", period="C2",
            due_on=date(2026, 1, 1),
        )  # fmt: skip
        move(report, "late", by="engine", report="final report", period="C2", due="2026-01-01")
    at, ahead = f"/t/hoshi/reports/{report.pk}/", programme_today() + timedelta(days=30)
    told = {"do": "move_due", "move_due-due_on": ahead.isoformat(), "move_due-why": "The gate moved."}
    assert browser(world.person("business_lead")).post(at, told).status_code == 409
    officer = browser(world.person("programme_officer"))
    assert officer.post(at, told | {"move_due-due_on": "9999-01-01"}).status_code == 422
    assert officer.post(at, told).status_code == 303
    with acting_for(world.hoshi, staff=True):
        report.refresh_from_db()
        [entry] = Entry.objects.filter(kind="report.due_moved")
    assert (report.due_on, report.state, entry.facts["was_due"]) == (ahead, "draft", "2026-01-01")


@pytest.mark.django_db
def test_what_is_suspended_launches_nothing_and_is_agreed_to_by_nobody(world: World) -> None:
    made = examples.make(world, world.hoshi, 1)
    lead, person = world.participations["hoshi"], world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        waiting = made["capacity-requests"]
        life.go_on(participation=lead, to="suspended", why="The gate was missed.", by="engine")
        cluster, job = Cluster.objects.get(pk=made["clusters"].pk), Job.objects.get(pk=made["jobs"].pk)
        lead.refresh_from_db()
        for deed in (
            lambda: actions.request_cluster(
                participation=lead, account=made["accounts"], name="next", body={}, by="engine"
            ),
            lambda: changes.change_cluster(cluster=cluster, body={}, by="engine", reason="more"),
            lambda: actions.launch_job(cluster=cluster, name="next", script="#!/bin/sh", nodes=1, by="engine"),
            lambda: actions.requeue_job(job=job, by="engine"),
            lambda: actions.release_job(job=job, by="engine"),
            lambda: capacity.decide(
                asked=waiting, grants=True, why="Yes.", budget_line="compute of hoshi", person=person, by="engine"
            ),
        ):
            with pytest.raises(Refused) as refused:
                deed()
            assert refused.value.code == "participation_state", refused.value.sentence


@pytest.mark.django_db
def test_who_returns_begins_a_record_of_its_own_and_the_one_before_is_still_read_and_kept(world: World) -> None:
    now, client = timezone.now(), browser(world.person("technical_lead"))
    with acting_for(world.hoshi, staff=True):
        before = world.participations["hoshi"]
        Participation.objects.filter(pk=before.pk).update(state="closed")
        next_cycle = Cycle.objects.create(
            programme=world.cycle.programme, code="C3", name="Cycle 3", state="running", starts_on=date(2026, 1, 5)
        )
        current = Participation.objects.create(
            tenant=world.hoshi, cycle=next_cycle, code="HOS3", project="The next model", state="onboarding"
        )
        told: dict[str, Any] = {"tenant": world.hoshi, "family": "dense", "total_params_b": 1, "active_params_b": 1}
        old = TrainingModel.objects.create(participation=before, code="M1", name="Yesterday's model", **told)
        DataIngest.objects.create(tenant=world.hoshi, participation=before, name="Old crawl", method="other")
        TrainingModel.objects.filter(pk=old.pk).update(updated_at=now - timedelta(days=40))
    page = client.get("/t/hoshi/").content.decode()
    assert "Yesterday&#x27;s model" not in page and "?of=HOS" in page and "No model recorded" in page
    assert "Old crawl" not in client.get("/").content.decode()
    earlier = client.get("/t/hoshi/?of=HOS").content.decode()
    assert "Yesterday&#x27;s model" in earlier and "/record/result/add/?of=HOS" in earlier
    body = {"code": "M1", "name": "Today's model", "family": "moe", "total_params_b": "2", "active_params_b": "1"}
    made = client.post("/t/hoshi/record/model/add/", body | {"amount_unit": "billion_tokens"})
    assert made.status_code == 303 and made["Location"] == "/t/hoshi/#record"
    late = {"kind": "paper", "title": "What we learnt", "openness": "open"}
    added = client.post("/t/hoshi/record/result/add/?of=HOS", late)
    assert added["Location"] == "/t/hoshi/?of=HOS#record"
    with acting_for(world.hoshi, staff=True):
        assert TrainingModel.objects.get(name="Today's model").participation_id == current.pk
        assert Result.objects.get().participation_id == before.pk
        confirm_block(participation=current, block="model", by="engine")
        assert not ages_of_blocks(now)[world.hoshi.pk, "model"].old, "what is over does not age"
        Participation.objects.filter(pk=before.pk).update(state="closing")
        assert ages_of_blocks(now)[world.hoshi.pk, "model"].old, "the other participation's word is not its own"
    assert client.get("/t/hoshi/?of=UMI").status_code == 404


@pytest.mark.django_db
def test_the_stage_gate_waits_is_decided_with_its_reason_and_corrected_with_its_history(world: World) -> None:
    manager, lead = browser(world.person("programme_manager")), browser(world.person("business_lead"))
    row = world.participations["hoshi"]
    Cycle.objects.filter(pk=world.cycle.pk).update(stage_gate_on=programme_today() + timedelta(days=1))
    assert b"stage gate is to be decided" not in manager.get("/").content
    Cycle.objects.filter(pk=world.cycle.pk).update(stage_gate_on=programme_today())
    assert b"stage gate is to be decided" in manager.get("/").content
    at, here = f"/t/hoshi/participations/{row.pk}/gate/", f"/t/hoshi/participations/{row.pk}/"
    assert f'href="{at}"'.encode() in manager.get(here).content and b"to be decided" in lead.get(here).content
    body = {"outcome": "conditions", "why": "Show the loss curve by May.", "version": row.version}
    assert manager.post(at, body | {"why": ""}).status_code == 422
    assert manager.post(at, body | {"on": "2090-01-01"}).status_code == 422
    assert manager.post(at, body | {"on": "2024-12-31"}).status_code == 422
    assert manager.post(at, body).status_code == 303
    page = lead.get(here).content.decode()
    assert "passed on conditions" in page and "Show the loss curve by May." in page
    stale = manager.post(at, body | {"outcome": "passed", "why": "Shown."})
    assert stale.status_code == 409 and "<del>Show the loss curve by May.</del>" in stale.content.decode()
    sent = manager.post(
        f"/api/v1{at}",
        {"outcome": "passed", "why": "Shown."},
        content_type="application/json",
        headers={"If-Match": '"2"'},
    )
    assert sent.status_code == 200 and (sent.json()["gate"], sent.json()["version"]) == ("passed", 3)
    with acting_for(world.hoshi):
        told = [
            line.sentence
            for line in lines(list(Entry.objects.filter(kind="participation.gate_decided").order_by("id")))
        ]
    assert told == [
        "Programme Manager decided the stage gate: passed on conditions. Show the loss curve by May.",
        "Programme Manager decided the stage gate: passed. Shown.",
    ]
    assert b"stage gate is to be decided" in manager.get("/").content  # umi's
    assert browser(world.person("programme_officer")).get(at).status_code == 403 and lead.get(at).status_code == 403
    with acting_for(world.umi, staff=True):
        Participation.objects.filter(pk=world.participations["umi"].pk).update(state="selected")
        with pytest.raises(Refused, match="begin its onboarding first"):
            life.decide_gate(participation=world.participations["umi"], outcome="failed", why="No.", by="engine")


@pytest.mark.django_db
def test_a_participation_says_what_it_is_about_from_when_to_when_and_on_whose_machines(world: World) -> None:
    officer, row = browser(world.person("programme_officer")), world.participations["hoshi"]
    at = f"/t/hoshi/participations/{row.pk}/edit/"
    told = {
        "project": row.project, "abstract": "It listens.\nIt answers.", "provider": "Another cloud", "starts_on": "2025-02-03",
        "ends_on": "2025-02-01", "version": row.version,
    }  # fmt: skip
    wrong = officer.post(at, told)
    assert wrong.status_code == 422 and "is before the first, 2025-02-03" in wrong.content.decode()
    assert officer.post(at, told | {"ends_on": "2025-08-31"}).status_code == 303
    page = browser(world.person("viewer")).get(f"/t/hoshi/participations/{row.pk}/").content.decode()
    assert "It listens.<br>It answers." in page and "Another cloud" in page and "31 Aug" in page
    with acting_for(world.hoshi):
        entry = Entry.objects.get(kind="record.changed")
    assert entry.facts["changes"]["ends_on"] == [None, "2025-08-31"]


@pytest.mark.django_db
def test_the_leads_are_told_with_the_reason_once_and_nothing_that_is_over(world: World) -> None:
    row, by = world.participations["hoshi"], world.person("programme_manager").actor
    with acting_for(world.hoshi, staff=True):
        life.go_on(participation=row, to="suspended", why="The gate was missed.", by=by)
        suspended = list(Delivery.objects.filter(kind="participation-changed").select_related("person"))
        assert {one.person for one in suspended} == {world.person("business_lead"), world.person("technical_lead")}
        message = mail.compose(suspended[0])
        assert not isinstance(message, str), message
        assert message.subject == "HOS is now: suspended" and "The gate was missed." in message.body
        assert "nothing new begins" in message.body and f"/t/hoshi/participations/{row.pk}/" in message.body
        life.go_on(participation=row, to="active", by=by)
        assert mail.compose(suspended[0]) == "There was nothing to say any more."
        life.decide_gate(participation=row, outcome="passed", why="All of it.", by=by)
        gate = (
            Delivery.objects.filter(kind="participation-changed", key__contains=":gate:")
            .select_related("person")
            .first()
        )
        assert gate is not None
        told = mail.compose(gate)
    assert not isinstance(told, str) and told.subject == "HOS: stage gate passed" and "All of it." in told.body
