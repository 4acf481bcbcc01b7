"""Pure: which nodes to test in pairs next, and what the answers say. A collective fails as a whole and names nobody; two
nodes at a time do: who fails with partners that each pass with somebody else is the one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Pair = tuple[str, str]
Result = Literal["passed", "failed", "missing"]
Word = Literal["named", "cleared", "unsure", "unanswered"]
Sure = Literal["certain", "likely", ""]
# One bad node is named after two rounds, two bad ones after three or four; more says only that nobody can tell.
MOST_ROUNDS = 8
ENOUGH = 2  # partners that are well themselves: with so many it failed by itself


@dataclass(frozen=True)
class Told:
    """What came of one pair."""

    pair: Pair
    result: Result


@dataclass(frozen=True)
class Verdict:
    """What is known of one node, how sure, and by which partners."""

    word: Word
    sure: Sure = ""
    failed_with: tuple[str, ...] = ()
    passed_with: tuple[str, ...] = ()


def _partners(node: str, told: Iterable[Told], result: Result) -> list[str]:
    """Each once, in the order of the tests; a pair that was tested again counts as it went last."""
    last = {one.pair: one.result for one in told if node in one.pair}
    return [pair[0] if pair[1] == node else pair[1] for pair, came in last.items() if came == result]


def verdict(node: str, told: Sequence[Told]) -> Verdict:
    """What the answers so far say of a node."""
    passed, failed = _partners(node, told, "passed"), _partners(node, told, "failed")
    well = [partner for partner in failed if _partners(partner, told, "passed")]
    if not passed and not failed:
        return Verdict("unanswered")
    if failed and not passed and well:
        return Verdict("named", "certain" if len(well) >= ENOUGH else "likely", tuple(well))
    if not passed:
        return Verdict("unsure", "", tuple(failed))
    # Both passed with others and failed together: a link between them, or a fault that comes and goes.
    if well:
        return Verdict("unsure", "", tuple(well), tuple(passed))
    return Verdict("cleared", "", tuple(failed), tuple(passed))


def next_round(nodes: Sequence[str], told: Sequence[Told], rounds: int) -> list[Pair]:
    """Pairs without a common node that can be tested at once; none when nothing more can be learned."""
    if rounds >= MOST_ROUNDS:
        return []
    tried = {frozenset(one.pair) for one in told}
    known = {node: verdict(node, told) for node in nodes}
    silent = {node for node in nodes if len(_partners(node, told, "missing")) >= ENOUGH}
    well = [node for node in nodes if _partners(node, told, "passed")]
    wanting = [node for node in nodes if node not in silent and node not in well and known[node].sure != "certain"]
    pairs: list[Pair] = []
    free = list(wanting)
    spare = [node for node in well if known[node].word == "cleared"] or well
    while free:
        node = free.pop(0)
        # A partner that is known to be well says most; where there is none, anybody not tried yet may turn out to be.
        choice = [other for other in (spare if told else []) if frozenset((node, other)) not in tried]
        choice = choice or [other for other in free if frozenset((node, other)) not in tried]
        if choice:
            pairs.append((node, choice[0]))
            spare = [other for other in spare if other != choice[0]]
            free = [other for other in free if other != choice[0]]
    return pairs


def named(nodes: Sequence[str], told: Sequence[Told]) -> list[str]:
    """The nodes that the answers name, the surest first."""
    found = [(verdict(node, told), node) for node in nodes]
    return [node for one, node in sorted(found, key=lambda each: each[0].sure != "certain") if one.word == "named"]
