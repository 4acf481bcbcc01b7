"""Mail about the life of a participation: its leads are told when it goes on, is suspended or withdrawn, or when a gate is decided."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from tenants import mail, participating
from tenants.history.models import Entry
from tenants.models import Delivery, Membership, Participation, holding
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.web.templatetags.show import words

STATE, GATE = "state", "gate"
TEMPLATE = "program/mail/participation.txt"


def tell(row: Participation, what: str, by: str) -> None:
    """Wish for one mail for each lead but whoever did it. In the scope of the participation's organisation."""
    value = row.gate if what == GATE else row.state
    seats = Membership.objects.filter(holding(), tenant=row.tenant_id, role__in=sorted(roles.LEADS))
    for seat in seats.select_related("person").order_by("person"):
        if seat.person.actor != by:
            key = f"{row.pk}:{what}:{value}:{row.version}"
            mail.tell(person=seat.person, tenant=row.tenant_id, kind=CHANGED, about=row.pk, key=key)


def _compose(delivery: Delivery, place: Seat) -> mail.Message | None:
    """As it is now; nothing where it is no longer what was to be told."""
    row = Participation.objects.select_related("tenant", "cycle").filter(pk=delivery.about).first()
    _pk, what, value, _version = delivery.key.split(":")
    if row is None or value != (row.gate if what == GATE else row.state):
        return None
    context: dict[str, Any] = {"row": row, "gate": what == GATE, "why": row.gate_why, "state": words(row.state)}
    if what == STATE:
        entry = Entry.objects.filter(kind=f"participation.{value}", subject_id=row.pk).order_by("-id").first()
        context |= {"why": entry.facts.get("why", "") if entry else "", "goes_on": participating.GOES_ON.get(value, "")}
    context["address"] = mail.address("participation", row.tenant.slug, row.pk)
    return mail.Message(TEMPLATE, context)


CHANGED = mail.kind(
    "participation-changed",
    name=_("Participation changed"),
    label=_("Your participation goes on, is suspended or withdrawn, or its stage gate is decided"),
    help=_("When you are a lead: once for each change, with the reason."),
    compose=_compose,
)
