"""How well the work went, as tables: answers in time, hours to resolve, hours lost, action items on time."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from program.figures import Event
from program.measures import actions_at, measures, shares, spread

START = datetime(2026, 3, 2, tzinfo=UTC)
T0, T1 = START + timedelta(days=7), START + timedelta(days=14)


def event(entry, kind, days, /, case="a", **facts):
    if kind == "case.opened":
        facts = {"number": "CASE-0001", "title": "Slow", "case_severity": "high", **facts}
    when = START + timedelta(days=days)
    return Event(entry, case, "hoshi", kind, when, when, facts)


def found(*events, actions=()):
    return measures(events, actions, lambda one: one.at <= T0, T0, T1)


RESPONSES = [
    ([event(1, "case.opened", 8)], (1, 0)),  # nobody answered, and its four hours are over
    ([event(1, "case.opened", 13.95)], (0, 0)),  # its time is not over
    ([event(1, "case.opened", 8), event(2, "case.noted", 8.1, spoke="staff")], (1, 1)),
    ([event(1, "case.opened", 8), event(2, "case.noted", 9, spoke="staff")], (1, 0)),
    ([event(1, "case.opened", 8), event(2, "case.noted", 8.1, spoke="customer")], (1, 0)),
    ([event(1, "case.opened", 1), event(2, "case.noted", 1.1, spoke="staff")], (0, 0)),  # an older window's
    (
        [
            event(1, "case.opened", 1),
            event(2, "case.noted", 1.1, spoke="staff"),
            event(3, "case.resolved", 2, cause_code="software"),
            event(4, "case.reopened", 8),
            event(5, "case.in_progress", 8),
            event(6, "case.noted", 8.1, spoke="staff"),
        ],
        (1, 1),
    ),
]


@pytest.mark.parametrize(("events", "expected"), RESPONSES)
def test_an_answer_counts_in_the_window_in_which_its_clock_began(events, expected):
    response = found(*events)["response"]
    assert (response["due"], response["within"]) == expected


def test_hours_run_from_the_opening_or_the_reopening():
    story = [
        event(1, "case.opened", 7.5),
        event(2, "case.mitigated", 8),
        event(3, "case.resolved", 8.5, cause_code="hardware", lost_hours="12.50"),
        event(4, "case.reopened", 10),
        event(5, "case.in_progress", 10),
        event(6, "case.resolved", 10.25, cause_code="software", lost_hours="1"),
    ]
    told = found(*story)
    assert told["resolve_hours"] == {"n": 2, "median": 6.0, "p90": 24.0}
    assert told["mitigate_hours"] == {"n": 1, "median": 12.0, "p90": 12.0}
    assert told["lost_hours"] == {"hardware": "12.50", "software": "1"}


def action(entry, word, days, /, item="x", **facts):
    return event(entry, f"action_item.{word}", days, case=item, **facts)


def test_an_action_item_is_what_its_entries_say():
    given_ = action(1, "given", 1, number="AI-0001", text="Swap", owner="p", due="2026-03-10")
    moved = action(2, "due_moved", 2, due="2026-03-20")
    (then,) = actions_at([given_, moved])
    assert (then.state, then.due, then.moves, then.overdue(date(2026, 3, 21))) == ("open", date(2026, 3, 20), 1, True)
    (then,) = actions_at([given_, moved, action(3, "done", 9, ended_on="2026-03-11")])
    assert (then.state, then.ended_on, then.overdue(date(2026, 3, 21))) == ("done", date(2026, 3, 11), False)
    (then,) = actions_at([given_, action(3, "dropped", 9), action(4, "open", 10)])
    assert (then.state, then.ended_on) == ("open", None)


def test_action_items_on_time_are_those_done_by_their_day():
    told = []
    for number, (due, done) in enumerate(
        [("2026-03-12", "2026-03-12"), ("2026-03-12", "2026-03-13"), ("2026-03-10", None), ("2026-04-01", None)]
    ):
        told.append(action(number * 10, "given", 1, item=str(number), due=due, number=str(number)))
        if done:
            told.append(action(number * 10 + 1, "done", 10, item=str(number), ended_on=done))
    counted = found(actions=actions_at(told))["actions"]
    assert counted == {"ended": 2, "on_time": 1, "overdue": 1, "open": 2}
    assert shares({"actions": counted, "response": {"due": 4, "within": 3}}) == {
        "response": 0.75,
        "actions": 1 / 3,
        "articles": None,
    }
    assert shares({}) == {"response": None, "actions": None, "articles": None}


@given(st.lists(st.floats(0, 1000), max_size=40))
def test_half_and_nine_of_ten_stay_under_what_is_said(hours):
    told = spread(hours)
    assert told["n"] == len(hours)
    if hours:
        assert sum(value <= told["median"] + 0.05 for value in hours) * 2 >= len(hours)
        assert sum(value <= told["p90"] + 0.05 for value in hours) * 10 >= 9 * len(hours)
        assert min(hours) - 0.05 <= told["median"] <= told["p90"] <= max(hours) + 0.05


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], (1, 0)),
        ([event(3, "case.article", 9, code="KB-1")], (1, 1)),
        ([event(3, "case.solved_by", 9, code="KB-1")], (1, 1)),
        ([event(3, "case.solved_by", 9, code="KB-1"), event(4, "case.article_off", 10, code="KB-1")], (1, 0)),
        (
            [
                event(3, "case.solved_by", 9, code="KB-1"),
                event(4, "case.solved_by", 9, code="KB-2"),
                event(5, "case.article_off", 10, code="KB-1"),
            ],
            (1, 1),
        ),
    ],
)
def test_of_the_cases_resolved_those_with_an_article_are_counted(more, told):
    counted = found(event(1, "case.opened", 8), event(2, "case.resolved", 9, cause_code="software"), *more)
    assert (counted["articles"]["resolved"], counted["articles"]["with"]) == told
    assert shares(counted)["articles"] == told[1] / told[0]


def test_a_case_resolved_twice_in_a_window_counts_once_and_without_any_there_is_no_share():
    twice = [
        event(1, "case.opened", 8),
        event(2, "case.resolved", 9),
        event(3, "case.reopened", 10),
        event(4, "case.resolved", 11),
    ]
    assert found(*twice)["articles"] == {"resolved": 1, "with": 0}
    assert shares(found())["articles"] is None


def test_satisfaction_counts_each_answer_alike():
    told = measures([], [], lambda one: False, T0, T1, [(10, Decimal("4.0")), (30, Decimal("4.8"))])
    assert told["satisfaction"] == {"answers": 40, "mean": "4.60"}
    assert found()["satisfaction"] == {"answers": 0, "mean": None}
