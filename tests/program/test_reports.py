"""Reports: who may do what with which, when one is late, and the way from asked for to accepted."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from program import report_reminding, reports, states
from program.models import Report
from tenants import mail
from tenants.history.models import Entry
from tenants.models import Delivery
from tenants.programme_day import programme_today
from tenants.wall import roles
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tenants.work import due
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
MONTHLY, FINAL = Report.Kind.MONTHLY, Report.Kind.FINAL
TODAY = date(2026, 3, 10)


@pytest.mark.parametrize(
    ("state", "due", "late", "left"),
    [
        ("not_started", TODAY, False, 0),
        ("not_started", TODAY - timedelta(days=1), True, -1),
        ("draft", TODAY + timedelta(days=14), False, 14),
        ("draft", TODAY + timedelta(days=15), False, None),
        ("returned", TODAY - timedelta(days=3), True, -3),
        ("late", TODAY + timedelta(days=3), True, 3),
        ("submitted", TODAY - timedelta(days=9), False, None),
        ("accepted", TODAY - timedelta(days=9), False, None),
    ],
)
def test_late_is_what_is_owed_after_its_day(state: str, due: date, late: bool, left: int | None) -> None:
    assert (reports.is_late(state, due, TODAY), reports.days_left(state, due, TODAY)) == (late, left)


@pytest.mark.parametrize("role", roles.ROLES)
@pytest.mark.parametrize("kind", list(Report.Kind))
def test_nobody_answers_for_both_sides_but_the_manager(role: str, kind: str) -> None:
    does = {verb for verb in reports.VERBS if reports.may(verb, kind, role)}
    wanted: dict[str, set[str]] = {
        "programme_manager": {"hand_in", "accept", "send_back", "move_due"},
        "programme_officer": {"hand_in", "move_due"},
        "business_lead": {"accept", "dispute"} if kind == MONTHLY else {"hand_in"},
    }
    assert does == wanted.get(role, set())


def test_what_is_offered_is_what_the_table_of_moves_allows() -> None:
    assert {state: reports.offered(state) for state in states.REPORT} == {
        "not_started": ["hand_in", "move_due"],
        "draft": ["hand_in", "move_due"],
        "late": ["hand_in", "move_due"],
        "submitted": ["accept", "send_back", "dispute"],
        "disputed": ["hand_in", "accept"],
        "returned": ["hand_in", "move_due"],
        "accepted": [],
    }


def owed(world: World, kind: str = FINAL) -> Report:
    reports.ask_for_reports(cycle=world.cycle, kind=kind, period="C2", due_on=date(2030, 1, 1), by="engine")
    with acting_for(world.hoshi, staff=True):
        return Report.objects.get(kind=kind)


def test_everybody_owes_it_once(world: World) -> None:
    asked = {"cycle": world.cycle, "kind": FINAL, "period": "C2", "due_on": date(2030, 1, 1), "by": "engine"}
    assert (reports.ask_for_reports(**asked), reports.ask_for_reports(**asked)) == (2, 0)
    with reading_everyone():
        assert Report.objects.count() == 2 and Entry.objects.filter(kind="report.due").count() == 2


def test_the_way_from_owed_to_accepted(world: World) -> None:
    report = owed(world)
    with acting_for(world.hoshi, staff=True):
        with pytest.raises(Refused, match="Write the report"):
            reports.hand_in(report=report, by="engine", text="  ")
        reports.hand_in(report=report, by="engine", text="What we trained.", file=("最終.pdf", b"%PDF"))
        assert [kept.name for kept in reports.files_of(report)] == ["最終.pdf"]
        with pytest.raises(Refused, match="Write why it comes back"):
            reports.send_back(report=report, why=" ", by="engine")
        reports.send_back(report=report, why="Name the licence.", by="engine")
        assert (report.state, report.answer) == ("returned", "Name the licence.")
        reports.hand_in(report=report, by="engine", text="What we trained, under Apache 2.0.")
        assert (report.state, report.answer) == ("submitted", "")
        seen = report.version
        reports.accept(report=report, by="engine", version=seen)
        with pytest.raises(Stale):
            reports.send_back(report=report, why="too late", by="engine", version=seen)
        told = list(Entry.objects.filter(subject="report").order_by("id").values_list("kind", flat=True))
    assert told == ["report.due", *(f"report.{word}" for word in ("submitted", "returned", "submitted", "accepted"))]


def test_the_pages_let_each_side_do_its_part(world: World) -> None:
    report = owed(world)
    where = f"/t/hoshi/reports/{report.pk}/"

    def client(role: str) -> Client:
        made = Client()
        made.force_login(world.person(role, world.hoshi), BACKEND)
        return made

    business, manager, officer = client("business_lead"), client("programme_manager"), client("programme_officer")
    assert business.post(where, {"do": "accept"}).status_code == 409
    assert business.post(where, {"do": "sing"}).status_code == 422
    assert business.post(where, {"do": "hand_in"}).status_code == 422
    file = SimpleUploadedFile("report.pdf", b"%PDF")
    assert business.post(where, {"do": "hand_in", "hand_in-text": "Done.", "hand_in-file": file}).status_code == 303
    assert officer.post(where, {"do": "accept"}).status_code == 409
    assert manager.post(where, {"do": "send_back", "send_back-why": "Name the licence."}).status_code == 303
    page = business.get(where).content.decode()
    assert "Name the licence." in page and "report.pdf" in page
    assert client("ml_engineer").post(where, {"do": "hand_in", "hand_in-text": "x"}).status_code == 403
    stranger = Client()
    stranger.force_login(world.person("business_lead", world.umi), BACKEND)
    assert stranger.get(where).status_code == 404


def test_reminders_stand_on_the_list(world: World) -> None:
    report = owed(world)
    with acting_for(world.hoshi, staff=True):
        Report.objects.filter(pk=report.pk).update(due_on=programme_today() - timedelta(days=3))
    client = Client()
    client.force_login(world.person("business_lead", world.hoshi), BACKEND)
    page: Any = client.get("/reports/").content.decode()
    assert "late by 3 days" in page and "1 is late" in page


@pytest.mark.parametrize(
    ("days", "found"),
    [
        ([], set()),
        ([15], set()),
        ([14], {"2026-W11"}),
        ([1], {"2026-W11", "2026-03-11 1"}),
        ([0, 9], {"2026-W11", "2026-03-10 0"}),
        ([-40], {"2026-W11"}),
    ],
)
def test_who_owes_reports_is_reminded_weekly_on_the_eve_and_on_the_day(days: list[int], found: set[str]) -> None:
    assert report_reminding.keys_of([TODAY + timedelta(days=n) for n in days], TODAY) == found


@pytest.mark.django_db
def test_the_business_lead_is_told_of_its_own_part_and_what_the_office_counted_waits_for_its_word(world: World) -> None:
    today = programme_today()
    reports.ask_for_reports(cycle=world.cycle, kind=FINAL, period="2026", due_on=today, by="engine")
    reports.ask_for_reports(cycle=world.cycle, kind=MONTHLY, period="2026-02", due_on=today, by="engine")
    due.wish("remind-reports", "test")
    held = due.claim(["remind-reports"])
    assert held is not None
    report_reminding.remind(held)
    with reading_everyone():
        rows = list(Delivery.objects.filter(kind="report-reminder", tenant=world.hoshi))
    assert {row.person for row in rows} == {world.person("business_lead")} and len(rows) == 2  # this week, and today
    message = mail.compose(rows[0])
    assert not isinstance(message, str), message
    assert "Final report 2026" in message.body and "2026-02" not in message.body and "due today" in message.body
    client = Client()
    client.force_login(world.person("business_lead"), BACKEND)
    assert "2026-02" not in [one.title.split()[-1] for one, _late in client.get("/").context["waits"]]
    with acting_for(world.hoshi, staff=True):
        reports.hand_in(report=Report.objects.get(kind=MONTHLY), by="engine", text="9,408 hours")
        reports.hand_in(report=Report.objects.get(kind=FINAL), by="engine", text="All of it")
    assert [one.what for one, _late in client.get("/").context["waits"]] == ["say whether it is right"]
    assert mail.compose(rows[0]) == "There was nothing to say any more."
