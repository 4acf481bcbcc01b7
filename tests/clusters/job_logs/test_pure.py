"""Joining, thinning, time-outs and silence, as tables."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.jobs.logs.joining import unseen
from clusters.jobs.logs.stalls import silence
from clusters.jobs.logs.thinning import thin
from clusters.jobs.logs.timeouts import in_use
from tests.clusters.job_logs.test_formats import AT


@pytest.mark.parametrize(
    ("kept", "tail", "new", "joined"),
    [
        ([], ["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a", "b"], [], True),
        (["a", "b"], ["a", "b", "c"], ["c"], True),
        (["a", "b", "c"], ["c", "d"], ["d"], True),  # the tail begins later than what is kept
        (["a", "b"], ["x", "y"], ["x", "y"], False),  # what lay between was never seen
        (["a"], [], [], True),
        (["x", "x"], ["x", "x", "x"], [], True),  # alike lines are taken for the known ones
    ],
)
def test_a_tail_goes_on_where_the_kept_lines_end(kept, tail, new, joined):
    assert unseen(kept, tail) == (new, joined)


@given(st.lists(st.integers(), unique=True, min_size=1, max_size=80), st.data())
def test_however_a_log_is_cut_nothing_is_lost_or_doubled(numbers, data):
    lines = [str(number) for number in numbers]
    end = data.draw(st.integers(1, len(lines)))
    begin = data.draw(st.integers(0, end - 1))
    assert unseen(lines[:end], lines[begin:]) == (lines[end:], True)


@given(st.lists(st.floats(0, 100) | st.none(), max_size=3000), st.integers(20, 300))
def test_thinning_keeps_the_ends_and_the_extremes_and_the_order(values, most):
    points = list(enumerate(values))
    kept = thin(points, most, lambda point: point[1], lambda point: False)
    assert kept == sorted(kept, key=lambda point: point[0])
    assert len(kept) <= most + 2
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
    told = [value for value in values if value is not None]
    if told:
        left = [value for _, value in kept if value is not None]
        assert (min(left), max(left)) == (min(told), max(told))


def test_thinning_keeps_what_is_named():
    kept = thin(list(range(10_000)), 100, float, lambda point: point in (17, 4711))
    assert {17, 4711} <= set(kept)


@pytest.mark.parametrize(
    ("script", "log_format", "told", "seconds", "source"),
    [
        ("", "", None, 600, "default"),
        ("torchrun pretrain_gpt.py --distributed-timeout-minutes 60", "Megatron-LM", None, 3600, "script"),
        ("# --distributed-timeout-minutes 60", "Megatron-LM", None, 600, "default"),
        ("accelerate launch x.py --ddp_timeout=1800", "", None, 1800, "script"),
        ("export DEEPSPEED_TIMEOUT=10", "DeepSpeed", None, 600, "script"),
        ("", "DeepSpeed", None, 1800, "framework"),
        ("", "torchtitan", None, 100, "framework"),
        ("--comm.train_timeout_seconds=100", "torchtitan", None, 100, "script"),
        ("--distributed-timeout-minutes 60", "Megatron-LM", 1200.0, 1200, "log"),
        ("--distributed-timeout-minutes 0", "", None, 600, "default"),
    ],
)
def test_the_time_out_in_use_says_where_it_is_from(script, log_format, told, seconds, source):
    found = in_use(script, log_format, told)
    assert (found.seconds, found.source) == (seconds, source)


@pytest.mark.parametrize(
    ("running", "quiet_minutes", "read", "word"),
    [
        (True, 0, True, "flowing"),
        (True, 5, True, "quiet"),  # row 79: before the time-out it is not failed
        (True, 9.9, True, "quiet"),
        (True, 10.1, True, "stalled"),
        (False, 99, True, "unknown"),
        (True, 99, False, "unknown"),  # we did not look: that says nothing of the job
    ],
)
def test_silence_is_a_stall_only_beyond_the_time_out(running, quiet_minutes, read, word):
    read_at = AT + timedelta(minutes=quiet_minutes) if read else None
    assert silence(running, AT, read_at, 600).word == word
