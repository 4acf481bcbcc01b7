"""Mail about a request for capacity: whoever asked for it is told when it was granted or declined."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from clusters.models import CapacityRequest, CloudAccount
from tenants import mail
from tenants.models import ApiToken, Delivery, Membership, Person, holding
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.wall.acting import reading_everyone


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
    cost = row.effect.get("granted", {}).get("cost")
    words, route = next_step(row, place.role)
    context = {
        "row": row,
        "address": mail.address("capacity_request", row.tenant.slug, row.pk),
        "cost": Decimal(cost) if cost else None,
        "next_words": words,
        "next_address": mail.address(route, row.tenant.slug) if route else "",
    }
    return mail.Message("clusters/mail/capacity_decided.txt", context)


def next_step(row: CapacityRequest, role: str) -> tuple[Any, str]:
    """(what comes next in words, its route) after a grant, for a reader of this role; empty where nothing does."""
    if row.state != "granted" or row.kind == CapacityRequest.Kind.FEWER:
        return "", ""
    if not CloudAccount.objects.filter(tenant=row.tenant_id).exists():
        if role in roles.CONNECT:
            return _("Connect the cloud account in which the clusters are to live."), "add_account"
        return _(
            "Have a technical lead or a platform engineer connect the cloud account; invite one if nobody is."
        ), "people"
    if role in roles.OPERATE:
        return _("Ask for a cluster."), "request_cluster"
    return _("Have a technical lead or a platform engineer ask for a cluster; invite one if nobody is."), "people"


DECIDED = mail.kind(
    "capacity-decided",
    name=_("Capacity decided"),
    label=_("Capacity that you asked for is granted or declined"),
    help=_("Leads are told, too, of what the programme asked for on behalf of their application."),
    compose=_compose,
)


def tell_who_decides(row: CapacityRequest) -> None:
    """Wish for one mail for each programme manager that a request waits; not to whoever asked."""
    with reading_everyone():  # the office's seats are not the participant's
        seats = Membership.objects.filter(holding(), tenant__is_office=True, role=roles.PROGRAMME_MANAGER)
        found = list(seats.select_related("person").order_by("person"))
    for seat in found:
        if seat.person.actor != row.asked_by:
            mail.tell(person=seat.person, tenant=row.tenant_id, kind=WAITS, about=row.pk, key=str(row.pk))


def _compose_waits(delivery: Delivery, place: Seat) -> mail.Message | None:
    row = CapacityRequest.objects.select_related("tenant").filter(pk=delivery.about, state="waiting").first()
    if row is None:
        return None
    cost = row.effect.get("cost")
    context = {
        "row": row,
        "address": mail.address("capacity_request", row.tenant.slug, row.pk),
        "cost": Decimal(cost) if cost else None,
    }
    return mail.Message("clusters/mail/capacity_waits.txt", context)


WAITS = mail.kind(
    "capacity-waits",
    name=_("Capacity to decide"),
    label=_("A participant asks for capacity, and it waits for a decision"),
    help=_("Programme managers are told once for each request that no rule grants."),
    compose=_compose_waits,
)
