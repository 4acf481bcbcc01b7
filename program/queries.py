"""Reads of the programme's view: reviews, their items in the order of the meeting, minutes, and every participant at a glance."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import states as cluster_states
from clusters.models import Cluster
from program.models import ActionItem, Minutes, Review, ReviewItem, Session
from support import clocks
from support import queries as cases
from support import states as case_states
from support.models import Case
from tenants.entries import NOTED, RECORD_ADDED, RECORD_CHANGED
from tenants.history.models import Entry
from tenants.history.seals import settled_until
from tenants.models import Assignment, Cycle, Participation, holding
from tenants.programme_day import programme_day
from tenants.wall.acting import reading_everyone

LONGEST_SESSION = timedelta(hours=24)  # what began before this is over


def reviews() -> QuerySet[Review]:
    """All reviews, newest first; they exist only for staff."""
    return Review.objects.select_related("cycle").order_by("-cutoff_at", "-number")


def sessions_ahead() -> QuerySet[Session]:
    """Sessions of the scope that are not over, the next first; customers' scopes hold the announced ones."""
    return Session.objects.filter(starts_at__gt=timezone.now() - LONGEST_SESSION, attended=None).order_by(
        "starts_at", "id"
    )


def review_items(review: Review) -> list[ReviewItem]:
    """The items of every participant, in the order of the meeting. Whoever holds a review may read them all."""
    with reading_everyone():
        rows = ReviewItem.objects.filter(review_id=review.pk).select_related("case", "owner", "tenant")
        return list(rows.order_by("position"))


@dataclass(frozen=True)
class Cutoffs:
    """The regular cut-offs around now, and the latest moment that an extra review can take."""

    last: datetime
    next: datetime
    extra: datetime


def cutoffs(cycle: Cycle, now: datetime) -> Cutoffs:
    """Which moments a freeze of this cycle may take, by the programme's day and hour."""
    programme = cycle.programme
    when = (programme.cutoff_weekday, programme.cutoff_time, programme.timezone)
    return Cutoffs(clocks.last_cutoff(now, *when), clocks.next_cutoff(now, *when), settled_until())


def minutes() -> QuerySet[Minutes]:
    """The minutes within the scope, newest first."""
    return Minutes.objects.order_by("-cutoff_at", "-id")


@dataclass(frozen=True)
class Reason:
    """Why a participant needs attention; `rank` 0 is worst."""

    code: str
    rank: int
    words: str


@dataclass
class Row:
    """One participant at a glance."""

    participation: UUID
    tenant: str
    name: str
    code: str
    project: str
    state: str
    cycle: str
    known_since: datetime  # when it was selected, or came into the portal
    lead: str = ""
    clusters: dict[str, int] = field(default_factory=dict)
    nodes_running: int = 0
    nodes_wanted: int = 0
    accelerated: int = 0
    accelerators: int = 0
    open_cases: dict[str, int] = field(default_factory=dict)
    last_contact: datetime | None = None
    record_changed: datetime | None = None
    reasons: list[Reason] = field(default_factory=list)

    @property
    def cases_total(self) -> int:
        return sum(self.open_cases.values())


def portfolio(now: datetime) -> list[Row]:
    """Every participant of the scope that still takes part, what needs attention first.

    The number of queries is the same for five participants and for a thousand.
    """
    rows: dict[UUID, Row] = {}
    tenants: dict[UUID, list[Row]] = {}
    stale_after: dict[UUID, timedelta] = {}
    today = programme_day(now)
    for found in _participations():
        row = Row(
            participation=found["id"],
            tenant=found["tenant__slug"],
            name=found["tenant__name"],
            code=found["code"],
            project=found["project"],
            state=found["state"],
            cycle=found["cycle__name"],
            last_contact=_latest(found["noted_at"], found["case_noted_at"]),
            record_changed=_latest(found["changed_at"], found["added_at"]),
            known_since=found["created_at"],
        )
        rows[found["id"]] = row
        tenants.setdefault(found["tenant_id"], []).append(row)
        stale_after[found["id"]] = timedelta(days=found["cycle__programme__stale_after_days"])
    told = {participation: Counter() for participation in rows}
    _add_leads(tenants, today)
    _add_clusters(rows, told)
    _add_cases(rows, tenants, told, now, today)
    _add_promises(tenants, told, today)
    for participation, row in rows.items():
        row.reasons = _reasons(row, told[participation], _is_stale(row, stale_after[participation], now))
    return sorted(rows.values(), key=lambda row: (*_urgency(row.reasons), row.name))


def _urgency(reasons: list[Reason]) -> tuple[Any, ...]:
    """Whoever has the worse reason comes first, then whoever has more of them."""
    return (reasons[0].rank if reasons else len(REASONS), -len(reasons))


def _latest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment), default=None)


def _participations() -> QuerySet[Any]:
    """Those that take part now, each with its last entries of some kinds: one walk of an index each, no grouping."""

    def last(kind: str, **more: Any) -> Subquery:
        entries = Entry.objects.filter(tenant=OuterRef("tenant_id"), kind=kind, **more)
        return Subquery(entries.order_by("-occurred_at").values("occurred_at")[:1])

    return (
        Participation.objects.exclude(state__in=("closed", "withdrawn"))
        .exclude(cycle__state="closed")
        .annotate(
            noted_at=last(NOTED),
            case_noted_at=last("case.noted", audience="shared"),
            changed_at=last(RECORD_CHANGED),
            added_at=last(RECORD_ADDED),
        )
        .order_by("tenant__name", "id")
        .values(
            "id",
            "tenant_id",
            "tenant__slug",
            "tenant__name",
            "code",
            "project",
            "state",
            "cycle__name",
            "cycle__programme__stale_after_days",
            "created_at",
            "noted_at",
            "case_noted_at",
            "changed_at",
            "added_at",
        )
    )


def _add_leads(tenants: dict[UUID, list[Row]], today: date) -> None:
    leads = Assignment.objects.filter(holding(today), duty="lead", tenant__in=list(tenants))
    for tenant, name, email in leads.values_list("tenant_id", "person__name", "person__email"):
        for row in tenants[tenant]:
            row.lead = name or email


def _add_clusters(rows: dict[UUID, Row], told: dict[UUID, Counter[str]]) -> None:
    counted = (
        Cluster.objects.filter(participation__in=list(rows))
        .exclude(state="deleted")
        .values("participation_id", "state")
        .annotate(
            count=Count("id"),
            running=Sum("nodes_running"),
            wanted=Sum("nodes_wanted"),
            accelerated=Sum("accelerated_wanted"),
            accelerators=Sum("accelerators_wanted"),
            unknown=Count("id", filter=~Q(unknown_since=None)),
            stopped=Count("id", filter=~Q(needs_person="")),
        )
    )
    for group in counted:
        row, tally = rows[group["participation_id"]], told[group["participation_id"]]
        row.clusters[group["state"]] = group["count"]
        row.nodes_running += group["running"]
        row.nodes_wanted += group["wanted"]
        row.accelerated += group["accelerated"]
        row.accelerators += group["accelerators"]
        tally["unknown_cluster"] += group["unknown"]
        tally["needs_person"] += group["stopped"]
        if group["state"] in cluster_states.BROKEN:
            tally[f"{group['state']}_cluster"] += group["count"]
        if group["state"] == "requested":
            tally["approval"] += group["count"]


def _add_cases(
    rows: dict[UUID, Row],
    tenants: dict[UUID, list[Row]],
    told: dict[UUID, Counter[str]],
    now: datetime,
    today: date,
) -> None:
    columns = (
        "tenant_id",
        "participation_id",
        "severity",
        "state",
        "opened_at",
        "reopened_at",
        "first_response_at",
        "severity_raised_at",
        "owner_id",
        "next_step",
        "next_step_due",
    )
    for case in Case.objects.filter(tenant__in=list(tenants), state__in=case_states.OPEN).values(*columns):
        for row in _rows_of(case, rows, tenants):
            tally = told[row.participation]
            row.open_cases[case["severity"]] = row.open_cases.get(case["severity"], 0) + 1
            if case["severity"] in ("critical", "urgent"):
                tally[f"{case['severity']}_case"] += 1
            if case["next_step_due"] is not None and case["next_step_due"] < today:
                tally["promise_overdue"] += 1
            if "response_overdue" in cases.attention(case, now):
                tally["response_overdue"] += 1


def _add_promises(tenants: dict[UUID, list[Row]], told: dict[UUID, Counter[str]], today: date) -> None:
    """Action items that are due before today, where the programme is; a case's next step is counted with the cases."""
    items = ActionItem.objects.filter(tenant__in=list(tenants), state="open").order_by()
    for tenant, due in items.values("tenant_id").annotate(day=Min("due")).values_list("tenant_id", "day"):
        for row in tenants[tenant]:
            told[row.participation]["promise_overdue"] += due < today


def _rows_of(case: dict[str, Any], rows: dict[UUID, Row], tenants: dict[UUID, list[Row]]) -> Iterable[Row]:
    """The case's participation, or every one of its tenant when it names none."""
    if case["participation_id"] is None:
        return tenants[case["tenant_id"]]
    return [rows[case["participation_id"]]] if case["participation_id"] in rows else []


def _is_stale(row: Row, after: timedelta, now: datetime) -> bool:
    return row.record_changed is None or now - row.record_changed > after


# Worst first: a participant with a critical case comes before one whose record is old.
REASONS = (
    "critical_case",
    "urgent_case",
    "failed_cluster",
    "degraded_cluster",
    "unknown_cluster",
    "needs_person",
    "response_overdue",
    "promise_overdue",
    "approval",
    "no_lead",
    "stale",
)


OF_STAFF = frozenset(
    {"response_overdue", "promise_overdue", "approval", "no_lead"}
)  # what a participant can do nothing about


def _reasons(row: Row, tally: Counter[str], stale: bool) -> list[Reason]:
    counts = Counter(tally)
    counts["no_lead"], counts["stale"] = int(not row.lead), int(stale)
    return [Reason(code, rank, _words(code, counts[code])) for rank, code in enumerate(REASONS) if counts[code]]


def _words(code: str, n: int) -> str:
    words = {
        "critical_case": lambda: ngettext("%(n)s critical case", "%(n)s critical cases", n),
        "urgent_case": lambda: ngettext("%(n)s urgent case", "%(n)s urgent cases", n),
        "failed_cluster": lambda: ngettext("%(n)s cluster failed", "%(n)s clusters failed", n),
        "degraded_cluster": lambda: ngettext("%(n)s cluster degraded", "%(n)s clusters degraded", n),
        "unknown_cluster": lambda: ngettext("no contact with %(n)s cluster", "no contact with %(n)s clusters", n),
        "needs_person": lambda: ngettext("%(n)s cluster waits for a person", "%(n)s clusters wait for a person", n),
        "response_overdue": lambda: ngettext("%(n)s response overdue", "%(n)s responses overdue", n),
        "promise_overdue": lambda: _("a promise is overdue"),
        "approval": lambda: ngettext("%(n)s approval waits", "%(n)s approvals wait", n),
        "no_lead": lambda: _("no lead architect"),
        "stale": lambda: _("tracking record is stale"),
    }
    return words[code]() % {"n": n}
