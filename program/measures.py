"""Pure: how well the work went between two reviews, counted from the entries of its cases and action items."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from program.figures import Event, state_at
from support import clocks


@dataclass(frozen=True)
class ActionThen:
    """An action item as its entries tell it."""

    id: str
    tenant: str
    number: str = ""
    text: str = ""
    owner: str = ""
    due: date | None = None
    moves: int = 0
    state: str = ""
    ended_on: date | None = None
    given: datetime | None = None

    @property
    def open(self) -> bool:
        return self.state == "open"

    def overdue(self, day: date) -> bool:
        return self.open and self.due is not None and self.due < day


def actions_at(events: Iterable[Event]) -> list[ActionThen]:
    """Every action item, from its entries in the order in which things happened; `case` holds the item's id here."""
    found: dict[str, ActionThen] = {}
    for event in sorted(events, key=lambda event: (event.at, event.id)):
        then = found.get(event.case) or ActionThen(event.case, event.tenant)
        found[event.case] = _after(then, event)
    return sorted((then for then in found.values() if then.state), key=lambda then: (str(then.due), then.number))


def _after(then: ActionThen, event: Event) -> ActionThen:
    facts, word = event.facts, event.kind.partition(".")[2]
    if word == "given":
        names = {"number": facts.get("number", ""), "text": facts.get("text", ""), "owner": facts.get("owner", "")}
        return replace(then, state="open", due=_day(facts.get("due")), given=event.at, **names)
    if word == "due_moved":
        return replace(then, due=_day(facts.get("due")), moves=then.moves + 1)
    if word in ("done", "dropped"):
        return replace(then, state=word, ended_on=_day(facts.get("ended_on")) or event.at.date())
    return replace(then, state="open", ended_on=None) if word == "open" else then


def _day(text: Any) -> date | None:
    return date.fromisoformat(text) if text else None


def measures(
    events: Iterable[Event],
    actions: Iterable[ActionThen],
    counted_before: Callable[[Event], bool],
    since: datetime | None,
    cutoff: datetime,
    surveys: Iterable[tuple[int, Decimal]] = (),
) -> dict[str, Any]:
    """The measures of one window; shares come as two counts, so that windows can be added up."""
    histories: dict[str, list[Event]] = {}
    for event in events:
        histories.setdefault(event.case, []).append(event)
    due = within = 0
    to_resolve: list[float] = []
    to_mitigate: list[float] = []
    ended: dict[str, bool] = {}
    lost: dict[str, Decimal] = {}
    for history in histories.values():
        ordered = sorted(history, key=lambda event: (event.at, event.id))
        for asked, kept in _responses(ordered, counted_before, cutoff):
            due, within = due + asked, within + kept
        for index, event in enumerate(ordered):
            if counted_before(event) or event.kind not in ("case.resolved", "case.mitigated"):
                continue
            then = state_at(ordered[: index + 1])
            if not then.opened:
                continue
            hours = (event.at - then.start).total_seconds() / 3600
            (to_resolve if event.kind == "case.resolved" else to_mitigate).append(hours)
            if event.kind == "case.resolved":
                ended[event.case] = has_article(ordered)
            if event.kind == "case.resolved" and then.lost_hours:
                lost[then.cause] = lost.get(then.cause, Decimal(0)) + Decimal(then.lost_hours)
    return {
        "response": {"due": due, "within": within},
        "resolve_hours": spread(to_resolve),
        "mitigate_hours": spread(to_mitigate),
        "lost_hours": {cause: f"{hours:f}" for cause, hours in sorted(lost.items())},
        "actions": _on_time(actions, since, cutoff),
        "articles": {"resolved": len(ended), "with": sum(ended.values())},
        "satisfaction": satisfaction(surveys),
    }


def has_article(history: Iterable[Event]) -> bool:
    """Whether an article came out of a case or solved it, and was not taken off it again."""
    named: set[str] = set()
    for event in history:
        if event.kind in ("case.article", "case.solved_by"):
            named.add(event.facts.get("code", ""))
        elif event.kind == "case.article_off":
            named.discard(event.facts.get("code", ""))
    return bool(named)


def satisfaction(surveys: Iterable[tuple[int, Decimal]]) -> dict[str, Any]:
    """Of the sessions surveyed: how many people answered, and their mean, each answer counted alike."""
    told = [(answers, mean) for answers, mean in surveys if answers]
    count = sum(answers for answers, _mean in told)
    mean = sum((answers * mean for answers, mean in told), Decimal(0)) / count if count else None
    return {"answers": count, "mean": None if mean is None else f"{mean:.2f}"}


def _responses(
    ordered: list[Event], counted_before: Callable[[Event], bool], cutoff: datetime
) -> Iterable[tuple[int, int]]:
    """(asked for, kept) for each time the response clock began since the last review."""
    starts = [i for i, event in enumerate(ordered) if event.kind in ("case.opened", "case.reopened")]
    for place, begin in enumerate(starts):
        if counted_before(ordered[begin]):
            continue
        end = starts[place + 1] if place + 1 < len(starts) else len(ordered)
        then = state_at(ordered[:end])
        if not then.opened:
            continue
        missed = clocks.response_missed(then.severity, then.start, then.answered, cutoff, then.severity_raised)
        if missed or then.answered is not None:
            yield 1, int(not missed)


def spread(hours: list[float]) -> dict[str, Any]:
    """How many, the middle one, and the one that nine of ten stay under; nearest rank, nothing is interpolated."""
    ranked = sorted(hours)
    if not ranked:
        return {"n": 0, "median": None, "p90": None}
    return {"n": len(ranked), "median": round(_rank(ranked, 50), 1), "p90": round(_rank(ranked, 90), 1)}


def _rank(ranked: list[float], percent: int) -> float:
    return ranked[max(0, -(-len(ranked) * percent // 100) - 1)]


def _on_time(actions: Iterable[ActionThen], since: datetime | None, cutoff: datetime) -> dict[str, int]:
    """Of the items that ended or fell due since the last review: how many were done by their day."""
    first = since.date() if since else date.min
    counts = {"ended": 0, "on_time": 0, "overdue": 0, "open": 0}
    for item in actions:
        counts["open"] += item.open
        counts["overdue"] += item.overdue(cutoff.date())
        if item.state == "done" and item.ended_on and first <= item.ended_on:
            counts["ended"] += 1
            counts["on_time"] += item.due is None or item.ended_on <= item.due
    return counts


def shares(told: Mapping[str, Any]) -> dict[str, float | None]:
    """The shares that the trend shows, None where nothing was asked for."""
    response, actions, articles = told.get("response", {}), told.get("actions", {}), told.get("articles", {})
    asked = actions.get("ended", 0) + actions.get("overdue", 0)
    return {
        "response": response["within"] / response["due"] if response.get("due") else None,
        "actions": actions["on_time"] / asked if asked else None,
        "articles": articles["with"] / articles["resolved"] if articles.get("resolved") else None,
    }
