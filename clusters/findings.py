"""One thing that was checked: whether it fits, the numbers, and who can change it."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from django.utils.dateparse import parse_date
from django.utils.formats import date_format

from clusters.finding_words import ADVICE, ASKED_IN_WORDS, DAYS, NOT_KNOWN, SENTENCES, UNITS, UNTIL, WHO

Level = Literal["ok", "warning", "refused"]
Verdict = Literal["pass", "fail", "unknown", "mind"]


def untranslated(text: str) -> str:
    return text


@dataclasses.dataclass(frozen=True)
class Finding:
    """`asked` against `allowed`, in `unit`; `field` is the path in the configuration, `who` a key of WHO."""

    code: str
    level: Level
    field: str
    asked: Any = ""
    allowed: Any = ""
    unit: str = ""
    who: str = "you"
    suggestion: str = ""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    known_at: datetime | None = None  # how old the fact is that it was held against

    @property
    def verdict(self) -> Verdict:
        """Pass, fail, not known, or something to bear in mind; what is not known is never a pass."""
        if self.level == "ok":
            return "pass"
        if self.level == "refused":
            return "fail"
        return "unknown" if self.code in NOT_KNOWN else "mind"

    def sentence(self, translate: Callable[[str], str] = untranslated) -> str:
        """What was found."""
        ends = UNTIL if self.values.get("next_until") else {}
        return translate(ends.get(self.code, SENTENCES[self.code])) % self._words(translate)

    def advice(self, translate: Callable[[str], str] = untranslated) -> str:
        """What to do about it, and who can; empty when there is nothing to do."""
        advice = ADVICE.get(self.code, "")
        return translate(advice) % self._words(translate) if advice and self.level != "ok" else ""

    def _words(self, translate: Callable[[str], str]) -> dict[str, Any]:
        days = {} if translate is untranslated else {name: _day(self.values.get(name)) for name in DAYS}
        return {
            **self.values,
            **days,
            "field": self.field,
            "asked": translate(self.asked) if self.code in ASKED_IN_WORDS else self.asked,
            "allowed": self.allowed,
            "unit": translate(UNITS.get(self.unit, self.unit)),
            "who": translate(WHO[self.who]),
            "suggestion": self.suggestion,
        }


def _day(value: Any) -> str:
    """A day that is kept as text, as its reader writes days."""
    found = parse_date(value) if isinstance(value, str) and value else None
    return date_format(found, "DATE_FORMAT") if found else ""


ORDER: Mapping[str, int] = {"refused": 0, "warning": 1, "ok": 2}


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """Refusals first, then what is to be minded or not known, then what fits."""
    return sorted(found, key=lambda each: ORDER[each.level])


class Refusals(Exception):
    """A request that cannot be taken as it is: everything that is wrong with it at once."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(" ".join(finding.sentence() for finding in findings))
        self.findings = findings
