"""Decide what one call brings this cluster nearer to what is wished. Pure: no clock, no database, no cloud."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from clusters.providers import ErrorKind, Phase
from clusters.states import FLEET, FLEET_MOVING

# start and stop: of the compute fleet; continue and rollback: of a stack that stopped on its way
Verb = Literal["create", "update", "delete", "start", "stop", "order", "cancel", "continue", "rollback"]
Answer = Literal["yes", "no", "unknown"]

SOON, BUSY, WATCH = 5.0, 15.0, 600.0  # seconds until the next look: after a call, while it works, when settled
THROTTLED, LOST = 30.0, 60.0
PAUSE = 600.0  # seconds from a creation that found no capacity to the next one; doubled each time
TRIES, AGAIN_AFTER = 3, 120.0  # a deletion that failed is asked for again by itself so often, after so long


@dataclass(frozen=True)
class PartNow:
    """One part: what our row says and what the provider says. Ages are seconds by the database's clock."""

    role: str
    state: str
    phase: Phase | None = None  # None: it could not be looked at
    ours: bool = True
    reason: str = ""
    error: ErrorKind | None = None
    error_message: str = ""
    last_call: str = ""
    call_age: float | None = None
    absences: int = 0  # looks in a row that found nothing, this one included
    applied: int = 0  # the last generation the provider accepted
    behind: bool = False  # its wished request differs from the accepted one
    existed: bool = False
    fleet: str = ""  # the engine's word for its compute fleet, where it has one
    put_back: bool = False  # its last update was refused and undone
    deletes: int = 0  # how often it was asked to go in this generation
    short: bool = False  # it failed because there was no capacity
    tried: int = 1  # how often it was begun
    stoppable: bool = False  # it is being updated in a way that can be stopped
    status: str = ""  # the engine's own word
    takes: frozenset[str] | None = None  # the calls that it takes in this status; None: nobody here knows
    surplus: bool = False  # the configuration no longer has it


@dataclass(frozen=True)
class Wish:
    """What is wished and how far it came."""

    state: str
    wanted: bool
    generation: int
    proven: int = 0
    nodes_wanted: int = 0
    nodes_running: int = 0
    proofs_open: bool = True  # some proof of this generation is neither passed nor failed
    proof_failed: str = ""  # the sentence of a proof that failed
    fleet_wanted: str = "running"
    fleet_settled: int = 0  # the last generation whose wish for the fleet was seen
    consistency: float = 300.0  # seconds during which "not found" proves nothing
    tries: int = 1  # how often it is begun by itself when there is no capacity
    order: str = ""  # what nodes were told to do and have not done yet, in a sentence
    order_unsent: bool = False
    stop: bool = False  # somebody wants the change that is under way to be stopped
    rescue: tuple[str, Verb] | None = None  # a part that is to be taken out of a state it stopped in, and how
    rescue_unsent: bool = False
    unreadable: str = ""  # why nothing can be asked for by its configuration any more
    held: str = ""  # why nothing may be made or changed yet, e.g. what the preflight found
    held_for_good: bool = False  # until something else is wished


@dataclass(frozen=True)
class Call:
    role: str
    verb: Verb


@dataclass(frozen=True)
class Condition:
    type: str
    status: Answer
    sentence: str = ""


@dataclass(frozen=True)
class Plan:
    """At most one call, the state to show, what each part is now, why, and when to look again (seconds)."""

    state: str
    again: float
    call: Call | None = None
    why: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    lost: str = ""  # contact was lost: why
    needs_person: str = ""
    fits: str = ""  # why it does not fit now; it is tried again by itself
    prove: bool = False
    fleet_settled: bool = False  # the compute fleet is as wished
    conditions: tuple[Condition, ...] = ()


def plan(wish: Wish, parts: Sequence[PartNow]) -> Plan:
    """The next step. Parts come in the order in which they are made."""
    blind = next((part for part in parts if part.error is not None), None)
    if blind is not None:
        found = _lost(wish, blind)
    elif wish.wanted and wish.unreadable:
        found = Plan(wish.state, WATCH, why=wish.unreadable, needs_person=wish.unreadable)
    elif wish.wanted:
        found = _unless_held(wish, _towards_ready(wish, parts))
    else:
        found = _towards_deleted(wish, parts)
    return Plan(**{**found.__dict__, "conditions": _conditions(wish, parts, found)})


def _unless_held(wish: Wish, found: Plan) -> Plan:
    """Nothing is made, changed or cleared away for a new try before the preflight has let it."""
    if not wish.held or found.call is None or found.call.verb not in ("create", "update", "delete"):
        return found
    if wish.held_for_good:
        return Plan(_broken(wish), WATCH, why=wish.held, parts=found.parts, needs_person=wish.held)
    return Plan(wish.state, BUSY, why=wish.held, parts=found.parts)


def _lost(wish: Wish, part: PartNow) -> Plan:
    """Lost contact is never an action and never another state."""
    denied = part.error_message if part.error == "denied" else ""
    again = THROTTLED if part.error == "throttled" else LOST
    return Plan(wish.state, again, lost=part.error_message or str(part.error), needs_person=denied)


def _absent(part: PartNow, wish: Wish) -> bool | None:
    """Whether it is not there: True, False, or None when that cannot be told yet."""
    if part.phase != "absent":
        return False
    if not part.last_call:
        return True  # nothing was ever asked for under this name
    if part.call_age is not None and part.call_age < wish.consistency:
        return None
    return True if part.absences >= 2 else None


def _towards_ready(wish: Wish, parts: Sequence[PartNow]) -> Plan:
    now: dict[str, str] = {}
    moving = "updating" if wish.proven else "creating"
    for part in [part for part in parts if not part.surplus]:
        step = _make(wish, part, now, moving)
        if step is not None:
            return step
        now[part.role] = "exists"
    # What is no longer wished goes when nothing depends on it any more.
    for part in reversed([part for part in parts if part.surplus]):
        step = _remove(wish, part, now)
        if step is not None:
            return replace(step, state=_unless_settled(wish, moving))
        now[part.role] = "foreign" if not part.ours and part.phase != "absent" else "gone"
    fleet = next((part for part in parts if part.fleet), None)
    if fleet is None:
        return _nodes_and_proofs(wish, parts, now, moving)
    step = _move_fleet(wish, fleet, now, moving)
    return step or replace(_nodes_and_proofs(wish, parts, now, moving), fleet_settled=True)


def _move_fleet(wish: Wish, part: PartNow, now: dict[str, str], moving: str) -> Plan | None:
    """The step towards a fleet that runs or is stopped; None when it is as wished. Once it was, a change that nobody
    here asked for is told and left alone."""
    _, settled = FLEET[wish.fleet_wanted]
    if part.fleet in settled:
        return None
    if part.fleet in FLEET_MOVING:
        return Plan(moving, BUSY, why=f"The compute fleet says {part.fleet}.", parts=now)
    if wish.fleet_settled < wish.generation:
        verb: Verb = "stop" if wish.fleet_wanted == "stopped" else "start"
        return Plan(moving, SOON, Call(part.role, verb), why="The compute fleet is told.", parts=now)
    told = f"The compute fleet says {part.fleet}, and nobody here asked for that."
    return Plan(_broken(wish), WATCH, why=told, parts=now, needs_person=told)


def _nodes_and_proofs(wish: Wish, parts: Sequence[PartNow], now: dict[str, str], moving: str) -> Plan:
    if wish.order:
        call = Call("cluster", "order") if wish.order_unsent else None
        return Plan(moving, SOON if call else BUSY, call, why=wish.order, parts=now)
    if wish.nodes_running < wish.nodes_wanted:
        short = f"{wish.nodes_wanted - wish.nodes_running} of {wish.nodes_wanted} nodes are not running."
        if wish.proven == wish.generation or wish.fleet_wanted == "stopped":
            return Plan("degraded", BUSY, why=short, parts=now)
        return Plan(moving, BUSY, why=short, parts=now)
    if wish.proof_failed and wish.fleet_wanted == "running":
        return Plan(_broken(wish), WATCH, why=wish.proof_failed, parts=now, needs_person=wish.proof_failed)
    # Nothing can be proven of a fleet that does not run; it is when it runs again.
    if wish.proofs_open and wish.proven < wish.generation and wish.fleet_wanted == "running":
        # The end of the smoke job wishes for a look itself.
        return Plan(moving, BUSY, why="Waiting for the proofs.", parts=now, prove=True)
    if wish.state == "approved":
        return Plan("creating", SOON, parts=now)  # found complete at the first look; told one step at a time
    # What was put back works as it did before: usable, and a person decides what is wished instead.
    return Plan("ready", WATCH, parts=now, needs_person=_refused(parts))


def _make(wish: Wish, part: PartNow, now: dict[str, str], moving: str) -> Plan | None:
    """The step that this part needs; None when it is complete and current."""
    here = {**now}
    absent = _absent(part, wish)
    if absent is None:
        state = moving if wish.state in ("approved", "failed") else wish.state
        return Plan(state, BUSY, why="Not found; looking again before anything is concluded.", parts=here)
    new_try = part.applied < wish.generation
    if absent:
        if part.existed and not new_try:
            gone = "It is gone from the provider, and nobody here asked for that."
            return Plan(_broken(wish), WATCH, why=gone, parts={**here, part.role: "gone"}, needs_person=gone)
        return Plan(moving, SOON, Call(part.role, "create"), parts=here)
    if not part.ours:
        foreign = "Something of this name exists that does not carry our tags; it is left alone."
        state = wish.state if wish.proven else "failed"
        return Plan(state, WATCH, why=foreign, parts={**here, part.role: "foreign"}, needs_person=foreign)
    if part.phase == "failed" and wish.rescue and wish.rescue[0] == part.role:
        return _rescue(wish, wish.rescue[1], part, {**here, part.role: "failed"}, moving)
    if part.phase == "failed":
        return _mend(wish, part, here, moving, new_try)
    if part.phase in ("busy", "deleting"):
        word = "deleting" if part.phase == "deleting" else ("updating" if part.existed else "creating")
        if wish.stop and part.stoppable:
            return Plan(moving, SOON, Call(part.role, "cancel"), why=part.reason, parts={**here, part.role: word})
        return Plan(_unless_settled(wish, moving), BUSY, why=part.reason, parts={**here, part.role: word})
    if part.behind:
        return Plan(moving, SOON, Call(part.role, "update"), parts={**here, part.role: "exists"})
    return None


def _mend(wish: Wish, part: PartNow, here: dict[str, str], moving: str, new_try: bool) -> Plan:
    """A failed part keeps its name: a new try deletes it first, but never one that was complete before."""
    why = part.reason or "The provider says that it failed."
    here = {**here, part.role: "failed"}
    if new_try and not part.existed:
        return Plan(moving, SOON, Call(part.role, "delete"), why=why, parts=here)
    if new_try and part.behind and _may(part, "update"):
        return Plan(moving, SOON, Call(part.role, "update"), why=why, parts=here)
    if new_try and part.behind:
        why = f"{part.status} takes no update. {why}"
    if part.short and not part.existed and part.tried < wish.tries:
        return _wait_for_capacity(wish, part, here, moving, why)
    return Plan(_broken(wish), WATCH, why=why, parts=here, needs_person=why if part.existed else "")


def _may(part: PartNow, call: str) -> bool:
    """Whether it takes this call now; where nobody here knows, the provider decides."""
    return part.takes is None or call in part.takes


def _rescue(wish: Wish, verb: Verb, part: PartNow, here: dict[str, str], moving: str) -> Plan:
    """Out of a state that it stopped in: asked once, and what came of it is the operation's answer."""
    why = part.reason or "The provider says that it failed."
    if wish.rescue_unsent:
        return Plan(moving, SOON, Call(part.role, verb), why=why, parts=here)
    return Plan(_broken(wish), BUSY, why=why, parts=here)


def _wait_for_capacity(wish: Wish, part: PartNow, here: dict[str, str], moving: str, why: str) -> Plan:
    """Capacity comes and goes: what failed for want of it is taken away and asked for again, some times."""
    left = PAUSE * 2 ** (part.tried - 1) - (part.call_age or 0)
    told = f"{why} This was try {part.tried} of {wish.tries}."
    if left > 0:
        minutes = max(1, round(left / 60))
        told += f" It is tried again by itself in {minutes} min; to stop that, delete the cluster."
        return Plan(moving, min(left + 1, LOST), why=told, parts=here, fits=told)
    return Plan(moving, SOON, Call(part.role, "delete"), why=told, parts=here, fits=told)


def _broken(wish: Wish) -> str:
    """What worked once is degraded, what never did has failed."""
    return "degraded" if wish.proven else "failed"


def _unless_settled(wish: Wish, moving: str) -> str:
    """A cluster that is ready and only being changed by its provider is updating, a new one is being created."""
    return "degraded" if wish.state == "degraded" and wish.proven == wish.generation else moving


def _refused(parts: Sequence[PartNow]) -> str:
    """What the provider said when it undid the last update."""
    put_back = next((part for part in parts if part.put_back), None)
    return (put_back.reason or "The provider undid the last update.") if put_back else ""


def _towards_deleted(wish: Wish, parts: Sequence[PartNow]) -> Plan:
    now: dict[str, str] = {}
    for part in reversed(parts):
        step = _remove(wish, part, now)
        if step is not None:
            return step
        now[part.role] = "foreign" if not part.ours and part.phase != "absent" else "gone"
    if wish.state not in ("approved", "deleting", "deleted"):
        return Plan("deleting", SOON, parts=now)
    return Plan("deleted", WATCH, parts=now)


def _remove(wish: Wish, part: PartNow, now: dict[str, str]) -> Plan | None:
    """The step that this part needs to be gone; None when it is. What is not ours is left alone."""
    if part.state == "gone" and part.phase == "absent":
        return None
    absent = _absent(part, wish)
    if absent is None:
        return Plan("deleting", BUSY, why="Not found; looking again to be sure.", parts=now)
    if absent or not part.ours:
        return None
    if part.phase == "deleting":
        return Plan("deleting", BUSY, parts={**now, part.role: "deleting"})
    if part.phase == "busy" and not _may(part, "delete"):
        why = f"It is {part.status}, and can be deleted when that is over."
        return Plan("deleting", BUSY, why=why, parts=now)
    asked = part.last_call == "delete" and part.applied >= wish.generation
    if part.phase == "failed" and asked:
        why = part.reason or "The provider could not delete it."
        if part.deletes < TRIES:
            # Interfaces that belong to something else often go a little later, and then it works.
            if part.call_age is None or part.call_age < AGAIN_AFTER:
                return Plan("deleting", BUSY, why=why, parts={**now, part.role: "failed"})
            return Plan("deleting", SOON, Call(part.role, "delete"), why=why, parts={**now, part.role: "failed"})
        return Plan("deleting", WATCH, why=why, parts={**now, part.role: "failed"}, needs_person=why)
    if asked and part.call_age is not None and part.call_age < wish.consistency:
        return Plan("deleting", BUSY, parts={**now, part.role: "deleting"})
    return Plan("deleting", SOON, Call(part.role, "delete"), parts=now)


def _conditions(wish: Wish, parts: Sequence[PartNow], found: Plan) -> tuple[Condition, ...]:
    """What is known, beside the state: five questions with yes, no or unknown."""
    if found.lost:
        answers: tuple[Answer, ...] = ("unknown", "unknown", "unknown")
    else:
        kept = [part for part in parts if not part.surplus]
        complete: Answer = "yes" if kept and all(part.phase == "ready" for part in kept) else "no"
        healthy: Answer = (
            "yes" if found.state == "ready" else ("no" if found.state in ("degraded", "failed") else "unknown")
        )
        current: Answer = (
            "yes"
            if all(part.applied >= wish.generation and not part.behind and not part.put_back for part in kept)
            else "no"
        )
        answers = (complete, healthy, current)
    progressing: Answer = "no" if found.needs_person else "yes"
    return (
        Condition("Provisioned", answers[0], "" if answers[0] == "yes" else found.why or found.lost),
        Condition("Healthy", answers[1], found.why if answers[1] == "no" else found.lost),
        Condition("Current", answers[2], _refused(parts) if answers[2] == "no" else ""),
        Condition("Progressing", progressing, found.needs_person),
    )
