"""The minutes of one participant, in plain text, made of what exists for it and of nothing else."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from program.models import ActionItem, Decision, Review, ReviewItem
from support.models import Case, CaseNote
from tenants.history.models import Entry, Seal
from tenants.models import Tenant
from tenants.queries import actor_names

LONGEST_NOTE = 500


def minutes_of(tenant: Tenant, review: Review) -> str:
    """The text of a tenant's minutes. Runs while acting for this tenant alone."""
    with override(None):
        items = list(
            ReviewItem.objects.filter(review_id=review.pk).select_related("case", "owner").order_by("late", "position")
        )
        notes = notes_since(review, [item.case_id for item in items])
        parts = [head(review, tenant.name, len(items))]
        parts += ["\n".join([*item_lines(item), *notes.get(item.case_id, [])]) for item in items]
        parts += [_resolved(review), _decisions(review), _actions(), "\n".join(seal_lines(review))]
        return "\n\n".join(part for part in parts if part) + "\n"


def head(review: Review, whom: str, items: int) -> str:
    """Which review, for whom, as of when, how much is open."""
    counted = ngettext("%(n)s open case.", "%(n)s open cases.", items) % {"n": items}
    if not items:
        counted = _("No case was open.")
    return "\n".join(
        (
            _("Minutes of review %(number)s, %(cycle)s") % {"number": review.number, "cycle": review.cycle},
            _("For %(tenant)s. State as of %(moment)s.") % {"tenant": whom, "moment": moment_words(review.cutoff_at)},
            counted,
        )
    )


def item_lines(item: ReviewItem, whose: str = "") -> list[str]:
    """One item: what it is, how it stood, and what the meeting settled."""
    due = item.next_step_due.isoformat() if item.next_step_due else "–"
    lines = [
        f"{whose} {item.case.number} {item.case.title}".strip(),
        ", ".join(
            (
                item.severity_then,
                item.state_then.replace("_", " "),
                ngettext("open for %(n)s day", "open for %(n)s days", item.age_days) % {"n": item.age_days},
                ngettext("%(n)s time on the agenda", "%(n)s times on the agenda", item.times_on_agenda)
                % {"n": item.times_on_agenda},
            )
        ),
        _("Owner: %(owner)s") % {"owner": item.owner or "–"},
        _("Next step: %(step)s (by %(due)s)") % {"step": item.next_step or "–", "due": due},
    ]
    if item.late:
        lines.append(_("Added after the cut-off; counted in the next review."))
    if item.times_reason:
        lines.append(_("Why it is here again: %(why)s") % {"why": item.times_reason})
    if item.outcome and item.outcome != ReviewItem.Outcome.SETTLED:
        lines.append(_("Outcome: %(outcome)s") % {"outcome": ReviewItem.Outcome(item.outcome).label})
    return lines


def notes_since(review: Review, cases: list[Any]) -> dict[Any, list[str]]:
    """What was written on these cases since the last review, as far as this scope can see it."""
    rows = CaseNote.objects.filter(case__in=cases).order_by("at", "id")
    if review.previous_cutoff_at:
        rows = rows.filter(at__gt=review.previous_cutoff_at)
    if review.published_at:
        rows = rows.filter(at__lte=review.published_at)
    written = list(rows)
    names = actor_names(note.author for note in written)
    found: dict[Any, list[str]] = {}
    for note in written:
        text = note.text if len(note.text) <= LONGEST_NOTE else f"{note.text[:LONGEST_NOTE]}…"
        found.setdefault(note.case_id, []).append(
            f"  {moment_words(note.at)} {names.get(note.author, note.author)}: {text}"
        )
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


def _decisions(review: Review) -> str:
    """What was decided for this participant in this review, as far as this scope can see it."""
    rows = Decision.objects.filter(review_id=review.pk).select_related("decided_by").order_by("number")
    lines = [decision_line(row) for row in rows]
    return "\n".join([_("Decisions"), *lines]) if lines else ""


def decision_line(row: Decision) -> str:
    who = f"{row.decided_by}, {row.authority}" if row.authority else str(row.decided_by)
    told = _("%(number)s %(text)s (%(who)s)") % {"number": row.number, "text": row.text, "who": who}
    return f"{told} {row.reason}" if row.reason else told


def _actions() -> str:
    """This participant's open action items, whenever they were given."""
    rows = ActionItem.objects.filter(state="open").select_related("owner").order_by("due", "number")
    lines = [action_line(row) for row in rows]
    return "\n".join([_("Action items"), *lines]) if lines else ""


def action_line(row: ActionItem) -> str:
    return _("%(number)s %(text)s: %(owner)s, by %(due)s") % {
        "number": row.number,
        "text": row.text,
        "owner": row.owner,
        "due": row.due.isoformat(),
    }


def seal_lines(review: Review) -> list[str]:
    """Printed outside the database, the digest anchors this tenant's history."""
    newest = Seal.objects.order_by("-until").first()
    frozen = _("Digest of the review: %(sha256)s") % {"sha256": review.sha256}
    if newest is None:
        return [frozen]
    sealed = _("Your history is sealed until %(until)s: %(digest)s") % {
        "until": moment_words(newest.until),
        "digest": newest.digest,
    }
    return [frozen, sealed]


def moment_words(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")
