"""Mail about an onboarding: the leads of the participant are told when it is laid out."""

from django.utils.translation import gettext_lazy as _

from program.models import Onboarding, OnboardingStep
from tenants import mail
from tenants.models import Delivery, Membership, holding
from tenants.wall import roles
from tenants.wall.access import Seat


def tell(made: Onboarding) -> None:
    """Wish for one mail for each lead. In the scope of the participant."""
    leads = Membership.objects.filter(holding(), tenant=made.tenant_id, role__in=sorted(roles.LEADS))
    for seat in leads.select_related("person"):
        mail.tell(person=seat.person, tenant=made.tenant_id, kind=PLANNED, about=made.pk, key=str(made.pk))


def _compose(delivery: Delivery, place: Seat) -> mail.Message | None:
    row = Onboarding.objects.select_related("tenant", "participation", "lead").filter(pk=delivery.about).first()
    left = OnboardingStep.objects.filter(onboarding=row, state="open").count() if row else 0
    if row is None or not left:
        return None
    context = {"row": row, "left": left, "address": mail.address("onboarding_list", row.tenant.slug, row.pk)}
    return mail.Message("program/mail/onboarding_planned.txt", context)


PLANNED = mail.kind(
    "onboarding-planned",
    name=_("Onboarding planned"),
    label=_("The onboarding of your organisation is planned"),
    help=_("When you are a lead: who leads it, when its session is, and where its list stands."),
    compose=_compose,
)
