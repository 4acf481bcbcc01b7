"""Onboarding: a tick needs what proves it, taking it back is a new entry, and the last step completes the list."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from program import checklists, onboarding, onboarding_views
from program.models import Onboarding, OnboardingStep
from tenants import mail
from tenants.history.models import Entry
from tenants.models import Assignment, Attachment, Delivery
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused, Stale
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
LOG = ("nccl.log", b"# Avg bus bandwidth : 371.2")
DAY = date(2026, 1, 7)


@pytest.fixture
def made(world: World) -> Any:
    with acting_for(world.hoshi, staff=True):
        yield onboarding.plan_onboarding(
            participation=world.participations["hoshi"],
            lead=world.person("lead_architect"),
            held_at=timezone.now(),
            minutes=120,
            by="engine",
        )


def step(made: Onboarding, measure: str = "") -> OnboardingStep:
    return OnboardingStep.objects.filter(onboarding=made, state="open", measure=measure).order_by("position")[0]


def test_the_list_is_the_checklist_of_the_demo_file(made: Onboarding) -> None:
    from program.transfer import programme_file

    assert [text for text, *_rest in checklists.CHECKLIST] == programme_file.read()["onboarding"]["checklist"]
    assert OnboardingStep.objects.filter(onboarding=made).count() == 12


def test_the_leads_of_the_participant_are_told_of_it(world: World, made: Onboarding) -> None:
    for one in Delivery.objects.filter(kind="onboarding-planned").select_related("person", "tenant"):
        letter = mail.compose(one)
        assert f"/t/hoshi/onboarding/{made.pk}/" in letter.body and "12 steps are left" in letter.body
    people = set(Delivery.objects.filter(kind="onboarding-planned").values_list("person__email", flat=True))
    there = [world.person(role).email for role in ("business_lead", "technical_lead", "lead_architect")]
    assert people == set(there)


def test_a_change_of_the_session_is_told_and_kept(world: World, made: Onboarding) -> None:
    officer = world.person("programme_officer")
    later = timezone.now() + timedelta(days=9)
    told = {"lead": officer, "held_at": later, "minutes": 60, "by": officer.actor}
    now = onboarding.change_onboarding(made=made, **told)
    onboarding.change_onboarding(made=made, **told)  # nothing new, nobody is told
    assert (now.lead, now.held_at, now.minutes) == (officer, later, 60)
    [entry] = Entry.objects.filter(kind="onboarding.changed")
    assert entry.facts["fields"] == ["held_at", "lead", "minutes"]
    rows = Delivery.objects.filter(kind="onboarding-planned", key__contains=":").select_related("person", "tenant")
    assert {one.person for one in rows} >= {officer, world.person("lead_architect"), world.person("business_lead")}
    letter = next(mail.compose(one) for one in rows if one.person == officer)
    assert "was changed" in letter.subject
    office = {"Office": [(str(officer.pk), "o"), (str(world.person("lead_architect").pk), "a")]}
    groups = onboarding_views.architects_first([("", "Choose"), *office.items()])
    assert [name for name, _people in groups[1:]] == ["Lead architects", "Office"] and len(groups[1][1]) == 1


def test_a_participation_has_one_list(world: World, made: Onboarding) -> None:
    with pytest.raises(Refused, match="has its list already"):
        onboarding.plan_onboarding(
            participation=made.participation, lead=made.lead, held_at=made.held_at, minutes=1, by="engine"
        )


def test_who_leads_it_becomes_the_lead_where_nobody_is_and_is_staff(world: World) -> None:
    told = {"participation": world.participations["umi"], "held_at": timezone.now(), "minutes": 9, "by": "engine"}
    rows = Assignment.objects.filter(tenant=world.umi, duty="lead")
    for person, leads in (("platform_engineer", 0), ("lead_architect", 1), ("programme_manager", 1)):
        with acting_for(world.umi, staff=True):
            lead = world.person(person, world.umi) if person == "platform_engineer" else world.person(person)
            onboarding.plan_onboarding(lead=lead, looks_after=True, **told)
            assert rows.count() == leads
            OnboardingStep.objects.all().delete()
            Onboarding.objects.all().delete()


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ({"bus_gbps": None}, "bus bandwidth"),
        ({"bus_gbps": Decimal(0)}, "bus bandwidth"),
        ({"nodes": None}, "how many nodes"),
        ({"file": None}, "log of the test"),
    ],
)
def test_a_test_is_proved_by_bandwidth_nodes_and_log(made: Onboarding, missing: Any, says: str) -> None:
    proof = {"bus_gbps": Decimal("371.20"), "nodes": 16, "file": LOG}
    with pytest.raises(Refused, match=says):
        onboarding.tick_step(step=step(made, "nccl"), done_on=DAY, by="engine", **(proof | missing))
    assert step(made, "nccl").state == "open"


def test_the_proof_of_a_test_is_kept_and_told(made: Onboarding) -> None:
    done = onboarding.tick_step(
        step=step(made, "nccl"), done_on=DAY, by="engine", bus_gbps=Decimal("371.20"), nodes=16, file=LOG
    )
    assert (done.state, done.bus_gbps, done.nodes, done.done_on) == ("done", Decimal("371.20"), 16, DAY)
    kept = Attachment.objects.get(subject="onboarding_step", subject_id=done.pk)
    entry = Entry.objects.get(kind="onboarding_step.done")
    assert entry.facts["evidence"] == "(371.20 GB/s, 16 nodes; nccl.log)" and entry.facts["sha256"] == kept.sha256


def test_anything_else_needs_a_note_a_link_or_a_file(made: Onboarding) -> None:
    with pytest.raises(Refused, match="Say what proves it"):
        onboarding.tick_step(step=step(made), done_on=DAY, by="engine")
    tomorrow = programme_today() + timedelta(days=2)
    with pytest.raises(Refused, match="lies ahead"):
        onboarding.tick_step(step=step(made), done_on=tomorrow, by="engine", note="seen")
    with pytest.raises(Refused, match="begins with https"):
        onboarding.tick_step(step=step(made), done_on=DAY, by="engine", link="javascript:alert(1)")


def test_taking_a_tick_back_is_a_new_entry_and_the_old_one_stays(made: Onboarding) -> None:
    first = onboarding.tick_step(step=step(made), done_on=DAY, by="engine", note="seen in the console")
    back = onboarding.untick_step(step=first, why="it was another account", by="engine")
    assert (back.state, back.note, back.done_on, back.settled_by) == ("open", "", None, "")
    told = list(Entry.objects.filter(subject="onboarding_step").order_by("id").values_list("kind", "facts__note"))
    assert told == [("onboarding_step.done", "seen in the console"), ("onboarding_step.open", None)]


def test_the_last_step_completes_the_list_and_an_untick_reopens_it(made: Onboarding) -> None:
    steps = list(OnboardingStep.objects.filter(onboarding=made).order_by("position"))
    for one in steps:
        onboarding.skip_step(step=one, why="a participant of the last cycle", by="engine")
    made.refresh_from_db()
    assert made.completed_on is not None
    assert Entry.objects.filter(kind="onboarding.completed").count() == 1
    onboarding.untick_step(step=steps[0], why="it does apply", by="engine")
    made.refresh_from_db()
    assert made.completed_on is None


def test_two_who_tick_the_same_step_are_told(made: Onboarding) -> None:
    one = step(made)
    seen = one.version
    onboarding.tick_step(step=one, done_on=DAY, by="engine", note="mine", version=seen)
    with pytest.raises(Stale):
        onboarding.skip_step(step=one, why="no", by="engine", version=seen)


def test_a_tick_by_the_page_with_a_japanese_file_name(world: World, made: Onboarding) -> None:
    client = Client()
    client.force_login(world.person("lead_architect"), BACKEND)
    one = step(made, "nccl")
    where = f"/t/hoshi/onboarding/{made.pk}/steps/{one.pk}/"
    prefix = f"s{one.position}tick"
    sent = {"do": "tick", f"{prefix}-done_on": "2026-01-07", f"{prefix}-bus_gbps": "371.2", f"{prefix}-nodes": "16"}
    answer = client.post(where, sent)
    assert answer.status_code == 422 and "Attach the log of the test" in answer.content.decode()
    log = SimpleUploadedFile("測定結果.log", LOG[1])
    assert client.post(where, sent | {f"{prefix}-file": log}).status_code == 303
    page = client.get(f"/t/hoshi/onboarding/{made.pk}/").content.decode()
    assert "測定結果.log" in page and "371.2" in page
    board = client.get("/onboarding/").content.decode()
    assert "1 of 12" in board
    customer = Client()
    customer.force_login(world.person("platform_engineer", world.hoshi), BACKEND)
    assert customer.post(where, sent).status_code == 403
    assert customer.get(f"/t/hoshi/onboarding/{made.pk}/").status_code == 200
    assert "Hoshi" in customer.get("/onboarding/").content.decode()


def test_the_board_shows_who_has_most_left_first(world: World, made: Onboarding) -> None:
    client = Client()
    client.force_login(world.person("programme_manager"), BACKEND)
    page = client.get("/onboarding/").content.decode()
    assert page.index("Umi Vision") < page.index("Hoshi Language Works")  # nothing is planned for Umi yet


def test_every_step_says_what_it_is_who_does_it_and_what_to_bring() -> None:
    for text, _measure, told in checklists.CHECKLIST:
        assert checklists.help_of(OnboardingStep(text=text)) == told and 80 < len(told) < 260, text
    assert checklists.help_of(OnboardingStep(text="our own step")) == ""
