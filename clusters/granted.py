"""What of a grant is taken and free, by how instances are bought; pure. None allowed, not set and no limit are three things."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from clusters.findings import Finding

Word = Literal["limited", "none", "not_set", "unlimited"]
ANY = ""


@dataclass(frozen=True)
class Granted:
    """Instances of one type in one Region, by way of buying; `ANY` may be used for each of them. None: nothing is set."""

    by_option: Mapping[str, int] | None = None
    unlimited: bool = False

    @property
    def word(self) -> Word:
        if self.unlimited:
            return "unlimited"
        if self.by_option is None:
            return "not_set"
        return "limited" if self.total else "none"

    @property
    def total(self) -> int | None:
        """None where no number limits it."""
        if self.unlimited or self.by_option is None:
            return None
        return sum(max(count, 0) for count in self.by_option.values())

    def _of(self, option: str) -> int:
        return max((self.by_option or {}).get(option, 0), 0)

    def _from_any(self, taken: Mapping[str, int]) -> int:
        """What of `taken` its own kind of grant does not cover, so that it comes out of what is for any way."""
        return sum(max(0, count - (self._of(option) if option else 0)) for option, count in taken.items())

    def over(self, taken: Mapping[str, int]) -> int:
        """How many of what is taken nothing covers."""
        return 0 if self.total is None else max(0, self._from_any(taken) - self._of(ANY))

    def free(self, taken: Mapping[str, int], *options: str) -> int | None:
        """How many more may be taken these ways together; None where no number limits it."""
        if self.total is None:
            return None
        own = (max(0, self._of(option) - taken.get(option, 0)) for option in {*options} - {ANY})
        return max(0, self._of(ANY) - self._from_any(taken)) + sum(own)


@dataclass(frozen=True)
class Situation:
    """One type in one Region: granted, taken by the others and by the asking cluster itself, and what is to become free."""

    granted: Granted = field(default_factory=Granted)
    taken: Mapping[str, int] = field(default_factory=dict)
    mine: Mapping[str, int] = field(default_factory=dict)
    giving_back: int = 0  # held by clusters that are going or shrinking
    next_on: date | None = None  # from when more is granted
    next_more: int = 0
    next_until: date | None = None  # None: nothing ends it


def options(counts: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    """(type, option, count) as type -> option -> count."""
    found: dict[str, dict[str, int]] = {}
    for kind, option, count in counts:
        of_kind = found.setdefault(kind, {})
        of_kind[option] = of_kind.get(option, 0) + count
    return found


def findings(
    asked: Mapping[str, Mapping[str, int]],
    known: Mapping[str, Situation],
    region: str,
    paths: Mapping[str, str],
    *,
    refuses_not_set: bool = False,
) -> Iterator[Finding]:
    """What is asked for, by type and way of buying, held against what was granted. `paths` say where it is asked for.
    `refuses_not_set`: as the programme has it, what nobody has granted is refused and not only told."""
    for kind, wanted in sorted(asked.items()):
        now = known.get(kind, Situation())
        found = _finding(kind, wanted, now, region, paths.get(kind, "instance_groups"))
        more = any(count > now.mine.get(option, 0) for option, count in wanted.items())
        if refuses_not_set and found.code == "grant_not_set" and more:
            found = replace(found, code="grant_not_set_refused", level="refused")
        yield found


def _finding(kind: str, wanted: Mapping[str, int], now: Situation, region: str, path: str) -> Finding:
    count = sum(wanted.values())
    values = {
        "type": kind, "region": region, "used": sum(now.taken.values()), "giving_back": now.giving_back,
        "free": now.granted.free(now.taken, *(option for option, more in wanted.items() if more)) or 0,
        "next_on": now.next_on.isoformat() if now.next_on else "", "next_more": now.next_more,
        "next_until": now.next_until.isoformat() if now.next_until else "",
    }  # fmt: skip
    word = now.granted.word
    if word in ("unlimited", "not_set"):
        level: Literal["ok", "warning"] = "ok" if word == "unlimited" else "warning"
        return Finding(f"grant_{word}", level, path, count, "", "instances", "programme", values=values)
    allowed = now.granted.total
    if now.granted.over(_both(now.taken, wanted)) <= now.granted.over(_both(now.taken, now.mine)):
        return Finding("grant", "ok", path, count, allowed, "instances", "programme", values=values)
    code = "grant_none" if word == "none" else "grant_exceeded"
    if now.giving_back:
        code = "grant_exceeded_giving_back"
    elif now.next_on is not None:
        code = "grant_exceeded_later"
    return Finding(code, "refused", path, count, allowed, "instances", "programme", values=values)


def _both(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {option: one.get(option, 0) + other.get(option, 0) for option in {*one, *other}}
