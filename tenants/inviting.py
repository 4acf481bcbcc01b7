"""Invitations: an address is written to, and whoever reads its mail takes the role that waits there.

The link holds 256 bits that are made anew from the server's key, the invitation's id and how often it was sent: so the
mail can be made at the last moment, a second mail kills the first one's link, and the database keeps a digest alone.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants import entries, mail
from tenants.actions import NEWCOMER, because
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Delivery, Invitation, Membership, Person, Programme, Tenant
from tenants.programme_day import programme_today, programme_zone
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.web.templatetags.show import ROLES
from tenants.work import due

LINK = re.compile(r"[A-Za-z0-9_-]{43}")
# What other layers know of the name of whoever is invited; empty: nothing.
NAMES: list[Callable[[Invitation], str]] = []
UNKNOWN, OPEN, EXPIRED = "unknown", "open", "expired"
Days = tuple[date, date | None]


def link_token(invitation: Invitation) -> str:
    """The secret part of the link of the newest mail: 43 letters for 256 bits."""
    value = f"{invitation.pk}:{invitation.issue}"
    made = salted_hmac("cohort.invitation", value, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(made).decode().rstrip("=")


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def by_link(token: str) -> Invitation | None:
    """The invitation of a link, whoever's it is; None for a link that is none of ours or is no longer the newest."""
    if not LINK.fullmatch(token):
        return None
    with reading_everyone():
        return Invitation.objects.select_related("tenant").filter(digest=digest_of(token)).first()


def standing(state: str | None, expires_at: datetime | None, now: datetime) -> str:
    """What a link is worth: open, accepted, withdrawn, expired, or unknown."""
    if state is None or expires_at is None:
        return UNKNOWN
    return EXPIRED if state == OPEN and expires_at <= now else state


def overlap(one: Days, other: Days) -> bool:
    """Whether two spans share a day; an open end lasts for ever."""
    (begins, ends), (others_begin, others_end) = one, other
    return (ends is None or others_begin <= ends) and (others_end is None or begins <= others_end)


def refuse_unfit_days(starts_on: date, ends_on: date | None, today: date) -> None:
    """A seat begins today or later, and ends on its first day at the earliest."""
    if starts_on < today:
        sentence = _("'starts_on' is %(asked)s; access begins today (%(today)s) or later.")
        sentence %= {"asked": starts_on.isoformat(), "today": today.isoformat()}
        raise Refused("starts_on", sentence, status=422, fields={"starts_on": [sentence]})
    if ends_on is not None and ends_on < starts_on:
        sentence = _("'ends_on' is %(asked)s, before the first day, %(first)s. Choose a later day, or leave it open.")
        sentence %= {"asked": ends_on.isoformat(), "first": starts_on.isoformat()}
        raise Refused("ends_on", sentence, status=422, fields={"ends_on": [sentence]})


def refuse_a_role_not_theirs_to_give(role: str, giver: str, tenant: Tenant) -> None:
    """`giver` is the role of whoever gives; what may be given depends on the place too."""
    allowed = roles.may_give(giver, at_office=tenant.is_office)
    if not allowed:
        raise Refused("not_yours_to_give", _("The programme manager alone appoints staff."), status=403)
    if role not in allowed:
        sentence = _("'role' is '%(role)s'; here you may give: %(roles)s.")
        sentence %= {"role": role[:40], "roles": ", ".join(allowed)}
        raise Refused("role", sentence, status=422, fields={"role": [sentence]}, allowed=list(allowed))


def refuse_a_second_seat(person: Person | None, tenant: Tenant, days: Days, but: Iterable[int] = ()) -> None:
    """One person has one role at a tenant on any day."""
    if person is None:
        return
    for seat in Membership.objects.filter(person=person, tenant=tenant, ended_at=None).exclude(pk__in=list(but)):
        if overlap((seat.starts_on, seat.ends_on), days):
            sentence = _("%(name)s already has the role '%(role)s' here in that time. Change it instead.")
            sentence %= {"name": person, "role": ROLES.get(seat.role, seat.role)}
            raise Refused("already_seated", sentence, role=seat.role)


def cleaned_address(email: str) -> str:
    """An address in small letters. Raises Refused (422) for what is none."""
    found = email.strip().lower()
    try:
        validate_email(found)
    except ValidationError:
        found = ""
    if not found or len(found) > 254 or not found.isprintable():
        sentence = _("'email' is no e-mail address. Write it like name@example.org.")
        raise Refused("email", sentence, status=422, fields={"email": [sentence]})
    return found


def invite(
    *,
    tenant: Tenant,
    email: str,
    role: str,
    by: str,
    giver: str,
    starts_on: date | None = None,
    ends_on: date | None = None,
    language: str = "en",
    team: str = "",
    why: str = "",
) -> Invitation:
    """Invite an address to a tenant, by mail. Raises Refused when a seat or an open invitation is there already."""
    email, now = cleaned_address(email), timezone.now().astimezone(programme_zone())
    first = starts_on or now.date()
    refuse_a_role_not_theirs_to_give(role, giver, tenant)
    refuse_unfit_days(first, ends_on, now.date())
    refuse_a_second_seat(Person.objects.filter(email__iexact=email).first(), tenant, (first, ends_on))
    _refuse_a_second_invitation(email, now)
    made = Invitation(
        tenant=tenant, email=email, role=role, team=team, starts_on=first, ends_on=ends_on, language=language,
        expires_at=now + link_lives(), invited_by=by,
    )  # fmt: skip
    made.digest = digest_of(link_token(made))
    made.save(force_insert=True)
    timeline.record(entries.INVITED, about=made, by=by, role=role, until=made.expires_at.isoformat(), **because(why))
    _write(made)
    return made


def link_lives() -> timedelta:
    """How long a link opens: a setting of the programme, 7 days unless changed."""
    days = Programme.objects.order_by("pk").values_list("invitation_days", flat=True).first()
    return timedelta(days=days or 7)


def _refuse_a_second_invitation(email: str, now: datetime) -> None:
    """One open invitation for each address and tenant; one whose time is over makes room."""
    there = Invitation.objects.select_for_update(of=("self",)).filter(email=email, state=OPEN).first()
    if there is None:
        return
    if there.expires_at <= now:
        move(there, EXPIRED, by="engine", role=there.role)
        return
    sentence = _("%(email)s is invited already, until %(until)s. Send that invitation again, or withdraw it.")
    sentence %= {"email": email, "until": there.expires_at.date().isoformat()}
    raise Refused("invited_already", sentence, invitation=str(there.pk), until=there.expires_at.isoformat())


def resend(*, invitation: Invitation, by: str, giver: str, language: str = "") -> Invitation:
    """Write to the address again; the link before is dead from now on, and the new one lives its full time."""
    row = _held(invitation)
    refuse_a_role_not_theirs_to_give(row.role, giver, row.tenant)
    row.issue, row.language = row.issue + 1, language or row.language
    row.digest, row.expires_at = digest_of(link_token(row)), timezone.now() + link_lives()
    row.save(update_fields=["issue", "language", "digest", "expires_at"])
    timeline.record(entries.INVITED_AGAIN, about=row, by=by, role=row.role, until=row.expires_at.isoformat())
    _write(row)
    return row


def withdraw(*, invitation: Invitation, by: str, why: str = "") -> None:
    """Make its link worthless."""
    row = _held(invitation)
    move(row, "withdrawn", by=by, role=row.role, **({"why": why} if why else {}))


def _held(invitation: Invitation) -> Invitation:
    row = Invitation.objects.select_for_update(of=("self",)).select_related("tenant").get(pk=invitation.pk)
    if row.state != OPEN:
        raise Refused(
            "invitation_over", _("This invitation is no longer open: it was accepted, withdrawn or replaced.")
        )
    return row


def accept(*, token: str, person: Person | None, new: dict[str, Any] | None = None) -> Membership:
    """Take the role that waits behind a link, as `person` or as somebody new (name, language, timezone, password).

    Raises Refused with the standing of the link as its code, and when the address is not that person's.
    """
    found = by_link(token)
    if found is None:
        raise _worth_nothing(UNKNOWN)
    with acting_for(found.tenant_id):
        rows = Invitation.objects.select_for_update(of=("self",)).select_related("tenant")
        row = rows.filter(pk=found.pk, digest=found.digest).first()
        worth = standing(row.state, row.expires_at, timezone.now()) if row else UNKNOWN
        if row is None or worth != OPEN:
            raise _worth_nothing(worth)
        who = person or Person.objects.create_user(row.email, **(new or {}))
        refuse_somebody_else(row, who)
        return _seat(row, who)


def _worth_nothing(standing: str) -> Refused:
    return Refused(standing, _("This link does not open anything any more."), status=410)


def refuse_somebody_else(invitation: Invitation, person: Person) -> None:
    if person.email.lower() != invitation.email:
        raise Refused("another_address", _("This invitation was sent to another address than yours."), status=403)
    if not person.is_active:
        raise Refused("closed_account", _("Your account is closed. Write to the programme office."), status=403)


def _seat(row: Invitation, person: Person) -> Membership:
    Person.objects.select_for_update().get(pk=person.pk)  # two invitations of one person are taken one after the other
    first = max(row.starts_on, programme_today())
    if row.ends_on is not None and row.ends_on < first:
        raise Refused(EXPIRED, _("The time for which you were invited is over."), status=410)
    refuse_a_second_seat(person, row.tenant, (first, row.ends_on))
    seat = Membership.objects.create(
        person=person, tenant=row.tenant, role=row.role, team=row.team, starts_on=first, ends_on=row.ends_on
    )
    if row.role == roles.SERVICE_ENGINEER and row.team:
        due.wish(NEWCOMER, seat.pk, tenant=row.tenant)
    move(row, "accepted", by=person.actor, columns={"person": person}, role=row.role)
    timeline.record(entries.JOINED, about=row.tenant, by=person.actor, person=str(person.pk), role=row.role)
    return seat


def _write(row: Invitation) -> None:
    mail.write_to(address=row.email, tenant=row.tenant_id, kind=INVITATION, key=f"{row.pk}:{row.issue}", about=row.pk)


def _compose(delivery: Delivery) -> tuple[mail.Message, str] | None:
    row = Invitation.objects.select_related("tenant").filter(pk=delivery.about, state=OPEN).first()
    # A newer mail is on its way, or the time is over: this one would bring a dead link.
    if row is None or delivery.key != f"{row.pk}:{row.issue}" or row.expires_at <= timezone.now():
        return None
    context = {
        "invitation": row,
        "by": actor_names([row.invited_by])[row.invited_by],
        "role": ROLES[row.role],
        "address": mail.address("invitation", link_token(row)),
    }
    return mail.Message("tenants/mail/invitation.txt", context), row.language


INVITATION = mail.letter("invitation", name=gettext_lazy("Invitation"), compose=_compose)


def give_up_the_expired() -> int:
    """Say of those whose time is over that they expired, within the scope."""
    rows = list(Invitation.objects.filter(state=OPEN, expires_at__lte=timezone.now())[:500])
    for row in rows:
        move(row, EXPIRED, by="engine", role=row.role)
    return len(rows)
