"""The suspect finder as a table: each bad node is named in the fewest rounds, and where nobody can tell, nobody is."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.jobs.pairs import MOST_ROUNDS, Told, named, next_round, verdict

Test = Callable[[str, str, int], str]


def searched(nodes: list[str], test: Test) -> tuple[list[Told], int]:
    """Run the plan to its end with a cluster that answers so."""
    told: list[Told] = []
    for number in range(MOST_ROUNDS + 1):
        pairs = next_round(nodes, told, number)
        if not pairs:
            return told, number
        flat = [node for pair in pairs for node in pair]
        assert len(flat) == len(set(flat)), "a node is in two pairs of a round"
        told += [Told(pair, test(*pair, number)) for pair in pairs]  # type: ignore[arg-type]
    raise AssertionError("it never ends")


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def bad(*which: str) -> Test:
    return lambda left, right, _round: "failed" if {left, right} & set(which) else "passed"


@pytest.mark.parametrize(
    ("count", "number"), [(count, number) for count in (4, 5, 6, 8, 9, 16) for number in range(count)]
)
def test_one_bad_node_among_many_is_named_for_certain_in_two_rounds(count, number):
    nodes = names(count)
    told, rounds = searched(nodes, bad(nodes[number]))
    assert named(nodes, told) == [nodes[number]]
    assert verdict(nodes[number], told).sure == "certain"
    # The one that is left over when the number is odd begins a round later.
    assert rounds <= (2 if count % 2 == 0 else 3)
    assert all(verdict(node, told).word == "cleared" for node in nodes if node != nodes[number])


@pytest.mark.parametrize("number", range(3))
def test_of_three_nodes_the_bad_one_is_named_in_three_rounds(number):
    told, rounds = searched(names(3), bad(f"n{number}"))
    assert (named(names(3), told), rounds) == ([f"n{number}"], 3)


@pytest.mark.parametrize("pair", [*itertools.combinations(names(6), 2)])
def test_two_bad_nodes_are_both_named_and_nobody_else(pair):
    told, rounds = searched(names(6), bad(*pair))
    assert set(named(names(6), told)) == set(pair)
    assert all(verdict(node, told).sure == "certain" for node in pair)
    assert rounds <= 4


@pytest.mark.parametrize("pair", [*itertools.combinations(names(4), 2)])
def test_two_bad_nodes_of_four_are_named(pair):
    told, _rounds = searched(names(4), bad(*pair))
    assert set(named(names(4), told)) == set(pair)


@pytest.mark.parametrize(
    ("nodes", "test", "word"),
    [
        (names(2), bad("n0"), "unsure"),  # one of the two, and nobody can say which
        (names(3), bad("n0", "n1"), "unsure"),  # nobody is left who is well
        (names(4), bad(*names(4)), "unsure"),
        (names(1), bad(), "unanswered"),  # no pair can be made
        (names(4), lambda *_: "missing", "unanswered"),
    ],
)
def test_where_nobody_can_tell_nobody_is_named(nodes, test, word):
    told, _rounds = searched(nodes, test)
    assert named(nodes, told) == []
    assert {verdict(node, told).word for node in nodes} == {word}


def test_all_well_is_one_round_and_everybody_cleared():
    told, rounds = searched(names(8), bad())
    assert rounds == 1 and {verdict(node, told).word for node in names(8)} == {"cleared"}


def test_a_fault_that_comes_and_goes_is_not_called_certain():
    """It fails once and passes later: the pair says that something was, and of whom nobody can be sure."""
    told, _rounds = searched(
        names(6), lambda left, right, number: "failed" if "n0" in (left, right) and number == 0 else "passed"
    )
    assert named(names(6), told) == []
    assert verdict("n0", told).word == "unsure" and verdict("n0", told).failed_with == ("n1",)


def test_a_node_that_does_not_answer_is_tried_twice_and_left_alone():
    def silent(left: str, right: str, _round: int) -> str:
        return "missing" if "n0" in (left, right) else "passed"

    told, _rounds = searched(names(6), silent)
    assert verdict("n0", told).word == "unanswered"
    assert sum("n0" in one.pair for one in told) == 2
    assert all(verdict(node, told).word == "cleared" for node in names(6)[1:])


@given(st.integers(1, 12), st.sets(st.integers(0, 11), max_size=12))
def test_whoever_is_well_is_never_named(count, which):
    """Whatever fails, a node that is well fails only with bad ones, which never pass: it is not called bad for it."""
    told, rounds = searched(names(count), bad(*(f"n{number}" for number in which)))
    assert set(named(names(count), told)) <= {f"n{number}" for number in which}
    assert rounds <= MOST_ROUNDS
    if count - len({number for number in which if number < count}) >= 3 and len(which) <= 2:
        assert set(named(names(count), told)) == {f"n{number}" for number in which if number < count}
