"""What a grant allows and what a cluster holds, as tables: none allowed, not set and no limit; nothing counts twice."""

from collections import Counter
from datetime import date

import pytest
from django.utils.translation import gettext
from hypothesis import given
from hypothesis import strategies as st

from clusters.granted import Granted, Situation, findings
from clusters.holding import Standing, difference, option_of, to_hold

P5 = "p5.48xlarge"
KINDS = frozenset({P5, "trn1.32xlarge"})


def body(count=0, kind=P5, **more):
    return {"instance_groups": [{"name": "g", "instance_type": kind, "count": count, "training_plan": "", **more}]}


@pytest.mark.parametrize(
    ("granted", "word", "total"),
    [
        (Granted(), "not_set", None),
        (Granted({}), "none", 0),
        (Granted({"": 0}), "none", 0),
        (Granted({"": -3}), "none", 0),
        (Granted({"": 4, "odcr": 2}), "limited", 6),
        (Granted({"": 0}, unlimited=True), "unlimited", None),
        (Granted(None, unlimited=True), "unlimited", None),
    ],
)
def test_none_not_set_and_no_limit_are_three_things(granted, word, total):
    assert (granted.word, granted.total) == (word, total)


@pytest.mark.parametrize(
    ("by_option", "taken", "option", "free", "over"),
    [
        ({"": 4}, {}, "on_demand", 4, 0),
        ({"": 4}, {"on_demand": 3}, "odcr", 1, 0),
        ({"": 4}, {"on_demand": 6}, "odcr", 0, 2),
        ({"odcr": 4}, {}, "on_demand", 0, 0),
        ({"odcr": 4}, {"on_demand": 1}, "odcr", 4, 1),
        ({"": 2, "odcr": 4}, {"odcr": 5}, "odcr", 1, 0),
        ({"": 2, "odcr": 4}, {"odcr": 5}, "on_demand", 1, 0),
        ({"": 2, "odcr": 4}, {"odcr": 3, "on_demand": 2}, "odcr", 1, 0),
        ({"": 2, "odcr": 4}, {"odcr": 3, "on_demand": 2}, "on_demand", 0, 0),
        (None, {"odcr": 5}, "odcr", None, 0),
    ],
)
def test_what_is_free_by_the_way_of_buying(by_option, taken, option, free, over):
    granted = Granted(by_option)
    assert (granted.free(taken, option), granted.over(taken)) == (free, over)


WAYS = st.dictionaries(st.sampled_from(["on_demand", "odcr", "training_plan"]), st.integers(0, 5))


@given(
    st.dictionaries(st.sampled_from(["", "on_demand", "odcr"]), st.integers(-2, 5)),
    WAYS,
    st.sampled_from(["on_demand", "odcr"]),
)
def test_what_is_free_fits_and_one_more_does_not(by_option, taken, option):
    granted = Granted(by_option)
    before, free = granted.over(taken), granted.free(taken, option)
    assert granted.over({**taken, option: taken.get(option, 0) + free}) == before
    assert granted.over({**taken, option: taken.get(option, 0) + free + 1}) == before + 1


@pytest.mark.parametrize(
    ("now", "asked", "code", "level", "says"),
    [
        (Situation(), 2, "grant_not_set", "warning", "has not set"),
        (Situation(Granted({})), 2, "grant_none", "refused", "allows none"),
        (Situation(Granted({}, True)), 2, "grant_unlimited", "ok", "no limit"),
        (Situation(Granted({"": 4}), {"odcr": 2}), 2, "grant", "ok", "grants 4"),
        (Situation(Granted({"": 4}), {"odcr": 2}), 3, "grant_exceeded", "refused", "2 are free"),
        (Situation(Granted({"": 4}), {"odcr": 4}, giving_back=3), 3, "grant_exceeded_giving_back", "refused", "of which 3"),
        (Situation(Granted({"": 4}), {"odcr": 4}, next_on=date(2027, 1, 5), next_more=8), 3, "grant_exceeded_later",
         "refused", "From 2027-01-05 on it grants 8 more"),
        (Situation(Granted({}), next_on=date(2027, 1, 5), next_more=4, next_until=date(2027, 3, 1)), 4,
         "grant_exceeded_later", "refused", "From 2027-01-05 until 2027-03-01 it grants 4 more"),
        # Less was granted meanwhile: to become smaller is never refused, to become larger is.
        (Situation(Granted({"": 4}), {"odcr": 3}, {"on_demand": 5}), 4, "grant", "ok", "grants 4"),
        (Situation(Granted({"": 4}), {"odcr": 3}, {"on_demand": 5}), 6, "grant_exceeded", "refused", "1 are free"),
    ],
)  # fmt: skip
def test_a_request_held_against_the_grant(now, asked, code, level, says):
    [found] = findings({P5: {"on_demand": asked}}, {P5: now}, "us-east-1", {P5: "instance_groups[0].count"})
    assert (found.code, found.level, found.field) == (code, level, "instance_groups[0].count")
    assert says in found.sentence()
    assert found.level == "ok" or "the programme's office" in found.advice()


def test_a_person_reads_days_as_people_write_them():
    later = Situation(Granted({}), next_on=date(2027, 4, 19), next_more=4, next_until=date(2027, 7, 11))
    [found] = findings({P5: {"on_demand": 4}}, {P5: later}, "ap-northeast-1", {})
    assert "From 19 April 2027 until 11 July 2027 it grants 4 more." in found.sentence(gettext)


def test_what_is_not_set_is_refused_where_the_programme_says_so_unless_nothing_is_added():
    for now, level in [(Situation(), "refused"), (Situation(mine={"on_demand": 2}), "warning")]:
        [found] = findings({P5: {"on_demand": 2}}, {P5: now}, "r", {}, refuses_not_set=True)
        assert found.level == level
    assert "its rule refuses" in list(findings({P5: {"odcr": 1}}, {}, "r", {}, refuses_not_set=True))[0].sentence()


@pytest.mark.parametrize(
    ("group", "option"),
    [
        ({}, "on_demand"),
        ({"training_plan": "tp"}, "training_plan"),
        ({"reservation": "cr-1", "capacity": "on-demand"}, "odcr"),
        ({"reservation": "cr-1", "capacity": "capacity-block"}, "capacity_block"),
    ],
)
def test_how_a_group_is_bought(group, option):
    assert option_of(group) == option


ON = (P5, "on_demand")


@pytest.mark.parametrize(
    ("now", "held"),
    [
        (Standing("requested", [(1, body(4))]), {ON: 4}),
        (Standing("failed", [(1, body(4))]), {ON: 4}),
        (Standing("deleting", [(1, body(4))], 1), {ON: 4}),
        (Standing("deleted", [(1, body(4))], 1), {}),
        # It grows: from the request on, waiting or under way.
        (Standing("ready", [(1, body(4))], 1, waiting=body(6)), {ON: 6}),
        (Standing("updating", [(1, body(4)), (2, body(6))], 1, under_way=True), {ON: 6}),
        # It shrinks: not before it is done.
        (Standing("ready", [(1, body(4))], 1, waiting=body(2)), {ON: 4}),
        (Standing("updating", [(1, body(4)), (2, body(2))], 1, under_way=True), {ON: 4}),
        (Standing("ready", [(2, body(2))], 2), {ON: 2}),
        # It failed half-way: the larger one may be there. It was given up before anything was asked: it is not.
        (Standing("failed", [(1, body(4)), (2, body(6))], 1), {ON: 6}),
        (Standing("degraded", [(1, body(4)), (2, body(6)), (3, body(4))], 1), {ON: 4}),
        (Standing("updating", [(1, body(4)), (2, body(6)), (3, body(4))], 1, under_way=True), {ON: 6}),
        # Another way of buying is not another instance.
        (Standing("updating", [(1, body(4)), (2, body(4, training_plan="tp"))], 1, under_way=True),
         {(P5, "training_plan"): 4}),
        (Standing("updating", [(1, body(4)), (2, body(3, training_plan="tp"))], 1, under_way=True),
         {(P5, "training_plan"): 3, ON: 1}),
        (Standing("updating", [(1, body(4)), (2, body(2, "trn1.32xlarge"))], 1, under_way=True),
         {ON: 4, ("trn1.32xlarge", "on_demand"): 2}),
        (Standing("ready", [(1, body(4, "m5.8xlarge"))], 1), {}),
        (Standing("ready", [(1, body(4, "ml.p5.48xlarge"))], 1), {ON: 4}),
    ],
)  # fmt: skip
def test_what_a_cluster_holds(now, held):
    assert dict(to_hold(now, KINDS)) == held


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=5), st.booleans(), st.integers(0, 5), st.none() | st.integers(0, 9)
)
def test_rows_bring_the_sum_there_once(counts, under_way, done, waiting):
    rows = [(number, body(count)) for number, count in enumerate(counts, 1) if number >= min(done, len(counts))]
    now = Standing("updating", rows, min(done, len(counts)), under_way, None if waiting is None else body(waiting))
    wanted = to_hold(now, KINDS)
    assert wanted.total() >= counts[-1] and wanted.total() <= max([*counts, waiting or 0])
    missing = difference(wanted, {ON: 3})
    after = Counter({ON: 3})
    after.update(missing)
    assert +after == wanted and difference(wanted, after) == {}
