"""Names that people take for one another: a letter or two left out, doubled, changed or swapped. Pure."""

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations

SHORT = 6  # letters; below it one slip is looked for, from it on two


class Names:
    """Short names and names that are there, to be found again by a mistyped one.

    Each is kept under what is left of it with a letter or two taken out, so that a look costs the same at any number of them.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self.slugs = set(known)
        self.by_name = {_letters(name): slug for slug, name in known.items() if _letters(name)}

    @cached_property
    def by_rest(self) -> dict[str, str]:
        """Made at the first look: most files name nobody who is not there."""
        found: dict[str, str] = {}
        for slug in sorted(self.slugs):
            for rest in _rests(slug):
                found.setdefault(rest, slug)
        return found

    def near(self, slug: str, name: str = "") -> str:
        """The short name that is there and that this one may have meant; "" for none, and for one that is there itself."""
        if slug in self.slugs:
            return ""
        same = self.by_name.get(_letters(name)) if _letters(name) else None
        return same or next((self.by_rest[rest] for rest in _rests(slug) if rest in self.by_rest), "")


def _letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _rests(text: str) -> list[str]:
    """What is left with nothing, one or two letters taken out, the longest first."""
    letters = _letters(text)[:40]
    out = range(min(2 if len(letters) >= SHORT else 1, max(0, len(letters) - 2)) + 1)
    return [
        "".join(letter for at, letter in enumerate(letters) if at not in gone)
        for n in out
        for gone in combinations(range(len(letters)), n)
    ]
