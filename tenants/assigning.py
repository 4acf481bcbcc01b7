"""Who of the programme looks after a participant, from when to when: named, given other days, ended; the history keeps it.

Seats at single cases come with a component that somebody answers for (`service`) and are given nowhere here.
"""

from collections.abc import Iterable
from datetime import date, timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants import entries, mail
from tenants.actions import because
from tenants.history import timeline
from tenants.inviting import overlap, refuse_unfit_days
from tenants.models import Assignment, Delivery, Membership, Person, Tenant, holding
from tenants.programme_day import programme_today, programme_zone
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.web.problems import Refused
from tenants.web.templatetags.show import DUTY_WORDS

DUTIES = ("lead", "deputy", "account", "frameworks")  # in the order in which pages show them
# Whoever steps in for a lead for some days is its deputy; any other duty is simply held by two.
STEPS_IN_AS = {"lead": "deputy"}
# Whoever only reads, answers for one component or is a program looks after nobody.
LOOK_AFTER = (
    roles.LEAD_ARCHITECT,
    roles.ACCOUNT_TEAM,
    roles.FRAMEWORKS_SPECIALIST,
    roles.PROGRAMME_OFFICER,
    roles.PROGRAMME_MANAGER,
)
LONGEST_WHY = 300


def candidates() -> list[Person]:
    """Who of the office may look after a participant, by name."""
    rows = Membership.objects.filter(holding(), tenant__is_office=True, role__in=LOOK_AFTER, person__is_active=True)
    return sorted({row.person for row in rows.select_related("person")}, key=lambda one: (str(one), str(one.pk)))


def team(tenant: Tenant, today: date) -> list[Assignment]:
    """Who looks after a participant now or will, the lead first."""
    rows = Assignment.objects.filter(_not_over(today), tenant=tenant, ended_at=None, duty__in=DUTIES)
    return sorted(
        rows.select_related("person", "tenant"),
        key=lambda row: (DUTIES.index(row.duty), row.starts_on, str(row.person), row.pk),
    )


def _not_over(today: date) -> Q:
    return Q(ends_on=None) | Q(ends_on__gte=today)


def name_somebody(
    *,
    tenant: Tenant,
    person: Person,
    duty: str,
    by: str,
    starts_on: date | None = None,
    ends_on: date | None = None,
    takes_over: bool = False,
    why: str = "",
) -> Assignment:
    """Let a member of staff look after a participant, from a day (today unless said) to a day (open unless said).

    A participant has one lead at a time: `takes_over` ends the one before on the day before. Raises Refused (409, 422).
    """
    why, today = why.strip()[:LONGEST_WHY], programme_today()
    first = starts_on or today
    if duty not in DUTIES:
        raise _unfit("duty", _("'duty' is '%(asked)s'; choose one of: %(known)s."), asked=duty[:40], known=DUTIES)
    if tenant.is_office:
        raise Refused("office", _("The office is no participant: nobody looks after it."), status=422)
    refuse_unfit_days(first, ends_on, today)
    if person not in candidates():
        raise _unfit("person", _("%(name)s cannot look after participants; choose one of the office."), name=person)
    # Two who name a lead at once are served one after the other.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    there = [
        row
        for row in team(tenant, today)
        if row.duty == duty and overlap((row.starts_on, row.ends_on), (first, ends_on))
    ]
    mine = next((row for row in there if row.person_id == person.pk), None)
    if mine is not None:
        sentence = _("%(name)s has this duty here already in that time. Change its days instead.") % {"name": person}
        raise Refused("assigned_already", sentence, assignment=mine.pk)
    if duty == "lead" and there and not takes_over:
        sentence = _("%(name)s leads here in that time. Say that the new lead takes over, or choose the deputy's duty.")
        raise Refused("led_already", sentence % {"name": there[0].person}, assignment=there[0].pk)
    if duty == "lead":
        for row in there:
            _hand_over(row, first, by, why)
    made = Assignment.objects.create(person=person, tenant=tenant, duty=duty, starts_on=first, ends_on=ends_on)
    kind = entries.STEPS_IN if ends_on else entries.ASSIGNED
    timeline.record(kind, about=tenant, by=by, **_told(made), **because(why))
    if person.actor != by:
        mail.tell(person=person, tenant=tenant, kind=GIVEN, key=str(made.pk))
    return made


def give_on(
    *,
    assignment: Assignment,
    person: Person,
    by: str,
    starts_on: date | None = None,
    ends_on: date | None = None,
    why: str = "",
) -> Assignment:
    """Give a duty to a colleague from a day (today unless said): for good, or until a day for as long as one is away.

    Until a day, the colleague stands beside whoever has it, and that ends by itself; for good, whoever had it has it no
    longer. Raises Refused (409, 422).
    """
    row = _held(assignment)
    first = starts_on or programme_today()
    if person.pk == row.person_id:
        raise _unfit("person", _("%(name)s has this duty already; choose a colleague."), name=person)
    if row.ends_on is not None and first > row.ends_on:
        raise _unfit("starts_on", _("This duty ends by itself on %(until)s; choose an earlier day."), until=row.ends_on)
    told = {"tenant": row.tenant, "person": person, "by": by, "starts_on": first, "why": why}
    if ends_on is not None:
        return name_somebody(duty=STEPS_IN_AS.get(row.duty, row.duty), ends_on=ends_on, **told)
    until = row.ends_on
    if row.duty != "lead":  # a new lead takes over by itself
        refuse_unfit_days(first, until, programme_today())
        _hand_over(row, first, by, why)
    return name_somebody(duty=row.duty, ends_on=until, takes_over=True, **told)


def _hand_over(row: Assignment, first: date, by: str, why: str) -> None:
    """The one before leads until the day before `first`; who only would have begun then does not begin."""
    if first <= max(row.starts_on, programme_today()):
        end(assignment=row, by=by, why=why)
    else:
        change_days(assignment=row, ends_on=first - timedelta(days=1), by=by, why=why)


def change_days(*, assignment: Assignment, ends_on: date | None, by: str, why: str = "") -> Assignment:
    """Another last day, or an open end. Raises Refused for what has ended and for a day before today or its first."""
    row, today = _held(assignment), programme_today()
    if ends_on == row.ends_on:
        return row
    refuse_unfit_days(max(today, row.starts_on), ends_on, today)
    others = Assignment.objects.filter(tenant=row.tenant, duty=row.duty, ended_at=None).exclude(pk=row.pk)
    if row.duty != "lead":
        others = others.filter(person=row.person)
    for other in others.select_related("person"):
        if overlap((other.starts_on, other.ends_on), (row.starts_on, ends_on)):
            sentence = _("%(name)s has this duty from %(first)s on; choose an earlier last day.")
            raise _unfit("ends_on", sentence, name=other.person, first=other.starts_on.isoformat())
    days = [day.isoformat() if day else "" for day in (row.ends_on, ends_on)]
    Assignment.objects.filter(pk=row.pk).update(ends_on=ends_on)
    row.ends_on = ends_on
    told = _told(row) | {"changes": {"ends_on": days}, "until": days[1]}
    timeline.record(entries.DUTY_DAYS_CHANGED, about=row.tenant, by=by, **told, **because(why.strip()[:LONGEST_WHY]))
    return row


def end(*, assignment: Assignment, by: str, why: str = "") -> Assignment:
    """Nobody's duty any more, at once; its days stay true, the last one included. Raises Refused for what has ended."""
    row, now = _held(assignment), timezone.now().astimezone(programme_zone())
    last = max(row.starts_on, now.date())
    Assignment.objects.filter(pk=row.pk).update(ended_at=now, ends_on=last)
    row.ended_at, row.ends_on = now, last
    timeline.record(entries.UNASSIGNED, about=row.tenant, by=by, **_told(row), **because(why.strip()[:LONGEST_WHY]))
    return row


def _held(assignment: Assignment) -> Assignment:
    Tenant.objects.select_for_update(no_key=True).get(pk=assignment.tenant_id)
    rows = Assignment.objects.select_for_update(of=("self",)).select_related("person", "tenant")
    row = rows.get(pk=assignment.pk)
    if row.ended_at is not None or (row.ends_on is not None and row.ends_on < programme_today()):
        raise Refused("assignment_over", _("This duty has ended already."))
    return row


def _told(row: Assignment) -> dict[str, str]:
    days = {"starts_on": row.starts_on.isoformat(), "ends_on": row.ends_on.isoformat() if row.ends_on else ""}
    return {"person": str(row.person_id), "duty": row.duty, **days}


def words(duties: Iterable[str] = DUTIES) -> list[tuple[str, str]]:
    """Duties to choose from, in words."""
    return [(duty, str(DUTY_WORDS[duty])) for duty in duties]


def _unfit(field: str, sentence: str, **told: object) -> Refused:
    said = sentence % {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in told.items()}
    return Refused(field, said, status=422, fields={field: [said]}, field=field)


def _compose(delivery: Delivery, place: Seat) -> mail.Message | None:
    row = Assignment.objects.filter(pk=int(delivery.key), ended_at=None).select_related("tenant").first()
    if row is None:
        return None
    slug = row.tenant.slug
    addresses = {"sheet": mail.address("hand_over", slug), "address": f"{mail.address('people', slug)}#team"}
    return mail.Message("tenants/mail/looks_after.txt", {"row": row, "duty": DUTY_WORDS[row.duty], **addresses})


GIVEN = mail.kind(
    "looks-after",
    name=gettext_lazy("Participant given to somebody"),
    label=gettext_lazy("You look after a participant from now on, or step in for a colleague"),
    help=gettext_lazy("For whom, as what, from when to when, and where the hand-over sheet is."),
    compose=_compose,
)
