"""Rules of the programme that its office may change: read by everybody, changed by a person, with old and new in the history."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from tenants import entries
from tenants.actions import plain, refuse_what_breaks_a_rule
from tenants.history import timeline
from tenants.models import Programme, Tenant
from tenants.web.problems import Refused, Stale

QUARANTINE = ("quarantine_strikes", "quarantine_days", "quarantine_event_minutes")
IDLE = ("idle_minutes", "idle_below_percent")
GRANTS = ("grant_not_set",)
BUDGET = ("budget_rule", "budget_counts", "budget_warn_at", "budget_notice_hours", "budget_patience_hours")
WHO = ("name", "sponsor", "agency", "timezone", "currency")
REVIEW = ("cutoff_weekday", "cutoff_time")
RECORD = ("stale_after_days",)
APPROVAL = ("approval_over_instances",)
PEOPLE = ("invitation_days", "confirm_access_days", "second_step_since", "second_step_grace_days")
CHANGEABLE = (*WHO, *REVIEW, *RECORD, *PEOPLE, *APPROVAL, *QUARANTINE, *IDLE, *GRANTS, *BUDGET)


def programme() -> Programme:
    """The programme of this portal; where none is written down yet, its rules are those that a new one has."""
    return Programme.objects.order_by("pk").first() or Programme()


def change(*, values: Mapping[str, Any], version: int, office: Tenant, by: str) -> Programme:
    """Change rules. Raises Stale for a version that is not the newest, Refused (422) with each field that breaks a limit."""
    row = Programme.objects.select_for_update().order_by("pk").first()
    if row is None:
        raise Refused("no_programme", _("No programme is written down yet; import one first."), status=409)
    changed = {name: (getattr(row, name), values[name]) for name in CHANGEABLE if name in values}
    changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
    if row.version != version:
        sentence = _("Somebody saved a newer version of %(what)s meanwhile. Compare, and save again.")
        raise Stale("stale", sentence % {"what": row.name}, version=row.version)
    if not changed:
        return row
    for name, (_before, after) in changed.items():
        setattr(row, name, after)
    refuse_what_breaks_a_rule(row)
    row.version += 1
    row.save(update_fields=[*changed, "version"])
    timeline.record(
        entries.RECORD_CHANGED,
        about=office,
        by=by,
        what=row.name,
        fields=sorted(changed),
        changes={name: [plain(before), plain(after)] for name, (before, after) in changed.items()},
    )
    return row
