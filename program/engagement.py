"""The engagement board: who looks after whom on each level, when they last spoke, what is promised next, and the gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from program import contacting
from program.contacting import Promise
from program.queries import portfolio
from tenants.models import Assignment, Tenant, holding
from tenants.programme_day import programme_day
from tenants.queries import Line as Spoken
from tenants.wall import roles
from tenants.wall.access import allow

# Who has to be there: the levels of the escalation ladder that the programme itself staffs.
LEVELS = {
    "account": _("Account team"),
    "lead": _("Lead architect"),
    "deputy": _("Deputy"),
    "frameworks": _("Frameworks"),
}
NEEDED = ("account", "lead", "deputy")
QUIET_DAYS = 14
GAPS = {
    "overdue": _("a promise is overdue"),
    "account": _("no account team"),
    "lead": _("no lead architect"),
    "quiet": _("no contact for two weeks"),
    "deputy": _("no deputy"),
}
TONES = {"overdue": "bad", "deputy": "neutral"}  # every other is a warning


@dataclass
class Line:
    """One participant on the board; `spoken` is the last contact in words, `known_since` when it was selected or came."""

    slug: str
    name: str
    last_contact: datetime | None
    known_since: datetime
    spoken: Spoken | None = None
    promised: Promise | None = None
    owners: dict[str, list[tuple[UUID, str]]] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)

    @property
    def cells(self) -> list[tuple[str, Any, list[str]]]:
        """Each level: its word, what it is called, and who is there."""
        return [(duty, words, [name for _pk, name in self.owners.get(duty, [])]) for duty, words in LEVELS.items()]

    @property
    def gap_words(self) -> list[tuple[str, Any]]:
        """(tone, words), the worst first."""
        return [(TONES.get(gap, "warn"), GAPS[gap]) for gap in GAPS if gap in self.gaps]

    @property
    def tone(self) -> str:
        return self.gap_words[0][0] if self.gaps else "neutral"

    def is_of(self, person: UUID) -> bool:
        return any(pk == person for people in self.owners.values() for pk, _name in people)


def gaps(
    *,
    staffed: frozenset[str] | set[str],
    last_contact: datetime | None,
    promised: date | None,
    now: datetime,
    today: date | None = None,
    known_since: datetime | None = None,
) -> list[str]:
    """What is missing: an owner on a level that needs one, a contact in two weeks, a promise that was kept.

    `today` is the day where the promise was made. Who came less than two weeks ago is not quiet yet.
    """
    found = [duty for duty in NEEDED if duty not in staffed]
    since = last_contact or known_since
    if since is None or (now - since).days >= QUIET_DAYS:
        found.append("quiet")
    if promised is not None and promised < (today or now.date()):
        found.append("overdue")
    return found


def board(now: datetime) -> list[Line]:
    """Everybody who takes part now, whoever has the worst gaps first; a fixed number of queries."""
    lines: dict[str, Line] = {}
    today = programme_day(now)
    for row in portfolio(now=now):
        known = lines.setdefault(row.tenant, Line(row.tenant, row.name, row.last_contact, row.known_since))
        known.last_contact = max((at for at in (known.last_contact, row.last_contact) if at), default=None)
        known.known_since = min(known.known_since, row.known_since)
    ids = dict(Tenant.objects.filter(slug__in=list(lines)).values_list("pk", "slug"))
    seats = Assignment.objects.filter(holding(today), tenant__in=list(ids), duty__in=list(LEVELS))
    for tenant, duty, pk, name, email in seats.order_by("pk").values_list(
        "tenant_id", "duty", "person_id", "person__name", "person__email"
    ):
        lines[ids[tenant]].owners.setdefault(duty, []).append((pk, name or email))
    for tenant, promised in contacting.promises(ids).items():
        lines[ids[tenant]].promised = promised
    for tenant, spoken in contacting.last_spoken(ids).items():
        lines[ids[tenant]].spoken = spoken
    for line in lines.values():
        line.gaps = gaps(
            staffed=set(line.owners), last_contact=line.last_contact, known_since=line.known_since,
            promised=line.promised.day if line.promised else None, now=now, today=today,
        )  # fmt: skip
    order = {tone: place for place, tone in enumerate(("bad", "warn", "neutral"))}
    return sorted(lines.values(), key=lambda line: (order[line.tone], -len(line.gaps), line.name))


@allow(roles.STAFF)
@require_safe
def engagement(request: HttpRequest) -> HttpResponse:
    """The board of all participants; with `mine`, of those that the reader looks after."""
    lines = board(timezone.now())
    mine = [line for line in lines if line.is_of(request.person.pk)]
    only_mine = bool(request.GET.get("mine"))
    shown = mine if only_mine else lines
    context = {
        "lines": shown,
        "levels": list(LEVELS.values()),
        "with_gaps": sum(line.tone != "neutral" for line in shown),
        "only_mine": only_mine,
        "mine": len(mine),
        "all": len(lines),
    }
    context |= {"may_assign": request.role in roles.ASSIGN, "may_note": request.role in roles.NOTE}
    return render(request, "program/engagement.html", context)
