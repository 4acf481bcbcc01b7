"""Escalation to a service team: its engineers get a seat at the participant for as long as such a case is open."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from support import states
from support.models import Case
from support.writing import hold, moment, refuse_ended, text_of, write
from tenants.actions import NEWCOMER, assign, unassign
from tenants.history import timeline
from tenants.models import Assignment, Membership, Person, Tenant, holding
from tenants.wall import roles
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.work import due
from tenants.work.loop import handler

ENGINE = "engine"


def escalate_case(
    *,
    case: Case,
    component: str,
    why: str,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    audience: str = "shared",
    **facts: Any,
) -> Case:
    """Bring in the engineers who answer for a component; the owner stays, the age goes on."""
    why = text_of(why, _("why"), 300, "why")
    hold(case, version, component=component)
    refuse_ended(case)
    at, before = moment(at), case.component
    known = components()
    if component not in known:
        raise Refused(
            "unknown_component",
            _("Nobody answers for '%(component)s'. There are: %(known)s.")
            % {"component": component[:40], "known": ", ".join(known) or "–"},
            status=422,
            field="component",
            allowed=known,
        )
    write(case, component=component)
    told = {"number": case.number, "component": component, "was": before, "why": why, **facts}
    timeline.record(states.CASE_ESCALATED, about=case, by=by, at=at, audience=audience, **told)
    seat_engineers(case=case, by=by, at=at, **facts)
    if before != component:
        end_idle_seats(tenant=case.tenant, component=before, by=by, at=at, **facts)
    return case


def components() -> list[str]:
    """The components that somebody answers for now."""
    seats = _serving().exclude(team="")
    return sorted(set(seats.values_list("team", flat=True)))


def components_of(person: Person) -> list[str]:
    """The components this person answers for now."""
    return sorted(set(_serving().filter(person=person).exclude(team="").values_list("team", flat=True)))


def seat_engineers(*, case: Case, by: str, at: datetime, **facts: Any) -> None:
    """Give every engineer of the case's component a seat at its tenant."""
    for seat in _serving().filter(team=case.component).select_related("person"):
        _seat(seat, case.tenant, by, at, **facts)


def end_idle_seats(*, tenant: Tenant, component: str, by: str, at: datetime, **facts: Any) -> None:
    """Take the engineers' seats away when no open case is with their component any more."""
    if not component or Case.objects.filter(tenant=tenant, component=component, state__in=states.OPEN).exists():
        return
    engineers = _serving().filter(team=component).values("person")
    # Days count whole and both ends are included: only a seat that ended yesterday is closed now.
    yesterday = moment(None).date() - timedelta(days=1)
    for seat in Assignment.objects.filter(person__in=engineers, tenant=tenant, duty="service", ends_on=None):
        unassign(assignment=seat, by=by, ends_on=yesterday, at=at, **facts)


@handler(NEWCOMER)
def seat_newcomer(held: due.Held) -> None:
    """Who answers for a component from now on gets a seat wherever an open case is with it already."""
    office = Tenant.objects.get(pk=held.tenant_id)
    with acting_for(office, staff=True):
        membership = Membership.objects.filter(pk=held.ref, ends_on=None).select_related("person").first()
        if membership is None or not membership.team:
            due.remove(held)
            return
        if not _serving().filter(pk=membership.pk).exists():
            due.finish(held, again_in=timedelta(hours=1))  # not before its first day
            return
        with reading_everyone():
            escalated = Case.objects.filter(component=membership.team, state__in=states.OPEN)
            wanted = list(escalated.values_list("tenant_id", flat=True).distinct())
        for tenant in Tenant.objects.filter(pk__in=wanted).order_by("slug"):
            with acting_for(tenant, staff=True):
                _seat(membership, tenant, ENGINE, moment(None))
        due.remove(held)


def _seat(membership: Membership, tenant: Tenant, by: str, at: datetime, **facts: Any) -> None:
    starts_on = min(at, moment(None)).date()
    assign(person=membership.person, tenant=tenant, duty="service", by=by, starts_on=starts_on, at=at, **facts)


def engineers_of(component: str) -> list[Person]:
    """Who answers for a component now."""
    return list(Person.objects.filter(pk__in=_serving().filter(team=component).values("person")) if component else [])


def _serving() -> QuerySet[Membership]:
    return Membership.objects.filter(
        holding(),
        role=roles.SERVICE_ENGINEER,
        tenant__is_office=True,
        person__is_active=True,
    )
