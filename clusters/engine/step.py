"""One step of one cluster: look, plan, write the intent, make one call, write everything down in one transaction."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import structlog
from django.conf import settings
from django.db.models.functions import Now

from clusters import allowed, node_setups
from clusters.actions import holding
from clusters.architectures.parts import MissingOutput
from clusters.engine import (
    closing,
    facts,
    leftovers,
    names,
    orders,
    preflights,
    proofs,
    rehearsal,
    seats,
    turns,
    writing,
)
from clusters.engine.plan import Call, PartNow, Plan, Verb, Wish, plan
from clusters.models import Cluster, ExternalObject, Operation
from clusters.providers import NO_CAPACITY, SLOW, HasFleet, Ordered, Part, ProviderError, Rescue, Seen, adapter
from clusters.providers.programs import Ran
from tenants import metrics
from tenants.wall.acting import acting_for
from tenants.work import due

log = structlog.get_logger(__name__)

UNTOUCHED = ("requested", "deleted")
CAPACITY = ("capacity", "limit", "insufficient", "quota")
PATIENCE = timedelta(hours=1)  # how long a cluster waits for capacity before it is called failed
CAPACITY_AGAIN = 120.0
STILL_THERE = timedelta(seconds=60)  # for so long a complete part is taken as seen while a later one is being made
DENIED_AGAIN = 60.0
# What a program that could not begin, or did nothing before it fell over, means: seconds until the next try.
PROGRAM_AGAIN = {
    "ProgramBusy": 3.0,
    "ProgramMissing": 20.0,
    "ProgramKilled": 5.0,  # from outside: nothing is wrong with what was asked
    "ProgramFailed": 60.0,
    "ProgramEnded": 60.0,
}


@dataclass
class Looked:
    """What the provider said of each part, or why it could not be asked."""

    seen: dict[str, Seen] = field(default_factory=dict)
    errors: dict[str, ProviderError] = field(default_factory=dict)
    remembered: set[str] = field(default_factory=set)  # not asked for this time


def step(held: due.Held) -> None:
    """Handle one due cluster."""
    with acting_for(held.tenant_id, staff=True):
        known = facts.read(held.ref)
        if known is None or known.cluster.state in UNTOUCHED:
            due.finish(held, again_in=None)
            return
        facts.intend_parts(known)
    gate = preflights.gate(held, known)
    if gate.over:
        with acting_for(held.tenant_id, staff=True):
            Cluster.objects.select_for_update(of=("self",)).get(pk=known.cluster.pk)
            due.finish(held, again_in=timedelta(0))
        return
    looked = look(known)
    order = orders.progress(known, looked.seen)
    parts = [_part(known, looked, spec.role) for spec in known.specs]
    # What is still to be changed proves nothing about what it is to become.
    evidence = proofs.gather(known, looked.seen, waits=bool(order.sentence) or any(part.behind for part in parts))
    todo = plan(_wish(known, looked, evidence, order, gate), parts)
    outcome = _carry_out(held, known, looked, todo.call) if todo.call else None
    left: list[leftovers.Found] | None = None
    if todo.state == "deleted" and known.cluster.state == "deleting":
        todo, left = _look_for_leftovers(known, todo)
    with acting_for(held.tenant_id, staff=True):
        cluster = _write(held, known, looked, todo, outcome, evidence, order)
        if left is not None and cluster.state == "deleted":
            leftovers.write(cluster, left)


def _look_for_leftovers(known: facts.Known, todo: Plan) -> tuple[Plan, list[leftovers.Found] | None]:
    """It counts as deleted when it is known what of it is left."""
    try:
        return todo, leftovers.gather(known)
    except ProviderError as error:
        log.warning("leftovers_not_seen", cluster=known.cluster.name, kind=error.kind, message=error.message)
        needs = error.message if error.kind == "denied" else ""
        return replace(todo, state="deleting", again=30.0, why=error.message, needs_person=needs), None


def look(known: facts.Known) -> Looked:
    """Ask for the parts in order. What was never called after one that is not there yet cannot be there either."""
    looked = Looked()
    for number, spec in enumerate(known.specs):
        row = known.rows[spec.role]
        if _cannot_be_there(known, row, looked):
            looked.seen[spec.role] = Seen("absent")
            continue
        if _was_there(known, row, [known.rows[later.role] for later in known.specs[number + 1 :]]):
            looked.remembered.add(spec.role)
            looked.seen[spec.role] = Seen("ready", row.status, external_id=row.external_id, outputs=row.outputs)
            continue
        try:
            looked.seen[spec.role] = adapter(row.kind).look(known.account, known.part(spec.role))
        except ProviderError as error:
            looked.errors[spec.role] = error
            metrics.provider_error(row.kind, error.kind)
            break
    for role, seen in looked.seen.items():
        if seen.phase == "ready":
            known.rows[role].outputs = dict(seen.outputs)  # later parts are wired with what this look gave
        elif seen.phase == "failed":
            looked.seen[role] = _whose(known, role, seen)
    return looked


def _whose(known: facts.Known, role: str, seen: Seen) -> Seen:
    """The provider says that scripts failed; whose it was is in what they said, so that is read now if it was not."""
    row, wish = known.rows[role], known.configuration
    if role != "cluster" or not (wish and wish.node_setup):
        return seen
    if seen.lines is None:
        part = known.part(role)
        since = row.lines[-1]["at"] if row.lines else 0
        try:
            seen = adapter(row.kind).look(known.account, replace(part, body={**part.body, "lines_since": since}))
        except ProviderError:
            return seen
    theirs = node_setups.failure([*row.lines, *(seen.lines or ())])
    return replace(seen, reason=theirs.sentence()) if theirs else seen


def _cannot_be_there(known: facts.Known, row: ExternalObject, looked: Looked) -> bool:
    """The intent is written before the call, so nothing of ours bears a name that was never asked for. Should somebody
    else's, the provider refuses the creation and the next look finds it. The first part is looked for all the same: whether
    the account lets us in is known before anything is asked; and a program takes too long to be refused."""
    waits = any(seen.phase != "ready" for seen in looked.seen.values())
    needless = known.cluster.wanted and row.kind not in SLOW and bool(looked.seen)
    return not row.last_call and (waits or needless)


def _was_there(known: facts.Known, row: ExternalObject, later: list[ExternalObject]) -> bool:
    """A stack, complete, current and seen a moment ago, while a later part or the proofs of a new cluster are awaited."""
    complete = row.kind == "stack" and row.state == "exists" and row.applied >= known.cluster.generation
    complete = complete and "ROLLBACK" not in row.status
    moment = row.last_seen_at is not None and known.now - row.last_seen_at < STILL_THERE
    asked = any(part.last_call for part in later)
    return known.cluster.wanted and known.cluster.state == "creating" and complete and moment and asked


def _part(known: facts.Known, looked: Looked, role: str) -> PartNow:
    row, seen, error = known.rows[role], looked.seen.get(role), looked.errors.get(role)
    age = (known.now - row.last_call_at).total_seconds() if row.last_call_at else None
    return PartNow(
        role=role,
        state=row.state,
        phase=seen.phase if seen else None,
        ours=seen.ours if seen else True,
        reason=seen.reason if seen else "",
        error=error.kind if error else None,
        error_message=error.message if error else "",
        last_call=row.last_call,
        call_age=age,
        absences=row.absences + 1 if seen and seen.phase == "absent" else 0,
        applied=row.applied,
        behind=_behind(known, row, seen),
        existed=row.existed,
        fleet=seen.fleet if seen else "",
        put_back=bool(seen and seen.put_back),
        deletes=row.deletes,
        short=bool(seen and seen.phase == "failed" and NO_CAPACITY.search(seen.reason)),
        tried=row.incarnation,
        stoppable=bool(seen and row.kind == "stack" and allowed.takes(row.kind, seen.status, "cancel")),
        status=seen.status if seen else "",
        takes=allowed.calls(row.kind, seen.status) if seen else None,
        surplus=role in known.surplus,
    )


def _behind(known: facts.Known, row: ExternalObject, seen: Seen | None) -> bool:
    """Whether the accepted request differs from the wished one; only asked of what is complete and not current."""
    if seen is None or seen.phase not in ("ready", "failed") or row.applied >= known.cluster.generation:
        return False
    if row.role in known.surplus:
        return False
    if seen.put_back:
        return True  # it was accepted once and undone: another generation tries again, also with the same request
    try:
        return bool(row.body_sha256) and row.body_sha256 != known.wished_digest(row.role)
    except MissingOutput:
        return False


def _wish(
    known: facts.Known, looked: Looked, evidence: proofs.Evidence, order: orders.Progress, gate: preflights.Gate
) -> Wish:
    cluster, operation = known.cluster, known.operation
    running = [
        node for seen in looked.seen.values() for node in seen.nodes if seats.STATES.get(node.status) == "running"
    ]
    return Wish(
        state=cluster.state,
        wanted=cluster.wanted,
        generation=cluster.generation,
        proven=cluster.proven,
        nodes_wanted=_nodes_wanted(known),
        nodes_running=len(running),
        proofs_open=evidence.open,
        proof_failed=evidence.failed,
        fleet_wanted=cluster.fleet_wanted,
        fleet_settled=cluster.fleet_settled,
        consistency=settings.CONSISTENCY_SECONDS,
        tries=settings.CAPACITY_TRIES,
        order=order.sentence,
        order_unsent=order.unsent,
        stop=bool(operation and operation.cancel_wished_at),
        rescue=_rescue(operation),
        rescue_unsent=operation is not None and operation.sent_at is None,
        unreadable=known.unreadable,
        held=gate.held,
        held_for_good=gate.for_good,
    )


def _rescue(operation: Operation | None) -> tuple[str, Verb] | None:
    """The part that an operation is to take out of the state it stopped in, and how."""
    if operation is None or operation.kind not in closing.RESCUES:
        return None
    return (operation.body or {}).get("part", "base"), cast(Verb, operation.kind)


def _nodes_wanted(known: facts.Known) -> int:
    """How many are to run: with the compute fleet stopped, those of the other groups."""
    if known.cluster.fleet_wanted == "running":
        return known.cluster.nodes_wanted
    return sum(group.count for group in known.groups if group.role != "compute")


@dataclass(frozen=True)
class Outcome:
    """What became of the one call."""

    call: Call
    before: tuple[str, Any] = ("", None)  # the last call and its time before this one
    external_id: str = ""
    digest: str = ""
    error: ProviderError | None = None
    missing: str = ""
    ran: tuple[Ran, ...] = ()  # the programs that the call ran
    ordered: Ordered | None = None


def _carry_out(held: due.Held, known: facts.Known, looked: Looked, call: Call) -> Outcome:
    """Commit the intent, then call. A crash in between is healed by looking: the row names what to look for."""
    with acting_for(held.tenant_id, staff=True):
        row = ExternalObject.objects.get(pk=known.rows[call.role].pk)
        if call.verb == "create" and (row.last_call == "delete" or row.state == "gone"):
            facts.begin_again(row, known.cluster)
        known.rows[call.role] = row
    if call.verb in writing.TOLD:
        return _tell(held, known, row, call)
    try:
        part = known.part(call.role, verb=call.verb)
        if call.verb == "update":
            part = _with_what_goes(known, looked, part)
        elif call.verb == "delete":
            body = known.operation.body if known.operation else None
            part = replace(
                part, body={**part.body, "retain": bool((body or {}).get("retain"))}, token=_again(part, row)
            )
    except MissingOutput as error:
        return Outcome(call, missing=str(error))
    with acting_for(held.tenant_id, staff=True):
        # In the order of the actions, things before the row that waits: the other way round each would wait for the other.
        Cluster.objects.filter(pk=known.cluster.pk, first_call_at=None).update(first_call_at=Now())
        ExternalObject.objects.filter(pk=row.pk).update(
            last_call=call.verb,
            last_call_at=Now(),
            token=part.token,
            absences=0,
            deletes=row.deletes + 1 if call.verb == "delete" else 0,
        )
        if not due.renew(held):
            raise due.LostLease(f"{held.kind} {held.ref}")
    before = (row.last_call, row.last_call_at)
    provider = adapter(row.kind, turns.keeper(held), program=settings.PCLUSTER)
    outcome = Outcome(call, before)
    try:
        if call.verb == "create":
            made = provider.create(known.account, part)
            outcome = Outcome(call, before, made, digest=known.wished_digest(call.role))
        elif call.verb == "update":
            provider.update(known.account, part)
            outcome = Outcome(call, before, digest=known.wished_digest(call.role))
        elif call.verb == "delete":
            provider.delete(known.account, part)
        else:
            cast(HasFleet, provider).move_fleet(known.account, part, call.verb)
    except ProviderError as error:
        metrics.provider_error(row.kind, error.kind)
        tell = log.info if error.code in PROGRAM_AGAIN else log.warning
        tell("call_failed", verb=call.verb, part=row.name, kind=error.kind, code=error.code, message=error.message)
        outcome = Outcome(call, before, error=error)
    return replace(outcome, ran=tuple(getattr(provider, "ran", ())))


def _again(part: Part, row: ExternalObject) -> str:
    """Asking once more to delete the same is another call, and needs another token."""
    return part.token if not row.deletes else names.token(row.name, f"delete {row.deletes}", row.applied)


def _with_what_goes(known: facts.Known, looked: Looked, part: Part) -> Part:
    """An update leaves alone what it does not name, so what is to go has to be named; ParallelCluster wants leave to take nodes away."""
    body = dict(part.body)
    if part.kind == "hyperpod":
        wished = {group.name for group in known.groups}
        there = looked.seen["cluster"].body.get("groups", {})
        body["surplus"] = sorted(set(there) - wished)
    if part.kind == "parallelcluster" and known.rehearsed:
        body["rehearsed"] = True
    return rehearsal.with_leave(known, replace(part, body=body))


def _tell(held: due.Held, known: facts.Known, row: ExternalObject, call: Call) -> Outcome:
    """An order to nodes is sent once: that it is about to be sent is committed before, and nobody sends it again."""
    operation = known.operation
    assert operation is not None
    with acting_for(held.tenant_id, staff=True):
        if call.verb != "cancel":
            Operation.objects.filter(pk=operation.pk, sent_at=None).update(sent_at=Now())
            operation.refresh_from_db(fields=["sent_at"])
        if not due.renew(held):
            raise due.LostLease(f"{held.kind} {held.ref}")
    provider = adapter(row.kind, turns.keeper(held), program=settings.PCLUSTER)
    part = replace(known.part(call.role), token=names.token(row.name, call.verb, known.cluster.generation))
    before = (row.last_call, row.last_call_at)
    try:
        if call.verb == "cancel":
            provider.cancel(known.account, part)
            return Outcome(call, before)
        if call.verb in closing.RESCUES:
            provider.rescue(known.account, part, cast(Rescue, call.verb), (operation.body or {}).get("skip", ()))
            return Outcome(call, before)
        told = provider.order(known.account, part, operation.kind, orders.targets(known))
        return Outcome(call, before, ordered=told)
    except ProviderError as error:
        log.warning("order_failed", order=operation.kind, part=row.name, kind=error.kind, message=error.message)
        return Outcome(call, before, error=error)


def _write(
    held: due.Held,
    known: facts.Known,
    looked: Looked,
    todo: Plan,
    outcome: Outcome | None,
    evidence: proofs.Evidence,
    order: orders.Progress,
) -> Cluster:
    """The one fenced transaction: lock the thing, finish our turn, write what was seen and done."""
    cluster = Cluster.objects.select_for_update(of=("self",)).select_related("account").get(pk=known.cluster.pk)
    verdict = judge(todo, outcome, known, patience_over=_patience_over(known, outcome))
    again = timedelta(seconds=verdict.again)
    due.finish(
        held, again_in=None if verdict.state == "deleted" else again, give_back=verdict.throttled or verdict.waits
    )
    if verdict.throttled or any(error.kind == "throttled" for error in looked.errors.values()):
        due.cool(held.lane, 20)
    if cluster.generation != known.cluster.generation or cluster.wanted != known.cluster.wanted:
        # Somebody wished something else meanwhile: what was seen is written, what was decided is not.
        verdict = Verdict(cluster.state, 0, lost=verdict.lost)
    fresh = {role: seen for role, seen in looked.seen.items() if role not in looked.remembered}
    writing.parts(known, fresh, todo.parts, outcome)
    writing.nodes(cluster, known, looked.seen, ending=not cluster.wanted)
    writing.storage(cluster, known, fresh)
    proofs.write(cluster, evidence)
    if (
        outcome is not None
        and outcome.call.verb == "create"
        and known.rows[outcome.call.role].kind == "parallelcluster"
    ):
        _engine_said(cluster, known, outcome)
    writing.fleet(cluster, known, looked.seen, settled=todo.fleet_settled)
    overtaken = cluster.generation != known.cluster.generation
    writing.cluster(cluster, known, looked, todo, verdict)
    if cluster.state == "deleted":
        holding.settle(cluster, by=facts.ENGINE)
    if not overtaken:
        closing.close(cluster, known, looked, todo, verdict, outcome, order)
    return cluster


def _engine_said(cluster: Cluster, known: facts.Known, outcome: Outcome) -> None:
    """A creation begins with a dry run, so its answer is also that of the validators."""
    really = any("--dryrun" not in ran.words for ran in outcome.ran)
    if really:
        preflights.engine_said(cluster, known.cluster.generation, "")
    elif outcome.error is not None and outcome.error.kind == "refused":
        preflights.engine_said(cluster, known.cluster.generation, outcome.error.message)


@dataclass(frozen=True)
class Verdict:
    """The plan after its call was answered."""

    state: str
    again: float
    why: str = ""
    lost: str = ""
    needs_person: str = ""
    fits: str = ""  # the provider's sentence when it does not fit
    throttled: bool = False
    waits: bool = False  # nothing was tried, and nobody is to blame


def judge(todo: Plan, outcome: Outcome | None, known: facts.Known, *, patience_over: bool) -> Verdict:
    """What the answer to the call makes of the plan."""
    base = Verdict(todo.state, todo.again, todo.why, todo.lost, todo.needs_person, todo.fits)
    if outcome is None:
        return base
    if outcome.missing:
        return Verdict(todo.state, 600, outcome.missing, needs_person=outcome.missing)
    if outcome.error is None:
        return base
    if todo.call is not None and todo.call.verb in writing.TOLD:
        # What nodes were told changes nothing that is wished; the operation says what became of it.
        return replace(base, throttled=outcome.error.kind == "throttled")
    kind, message = outcome.error.kind, outcome.error.message
    was = known.cluster.state
    if kind == "throttled" and outcome.error.code in PROGRAM_AGAIN:
        return Verdict(was if was != "approved" else todo.state, PROGRAM_AGAIN[outcome.error.code], message, waits=True)
    if kind == "throttled":
        return Verdict(was if was != "approved" else todo.state, 20, message, throttled=True)
    if kind in ("unclear", "expired"):
        return Verdict(todo.state, 5, message)
    if kind == "denied":
        return Verdict(was if was != "approved" else todo.state, DENIED_AGAIN, message, needs_person=message)
    short = any(word in f"{outcome.error.code} {message}".lower() for word in CAPACITY)
    if not known.cluster.proven and todo.state == "creating":
        if short and not patience_over:
            return Verdict("creating", CAPACITY_AGAIN, message, fits=message)
        return Verdict("failed", 600, message, fits=message if short else "", needs_person=message)
    return Verdict(was, 600, message, fits=message if short else "", needs_person=message)


def _patience_over(known: facts.Known, outcome: Outcome | None) -> bool:
    since = known.rows[outcome.call.role].refused_since if outcome else None
    return since is not None and known.now - since > PATIENCE
