"""Write down what a step saw and did: parts, their events, nodes, storage, and the cluster itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from clusters import facts as catalogue
from clusters import node_setups, states
from clusters.accounts import answered
from clusters.architectures.parts import MissingOutput
from clusters.engine import evidence, turns
from clusters.engine.facts import ENGINE, Known
from clusters.engine.seats import Seat, Seated, seated
from clusters.engine.usage_facts import NODE_WAITS
from clusters.models import (
    Cluster,
    ExternalObject,
    FileSystem,
    Node,
    NodeInstance,
    NodeSpell,
)
from clusters.providers import PartEvent, Seen
from tenants.history import timeline
from tenants.history.moves import move, move_together

TOLD_ONE_BY_ONE = ("impaired", "replacing")
ASKED = {"create": "creating", "update": "updating", "delete": "deleting"}  # what a part is after a call
TOLD = frozenset({"order", "cancel", "continue", "rollback"})  # what the operation answers for, not the part
LINES_KEPT = 60
FEW = 3  # so many nodes changing alike are told one by one


def parts(known: Known, seen: Mapping[str, Seen], planned: Mapping[str, str], outcome: Any) -> None:
    """Each part's row after this look, and what the engine reported about it since the last one."""
    for role, row in known.rows.items():
        row = ExternalObject.objects.select_for_update().get(pk=row.pk)
        if role in seen:
            _seen(known, row, seen[role])
        if role in planned:
            _advance(row, planned[role], seen.get(role))
        if outcome is not None and outcome.call.role == role:
            _answered(known, row, outcome)
        known.rows[role] = row


def _seen(known: Known, row: ExternalObject, seen: Seen) -> None:
    columns: dict[str, Any] = {
        "status": seen.status,
        # What was said of a call that came to nothing stays until there is something to be seen.
        "reason": seen.reason or (row.reason if seen.phase == "absent" and not row.existed else ""),
        "absences": row.absences + 1 if seen.phase == "absent" else 0,
    }
    if seen.phase != "absent":
        columns["last_seen_at"] = Now()
    if seen.phase != "absent" and seen.ours:
        columns["external_id"] = seen.external_id
    if seen.phase == "ready" and seen.ours:
        columns |= {"outputs": dict(seen.outputs), "existed": True, "refused_since": None}
        if (
            not seen.put_back
            and row.applied < known.cluster.generation
            and (digest := _digest(known, row.role))
            and row.body_sha256 in ("", digest)
        ):
            columns |= {"applied": known.cluster.generation, "body_sha256": digest}
    if seen.events:
        columns["newest_event"] = seen.events[-1].key
        _events(row, seen.events)
    columns["stuck"] = [dict(each) for each in seen.stuck]
    if seen.lines is not None:
        _theirs(known, row, seen.lines)
        columns |= {"lines": newest_lines(row.lines, seen.lines), "lines_read_at": Now()}
    ExternalObject.objects.filter(pk=row.pk).update(**columns)
    row.refresh_from_db()


def _theirs(known: Known, row: ExternalObject, told: Iterable[Mapping[str, Any]]) -> None:
    """A script of the participant that ended badly is told once, as theirs."""
    found = node_setups.failure([*row.lines, *told])
    if found is None or found == node_setups.failure(row.lines):
        return
    timeline.record(
        states.NODE_SETUP_FAILED,
        about=row,
        by=ENGINE,
        name=found.name,
        number=found.number,
        code=found.code,
        host=found.host,
        lines=" / ".join(found.lines),
    )


def newest_lines(kept: list[dict[str, Any]], told: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the set-up of the nodes said last, each line once: lines of one millisecond come by twice. Pure."""
    found = {(each["at"], each["node"], each["text"]): dict(each) for each in [*kept, *told]}
    return sorted(found.values(), key=lambda each: each["at"])[-LINES_KEPT:]


def _digest(known: Known, role: str) -> str:
    """Of the request it ought to have; empty where none can be made."""
    try:
        return known.wished_digest(role)
    except MissingOutput:
        return ""


def _events(row: ExternalObject, events: tuple[PartEvent, ...]) -> None:
    """What began is followed by what ended; only the end, and whatever failed, is history."""
    for event in events:
        if event.status.endswith("_IN_PROGRESS") and "ROLLBACK" not in event.status:
            continue
        timeline.record(
            states.PART_EVENT,
            about=row,
            by=f"provider:{row.kind}",
            at=min(event.at, timezone.now()),
            source="provider",
            resource=event.resource,
            told=f"{event.status}, {event.message[:1000]}" if event.message else event.status,
            key=event.key,
        )


def _advance(row: ExternalObject, to: str, seen: Seen | None) -> None:
    if row.state != to and to in row.MOVES[row.state]:
        why = seen.reason if seen else ""
        move(row, to, by=ENGINE, part=row.name, region=row.region, why=why)


def _answered(known: Known, row: ExternalObject, outcome: Any) -> None:
    verb, error = outcome.call.verb, outcome.error
    if verb in TOLD:
        return
    evidence.keep(row, outcome)
    if error is not None:
        if error.kind == "unclear" and verb == "create":
            _advance(row, "creating", None)  # it may exist: from now on it is looked for, never created blindly
        if error.kind != "unclear":
            # Nothing was done, so nothing has to be waited for before it is asked again.
            last_call, last_call_at = outcome.before
            ExternalObject.objects.filter(pk=row.pk).update(last_call=last_call, last_call_at=last_call_at)
        if error.kind == "refused" and row.refused_since is None:
            ExternalObject.objects.filter(pk=row.pk).update(refused_since=Now())
        ExternalObject.objects.filter(pk=row.pk).update(reason=error.message)
        return
    if outcome.missing:
        return
    columns: dict[str, Any] = {}
    if verb in ("create", "update"):
        columns = {"applied": known.cluster.generation, "body_sha256": outcome.digest, "refused_since": None}
        if outcome.external_id:
            columns["external_id"] = outcome.external_id
    elif verb == "delete" and not known.cluster.wanted:
        columns = {"applied": known.cluster.generation}
    ExternalObject.objects.filter(pk=row.pk).update(**columns) if columns else None
    if verb in ASKED:
        _advance(row, ASKED[verb], None)


def nodes(cluster: Cluster, known: Known, seen: Mapping[str, Seen], *, ending: bool) -> None:
    """Seats and who sits in them. Nothing is concluded from a part that could not be looked at, or only was not found."""
    told = next((seen[spec.role] for spec in known.specs if spec.role == "cluster" and spec.role in seen), None)
    if told is None:
        return
    gone = told.phase == "absent"
    if gone and known.rows["cluster"].state != "gone":
        return
    rows = {(node.group, node.seat): node for node in Node.objects.filter(cluster=cluster)}
    wanted = {group.name: group.count for group in known.groups}
    if not gone and not ending:
        rows |= _make_seats(cluster, known, set(rows))
    before = [Seat(node.group, node.seat, node.instance_id, node.state) for node in rows.values()]
    resting = _resting(cluster, known)
    after = seated(before, told.nodes, ending=gone, resting=resting, wanted=None if ending else wanted)
    changed: dict[tuple[str, str], list[Node]] = {}
    for seat in after:
        node = rows.get((seat.group, seat.number)) or _make_seat(cluster, known, seat.group, seat.number)
        _sit(node, seat)
        if node.state != seat.state:
            _leave_or_return(node, seat, "stopped" if seat.group in resting else seat.state)
            changed.setdefault((node.state, seat.state), []).append(node)
    for (_, to), moved in sorted(changed.items()):
        _tell(cluster, to, moved)


def _resting(cluster: Cluster, known: Known) -> frozenset[str]:
    """The groups whose instances were stopped because somebody wished it."""
    if cluster.fleet_wanted == "running":
        return frozenset()
    return frozenset(group.name for group in known.groups if group.role == "compute")


def _make_seats(cluster: Cluster, known: Known, there: set[tuple[str, int]]) -> dict[tuple[str, int], Node]:
    """The seats that the configuration has and we do not."""
    made = [
        _seat(cluster, known, group.name, number)
        for group in known.groups
        for number in range(1, group.count + 1)
        if (group.name, number) not in there
    ]
    Node.objects.bulk_create(made)
    return {(node.group, node.seat): node for node in made}


def _make_seat(cluster: Cluster, known: Known, group: str, number: int) -> Node:
    node = _seat(cluster, known, group, number)
    node.save(force_insert=True)
    return node


def _seat(cluster: Cluster, known: Known, group_name: str, number: int) -> Node:
    group = next((group for group in known.groups if group.name == group_name), None)
    kind = group.instance_type if group else ""
    known_type = catalogue.load().instance(kind) if kind else None
    return Node(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        group=group_name,
        seat=number,
        name=f"{cluster.name}-{group_name}-{number}",
        role=group.role if group else "",
        instance_type=kind,
        accelerators=known_type.accelerators if known_type else 0,
        since=timezone.now(),
    )


def _sit(node: Node, seat: Seated) -> None:
    columns: dict[str, Any] = {}
    if seat.seen is not None:
        columns = {
            "instance_id": seat.seen.instance_id,
            "engine_status": seat.seen.status,
            "reason": seat.seen.message,
            "private_ip": seat.seen.private_ip or node.private_ip,
            "az_id": seat.seen.az_id or node.cluster.az_id,
            "instance_type": seat.seen.instance_type or node.instance_type,
            "software_at": seat.seen.software_at or node.software_at,
        }
    if seat.seen is not None and seat.seen.instance_id != node.instance_id:
        if node.instance_id:
            NodeInstance.objects.filter(node=node, sat_until=None).update(sat_until=Now(), left_because="replaced")
        NodeInstance.objects.get_or_create(
            tenant_id=node.tenant_id, node=node, instance_id=seat.seen.instance_id, defaults={"sat_from": Now()}
        )
    different = {name: value for name, value in columns.items() if getattr(node, name) != value}
    if different:
        Node.objects.filter(pk=node.pk).update(**different)
        for name, value in different.items():
            setattr(node, name, value)


def _leave_or_return(node: Node, seat: Seated, because: str) -> None:
    """An instance that the engine no longer lists is not paid for; one that is listed again was never away."""
    stay = NodeInstance.objects.filter(node=node, instance_id=node.instance_id)
    if seat.state == "gone":
        Node.objects.filter(pk=node.pk).update(engine_status="")
        node.engine_status = ""
    leaving = seat.seen is None or (seat.state == "gone" and seat.seen.status == "shutting-down")
    if leaving and seat.state in ("gone", "replacing"):
        stay.filter(sat_until=None).update(sat_until=Now(), left_because=because)
    elif seat.seen is not None and node.state in ("gone", "replacing"):
        stay.exclude(sat_until=None).filter(left_because__in=("gone", "replacing", "stopped")).update(
            sat_until=None, left_because=""
        )


def _tell(cluster: Cluster, to: str, moved: list[Node]) -> None:
    ids = [node.pk for node in moved]
    Node.objects.filter(pk__in=ids).update(since=Now())
    NodeSpell.objects.filter(node__in=ids, ended_at=None).update(ended_at=Now())
    if to in NODE_WAITS:
        NodeSpell.objects.bulk_create(
            NodeSpell(tenant_id=node.tenant_id, node=node, word=to, began_at=Now()) for node in moved
        )
    if to in ("impaired", "running"):
        turns.wish_for_judgement(cluster)
    if to in TOLD_ONE_BY_ONE or len(moved) <= FEW:
        for node in moved:
            move(node, to, by=ENGINE, node=node.name, instance=node.instance_id, why=node.reason)
        return
    move_together(
        moved,
        to,
        by=ENGINE,
        about=cluster,
        names=spans([(f"{cluster.name}-{node.group}", node.seat) for node in moved]),
    )


def spans(seats: Iterable[tuple[str, int]]) -> list[str]:
    """Seats in few words: consecutive ones of a group as a span, e.g. `train-workers-1…20`."""
    told: list[tuple[str, int, int]] = []
    for group, number in sorted(seats):
        if told and told[-1][0] == group and told[-1][2] == number - 1:
            told[-1] = (group, told[-1][1], number)
        else:
            told.append((group, number, number))
    return [f"{group}-{first}" + (f"…{last}" if last > first else "") for group, first, last in told]


def storage(cluster: Cluster, known: Known, seen: Mapping[str, Seen]) -> None:
    """File systems that the base stack made, by what it gave."""
    base = seen.get("base")
    if base is None or base.phase != "ready" or known.configuration is None:
        return
    wished = known.configuration.storage
    for kind, mount, output, size, rate in (
        ("lustre", "/fsx", "LustreId", wished.lustre.capacity_gib, wished.lustre.mbs_per_tib),
        ("openzfs", "/home", "OpenZfsId", wished.openzfs.capacity_gib if wished.openzfs else 0, None),
    ):
        if not size or not base.outputs.get(output):
            continue
        FileSystem.objects.update_or_create(
            tenant_id=cluster.tenant_id,
            cluster=cluster,
            mount=mount,
            defaults={
                "kind": kind,
                "deployment": "PERSISTENT_2" if kind == "lustre" else "",
                "capacity_gib": size,
                "mbs_per_tib": rate,
                "external_id": base.outputs[output],
            },
        )


def fleet(row: Cluster, known: Known, seen: Mapping[str, Seen], *, settled: bool) -> None:
    """The engine's word for the compute fleet; told when it came to rest in another."""
    told = next((each.fleet for each in seen.values() if each.fleet), "")
    columns: dict[str, Any] = {"fleet": told} if told and told != row.fleet else {}
    if settled and row.generation == known.cluster.generation:
        columns["fleet_settled"] = row.generation
    if columns:
        Cluster.objects.filter(pk=row.pk).update(**columns)
    if told not in ("", row.fleet, *states.FLEET_MOVING) and row.fleet:
        timeline.record(states.FLEET_SEEN, about=row, by=ENGINE, name=row.name, status=told)


def cluster(row: Cluster, known: Known, looked: Any, todo: Any, verdict: Any) -> None:
    """State, conditions and counts; contact lost and found again are told once each."""
    counted = Node.objects.filter(cluster=row, state="running").count()
    applied = min((part.applied for part in known.rows.values()), default=0)
    columns: dict[str, Any] = {
        "observed_at": Now(),
        "observed_status": next(
            (seen.status for role, seen in reversed(list(looked.seen.items())) if seen.phase != "absent"), ""
        )[:60],
        "needs_person": verdict.needs_person,
        "nodes_running": counted,
        "applied": applied,
        "conditions": _conditions(row, todo, verdict),
        "version": F("version"),
    }
    if verdict.lost:
        columns.pop("observed_at")
        columns |= {"unknown_since": row.unknown_since or Now(), "unknown_reason": verdict.lost}
        if row.unknown_since is None:
            timeline.record(states.CLUSTER_UNKNOWN, about=row, by=ENGINE, name=row.name, why=verdict.lost)
    else:
        columns |= {"unknown_since": None, "unknown_reason": ""}
        answered(row.account_id, "yes")
        if row.unknown_since is not None:
            timeline.record(states.CLUSTER_KNOWN, about=row, by=ENGINE, name=row.name)
    if todo.state == verdict.state == "ready" and not verdict.lost and row.generation == known.cluster.generation:
        # Also of a cluster that stayed ready: a new generation may be proven at its first look.
        proven = {"proven": row.generation} if row.fleet_wanted == "running" else {}
        columns |= proven | ({"ready_at": Now()} if row.state != "ready" else {})
    if verdict.state != row.state:
        move(row, verdict.state, by=ENGINE, columns=columns, name=row.name, nodes=counted, why=verdict.why)
    else:
        Cluster.objects.filter(pk=row.pk).update(**columns)


def _conditions(row: Cluster, todo: Any, verdict: Any) -> list[dict[str, str]]:
    """Five questions; `since` stays while the answer does."""
    before = {condition["type"]: condition for condition in row.conditions}
    # Nobody can tell whether it fits while the account does not answer; what was refused before stays refused.
    fits = "unknown" if verdict.lost else ("no" if verdict.fits else "yes")
    answers = [("Fits", fits, verdict.lost or verdict.fits)]
    answers += [(condition.type, condition.status, condition.sentence) for condition in todo.conditions]
    now = timezone.now().isoformat()
    told = []
    for name, status, sentence in answers:
        if name == "Progressing" and verdict.needs_person:
            status, sentence = "no", verdict.needs_person
        if name == "Provisioned" and status != "yes" and verdict.why:
            sentence = verdict.why
        old = before.get(name)
        since = old["since"] if old and old["status"] == status else now
        told.append({"type": name, "status": status, "sentence": sentence, "since": since})
    return told
