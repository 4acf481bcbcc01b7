"""The minutes of one participant, in plain text, made of what exists for it and of nothing else."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from program.models import Review, ReviewItem
from support.models import Case, CaseNote
from tenants.history.models import Entry, Seal
from tenants.models import Tenant
from tenants.queries import actor_names

LONGEST_NOTE = 500


def minutes_of(tenant: Tenant, review: Review) -> str:
    """The text of a tenant's minutes. Runs while acting for this tenant alone."""
    with override(None):
        items = list(
            ReviewItem.objects.filter(review_id=review.pk).select_related("case", "owner").order_by("position")
        )
        notes = _notes(review, [item.case_id for item in items])
        parts = [_head(tenant, review, len(items))]
        parts += [_item(item, notes.get(item.case_id, [])) for item in items]
        parts += [_resolved(review), _seal(review)]
        return "\n\n".join(part for part in parts if part) + "\n"


def _head(tenant: Tenant, review: Review, items: int) -> str:
    counted = ngettext("%(n)s open case.", "%(n)s open cases.", items) % {"n": items}
    return "\n".join(
        (
            _("Minutes of review %(number)s, %(cycle)s") % {"number": review.number, "cycle": review.cycle},
            _("For %(tenant)s. State as of %(moment)s.") % {"tenant": tenant.name, "moment": _time(review.cutoff_at)},
            counted,
        )
    )


def _item(item: ReviewItem, notes: list[str]) -> str:
    due = item.next_step_due.isoformat() if item.next_step_due else "–"
    lines = [
        f"{item.case.number} {item.case.title}",
        _("%(severity)s, %(state)s, open for %(age)s days, %(times)s times on the agenda")
        % {
            "severity": item.severity_then,
            "state": item.state_then.replace("_", " "),
            "age": item.age_days,
            "times": item.times_on_agenda,
        },
        _("Owner: %(owner)s") % {"owner": item.owner or "–"},
        _("Next step: %(step)s (by %(due)s)") % {"step": item.next_step or "–", "due": due},
        *notes,
    ]
    return "\n".join(lines)


def _notes(review: Review, cases: list[Any]) -> dict[Any, list[str]]:
    """What was written on these cases since the last review, as far as this scope can see it."""
    rows = CaseNote.objects.filter(case__in=cases).order_by("at", "id")
    if review.previous_cutoff_at:
        rows = rows.filter(at__gt=review.previous_cutoff_at)
    written = list(rows)
    names = actor_names(note.author for note in written)
    found: dict[Any, list[str]] = {}
    for note in written:
        text = note.text if len(note.text) <= LONGEST_NOTE else f"{note.text[:LONGEST_NOTE]}…"
        found.setdefault(note.case_id, []).append(f"  {_time(note.at)} {names.get(note.author, note.author)}: {text}")
    return found


def _resolved(review: Review) -> str:
    rows = Entry.objects.filter(
        kind=f"{Case.SUBJECT}.resolved", occurred_at__lte=review.cutoff_at, recorded_at__lte=review.frozen_at
    )
    if review.previous_cutoff_at:
        rows = rows.filter(occurred_at__gt=review.previous_cutoff_at)
    entries = list(rows.order_by("occurred_at", "id"))
    if not entries:
        return ""
    titles = dict(Case.objects.filter(pk__in=[entry.subject_id for entry in entries]).values_list("pk", "title"))
    lines = [
        f"{entry.facts['number']} {titles.get(entry.subject_id, '')} ({entry.facts['cause']})" for entry in entries
    ]
    return "\n".join([_("Resolved since the last review:"), *lines])


def _seal(review: Review) -> str:
    """Printed outside the database, the digest anchors this tenant's history."""
    newest = Seal.objects.order_by("-until").first()
    frozen = _("Digest of the review: %(sha256)s") % {"sha256": review.sha256}
    if newest is None:
        return frozen
    sealed = _("Your history is sealed until %(until)s: %(digest)s") % {
        "until": _time(newest.until),
        "digest": newest.digest,
    }
    return f"{frozen}\n{sealed}"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")
