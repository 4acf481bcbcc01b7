"""What was so of a cluster between two moments: its seats, what was reserved, and everything that decides on a class."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from clusters import states
from clusters.accounting.time_classes import Claim, Fact, Kind, Lane
from clusters.actions.node_orders import host
from clusters.models import (
    Cluster,
    Job,
    JobRun,
    Lending,
    Node,
    NodeInstance,
    NodeSpell,
    Operation,
    Reservation,
    Revision,
)
from tenants.history.models import Entry

# Nobody can train on a cluster or a node in these states; in whose hands it lies then.
CLUSTER_WAITS: Mapping[str, Kind] = {
    "requested": "waiting_us",
    "approved": "waiting_provider",
    "creating": "waiting_provider",
    "updating": "waiting_provider",
    "deleting": "waiting_provider",
    "failed": "waiting_us",
}
NODE_WAITS = frozenset({"pending", "checking", "impaired", "replacing", "gone"})
OURS = frozenset({Job.Purpose.PROOF, Job.Purpose.PROBE})  # jobs by which we look whether nodes are well


@dataclass(frozen=True)
class Known:
    """Everything that `time_classes` wants to know; `each` is what a node without a seat would have."""

    lanes: list[Lane]
    claims: list[Claim]
    facts: list[Fact]
    each: int


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def known(row: Cluster, since: datetime, until: datetime) -> Known:
    """Read it, within the scope of the cluster's tenant."""
    nodes = list(Node.objects.filter(cluster=row, role="compute", accelerators__gt=0).order_by("group", "seat"))
    lanes = [Lane(str(node.pk), node.accelerators) for node in nodes]
    each = max((node.accelerators for node in nodes), default=_each(row))
    told = _history(row, until)
    begins, ends = seconds(since), seconds(until)
    sits = _sits(nodes, since, until)
    facts = [
        *_cluster_waits(told, row, ends),
        *_owner_waits(told, ends),
        *_approvals(row, since, ends),
        *_empty(lanes, sits, begins, ends),
        *_ill(nodes, since, until),
        *_runs(row, nodes, since, until),
        *_lent(row, since, ends),
    ]
    return Known(lanes, _claims(row, told, sits, begins, ends), facts, each)


def _each(row: Cluster) -> int:
    return row.accelerators_wanted // row.accelerated_wanted if row.accelerated_wanted else 0


def names_of(node: Node) -> set[str]:
    """The names under which a scheduler may know a node."""
    found = {node.name, node.instance_id, f"hyperpod-{node.instance_id}"}
    return {name for name in found | ({host(node.private_ip)} if node.private_ip else set()) if name}


def kubernetes_name(instance: str) -> str:
    """What Kubernetes calls an instance of HyperPod, and the label by which a pod asks for it."""
    return f"hyperpod-{instance}"


def scheduler_name(node: Node, orchestrator: str = "") -> str:
    """What its scheduler calls it."""
    if orchestrator == "hyperpod-eks":
        return kubernetes_name(node.instance_id)
    return host(node.private_ip) if node.private_ip else node.name


def by_name(nodes: Sequence[Node]) -> dict[str, Node]:
    return {name: node for node in nodes for name in names_of(node)}


def found_by(names: Sequence[Any], known_names: Mapping[str, Node]) -> list[Node]:
    """The nodes of these names; a domain behind a name says nothing more."""
    hits = (known_names.get(str(name)) or known_names.get(str(name).partition(".")[0]) for name in names)
    return [node for node in hits if node is not None]


def _overlapping(rows: QuerySet[Any], since: datetime, until: datetime, begin: str, end: str) -> QuerySet[Any]:
    return rows.filter(Q(**{end: None}) | Q(**{f"{end}__gt": since}), **{f"{begin}__lt": until})


def _history(row: Cluster, until: datetime) -> list[tuple[str, datetime]]:
    """What the history says of the cluster itself and of its operations, in order; few lines even of a long life."""
    kinds = [f"cluster.{state}" for state in states.CLUSTER]
    kinds += [states.FLEET_STOP, states.FLEET_START, states.OPERATION_WAITS, states.OPERATION_GOES_ON]
    rows = Entry.objects.filter(kind__in=kinds, cluster=row.pk, occurred_at__lt=until)
    return list(rows.order_by("occurred_at", "id").values_list("kind", "occurred_at"))


def _cluster_waits(told: list[tuple[str, datetime]], row: Cluster, ends: int) -> Iterator[Fact]:
    steps = [(kind.partition(".")[2], at) for kind, at in told if kind.partition(".")[2] in states.CLUSTER]
    for number, (state, at) in enumerate(steps):
        until = seconds(steps[number + 1][1]) if number + 1 < len(steps) else ends
        if state in CLUSTER_WAITS:
            yield Fact(CLUSTER_WAITS[state], seconds(at), until, None)


def _owner_waits(told: list[tuple[str, datetime]], ends: int) -> Iterator[Fact]:
    """The account's owner shut us out, or somebody there stopped the fleet: what is reserved waits for the participant."""
    for begin, end in ((states.OPERATION_WAITS, states.OPERATION_GOES_ON), (states.FLEET_STOP, states.FLEET_START)):
        since: datetime | None = None
        for kind, at in told:
            if kind == begin and since is None:
                since = at
            elif kind == end and since is not None:
                yield Fact("waiting_participant", seconds(since), seconds(at), None)
                since = None
        if since is not None:
            yield Fact("waiting_participant", seconds(since), ends, None)


def _approvals(row: Cluster, since: datetime, ends: int) -> Iterator[Fact]:
    """Operations that waited for somebody else's agreement."""
    rows = Operation.objects.filter(cluster=row).exclude(second_person="")
    for asked, begun, over in rows.values_list("created_at", "started_at", "ended_at"):
        until = begun or over
        if until is None or until > since:
            yield Fact("waiting_us", seconds(asked), seconds(until) if until else ends, None)


def _sits(nodes: list[Node], since: datetime, until: datetime) -> dict[str, list[tuple[int, int]]]:
    rows = NodeInstance.objects.filter(node__in=[node.pk for node in nodes])
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for node, begin, end in _overlapping(rows, since, until, "sat_from", "sat_until").values_list(
        "node_id", "sat_from", "sat_until"
    ):
        found[str(node)].append((seconds(begin), seconds(end) if end else seconds(until)))
    return found


def _empty(lanes: list[Lane], sits: Mapping[str, list[tuple[int, int]]], begins: int, ends: int) -> Iterator[Fact]:
    """A seat in which nothing sits waits for the provider."""
    for lane in lanes:
        at = begins
        for begin, end in sorted(sits.get(lane.key, [])):
            if begin > at:
                yield Fact("waiting_provider", at, begin, frozenset({lane.key}))
            at = max(at, end)
        if at < ends:
            yield Fact("waiting_provider", at, ends, frozenset({lane.key}))


def _ill(nodes: list[Node], since: datetime, until: datetime) -> Iterator[Fact]:
    rows = NodeSpell.objects.filter(node__in=[node.pk for node in nodes], word__in=sorted(NODE_WAITS))
    for node, begin, end in _overlapping(rows, since, until, "began_at", "ended_at").values_list(
        "node_id", "began_at", "ended_at"
    ):
        yield Fact("waiting_provider", seconds(begin), seconds(end or until), frozenset({str(node)}))


def _runs(row: Cluster, nodes: list[Node], since: datetime, until: datetime) -> Iterator[Fact]:
    """Jobs on their nodes, and the gap from one attempt to the next in which those nodes only recover."""
    known_names = by_name(nodes)
    rows = JobRun.objects.filter(cluster=row, started_at__isnull=False, counted_until__isnull=False).select_related(
        "job"
    )
    # A gap may have begun before: the attempt before the first one of the day is needed for it.
    jobs = list(_overlapping(rows, since, until, "started_at", "counted_until").values_list("job_id", flat=True))
    live = Job.objects.filter(cluster=row, state="recovering").values_list("pk", flat=True)
    wanted = {job for job in [*jobs, *live] if job}
    mine = rows.filter(Q(job__in=wanted) | Q(counted_until__gt=since, started_at__lt=until))
    by_job: dict[Any, list[JobRun]] = defaultdict(list)
    for run in mine.order_by("started_at", "attempt"):
        by_job[run.job_id or run.external_id].append(run)
    silent = _silences(row, until)
    for runs in by_job.values():
        for number, run in enumerate(runs):
            following = runs[number + 1] if number + 1 < len(runs) else None
            yield from _of_run(run, following, known_names, seconds(until), silent.get(run.job_id, ()))


# What the history calls it when a running job says nothing for longer than its communicator waits, and speaks again.
STALLED, SPEAKS = "job.stalled", "job.speaks"


def _silences(row: Cluster, until: datetime) -> dict[Any, list[tuple[int, int]]]:
    """From when to when each job of the cluster hung; one that hangs still, until now."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    open_since: dict[Any, int] = {}
    rows = Entry.objects.filter(kind__in=[STALLED, SPEAKS], cluster=row.pk, occurred_at__lt=until)
    for job, kind, at, facts in rows.order_by("occurred_at", "id").values_list(
        "subject_id", "kind", "occurred_at", "facts"
    ):
        if kind == STALLED:
            open_since.setdefault(job, _moment(facts.get("since"), at))
        elif job in open_since:
            found[job].append((open_since.pop(job), seconds(at)))
    for job, since in open_since.items():
        found[job].append((since, seconds(until)))
    return found


def _moment(text: Any, otherwise: datetime) -> int:
    """When it fell silent, which was before anybody could tell."""
    try:
        return seconds(datetime.fromisoformat(text)) if text else seconds(otherwise)
    except (TypeError, ValueError):
        return seconds(otherwise)


def _of_run(
    run: JobRun,
    following: JobRun | None,
    known_names: Mapping[str, Node],
    until: int,
    silent: Sequence[tuple[int, int]],
) -> Iterator[Fact]:
    assert run.started_at is not None and run.counted_until is not None
    hits = {str(node.pk) for node in found_by(run.node_names, known_names)}
    on = {"lanes": frozenset(hits), "unnamed": max((run.nodes or len(run.node_names)) - len(hits), 0)}
    begins, ends = seconds(run.started_at), seconds(run.counted_until)
    kind: Kind = "waiting_us" if run.job is not None and run.job.purpose in OURS else "training"
    yield Fact(kind, begins, ends, **on)
    for since, to in silent:
        if max(since, begins) < min(to, ends):
            yield Fact("stalled", max(since, begins), min(to, ends), **on)
    if following is not None and following.started_at is not None and run.job_id:
        yield Fact("recovering", ends, seconds(following.started_at), **on)
    elif following is None and run.ended_at and run.job is not None and run.job.state == "recovering":
        yield Fact("recovering", ends, until, **on)


def _lent(row: Cluster, since: datetime, ends: int) -> Iterator[Fact]:
    rows = Lending.objects.filter(Q(ends_at=None) | Q(ends_at__gt=since), cluster=row)
    for nodes, begin, end in rows.values_list("nodes", "begins_at", "ends_at"):
        yield Fact("lent", seconds(begin), seconds(end) if end else ends, unnamed=nodes)


def _claims(
    row: Cluster, told: list[tuple[str, datetime]], sits: Mapping[str, list[tuple[int, int]]], begins: int, ends: int
) -> list[Claim]:
    """What reservations hold for this cluster while it exists; where none does, what sits in its seats and costs."""
    gone = next((seconds(at) for kind, at in reversed(told) if kind == "cluster.deleted"), ends)
    first, last = max(begins, seconds(row.created_at)), min(ends, gone)
    held = [
        Claim(max(one.begins, first), min(one.ends, last), count=one.count)
        for one in _reserved(row)
        if max(one.begins, first) < min(one.ends, last)
    ]
    for key, stays in sits.items():
        for begin, end in stays:
            held += [Claim(a, b, lane=key) for a, b in _outside(begin, min(end, last), held)]
    return held


def _outside(begin: int, end: int, claims: Sequence[Claim]) -> Iterator[tuple[int, int]]:
    """The pieces of an interval in which nothing is reserved by number."""
    at = begin
    for claim in sorted((one for one in claims if one.count), key=lambda one: one.begins):
        if claim.begins > at:
            yield from [(at, min(claim.begins, end))] if at < min(claim.begins, end) else []
        at = max(at, claim.ends)
    if at < end:
        yield at, end


def _reserved(row: Cluster) -> list[Claim]:
    """Of the reservations for its type and place, what is left for this cluster by the older ones of its participation."""
    rows = Reservation.objects.exclude(state="wanted").filter(
        participation=row.participation_id, instance_type=row.main_type, region=row.region, az_id=row.az_id
    )
    older = Cluster.objects.filter(
        participation=row.participation_id, main_type=row.main_type, region=row.region, az_id=row.az_id,
        created_at__lt=row.created_at,
    )  # fmt: skip
    before = list(older.exclude(state="deleted").values_list("created_at", "accelerated_wanted"))
    found = []
    for count, begin, end in rows.order_by("starts_at", "pk").values_list("count", "starts_at", "ends_at"):
        left = max(count - sum(wanted for _created, wanted in before), 0)
        for start, stop, wanted in _wanted(row):
            a, b = max(seconds(begin), start), min(seconds(end), stop)
            if a < b and min(left, wanted):
                found.append(Claim(a, b, count=min(left, wanted)))
    return found


def _wanted(row: Cluster) -> list[tuple[int, int, int]]:
    """How many accelerated nodes each configuration asked for, from when to when."""
    steps = []
    for body, at in Revision.objects.filter(cluster=row).order_by("number").values_list("body", "created_at"):
        groups = body.get("instance_groups", []) if isinstance(body, dict) else []
        mine = [group for group in groups if isinstance(group, dict) and _type(group) == row.main_type]
        steps.append((seconds(at), sum(int(group.get("count") or 0) for group in mine)))
    if not steps:
        return [(seconds(row.created_at), 1 << 62, row.accelerated_wanted)]
    stops = [at for at, _count in steps[1:]] + [1 << 62]
    first = min(seconds(row.created_at), steps[0][0])
    starts = [first] + [at for at, _count in steps[1:]]
    return [(start, stop, count) for start, stop, (_at, count) in zip(starts, stops, steps, strict=True)]


def _type(group: Mapping[str, Any]) -> str:
    return str(group.get("instance_type") or "").removeprefix("ml.")
