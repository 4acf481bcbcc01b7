"""Sessions: planned and announced by staff, seats taken by participants' people, who came, what they thought, the calendar."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import icalendar
import pytest
from django.test import Client
from django.utils import timezone

from program import sessions
from program.models import Registration, Session
from tenants import leaving
from tenants.history.models import Entry
from tenants.models import Membership, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def planned(world: World, **more: Any) -> Session:
    values = {
        "cycle": world.cycle,
        "kind": "workshop",
        "title": "NCCL hands-on",
        "starts_at": timezone.now() + timedelta(days=3),
        "minutes": 90,
        "format": "online",
        "place": "",
        "prerequisites": "",
        "seats": 2,
        "recurrence": "",
        "agenda": ["bandwidth", "topology"],
        "materials": [],
    }
    lead = world.person("lead_architect")
    return sessions.plan_session(by=lead.actor, speakers=[lead], **(values | more))


def announced(world: World, **more: Any) -> Session:
    return sessions.announce_session(session=planned(world, **more), by=world.person("lead_architect").actor)


def begun(session: Session) -> Session:
    with acting_for(session.tenant_id, staff=True):
        Session.objects.filter(pk=session.pk).update(starts_at=timezone.now() - timedelta(hours=3))
        session.refresh_from_db()
    return session


def enrol(world: World, session: Session, tenant: Tenant, role: str = "ml_engineer") -> Registration:
    person = world.person(role, tenant)
    return sessions.register(session=session, tenant=tenant, person=person, by=person.actor)


def browser(person: Any) -> Client:
    client = Client()
    client.force_login(person, BACKEND)
    return client


def test_the_database_shows_a_customer_announced_sessions_and_no_other(world: World) -> None:
    hidden, shown = planned(world), announced(world, title="Open to all")
    with acting_for(world.hoshi):
        assert list(Session.objects.values_list("pk", flat=True)) == [shown.pk]
        assert Session.objects.filter(pk=shown.pk).update(title="mine") == 0  # and lets it write none
    client = browser(world.person("viewer", world.hoshi))
    assert client.get(f"/sessions/{hidden.pk}/").status_code == 404
    page = client.get(f"/sessions/{shown.pk}/").content.decode()
    assert "Open to all" in page and "topology" in page and str(world.person("lead_architect")) in page


def test_codes_go_on_from_the_last(world: World) -> None:
    assert [planned(world).code, planned(world).code] == ["ES-01", "ES-02"]


def test_a_participant_sees_its_own_people_by_name_and_of_others_the_total(world: World) -> None:
    session = announced(world)
    enrol(world, session, world.hoshi)
    enrol(world, session, world.umi)
    page = browser(world.person("viewer", world.hoshi)).get(f"/sessions/{session.pk}/").content.decode()
    assert str(world.person("ml_engineer", world.hoshi)) in page
    assert str(world.person("ml_engineer", world.umi)) not in page and "Umi Vision" not in page
    assert session.registered == 2


def test_a_seat_is_taken_once_and_given_back_once(world: World) -> None:
    session = announced(world)
    person = world.person("ml_engineer", world.hoshi)
    first = enrol(world, session, world.hoshi)
    assert enrol(world, session, world.hoshi).pk == first.pk and session.registered == 1
    for _again in range(2):
        sessions.unregister(session=session, tenant=world.hoshi, person=person, by=person.actor)
    assert session.registered == 0
    assert enrol(world, session, world.hoshi).pk == first.pk and session.registered == 1
    with acting_for(world.hoshi):
        kinds = list(Entry.objects.filter(subject="registration").order_by("id").values_list("kind", flat=True))
    assert kinds == ["registration.made", "registration.cancelled", "registration.made"]


def test_no_seat_beyond_the_last(world: World) -> None:
    session = announced(world, seats=1)
    enrol(world, session, world.hoshi)
    with pytest.raises(Refused, match="All 1 seats of NCCL hands-on are taken"):
        enrol(world, session, world.umi)
    assert session.registered == 1
    with pytest.raises(Refused, match="1 people are registered; there cannot be 0"):
        sessions.edit_session(session=session, by="engine", seats=0)


@pytest.mark.parametrize("how", ["not announced", "called off", "begun"])
def test_one_registers_only_for_what_is_coming(world: World, how: str) -> None:
    session = planned(world) if how == "not announced" else announced(world)
    if how == "called off":
        sessions.call_off_session(session=session, why="the speaker is ill", by="engine")
    if how == "begun":
        begun(session)
    with pytest.raises(Refused) as refused:
        enrol(world, session, world.hoshi)
    assert refused.value.code == "not_open"


def test_who_came_is_marked_and_corrected_and_each_history_tells_of_its_own(world: World) -> None:
    session = announced(world)
    hoshi, umi = enrol(world, session, world.hoshi), enrol(world, session, world.umi)
    begun(session)
    sessions.mark_attendance(session=session, came=[hoshi.pk], others=3, by="engine")
    assert session.attended == 4
    sessions.mark_attendance(session=session, came=[hoshi.pk, umi.pk], others=3, by="engine")
    assert session.attended == 5
    with acting_for(world.umi):
        told = list(Entry.objects.filter(kind="registration.marked").order_by("id").values_list("facts", flat=True))
        assert [one["came"] for one in told] == [0, 1]
    with acting_for(world.hoshi):  # nothing changed for them the second time
        assert Entry.objects.filter(kind="registration.marked").count() == 1
    with reading_everyone():
        assert list(
            Entry.objects.filter(kind="session.held").order_by("id").values_list("facts__attended", flat=True)
        ) == [4, 5]


def test_a_survey_needs_people_who_came_and_no_more_answers_than_those(world: World) -> None:
    session = begun(announced(world))
    with pytest.raises(Refused, match="Say first who came"):
        sessions.enter_survey(session=session, answers=1, satisfaction=Decimal("4.5"), by="engine")
    sessions.mark_attendance(session=session, came=[], others=10, by="engine")
    with pytest.raises(Refused, match="10 people came; 11 cannot have answered"):
        sessions.enter_survey(session=session, answers=11, satisfaction=Decimal("4.5"), by="engine")
    sessions.enter_survey(session=session, answers=8, satisfaction=Decimal("4.5"), by="engine")
    with pytest.raises(Refused, match="8 people answered"):
        sessions.mark_attendance(session=session, came=[], others=7, by="engine")
    assert (session.answers, session.satisfaction) == (8, Decimal("4.5"))


def test_a_stale_page_is_told_what_changed(world: World) -> None:
    session = planned(world)
    seen = session.version
    sessions.edit_session(session=session, by="engine", title="Another title", version=seen)
    with pytest.raises(Stale) as stale:
        sessions.edit_session(session=session, by="engine", title="Mine", version=seen)
    assert stale.value.facts["changes"]["title"] == ["Another title", "Mine"]


def test_the_calendar_file_is_read_by_a_calendar(world: World) -> None:
    session = announced(world, title="都市の計算, 第一回; \\ 概要")
    client = browser(world.person("viewer", world.hoshi))
    answer = client.get(f"/sessions/{session.pk}/calendar.ics")
    assert answer["Content-Type"].startswith("text/calendar")
    (event,) = icalendar.Calendar.from_ical(answer.content).walk("VEVENT")
    assert event.decoded("dtstart") == session.starts_at.replace(microsecond=0)
    assert event.decoded("dtend") - event.decoded("dtstart") == timedelta(minutes=90)
    assert str(event["summary"]) == "ES-01 都市の計算, 第一回; \\ 概要"
    assert str(event["uid"]).startswith(str(session.pk)) and str(event["status"]) == "CONFIRMED"
    sessions.call_off_session(session=session, why="no room", by="engine")
    (event,) = icalendar.Calendar.from_ical(client.get("/sessions/calendar.ics").content).walk("VEVENT")
    assert str(event["status"]) == "CANCELLED" and "no room" in str(event["description"])


def test_the_whole_of_it_by_pages(world: World) -> None:
    staff, customer = browser(world.person("programme_officer")), browser(world.person("ml_engineer", world.hoshi))
    sent = {
        "title": "Clinic",
        "kind": "clinic",
        "cycle": str(world.cycle.pk),
        "starts_at": f"{timezone.now() + timedelta(days=30):%Y-%m-%dT10:00}",
        "minutes": "60",
        "seats": "5",
        "agenda": "questions\n\nanswers",
        "speakers": [str(world.person("lead_architect").pk)],
    }
    answer = staff.post("/t/programme/sessions/plan/", sent | {"minutes": "0"})
    assert answer.status_code == 422
    answer = staff.post("/t/programme/sessions/plan/", sent)
    assert answer.status_code == 303, answer.content.decode()
    with reading_everyone():
        session = Session.objects.get()
        assert session.agenda == ["questions", "answers"] and session.starts_at.hour == 1  # 10:00 in Tokyo
    assert "Clinic" not in customer.get("/sessions/").content.decode()
    assert staff.post(f"/t/programme/sessions/{session.pk}/announce/").status_code == 303
    assert "Clinic" in customer.get("/sessions/").content.decode()
    where = f"/t/hoshi/enrolments/{session.pk}/"
    assert customer.post(where, {"do": "register"}).status_code == 303
    assert "you have a seat" in customer.get("/sessions/").content.decode()
    assert browser(world.person("viewer", world.hoshi)).post(where, {"do": "register"}).status_code == 403
    assert staff.post(f"/t/programme/sessions/{session.pk}/attendance/", {"attendance-others": "1"}).status_code == 409


def test_who_leaves_gives_back_the_seats_that_are_to_come_and_keeps_what_was(world: World) -> None:
    past, ahead, leaver = announced(world), announced(world, title="Later"), world.person("ml_engineer")
    for session in (past, ahead):
        enrol(world, session, world.hoshi)
        enrol(world, session, world.umi)
    begun(past)
    lead = world.person("business_lead")
    with acting_for(world.hoshi):
        seat = Membership.objects.get(person=leaver, tenant=world.hoshi)
        leaving.remove(seat=seat, by=lead.actor, person=lead)
    with reading_everyone():
        held = {(row.session_id, row.tenant_id) for row in Registration.objects.filter(cancelled_at=None)}
    assert held == {(past.pk, world.hoshi.pk), (past.pk, world.umi.pk), (ahead.pk, world.umi.pk)}
    with acting_for(world.office, staff=True):
        assert dict(Session.objects.values_list("title", "registered")) == {"NCCL hands-on": 2, "Later": 1}
