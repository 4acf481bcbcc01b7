"""Scripts and manifests that a participant keeps: written down in versions after a look at what is wrong with them."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from clusters import states
from clusters.jobs import lint as job_lint
from clusters.models import JobScript, JobScriptVersion
from tenants.history import timeline
from tenants.models import Tenant
from tenants.web.problems import Refused, Stale

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,58}[A-Za-z0-9])?")
# What must not be written down at all; everything else is told and kept.
NEVER = frozenset({"secret_inside", "secret_in_plain_env", "too_long", "carriage_return"})
SHOWN = 5


def refuse_errors(linted: job_lint.Linted, *, accepted: bool) -> None:
    """Raises Refused: job_lint for errors, job_warnings for warnings that nobody accepted."""
    if linted.errors:
        raise Refused("job_lint", told(linted.errors), status=422, field="script", findings=codes(linted.errors))
    if linted.warnings and not accepted:
        sentence = _("There are warnings: accept them, or change the script.")
        findings = codes(linted.warnings)
        raise Refused(
            "job_warnings", f"{sentence} {told(linted.warnings)}", status=422, field="accept", findings=findings
        )


def told(found: tuple[job_lint.Found, ...]) -> str:
    """The first few in words, each with its line and what to do."""
    lines = [
        f"{_('Line %(line)s:') % {'line': each.line}} {each.reason(_)} {each.fix(_)}".strip() for each in found[:SHOWN]
    ]
    if more := len(found) - len(lines):
        lines.append(_("And %(n)s more.") % {"n": more})
    return " ".join(lines)


def codes(found: tuple[job_lint.Found, ...]) -> list[dict[str, Any]]:
    return [shape(each) for each in found[:50]]


def shape(each: job_lint.Found) -> dict[str, Any]:
    """A finding as the API and a version keep it."""
    return {
        "code": each.code,
        "severity": each.severity,
        "line": each.line,
        "reason": each.reason(_),
        "fix": each.fix(_),
    }


def keep(
    *,
    tenant: Tenant,
    name: str,
    text: str,
    by: str,
    reason: str = "",
    template: str = "",
    template_version: str = "",
    parameters: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> JobScriptVersion:
    """Write down a new version; the same text again is the version that is there. Raises Refused: script_name,
    script_text; Stale for an older one."""
    name = name.strip()
    if not NAME.fullmatch(name):
        sentence = _("“%(name)s” is no name for a script: it has 1 to 60 letters, digits, spaces, dots and dashes.")
        raise Refused("script_name", sentence % {"name": name[:60]}, status=422, field="name")
    linted = job_lint.lint(text)
    never = tuple(each for each in linted.found if each.code in NEVER)
    if never or not text.strip() or "\x00" in text:
        sentence = told(never) or _("The script is empty, or holds a character that no script has.")
        raise Refused("script_text", sentence, status=422, field="script")
    row, _made = JobScript.objects.get_or_create(tenant=tenant, name=name, defaults={"changed_at": Now()})
    row = JobScript.objects.select_for_update().get(pk=row.pk)
    if version is not None and row.version != version:
        raise Stale(
            "stale",
            _("Somebody saved a newer version of %(what)s meanwhile. Look at it, and save yours again.")
            % {"what": name},
            version=row.version,
        )
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    if same := JobScriptVersion.objects.filter(script=row, number=row.newest, sha256=sha256).first():
        return same
    kept = JobScriptVersion.objects.create(
        tenant=tenant,
        script=row,
        number=row.newest + 1,
        kind=linted.kind,
        text=text,
        sha256=sha256,
        template=template,
        template_version=template_version,
        parameters=dict(parameters or {}),
        findings=codes(linted.found),
        author=by,
        reason=reason[:300],
    )
    JobScript.objects.filter(pk=row.pk).update(newest=kept.number, changed_at=Now(), version=F("version") + 1)
    timeline.record(states.JOB_SCRIPT_KEPT, about=row, by=by, name=name, number=kept.number, why=reason)
    return kept
