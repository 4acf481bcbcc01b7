"""Where the last lines of a log go on after what is already kept. Pure."""

from collections.abc import Sequence

PROBE = 20


def unseen(kept: Sequence[str], tail: Sequence[str]) -> tuple[list[str], bool]:
    """The lines of `tail` that follow `kept`, and whether they follow without a gap.

    The last lines that are kept are looked for in the tail, fewer and fewer of them where the tail begins later.
    """
    if not kept:
        return list(tail), True
    for size in range(min(PROBE, len(kept), len(tail)), 0, -1):
        probe = list(kept[-size:])
        if size < min(PROBE, len(kept)):  # fewer than all: only where the tail begins within them
            if list(tail[:size]) == probe:
                return list(tail[size:]), True
            continue
        for begin in range(len(tail) - size, -1, -1):
            if list(tail[begin : begin + size]) == probe:
                return list(tail[begin + size :]), True
    return list(tail), not tail
