"""Duty rosters: patterns by the clock of a zone, gaps and overlaps, swaps with history, and who is told of an escalation."""

from datetime import UTC, date, datetime, time, timedelta

import icalendar
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from support.telling import told_of
from tenants import rosters
from tenants.history.models import Entry
from tenants.models import DutyShift, Membership
from tenants.queries import lines
from tenants.rosters import Pattern, gaps, overlaps, shifts_of
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.test_pages import signed_in
from tests.conftest import World


def at(day: int, hour: int) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


def test_people_take_turns_by_week_and_the_zones_clock_decides_also_over_a_change_of_the_clock() -> None:
    pattern = Pattern({0, 4}, time(9), time(18), "America/New_York", date(2026, 3, 6), 2)
    found = shifts_of(pattern, ["Ann", "Bo"])
    assert [(who, begins.isoformat()) for who, begins, _ends in found] == [
        ("Ann", "2026-03-06T14:00:00+00:00"),
        ("Bo", "2026-03-09T13:00:00+00:00"),  # the clock was put forward on the 8th
        ("Bo", "2026-03-13T13:00:00+00:00"),
        ("Ann", "2026-03-16T13:00:00+00:00"),
    ]
    night = Pattern({0}, time(22), time(6), "Asia/Tokyo", date(2026, 3, 2), 1, "day")
    assert [(ends - begins) for _who, begins, ends in shifts_of(night, ["Ann"])] == [timedelta(hours=8)]


@pytest.mark.parametrize(
    ("spans", "free", "double"),
    [
        ([], [(at(1, 0), at(2, 0))], []),
        ([(at(1, 0), at(2, 0))], [], []),
        ([(at(1, 2), at(1, 8)), (at(1, 8), at(1, 20))], [(at(1, 0), at(1, 2)), (at(1, 20), at(2, 0))], []),
        ([(at(1, 0), at(1, 12)), (at(1, 10), at(2, 0))], [], [(at(1, 10), at(1, 12))]),
        ([(at(1, 0), at(2, 0)), (at(1, 3), at(1, 5)), (at(1, 4), at(1, 6))], [], [(at(1, 3), at(1, 6))]),
    ],
)
def test_gaps_and_overlaps(spans: list, free: list, double: list) -> None:
    assert gaps(spans, at(1, 0), at(2, 0)) == free and overlaps(spans) == double


@given(st.lists(st.tuples(st.integers(0, 23), st.integers(1, 12)), max_size=8))
def test_every_hour_is_a_gap_or_has_somebody(told: list[tuple[int, int]]) -> None:
    begin, end = at(1, 0), at(2, 12)
    spans = [(begin + timedelta(hours=hour), begin + timedelta(hours=hour + long)) for hour, long in told]
    for hour in range(36):
        moment = begin + timedelta(hours=hour, minutes=30)
        on = sum(starts <= moment < ends for starts, ends in spans)
        assert (on == 0) == any(starts <= moment < ends for starts, ends in gaps(spans, begin, end))
        assert (on > 1) == any(starts <= moment < ends for starts, ends in overlaps(spans))


def test_a_roster_is_planned_swapped_and_asked_when_a_case_is_escalated(world: World) -> None:
    officer, first = world.person("programme_officer"), world.person("service_engineer")
    second = world.people["stranger"]
    Membership.objects.filter(person=first).update(team="svc-efa")
    Membership.objects.create(
        person=second, tenant=world.office, role="service_engineer", team="svc-efa", starts_on=date(2020, 1, 1)
    )
    client, now = signed_in(officer), timezone.now()
    body = {
        "team": "svc-efa", "part": "primary", "people": [str(first.pk), str(second.pk)], "turn": "day",
        "weekdays": list(range(7)), "begins": "00:00", "ends": "00:00", "zone": "Asia/Tokyo",
        "first": (now - timedelta(days=1)).date().isoformat(), "weeks": "1",
    }  # fmt: skip
    wrong = client.post("/t/programme/shifts/plan/", body | {"zone": "Asia/Tokio"})
    assert wrong.status_code == 422 and "Did you mean &#x27;Asia/Tokyo&#x27;?" in wrong.content.decode()
    stranger = body | {"people": [str(officer.pk)]}
    assert client.post("/t/programme/shifts/plan/", stranger).status_code == 422
    assert client.post("/t/programme/shifts/plan/", body).status_code == 303
    with acting_for(world.office, staff=True):
        (on,) = rosters.on_duty(now, "svc-efa")
        other = rosters.shifts("svc-efa").exclude(person=on.person).filter(starts_at__gt=now).first()
        assert other is not None and DutyShift.objects.count() == 7
        was, new = on.person, other.person
        assert told_of("svc-efa", None) == [was] and told_of("svc-efa", was) == [new]
    page = client.get("/duty/").content.decode()
    assert "svc-efa" in page and "Nobody is primary" in page and "Swap the shift of" in page
    swap = {"to": f"shift:{other.pk}", "why": "ill"}
    assert client.post(f"/t/programme/shifts/{on.pk}/swap/", swap).status_code == 303
    calendar = icalendar.Calendar.from_ical(client.get("/duty/calendar.ics?team=svc-efa").content)
    assert str(new) in str(next(iter(calendar.walk("VEVENT")))["summary"])
    api = client.get("/api/v1/shifts/?team=svc-efa").json()["results"]
    assert len(api) == 7 and signed_in(world.person("ml_engineer")).get("/api/v1/shifts/").status_code == 403
    with acting_for(world.office, staff=True):
        assert told_of("svc-efa", None) == [new]
        told = [line.sentence for line in lines(list(Entry.objects.filter(kind="duty.swapped").order_by("id")))]
        assert told[0].startswith(f"{officer} swapped a shift of svc-efa: {new} for {was}")
        with pytest.raises(Refused) as refused:
            rosters.give(shift=on, person=officer, why="", by=officer.actor)
        assert refused.value.status == 422
    gone = client.post(f"/t/programme/shifts/{other.pk}/remove/", {"why": ""})
    assert gone.status_code == 303 and client.get(f"/t/programme/shifts/{other.pk}/swap/").status_code == 404
