"""Lists of nodes written short, as a table."""

import pytest

from clusters.node_lists import by_number, folded, shortened


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([], []),
        (["n1"], ["n1"]),
        ([f"ip-10-0-0-{n}" for n in range(1, 17)], ["ip-10-0-0-[1-16]"]),
        (["ip-10-0-0-3", "ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-9"], ["ip-10-0-0-[1-3,9]"]),
        (["ip-10-0-0-1", "ip-10-0-1-1", "ip-10-0-1-2"], ["ip-10-0-0-1", "ip-10-0-1-[1-2]"]),
        (["node-008", "node-009"], ["node-[008-009]"]),
        (["ip-10-0-0-1.eu.internal", "ip-10-0-0-2.eu.internal"], ["ip-10-0-0-[1-2].eu.internal"]),
        (["i-0a1b2c3d4e5f60001", "i-0a1b2c3d4e5f60002"], ["i-0a1b2c3d4e5f60001", "i-0a1b2c3d4e5f60002"]),
        (["login", "login", "gpu1a", "gpu2a"], ["login", "gpu[1-2]a"]),
        (["ip-10-0-0-1", "ip-10-0-0-1"], ["ip-10-0-0-1"]),
    ],
)
def test_names_are_folded(names, short):
    assert folded(names) == short


def test_people_count_two_before_ten():
    assert sorted(["n10", "n2", "a1"], key=by_number) == ["a1", "n2", "n10"]


def test_what_is_still_long_is_cut():
    scattered = folded(f"n{n}" for n in range(1, 20, 2))
    assert shortened(scattered) == ["n[1,3,5,…]"]
    assert shortened(["a", "b", "c[1-2]", "d", "e"]) == ["a", "b", "c[1-2]", "d", "…"]
