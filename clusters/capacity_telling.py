"""Mail about a request for capacity: whoever asked for it is told when it was granted or declined."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from clusters.models import CapacityRequest
from tenants import mail
from tenants.models import ApiToken, Delivery, Membership, Person, holding
from tenants.wall import roles
from tenants.wall.access import Seat


def recipients(row: CapacityRequest, decided_by: str) -> list[Person]:
    """Whoever asked, also by a token; the leads where the programme asked for them. Nobody is told what they decided."""
    word, _sep, pk = row.asked_by.partition(":")
    people: list[Any] = []
    if word == "person":
        people = list(Person.objects.filter(pk=pk))
    elif word == "token":
        people = [token.person for token in ApiToken.objects.filter(pk=pk).select_related("person")]
    else:
        leads = Membership.objects.filter(holding(), tenant=row.tenant_id, role__in=sorted(roles.LEADS))
        people = [seat.person for seat in leads.select_related("person").order_by("person")]
    return [person for person in people if person.actor != decided_by]


def tell(row: CapacityRequest, decided_by: str) -> None:
    """Wish for one mail for each. In the scope of the request's organisation."""
    for person in recipients(row, decided_by):
        mail.tell(person=person, tenant=row.tenant_id, kind=DECIDED, about=row.pk, key=str(row.pk))


def _compose(delivery: Delivery, place: Seat) -> mail.Message | None:
    row = CapacityRequest.objects.select_related("tenant").filter(pk=delivery.about).first()
    if row is None or row.state not in ("granted", "declined"):
        return None
    context = {"row": row, "address": mail.address("capacity_request", row.tenant.slug, row.pk)}
    return mail.Message("clusters/mail/capacity_decided.txt", context)


DECIDED = mail.kind(
    "capacity-decided",
    name=_("Capacity decided"),
    label=_("Capacity that you asked for is granted or declined"),
    help=_("Leads are told, too, of what the programme asked for on behalf of their application."),
    compose=_compose,
)
