"""Mail about a budget: to the participant's business lead and to the account team, once for each step that is told."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext_lazy as _

from clusters.budgets import queries
from clusters.budgets.reckoning import Reckoning
from tenants import mail
from tenants.history.models import Entry
from tenants.models import Assignment, Delivery, Membership, Participation, Person, holding
from tenants.wall import roles
from tenants.wall.access import Seat

DUTIES = ("account",)


def amounts(found: Reckoning, currency: str) -> dict[str, str]:
    """As entries and sentences name them."""
    budget = "–" if found.budget is None else f"{found.budget:,.2f}"
    return {"spent": f"{found.spent:,.2f}", "budget": budget, "bound": f"{found.bound:,.2f}", "currency": currency}


def recipients(place: Participation) -> list[Person]:
    """The business leads of the participant, and who of the account team looks after it."""
    leads = Membership.objects.filter(holding(), tenant=place.tenant_id, role=roles.BUSINESS_LEAD)
    team = Assignment.objects.filter(holding(), tenant=place.tenant_id, duty__in=DUTIES)
    people: Iterable[Any] = [*leads.select_related("person"), *team.select_related("person")]
    return sorted({one.person for one in people}, key=lambda person: person.pk)


def tell(place: Participation, entry: Entry) -> None:
    """Wish for one mail for each; again for the same entry wishes for none."""
    for person in recipients(place):
        mail.tell(person=person, tenant=place.tenant_id, kind=BUDGET, about=place.pk, key=str(entry.pk))


def _compose(row: Delivery, place: Seat) -> mail.Message | None:
    entry = Entry.objects.filter(pk=int(row.key)).first()
    if entry is None:
        return None
    here = Participation.objects.select_related("tenant", "cycle__programme").get(pk=row.about)
    terms = queries.terms(here.cycle.programme, queries.watch(here))
    context = {
        "percent": entry.facts.get("percent"),
        "stopping": entry.kind.endswith("stopping"),
        "stops": terms.rule == "stop",
        "notice": here.cycle.programme.budget_notice_hours,
        "facts": entry.facts,
        "place": here,
        "address": mail.address("budget", here.tenant.slug),
    }
    return mail.Message("clusters/mail/budget.txt", context)


BUDGET = mail.kind(
    "budget",
    name=_("Budget"),
    label=_("A budget is nearly spent, or used up"),
    help=_("At the percentages that the programme chose, when nothing new may begin, and when jobs are stopped."),
    compose=_compose,
)
