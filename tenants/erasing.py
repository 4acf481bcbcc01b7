"""A person is forgotten: one of the office asks, another one does it; what they did stays, and nothing says who it was.

Their seats end as if they left. Their row keeps its id, so that each entry of the history still has its actor, and
everything else in it is emptied; addresses and names go wherever else the portal kept them.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from tenants import contacts, entries, leaving
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import ApiToken, Contact, Delivery, Erasure, Invitation, JoinRequest, Membership, Person, Tenant
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused

LONGEST_REASON = 300
# Rows that name somebody by an address; each is emptied within its tenant.
ADDRESSED: tuple[Any, ...] = (Invitation, JoinRequest, Contact)
# What other layers do with an address that is forgotten: each is called with it and with what stands there instead.
FORGETTERS: list[Callable[[str, str], None]] = []


def erasures() -> QuerySet[Erasure]:
    """All of them, newest first; they exist only for staff."""
    return Erasure.objects.select_related("person", "asked_by", "decided_by").order_by("-created_at", "-id")


def ask(*, email: str, reason: str, office: Tenant, by: str, person: Person) -> Erasure:
    """Ask that whoever has this address is erased; `person` asks, and another one has to do it.

    Raises Refused (422) for an address that nobody has, (409) when it was asked for already.
    """
    found = Person.objects.filter(email__iexact=email.strip(), erased_at=None).first()
    if found is None:
        sentence = _("Nobody has the address %(email)s. Look it up on the page of the people.") % {"email": email[:254]}
        raise Refused("nobody", sentence, status=422, fields={"email": [sentence]})
    if Erasure.objects.filter(person=found, state="open").exists():
        raise Refused("asked_already", _("That %(name)s is erased was asked for already.") % {"name": found})
    row = Erasure.objects.create(tenant=office, person=found, reason=reason.strip()[:LONGEST_REASON], asked_by=person)
    timeline.record(entries.ERASURE_ASKED, about=row, by=by, person=str(found.pk))
    return row


def two_persons(*, asked_by: UUID, decides: UUID, erased: UUID) -> bool:
    """Whether whoever decides is neither the one who asked nor the one to be erased."""
    return decides not in (asked_by, erased)


def decline(*, erasure: Erasure, why: str, by: str, person: Person) -> None:
    """Say no, and why; whoever asked may do so too, and takes it back."""
    columns = {"decided_by": person, "decided_at": timezone.now()}
    move(erasure, "declined", by=by, columns=columns, person=str(erasure.person_id), why=why.strip()[:LONGEST_REASON])


def erase(*, erasure: Erasure, by: str, person: Person, why: str = "") -> None:
    """Erase. Raises Refused where the same person asked, for oneself, and where an office would lose its last manager."""
    if not two_persons(asked_by=erasure.asked_by_id, decides=person.pk, erased=erasure.person_id):
        raise Refused("two_persons", _("Somebody else has to do it: not whoever asked, and not whoever is erased."))
    now = timezone.now()
    told = {"person": str(erasure.person_id), **({"why": why.strip()} if why.strip() else {})}
    # First, so that of two who do it at once only one does.
    move(erasure, "done", by=by, columns={"decided_by": person, "decided_at": now}, **told)
    leaver = Person.objects.select_for_update().get(pk=erasure.person_id)
    _end_seats(leaver, by, person)
    _forget_addresses(leaver, by)
    _empty(leaver, now)


def _end_seats(leaver: Person, by: str, person: Person) -> None:
    rows = Membership.objects.filter(person=leaver, ended_at=None).filter(
        Q(ends_on=None) | Q(ends_on__gte=programme_today())
    )
    # The office last: while somebody sits there, what they own elsewhere is theirs.
    for seat in rows.select_related("tenant", "person").order_by("tenant__is_office", "pk"):
        with acting_for(seat.tenant, staff=True):
            leaving.remove(seat=seat, by=by, person=person)


def address_of(leaver: Person) -> str:
    """The address that stands wherever theirs stood; no mail can reach it."""
    return f"{leaver.pk}@erased.invalid"


def _forget_addresses(leaver: Person, by: str) -> None:
    theirs, instead = Q(email__iexact=leaver.email), address_of(leaver)
    with reading_everyone():
        places = {pk for model in ADDRESSED for pk in model.objects.filter(theirs).values_list("tenant_id", flat=True)}
        told = Q(address__iexact=leaver.email) | Q(person=leaver)
        places |= set(Delivery.objects.filter(told).values_list("tenant_id", flat=True))
        places |= set(Contact.objects.filter(person=leaver).values_list("tenant_id", flat=True))
        places |= set(Membership.objects.filter(person=leaver).values_list("tenant_id", flat=True))
    for forget in FORGETTERS:
        forget(leaver.email, instead)
    for place in Tenant.objects.filter(pk__in=places).order_by("slug"):
        with acting_for(place, staff=True):
            for contact in Contact.objects.filter(theirs | Q(person=leaver)):
                contacts.remove(contact=contact, by=by)
            contacts.empty_texts(leaver, place)
            for row in Invitation.objects.filter(theirs, state="open"):
                move(row, "withdrawn", by=by, role=row.role, why="left")
            for request in JoinRequest.objects.filter(theirs, state="open"):
                move(request, "declined", by=by)
            Invitation.objects.filter(theirs).update(email=instead)
            JoinRequest.objects.filter(theirs).update(email=instead, name="", message="")
            Delivery.objects.filter(address__iexact=leaver.email).update(address=instead, error="")
            Delivery.objects.filter(person=leaver).update(error="")


def _empty(leaver: Person, now: datetime) -> None:
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        model.objects.filter(username__iexact=leaver.email).delete()
    for model in (EmailAddress, SocialAccount, Authenticator):
        model.objects.filter(user=leaver).delete()
    ApiToken.objects.filter(person=leaver, revoked_at=None).update(revoked_at=now)
    ApiToken.objects.filter(person=leaver).update(name="")
    # The name is a word and a code, and not nothing: where several were erased, one is told from another.
    leaver.name, leaver.email = f"Former member {leaver.code}", address_of(leaver)
    leaver.language, leaver.timezone, leaver.mail_off = "en", "UTC", []
    leaver.is_active, leaver.erased_at, leaver.last_login = False, now, None
    leaver.set_unusable_password()
    leaver.save()
    Person.objects.filter(pk=leaver.pk).update(signed_out=F("signed_out") + 1)
