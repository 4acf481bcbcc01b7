"""The clocks of a case as tables: responses, ages, pauses, and cut-offs over the turns of the clock."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import clocks, states
from support.clocks import Pause

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def minutes(amount):
    return timedelta(minutes=amount)


@pytest.mark.parametrize(
    ("severity", "limit"), [("critical", 15), ("urgent", 60), ("high", 240), ("normal", 720), ("low", 1440)]
)
def test_the_first_response_is_due_by_severity(severity, limit):
    assert clocks.response_due(severity, NOON) == NOON + minutes(limit)
    assert not clocks.response_overdue(severity, NOON, None, NOON + minutes(limit))
    assert clocks.response_overdue(severity, NOON, None, NOON + minutes(limit) + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("answered", "now", "overdue", "missed"),
    [
        (None, 239, False, False),
        (None, 241, True, True),
        (239, 10_000, False, False),
        (241, 10_000, False, True),
        (-30, 241, True, True),  # answered before the reopening: that was another question
        (-30, 239, False, False),
    ],
)
def test_an_answer_stops_the_response_clock_and_a_late_one_stays_late(answered, now, overdue, missed):
    when = None if answered is None else NOON + minutes(answered)
    assert clocks.response_overdue("high", NOON, when, NOON + minutes(now)) is overdue
    assert clocks.response_missed("high", NOON, when, NOON + minutes(now)) is missed


def test_a_raised_severity_is_due_from_when_it_was_raised():
    raised = NOON + timedelta(days=2)
    assert clocks.response_due("critical", NOON, raised) == raised + minutes(15)
    assert not clocks.response_overdue("critical", NOON, None, raised + minutes(15), raised)
    reopened = raised + timedelta(days=1)
    assert clocks.response_due("critical", reopened, raised) == reopened + minutes(15)


@pytest.mark.parametrize(
    ("elapsed", "days", "band"),
    [
        (timedelta(hours=23, minutes=59), 0, "0–2"),
        (timedelta(hours=24), 1, "0–2"),
        (timedelta(hours=71), 2, "0–2"),
        (timedelta(days=3), 3, "3–6"),
        (timedelta(days=6, hours=23), 6, "3–6"),
        (timedelta(days=7), 7, "7–13"),
        (timedelta(days=14), 14, "14–27"),
        (timedelta(days=28), 28, "28+"),
        (timedelta(days=400), 400, "28+"),
        (-timedelta(hours=1), 0, "0–2"),
    ],
)
def test_age_is_whole_days_and_falls_into_its_band(elapsed, days, band):
    assert clocks.age_days(NOON, NOON + elapsed) == days
    assert clocks.band(days) == band


def test_a_day_of_23_hours_is_not_a_whole_day():
    before = datetime(2026, 3, 28, 18, tzinfo=ZoneInfo("Europe/London"))
    after = datetime(2026, 3, 29, 18, tzinfo=ZoneInfo("Europe/London"))
    assert clocks.age_days(before.astimezone(UTC), after.astimezone(UTC)) == 0
    assert clocks.age_days(before.astimezone(UTC), after.astimezone(UTC) + timedelta(hours=1)) == 1


@pytest.mark.parametrize(
    ("severity", "days"), [("critical", 1), ("urgent", 3), ("high", 7), ("normal", 14), ("low", 28)]
)
def test_a_case_is_over_age_when_open_longer_than_its_limit(severity, days):
    limit = timedelta(days=days)
    assert not clocks.over_age(severity, NOON, NOON + limit)
    assert clocks.over_age(severity, NOON, NOON + limit + timedelta(seconds=1))


def test_every_severity_has_its_limits():
    assert set(clocks.FIRST_RESPONSE) == set(clocks.AGE_LIMIT) == set(states.SEVERITIES)


def test_idle_counts_from_the_last_shared_message_or_the_start():
    now = NOON + timedelta(days=10)
    assert clocks.idle_days(NOON, None, now) == 10
    assert clocks.idle_days(NOON, NOON + timedelta(days=9), now) == 1
    assert clocks.idle_days(NOON, NOON - timedelta(days=30), now) == 10  # written before the reopening


def test_a_reopening_restarts_the_clocks():
    later = NOON + timedelta(days=1)
    assert clocks.started(NOON, None) == NOON
    assert clocks.started(NOON, later) == later


@pytest.mark.parametrize(
    ("pauses", "worked"),
    [
        ([], 600),
        ([(60, 120)], 540),
        ([(60, None)], 60),
        ([(60, 120), (300, None)], 240),
        ([(-60, 60)], 540),
        ([(60, 180), (120, 240)], 420),
        ([(60, 240), (120, 180)], 420),
        ([(700, 800)], 600),
        ([(-60, None)], 0),
    ],
)
def test_waiting_for_the_customer_pauses_the_resolution_clock(pauses, worked):
    spans = [Pause(NOON + minutes(a), None if b is None else NOON + minutes(b)) for a, b in pauses]
    assert clocks.working_time(NOON, NOON + minutes(600), spans) == minutes(worked)


@given(st.lists(st.tuples(st.integers(-100, 700), st.none() | st.integers(-100, 700)), max_size=6))
def test_no_pauses_make_the_clock_run_backwards_or_faster(spans):
    pauses = [Pause(NOON + minutes(a), None if b is None else NOON + minutes(max(a, b))) for a, b in spans]
    worked = clocks.working_time(NOON, NOON + minutes(600), pauses)
    still = sum(not any(a <= m and (b is None or m < max(a, b)) for a, b in spans) for m in range(600))
    assert worked == minutes(still)


WEDNESDAY = 2
SIX = time(18)


@pytest.mark.parametrize(
    ("zone", "at", "now", "last", "following"),
    [
        ("Asia/Tokyo", SIX, "2026-03-04T09:00Z", "2026-03-04T09:00Z", "2026-03-11T09:00Z"),
        ("Asia/Tokyo", SIX, "2026-03-04T08:59Z", "2026-02-25T09:00Z", "2026-03-04T09:00Z"),
        ("Asia/Tokyo", time(3), "2026-03-03T18:00Z", "2026-03-03T18:00Z", "2026-03-10T18:00Z"),  # still Tuesday in UTC
        ("Europe/London", SIX, "2026-03-26T00:00Z", "2026-03-25T18:00Z", "2026-04-01T17:00Z"),  # the clock goes forward
        ("Europe/London", SIX, "2026-10-22T00:00Z", "2026-10-21T17:00Z", "2026-10-28T18:00Z"),  # and back
        ("America/New_York", time(23, 30), "2026-03-05T05:00Z", "2026-03-05T04:30Z", "2026-03-12T03:30Z"),
    ],
)
def test_the_cutoff_is_a_wall_time_of_the_programmes_zone(zone, at, now, last, following):
    moment = datetime.fromisoformat(now)
    assert clocks.last_cutoff(moment, WEDNESDAY, at, zone) == datetime.fromisoformat(last)
    assert clocks.next_cutoff(moment, WEDNESDAY, at, zone) == datetime.fromisoformat(following)


def test_a_skipped_wall_time_moves_on_and_a_doubled_one_is_the_first():
    sunday, half_past_one = 6, time(1, 30)
    spring = clocks.last_cutoff(datetime(2026, 3, 29, 12, tzinfo=UTC), sunday, half_past_one, "Europe/London")
    assert spring == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    autumn = clocks.last_cutoff(datetime(2026, 10, 25, 12, tzinfo=UTC), sunday, half_past_one, "Europe/London")
    assert autumn == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),
    st.integers(0, 6),
    st.times(),
    st.sampled_from(["Asia/Tokyo", "Europe/London", "America/New_York", "Australia/Lord_Howe", "UTC"]),
)
def test_every_moment_lies_between_two_cutoffs_a_week_apart(moment, weekday, at, zone):
    now = moment.replace(tzinfo=UTC)
    at = at.replace(fold=0)
    last, following = clocks.last_cutoff(now, weekday, at, zone), clocks.next_cutoff(now, weekday, at, zone)
    assert last <= now < following
    assert abs((following - last) - timedelta(days=7)) <= timedelta(hours=2)
