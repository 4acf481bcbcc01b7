"""What cfn-lint says of the templates that a cluster is made of: kept for each template, Region and release of the linter.

Linting takes seconds and much memory, so only the slow worker does it; everybody else reads what it found.
"""

import hashlib
import importlib.metadata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.conf import settings

from clusters.architectures.configuration import Configuration
from clusters.architectures.parts import parts
from clusters.findings import Finding
from clusters.models import TemplateVerdict
from clusters.providers import lint
from tenants.work import due

KIND = "template-lint"
SHOWN = 3


def templates(wish: Configuration) -> dict[str, str]:
    """Digest -> text of each template that this configuration is made with."""
    made_of = wish.made_of()
    made = {spec.role for spec in parts(made_of, wish)}
    texts = [made_of.text(part.template) for part in made_of.parts if part.template and part.role in made]
    return {hashlib.sha256(text.encode()).hexdigest(): text for text in texts}


@lru_cache(maxsize=1)
def linter() -> str:
    """The release of the linter that is installed; empty when there is none, or it is not to be used."""
    if not settings.LINT_TEMPLATES:
        return ""
    try:
        return importlib.metadata.version("cfn-lint")
    except importlib.metadata.PackageNotFoundError:
        return ""


def finding(wish: Configuration) -> Finding:
    """One line for all templates of a cluster: clean, with mistakes, or not looked at yet."""
    wanted = templates(wish)
    values: dict[str, Any] = {"region": wish.region, "linter": linter(), "count": len(wanted)}
    if not linter():
        return Finding("lint_off", "warning", "architecture", who="architect", values=values)
    rows = list(TemplateVerdict.objects.filter(digest__in=wanted, region=wish.region, linter=linter()))
    if len(rows) < len(wanted):
        return Finding("lint_unknown", "warning", "architecture", who="cohort", values=values)
    problems = [problem for row in rows for problem in row.problems]
    known_at = min((row.at for row in rows), default=None)
    if problems:
        values["says"] = "; ".join(f"{one['rule']} {one['line']}: {one['says']}" for one in problems[:SHOWN])
        return Finding(
            "lint_problems",
            "refused",
            "architecture",
            len(problems),
            0,
            who="architect",
            values=values,
            known_at=known_at,
        )
    return Finding("lint", "ok", "architecture", len(wanted), who="architect", values=values, known_at=known_at)


def wish_for(wish: Configuration) -> None:
    """Have the slow worker look at what nobody has looked at yet."""
    if linter() and finding(wish).code == "lint_unknown":
        due.wish(KIND, f"{wish.architecture} {wish.version} {wish.region}")


def keep(texts: Iterable[str], region: str) -> None:
    """Lint what has no verdict yet, and write it down. Not in a request, and in no transaction."""
    for text in texts:
        digest = hashlib.sha256(text.encode()).hexdigest()
        if linter() and not TemplateVerdict.objects.filter(digest=digest, region=region, linter=linter()).exists():
            problems = lint.problems(text, region)
            TemplateVerdict.objects.get_or_create(
                digest=digest, region=region, linter=linter(), defaults={"problems": problems}
            )
