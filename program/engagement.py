"""The engagement board: who looks after whom on each level, when they last spoke, what is promised next, and the gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from program.models import ActionItem
from program.queries import portfolio
from support.models import Case
from support.states import OPEN
from tenants.models import Assignment, Tenant, holding
from tenants.programme_day import programme_zone
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
    "account": _("no account team"),
    "lead": _("no lead architect"),
    "deputy": _("no deputy"),
    "quiet": _("no contact for two weeks"),
    "overdue": _("a promise is overdue"),
}


@dataclass
class Line:
    """One participant on the board."""

    slug: str
    name: str
    last_contact: datetime | None
    promised: date | None = None
    owners: dict[str, list[str]] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)

    @property
    def cells(self) -> list[tuple[str, Any, list[str]]]:
        """Each level: its word, what it is called, and who is there."""
        return [(duty, words, self.owners.get(duty, [])) for duty, words in LEVELS.items()]

    @property
    def gap_words(self) -> list[Any]:
        return [GAPS[gap] for gap in self.gaps]


def gaps(
    *, staffed: frozenset[str] | set[str], last_contact: datetime | None, promised: date | None, now: datetime
) -> list[str]:
    """What is missing: an owner on a level that needs one, a contact in two weeks, a promise that was kept."""
    found = [duty for duty in NEEDED if duty not in staffed]
    if last_contact is None or (now - last_contact).days >= QUIET_DAYS:
        found.append("quiet")
    if promised is not None and promised < now.date():
        found.append("overdue")
    return found


def board(now: datetime) -> list[Line]:
    """Everybody who takes part now, whoever has most gaps first; four queries beside the portfolio's."""
    lines: dict[str, Line] = {}
    for row in portfolio(now=now):
        known = lines.setdefault(row.tenant, Line(row.tenant, row.name, row.last_contact))
        known.last_contact = max((at for at in (known.last_contact, row.last_contact) if at), default=None)
    ids = dict(Tenant.objects.filter(slug__in=list(lines)).values_list("pk", "slug"))
    seats = Assignment.objects.filter(holding(now.date()), tenant__in=list(ids), duty__in=list(LEVELS))
    for tenant, duty, name, email in seats.order_by("pk").values_list(
        "tenant_id", "duty", "person__name", "person__email"
    ):
        lines[ids[tenant]].owners.setdefault(duty, []).append(name or email)
    for tenant, promised in _promises(list(ids)).items():
        lines[ids[tenant]].promised = promised
    for line in lines.values():
        line.gaps = gaps(staffed=set(line.owners), last_contact=line.last_contact, promised=line.promised, now=now)
    return sorted(lines.values(), key=lambda line: (-len(line.gaps), line.name))


def _promises(tenants: list[UUID]) -> dict[UUID, date]:
    """The nearest day by which somebody promised something: a case's next step, or an action item."""
    cases = Case.objects.filter(tenant__in=tenants, state__in=OPEN, next_step_due__isnull=False)
    items = ActionItem.objects.filter(tenant__in=tenants, state="open")
    found: dict[UUID, date] = {}
    for rows, column in ((cases, "next_step_due"), (items, "due")):
        for tenant, day in (
            rows.order_by().values("tenant_id").annotate(day=Min(column)).values_list("tenant_id", "day")
        ):
            found[tenant] = min(found.get(tenant, day), day)
    return found


@allow(roles.STAFF)
@require_safe
def engagement(request: HttpRequest) -> HttpResponse:
    """The board of all participants."""
    lines = board(timezone.now().astimezone(programme_zone()))
    context = {"lines": lines, "levels": list(LEVELS.values()), "with_gaps": sum(bool(line.gaps) for line in lines)}
    context["may_assign"] = request.role in roles.ASSIGN
    return render(request, "program/engagement.html", context)
