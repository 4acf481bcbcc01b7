"""Long lists of nodes, written as short as Slurm writes them: ip-10-0-0-[1-16,20]. Pure."""

import re
from collections.abc import Iterable, Sequence

LAST_NUMBER = re.compile(r"^(.*?)(\d+)(\D*)$", re.DOTALL)


def folded(names: Iterable[str]) -> list[str]:
    """The names in their order, those that differ only in the last number of their host part as one entry."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    for name in dict.fromkeys(names):
        key, number = _parted(name)
        groups.setdefault(key, []).append(number)
    return [_written(key, numbers) for key, numbers in groups.items()]


def shortened(folded_names: Sequence[str], entries: int = 4, ranges: int = 3) -> list[str]:
    """At most so many entries of so many ranges each; what is left out is a dot or three."""
    told = []
    for one in folded_names[:entries]:
        before, bracket, rest = one.partition("[")
        inside, closing, after = rest.partition("]")
        parts = inside.split(",")
        kept = [*parts[:ranges], "…"] if len(parts) > ranges else parts
        told.append(f"{before}[{','.join(kept)}]{after}" if bracket and closing else one)
    return [*told, "…"] if len(folded_names) > entries else told


def by_number(name: str) -> tuple[str, str, int]:
    """To sort names as people count: node 2 before node 10."""
    (before, after, _padded), number = _parted(name)
    return before, after, number


def _parted(name: str) -> tuple[tuple[str, str, int], int]:
    """(what stands before its number, what after, to how many digits that is padded: 0 not, -1 no number), and it."""
    host, dot, domain = name.partition(".")
    found = LAST_NUMBER.match(host)
    if found is None or len(found[2]) > 6 or re.fullmatch(r"i-[0-9a-f]+", host):  # an instance's id is no number
        return (name, "", -1), 0
    padded = len(found[2]) if found[2].startswith("0") and len(found[2]) > 1 else 0
    return (found[1], found[3] + dot + domain, padded), int(found[2])


def _written(key: tuple[str, str, int], numbers: Sequence[int]) -> str:
    before, after, padded = key
    if padded < 0:
        return before
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    told = [f"{a:0{padded}d}" if a == b else f"{a:0{padded}d}-{b:0{padded}d}" for a, b in ranges]
    inside = told[0] if len(numbers) == 1 else f"[{','.join(told)}]"
    return f"{before}{inside}{after}"
