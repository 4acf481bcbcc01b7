"""The first steps of a newcomer: what is wanted of a participant before it trains, in order, ticked off by the facts themselves."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy

from clusters.models import CloudAccount, LedgerRow, QuotaGrant
from tenants.models import (
    Contact,
    DataIngest,
    FrameworkUse,
    Invitation,
    Membership,
    Milestone,
    Participation,
    SoftwareVersion,
    TrainingModel,
    holding,
)
from tenants.wall import roles

# (its name, what is to be done, the route that does it, who may)
STEPS: tuple[tuple[str, Any, str, frozenset[str]], ...] = (
    ("contacts", gettext_lazy("Say whom to call for each duty"), "people", roles.KEEP_CONTACTS),
    ("colleague", gettext_lazy("Invite a colleague"), "invite", roles.MANAGE_PEOPLE),
    ("model", gettext_lazy("Record the model to be trained"), "add_model", roles.EDIT_RECORD),
    ("data", gettext_lazy("Record the data that it is trained on"), "add_ingest", roles.EDIT_RECORD),
    ("framework", gettext_lazy("Record the framework"), "add_framework", roles.EDIT_RECORD),
    ("software", gettext_lazy("Record the versions of the software"), "add_software", roles.EDIT_RECORD),
    ("milestone", gettext_lazy("Set a first milestone"), "add_milestone", roles.EDIT_RECORD),
    ("account", gettext_lazy("Connect the cloud account"), "add_account", roles.CONNECT),
    ("capacity", gettext_lazy("Have capacity granted"), "tenant_capacity", roles.READ),
)


@dataclass(frozen=True)
class Step:
    """One step; `address` is empty where the reader may not do it."""

    title: Any
    done: bool
    address: str


@dataclass(frozen=True)
class Steps:
    """The first steps of one participant."""

    tenant: str
    name: str
    steps: tuple[Step, ...]

    @property
    def done(self) -> int:
        return sum(step.done for step in self.steps)


def steps(facts: dict[str, bool], *, tenant: str, role: str) -> tuple[Step, ...]:
    """Every step in its order, with its address for whoever may do it."""
    return tuple(
        Step(title, facts[name], reverse(route, args=[tenant]) if role in may else "")
        for name, title, route, may in STEPS
    )


def left(role: str) -> list[Steps]:
    """Of each participant of the scope that has some left; one query."""
    rows = _facts().order_by("tenant__name", "created_at").values("tenant__slug", "tenant__name", "duties", *FACTS)
    found: dict[str, Steps] = {}
    for row in rows:
        facts = {name: bool(row[f"has_{name}"]) for name, *_rest in STEPS if name != "contacts"}
        facts["contacts"] = (row["duties"] or 0) >= len(Contact.Duty.values)
        slug = row["tenant__slug"]
        if not all(facts.values()):
            found.setdefault(slug, Steps(slug, row["tenant__name"], steps(facts, tenant=slug, role=role)))
    return list(found.values())


FACTS = tuple(f"has_{name}" for name, *_rest in STEPS if name != "contacts")


def _facts() -> QuerySet[Participation]:
    here = {"tenant": OuterRef("tenant")}
    seats = Membership.objects.filter(holding(), **here).order_by().values("tenant").annotate(n=Count("person"))
    duties = Contact.objects.filter(**here).order_by().values("tenant").annotate(n=Count("duty", distinct=True))
    granted = LedgerRow.objects.filter(participation=OuterRef("pk"), ledger=LedgerRow.Ledger.GRANT, delta__gt=0)
    unlimited = QuotaGrant.objects.filter(participation=OuterRef("pk"), unlimited=True)
    return Participation.objects.exclude(state__in=("closed", "withdrawn")).annotate(
        duties=duties.values("n"),
        has_colleague=Exists(seats.filter(n__gt=1)) | Exists(Invitation.objects.filter(state="open", **here)),
        has_model=Exists(TrainingModel.objects.filter(**here)),
        has_data=Exists(DataIngest.objects.filter(**here)),
        has_framework=Exists(FrameworkUse.objects.filter(**here)),
        has_software=Exists(SoftwareVersion.objects.filter(**here)),
        has_milestone=Exists(Milestone.objects.filter(**here)),
        has_account=Exists(CloudAccount.objects.filter(Q(access="yes"), **here)),
        has_capacity=Exists(granted) | Exists(unlimited),
    )
