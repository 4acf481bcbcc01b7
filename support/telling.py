"""Mail about cases: one was given to you, one was escalated to your service team."""

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from support import queries, states
from support.escalation import engineers_of
from support.models import Case
from support.writing import person_of
from tenants import mail
from tenants.history.models import Entry
from tenants.models import Delivery, Person
from tenants.queries import actor_names
from tenants.rosters import on_duty
from tenants.wall.access import Seat
from tenants.wall.acting import acting_for
from tenants.web.templatetags.show import SEVERITIES
from tenants.work import due
from tenants.work.loop import handler


def _visible(row: Delivery, seat: Seat) -> Case | None:
    """The case, when it is still open and its recipient sees it."""
    rows = queries.cases(role=seat.role, person=row.person).select_related("tenant", "owner")
    return rows.filter(pk=row.about, state__in=states.OPEN).first()


def _given(row: Delivery, seat: Seat) -> mail.Message | None:
    case = _visible(row, seat)
    # Given on meanwhile: somebody else was told.
    return _about(row, case, "support/mail/case_given.txt") if case and case.owner_id == row.person_id else None


def _escalated(row: Delivery, seat: Seat) -> mail.Message | None:
    case = _visible(row, seat)
    return _about(row, case, "support/mail/case_escalated.txt") if case else None


def _about(row: Delivery, case: Case, template: str) -> mail.Message:
    entry = Entry.objects.filter(pk=int(row.key)).first()
    by = actor_names([entry.actor])[entry.actor] if entry else ""
    return mail.Message(
        template,
        {
            "case": case,
            "severity": SEVERITIES[case.severity],
            "by": by,
            "why": entry.facts.get("why", "") if entry else "",
            "address": mail.address("case", case.tenant.slug, case.pk),
        },
    )


GIVEN = mail.kind(
    "case-given",
    name=_("Case given"),
    label=_("A case is given to you"),
    help=_("When somebody else makes you the owner of a case."),
    compose=_given,
)
ESCALATED = mail.kind(
    "case-escalated",
    name=_("Case escalated"),
    label=_("A case is escalated to your team"),
    help=_("When a case is escalated to the service team that you belong to."),
    compose=_escalated,
)


def recipients(kind: str, facts: dict[str, object], actor: Person | None, case: Case) -> list[tuple[Person, str]]:
    """Whom an entry about a case concerns, and with which mail; nobody is told what they did themselves."""
    if kind == states.CASE_ESCALATED:
        return [(person, ESCALATED) for person in told_of(str(facts.get("component", "")), actor)]
    new_owner = kind == states.CASE_GIVEN or facts.get("given")
    owner = Person.objects.filter(pk=facts.get("owner")).first() if new_owner else None
    return [(owner, GIVEN)] if owner and owner != actor else []


def told_of(component: str, actor: Person | None) -> list[Person]:
    """Whoever is on duty for a component; everybody who answers for it when nobody is, or only whoever did it."""
    team = [person for person in engineers_of(component) if person != actor]
    on = {row.person_id for row in on_duty(timezone.now(), component)} if component else set()
    return [person for person in team if person.pk in on] or team


@handler("case-mail", queue="deliver")
def tell(held: due.Held) -> None:
    """Wish for the mails that one entry asks for, in the transaction that removes the wish for this."""
    with acting_for(held.tenant_id, staff=True):
        entry = Entry.objects.filter(pk=held.ref).first()
        case = Case.objects.filter(pk=entry.subject_id).first() if entry else None
        if entry and case:
            for person, kind in recipients(entry.kind, entry.facts, person_of(entry.actor), case):
                mail.tell(person=person, tenant=case.tenant_id, kind=kind, about=case.pk, key=str(entry.pk))
        due.remove(held)
