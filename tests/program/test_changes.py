"""What changed between two reviews: one line for each difference, each with its entry; nothing changed is said too."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from program.changes import ORDER, Told, changes
from program.figures import Event, state_at

START = datetime(2026, 3, 2, tzinfo=UTC)
T0, T1 = START + timedelta(days=7), START + timedelta(days=14)


def at(days):
    return START + timedelta(days=days)


def event(number, kind, days, case="a", tenant="hoshi", **facts):
    if kind == "case.opened":
        facts = {"number": "CASE-0001", "title": "Slow", "case_severity": "normal", **facts}
    return Event(number, case, tenant, kind, at(days), at(days), facts)


def before(one):
    return one.at <= T0


def lines(*events, told=(), tenants=("hoshi",)):
    return changes(events, told, before, tenants, T1)


def brief(found):
    return [(line["what"], line["was"], line["now"], line["count"], line["entry"]) for line in found]


OPENED = event(1, "case.opened", 1)
CASES = [
    ([event(1, "case.opened", 8)], [("new", "", "normal", 1, 1)]),
    ([OPENED, event(2, "case.resolved", 9, cause_code="software")], [("resolved", "", "software", 1, 2)]),
    (
        [
            OPENED,
            event(2, "case.resolved", 2, cause_code="software"),
            event(3, "case.reopened", 9),
            event(4, "case.in_progress", 9),
        ],
        [("reopened", "", "normal", 1, 3)],
    ),
    (
        [OPENED, event(2, "case.in_progress", 8), event(3, "case.waiting_provider", 9)],
        [("state", "new", "waiting_provider", 1, 3)],
    ),
    ([OPENED, event(2, "case.severity", 9, was="normal", to="urgent")], [("severity", "normal", "urgent", 1, 2)]),
    ([OPENED, event(2, "case.taken", 9, owner="p")], [("owner", "", "p", 1, 2)]),
    (
        [
            OPENED,
            event(2, "case.planned", 2, owner="p", next_step="x", due="2026-03-10"),
            event(3, "case.planned", 3, owner="p", next_step="x", due="2026-03-12"),
            event(4, "case.planned", 9, owner="p", next_step="x", due="2026-03-20"),
        ],
        [("due", "2026-03-12", "2026-03-20", 2, 4)],
    ),
    ([OPENED, event(2, "case.noted", 5, spoke="staff")], [("still", "new", "new", 9, 2)]),
    (
        [
            OPENED,
            event(2, "case.severity", 8, was="normal", to="high"),
            event(3, "case.severity", 9, was="high", to="normal"),
        ],
        [("still", "new", "new", 5, 3)],
    ),
]


@pytest.mark.parametrize(("events", "expected"), CASES)
def test_each_difference_is_one_line_with_its_entry(events, expected):
    found = [line for line in lines(*events) if line["what"] != "nothing"]
    assert brief(found) == expected


def test_a_participant_of_whom_nothing_is_told_has_a_line_of_its_own():
    found = lines(event(1, "case.opened", 8), tenants=("hoshi", "umi"))
    assert [(line["tenant"], line["what"]) for line in found] == [("hoshi", "new"), ("umi", "nothing")]


def test_a_case_that_did_not_move_does_not_count_as_a_change():
    assert [line["what"] for line in lines(OPENED)] == ["still", "nothing"]


def other(number, kind, subject="record", thing="m", cluster="", **facts):
    return Told(number, "hoshi", kind, subject, thing, cluster, at(8 + number / 100), facts)


def test_what_is_not_a_case_is_told_once_for_each_thing_and_kind():
    told = [
        other(1, "record.changed", what="Language", fields=["phase"]),
        other(2, "record.changed", what="Language", fields=["phase", "precision"]),
        other(3, "record.changed", subject="quota", thing="q", what="20 p5.48xlarge"),
        other(4, "nodes.replacing", subject="cluster", thing="c", cluster="c", count=4, nodes=["a-1…4"]),
        other(5, "node.replacing", subject="node", thing="n", cluster="c", node="a-5"),
        other(6, "cluster.degraded", subject="cluster", thing="c", cluster="c", name="a", why="A node fell"),
        other(7, "job.failed", subject="job", thing="j", cluster="c", name="pretrain", why="exit 137"),
        other(8, "case.noted", subject="case", thing="x"),
    ]
    found = [(line["what"], line["name"], line["count"], line["entry"]) for line in lines(told=told)]
    assert found == [
        ("record", "Language", 2, 2),
        ("capacity", "20 p5.48xlarge", 1, 3),
        ("cluster", "a", 1, 6),
        ("node", "", 4, 4),
        ("node", "a-5", 1, 5),
        ("job", "pretrain", 1, 7),
    ]


STEPS = ["case.in_progress", "case.waiting_customer", "case.mitigated", "case.noted", "case.resolved"]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.floats(0, 14)), max_size=8), st.floats(0, 14))
def test_whoever_reads_the_lines_knows_how_every_case_stands_now(steps, opened):
    story, ended = [event(1, "case.opened", opened)], False
    for number, (kind, when) in enumerate(sorted(steps, key=lambda step: step[1]), start=2):
        if when >= opened and not ended:
            story.append(event(number, kind, when))
            ended = kind == "case.resolved"
    found = lines(*story)
    now, old = state_at(story), [one for one in story if before(one)]
    was = state_at(old).state if old else ""
    told = {line["what"]: line for line in found}
    assert all(line["what"] in ORDER for line in found)
    if "state" in told:
        assert (told["state"]["was"], told["state"]["now"]) == (was, now.state) and was != now.state
    elif was and was != "resolved" and now.open:
        assert now.state == was
    assert ("resolved" in told) == (now.state == "resolved" and was != "resolved")
    assert all(line["entry"] in {one.id for one in story} for line in found if line["what"] != "nothing")
