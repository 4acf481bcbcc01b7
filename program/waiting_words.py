"""The kinds of work that wait, in words: for the engine room's page. An unknown one is shown as it is."""

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy as _

from tenants.work.overview import Waiting

WORDS = {
    "account": _("Accounts to be read"),
    "leftovers": _("Deleted clusters whose leftovers are looked for again"),
    "case-mail": _("Mail about cases to be written"),
    "cluster": _("Clusters to be looked at"),
    "cluster-slow": _("Clusters whose programs run long"),
    "deliver": _("Messages to be sent"),
    "demo_jobs": _("Jobs of the demo to be launched"),
    "heartbeat": _("Heartbeat"),
    "import": _("Long files to be checked or imported"),
    "jobs": _("Clusters whose jobs are watched"),
    "launch-line": _("Clusters of planned launches to be checked"),
    "launch-preflight": _("Planned launches to be checked"),
    "minutes": _("Minutes to be written"),
    "newcomer": _("Newcomers to be given their seats"),
    "people": _("Access and invitations to be looked after"),
    "remind": _("Reminders before the weekly review"),
    "remind-records": _("Reminders of old parts of the record"),
    "remind-reports": _("Reminders of reports that are due"),
    "seal": _("Histories to be sealed"),
    "template-lint": _("Templates to be looked at by cfn-lint"),
    "tidy": _("Tidying up"),
    "triage": _("Failures to become cases"),
}


def in_words(kind: str) -> Any:
    return WORDS.get(kind, "")


def told(rows: list[Waiting]) -> list[dict[str, Any]]:
    """Rows of the overview with their words."""
    return [{**asdict(row), "words": in_words(row.kind)} for row in rows]
