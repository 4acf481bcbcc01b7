"""Reads about calls: what was applied with, what came before, what it comes to beside what is reserved."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from program.calls import calling, need
from program.models import Application, ApplicationScore, ApplicationVersion, Call
from tenants.models import Participation

DECIDED = ("selected", "waitlisted", "declined")
SORTS = ("number", "organisation", "hours", "instances", "points", "state")


def calls() -> QuerySet[Call]:
    """What the scope shows: participants see no drafts."""
    return Call.objects.select_related("cycle__programme").order_by("-opens_at", "-id")


@dataclass(frozen=True)
class Line:
    """An application in a list: both units of its need, and what reviewers gave it."""

    row: Application
    total: need.Total
    small: bool
    reviewers: int
    points: float | None  # of 15: the mean of all reviewers' sums; None: nobody scored it
    marks: tuple[float, ...] = ()  # the mean of each criterion, in the order of `selecting.CRITERIA`
    by: tuple[str, ...] = ()  # who scored it

    def value(self, sort: str) -> Any:
        """What the list is ordered by; the greatest first where that is the better."""
        return {
            "number": (len(self.row.number), self.row.number),
            "organisation": self.row.organisation.casefold(),
            "hours": -self.total.hours,
            "instances": -self.total.instances,
            "points": -(self.points or 0),
            "state": self.row.state,
        }[sort]


def lines(rows: Iterable[Application], call: Call) -> list[Line]:
    """Applications of one call with their sums: two statements, whatever their number."""
    rows = list(rows)
    given: dict[Any, list[tuple[str, list[int]]]] = {}
    scores = ApplicationScore.objects.filter(application__in=[row.pk for row in rows]).order_by("created_at", "id")
    names = ("application_id", "reviewer__name", "performance", "openness", "feasibility")
    for pk, name, *points in scores.values_list(*names):
        given.setdefault(pk, []).append((name, points))
    return [_line(row, call, given.get(row.pk, [])) for row in rows]


def _line(row: Application, call: Call, given: list[tuple[str, list[int]]]) -> Line:
    whole = need.total(need.read(row.need), calling.each)
    columns = list(zip(*(points for _name, points in given), strict=True))
    marks = tuple(round(sum(column) / len(given), 1) for column in columns)
    mean = round(sum(map(sum, columns)) / len(given), 1) if given else None
    small = bool(row.need) and whole.hours <= call.small_hours
    return Line(row, whole, small, len(given), mean, marks, tuple(name for name, _points in given))


def handed_in(call: Call) -> QuerySet[Application]:
    """What was handed in; drafts are their writers' own."""
    return Application.objects.filter(call=call).exclude(state="draft").select_related("tenant")


def earlier(row: Application) -> list[Participation]:
    """The participations of the organisation so far, the newest first; none of a newcomer."""
    if row.tenant.is_office:
        return []
    there = Participation.objects.filter(tenant=row.tenant_id).exclude(pk=row.became).select_related("cycle", "tenant")
    return list(there.order_by("-cycle__starts_on", "-id"))


def editions(row: Application) -> list[dict[str, Any]]:
    """What changed with each edition, the newest first: number, when, by whom, and [before, after] of each answer."""
    kept = list(ApplicationVersion.objects.filter(application=row.pk).order_by("number"))
    found = []
    for before, one in zip([None, *kept], kept, strict=False):
        was = before.answers if before else {}
        changes = {name: [was.get(name), value] for name, value in one.answers.items() if was.get(name) != value}
        found.append({"number": one.number, "at": one.created_at, "by": one.by, "changes": changes if before else {}})
    return found[::-1]
