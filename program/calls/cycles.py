"""Writes about a cycle: its days, its state, and a new one made after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from program import checklists
from program.calls import words
from program.models import Call, ChecklistStep, Session
from program.sessions import next_code as next_session_code
from program.sessions import office
from support.writing import text_of
from tenants import entries
from tenants.actions import plain, refuse_what_breaks_a_rule, stale
from tenants.history import timeline
from tenants.history.moves import move_in_directory
from tenants.models import Cycle, Participation
from tenants.states import CYCLE
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused

DAYS = ("starts_on", "ends_on", "launch_day", "stage_gate_on", "final_report_due")
EDITABLE = ("name", *DAYS)
ENDED = ("closed", "withdrawn")


def change(*, cycle: Cycle, values: Mapping[str, Any], by: str, version: int | None = None) -> Cycle:
    """Change the name or days of a cycle, with old and new in the office's history. Raises Refused (422) with the field."""
    place = office()
    row = hold(cycle, version, values)
    found = {name: values.get(name, getattr(row, name)) for name in EDITABLE}
    _refuse_unfit_days(found)
    changed = {name: (getattr(row, name), found[name]) for name in EDITABLE if getattr(row, name) != found[name]}
    if not changed:
        return row
    for name, (_was, now) in changed.items():
        setattr(row, name, now)
    refuse_what_breaks_a_rule(row)
    row.version += 1
    row.save(update_fields=[*changed, "version"])
    with acting_for(place, staff=True):
        timeline.record(
            entries.RECORD_CHANGED, about=place, by=by, what=row.name, fields=sorted(changed),
            changes={name: [plain(was), plain(now)] for name, (was, now) in changed.items()},
        )  # fmt: skip
    return row


def hold(cycle: Cycle, version: int | None, told: Mapping[str, Any] | None = None) -> Cycle:
    """The row, locked. Raises Stale for a version that is not the newest, with what was `told` beside what is there."""
    row = Cycle.objects.select_for_update(of=("self",)).select_related("programme").get(pk=cycle.pk)
    if version is not None and row.version != version:
        raise stale(row, told or {})
    return row


def _refuse_unfit_days(found: Mapping[str, Any]) -> None:
    first, last = found["starts_on"], found["ends_on"]
    for name in DAYS[1:]:
        if found[name] is not None and found[name] < first:
            told = {"field": name, "asked": found[name].isoformat(), "first": first.isoformat()}
            sentence = _(
                "'%(field)s' is %(asked)s, before the cycle begins, %(first)s. Choose that day or a later one."
            )
            raise Refused(name, sentence % told, status=422, field=name)
    gate = found["stage_gate_on"]
    if gate is not None and last is not None and gate > last:
        told = {"asked": gate.isoformat(), "last": last.isoformat()}
        sentence = _("The stage gate, %(asked)s, lies after the last day, %(last)s. Choose an earlier day.")
        raise Refused("stage_gate_on", sentence % told, status=422, field="stage_gate_on")


def go_on(*, cycle: Cycle, to: str, by: str, version: int | None = None) -> Cycle:
    """Let a cycle run, or close it. It is closed when everybody who took part is closed or withdrawn."""
    place = office()
    row = hold(cycle, version)
    if to == "closed":
        with reading_everyone():
            living = Participation.objects.filter(cycle=row).exclude(state__in=ENDED)
            codes = list(living.order_by("code").values_list("code", flat=True))
            calls = Call.objects.filter(cycle=row, state="open").count()
        if codes:
            told = {"count": len(codes), "codes": ", ".join(codes[:10])}
            raise Refused("living", _("%(count)s participations are not closed yet: %(codes)s.") % told)
        if calls:
            raise Refused("call_open", _("A call of this cycle is still open; close it first."))
    with acting_for(place, staff=True):
        move_in_directory(row, to, moves=CYCLE, noun="cycle", by=by, about=place, name=row.name)
    return row


@dataclass(frozen=True)
class Copied:
    """What goes over to a new cycle: its days, its sessions as (session, new time), the call as (call, opens, closes),
    and the steps of its onboarding list."""

    days: dict[str, tuple[date | None, date | None]]
    sessions: list[tuple[Session, datetime]]
    call: tuple[Call, datetime, datetime] | None
    checklist: list[ChecklistStep]


STAYS = (
    gettext_lazy("People and participants: nobody goes over; former participants apply again."),
    gettext_lazy("Applications, scores and decisions."),
    gettext_lazy("Reviews, reports and cases."),
)
GOES_ANYWAY = (gettext_lazy("The rules of the programme hold for every cycle."),)


def whole_weeks(old: date, new: date) -> timedelta:
    """The distance between two beginnings in whole weeks, the nearest ones, so that weekdays stay."""
    return timedelta(days=7 * round((new - old).days / 7))


def later(at: datetime, by: timedelta, zone: str) -> datetime:
    """The same hour on the wall of `zone`, so many days later."""
    local = at.astimezone(ZoneInfo(zone))
    return (local.replace(tzinfo=None) + by).replace(tzinfo=ZoneInfo(zone))


def preview(cycle: Cycle, starts_on: date) -> Copied:
    """What would go over to a cycle that begins on this day. Within a scope that sees the office's rows."""
    if not 2000 <= starts_on.year <= 2100:
        sentence = _("'starts_on' is %(asked)s; write a day of the years 2000 to 2100.") % {
            "asked": starts_on.isoformat()
        }
        raise Refused("starts_on", sentence, status=422, field="starts_on")
    by = whole_weeks(cycle.starts_on, starts_on)
    days = {name: (getattr(cycle, name), _moved(getattr(cycle, name), by)) for name in DAYS}
    days["starts_on"] = (cycle.starts_on, starts_on)
    zone = cycle.programme.timezone
    held = Session.objects.filter(cycle=cycle, cancelled_at=None).order_by("starts_at", "id")
    call = Call.objects.filter(cycle=cycle).order_by("-opens_at", "-id").first()
    return Copied(
        days,
        [(one, later(one.starts_at, by, zone)) for one in held],
        (call, later(call.opens_at, by, zone), later(call.closes_at, by, zone)) if call else None,
        checklists.steps_of(cycle.pk),
    )


def _moved(day: date | None, by: timedelta) -> date | None:
    return day + by if day is not None else None


KEPT_OF_A_SESSION = (
    "kind", "title", "minutes", "format", "place", "prerequisites", "seats", "recurrence", "agenda", "materials",
)  # fmt: skip
KEPT_OF_A_CALL = ("title", "text", "most_instances", "most_hours", "small_hours")


def copy(*, cycle: Cycle, code: str, name: str, starts_on: date, by: str) -> Cycle:
    """Make a cycle after this one: days, the onboarding list, sessions that nobody sees yet, and the call as a
    draft; no people."""
    place, row = office(), hold(cycle, None)
    name = text_of(name, _("a name"), 80, "name")
    if Cycle.objects.filter(programme=row.programme, code=code).exists():
        sentence = _("There is a cycle '%(code)s' already; choose another code.") % {"code": code}
        raise Refused("code", sentence, status=422, field="code")
    with acting_for(place, staff=True):
        found = preview(row, starts_on)
        made = Cycle(programme=row.programme, code=code, name=name)
        for field, (_was, now) in found.days.items():
            setattr(made, field, now)
        refuse_what_breaks_a_rule(made)
        made.save(force_insert=True)
        for one, starts_at in found.sessions:
            kept = {field: getattr(one, field) for field in KEPT_OF_A_SESSION}
            Session.objects.create(tenant=place, cycle=made, code=next_session_code(made), starts_at=starts_at, **kept)
        if found.call is not None:
            call, opens, closes = found.call
            kept = {field: getattr(call, field) for field in KEPT_OF_A_CALL}
            drafted = Call.objects.create(tenant=place, cycle=made, opens_at=opens, closes_at=closes, **kept)
            timeline.record(words.CALL_DRAFTED, about=drafted, by=by, title=drafted.title)
        steps = checklists.copy_steps(row, made, place)
        facts = {"name": made.name, "after": row.name, "sessions": len(found.sessions), "steps": steps}
        timeline.record(words.CYCLE_COPIED, about=place, by=by, **facts)
    return made
