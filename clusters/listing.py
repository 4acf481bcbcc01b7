"""Lines of a preflight as pages show them: in the reader's words, grouped by who has to mend what does not fit."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import checking
from clusters.finding_words import SENTENCES, UNITS, WHO
from clusters.findings import Finding
from clusters.models import PreflightLine

VERDICTS = ("fail", "unknown", "mind", "pass")
TONES = {"fail": "bad", "unknown": "neutral", "mind": "warn", "pass": "good"}
ICONS = {"fail": "ban", "unknown": "help", "mind": "warn", "pass": "good"}


def of_line(row: PreflightLine) -> dict[str, Any]:
    """A line that was written down; one whose sentence this version no longer has is shown by its code."""
    finding = _finding(row)
    return (
        of_finding(finding)
        if finding
        else told(row) | {"who_word": row.who, "read_at": row.known_at} | _look(row.verdict)
    )


def told(row: PreflightLine) -> dict[str, Any]:
    """The same for programs."""
    finding = _finding(row)
    if finding:
        return checking.told(finding)
    level = {"pass": "ok", "fail": "refused"}.get(row.verdict, "warning")
    known_at = row.known_at.isoformat() if row.known_at else None
    blank = dict.fromkeys(("asked", "allowed", "unit", "suggestion", "advice"), "")
    return blank | {
        "code": row.code, "level": level, "verdict": row.verdict, "known_at": known_at, "field": row.field, "who": row.who,
        "sentence": row.code,
    }  # fmt: skip


def _finding(row: PreflightLine) -> Finding | None:
    if row.code not in SENTENCES or row.who not in WHO:
        return None
    told = row.told
    return Finding(
        row.code, told["level"], row.field, told["asked"], told["allowed"], row.unit, row.who, told["suggestion"],
        told["values"], row.known_at,
    )  # fmt: skip


def of_finding(finding: Finding) -> dict[str, Any]:
    return checking.told(finding) | {
        "who_word": _(WHO[finding.who]),
        "unit": _(UNITS[finding.unit]) if finding.unit in UNITS else finding.unit,
        "read_at": finding.known_at,
    } | _look(finding.verdict)  # fmt: skip


def _look(verdict: str) -> dict[str, Any]:
    return {"tone": TONES[verdict], "icon": ICONS[verdict], "word": PreflightLine.Verdict(verdict).label}


def _counted(verdict: str, n: int) -> str:
    words = {
        "fail": ngettext("%(n)s does not fit", "%(n)s do not fit", n),
        "unknown": ngettext("%(n)s not known", "%(n)s not known", n),
        "mind": ngettext("%(n)s to bear in mind", "%(n)s to bear in mind", n),
        "pass": ngettext("%(n)s fits", "%(n)s fit", n),
    }
    return words[verdict] % {"n": n}


def counts(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many of each verdict, the worst first; those of which there are none are left out."""
    found = list(lines)
    told = [{"verdict": name, "n": sum(line["verdict"] == name for line in found)} | _look(name) for name in VERDICTS]
    return [one | {"counted": _counted(one["verdict"], one["n"])} for one in told if one["n"]]


def by_who(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What does not simply fit, by who can change it, whoever has something to mend first; then all that fits."""
    groups: dict[str, list[dict[str, Any]]] = {}
    fine = []
    for line in lines:
        if line["verdict"] == "pass":
            fine.append(line)
        else:
            groups.setdefault(line["who"], []).append(line)
    rank = {name: place for place, name in enumerate(VERDICTS)}
    told = [
        {
            "who": who,
            "word": found[0]["who_word"],
            "lines": sorted(found, key=lambda line: rank[line["verdict"]]),
            "counts": counts(found),
        }
        for who, found in groups.items()
    ]
    told.sort(key=lambda group: min(rank[line["verdict"]] for line in group["lines"]))
    return [*told, *([{"who": "", "word": "", "lines": fine, "counts": counts(fine)}] if fine else [])]
