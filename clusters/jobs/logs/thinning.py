"""Fewer points of a curve without losing what an eye looks for: ends, extremes, and losses that are no number. Pure."""

from collections.abc import Callable, Sequence
from typing import TypeVar

P = TypeVar("P")


def thin(points: Sequence[P], most: int, value: Callable[[P], float | None], keep: Callable[[P], bool]) -> list[P]:
    """At most about `most` of the points, in their order: the first and the last, of each stretch the least and the
    greatest value, and up to a tenth of `most` of those that `keep` names."""
    if len(points) <= most:
        return list(points)
    chosen = {0, len(points) - 1}
    special = [index for index, point in enumerate(points) if keep(point)]
    chosen.update(special[-max(1, most // 10) :])
    stretches = max(1, (most - len(chosen)) // 2)
    for number in range(stretches):
        begin, end = len(points) * number // stretches, len(points) * (number + 1) // stretches
        told = [(each, index) for index in range(begin, end) if (each := value(points[index])) is not None]
        if told:
            chosen.update((min(told)[1], max(told)[1]))
        elif begin < end:
            chosen.add(begin)
    return [points[index] for index in sorted(chosen)]
