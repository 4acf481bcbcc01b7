"""What a freeze lays before the meeting beside the cases: the other nine inputs, each there even when nothing is recorded."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F, Max, Q

from clusters import architectures
from clusters.models import Cluster, Job, NodeInstance, Reservation
from program import usage
from program.changes import TOPICS, Told
from program.figures import CaseThen, Event
from program.measures import ActionThen, actions_at
from program.models import ActionItem, Report, Review, Session
from program.states import SESSION_SURVEYED, USED
from tenants.entries import RECORD_ADDED, RECORD_CHANGED, RECORD_REMOVED
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Cycle

AHEAD = timedelta(days=28)
CHUNK = 2_000
MOST = 500  # of one input; what is more is counted and not listed

ALARMS = (
    "account.denied",
    "cluster.contact_lost",
    "cluster.degraded",
    "cluster.failed",
    "node.impaired",
    "node.replacing",
    "nodes.impaired",
    "nodes.replacing",
    "part.failed",
)
JOB_ENDS = ("job.failed", "job.succeeded", "job.timed_out")


@dataclass(frozen=True)
class Window:
    """From the last cut-off to this one, and how far what was recorded is counted."""

    cycle: Cycle
    slugs: Mapping[UUID, str]  # of the participants, by tenant
    last: Review | None
    cutoff: datetime
    frozen_at: datetime

    @property
    def since(self) -> datetime | None:
        return self.last.cutoff_at if self.last else None

    def until(self) -> Q:
        return Q(occurred_at__lte=self.cutoff, recorded_at__lte=self.frozen_at)

    def new(self) -> Q:
        """What no review counted yet, whenever it happened."""
        if self.last is None:
            return self.until()
        late = Q(occurred_at__gt=self.last.cutoff_at) | Q(recorded_at__gt=self.last.frozen_at)
        return self.until() & late


def others(window: Window) -> list[Told]:
    """Entries that are not about cases and that the diff tells."""
    rows = Entry.objects.filter(window.new(), _not_ours(), tenant__in=list(window.slugs), kind__in=list(TOPICS))
    rows = rows.order_by("occurred_at", "id")
    columns = ("id", "tenant_id", "kind", "subject", "subject_id", "cluster", "occurred_at", "facts")
    return [
        Told(pk, window.slugs[tenant], kind, subject, str(thing), str(cluster or ""), at, facts)
        for pk, tenant, kind, subject, thing, cluster, at, facts in rows.values_list(*columns).iterator(
            chunk_size=CHUNK
        )
    ]


def _not_ours() -> Q:
    """Proof jobs belong to a cluster becoming ready and are no milestone of anybody's training."""
    return ~Q(subject=Job.SUBJECT, subject_id__in=Job.objects.exclude(purpose=Job.Purpose.TRAINING).values("pk"))


def actions(window: Window) -> list[ActionThen]:
    """Every action item as it stood at the cut-off, from its entries."""
    kinds = [name for name in timeline.KINDS if name.startswith(f"{ActionItem.SUBJECT}.")]
    rows = Entry.objects.filter(window.until(), kind__in=kinds).order_by("occurred_at", "id")
    columns = ("id", "subject_id", "tenant__slug", "kind", "occurred_at", "recorded_at", "facts")
    return actions_at(
        Event(pk, str(thing), slug, kind, at, recorded, facts)
        for pk, thing, slug, kind, at, recorded, facts in rows.values_list(*columns).iterator(chunk_size=CHUNK)
    )


def surveys(window: Window) -> list[tuple[int, Decimal]]:
    """Answers and mean of the sessions surveyed since the last review; of one that was corrected, what was said last."""
    office = Entry.objects.filter(window.new(), kind=SESSION_SURVEYED).order_by("occurred_at", "recorded_at", "id")
    said = {
        subject: (int(facts["answers"]), Decimal(facts["satisfaction"]))
        for subject, facts in office.values_list("subject_id", "facts")
    }
    return list(said.values())


def inputs(window: Window, open_cases: Iterable[CaseThen], items: Iterable[ActionThen]) -> dict[str, Any]:
    """The nine inputs beside open and resolved cases, as plain JSON. Runs while reading everyone."""
    cases = list(open_cases)
    return {
        "action_items": _action_items(items, window.cutoff),
        "decisions_awaited": _decisions_awaited(window, cases),
        "events": _events(window, cases),
        "capacity": _capacity(window),
        "usage": _usage(window),
        "version_drift": _drift(window),
        "reports_due": _reports(window),
        "sessions": _sessions(window),
        "stale_records": _stale(window),
    }


def _action_items(items: Iterable[ActionThen], cutoff: datetime) -> dict[str, Any]:
    day = cutoff.date()
    living = [item for item in items if item.open]
    return {
        "open": len(living),
        "due": sum(item.due is not None and day <= item.due <= day + timedelta(days=7) for item in living),
        "overdue": sum(item.overdue(day) for item in living),
        "items": [
            {
                "id": item.id,
                "tenant": item.tenant,
                "number": item.number,
                "text": item.text,
                "owner": item.owner,
                "due": item.due.isoformat() if item.due else None,
                "moves": item.moves,
                "overdue": item.overdue(day),
            }
            for item in living[:MOST]
        ],
    }


def _decisions_awaited(window: Window, cases: list[CaseThen]) -> list[dict[str, Any]]:
    """Cases that wait for a decision, and clusters that wait for an approval."""
    found = [
        {"tenant": then.tenant, "what": "case", "id": then.case, "name": f"{then.number} {then.title}"}
        for then in cases
        if then.state == "waiting_decision"
    ]
    kinds = ("cluster.requested", "cluster.approved", "cluster.deleted")
    waiting: dict[Any, dict[str, Any]] = {}
    rows = Entry.objects.filter(window.until(), tenant__in=list(window.slugs), kind__in=kinds).order_by(
        "occurred_at", "id"
    )
    for thing, tenant, kind, facts in rows.values_list("subject_id", "tenant_id", "kind", "facts").iterator(
        chunk_size=CHUNK
    ):
        if kind == "cluster.requested":
            waiting[thing] = {
                "tenant": window.slugs[tenant],
                "what": "cluster",
                "id": str(thing),
                "name": facts.get("name", ""),
            }
        else:
            waiting.pop(thing, None)
    return [*found, *list(waiting.values())[:MOST]]


def _events(window: Window, cases: list[CaseThen]) -> dict[str, Any]:
    """Alarms of nodes and the provider since the last cut-off, counted, and what is scheduled."""
    reported = [name for name in timeline.KINDS if name.startswith(("health.", "provider."))]
    rows = Entry.objects.filter(window.new(), tenant__in=list(window.slugs), kind__in=[*ALARMS, *reported])
    counts = Counter(
        (window.slugs[tenant], kind)
        for tenant, kind in rows.values_list("tenant_id", "kind").iterator(chunk_size=CHUNK)
    )
    return {
        "counted": [{"tenant": slug, "kind": kind, "count": n} for (slug, kind), n in sorted(counts.items())],
        "scheduled": [
            {
                "tenant": then.tenant,
                "case": then.case,
                "name": f"{then.number} {then.title}",
                "due": then.due.isoformat() if then.due else None,
            }
            for then in cases
            if then.state == "scheduled"
        ],
    }


def _capacity(window: Window) -> dict[str, Any]:
    """Reservations that end within four weeks, and what was changed of quotas."""
    ending = Reservation.objects.exclude(state="wanted").filter(
        tenant__in=list(window.slugs), ends_at__gt=window.cutoff, ends_at__lte=window.cutoff + AHEAD
    )
    columns = ("tenant_id", "external_id", "kind", "instance_type", "count", "region", "ends_at")
    changed = Entry.objects.filter(
        window.new(),
        tenant__in=list(window.slugs),
        subject__in=("quota", "capacity_request"),
        kind__in=(RECORD_ADDED, RECORD_CHANGED, RECORD_REMOVED, "capacity_request.granted"),
    )
    return {
        "reservations_ending": [
            {
                "tenant": window.slugs[tenant],
                "name": name,
                "kind": kind,
                "instance_type": typ,
                "count": n,
                "region": region,
                "ends_at": at.isoformat(),
            }
            for tenant, name, kind, typ, n, region, at in ending.order_by("ends_at", "external_id").values_list(
                *columns
            )[:MOST]
        ],
        "quotas_changed": [
            {"tenant": window.slugs[tenant], "entry": pk, "what": facts.get("what", "")}
            for pk, tenant, facts in changed.order_by("occurred_at", "id").values_list("id", "tenant_id", "facts")[
                :MOST
            ]
        ],
    }


def _usage(window: Window) -> dict[str, Any]:
    """How jobs ended, the hours of each cluster, what was reported before Cohort counted, and late checkpoints."""
    rows = Entry.objects.filter(window.new(), _not_ours(), tenant__in=list(window.slugs), kind__in=JOB_ENDS)
    counts: Counter[tuple[str, str, str]] = Counter()
    for tenant, cluster, kind in rows.values_list("tenant_id", "cluster", "kind").iterator(chunk_size=CHUNK):
        counts[window.slugs[tenant], str(cluster or ""), kind.partition(".")[2]] += 1
    return {
        "jobs": [
            {"tenant": slug, "cluster": cluster, "ended": word, "count": n}
            for (slug, cluster, word), n in sorted(counts.items())
        ],
        "hours": _hours(window),
        "reported": _reported(window),
        "checkpoints_late": _late_checkpoints(window),
    }


def _since(window: Window) -> Q:
    """Of rows with an end: what was still so after the last cut-off."""
    return Q() if window.since is None else Q(ends=None) | Q(ends__gt=window.since)


def _hours(window: Window) -> list[dict[str, Any]]:
    """Instance hours of each cluster's compute nodes in the window, and how many of them jobs ran in."""
    seats = NodeInstance.objects.filter(
        tenant__in=list(window.slugs), node__role="compute", sat_from__lt=window.cutoff
    ).annotate(ends=F("sat_until"))
    ran = Job.objects.filter(tenant__in=list(window.slugs), started_at__lt=window.cutoff).annotate(ends=F("ended_at"))
    there = usage.hours(
        (
            usage.Spell(str(cluster), begins, ends)
            for cluster, begins, ends in seats.filter(_since(window))
            .values_list("node__cluster_id", "sat_from", "ends")
            .iterator(chunk_size=CHUNK)
        ),
        window.since,
        window.cutoff,
    )
    busy = usage.hours(
        (
            usage.Spell(str(cluster), begins, ends, nodes)
            for cluster, begins, ends, nodes in ran.filter(_since(window))
            .values_list("cluster_id", "started_at", "ends", "nodes")
            .iterator(chunk_size=CHUNK)
        ),
        window.since,
        window.cutoff,
    )
    known = Cluster.objects.filter(pk__in=[*there, *busy]).order_by("tenant__slug", "name")
    return [
        {
            "tenant": window.slugs[tenant],
            "cluster": str(pk),
            "name": name,
            "instance_hours": round(there.get(str(pk), 0.0), 1),
            "busy_hours": round(busy.get(str(pk), 0.0), 1),
        }
        for tenant, pk, name in known.values_list("tenant_id", "pk", "name")
    ][:MOST]


def _reported(window: Window) -> list[dict[str, Any]]:
    """Weeks whose use was reported and not counted here."""
    rows = Entry.objects.filter(window.new(), tenant__in=list(window.slugs), kind=USED)
    return [
        {
            "tenant": window.slugs[tenant],
            "name": facts.get("cluster_name", ""),
            "week": facts.get("week", ""),
            "percent": facts.get("percent"),
            "reserved_hours": facts.get("reserved"),
        }
        for tenant, facts in rows.order_by("occurred_at", "id").values_list("tenant_id", "facts")[:MOST]
    ]


def _late_checkpoints(window: Window) -> list[dict[str, Any]]:
    """Training jobs that run at the cut-off and have saved nothing for longer than the limit."""
    rows = Job.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=window.cutoff),
        tenant__in=list(window.slugs),
        purpose=Job.Purpose.TRAINING,
        started_at__lt=window.cutoff - usage.CHECKPOINT_LIMIT,
    )
    columns = ("tenant_id", "pk", "name", "cluster__name", "started_at", "ended_at", "checkpoint_at", "checkpoint_step")
    found = []
    for tenant, pk, name, cluster, started, ended, saved, step in rows.order_by("started_at", "name").values_list(
        *columns
    ):
        late = usage.checkpoint_late(started, ended, saved, window.cutoff)
        if late is not None:
            hours = round(late.total_seconds() / 3600, 1)
            found.append(
                {
                    "tenant": window.slugs[tenant],
                    "job": str(pk),
                    "name": name,
                    "cluster": cluster,
                    "step": step,
                    "hours": hours,
                }
            )
    return found[:MOST]


def _drift(window: Window) -> list[dict[str, Any]]:
    """Clusters whose reference architecture has a newer version."""
    newest = {one.slug: one.version for one in architectures.architectures()}
    rows = Cluster.objects.filter(tenant__in=list(window.slugs), created_at__lte=window.cutoff).exclude(state="deleted")
    columns = ("tenant_id", "pk", "name", "architecture", "architecture_version")
    return [
        {"tenant": window.slugs[tenant], "cluster": str(pk), "name": name, "version": version, "newest": newest[slug]}
        for tenant, pk, name, slug, version in rows.order_by("tenant", "name").values_list(*columns)
        if slug in newest and newest[slug] != version
    ][:MOST]


def _reports(window: Window) -> list[dict[str, Any]]:
    """The cycle's own dates within the next four weeks, and the reports that participants owe by then or owed before."""
    day, far = window.cutoff.date(), (window.cutoff + AHEAD).date()
    dates = {"stage_gate": window.cycle.stage_gate_on, "final_report": window.cycle.final_report_due}
    found = [{"what": what, "due": due.isoformat()} for what, due in dates.items() if due and day <= due <= far]
    # An agreed report is owed no more; when it was agreed is in the history, and not in the row.
    agreed = Entry.objects.filter(window.until(), kind="report.accepted", tenant__in=list(window.slugs))
    rows = Report.objects.filter(tenant__in=list(window.slugs), due_on__lte=far, created_at__lte=window.frozen_at)
    rows = rows.exclude(pk__in=list(agreed.values_list("subject_id", flat=True))).order_by(
        "due_on", "kind", "tenant__slug"
    )
    owed: dict[tuple[str, str, str], list[str]] = {}
    for kind, period, due, tenant in rows.values_list("kind", "period", "due_on", "tenant_id")[:MOST]:
        owed.setdefault((kind, period, due.isoformat()), []).append(window.slugs[tenant])
    return [
        *found,
        *(
            {"what": f"{kind.replace('_', ' ')} {period} ({', '.join(slugs)})", "due": due}
            for (kind, period, due), slugs in owed.items()
        ),
    ]


def _sessions(window: Window) -> list[dict[str, Any]]:
    """What is taught within the next two weeks."""
    rows = Session.objects.filter(
        cycle=window.cycle,
        starts_at__gt=window.cutoff,
        starts_at__lte=window.cutoff + AHEAD / 2,
        created_at__lte=window.frozen_at,
    )
    return [
        {"tenant": "", "name": str(session), "at": session.starts_at.isoformat()}
        for session in rows.order_by("starts_at", "code")[:MOST]
    ]


def _stale(window: Window) -> list[dict[str, Any]]:
    """Participants whose tracking record nobody touched for longer than the programme's limit."""
    kinds = (RECORD_ADDED, RECORD_CHANGED, RECORD_REMOVED)
    rows = Entry.objects.filter(window.until(), tenant__in=list(window.slugs), kind__in=kinds)
    touched = dict(rows.values_list("tenant_id").annotate(at=Max("occurred_at")))
    limit = window.cutoff - timedelta(days=window.cycle.programme.stale_after_days)
    return [
        {"tenant": slug, "changed": touched[tenant].isoformat() if tenant in touched else None}
        for tenant, slug in sorted(window.slugs.items(), key=lambda pair: pair[1])
        if tenant not in touched or touched[tenant] < limit
    ]
