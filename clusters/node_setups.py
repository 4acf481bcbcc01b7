"""A participant's own scripts for nodes: kept in versions after a look at what would go wrong, found again for a configuration."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from clusters import file_checks, states
from clusters.documents import secrets
from clusters.findings import Finding, untranslated
from clusters.models import NodeSetup, NodeSetupVersion
from clusters.wording import gettext_noop
from tenants.history import timeline
from tenants.models import Tenant
from tenants.web.problems import Refused, Stale

NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,39}")
LARGEST = 65_536
# What a node would stumble over, and what must not lie in a bucket; everything else is advice.
STOPS = frozenset({"carriage_return", "secret_inside", "file_empty", "too_large", "not_a_script", "source_unpinned"})


def findings(text: str) -> list[Finding]:
    """Everything that is known to go wrong with this script."""
    size = len(text.encode())
    if size > LARGEST:
        return [Finding("too_large", "refused", "text", size, LARGEST, "bytes")]
    found = [*file_checks.findings("setup.sh", text), *secrets.findings(text)]
    if text.strip() and not text.startswith("#!"):
        found.append(Finding("not_a_script", "refused", "text", text.splitlines()[0][:60], values={"line": 1}))
    return found


def keep(
    *, tenant: Tenant, name: str, text: str, by: str, reason: str = "", version: int | None = None
) -> NodeSetupVersion:
    """Write down a new version. Raises Refused: node_setup_name, node_setup_text, nothing_new; Stale for an older one."""
    name = name.strip()
    if not NAME.fullmatch(name):
        sentence = _(
            "'%(name)s' is no name for a node set-up: it has 1 to 40 lower-case letters, digits and single dashes."
        )
        raise Refused("node_setup_name", sentence % {"name": name[:60]}, status=422, field="name")
    found = findings(text)
    against = [each for each in found if each.code in STOPS]
    if against:
        sentence = " ".join(f"{each.sentence(_)} {each.advice(_)}".strip() for each in against[:3])
        raise Refused(
            "node_setup_text", sentence, status=422, field="text", findings=[each.code for each in against[:50]]
        )
    row, _made = NodeSetup.objects.get_or_create(tenant=tenant, name=name, defaults={"changed_at": Now()})
    row = NodeSetup.objects.select_for_update().get(pk=row.pk)
    if version is not None and row.version != version:
        raise Stale(
            "stale",
            _("Somebody saved a newer version of %(what)s meanwhile. Look at it, and save yours again.")
            % {"what": name},
            version=row.version,
        )
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    if NodeSetupVersion.objects.filter(setup=row, number=row.newest, sha256=sha256).exists():
        raise Refused("nothing_new", _("This is what version %(number)s says already.") % {"number": row.newest})
    kept = NodeSetupVersion.objects.create(
        tenant=tenant,
        setup=row,
        number=row.newest + 1,
        text=text,
        sha256=sha256,
        findings=[{"code": each.code, "sentence": each.sentence(), "line": each.values.get("line")} for each in found],
        author=by,
        reason=reason[:300],
    )
    NodeSetup.objects.filter(pk=row.pk).update(newest=kept.number, changed_at=Now(), version=F("version") + 1)
    timeline.record(states.NODE_SETUP_KEPT, about=row, by=by, name=name, number=kept.number, why=reason)
    return kept


def choices() -> list[tuple[str, str]]:
    """Every version that may be chosen, newest first within its name."""
    rows = NodeSetupVersion.objects.select_related("setup").order_by("setup__name", "-number")
    return [
        (
            f"{row.setup.name}@{row.number}",
            _("%(name)s, version %(number)s") % {"name": row.setup.name, "number": row.number},
        )
        for row in rows[:200]
    ]


def chosen(text: str) -> dict[str, Any] | None:
    """`drivers@3` as a configuration has it; None for nothing."""
    name, _at, number = text.partition("@")
    return {"name": name, "version": int(number)} if number.isdigit() and len(number) < 9 else None


def resolved(body: Any) -> tuple[Any, list[Finding]]:
    """The document with the checksum of the script that it names, and what is wrong with the name."""
    asked = body.get("node_setup") if isinstance(body, Mapping) else None
    if not isinstance(asked, Mapping) or not asked.get("name"):
        return body, []
    name, number = asked.get("name"), asked.get("version")
    rows = NodeSetupVersion.objects.filter(setup__name=str(name)[:40])
    known = isinstance(number, int) and not isinstance(number, bool) and 0 < number < 2**31
    row = rows.filter(number=number).first() if known else None
    if row is None or asked.get("sha256") not in (None, "", row.sha256):
        there = ", ".join(text for _value, text in choices()) or "–"
        return body, [Finding("node_setup_unknown", "refused", "node_setup", f"{name}, {number}"[:80], there[:300])]
    return {**body, "node_setup": {"name": name, "version": number, "sha256": row.sha256}}, []


REPORT = re.compile(r"cohort-participant-setup (\{.*\})")
SAID = re.compile(r"cohort-participant-said (.*)")


@dataclass(frozen=True)
class Failure:
    """A participant's script that ended badly on a node: nothing of ours is wrong."""

    name: str
    number: int
    code: int
    host: str
    lines: tuple[str, ...] = ()

    def sentence(self, translate: Callable[[str], str] = untranslated) -> str:
        said = " / ".join(self.lines) or "–"
        return translate(FAILED) % {
            "name": self.name, "number": self.number, "code": self.code, "host": self.host, "lines": said
        }  # fmt: skip


FAILED = gettext_noop(
    "The participant's own node set-up “%(name)s”, version %(number)s, ended with code %(code)s on %(host)s; its last "
    "lines: %(lines)s. It is not Cohort's script: save a version that works, choose it, and try again."
)


def failure(lines: Iterable[Mapping[str, Any]]) -> Failure | None:
    """What our wrapper reported of it in the lines of the nodes' set-up; the newest. Pure."""
    found, said = None, dict[str, list[str]]()
    for line in lines:
        node, text = str(line.get("node", "")), str(line.get("text", ""))
        if match := SAID.search(text):
            said.setdefault(node, []).append(match[1])
        elif match := REPORT.search(text):
            try:
                told = json.loads(match[1])
                found = Failure(
                    str(told["name"]),
                    int(told["version"]),
                    int(told["code"]),
                    str(told["host"]),
                    tuple(said.get(node, ())[-5:]),
                )
            except (ValueError, KeyError, TypeError):
                continue
    return found


def texts(sha256: str) -> dict[str, str]:
    """The script of this checksum."""
    row = NodeSetupVersion.objects.filter(sha256=sha256).values_list("text", flat=True).first()
    return {} if row is None else {sha256: row}
