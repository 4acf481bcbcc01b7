"""Pages beside a review: the trend of the last weeks, and what changed since the review before."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from program.meeting_stops import named
from program.models import Review
from program.trend import charts, shown_cycle, trend
from support.models import Case
from tenants.models import Person
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import reading_everyone
from tenants.web.templatetags.show import words

READ_REVIEWS = roles.STAFF - {roles.AUTOMATION}
TOPICS: dict[str, Any] = {
    "new": gettext_lazy("new"),
    "reopened": gettext_lazy("reopened"),
    "resolved": gettext_lazy("resolved"),
    "state": gettext_lazy("state"),
    "severity": gettext_lazy("severity"),
    "owner": gettext_lazy("owner"),
    "due": gettext_lazy("date moved"),
    "still": gettext_lazy("did not move"),
    "record": gettext_lazy("tracking record"),
    "capacity": gettext_lazy("quota or reservation"),
    "cluster": gettext_lazy("cluster"),
    "node": gettext_lazy("nodes"),
    "job": gettext_lazy("job"),
    "nothing": gettext_lazy("nothing changed"),
}
PAGES = {"case": "case", "cluster": "cluster", "job": "job"}


@allow(READ_REVIEWS)
@require_safe
def review_trend(request: HttpRequest) -> HttpResponse:
    """How the last twelve reviews went: what is open, how fast it is answered and resolved, what it cost."""
    with reading_everyone():
        cycle = shown_cycle()
        weeks = trend(cycle) if cycle else []
    return render(
        request, "program/trend.html", {"weeks": weeks, "charts": charts(weeks) if weeks else {}, "cycle": cycle}
    )


@allow(READ_REVIEWS)
@require_safe
def review_changes(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What changed since the review before, participant by participant; nothing is a line too."""
    with reading_everyone():
        row = Review.objects.select_related("cycle").filter(pk=pk).first()
    if row is None:
        raise Http404
    told = [_line(one) for one in named(row.snapshot.get("changes", []))]
    people = {str(pk): str(person) for pk, person in Person.objects.in_bulk(_people(told)).items()}
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in told:
        if one["what"] == "owner":
            one["was"], one["now"] = people.get(one["was"], one["was"]), people.get(one["now"], one["now"])
        groups.setdefault(one["tenant_name"], []).append(one)
    quiet = sorted(name for name, lines in groups.items() if all(one["what"] == "nothing" for one in lines))
    loud = {name: lines for name, lines in groups.items() if name not in quiet}
    return render(request, "program/changes.html", {"row": row, "groups": sorted(loud.items()), "quiet": quiet})


def _people(told: list[dict[str, Any]]) -> set[str]:
    return {value for one in told if one["what"] == "owner" for value in (one["was"], one["now"]) if value}


def _line(one: dict[str, Any]) -> dict[str, Any]:
    """A line in words, with the page it is about and the entry behind it."""
    causes = dict(Case.Cause.choices)
    shown = {"was": words(one["was"]), "now": causes.get(one["now"], words(one["now"]))}
    page = PAGES.get(one["subject"])
    return (
        one
        | shown
        | {
            "words": TOPICS.get(one["what"], one["what"]),
            "url": reverse(page, args=[one["tenant"], one["subject_id"]]) if page and one["subject_id"] else "",
            "kind": one["was"] if one["what"] in ("record", "capacity", "cluster", "node", "job") else "",
        }
    )
