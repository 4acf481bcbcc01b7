"""Escalation to a service team: its engineers get a seat at the participant for as long as such a case is open."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from support import states
from support.models import Case
from support.writing import hold, moment, refuse_ended, text_of, write
from tenants.actions import assign
from tenants.history import timeline
from tenants.models import Assignment, Membership, Person, Tenant, holding
from tenants.wall import roles
from tenants.web.problems import Refused


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
        end_idle_seats(tenant=case.tenant, component=before)
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
        starts_on = min(at, moment(None)).date()
        assign(person=seat.person, tenant=case.tenant, duty="service", by=by, starts_on=starts_on, at=at, **facts)


def end_idle_seats(*, tenant: Tenant, component: str) -> None:
    """Take the engineers' seats away when no open case is with their component any more."""
    if not component or Case.objects.filter(tenant=tenant, component=component, state__in=states.OPEN).exists():
        return
    engineers = _serving().filter(team=component).values("person")
    # Days count whole and both ends are included: only a seat that ended yesterday is closed now.
    yesterday = moment(None).date() - timedelta(days=1)
    Assignment.objects.filter(person__in=engineers, tenant=tenant, duty="service", ends_on=None).update(
        ends_on=yesterday
    )


def _serving() -> QuerySet[Membership]:
    return Membership.objects.filter(
        holding(),
        role=roles.SERVICE_ENGINEER,
        tenant__is_office=True,
        person__is_active=True,
    )
