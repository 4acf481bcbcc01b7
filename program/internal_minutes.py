"""The office's version of the minutes: every participant's items, with what is internal, decisions, actions and lessons."""

from collections import defaultdict
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from program import states
from program.meeting import in_order
from program.minutes import action_line, decision_line, head, item_lines, moment_words, notes_since, seal_lines
from program.models import ActionItem, Decision, Review, ReviewItem
from support import clocks
from support.models import Case
from support.states import OPEN
from tenants.models import Tenant
from tenants.wall.acting import acting_for, reading_everyone


def internal_minutes(review: Review) -> str:
    """The text of the internal version, in plain text."""
    with override(None), reading_everyone():
        rows = ReviewItem.objects.filter(review_id=review.pk).select_related("case", "owner", "tenant")
        items = in_order(rows)
        notes = notes_since(review, [item.case_id for item in items])
        parts = [head(review, _("the programme office (internal)"), len(items)), _numbers(review)]
        parts += _groups(items, notes)
        parts += [_resolved(review), _capacity(review), _lessons(), _decisions(review), _actions(review)]
        names = dict(Tenant.objects.values_list("slug", "name"))
        parts.append(_changed(review, names))
    with acting_for(review.tenant_id, staff=True):
        parts.append("\n".join(seal_lines(review)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _numbers(review: Review) -> str:
    lines = [
        _("Numbers"),
        f"{review.open_before} + {review.opened} + {review.reopened} − {review.resolved} = {review.open_now}",
        _("open before + opened + reopened − resolved = open now; %(carried)s carried over, %(mitigated)s mitigated")
        % {"carried": review.carried, "mitigated": review.mitigated},
    ]
    bands = review.snapshot.get("bands", {})
    if bands:
        lines.append(
            _("By age in days: %(bands)s")
            % {"bands": ", ".join(f"{label}: {bands.get(label, 0)}" for _least, label in clocks.BANDS)}
        )
    return "\n".join(lines)


def _groups(items: list[ReviewItem], notes: dict[Any, list[str]]) -> list[str]:
    parts = []
    for code, label in states.AGENDA_GROUPS:
        group = [item for item in items if item.agenda_group == code]
        if not group:
            continue
        parts.append(f"{str(label).capitalize()} ({len(group)})")
        parts += [
            "\n".join([*item_lines(item, whose=item.tenant.name), *notes.get(item.case_id, [])]) for item in group
        ]
    return parts


def _resolved(review: Review) -> str:
    rows = review.snapshot.get("resolved", [])
    if not rows:
        return ""
    lines = [
        _("%(tenant)s %(number)s %(title)s: %(cause)s, %(hours)s instance hours lost")
        % {
            **{name: row[name] for name in ("tenant", "number", "title")},
            "cause": row["cause"] or "–",
            "hours": row["lost_hours"] or 0,
        }
        for row in rows
    ]
    return "\n".join([_("Resolved since the last review"), *lines])


def _capacity(review: Review) -> str:
    ending = review.snapshot.get("inputs", {}).get("capacity", {}).get("reservations_ending", [])
    lines = [
        f"{row['tenant']} {row['name']}: {row['count']} × {row['instance_type']}, {row['ends_at'][:10]}"
        for row in ending
    ]
    return "\n".join([_("Reservations that end within four weeks"), *lines]) if lines else ""


def _lessons() -> str:
    """Failures seen at two or more participants: each asks for an article, a check or a pinned version."""
    rows = Case.objects.filter(state__in=OPEN).exclude(signature="").values_list("signature", "tenant__name").distinct()
    seen: dict[str, set[str]] = defaultdict(set)
    for signature, name in rows:
        # A signature begins with the cluster, which no two participants share.
        seen[signature.partition("/")[2] or signature].add(name)
    lines = [f"{signature}: {', '.join(sorted(names))}" for signature, names in sorted(seen.items()) if len(names) > 1]
    return "\n".join([_("Seen at two or more participants"), *lines]) if lines else ""


def _decisions(review: Review) -> str:
    rows = (
        Decision.objects.filter(review_id=review.pk)
        .select_related("decided_by", "tenant")
        .order_by("number", "tenant__name")
    )
    lines = [decision_line(row) for row in {row.number: row for row in rows}.values()]
    return "\n".join([_("Decisions"), *lines]) if lines else ""


def _actions(review: Review) -> str:
    rows = ActionItem.objects.filter(review_id=review.pk).select_related("owner").order_by("number")
    lines = [action_line(row) for row in rows]
    return "\n".join([_("Action items"), *lines]) if lines else ""


def _changed(review: Review, names: dict[str, str]) -> str:
    counts: dict[str, int] = defaultdict(int)
    quiet = []
    for line in review.snapshot.get("changes", []):
        if line["what"] == "nothing":
            quiet.append(names.get(line["tenant"], line["tenant"]))
        else:
            counts[line["tenant"]] += 1
    lines = [
        ngettext("%(name)s: %(n)s change", "%(name)s: %(n)s changes", n) % {"name": names.get(slug, slug), "n": n}
        for slug, n in sorted(counts.items())
    ]
    if quiet:
        lines.append(_("Nothing changed: %(names)s") % {"names": ", ".join(sorted(quiet))})
    since = review.previous_cutoff_at
    title = _("Changes since %(moment)s") % {"moment": moment_words(since)} if since else _("Changes")
    return "\n".join([title, *lines]) if lines else ""
