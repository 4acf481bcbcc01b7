"""What whoever leaves lets go of here: open action items go on to somebody else, or stay and are told, since each has one owner;
seats in sessions are given back."""

from __future__ import annotations

from django.db.models import F

from program import sessions, states
from program.models import ActionItem, Registration, Session
from support.leaving import places_left
from support.writing import moment, refuse_an_owner_from_elsewhere
from tenants.history import timeline
from tenants.leaving import lets_go
from tenants.models import Person, Tenant
from tenants.wall.acting import acting_for


@lets_go
def let_go_of_action_items(person: Person, tenant: Tenant, by: str, to: Person | None) -> dict[str, int]:
    """Hand them over, each with its entry; how many stay with whoever is gone."""
    left = 0
    for place in places_left(ActionItem, person, tenant, state="open"):
        with acting_for(place, staff=True):
            rows = ActionItem.objects.select_for_update(of=("self",)).filter(owner=person, state="open")
            for item in rows.order_by("due", "number"):
                if to is None:
                    left += 1
                    continue
                refuse_an_owner_from_elsewhere(to, place, moment(None))
                ActionItem.objects.filter(pk=item.pk).update(owner=to, version=F("version") + 1)
                told = {"number": item.number, "person": str(person.pk), "owner": str(to.pk)}
                timeline.record(states.HANDED_OVER, about=item, by=by, audience=item.audience, **told)
    return {"action_item": left} if left else {}


@lets_go
def give_seats_back(person: Person, tenant: Tenant, by: str, to: Person | None) -> dict[str, int]:
    """Seats in sessions that are to come are free for others again; who came to which stays."""
    if tenant.is_office:
        return {}
    with acting_for(tenant):
        mine = Registration.objects.filter(person=person, cancelled_at=None)
        taken = list(mine.values_list("session_id", flat=True))
    with acting_for(sessions.office(), staff=True):
        coming = Session.objects.filter(pk__in=taken, starts_at__gt=moment(None), cancelled_at=None)
        found = list(coming.order_by("pk"))
    for session in found:
        sessions.unregister(session=session, tenant=tenant, person=person, by=by)
    return {}
