"""A role changed or taken away: what ends with it is ended in one place, and the history keeps all of it.

What a person owns lies in layers above this one; each of them says with `lets_go` how it comes to have no owner.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from tenants import entries
from tenants.actions import NEWCOMER, assign, because
from tenants.contacts import forget
from tenants.history import timeline
from tenants.history.moves import move
from tenants.inviting import OPEN, refuse_a_role_not_theirs_to_give, refuse_a_second_seat, refuse_unfit_days
from tenants.models import ApiToken, Assignment, Invitation, Membership, Person, Tenant, holding
from tenants.programme_day import programme_today, programme_zone
from tenants.wall import roles
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.work import due

# (person, tenant, by, who gets it) -> how many things of what kind have no owner now; within the scope of the tenant.
LetGo = Callable[[Person, Tenant, str, Person | None], dict[str, int]]
LET_GO: list[LetGo] = []
LONGEST_WHY = 300


def lets_go(release: LetGo) -> LetGo:
    """Declare what else has to be let go when somebody leaves an organisation."""
    LET_GO.append(release)
    return release


@dataclass
class Left:
    """What ended with a seat."""

    tokens: int = 0
    invitations: int = 0
    duties: int = 0
    contacts: int = 0
    unowned: dict[str, int] = field(default_factory=dict)


def last_lead(*, role: str, others: int, own: bool, at_office: bool) -> bool:
    """Whether this seat may not go: no lead takes itself away as the last one, and an office never lacks its manager."""
    if at_office:
        return role == roles.PROGRAMME_MANAGER and others == 0
    return role in roles.LEADS and others == 0 and own


def remove(*, seat: Membership, by: str, person: Person, why: str = "", to: Person | None = None) -> Left:
    """End a person's access to an organisation at once; `person` is whoever does it.

    Sessions, tokens, open invitations to and from them, duties, contacts and what they own end in this transaction; what
    they look after and own goes on to `to`, where somebody is named.
    Raises Refused when it ended already, for the last lead who would leave nobody behind, and for a `to` without a seat.
    """
    why = why.strip()[:LONGEST_WHY]
    row = _held(seat)
    _refuse_the_last_lead(row, person)
    _refuse_an_heir_from_elsewhere(row, to)
    leaver, tenant, now = row.person, row.tenant, timezone.now().astimezone(programme_zone())
    for each in Membership.objects.filter(person=leaver, tenant=tenant, ended_at=None).filter(_not_over(now.date())):
        _end(each, now)
    left = Left(
        tokens=_revoke_tokens(leaver, tenant, now),
        invitations=_withdraw_invitations(leaver, tenant, by),
        duties=_end_duties(leaver, tenant, by, now, to),
        contacts=forget(leaver, tenant, by),
    )
    Person.objects.filter(pk=leaver.pk).update(signed_out=F("signed_out") + 1)
    for release in LET_GO:
        for kind, count in release(leaver, tenant, by, to).items():
            left.unowned[kind] = left.unowned.get(kind, 0) + count
    told = {"person": str(leaver.pk), "role": row.role, "tokens": left.tokens, "invitations": left.invitations}
    kind = entries.LEFT if leaver == person else entries.REMOVED
    if to is not None:
        told["owner"] = str(to.pk)
    timeline.record(kind, about=tenant, by=by, why=why, unowned=left.unowned, **told)
    return left


def _refuse_an_heir_from_elsewhere(row: Membership, to: Person | None) -> None:
    if to is None:
        return
    seats = Membership.objects.filter(holding(), person=to, tenant=row.tenant, person__is_active=True)
    if to.pk == row.person_id or not seats.exists():
        sentence = _("%(name)s cannot take it over: choose somebody else with access here.") % {"name": to}
        raise Refused("heir", sentence, status=422, field="to", fields={"to": [sentence]})


def change(
    *,
    seat: Membership,
    role: str,
    by: str,
    person: Person,
    giver: str,
    starts_on: date | None = None,
    ends_on: date | None = None,
    team: str | None = None,
    why: str = "",
) -> Membership:
    """Another role from a day on (today unless said), or another last day of the same one; the seat that holds then.

    What was stays as a seat of its own that ended. Raises Refused as `remove` and as an invitation do.
    """
    row = _held(seat)
    today = programme_today()
    refuse_a_role_not_theirs_to_give(role, giver, row.tenant)
    first = starts_on or max(today, row.starts_on)
    if (role, team if team is not None else row.team) == (row.role, row.team) and starts_on in (None, row.starts_on):
        return _until(row, ends_on, by, person, today, why)
    refuse_unfit_days(first, ends_on, today)
    if role not in roles.LEADS or ends_on is not None or row.tenant.is_office:
        _refuse_the_last_lead(row, person)
    refuse_a_second_seat(row.person, row.tenant, (first, ends_on), but=[row.pk])
    if first > max(today, row.starts_on):
        Membership.objects.filter(pk=row.pk).update(ends_on=first - timedelta(days=1))
    else:
        _end(row, timezone.now().astimezone(programme_zone()))
    new = Membership.objects.create(
        person=row.person, tenant=row.tenant, role=role, team=row.team if team is None else team,
        starts_on=first, ends_on=ends_on, confirmed_at=timezone.now(),
    )  # fmt: skip
    told = {
        "person": str(row.person_id),
        "was_role": row.role,
        "role": role,
        "starts_on": first.isoformat(),
        **because(why),
    }
    timeline.record(entries.ROLE_CHANGED, about=row.tenant, by=by, **told)
    if role == roles.SERVICE_ENGINEER and new.team:
        due.wish(NEWCOMER, new.pk, tenant=row.tenant)
    return new


def _until(row: Membership, ends_on: date | None, by: str, person: Person, today: date, why: str = "") -> Membership:
    if ends_on == row.ends_on:
        return row
    refuse_unfit_days(max(today, row.starts_on), ends_on, today)
    if ends_on is not None:
        _refuse_the_last_lead(row, person)
    refuse_a_second_seat(row.person, row.tenant, (row.starts_on, ends_on), but=[row.pk])
    days = [day.isoformat() if day else "" for day in (row.ends_on, ends_on)]
    Membership.objects.filter(pk=row.pk).update(ends_on=ends_on)
    row.ends_on = ends_on
    told = {
        "person": str(row.person_id),
        "role": row.role,
        "until": days[1],
        "changes": {"ends_on": days},
        **because(why),
    }
    timeline.record(entries.DAYS_CHANGED, about=row.tenant, by=by, **told)
    return row


def _held(seat: Membership) -> Membership:
    """The seat, with its organisation locked: who is the last lead is asked by one at a time."""
    Tenant.objects.select_for_update(no_key=True).get(pk=seat.tenant_id)
    row = Membership.objects.select_for_update(of=("self",)).select_related("person", "tenant").get(pk=seat.pk)
    if row.ended_at is not None or (row.ends_on is not None and row.ends_on < programme_today()):
        raise Refused("seat_over", _("This access has ended already."))
    return row


def _not_over(today: date) -> Q:
    return Q(ends_on=None) | Q(ends_on__gte=today)


def _refuse_the_last_lead(row: Membership, person: Person) -> None:
    which = {roles.PROGRAMME_MANAGER} if row.tenant.is_office else roles.LEADS
    others = (
        Membership.objects.filter(holding(), tenant=row.tenant, role__in=which, person__is_active=True)
        .exclude(person=row.person)
        .values("person")
        .distinct()
        .count()
    )
    if not last_lead(role=row.role, others=others, own=row.person_id == person.pk, at_office=row.tenant.is_office):
        return
    sentence = (
        _("This is the only programme manager. Appoint another one first.")
        if row.tenant.is_office
        else _("You are the only lead here. Give somebody else the role of a lead first, or ask the programme office.")
    )
    raise Refused("last_lead", sentence)


def _end(row: Membership, now: datetime) -> None:
    """From now on it does not hold; its days stay true, the last one included."""
    last = max(row.starts_on, now.date())
    Membership.objects.filter(pk=row.pk).update(ended_at=now, ends_on=last)


def _revoke_tokens(leaver: Person, tenant: Tenant, now: datetime) -> int:
    """Tokens for this organisation; and those for all that the person sees, when nothing is left or it was the office."""
    seats = Membership.objects.filter(_not_over(now.date()), person=leaver, ended_at=None)
    kept = set(seats.values_list("tenant", flat=True))
    gone = Q(tenant=tenant)
    if tenant.is_office:
        gone |= Q(tenant=None) | ~Q(tenant__in=kept)
    elif not kept:
        gone |= Q(tenant=None)
    return ApiToken.objects.filter(gone, person=leaver, revoked_at=None).update(revoked_at=now)


def _withdraw_invitations(leaver: Person, tenant: Tenant, by: str) -> int:
    """Those to the leaver, and those that the leaver sent: nobody leaves a door open behind them."""
    theirs, sent = Q(email=leaver.email.lower()), Q(invited_by=leaver.actor)
    count, places = 0, {tenant.pk}
    if tenant.is_office:
        with reading_everyone():
            places |= set(Invitation.objects.filter(sent, state=OPEN).values_list("tenant_id", flat=True))
    for place in sorted(places):
        with acting_for(place):
            which = theirs | sent if place == tenant.pk else sent
            for row in Invitation.objects.select_for_update(of=("self",)).filter(which, state=OPEN):
                move(row, "withdrawn", by=by, role=row.role, why="left")
                count += 1
    return count


def _end_duties(leaver: Person, tenant: Tenant, by: str, now: datetime, to: Person | None) -> int:
    """A member of staff who leaves the office looks after nobody any more; whoever is named does instead."""
    rows = Assignment.objects.filter(_not_over(now.date()), person=leaver, ended_at=None).select_related("tenant")
    if not tenant.is_office:
        rows = rows.filter(tenant=tenant)
    for row in rows:
        last = max(row.starts_on, now.date())
        Assignment.objects.filter(pk=row.pk).update(ended_at=now, ends_on=last)
        with acting_for(row.tenant, staff=True):
            timeline.record(entries.UNASSIGNED, about=row.tenant, by=by, person=str(leaver.pk), duty=row.duty)
            # A seat at single cases comes with the component that somebody answers for, and from nobody else.
            if to is not None and tenant.is_office and row.duty != "service":
                assign(person=to, tenant=row.tenant, duty=row.duty, by=by, starts_on=now.date())
    return len(rows)


def told(left: Left) -> dict[str, Any]:
    """What ended, as data."""
    return {
        "tokens": left.tokens,
        "invitations": left.invitations,
        "duties": left.duties,
        "contacts": left.contacts,
        "unowned": left.unowned,
    }
