"""Writes about a call: draft it, change it, open it for applications, close it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import F
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from clusters import facts
from clusters.capacity_queries import accelerated_types
from program.calls import words
from program.models import Call
from program.sessions import office
from support.writing import text_of
from tenants.actions import plain, stale
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Cycle
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused

SAYS = ("gives", "lasts", "paid_by", "ask")  # what an applicant wants to know before it writes anything
EDITABLE = ("cycle", "title", "text", *SAYS, "opens_at", "closes_at", "most_instances", "most_hours", "small_hours")
MOST_HOURS = 10**12
ON_OTHER_CLOSING: list[Callable[[Call], None]] = []  # applications know of calls, not calls of applications
MOST_SMALL = 10_000_000


def each(instance_type: str) -> int:
    """Accelerators of one instance; 0 for what has none or is not known."""
    found = facts.load().instance(instance_type)
    return found.accelerators if found else 0


def known_types() -> list[str]:
    return sorted(accelerated_types())


def known_regions() -> list[str]:
    return sorted(facts.load().zones)


def said(moment: datetime, cycle: Cycle) -> str:
    """A moment as people write it, in the time zone of the cycle's programme."""
    return date_format(timezone.localtime(moment, ZoneInfo(cycle.programme.timezone)), "DATETIME_FORMAT")


def draft(*, by: str, **values: Any) -> Call:
    """Write a call down. Nobody but staff sees it before it is opened. Raises Refused with the field."""
    place = office()
    with acting_for(place, staff=True):
        row = Call.objects.create(tenant=place, **_clean(values))
        timeline.record(words.CALL_DRAFTED, about=row, by=by, title=row.title)
    return row


def _clean(values: dict[str, Any]) -> dict[str, Any]:
    found = (
        dict.fromkeys(SAYS, "") | {"text": "", "most_instances": None, "most_hours": None, "small_hours": 0} | values
    )
    found["title"] = text_of(found["title"], _("a title"), 200, "title")
    if found["closes_at"] <= found["opens_at"]:
        told = {name: said(found[f"{name}_at"], found["cycle"]) for name in ("closes", "opens")}
        sentence = _("The call would close at %(closes)s; it has to be later than the opening, %(opens)s.") % told
        raise Refused("closes_at", sentence, status=422, field="closes_at")
    return found


def _hold(call: Call, version: int | None, told: Mapping[str, Any] | None = None) -> Call:
    row = Call.objects.select_for_update(of=("self",)).select_related("cycle__programme").get(pk=call.pk)
    if version is not None and row.version != version:
        raise stale(
            row, told or {}, lambda value: said(value, row.cycle) if isinstance(value, datetime) else _shown(value)
        )
    return row


def change(*, call: Call, by: str, version: int | None = None, **values: Any) -> Call:
    """Change a call. Of one that has applications its cycle stays, and so do limits that somebody kept to."""
    with acting_for(call.tenant_id, staff=True):
        row = _hold(call, version, values)
        found = _clean({name: getattr(row, name) for name in EDITABLE} | values)
        changed = {name: (getattr(row, name), found[name]) for name in EDITABLE if getattr(row, name) != found[name]}
        if row.state != "draft" and "cycle" in changed:
            sentence = _("The call is out: its cycle stays %(cycle)s. Draft another call for another cycle.")
            raise Refused("cycle", sentence % {"cycle": row.cycle}, status=422, field="cycle")
        if changed:
            columns = {name: pair[1] for name, pair in changed.items()}
            Call.objects.filter(pk=row.pk).update(version=F("version") + 1, **columns)
            told = {
                name: [_shown(was), _shown(now)]
                for name, (was, now) in changed.items()
                if name not in ("text", "gives")
            }
            timeline.record(
                words.CALL_CHANGED, about=row, by=by, title=found["title"], fields=sorted(changed), changes=told
            )
            row.refresh_from_db()
    if "closes_at" in changed and row.state == "open":
        _tell(row)
    return row


def _tell(row: Call) -> None:
    """Whoever counts on the announced closing hears of another one."""
    for tell in ON_OTHER_CLOSING:
        tell(row)


def _shown(value: Any) -> Any:
    return str(value) if hasattr(value, "pk") else plain(value)


def open_call(*, call: Call, by: str, version: int | None = None) -> Call:
    """Show it to everybody; applications are taken between its two moments. A closed one is opened again."""
    with acting_for(call.tenant_id, staff=True):
        row = _hold(call, version)
        if row.closes_at <= timezone.now():
            sentence = _("It would have closed at %(closes)s already. Give it a later closing time first.")
            raise Refused("call_over", sentence % {"closes": said(row.closes_at, row.cycle)}, field="closes_at")
        if row.cycle.state == "closed":
            raise Refused("cycle_closed", _("%(cycle)s is closed.") % {"cycle": row.cycle})
        if row.cycle.ends_on is None:
            sentence = _(
                "%(cycle)s has no last day yet. Set it on the page of the cycle first: applicants plan by it, and capacity "
                "and budgets are reckoned up to it."
            )
            raise Refused("cycle_without_end", sentence % {"cycle": row.cycle})
        closes = row.closes_at.isoformat(timespec="minutes")
        move(row, "open", by=by, columns={"closed_at": None}, title=row.title, closes=closes)
    return row


def close_call(*, call: Call, by: str, version: int | None = None) -> Call:
    """Take no application any more, and let what was handed in be decided. Before its time: applicants are told by mail."""
    with acting_for(call.tenant_id, staff=True):
        row = _hold(call, version)
        early = takes(row, timezone.now())
        move(row, "closed", by=by, columns={"closed_at": timezone.now()}, title=row.title)
    if early:
        _tell(row)
    return row


def takes(call: Call, now: datetime) -> bool:
    """Whether applications are handed in and changed at this moment."""
    return bool(call.state == "open" and call.opens_at <= now < call.closes_at)


def refuse_unless_it_takes(call: Call, now: datetime) -> None:
    """Raises Refused with the moment at which it opens or closed."""
    if takes(call, now):
        return
    told = {"title": call.title, "opens": said(call.opens_at, call.cycle), "closes": said(call.takes_until, call.cycle)}
    if call.state == "open" and now < call.opens_at:
        raise Refused("not_open_yet", _("%(title)s opens at %(opens)s; come back then.") % told)
    raise Refused("call_over", _("%(title)s takes no applications any more; it closed at %(closes)s.") % told)


VERBS = {"open": open_call, "close": close_call}
