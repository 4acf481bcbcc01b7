"""Hours of accelerators: cut exactly at midnights of the zone, never more or less than there was, and unknown is not nought."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.accounting.accelerator_hours import Run, Used, bounds, day_of, days, hours, month_of, read_month, used

ZONES = ("Asia/Tokyo", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
YEAR = 365 * 86_400


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def test_an_attempt_over_a_months_end_is_cut_at_the_midnight_of_the_zone():
    run = Run(at("2026-11-30T22:00:00+09:00"), at("2026-12-01T03:00:00+09:00"), 16)
    november = bounds(date(2026, 11, 1), "Asia/Tokyo")[0], bounds(date(2026, 12, 1), "Asia/Tokyo")[0]
    december = november[1], bounds(date(2027, 1, 1), "Asia/Tokyo")[0]
    assert used([run], *november) == Used(2 * 3600 * 16, 1, 0)
    assert used([run], *december) == Used(3 * 3600 * 16, 1, 0)
    # In UTC all of it is still November.
    assert (
        used([run], *(bounds(day, "UTC")[0] for day in (date(2026, 11, 1), date(2026, 12, 1)))).seconds == 5 * 3600 * 16
    )


@pytest.mark.parametrize(
    ("day", "zone", "length"),
    [
        (date(2026, 3, 29), "Europe/Berlin", 23),
        (date(2026, 10, 25), "Europe/Berlin", 25),
        (date(2026, 3, 29), "Asia/Tokyo", 24),
        (date(2026, 11, 1), "America/New_York", 25),
    ],
)
def test_a_day_on_which_clocks_are_changed_is_as_long_as_it_is(day, zone, length):
    begins, ends = bounds(day, zone)
    assert ends - begins == length * 3600


def test_what_nobody_measured_is_counted_apart_and_not_as_nought():
    found = used([Run(0, 3600, None), Run(0, 3600, 0), Run(0, 3600, 8)], 0, 7200)
    assert found == Used(8 * 3600, 3, 1)
    assert hours(None) is None
    assert hours(0) == Decimal("0.00")


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-1", "26-01-01", "2026-00", "1999-12", "3000-01", "２０２６-01", "x" * 7]
)
def test_what_is_no_month_is_none(text):
    assert read_month(text) is None


def test_a_month_has_its_days():
    assert read_month("2028-02") == date(2028, 2, 1)
    assert month_of(date(2028, 2, 29)) == (date(2028, 2, 1), date(2028, 2, 29))
    assert month_of(date(2026, 12, 31)) == (date(2026, 12, 1), date(2026, 12, 31))


runs = st.builds(
    lambda begin, length, accelerators: Run(START + begin, START + begin + length, accelerators),
    st.integers(0, YEAR),
    st.integers(0, 40 * 86_400),
    st.none() | st.integers(0, 512),
)


@given(st.lists(runs, max_size=12), st.sampled_from(ZONES))
def test_the_days_of_random_programmes_sum_to_what_there_was(found, zone):
    """Whatever ran and wherever midnights lie, no accelerator-second is lost at an edge or counted twice."""
    first = day_of(datetime.fromtimestamp(START, UTC), zone)
    last = day_of(datetime.fromtimestamp(START + YEAR + 41 * 86_400, UTC), zone)
    by_day = [used(found, *bounds(day, zone)).seconds for day in days(first, last)]
    assert sum(by_day) == sum((run.ends - run.begins) * (run.accelerators or 0) for run in found)
    months = {month_of(day) for day in days(first, last)}
    spans = [(bounds(begin, zone)[0], bounds(end + timedelta(days=1), zone)[0]) for begin, end in months]
    assert sum(used(found, *span).seconds for span in spans) == sum(by_day)
