"""Mail about an onboarding: the leads of the participant and whoever leads it are told when it is planned or changed."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _

from program.models import Onboarding, OnboardingStep
from tenants import mail
from tenants.models import Delivery, Invitation, Membership, Person, holding
from tenants.wall import roles
from tenants.wall.access import Seat


def tell(made: Onboarding, *, change: str = "", also: Iterable[Person] = ()) -> None:
    """Wish for one mail for each lead, of `change` where it is one. In the scope of the participant.

    Whoever is invited as a lead and did not come yet is written to at the address of the invitation.
    """
    leads = Membership.objects.filter(holding(), tenant=made.tenant_id, role__in=sorted(roles.LEADS))
    people = {seat.person for seat in leads.select_related("person")} | {made.lead, *also}
    key = f"{made.pk}:{change}" if change else str(made.pk)
    for person in people:
        mail.tell(person=person, tenant=made.tenant_id, kind=PLANNED, about=made.pk, key=key)
    invited = Invitation.objects.filter(tenant=made.tenant_id, state="open", role__in=sorted(roles.LEADS))
    for one in invited:
        mail.write_to(address=one.email, tenant=made.tenant_id, kind=PLANNED_LETTER, about=made.pk, key=key)


def _compose(delivery: Delivery, place: Seat) -> mail.Message | None:
    return _message(delivery)


def _message(delivery: Delivery) -> mail.Message | None:
    row = Onboarding.objects.select_related("tenant", "participation", "lead").filter(pk=delivery.about).first()
    left = OnboardingStep.objects.filter(onboarding=row, state="open").count() if row else 0
    if row is None or not left:
        return None
    context = {"row": row, "left": left, "address": mail.address("onboarding_list", row.tenant.slug, row.pk)}
    return mail.Message("program/mail/onboarding_planned.txt", context | {"changed": ":" in delivery.key})


def _compose_letter(delivery: Delivery) -> tuple[mail.Message, str] | None:
    invited = Invitation.objects.filter(tenant=delivery.tenant_id, email=delivery.address, state="open").first()
    message = _message(delivery) if invited else None
    return (message, invited.language) if message and invited else None


PLANNED_LETTER = mail.letter("onboarding-invited", name=_("Onboarding planned"), compose=_compose_letter)


PLANNED = mail.kind(
    "onboarding-planned",
    name=_("Onboarding planned"),
    label=_("An onboarding is planned or changed"),
    help=_(
        "When you lead it, or are a lead of the organisation: who leads it, when its session is, and where its list stands."
    ),
    compose=_compose,
)
