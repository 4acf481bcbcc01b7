"""Each reserved accelerator-second is in one class: the order as a table, and that nothing is lost or counted twice."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.accounting.time_classes import ORDER, Claim, Fact, Lane, classified

A, B, C = Lane("a", 8), Lane("b", 8), Lane("c", 16)
ONE = [Claim(0, 100, lane="a")]


def only(**seconds: int) -> dict[str, int]:
    return dict.fromkeys(ORDER, 0) | seconds


def on(kind: str, begins: int = 0, ends: int = 100, lane: str = "a", **more) -> Fact:
    return Fact(kind, begins, ends, frozenset({lane}), **more)


@pytest.mark.parametrize(("first", "second"), [*itertools.combinations(ORDER[:-1], 2)])
def test_of_two_things_that_are_so_the_one_that_comes_first_in_the_order_counts(first, second):
    for facts in ([on(first), on(second)], [on(second), on(first)], [on(first), Fact(second, 0, 100, None)]):
        assert classified([A], ONE, facts, 0, 100) == only(**{first: 800})


@pytest.mark.parametrize(
    ("lanes", "claims", "facts", "each", "found"),
    [
        ([A], [], [on("training")], 8, only()),  # nothing is reserved: nothing to class
        ([A], ONE, [], 8, only(idle=800)),
        ([A], ONE, [on("training", 20, 60)], 8, only(training=320, idle=480)),
        ([A], ONE, [on("training", 20, 60), on("stalled", 40, 70)], 8, only(training=160, stalled=240, idle=400)),
        ([A], ONE, [on("training", -50, 500)], 8, only(training=800)),  # began before, goes on after
        # A node that is well trains on while its cluster is being updated; the other one waits.
        (
            [A, B],
            [Claim(0, 100, lane="a"), Claim(0, 100, lane="b")],
            [on("training"), Fact("waiting_provider", 0, 100, None)],
            8,
            only(training=800, waiting_provider=800),
        ),
        # By number: what works is counted first, so that a spare seat does not hide it.
        ([A, B], [Claim(0, 100, count=1)], [on("training", lane="b")], 8, only(training=800)),
        # Reserved and no seat for it yet: the provider's, unless somebody else keeps him waiting.
        ([A], [Claim(0, 10, count=3)], [], 8, only(idle=80, waiting_provider=160)),
        ([], [Claim(0, 10, count=3)], [Fact("waiting_us", 0, 5, None)], 8, only(waiting_us=120, waiting_provider=120)),
        # A node that nobody knows by name any more still counts, on a lane that has nothing better to do.
        ([A, B], [Claim(0, 10, count=2)], [Fact("training", 0, 10, frozenset({"a"}), 1)], 8, only(training=160)),
        ([A, B], [Claim(0, 10, count=2)], [Fact("lent", 0, 10, frozenset(), 1), on("training")], 8, only(lent=80, training=80)),
        # Accelerators and not nodes are counted.
        ([A, C], [Claim(0, 10, lane="a"), Claim(0, 10, lane="c")], [on("training", lane="c")], 8, only(training=160, idle=80)),
    ],
)  # fmt: skip
def test_what_is_so_decides_on_the_class(lanes, claims, facts, each, found):
    assert classified(lanes, claims, facts, 0, 100, each=each) == found


lanes = st.lists(st.sampled_from([1, 8, 16]), min_size=0, max_size=4).map(
    lambda sizes: [Lane(str(number), size) for number, size in enumerate(sizes)]
)
edge = st.integers(-5, 35)
claims = st.lists(
    st.builds(lambda a, b, lane, count: Claim(min(a, b), max(a, b), lane, 0 if lane else count), edge, edge,
              st.sampled_from(["", "0", "1", "7"]), st.integers(0, 5)),
    max_size=4,
)  # fmt: skip
facts = st.lists(
    st.builds(
        lambda kind, a, b, where, unnamed: Fact(kind, min(a, b), max(a, b), where, unnamed),
        st.sampled_from(ORDER[:-1]),
        edge,
        edge,
        st.none() | st.frozensets(st.sampled_from(["0", "1", "2", "gone"])),
        st.integers(0, 3),
    ),
    max_size=6,
)


def reserved(found: list[Lane], held: list[Claim], second: int, each: int) -> int:
    """Written down apart from the function under test: accelerators that are reserved at a second."""
    now = [claim for claim in held if claim.begins <= second < claim.ends]
    by_name = [lane for lane in found if lane.key in {claim.lane for claim in now}]
    return sum(lane.accelerators for lane in by_name), sum(claim.count for claim in now), len(found) - len(by_name)


@given(lanes, claims, facts)
def test_the_classes_part_the_reserved_time_exactly(found, held, told):
    same = [Lane(lane.key, 8) for lane in found]  # whichever stands in, the number is the same
    whole = classified(same, held, told, 0, 30, each=8)
    expected = 0
    for second in range(30):
        named, count, _free = reserved(same, held, second, 8)
        expected += named + 8 * count
    assert sum(whole.values()) == expected
    assert min(whole.values()) >= 0
    # Cut anywhere, the pieces sum to the whole: days and months agree.
    for cut in (1, 13, 29):
        parts = (classified(found, held, told, 0, cut, each=8), classified(found, held, told, cut, 30, each=8))
        uncut = classified(found, held, told, 0, 30, each=8)
        assert {kind: parts[0][kind] + parts[1][kind] for kind in ORDER} == uncut
