"""Pure: what changed between two reviews, as lines that each name their entry; a participant without any is a line too."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from program.figures import CaseThen, Event, state_at
from support.states import CASE

DAY = 86_400

# What an entry that is not about a case tells the meeting. Kinds that are not here do not change the picture.
TOPICS: Mapping[str, str] = {
    "record.changed": "record",
    "record.added": "record",
    "record.removed": "record",
    "cluster.requested": "cluster",
    "cluster.approved": "cluster",
    "cluster.ready": "cluster",
    "cluster.updating": "cluster",
    "cluster.degraded": "cluster",
    "cluster.failed": "cluster",
    "cluster.deleted": "cluster",
    "node.replacing": "node",
    "nodes.replacing": "node",
    "node.impaired": "node",
    "nodes.impaired": "node",
    "account.read": "capacity",
    "job.running": "job",
    "job.succeeded": "job",
    "job.failed": "job",
    "job.timed_out": "job",
}
CAPACITY_SUBJECTS = ("quota", "service_quota", "reservation")
ORDER = (
    "new",
    "reopened",
    "resolved",
    "state",
    "severity",
    "owner",
    "due",
    "still",
    "record",
    "capacity",
    "cluster",
    "node",
    "job",
    "nothing",
)


@dataclass(frozen=True)
class Told:
    """An entry that is not about a case, as far as the diff needs it."""

    id: int
    tenant: str
    kind: str
    subject: str
    subject_id: str
    cluster: str
    at: datetime
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """One difference. `entry` is the newest entry behind it, None when nothing happened."""

    what: str
    tenant: str
    subject: str = ""
    subject_id: str = ""
    name: str = ""
    was: str = ""
    now: str = ""
    count: int = 1
    entry: int | None = None
    at: str = ""


def changes(
    events: Iterable[Event],
    told: Iterable[Told],
    counted_before: Callable[[Event], bool],
    tenants: Iterable[str],
    cutoff: datetime,
) -> list[dict[str, Any]]:
    """Every difference since what was `counted_before`, by participant and kind."""
    histories: dict[str, list[Event]] = {}
    for event in events:
        histories.setdefault(event.case, []).append(event)
    lines = [line for history in histories.values() for line in _of_case(history, counted_before, cutoff)]
    lines += _of_others(told)
    quiet = set(tenants) - {line.tenant for line in lines if line.what != "still"}
    lines += [Line("nothing", tenant) for tenant in quiet]
    return [asdict(line) for line in sorted(lines, key=_place)]


def _place(line: Line) -> tuple[Any, ...]:
    return line.tenant, ORDER.index(line.what), line.name, line.entry or 0


def _of_case(history: list[Event], counted_before: Callable[[Event], bool], cutoff: datetime) -> list[Line]:
    ordered = sorted(history, key=lambda event: (event.at, event.id))
    old = [event for event in ordered if counted_before(event)]
    since = [event for event in ordered if not counted_before(event)]
    now = state_at(ordered)
    was = state_at(old) if old else None
    found = [line for event in since if (line := _turn(event, now))]
    if was is not None and was.open:
        found += _net(was, now, ordered, since)
        if not found and now.open:
            found = [_still(now, ordered[-1], cutoff)]
    return found


def _turn(event: Event, now: CaseThen) -> Line | None:
    """Opening, ending and coming back are told each time they happen."""
    word = {"case.opened": "new", "case.reopened": "reopened", "case.resolved": "resolved"}.get(event.kind)
    if word is None:
        return None
    cause = str(event.facts.get("cause_code", "")) if word == "resolved" else ""
    return _line(word, now, event, "", cause or now.severity)


def _line(what: str, then: CaseThen, event: Event, was: str, now: str, count: int = 1) -> Line:
    return Line(
        what,
        then.tenant,
        "case",
        then.case,
        f"{then.number} {then.title}".strip(),
        was,
        now,
        count,
        event.id,
        event.at.isoformat(),
    )


def _net(was: CaseThen, now: CaseThen, ordered: list[Event], since: list[Event]) -> list[Line]:
    """State, severity, owner and date of a case that was open before, as one step from then to now."""
    found = []
    pairs = (
        ("state", was.state, now.state, lambda event: event.kind.partition(".")[2] in CASE),
        ("severity", was.severity, now.severity, lambda event: event.kind == "case.severity"),
        ("owner", was.owner or "", now.owner or "", lambda event: "owner" in event.facts),
        ("due", _day(was), _day(now), lambda event: event.kind == "case.planned"),
    )
    for what, before, after, about in pairs:
        behind = [event for event in since if about(event)]
        if before == after or not behind or (what == "state" and not now.open):
            continue
        found.append(_line(what, now, behind[-1], before, after, _moves(ordered) if what == "due" else 1))
    return found


def _day(then: CaseThen) -> str:
    return then.due.isoformat() if then.due else ""


def _moves(ordered: list[Event]) -> int:
    """How often the date was moved after it was first set."""
    days = [event.facts.get("due") for event in ordered if event.kind == "case.planned"]
    return sum(1 for before, after in zip(days, days[1:], strict=False) if before != after)


def _still(now: CaseThen, last: Event, cutoff: datetime) -> Line:
    days = int((cutoff - last.at).total_seconds() // DAY)
    return _line("still", now, last, now.state, now.state, days)


def _of_others(told: Iterable[Told]) -> list[Line]:
    """Records, capacity, clusters, nodes and jobs: one line for each thing and kind, with how often it happened."""
    grouped: dict[tuple[str, ...], list[Told]] = {}
    for one in told:
        topic = TOPICS.get(one.kind)
        if topic is None:
            continue
        if topic == "record" and one.subject in CAPACITY_SUBJECTS:
            topic = "capacity"
        # Seats of a cluster are told together: which of them sat where is on the cluster's own page.
        thing = one.cluster if topic == "node" else one.subject_id
        grouped.setdefault((one.tenant, topic, thing, one.kind), []).append(one)
    return [_group(topic, thing, rows) for (_tenant, topic, thing, _kind), rows in grouped.items()]


def _group(topic: str, thing: str, rows: list[Told]) -> Line:
    newest = max(rows, key=lambda one: (one.at, one.id))
    facts = newest.facts
    many = sum(int(one.facts.get("count", 1)) for one in rows) if topic == "node" else len(rows)
    name = facts.get("name") or facts.get("what") or facts.get("node") or facts.get("account") or ""
    fields = facts.get("fields")
    now = ", ".join(str(one) for one in fields) if isinstance(fields, list) else str(facts.get("why", "") or "")
    subject = "cluster" if topic == "node" else newest.subject
    return Line(
        topic, newest.tenant, subject, thing, str(name), newest.kind, now[:200], many, newest.id, newest.at.isoformat()
    )
