"""Instance hours and late checkpoints, as tables."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from program.usage import CHECKPOINT_LIMIT, Spell, checkpoint_late, hours

T0 = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
T1 = T0 + 7 * 24 * HOUR


@pytest.mark.parametrize(
    ("spell", "told"),
    [
        (Spell("a", T0 - HOUR, None), 168.0),  # there all week
        (Spell("a", T0 + HOUR, T0 + 3 * HOUR, 4), 8.0),
        (Spell("a", T0 - 9 * HOUR, T0 + HOUR), 1.0),
        (Spell("a", T1 - HOUR, T1 + 9 * HOUR), 1.0),
        (Spell("a", T0 - 9 * HOUR, T0), None),  # over before
        (Spell("a", T1, None), None),  # begins after
    ],
)
def test_hours_are_those_within_the_window(spell: Spell, told: float | None) -> None:
    assert hours([spell], T0, T1).get("a") == told


@given(st.lists(st.integers(0, 400), min_size=2, max_size=12))
def test_two_windows_add_up_to_one(cuts: list[int]) -> None:
    marks = sorted(cuts)
    spells = [
        Spell("a", T0 + begin * HOUR, T0 + end * HOUR) for begin, end in zip(marks[::2], marks[1::2], strict=False)
    ]
    middle, end = T0 + 100 * HOUR, T0 + 400 * HOUR
    whole = hours(spells, T0, end).get("a", 0)
    parts = hours(spells, T0, middle).get("a", 0) + hours(spells, middle, end).get("a", 0)
    assert whole == pytest.approx(parts) == pytest.approx(sum(marks[1::2]) - sum(marks[::2][: len(spells)]))


@pytest.mark.parametrize(
    ("started", "ended", "saved", "late"),
    [
        (T0 - 7 * HOUR, None, None, 7 * HOUR),
        (T0 - 5 * HOUR, None, None, None),
        (T0 - 99 * HOUR, None, T0 - HOUR, None),
        (T0 - 99 * HOUR, None, T0 - 8 * HOUR, 8 * HOUR),
        (T0 - 99 * HOUR, T0 - HOUR, None, None),  # does not run any more
        (T0 - 99 * HOUR, T0 + HOUR, None, 99 * HOUR),  # ended later, ran then
        (None, None, None, None),
        (T0 - 99 * HOUR, None, T0 + HOUR, None),  # saved since: what was before is not known
        (T0 - CHECKPOINT_LIMIT, None, None, None),
    ],
)
def test_a_checkpoint_is_late_when_a_running_job_saved_nothing_for_longer_than_the_limit(
    started: datetime | None, ended: datetime | None, saved: datetime | None, late: timedelta | None
) -> None:
    assert checkpoint_late(started, ended, saved, T0) == late
