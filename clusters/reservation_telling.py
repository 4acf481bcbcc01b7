"""Mail about a reservation that ends: to whoever can extend it and whoever trains in it, once for each warning."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from clusters.models import Reservation
from tenants import mail
from tenants.history.models import Entry
from tenants.models import Assignment, Delivery, Membership, Person, holding
from tenants.wall import roles
from tenants.wall.access import Seat

ROLES = (roles.BUSINESS_LEAD, roles.PLATFORM_ENGINEER)
DUTIES = ("account", "lead")


def recipients(row: Reservation) -> list[Person]:
    """The participant's business leads and platform engineers, its account team and its lead architect."""
    seats = Membership.objects.filter(holding(), tenant=row.tenant_id, role__in=ROLES)
    team = Assignment.objects.filter(holding(), tenant=row.tenant_id, duty__in=DUTIES)
    people: list[Any] = [*seats.select_related("person"), *team.select_related("person")]
    return sorted({one.person for one in people}, key=lambda person: person.pk)


def tell(row: Reservation, entry: Entry) -> None:
    """Wish for one mail for each; again for the same warning wishes for none."""
    for person in recipients(row):
        mail.tell(person=person, tenant=row.tenant_id, kind=ENDS, about=row.pk, key=str(entry.pk))


def _compose(delivery: Delivery, place: Seat) -> mail.Message | None:
    row = Reservation.objects.select_related("tenant").filter(pk=delivery.about).first()
    entry = Entry.objects.filter(pk=int(delivery.key)).first()
    if row is None or entry is None or row.state == "ended":
        return None
    days = int(entry.facts["days"])
    if row.ends_at - timezone.now() > timedelta(days=days + 1):  # it was extended meanwhile
        return None
    taken_away = row.kind in (Reservation.Kind.CAPACITY_BLOCK, Reservation.Kind.TRAINING_PLAN)
    address = mail.address("reservation", row.tenant.slug, row.pk)
    context = {"row": row, "days": days, "taken_away": taken_away, "address": address}
    return mail.Message("clusters/mail/reservation_ends.txt", context)


ENDS = mail.kind(
    "reservation-ends",
    name=_("Reservation ends"),
    label=_("Reserved capacity is about to end"),
    help=_("14, 7, 3 and 1 days before its end."),
    compose=_compose,
)
