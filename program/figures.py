"""Pure: how every case stood at a moment, what changed since the last one, the balance of both, and the agenda's order."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from support import clocks
from support.states import CASE, ENDED

GROUPS = ("worst", "unattended", "new", "third_time", "overage", "decision", "high", "rest")
THIRD_TIME = 3


@dataclass(frozen=True)
class Event:
    """One entry about a case, as far as figures need it."""

    id: int
    case: str
    tenant: str  # its slug
    kind: str
    at: datetime
    recorded_at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseThen:
    """A case as its entries tell it. `state` is empty when it was never opened."""

    case: str
    tenant: str
    state: str = ""
    number: str = ""
    title: str = ""
    type: str = ""
    severity: str = ""
    opened: datetime | None = None
    reopened: datetime | None = None
    severity_raised: datetime | None = None
    answered: datetime | None = None
    last_shared: datetime | None = None
    owner: str | None = None
    next_step: str = ""
    due: date | None = None
    cause: str = ""
    lost_hours: str | None = None

    @property
    def open(self) -> bool:
        return bool(self.state) and self.state not in ENDED

    @property
    def start(self) -> datetime:
        """When its clocks began. Only of a case that was opened."""
        assert self.opened is not None
        return clocks.started(self.opened, self.reopened)


def state_at(events: Iterable[Event]) -> CaseThen:
    """Fold one case's entries, in the order in which things happened."""
    ordered = sorted(events, key=lambda event: (event.at, event.id))
    then = CaseThen(case=ordered[0].case, tenant=ordered[0].tenant)
    for event in ordered:
        then = _after(then, event)
    return then


def _after(then: CaseThen, event: Event) -> CaseThen:
    facts, noun, word = event.facts, *event.kind.split(".", 1)
    if event.kind == "case.opened":
        told = {
            "number": facts.get("number", ""),
            "title": facts.get("title", ""),
            "type": facts.get("type", "problem"),
        }
        then = replace(then, state="new", opened=event.at, severity=facts["case_severity"], **told)
    elif event.kind == "case.reopened":
        then = replace(then, state="in_progress", reopened=event.at, answered=None)
    elif event.kind == "case.severity":
        raised = _worse(facts["to"], then.severity)
        then = replace(then, severity=facts["to"], severity_raised=event.at if raised else then.severity_raised)
    elif event.kind in ("case.taken", "case.given"):
        then = replace(then, owner=facts.get("owner"))
    elif event.kind == "case.planned":
        due = facts.get("due")
        then = replace(
            then,
            owner=facts.get("owner"),
            next_step=facts.get("next_step", ""),
            due=date.fromisoformat(due) if due else None,
        )
    elif noun == "case" and word in CASE and then.state:
        then = replace(then, state=word)
        if word == "resolved":
            then = replace(then, cause=facts.get("cause_code", ""), lost_hours=facts.get("lost_hours"))
    return _heard(then, event)


def _heard(then: CaseThen, event: Event) -> CaseThen:
    """Whoever spoke moved the case; a word of staff after the opening answers it."""
    who = event.facts.get("spoke")
    if not who:
        return then
    answers = who == "staff" and then.answered is None and event.kind != "case.opened"
    return replace(then, last_shared=event.at, answered=event.at if answers else then.answered)


def _worse(one: str, other: str) -> bool:
    order = list(clocks.FIRST_RESPONSE)
    return order.index(one) < order.index(other)


@dataclass(frozen=True)
class Broken:
    """A case whose entries do not add up: what it was, what was counted, what it is."""

    case: str
    number: str
    tenant: str
    before: int
    opened: int
    reopened: int
    resolved: int
    now: int


@dataclass(frozen=True)
class Figures:
    """The balance line of a review and the cases behind it."""

    open_before: int
    opened: int
    reopened: int
    resolved: int
    open_now: int
    carried: int
    mitigated: int
    open_cases: tuple[CaseThen, ...]
    carried_cases: frozenset[str]
    resolved_cases: tuple[CaseThen, ...]
    broken: tuple[Broken, ...]

    @property
    def balanced(self) -> bool:
        return not self.broken and self.open_now == self.open_before + self.opened + self.reopened - self.resolved


def figures(events: Iterable[Event], counted_before: Callable[[Event], bool]) -> Figures:
    """Figures of everything told so far; what was `counted_before` is how the last review saw it, the rest came since."""
    histories: dict[str, list[Event]] = {}
    for event in events:
        histories.setdefault(event.case, []).append(event)
    opened = reopened = resolved = before_all = 0
    open_cases: list[CaseThen] = []
    carried: set[str] = set()
    ended: list[CaseThen] = []
    broken: list[Broken] = []
    for case, history in histories.items():
        then = state_at(history)
        old = [event for event in history if counted_before(event)]
        before = int(bool(old) and state_at(old).open)
        since = [event.kind for event in history if not counted_before(event)]
        counts = since.count("case.opened"), since.count("case.reopened"), since.count("case.resolved")
        if int(then.open) != before + counts[0] + counts[1] - counts[2]:
            broken.append(Broken(case, then.number, then.tenant, before, *counts, int(then.open)))
        opened, reopened, resolved = opened + counts[0], reopened + counts[1], resolved + counts[2]
        before_all += before
        if then.open:
            open_cases.append(then)
            if before:
                carried.add(case)
        elif counts[2]:
            ended.append(then)
    return Figures(
        open_before=before_all,
        opened=opened,
        reopened=reopened,
        resolved=resolved,
        open_now=len(open_cases),
        carried=len(carried),
        mitigated=sum(then.state == "mitigated" for then in open_cases),
        open_cases=tuple(open_cases),
        carried_cases=frozenset(carried),
        resolved_cases=tuple(sorted(ended, key=lambda then: (then.tenant, then.number))),
        broken=tuple(broken),
    )


@dataclass(frozen=True)
class Item:
    """A case in its place on the agenda."""

    then: CaseThen
    group: str
    age: int
    idle: int
    times: int
    carried: bool


def agenda(
    cases: Iterable[CaseThen], cutoff: datetime, times: Mapping[str, int], carried: frozenset[str]
) -> list[Item]:
    """The open cases in the order of the meeting; `times` is how often each was on an agenda before."""
    items = [
        Item(
            then=then,
            group=group_of(then, cutoff, times.get(then.case, 0) + 1),
            age=clocks.age_days(then.start, cutoff),
            idle=clocks.idle_days(then.start, then.last_shared, cutoff),
            times=times.get(then.case, 0) + 1,
            carried=then.case in carried,
        )
        for then in cases
    ]
    return sorted(items, key=_place)


def _place(item: Item) -> tuple[Any, ...]:
    """By group, oldest first; what is accepted as a block goes by participant."""
    then = item.then
    participant = then.tenant if item.group == "rest" else ""
    return GROUPS.index(item.group), participant, then.start, then.opened, then.tenant, then.number


def group_of(then: CaseThen, cutoff: datetime, times: int) -> str:
    """The first group that fits."""
    if then.severity in ("critical", "urgent"):
        return "worst"
    late = clocks.response_overdue(then.severity, then.start, then.answered, cutoff, then.severity_raised)
    if late or not then.owner or not then.next_step:
        return "unattended"
    if then.state == "new":
        return "new"
    if times >= THIRD_TIME:
        return "third_time"
    if clocks.over_age(then.severity, then.start, cutoff):
        return "overage"
    if then.state == "waiting_decision":
        return "decision"
    return "high" if then.severity == "high" else "rest"
