"""What a lost node costs, when a run will be done, and which node is to blame, as tables."""

from datetime import timedelta
from decimal import Decimal

import pytest

from clusters.jobs.logs.forecast import Measure, Pace, Target, WhatIf, aim, forecast, pace
from clusters.jobs.logs.risk import at_risk
from clusters.jobs.logs.suspects import NodeTold, Sign, sign_of, weigh
from tests.clusters.job_logs.test_formats import AT

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("begun", "saved", "accelerators", "running", "expected"),
    [
        (AT - 3 * HOUR, AT - 30 * MINUTE, 64, True, (30, 32, True)),  # 30 min × 64 accelerators
        (AT - 3 * HOUR, None, 64, True, (180, 192, False)),  # nothing saved: the whole run
        (AT - 1 * HOUR, AT - 5 * HOUR, 8, True, (60, 8, False)),  # the checkpoint is of an earlier run
        (AT - 3 * HOUR, AT, 64, True, (0, 0, True)),
        (AT - 3 * HOUR, AT + MINUTE, 64, True, (0, 0, True)),  # a clock that is ahead
        (AT - 3 * HOUR, None, 64, False, None),
        (AT - 3 * HOUR, None, 0, True, None),
        (None, None, 64, True, None),
    ],
)
def test_what_a_lost_node_would_cost(begun, saved, accelerators, running, expected):
    found = at_risk(now=AT, begun=begun, saved=saved, accelerators=accelerators, running=running)
    told = (found.minutes, found.accelerator_hours, found.saved) if found else None
    assert told == expected


def steps(*pairs, tokens=1000.0):
    return [Measure(step, AT + timedelta(minutes=minutes), tokens) for step, minutes in pairs]


def test_the_end_follows_from_the_measured_pace():
    points = steps(*((step, step) for step in range(0, 61, 10)))  # a step a minute
    found = forecast(points, 1500, AT + HOUR)
    assert found.pace.steps_per_day == pytest.approx(1440)
    assert found.pace.tokens_per_day == pytest.approx(1000 * 86_400)
    assert found.ends_at == AT + HOUR + timedelta(days=1)
    assert forecast(points, 1500, AT + HOUR, 2.0).ends_at == AT + HOUR + timedelta(days=0.5)


def test_a_stop_and_a_step_back_slow_the_forecast_down():
    points = steps((0, 0), (10, 10), (20, 20), (30, 30), (10, 90), (20, 100), (30, 110), (40, 120))
    found = pace(points)
    assert found.steps_per_day == pytest.approx(40 * 12)  # 40 steps in two hours, the hour that was lost included
    assert found.tokens_per_day == pytest.approx(1000 * 86_400 * 0.5)  # it moved for 60 of 120 minutes


@pytest.mark.parametrize(
    ("points", "total", "unknown"),
    [
        ([], 100, "no_steps"),
        (steps((1, 0)), 100, "no_steps"),
        (steps((1, 0), (2, 1)), 100, "too_short"),
        (steps((50, 0), (50, 30)), 100, "no_progress"),
        (steps((50, 0), (40, 30)), 100, "no_progress"),
        (steps((0, 0), (30, 30)), None, "no_target"),
        (steps((0, -300), (30, -270)), 100, "stale"),
    ],
)
def test_what_was_not_measured_is_not_forecast(points, total, unknown):
    found = forecast(points, total, AT + 30 * MINUTE)
    assert (found.unknown, found.ends_at) == (unknown, None)


DAY = timedelta(days=1)
TEN_A_DAY = Pace(1440, 10e9, None, AT - HOUR, AT)  # ten billion tokens a day


@pytest.mark.parametrize(
    ("target", "done", "unit", "pace", "gate_days", "asked", "expected"),
    [  # expected: (why not, days to the end, days to spare, done by the gate, needed a day)
        (300, 100, "billion_tokens", TEN_A_DAY, 40, None, ("", 20, 20, 300, 5)),
        (300, 100, "billion_tokens", TEN_A_DAY, 10, None, ("", 20, -10, 200, 20)),
        (300, 100, "billion_tokens", TEN_A_DAY, 10, WhatIf(nodes=2), ("", 10, 0, 300, 20)),
        (300, 100, "billion_tokens", TEN_A_DAY, 10, WhatIf(nodes=2, speed=0.5), ("", 20, -10, 200, 20)),
        (300, 100, "billion_tokens", TEN_A_DAY, 10, WhatIf(lost_days=5), ("", 25, -15, 150, 40)),
        (300, 100, "billion_tokens", TEN_A_DAY, 10, WhatIf(lost_days=10), ("", 30, -20, 100, None)),
        (300, 100, "billion_tokens", TEN_A_DAY, -3, None, ("", 20, -23, 100, None)),  # the gate has passed
        (300, 100, "billion_tokens", TEN_A_DAY, None, None, ("", 20, None, None, None)),
        (300, 300, "billion_tokens", None, 10, None, ("", 0, None, 300, 0)),
        (300, 310, "billion_tokens", TEN_A_DAY, 10, None, ("", 0, None, 300, 0)),
        (300, 0, "million_samples", TEN_A_DAY, 10, None, ("not_measured", None, None, None, 30)),
        (300, 0, "billion_tokens", None, 10, None, ("not_measured", None, None, None, 30)),
        (300, 0, "thousand_hours", TEN_A_DAY, 10, None, ("unit", None, None, None, 30)),
        (300, None, "billion_tokens", TEN_A_DAY, 10, None, ("no_done", None, None, None, None)),
        (None, 5, "billion_tokens", TEN_A_DAY, 10, None, ("no_target", None, None, None, None)),
        (300, 0, "billion_tokens", Pace(1, 1.0, None, AT, AT), 10, None, ("no_progress", None, None, None, 30)),
        (300, 0, "billion_tokens", Pace(1, 1e9, None, AT - 9 * HOUR, AT - 2 * HOUR), 10, None,
         ("stale", None, None, None, 30)),
    ],
)  # fmt: skip
def test_a_models_amount_against_the_stage_gate(target, done, unit, pace, gate_days, asked, expected):
    amount = Target(unit, *(None if n is None else Decimal(n) for n in (target, done)))
    gate = AT + gate_days * DAY if gate_days is not None else None
    told = aim(amount, pace, AT, gate, asked, live=True)
    days = (told.ends_at - AT) / DAY if told.ends_at else None
    found = (told.unknown, days, told.spare_days, told.by_gate, told.needed_per_day)
    assert found == pytest.approx(expected) if told.unknown == "" else found == expected


def test_what_a_run_counts_itself_is_a_measure_too():
    points = [
        Measure(n * 10, AT + n * 10 * MINUTE, consumed_tokens=n * 1e6, batch=64, mfu=40 + n % 2) for n in range(7)
    ]
    found = pace(points)
    assert found.tokens_per_day == pytest.approx(6e6 * 24)
    assert found.samples_per_day == pytest.approx(64 * 60 * 24)  # 60 steps in the hour
    assert found.mfu == pytest.approx(40 + 3 / 7)


def test_the_node_with_a_hardware_xid_is_the_likeliest_and_its_victims_are_none():
    nodes = [
        NodeTold("n1", AT, []),
        NodeTold("n2", AT - 3 * MINUTE, [Sign("xid_hardware", AT - 2 * MINUTE, "Xid 79")]),
        NodeTold("n3", AT, []),
    ]
    first, *others = weigh(nodes, AT)
    assert (first.name, first.confidence, first.reasons) == ("n2", 0.95, ("xid_hardware", "first_silent"))
    assert {node.confidence for node in others} == {0.0}


def test_what_happened_long_before_is_no_sign():
    (node,) = weigh([NodeTold("n1", AT, [Sign("node_bad", AT - 11 * MINUTE, "impaired")])], AT)
    assert node.confidence == 0
    (node,) = weigh([NodeTold("n1", AT, [Sign("node_bad", AT - 9 * MINUTE, "impaired")])], AT)
    assert node.confidence == 0.8


def test_without_trouble_nobody_is_suspected():
    (node,) = weigh([NodeTold("n1", AT, [Sign("xid_hardware", AT, "Xid 79")])], None)
    assert node.confidence == 0


@pytest.mark.parametrize(
    ("kind", "xid", "why"),
    [("xid", 79, "xid_hardware"), ("xid", 31, "xid"), ("communicator", None, None), ("device", None, "device"),
     ("exception", None, None), ("lost_process", None, "process_died")],
)  # fmt: skip
def test_a_complaint_of_the_communicator_is_no_evidence(kind, xid, why):
    assert sign_of(kind, xid) == why
