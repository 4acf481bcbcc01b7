"""Who leaves owns no open case any more: it waits in the list of cases without an owner."""

from typing import Any

from support import states
from support.models import Case
from support.writing import hold, moment, refuse_an_owner_from_elsewhere, write
from tenants.history import timeline
from tenants.leaving import lets_go
from tenants.models import Membership, Person, Tenant, holding
from tenants.wall.acting import acting_for, reading_everyone


@lets_go
def let_go_of_cases(person: Person, tenant: Tenant, by: str, to: Person | None) -> dict[str, int]:
    """Open cases of the organisation; of whoever leaves the office, the cases of every organisation. `to` owns them then."""
    count = 0
    for place in places_left(Case, person, tenant, state__in=states.OPEN):
        with acting_for(place, staff=True):
            for case in Case.objects.filter(owner=person, state__in=states.OPEN).order_by("opened_at", "id"):
                hold(case)
                if to is not None:
                    refuse_an_owner_from_elsewhere(to, place, moment(None))
                    write(case, owner=to)
                    timeline.record(states.CASE_GIVEN, about=case, by=by, number=case.number, owner=str(to.pk))
                    continue
                write(case, owner=None)
                facts: dict[str, Any] = {"number": case.number, "person": str(person.pk)}
                timeline.record(states.CASE_UNOWNED, about=case, by=by, at=moment(None), **facts)
                count += 1
    return {"case": count} if count else {}


def places_left(model: Any, person: Person, tenant: Tenant, **which: Any) -> list[Tenant]:
    """Where the person owned something and has nothing to do any more."""
    seats = Membership.objects.filter(holding(), person=person).select_related("tenant")
    kept = {seat.tenant_id: seat.tenant for seat in seats}
    if any(place.is_office for place in kept.values()):
        return []
    if not tenant.is_office:
        return [] if tenant.pk in kept else [tenant]
    with reading_everyone():
        owned = set(model.objects.filter(owner=person, **which).values_list("tenant_id", flat=True))
    return list(Tenant.objects.filter(pk__in=owned - set(kept)).order_by("slug"))
