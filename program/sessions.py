"""Sessions that people are taught at: plan, change, announce, call off; who registers, who came, what they thought of it."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from program import states
from program.models import Attendance, Registration, Session
from support.writing import moment, one_of, text_of
from tenants.history import timeline
from tenants.models import Cycle, Person, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

FORMATS = ("online", "on site", "hybrid")
MOST_LINES, LONGEST_LINE = 40, 300
EDITABLE = (
    "cycle", "kind", "title", "starts_at", "minutes", "format", "place", "prerequisites", "seats", "recurrence",
    "agenda", "materials",
)  # fmt: skip


def office() -> Tenant:
    return Tenant.objects.get(is_office=True)


def plan_session(*, by: str, speakers: Iterable[Person] = (), **values: Any) -> Session:
    """Plan a session. Nobody but staff sees it before it is announced."""
    place = office()
    with acting_for(place, staff=True):
        session = Session.objects.create(tenant=place, code=next_code(values["cycle"]), **_clean(values))
        _speak(session, speakers)
        timeline.record(states.SESSION_PLANNED, about=session, by=by, **_told(session))
    return session


def _clean(values: dict[str, Any]) -> dict[str, Any]:
    one_of(values["kind"], tuple(Session.Kind.values), "kind")
    one_of(values.get("format", ""), ("", *FORMATS), "format")
    found = dict(values) | {"title": text_of(values["title"], _("a title"), 200, "title")}
    if not 0 < values["minutes"] <= 24 * 60:
        raise Refused(
            "minutes",
            _("A session lasts from 1 to 1440 minutes; you wrote %(minutes)s.") % {"minutes": values["minutes"]},
            status=422,
            field="minutes",
        )
    for name in ("agenda", "materials"):
        lines = [line.strip() for line in values.get(name) or [] if line.strip()]
        long = next((line for line in lines if len(line) > LONGEST_LINE), None)
        if len(lines) > MOST_LINES or long:
            raise Refused(
                name,
                _("Write up to %(lines)s lines of %(length)s characters; you wrote %(count)s lines.")
                % {"lines": MOST_LINES, "length": LONGEST_LINE, "count": len(lines)},
                status=422,
                field=name,
            )
        found[name] = lines
    return found


def next_code(cycle: Cycle) -> str:
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"session {cycle.pk}"])
    known = Session.objects.filter(cycle=cycle, code__regex=r"^ES-[0-9]+$")
    last = known.order_by(Length("code").desc(), "-code").values_list("code", flat=True).first()
    return f"ES-{int((last or 'ES-0').partition('-')[2]) + 1:02d}"


def _speak(session: Session, speakers: Iterable[Person]) -> bool:
    wanted = {person.pk for person in speakers}
    rows = Attendance.objects.filter(session=session, part=Attendance.Part.SPEAKER)
    there = set(rows.values_list("person_id", flat=True))
    rows.exclude(person__in=wanted).delete()
    Attendance.objects.bulk_create(
        Attendance(tenant_id=session.tenant_id, session=session, person_id=pk, part=Attendance.Part.SPEAKER)
        for pk in wanted - there
    )
    return wanted != there


def _told(session: Session) -> dict[str, Any]:
    return {"title": session.title, "day": session.starts_at.date().isoformat()}


def edit_session(
    *,
    session: Session,
    by: str,
    speakers: Iterable[Person] | None = None,
    version: int | None = None,
    **values: Any,
) -> Session:
    """Change what is planned. Fewer seats than people registered are refused."""
    with acting_for(session.tenant_id, staff=True):
        found = _clean({name: getattr(session, name) for name in EDITABLE} | values)
        _hold(session, version, **found)
        if found["seats"] is not None and found["seats"] < session.registered:
            raise Refused(
                "seats",
                _("%(registered)s people are registered; there cannot be %(seats)s seats.")
                % {"registered": session.registered, "seats": found["seats"]},
                status=422,
                field="seats",
            )
        changed = [name for name in EDITABLE if getattr(session, name) != found[name]]
        if speakers is not None and _speak(session, speakers):
            changed.append("speakers")
        if changed:
            _write(session, **{name: found[name] for name in changed if name in EDITABLE})
            timeline.record(states.SESSION_EDITED, about=session, by=by, fields=changed, **_told(session))
    return session


def announce_session(*, session: Session, by: str, version: int | None = None) -> Session:
    """Show it to every participant, who may then register."""
    with acting_for(session.tenant_id, staff=True):
        _hold(session, version)
        if session.announced_at is not None:
            return session
        now = moment(None)
        if session.starts_at <= now:
            raise Refused("session_past", _("%(title)s has begun already.") % {"title": session.title})
        _write(session, announced_at=now)
        timeline.record(states.SESSION_ANNOUNCED, about=session, by=by, **_told(session))
    return session


def call_off_session(*, session: Session, why: str, by: str, version: int | None = None) -> Session:
    """It will not be held. Who registered still sees it, with the reason."""
    why = text_of(why, _("why it is called off"), 300, "why")
    with acting_for(session.tenant_id, staff=True):
        _hold(session, version)
        if session.attended is not None:
            raise Refused("session_held", _("%(title)s was held.") % {"title": session.title})
        if session.cancelled_at is None:
            _write(session, cancelled_at=moment(None), cancelled_why=why)
            timeline.record(states.SESSION_CANCELLED, about=session, by=by, why=why, **_told(session))
    return session


def mark_attendance(
    *, session: Session, came: Iterable[UUID], others: int, by: str, version: int | None = None
) -> Session:
    """Say who of the registered came, and how many beside them. Saying it again corrects it."""
    came = set(came)
    with acting_for(session.tenant_id, staff=True):
        _hold(session, version)
        if session.cancelled_at is not None:
            raise Refused("session_cancelled", _("%(title)s was called off.") % {"title": session.title})
        if session.starts_at > moment(None):
            raise Refused("session_ahead", _("%(title)s has not begun yet.") % {"title": session.title})
        registered = registrations(session)
        strangers = came - {row.pk for row in registered}
        if strangers:
            raise Refused(
                "not_registered",
                _("%(count)s of those you ticked are not registered here.") % {"count": len(strangers)},
                status=422,
            )
        attended = len(came) + others
        if session.answers is not None and attended < session.answers:
            raise Refused(
                "fewer_than_answers",
                _("%(answers)s people answered the survey; %(attended)s cannot have been there.")
                % {"answers": session.answers, "attended": attended},
                status=422,
                field="others",
            )
        _mark(session, registered, came, by)
        _write(session, attended=attended)
        facts = {"attended": attended, "registered": session.registered}
        timeline.record(states.SESSION_HELD, about=session, by=by, at=session.starts_at, **facts, **_told(session))
    return session


def registrations(session: Session) -> list[Registration]:
    """Of everybody, with the person and the participant."""
    with reading_everyone():
        rows = Registration.objects.filter(session=session, cancelled_at=None).select_related("person", "tenant")
        return list(rows.order_by("tenant__name", "person__name", "person__email"))


def _mark(session: Session, registered: list[Registration], came: set[UUID], by: str) -> None:
    """Each participant's rows are written while acting for it, and its history says how many of its people came."""
    theirs: dict[Any, list[Registration]] = {}
    for row in registered:
        theirs.setdefault(row.tenant_id, []).append(row)
    for tenant, rows in theirs.items():
        if all(row.came == (row.pk in came) for row in rows):
            continue
        with acting_for(tenant, staff=True):
            mine = Registration.objects.filter(session=session, cancelled_at=None)
            mine.filter(pk__in=came).update(came=True)
            mine.exclude(pk__in=came).update(came=False)
            facts = {"came": sum(row.pk in came for row in rows), "registered": len(rows)}
            timeline.record(states.REGISTRATIONS_MARKED, about=rows[0], by=by, **facts, **_told(session))


def enter_survey(
    *, session: Session, answers: int, satisfaction: Decimal, by: str, version: int | None = None
) -> Session:
    """What those who came thought of it: how many answered, and the mean of 1 to 5."""
    with acting_for(session.tenant_id, staff=True):
        _hold(session, version)
        if session.attended is None:
            raise Refused("not_held", _("Say first who came; then how they found it."))
        if not 0 < answers <= session.attended:
            raise Refused(
                "answers",
                _("%(attended)s people came; %(answers)s cannot have answered.")
                % {"attended": session.attended, "answers": answers},
                status=422,
                field="answers",
            )
        if not 1 <= satisfaction <= 5:
            raise Refused("satisfaction", _("The mean lies between 1 and 5."), status=422, field="satisfaction")
        satisfaction = Decimal(satisfaction).quantize(Decimal("0.1"))
        _write(session, answers=answers, satisfaction=satisfaction)
        facts = {"answers": answers, "satisfaction": str(satisfaction)}
        timeline.record(states.SESSION_SURVEYED, about=session, by=by, **facts, **_told(session))
    return session


def register(*, session: Session, tenant: Tenant, person: Person, by: str) -> Registration:
    """Take a seat for oneself. Asking twice is having one."""
    with acting_for(session.tenant_id, staff=True):
        _hold(session, None)
        now = moment(None)
        if session.cancelled_at is not None or session.announced_at is None or session.starts_at <= now:
            raise Refused("not_open", _("One cannot register for %(title)s any more.") % {"title": session.title})
    with acting_for(tenant):
        row = Registration.objects.filter(session_id=session.pk, person=person).first()
        if row is not None and row.cancelled_at is None:
            return row
        if session.seats is not None and session.registered >= session.seats:
            raise Refused(
                "session_full",
                _("All %(seats)s seats of %(title)s are taken.") % {"seats": session.seats, "title": session.title},
                seats=session.seats,
            )
        if row is None:
            row = Registration.objects.create(tenant=tenant, session_id=session.pk, person=person)
        else:
            Registration.objects.filter(pk=row.pk).update(cancelled_at=None)
            row.refresh_from_db()
        timeline.record(states.REGISTERED, about=row, by=by, **_told(session))
    _count(session, 1)
    return row


def unregister(*, session: Session, tenant: Tenant, person: Person, by: str) -> None:
    """Give the seat back."""
    with acting_for(session.tenant_id, staff=True):
        _hold(session, None)
        if session.starts_at <= moment(None):
            raise Refused("session_past", _("%(title)s has begun already.") % {"title": session.title})
    with acting_for(tenant):
        row = Registration.objects.filter(session_id=session.pk, person=person, cancelled_at=None).first()
        if row is None:
            return
        Registration.objects.filter(pk=row.pk).update(cancelled_at=moment(None))
        timeline.record(states.UNREGISTERED, about=row, by=by, **_told(session))
    _count(session, -1)


def _count(session: Session, more: int) -> None:
    """The total is the office's: a participant sees how many come, and by name only its own."""
    with acting_for(session.tenant_id, staff=True):
        Session.objects.filter(pk=session.pk).update(registered=F("registered") + more)
        session.refresh_from_db(fields=["registered"])


def _hold(session: Session, version: int | None, **typed: Any) -> None:
    session.refresh_from_db(from_queryset=Session.objects.select_for_update(no_key=True, of=("self",)))
    if version is not None and session.version != version:
        changes = {name: [_plain(getattr(session, name)), _plain(value)] for name, value in typed.items()}
        raise Stale(
            "stale",
            _("Somebody changed %(title)s meanwhile. Compare, and save again.") % {"title": session.title},
            version=session.version,
            changes={name: pair for name, pair in changes.items() if pair[0] != pair[1]},
        )


def _plain(value: Any) -> str:
    return (
        value.isoformat()
        if isinstance(value, datetime)
        else ", ".join(value)
        if isinstance(value, list)
        else str(value)
    )


def _write(session: Session, **columns: Any) -> None:
    Session.objects.filter(pk=session.pk).update(version=F("version") + 1, **columns)
    session.refresh_from_db()
