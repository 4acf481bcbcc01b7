"""Reports that a participation owes: asked for with a day, handed in as text or file, accepted, sent back or disputed."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from program import states
from program.models import Report
from support.writing import moment, one_of, text_of
from tenants.files import attach
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Attachment, Cycle, Participation
from tenants.wall import roles
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

OWED = frozenset({"not_started", "draft", "late", "returned"})
SOON_DAYS = 14
YEARS = (2000, 2100)
# Who writes a report: the programme counts the use and the participant says whether it is right; the rest is the participant's.
BY_THE_OFFICE = frozenset({Report.Kind.MONTHLY})
OFFICE = frozenset({roles.PROGRAMME_MANAGER, roles.PROGRAMME_OFFICER})


def may(verb: str, kind: str, role: str) -> bool:
    """Whether this role does this with a report of this kind."""
    office, participant = role in OFFICE, role == roles.BUSINESS_LEAD
    manager = role == roles.PROGRAMME_MANAGER
    return {
        "hand_in": office or (participant and kind not in BY_THE_OFFICE),
        "accept": manager or (participant and kind in BY_THE_OFFICE),
        "send_back": manager,
        "dispute": participant and kind in BY_THE_OFFICE,
        "move_due": office,
    }[verb]


def refuse_unless_may(verb: str, kind: str, role: str) -> None:
    """Raises Refused where the other side does this with a report of this kind."""
    if not may(verb, kind, role) and verb == "move_due":
        raise Refused("not_your_part", _("The programme's office says when a report is due."))
    if not may(verb, kind, role):
        monthly = kind in BY_THE_OFFICE
        sentence = (
            _("The programme writes this report; the participant accepts or disputes it.")
            if monthly
            else _("The participant writes this report; the programme manager accepts it or sends it back.")
        )
        raise Refused("not_your_part", sentence)


def is_late(state: str, due: date, today: date) -> bool:
    """Late is what is owed after its day; a report that was handed in is not."""
    return state in OWED and (state == "late" or due < today)


def days_left(state: str, due: date, today: date) -> int | None:
    """For a reminder: the days until it is due, negative once it is late; None where nobody need be reminded."""
    left = (due - today).days
    return left if state in OWED and left <= SOON_DAYS else None


def reminder(report: Report, today: date) -> dict[str, Any] | None:
    """How near or how late, in words; None where nobody need be reminded."""
    left = days_left(report.state, report.due_on, today)
    if left is None:
        return None
    if left < 0:
        words = ngettext("late by %(n)s day", "late by %(n)s days", -left) % {"n": -left}
        return {"tone": "bad", "words": words}
    if left == 0:
        return {"tone": "warn", "words": _("due today")}
    words = ngettext("due in %(n)s day", "due in %(n)s days", left) % {"n": left}
    return {"tone": "warn", "words": words}


def offered(state: str) -> list[str]:
    """What can be done with a report in this state."""
    verbs = {"hand_in": "submitted", "accept": "accepted", "send_back": "returned", "dispute": "disputed"}
    found = [verb for verb, to in verbs.items() if to in states.REPORT[state]]
    return [*found, "move_due"] if state in OWED else found


def ask_for_reports(
    *, cycle: Cycle, kind: str, period: str, due_on: date, by: str, only: Iterable[Participation] | None = None
) -> int:
    """Every participation of a cycle owes one more report by a day; who owes it already is left alone."""
    one_of(kind, tuple(Report.Kind.values), "kind")
    period = text_of(period, _("which period it is about"), 10, "period")
    with reading_everyone():
        rows = Participation.objects.filter(cycle=cycle).exclude(state__in=("withdrawn", "closed", "applied"))
        owing = list(rows.select_related("tenant")) if only is None else list(only)
    count = 0
    for participation in owing:
        with acting_for(participation.tenant_id, staff=True):
            report, new = Report.objects.get_or_create(
                tenant_id=participation.tenant_id,
                participation=participation,
                kind=kind,
                period=period,
                defaults={"due_on": due_on},
            )
            if new:
                timeline.record(states.REPORT_DUE, about=report, by=by, **_told(report))
                count += 1
    if not owing:
        raise Refused("empty_cycle", _("Nobody takes part in %(cycle)s.") % {"cycle": cycle}, status=422, field="cycle")
    return count


def _told(report: Report) -> dict[str, str]:
    return {"report": report.kind.replace("_", " "), "period": report.period, "due": report.due_on.isoformat()}


def hand_in(
    *,
    report: Report,
    by: str,
    text: str = "",
    file: tuple[str, bytes] | None = None,
    version: int | None = None,
    at: datetime | None = None,
) -> Report:
    """Hand it in: a text, a file, or both."""
    text = text.strip()
    if not text and file is None:
        raise Refused("empty_report", _("Write the report, or attach it as a file."), status=422, field="text")
    if text:
        text = text_of(text, _("the report"), 20_000)
    _hold(report, version, text=text)
    facts: dict[str, Any] = {}
    if file is not None:
        kept = attach(about=report, name=file[0], content=file[1], media_type="application/octet-stream", by=by)
        facts = {"file": kept.name, "sha256": kept.sha256}
    columns = {
        "text": text, "handed_in_at": moment(at), "handed_in_by": by, "answer": "", "answered_at": None, "answered_by": "",
    }  # fmt: skip
    move(report, "submitted", by=by, at=at, columns=columns, why="", **_told(report), **facts)
    report.refresh_from_db()
    return report


def accept(*, report: Report, by: str, version: int | None = None, at: datetime | None = None) -> Report:
    """It is right."""
    return _answered(report, "accepted", "", by, version, at)


def send_back(*, report: Report, why: str, by: str, version: int | None = None, at: datetime | None = None) -> Report:
    """It has to be written again, with the reason."""
    return _answered(report, "returned", text_of(why, _("why it comes back"), 500, "why"), by, version, at)


def dispute(*, report: Report, why: str, by: str, version: int | None = None, at: datetime | None = None) -> Report:
    """The participant holds a number to be wrong."""
    return _answered(report, "disputed", text_of(why, _("what is wrong with it"), 500, "why"), by, version, at)


def _answered(report: Report, to: str, why: str, by: str, version: int | None, at: datetime | None) -> Report:
    _hold(report, version, why=why)
    columns = {"answer": why, "answered_at": moment(at), "answered_by": by}
    move(report, to, by=by, at=at, columns=columns, why=why, **_told(report))
    report.refresh_from_db()
    return report


def _hold(report: Report, version: int | None, **typed: str) -> None:
    report.refresh_from_db(from_queryset=Report.objects.select_for_update(of=("self",)))
    if version is not None and report.version != version:
        shown = {"text": report.text, "why": report.answer}
        raise Stale(
            "stale",
            _("Somebody changed this report meanwhile. Compare, and save again."),
            version=report.version,
            changes={name: [shown[name], value] for name, value in typed.items() if shown[name] != value},
        )


def move_due(*, report: Report, due_on: date, why: str, by: str, version: int | None = None) -> Report:
    """Give a report that is owed another day, with the reason; a late one is not late any more where the day lies ahead."""
    why = text_of(why, _("why it is due on another day"), 300, "why")
    _hold(report, version)
    if report.state not in OWED:
        raise Refused("not_owed", _("It is handed in; its day stays."))
    if not YEARS[0] <= due_on.year <= YEARS[1]:
        told = {"asked": due_on.isoformat(), "first": YEARS[0], "last": YEARS[1]}
        sentence = _("%(asked)s is no day of the years %(first)s to %(last)s; correct it.") % told
        raise Refused("due_on", sentence, status=422, field="due_on")
    if due_on == report.due_on:
        raise Refused("nothing_changes", _("Nothing is different from what it is."), status=422, field="due_on")
    was = report.due_on
    Report.objects.filter(pk=report.pk).update(due_on=due_on, version=F("version") + 1)
    report.refresh_from_db()
    timeline.record(states.REPORT_DUE_MOVED, about=report, by=by, was_due=was.isoformat(), why=why, **_told(report))
    if report.state == "late" and due_on >= moment(None).date():
        move(report, "draft", by=by, why="", **_told(report))
        report.refresh_from_db()
    return report


def files_of(report: Report) -> list[Attachment]:
    """The newest first: a report that came back is handed in again."""
    return list(Attachment.objects.filter(subject=Report.SUBJECT, subject_id=report.pk).order_by("-created_at", "-id"))


VERBS: dict[str, tuple[Any, Any]] = {
    "hand_in": (hand_in, gettext_lazy("It is handed in.")),
    "accept": (accept, gettext_lazy("It is accepted.")),
    "send_back": (send_back, gettext_lazy("It is sent back.")),
    "dispute": (dispute, gettext_lazy("It is disputed.")),
    "move_due": (move_due, gettext_lazy("It is due on another day.")),
}
