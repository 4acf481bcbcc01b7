"""A log read on page by page, on Kubernetes and through the agent: nothing is lost or doubled, and a gap is said."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.launchers import kubernetes_logs
from clusters.launchers.agent import read_on
from clusters.launchers.kubernetes_logs import Mark, mark_of, page

AT = datetime(2026, 12, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "sent", "position", "ended", "lines", "following"),
    [
        ("", 0, "", False, [], ""),
        ("a\nb\n", 4, "", False, ["a", "b"], "4"),
        ("a\nb\n", 4, "2", False, ["b"], "4"),
        ("a\nb\n", 4, "4", False, [], "4"),
        ("a\nhal", 5, "", False, ["a"], "2"),  # the rest of the line comes later
        ("a\nhal", 5, "2", True, ["hal"], "5"),  # or never, once it has ended
        ("1 %\r2 %\r", 8, "", False, ["1 %", "2 %"], "8"),
        ("a\n\nb\n", 5, "", False, ["a", "", "b"], "5"),
        ("y\nz\n", 104, "96", False, ["[… lines are missing here: 4 characters were let go before they were read …]", "y", "z"], "104"),
        ("y\nz\n", 104, "nonsense", False, ["[… lines are missing here: 100 characters were let go before they were read …]", "y", "z"], "104"),
    ],
)  # fmt: skip
def test_what_the_agent_sent_is_read_on(text, sent, position, ended, lines, following):
    found = read_on(text, sent, position, ended=ended)
    assert ([line for _, line in found.lines], found.position) == (lines, following)


class Pod:
    """A container's log as the kubelet serves it: by seconds, by bytes, and only what its file still holds."""

    def __init__(self, lines, now, kept=0, ahead=0.0):
        self.lines, self.now, self.kept, self.ahead, self.calls = lines, now, kept, ahead, 0

    def __call__(self, pod, *, seconds=None, tail=None, previous=False):
        self.calls += 1
        lines = [(at + timedelta(seconds=self.ahead), text) for at, text in self.lines[self.kept :]]
        if seconds is not None:
            lines = [each for each in lines if each[0] >= self.now - timedelta(seconds=seconds)]
        lines = lines[-tail:] if tail else lines
        text = "".join(f"{at:%Y-%m-%dT%H:%M:%S.%f}Z {text}\n" for at, text in lines)
        return text.encode() if tail else text.encode()[: kubernetes_logs.MOST_BYTES]


def pods(*named, restarts=0):
    return [
        {"metadata": {"name": name}, "status": {"containerStatuses": [{"restartCount": restarts}]}} for name in named
    ]


def caught_up(reads, position="", now=AT, of=("w-0",), restarts=0, steps=60):
    read = []
    for _ in range(steps):
        found = page(reads, pods(*of, restarts=restarts), position, now)
        read += [line for _, line in found.lines]
        position = found.position
        if not found.lines:
            break
    return read, position


@given(
    gaps=st.lists(st.integers(0, 3), max_size=60),
    first=st.integers(0, 60),
    most=st.integers(120, 2000),
    ahead=st.sampled_from([0.0, 4.0, -4.0]),
)
def test_however_it_is_cut_every_line_of_a_pod_is_read_once(gaps, first, most, ahead):
    moment, lines = AT - timedelta(minutes=3), []
    for number, step in enumerate(gaps):
        moment += timedelta(milliseconds=step * 700)  # several lines of one moment, too
        lines.append((moment, f"line {number}"))
    pod = Pod(lines[:first], AT, ahead=ahead)
    kubernetes_logs.MOST_BYTES, before = most, kubernetes_logs.MOST_BYTES
    try:
        read, position = caught_up(pod)
        pod.lines = lines
        more, _ = caught_up(pod, position)
    finally:
        kubernetes_logs.MOST_BYTES = before
    told = [line for line in read + more if "missing" not in line]
    assert len(told) == len(set(told))
    if not any("missing" in line for line in read + more):
        assert told == [text for _, text in lines]
    if most == 2000 and len(lines) < 20:
        assert told == [text for _, text in lines]


def test_what_the_node_let_go_before_it_was_read_is_said():
    lines = [(AT + timedelta(seconds=n), f"line {n}") for n in range(100)]
    pod = Pod(lines[:10], AT)
    read, position = caught_up(pod)
    assert len(read) == 10 and mark_of(position).at.startswith("2026-12-01T08:00:09.")
    pod.lines, pod.kept, pod.now = lines, 40, AT + timedelta(seconds=100)
    read, _ = caught_up(pod, position, AT + timedelta(seconds=100))
    assert read[0].startswith("[… lines are missing here: what was written between 2026-12-01T08:00:09")
    assert read[1:] == [f"line {n}" for n in range(40, 100)]


def test_more_in_a_moment_than_one_call_brings_leaves_a_gap_that_is_said(monkeypatch):
    monkeypatch.setattr(kubernetes_logs, "MOST_BYTES", 1000)
    monkeypatch.setattr(kubernetes_logs, "TAIL_LINES", 5)
    pod = Pod([(AT, f"line {n}") for n in range(200)], AT)
    read, _ = caught_up(pod)
    assert read[0] == "line 0" and read[-1] == "line 199"
    assert sum("missing" in line for line in read) == 1


def test_a_container_that_begins_anew_and_another_pod_lose_nothing():
    first = [(AT - timedelta(seconds=60 - n), f"a {n}") for n in range(10)]
    pod = Pod(first[:4], AT)
    read, position = caught_up(pod)
    texts = {False: Pod([(AT, "b 0")], AT), True: Pod(first, AT)}
    more, position = caught_up(lambda pod, previous=False, **asked: texts[previous](pod, **asked), position, restarts=1)
    assert read + more == [f"a {n}" for n in range(10)] + ["b 0"]
    of = {"w-0": Pod([(AT, "b 0"), (AT, "b 1")], AT), "w-1": Pod([(AT, "c 0")], AT)}
    more, _ = caught_up(
        lambda pod, **asked: of[pod](pod, **{k: v for k, v in asked.items() if k != "previous"}),
        position,
        of=("w-0", "w-1"),
        restarts=1,
    )
    assert more == ["b 1", "c 0"]


def test_a_position_of_another_time_is_the_beginning_and_what_is_known_by_time_only_goes_on():
    assert mark_of("f/123") == mark_of("") == Mark()
    pod = Pod([(AT - timedelta(seconds=9 - n), f"line {n}") for n in range(9)], AT)
    found = page(pod, pods("w-0"), "", AT, AT - timedelta(seconds=4))
    assert [line for _, line in found.lines] == [f"line {n}" for n in range(5, 9)]
