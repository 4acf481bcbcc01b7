"""The first steps of a newcomer: what is wanted of a participant before it trains, in order, ticked off by the facts themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, NullIf
from django.urls import reverse
from django.utils.translation import gettext as _
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


MOST_NAMED = 4
Seat = tuple[str, str]  # (role, what its holder is called)


@dataclass(frozen=True)
class Step:
    """One step; `address` is empty where the reader may not do it. Then `roles` of the participant may, and `people` have one."""

    title: Any
    done: bool
    address: str
    roles: tuple[str, ...] = ()
    people: tuple[Seat, ...] = ()


@dataclass(frozen=True)
class Steps:
    """The first steps of one participant."""

    tenant: str
    name: str
    steps: tuple[Step, ...]

    @property
    def done(self) -> int:
        return sum(step.done for step in self.steps)

    @property
    def next(self) -> Step | None:
        """The first that is left and that the reader may do."""
        return next((step for step in self.steps if step.address and not step.done), None)


def steps(facts: dict[str, bool], *, tenant: str, role: str, seats: Sequence[Seat] = ()) -> tuple[Step, ...]:
    """Every step in its order, with its address for whoever may do it, and for others with who may: `seats` are taken here."""
    return tuple(_step(title, facts[name], reverse(route, args=[tenant]), role, may, seats)
                 for name, title, route, may in STEPS)  # fmt: skip


def _step(title: Any, done: bool, address: str, role: str, may: frozenset[str], seats: Sequence[Seat]) -> Step:
    if done or role in may:
        return Step(title, done, address if role in may else "")
    people = tuple(seat for seat in seats if seat[0] in may)[:MOST_NAMED]
    return Step(title, done, "", tuple(one for one in roles.CUSTOMER_ROLES if one in may), people)


def left(role: str) -> list[Steps]:
    """Of each participant of the scope that has some left; two queries."""
    rows = list(
        _facts().order_by("tenant__name", "created_at").values("tenant__slug", "tenant__name", "duties", *FACTS)
    )
    seats = _seats({row["tenant__slug"] for row in rows})
    found: dict[str, Steps] = {}
    for row in rows:
        facts = {name: bool(row[f"has_{name}"]) for name, *_rest in STEPS if name != "contacts"}
        facts["contacts"] = (row["duties"] or 0) >= len(Contact.Duty.values)
        slug = row["tenant__slug"]
        if not all(facts.values()):
            shown = steps(facts, tenant=slug, role=role, seats=seats.get(slug, ()))
            found.setdefault(slug, Steps(slug, row["tenant__name"], shown))
    return list(found.values())


def _seats(slugs: set[str]) -> dict[str, list[Seat]]:
    """By participant: whoever sits there today, by name, and whoever is invited; one query."""
    named = Coalesce(NullIf("person__name", Value("")), "person__email", output_field=CharField())
    here = Membership.objects.filter(holding(), tenant__slug__in=slugs).annotate(who=named, come=Value(True))
    asked = Invitation.objects.filter(state="open", tenant__slug__in=slugs).annotate(who=F("email"), come=Value(False))
    columns = ("tenant__slug", "role", "who", "come")
    found: dict[str, list[Seat]] = {}
    both = here.order_by().values_list(*columns).union(asked.order_by().values_list(*columns))
    for slug, role, who, come in sorted(both, key=lambda row: (not row[3], row[2])):
        found.setdefault(slug, []).append((role, who if come else _("%(who)s, who is invited") % {"who": who}))
    return found


FACTS = tuple(f"has_{name}" for name, *_rest in STEPS if name != "contacts")


def _facts() -> QuerySet[Participation]:
    here, of = (
        {"tenant": OuterRef("tenant")},
        {"participation": OuterRef("pk")},
    )  # a new cycle begins a record of its own
    seats = Membership.objects.filter(holding(), **here).order_by().values("tenant").annotate(n=Count("person"))
    duties = Contact.objects.filter(**here).order_by().values("tenant").annotate(n=Count("duty", distinct=True))
    granted = LedgerRow.objects.filter(participation=OuterRef("pk"), ledger=LedgerRow.Ledger.GRANT, delta__gt=0)
    unlimited = QuotaGrant.objects.filter(participation=OuterRef("pk"), unlimited=True)
    return Participation.objects.exclude(state__in=("closed", "withdrawn")).annotate(
        duties=duties.values("n"),
        has_colleague=Exists(seats.filter(n__gt=1)) | Exists(Invitation.objects.filter(state="open", **here)),
        has_model=Exists(TrainingModel.objects.filter(**of)),
        has_data=Exists(DataIngest.objects.filter(**of)),
        has_framework=Exists(FrameworkUse.objects.filter(**of)),
        has_software=Exists(SoftwareVersion.objects.filter(**of)),
        has_milestone=Exists(Milestone.objects.filter(**of)),
        has_account=Exists(CloudAccount.objects.filter(Q(access="yes"), **here)),
        has_capacity=Exists(granted) | Exists(unlimited),
    )
