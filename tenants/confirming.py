"""Access is confirmed again and again: a lead says who is still right, and whoever was not confirmed is shown and reminded of."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants import contacts, entries, importing, inviting, joining, mail
from tenants.history import timeline
from tenants.models import Delivery, Membership, Person, Tenant, holding
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due
from tenants.work.loop import handler


def standing(seat: Membership, now: datetime, days: int) -> str:
    """How fresh a seat's confirmation is; who was just seated is confirmed by that."""
    return contacts.freshness(seat.confirmed_at or seat.created_at, now, days)


def unconfirmed(tenant: Tenant, now: datetime) -> list[Membership]:
    """Seats that hold, and that nobody has confirmed for too long."""
    edge = now - timedelta(days=contacts.confirm_days())
    rows = Membership.objects.filter(holding(), tenant=tenant).select_related("person")
    return [row for row in rows if (row.confirmed_at or row.created_at) <= edge]


def confirm(*, tenant: Tenant, seats: Collection[int], by: str) -> int:
    """Say of these seats that they are still right; how many. The others stay as they are, and are shown."""
    rows = Membership.objects.filter(holding(), tenant=tenant)
    chosen = list(rows.filter(pk__in=list(seats)).select_for_update(of=("self",)).values_list("pk", flat=True))
    if not chosen:
        raise Refused("nobody_chosen", _("Choose whose access is still right."), status=422)
    Membership.objects.filter(pk__in=chosen).update(confirmed_at=timezone.now())
    left = rows.exclude(pk__in=chosen).count()
    timeline.record(entries.ACCESS_CONFIRMED, about=tenant, by=by, count=len(chosen), left=left)
    return len(chosen)


@handler("people", queue="deliver")
def look_after(held: due.Held) -> None:
    """Once a day for each tenant: what ran out is said to have, and its leads are reminded of unconfirmed access."""
    now = timezone.now()
    with acting_for(held.tenant_id, staff=True):
        tenant = Tenant.objects.get(pk=held.tenant_id)
        inviting.give_up_the_expired()
        importing.call_off_the_old()
        joining.give_up_the_old()
        if unconfirmed(tenant, now):
            for person in _who_confirms(tenant):
                mail.tell(person=person, tenant=tenant, kind=REMINDER, key=week_of(now))
        due.remove(held)


def _who_confirms(tenant: Tenant) -> list[Person]:
    which = {roles.PROGRAMME_MANAGER} if tenant.is_office else roles.LEADS
    rows = Membership.objects.filter(holding(), tenant=tenant, role__in=which).select_related("person")
    return [row.person for row in rows]


def week_of(now: datetime) -> str:
    """One reminder a week is enough."""
    year, week, _day = now.isocalendar()
    return f"{year}-W{week:02d}"


def _compose(delivery: Delivery, seat: Seat) -> mail.Message | None:
    rows = unconfirmed(delivery.tenant, timezone.now())
    if not rows or seat.role not in roles.MANAGE_PEOPLE:
        return None
    address = mail.address("confirm_access", delivery.tenant.slug)
    context = {"count": len(rows), "people": [row.person for row in rows[:20]], "place": delivery.tenant}
    return mail.Message("tenants/mail/confirm_access.txt", context | {"address": address})


REMINDER = mail.kind(
    "confirm-access",
    name=gettext_lazy("Access to confirm"),
    label=gettext_lazy("Access of your people has to be confirmed"),
    help=gettext_lazy("When you are a lead, once a week as long as somebody's access was not confirmed in time."),
    compose=_compose,
)
