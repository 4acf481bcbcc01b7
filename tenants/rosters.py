"""Duty rosters of the programme's teams: planned by a weekly pattern in a zone, swapped with history, read as "who is on now".

A team is everybody of the office with its role; a service team, everybody who answers for its component.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.history import timeline
from tenants.leaving import lets_go
from tenants.models import DutyShift, Membership, Person, Tenant, holding
from tenants.wall import roles
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused

PLANNED = timeline.kind(
    "duty.planned",
    gettext_lazy("{actor} planned {count} shifts of {team} from {starts_on} to {ends_on}"),
    audience="internal",
    icon="calendar",
)
SWAPPED = timeline.kind(
    "duty.swapped",
    gettext_lazy("{actor} swapped a shift of {team}: {person} for {from_person}, {starts_at}"),
    audience="internal",
    icon="calendar",
)
REMOVED = timeline.kind(
    "duty.removed",
    gettext_lazy("{actor} took {person} off a shift of {team}, {starts_at}"),
    audience="internal",
    icon="calendar",
)
TEAMS: dict[str, tuple[str, Any]] = {
    "account": (roles.ACCOUNT_TEAM, gettext_lazy("Account team")),
    "lead": (roles.LEAD_ARCHITECT, gettext_lazy("Lead architects")),
    "frameworks": (roles.FRAMEWORKS_SPECIALIST, gettext_lazy("Frameworks team")),
}
AHEAD = timedelta(days=14)
MOST_WEEKS, MOST_SHIFTS = 26, 400
LONGEST_WHY = 300
P = TypeVar("P")
Span = tuple[datetime, datetime]


@dataclass(frozen=True)
class Pattern:
    """Which days of the week, from when to when by the clock of a zone, and whether people take turns by day or by week.

    Weekdays count from Monday, 0. An end that is not after the beginning lies on the next day.
    """

    weekdays: Collection[int]
    begins: time
    ends: time
    zone: str
    first: date
    weeks: int
    turn: str = "week"


def shifts_of(pattern: Pattern, people: Sequence[P]) -> list[tuple[P, datetime, datetime]]:
    """Who is on from when to when, in order; the clock of the zone decides, also on the days when it is put forward or back."""
    zone, monday = ZoneInfo(pattern.zone), pattern.first - timedelta(days=pattern.first.weekday())
    found = []
    for number in range(pattern.weeks * 7):
        day = pattern.first + timedelta(days=number)
        if day.weekday() not in pattern.weekdays:
            continue
        turn = (day - monday).days // 7 if pattern.turn == "week" else len(found)
        last = day if pattern.ends > pattern.begins else day + timedelta(days=1)
        begins, ends = datetime.combine(day, pattern.begins, zone), datetime.combine(last, pattern.ends, zone)
        found.append((people[turn % len(people)], begins.astimezone(UTC), ends.astimezone(UTC)))
    return found


def gaps(spans: Iterable[Span], begin: datetime, end: datetime) -> list[Span]:
    """When nobody is on between two moments."""
    found, reached = [], begin
    for starts_at, ends_at in sorted(spans):
        if starts_at >= end:
            break
        if starts_at > reached:
            found.append((reached, starts_at))
        reached = max(reached, ends_at)
    return [*found, (reached, end)] if reached < end else found


def overlaps(spans: Iterable[Span]) -> list[Span]:
    """When more than one is on."""
    found: list[Span] = []
    reached: datetime | None = None
    for starts_at, ends_at in sorted(spans):
        if reached is not None and starts_at < reached:
            span = (starts_at, min(reached, ends_at))
            if found and span[0] <= found[-1][1]:
                span = (found[-1][0], max(found.pop()[1], span[1]))
            found.append(span)
        reached = ends_at if reached is None else max(reached, ends_at)
    return found


def team_words(team: str) -> str:
    """A team as people call it; a service team by its component."""
    return str(TEAMS[team][1]) if team in TEAMS else _("Service team %(team)s") % {"team": team}


def teams() -> list[str]:
    """Every team that somebody belongs to now."""
    rows = _seats().values_list("role", "team")
    held = set(rows)
    found = [team for team, (role, _words) in TEAMS.items() if any(role == each for each, _team in held)]
    return found + sorted({team for role, team in held if role == roles.SERVICE_ENGINEER and team})


def members(team: str) -> list[Person]:
    """Who may be on duty for a team, by name."""
    rows = _seats().filter(role=TEAMS[team][0]) if team in TEAMS else _serving(team)
    return sorted(
        {row.person for row in rows.select_related("person")}, key=lambda person: (str(person), str(person.pk))
    )


def _serving(team: str) -> QuerySet[Membership]:
    return _seats().filter(role=roles.SERVICE_ENGINEER, team=team).exclude(team="")


def _seats() -> QuerySet[Membership]:
    return Membership.objects.filter(holding(), tenant__is_office=True, person__is_active=True)


def shifts(team: str = "") -> QuerySet[DutyShift]:
    """Shifts, the next first; they exist only for staff."""
    rows = DutyShift.objects.select_related("person").order_by("starts_at", "part", "id")
    return rows.filter(team=team) if team else rows


def on_duty(now: datetime, team: str = "") -> list[DutyShift]:
    """The shifts of this moment, by team and the primary first; one query, and nothing outside a staff scope."""
    rows = shifts(team).filter(starts_at__lte=now, ends_at__gt=now)
    return sorted(rows, key=lambda row: (row.team, row.part != DutyShift.Part.PRIMARY, row.starts_at))


@dataclass(frozen=True)
class Board:
    """A team on the page: who is on, what comes within two weeks, when nobody or more than one is primary."""

    team: str
    words: str
    now: list[DutyShift]
    coming: list[DutyShift]
    gaps: list[Span]
    overlaps: list[Span]

    @property
    def both(self) -> tuple[list[DutyShift], list[DutyShift]]:
        return self.now, self.coming


def boards(now: datetime) -> list[Board]:
    """Every team with its next two weeks; the number of queries does not depend on how many teams and shifts there are."""
    until = now + AHEAD
    rows: dict[str, list[DutyShift]] = {team: [] for team in teams()}
    for row in shifts().filter(ends_at__gt=now, starts_at__lt=until)[:MOST_SHIFTS]:
        rows.setdefault(row.team, []).append(row)
    found = []
    for team, mine in rows.items():
        spans = [(row.starts_at, row.ends_at) for row in mine if row.part == DutyShift.Part.PRIMARY]
        current = [row for row in mine if row.starts_at <= now]
        coming = [row for row in mine if row.starts_at > now]
        found.append(Board(team, team_words(team), current, coming, gaps(spans, now, until), overlaps(spans)))
    return found


def plan(
    *, team: str, part: str, people: Sequence[Person], pattern: Pattern, office: Tenant, by: str
) -> list[DutyShift]:
    """Write down the shifts of a pattern. Raises Refused (422) for an unknown team, strangers to it, and what is too much."""
    known = teams()
    if team not in known:
        raise _unfit(
            "team", _("There is no team '%(team)s'; there are: %(known)s."), team=team[:40], known=", ".join(known)
        )
    allowed = members(team)
    stranger = next((person for person in people if person not in allowed), None)
    if stranger is not None:
        raise _unfit("people", _("%(name)s does not belong to this team."), name=stranger)
    if not people:
        raise _unfit("people", _("Choose who takes turns."))
    if not pattern.weekdays or not set(pattern.weekdays) <= set(range(7)):
        raise _unfit("weekdays", _("Choose at least one day of the week; 0 is Monday, 6 is Sunday."))
    if not 1 <= pattern.weeks <= MOST_WEEKS:
        raise _unfit(
            "weeks", _("Plan 1 to %(most)s weeks; you asked for %(weeks)s."), most=MOST_WEEKS, weeks=pattern.weeks
        )
    made = DutyShift.objects.bulk_create(
        DutyShift(
            tenant=office, team=team, person=person, part=part, starts_at=starts_at, ends_at=ends_at, zone=pattern.zone
        )
        for person, starts_at, ends_at in shifts_of(pattern, people)
    )
    if not made:
        raise _unfit("weekdays", _("No day of these weeks is one of the days that you chose."))
    told = {"team": team, "part": part, "zone": pattern.zone, "people": [str(person.pk) for person in people]}
    told |= {"starts_on": made[0].starts_at.date().isoformat(), "ends_on": made[-1].starts_at.date().isoformat()}
    timeline.record(PLANNED, about=office, by=by, count=len(made), **told)
    return made


def swap(*, shift: DutyShift, other: DutyShift, why: str, by: str) -> None:
    """Two shifts of a team change their persons. Raises Refused for shifts that are over or of different teams."""
    held = {
        row.pk: row
        for row in DutyShift.objects.select_for_update(of=("self",)).filter(pk__in=[shift.pk, other.pk]).order_by("pk")
    }
    if len(held) != 2:
        raise Refused("shift_gone", _("One of these shifts is no longer there."))
    one, two = held[shift.pk], held[other.pk]
    if one.team != two.team:
        raise _unfit("other", _("These shifts are not of the same team."))
    _refuse_over(one)
    _refuse_over(two)
    first, second = one.person_id, two.person_id
    _put(one, second, why, by)
    _put(two, first, why, by)


def give(*, shift: DutyShift, person: Person, why: str, by: str) -> None:
    """Another one of the team takes a shift."""
    row = _held(shift)
    if person not in members(row.team):
        raise _unfit("person", _("%(name)s does not belong to this team."), name=person)
    _put(row, person.pk, why, by)


def remove(*, shift: DutyShift, by: str, why: str = "") -> None:
    """Take a shift off the roster; the history says that there was one."""
    row = _held(shift)
    told = {"team": row.team, "person": str(row.person_id), "starts_at": row.starts_at.isoformat(timespec="minutes")}
    timeline.record(REMOVED, about=row, by=by, **told, **_why(why))
    row.delete()


@lets_go
def let_go_of_shifts(person: Person, tenant: Tenant, by: str, to: Person | None) -> dict[str, int]:
    """Shifts of whoever leaves the office: somebody of the same team takes them, or they are taken off and leave a gap."""
    if not tenant.is_office:
        return {}
    gone = 0
    with acting_for(tenant, staff=True):
        for row in list(shifts().filter(person=person, ends_at__gt=timezone.now())):
            if to is not None and to in members(row.team):
                _put(row, to.pk, "", by)
            else:
                remove(shift=row, by=by)
                gone += 1
    return {"shift": gone} if gone else {}


def _held(shift: DutyShift) -> DutyShift:
    row = DutyShift.objects.select_for_update(of=("self",)).filter(pk=shift.pk).first()
    if row is None:
        raise Refused("shift_gone", _("This shift is no longer there."))
    _refuse_over(row)
    return row


def _refuse_over(row: DutyShift) -> None:
    if row.ends_at <= timezone.now():
        raise Refused("shift_over", _("This shift is over."))


def _put(row: DutyShift, person: Any, why: str, by: str) -> None:
    if row.person_id == person:
        return
    told = {"from_person": str(row.person_id), "starts_at": row.starts_at.isoformat(timespec="minutes")}
    DutyShift.objects.filter(pk=row.pk).update(person=person)
    timeline.record(SWAPPED, about=row, by=by, team=row.team, person=str(person), **told, **_why(why))


def _why(why: str) -> dict[str, str]:
    text = why.strip()[:LONGEST_WHY]
    return {"why": text} if text else {}


def _unfit(field: str, sentence: str, **values: Any) -> Refused:
    told = sentence % values
    return Refused("invalid", told, status=422, fields={field: [told]}, field=field)
