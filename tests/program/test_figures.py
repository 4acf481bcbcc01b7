"""Figures as tables and promises: states at a moment, the balance, the case that breaks it, the agenda's order."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from program import states
from program.figures import GROUPS, CaseThen, Event, agenda, figures, group_of, state_at

START = datetime(2026, 3, 2, tzinfo=UTC)
T0, T1 = START + timedelta(days=7), START + timedelta(days=14)


def at(days):
    return START + timedelta(days=days)


def event(kind, days, case="a", recorded=None, number=1, **facts):
    if kind == "case.opened":
        facts = {"number": "CASE-0001", "title": "Slow", "type": "problem", "case_severity": "normal", **facts}
    return Event(number, case, "hoshi", kind, at(days), at(days if recorded is None else recorded), facts)


def story(*steps, case="a"):
    """A case's entries from (kind, days) pairs, in the order they were recorded."""
    return [event(f"case.{kind}", days, case, number=n) for n, (kind, days) in enumerate(steps)]


def since_t0(one):
    return one.at <= T0 and one.recorded_at <= T0


def test_the_groups_of_the_agenda_are_those_that_are_stored():
    assert GROUPS == tuple(code for code, _words in states.AGENDA_GROUPS)


def test_a_case_is_what_its_last_state_entry_says():
    steps = [("opened", 1), ("taken", 2), ("in_progress", 2), ("noted", 3), ("waiting_customer", 4), ("noted", 5)]
    for upto, state in [
        (1, "new"),
        (2, "new"),
        (3, "in_progress"),
        (4, "in_progress"),
        (5, "waiting_customer"),
        (6, "waiting_customer"),
    ]:
        assert state_at(story(*steps[:upto])).state == state


def test_what_happened_counts_in_its_own_order_and_not_in_the_order_of_recording():
    late = [event("case.opened", 1, number=3), event("case.resolved", 2, number=1, cause_code="software")]
    assert state_at(late).state == "resolved"


def test_owner_step_severity_and_answer_are_read_from_the_entries():
    then = state_at(
        [
            event("case.opened", 1, number=1, spoke="customer"),
            event("case.severity", 2, number=2, was="normal", to="urgent"),
            event("case.noted", 3, number=3, spoke="customer"),
            event("case.noted", 4, number=4),  # a machine, or internal: it carries no voice
            event("case.noted", 5, number=5, spoke="staff"),
            event("case.planned", 6, number=6, owner="p", next_step="Swap", due="2026-04-01"),
        ]
    )
    assert (then.severity, then.severity_raised) == ("urgent", at(2))
    assert (then.answered, then.last_shared) == (at(5), at(5))
    assert (then.owner, then.next_step, str(then.due)) == ("p", "Swap", "2026-04-01")


def test_a_reopening_restarts_age_and_response_and_keeps_the_opening():
    then = state_at(
        [
            event("case.opened", 1, number=1),
            event("case.noted", 2, number=2, spoke="staff"),
            event("case.resolved", 3, number=3, cause_code="software"),
            event("case.reopened", 9, number=4),
            event("case.in_progress", 9, number=5),
        ]
    )
    assert (then.state, then.opened, then.start, then.answered) == ("in_progress", at(1), at(9), None)


BALANCES = [
    # steps, open before, opened, reopened, resolved, open now, carried
    ([("opened", 1)], (1, 0, 0, 0, 1, 1)),
    ([("opened", 8)], (0, 1, 0, 0, 1, 0)),
    ([("opened", 1), ("resolved", 8)], (1, 0, 0, 1, 0, 0)),
    ([("opened", 8), ("resolved", 9)], (0, 1, 0, 1, 0, 0)),
    ([("opened", 1), ("resolved", 2)], (0, 0, 0, 0, 0, 0)),
    ([("opened", 1), ("resolved", 2), ("closed", 8)], (0, 0, 0, 0, 0, 0)),
    ([("opened", 1), ("resolved", 2), ("reopened", 8), ("in_progress", 8)], (0, 0, 1, 0, 1, 0)),
    ([("opened", 1), ("resolved", 2), ("reopened", 8), ("in_progress", 8), ("resolved", 9)], (0, 0, 1, 1, 0, 0)),
    ([("opened", 1), ("resolved", 8), ("reopened", 9), ("in_progress", 9)], (1, 0, 1, 1, 1, 1)),
    ([("opened", 1), ("mitigated", 8)], (1, 0, 0, 0, 1, 1)),
    ([("opened", 1), ("waiting_decision", 2), ("scheduled", 8)], (1, 0, 0, 0, 1, 1)),
]


@pytest.mark.parametrize(("steps", "expected"), BALANCES)
def test_the_balance_line(steps, expected):
    found = figures(story(*steps), since_t0)
    assert (found.open_before, found.opened, found.reopened, found.resolved, found.open_now, found.carried) == expected
    assert found.balanced


def test_a_case_that_was_mitigated_is_open_and_counted_apart():
    found = figures(story(("opened", 1), ("mitigated", 2)), since_t0)
    assert (found.open_now, found.mitigated) == (1, 1)


def test_an_entry_that_came_in_late_counts_now():
    found = figures([event("case.opened", 1, recorded=10)], since_t0)
    assert (found.open_before, found.opened, found.open_now, found.carried) == (0, 1, 1, 0)
    assert found.balanced


@pytest.mark.parametrize(
    "steps",
    [
        [("opened", 1), ("resolved", 8), ("in_progress", 9)],  # came back without being reopened
        [("opened", 1), ("reopened", 8)],  # was never ended
        [("opened", 1), ("resolved", 2), ("resolved", 8)],  # ended twice
        [("resolved", 8)],  # never opened
        [("opened", 1), ("closed", 8)],  # ended without a resolution
    ],
)
def test_a_history_that_does_not_add_up_is_named(steps):
    good = story(("opened", 8), case="b")
    found = figures([*story(*steps), *good], since_t0)
    assert not found.balanced
    assert [broken.case for broken in found.broken] == ["a"]


LEGAL = {
    "open": ["in_progress", "waiting_customer", "mitigated", "noted", "resolved"],
    "ended": ["closed", "reopened", "noted"],
}


@st.composite
def histories(draw):
    """Cases that live by the rules, each with entries at any time and recorded at any later time."""
    events = []
    for case in range(draw(st.integers(0, 5))):
        now, mode, recorded = draw(st.floats(0, 13)), "open", 0.0
        steps = [("opened", now)]
        for _step in range(draw(st.integers(0, 8))):
            word = draw(st.sampled_from(LEGAL[mode]))
            now = draw(st.floats(now, 14))
            steps.append((word, now))
            mode = {"resolved": "ended", "reopened": "open"}.get(word, mode)
        for number, (word, when) in enumerate(steps):
            recorded = max(recorded, when, draw(st.floats(0, 20)))
            events.append(event(f"case.{word}", when, str(case), recorded=recorded, number=number))
    return events


@settings(max_examples=300)
@given(histories(), st.floats(0, 14), st.floats(0, 3), st.randoms())
def test_the_balance_holds_for_every_lawful_history(events, t0, margin, chance):
    shuffled = list(events)
    chance.shuffle(shuffled)
    found = figures(shuffled, lambda one: one.at <= at(t0) and one.recorded_at <= at(t0 + margin))
    assert found.balanced, found.broken
    assert found.open_now == found.open_before + found.opened + found.reopened - found.resolved
    before = figures(
        [one for one in events if one.at <= at(t0) and one.recorded_at <= at(t0 + margin)], lambda _one: False
    )
    assert before.open_now == found.open_before
    ids = {then.case for then in before.open_cases} & {then.case for then in found.open_cases}
    assert (found.carried, found.carried_cases) == (len(ids), ids)


@given(histories(), st.lists(st.floats(0, 14), min_size=1, max_size=5))
def test_reviews_in_a_row_add_up_to_one_over_all(events, cutoffs):
    total, before = {"opened": 0, "reopened": 0, "resolved": 0}, 0
    last = None
    for cutoff in sorted(cutoffs):
        now = [one for one in events if one.at <= at(cutoff) and one.recorded_at <= at(cutoff)]
        found = figures(
            now, lambda one, last=last: last is not None and one.at <= at(last) and one.recorded_at <= at(last)
        )
        assert found.open_before == before
        for name in total:
            total[name] += getattr(found, name)
        before, last = found.open_now, cutoff
    assert before == total["opened"] + total["reopened"] - total["resolved"]


def then(severity="normal", state="in_progress", days=6.0, **more):
    values = {"owner": "p", "next_step": "Swap", "answered": at(days), "number": "CASE-0001", **more}
    return CaseThen(
        case=more.get("number", "x"),
        tenant=values.pop("tenant", "hoshi"),
        state=state,
        severity=severity,
        opened=at(days),
        **values,
    )


@pytest.mark.parametrize(
    ("case", "times", "group"),
    [
        (then("critical"), 1, "worst"),
        (then("urgent", owner=None), 1, "worst"),
        (then("high", answered=None), 1, "unattended"),
        (then("low", owner=None), 1, "unattended"),
        (then("low", next_step=""), 1, "unattended"),
        (then("low", answered=None, days=6.5), 1, "rest"),  # its day is not over
        (then("high", "new"), 1, "new"),
        (then("high", "new"), 5, "new"),
        (then("high"), 3, "third_time"),
        (then("low"), 2, "rest"),
        (then("normal", days=-8, answered=at(-8)), 2, "overage"),
        (then("high", "waiting_decision", days=-1, answered=at(-1)), 1, "overage"),
        (then("low", "waiting_decision"), 1, "decision"),
        (then("high"), 1, "high"),
        (then("normal"), 1, "rest"),
        (then("low", "mitigated"), 1, "rest"),
    ],
)
def test_a_case_falls_into_the_first_group_that_fits(case, times, group):
    assert group_of(case, T0, times) == group


def test_the_agenda_goes_by_group_and_then_by_age():
    cases = [
        then("high", days=5, number="h"),
        then("normal", days=5, number="r2", tenant="umi"),
        then("normal", days=6, number="r1", tenant="hoshi"),
        then("low", days=4, number="r3", tenant="umi"),
        then("high", "new", days=6, number="n2"),
        then("normal", "new", days=3, number="n1"),
        then("urgent", days=6, number="w2"),
        then("critical", days=6.5, number="w3"),
        then("urgent", days=1, number="w1"),
        then("low", owner=None, days=6, number="u"),
        then("normal", days=6, number="t"),
        then("low", "waiting_decision", days=6, number="d"),
        then("normal", days=-9, number="o", answered=at(-9)),
    ]
    order = "w1 w2 w3 u n1 n2 t o d h r1 r3 r2".split()
    for seed in range(5):
        random.Random(seed).shuffle(cases)
        items = agenda(cases, T0, {"t": 2}, frozenset({"t"}))
        assert [item.then.number for item in items] == order
    third = next(item for item in items if item.then.number == "t")
    assert (third.times, third.carried, third.age, third.group) == (3, True, 1, "third_time")


def test_a_reopened_case_is_as_old_as_its_reopening():
    again = then(days=-20, reopened=at(6))
    (item,) = agenda([again], T0, {}, frozenset())
    assert (item.age, item.then.opened) == (1, at(-20))
