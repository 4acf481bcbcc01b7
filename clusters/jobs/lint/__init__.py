"""What is wrong with a job before it is launched: scripts for Slurm and manifests for Kubernetes, whoever wrote them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clusters.documents.reading import Unreadable
from clusters.jobs.lint import manifests, slurm
from clusters.jobs.lint.around import NOWHERE, Around
from clusters.jobs.lint.words import Found

__all__ = ["LARGEST", "NOWHERE", "Around", "Found", "Linted", "kind_of", "lint"]

LARGEST = 1_000_000  # characters
MOST_FOUND = 200

Kind = Literal["slurm", "kubernetes"]


@dataclass(frozen=True)
class Linted:
    """What was found, errors first and then by line, and what the text says of itself."""

    kind: Kind
    found: tuple[Found, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Found, ...]:
        return tuple(each for each in self.found if each.severity == "error")

    @property
    def warnings(self) -> tuple[Found, ...]:
        return tuple(each for each in self.found if each.severity == "warning")

    @property
    def heals(self) -> bool:
        """Whether the job comes back by itself after a fault, by what is really written."""
        return bool(self.facts.get("auto_resume"))


def kind_of(text: str) -> Kind:
    """A manifest names its apiVersion; everything else is a script."""
    if text.startswith("#!"):
        return "slurm"
    return "kubernetes" if re.search(r"^\s*[\"']?apiVersion[\"']?\s*:", text[:LARGEST], re.M) else "slurm"


def lint(text: str, around: Around = NOWHERE, kind: Kind | None = None) -> Linted:
    """Look at a script or a manifest. Never raises, whatever the text is."""
    if len(text) > LARGEST:
        return Linted(kind or "slurm", (Found("too_long", 1, f"{len(text):,}", f"{LARGEST:,}"),))
    kind = kind or kind_of(text)
    try:
        found, facts = (manifests if kind == "kubernetes" else slurm).look(text, around)
    except Unreadable as error:
        line = int(error.finding.values.get("line", 1))
        more = [Found("placeholder_unfilled", int(each.values["line"]), each.asked) for each in error.more]
        return Linted(kind, (Found(error.finding.code, line, unreadable=error.finding), *more))
    ordered = sorted(dict.fromkeys((each.code, each.line, str(each.asked)) for each in found))
    first = {(each.code, each.line, str(each.asked)): each for each in reversed(found)}
    unique = sorted((first[key] for key in ordered), key=lambda each: (each.severity != "error", each.line, each.code))
    return Linted(kind, tuple(unique[:MOST_FOUND]), facts)
