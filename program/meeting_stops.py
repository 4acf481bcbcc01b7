"""The stops of a review meeting, in the order of its agenda: numbers, what is due, each case, capacity, lessons, the end."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from program.meeting import in_order, late_cases
from program.models import ActionItem, Decision, Review, ReviewItem
from program.trend import charts, trend
from support.models import Case
from support.states import OPEN
from tenants.models import Tenant
from tenants.wall.acting import reading_everyone


@dataclass(frozen=True)
class Stop:
    """Where the meeting can be: a part of the agenda, or one item of it."""

    key: str
    kind: str
    words: str
    item: ReviewItem | None = None

    @property
    def settled(self) -> bool:
        return self.item is not None and self.item.discussed_at is not None


def stops(review: Review, items: list[ReviewItem]) -> list[Stop]:
    """Every stop of this review."""
    return [
        Stop("numbers", "numbers", _("Numbers")),
        Stop("actions", "actions", _("Action items")),
        *(Stop(str(item.pk), "item", item.case.title, item) for item in in_order(items)),
        Stop("capacity", "capacity", _("Capacity and scheduled changes")),
        Stop("lessons", "lessons", _("Seen at several participants")),
        Stop("dates", "dates", _("Sessions, reports, stage gate")),
        Stop("end", "end", _("Read back")),
    ]


def numbers(review: Review) -> dict[str, Any]:
    """The balance, the bands and the trend of eight weeks."""
    weeks = trend(review.cycle, 8)
    return {
        "weeks": weeks,
        "chart": charts(weeks)["bands"] if len(weeks) > 1 else None,
        "bands": review.snapshot.get("bands", {}),
    }


def due_actions(review: Review, today: date) -> dict[str, Any]:
    """Action items that are due by the next review or overdue, the oldest date first."""
    horizon = date.fromordinal(today.toordinal() + 7)
    with reading_everyone():
        rows = (
            ActionItem.objects.filter(state="open").select_related("owner", "tenant", "case").order_by("due", "number")
        )
        found = list(rows[:200])
    return {
        "due": [row for row in found if row.due <= horizon],
        "later": [row for row in found if row.due > horizon],
        "today": today,
    }


def capacity(review: Review) -> dict[str, Any]:
    """What was frozen of reservations, quotas, scheduled changes, alarms and drift."""
    told = review.snapshot.get("inputs", {})
    kept, events = told.get("capacity", {}), told.get("events", {})
    return {
        "ending": named(kept.get("reservations_ending", [])),
        "quotas": named(kept.get("quotas_changed", [])),
        "scheduled": named(events.get("scheduled", [])),
        "alarms": [one | {"words": sentence_of(one["kind"])} for one in named(events.get("counted", []))],
        "drift": named(told.get("version_drift", [])),
        "awaited": named(told.get("decisions_awaited", [])),
        "hours": [one | {"percent": _percent(one)} for one in named(told.get("usage", {}).get("hours", []))],
        "reported": named(told.get("usage", {}).get("reported", [])),
        "checkpoints": named(told.get("usage", {}).get("checkpoints_late", [])),
    }


def _percent(one: dict[str, Any]) -> int | None:
    there = one["instance_hours"]
    return round(100 * one["busy_hours"] / there) if there else None


def named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a snapshot with their organisation's name: a snapshot keeps only the slug."""
    known = dict(Tenant.objects.values_list("slug", "name")) if rows else {}
    return [row | {"tenant_name": known.get(row["tenant"], row["tenant"])} for row in rows]


KINDS = {
    "account.denied": gettext_lazy("an account did not let us in"),
    "cluster.contact_lost": gettext_lazy("contact with a cluster lost"),
    "cluster.degraded": gettext_lazy("a cluster degraded"),
    "cluster.failed": gettext_lazy("a cluster failed"),
    "node.impaired": gettext_lazy("a node impaired"),
    "nodes.impaired": gettext_lazy("several nodes impaired"),
    "node.replacing": gettext_lazy("a node replaced"),
    "nodes.replacing": gettext_lazy("several nodes replaced"),
    "part.failed": gettext_lazy("a part of a cluster failed"),
}


def sentence_of(kind: str) -> Any:
    """What an alarm is, in words."""
    return KINDS.get(kind, kind)


def lessons(review: Review) -> dict[str, Any]:
    """Signatures of cases at two or more participants: an article, a check, or a pinned version?"""
    with reading_everyone():
        rows = list(
            Case.objects.filter(opened_at__lte=review.cutoff_at)
            .exclude(signature="")
            .select_related("tenant")
            .order_by("-opened_at")[:2_000]
        )
    found: dict[str, list[Case]] = defaultdict(list)
    for row in rows:
        found[row.signature].append(row)
    shared = [(signature, cases) for signature, cases in found.items() if len({case.tenant_id for case in cases}) > 1]
    return {"lessons": sorted(shared, key=lambda pair: (-sum(case.state in OPEN for case in pair[1]), pair[0]))}


def dates(review: Review) -> dict[str, Any]:
    told = review.snapshot.get("inputs", {})
    return {
        "reports": told.get("reports_due", []),
        "sessions": named(told.get("sessions", [])),
        "stale": named(told.get("stale_records", [])),
    }


def read_back(review: Review) -> dict[str, Any]:
    """What this meeting decided and gave out, to be read back; and what may still be added."""
    with reading_everyone():
        decisions = list(
            Decision.objects.filter(review_id=review.pk).select_related("decided_by", "tenant").order_by("number")
        )
        given = list(
            ActionItem.objects.filter(review_id=review.pk).select_related("owner", "tenant").order_by("number")
        )
    return {"decisions": decisions, "given": given, "late": late_cases(review)}


PARTS = {"numbers": numbers, "capacity": capacity, "lessons": lessons, "dates": dates, "end": read_back}
