"""Mail to people: a row is written with what it is about, and a worker makes its text and sends it. Never in a request.

The text is made at the last moment, in the recipient's language and within what their seat shows: a seat that ended or a
case that was settled meanwhile sends nothing, and nobody can be told what their page would not tell them.
"""

import smtplib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F
from django.db.models.functions import Now
from django.http import Http404
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from tenants import entries
from tenants.history import timeline
from tenants.models import Delivery, Person, Tenant
from tenants.programme_settings import programme
from tenants.wall.access import Seat, seat
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due
from tenants.work.loop import handler

log = structlog.get_logger(__name__)

# After each try that failed for now, when the next one is made; after the last, nobody tries any more. Two days in all.
PAUSES = [timedelta(minutes=m) for m in (1, 5, 15, 60, 120, 240, 240, 240, 480, 480, 960)]
KEPT = timedelta(days=90)


@dataclass(frozen=True)
class Message:
    """What a mail says: a template, whose first line is the subject, and what is put into it."""

    template: str
    context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of mail. `compose` makes one within the scope of its recipient's seat; None: there is nothing to say now."""

    name: Any  # for staff, in the list of what was sent
    label: Any  # for whoever gets it
    help: Any
    compose: Callable[[Delivery, Seat], Message | None]


KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Letter:
    """A kind of mail to an address that need not be anybody's account; nobody switches it off.

    `compose` makes one within the scope of the tenant that it comes from, and says in which language; None: nothing.
    """

    name: Any
    compose: Callable[[Delivery], tuple[Message, str] | None]


LETTERS: dict[str, Letter] = {}


def letter(word: str, *, name: Any, compose: Callable[[Delivery], tuple[Message, str] | None]) -> str:
    """Declare a kind of mail to an address."""
    LETTERS[word] = Letter(name, compose)
    return word


def kind(word: str, *, name: Any, label: Any, help: Any, compose: Callable[[Delivery, Seat], Message | None]) -> str:
    """Declare a kind of mail, which a person may switch off."""
    KINDS[word] = Kind(name, label, help, compose)
    return word


def tell(*, person: Person, tenant: Tenant | UUID, kind: str, key: str, about: UUID | None = None) -> bool:
    """Wish for one mail; False when it was wished for before or is not wanted. In the scope of `tenant`."""
    if not person.is_active or kind in person.mail_off:
        return False
    place = getattr(tenant, "pk", tenant)
    what = {"person": person, "channel": Delivery.Channel.MAIL, "kind": kind, "key": key}
    row, new = Delivery.objects.get_or_create(tenant_id=place, **what, defaults={"about": about})
    if new:
        due.wish("deliver", row.pk, tenant=place)
    return new


def write_to(*, address: str, tenant: Tenant | UUID, kind: str, key: str, about: UUID) -> bool:
    """Wish for one letter to an address; False when it was wished for before. In the scope of `tenant`."""
    place = getattr(tenant, "pk", tenant)
    what = {"person": None, "address": address, "channel": Delivery.Channel.MAIL, "kind": kind, "key": key}
    row, new = Delivery.objects.get_or_create(tenant_id=place, **what, defaults={"about": about})
    if new:
        due.wish("deliver", row.pk, tenant=place)
    return new


def again(*, delivery: Delivery, by: str) -> None:
    """Try once more what was given up: an address was mended, a mailbox emptied."""
    row = Delivery.objects.select_for_update(of=("self",)).get(pk=delivery.pk)
    if row.outcome != Delivery.Outcome.FAILED:
        raise Refused("not_failed", _("This message did not fail; there is nothing to try again."))
    Delivery.objects.filter(pk=row.pk).update(outcome="", ended_at=None, tries=0)
    what = f"{row.channel} {row.kind}"
    timeline.record(entries.WORK_AGAIN, about=row, by=by, what=what, why=row.error[:300])
    due.wish("deliver", row.pk, tenant=row.tenant_id)


def pause_after(tries: int) -> timedelta | None:
    """How long to wait after this many tries; None: long enough."""
    return PAUSES[tries - 1] if tries <= len(PAUSES) else None


def is_final(error: Exception) -> bool:
    """Whether the server says that this address, or this message, will never be taken. Our own set-up can be mended."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(500 <= code < 600 for code, _text in error.recipients.values())
    return isinstance(error, smtplib.SMTPDataError) and 500 <= error.smtp_code < 600


@handler("deliver", queue="deliver")
def deliver(held: due.Held) -> None:
    """Send one message. It may be sent twice when a process dies between the server's answer and ours; its id tells."""
    with acting_for(held.tenant_id, staff=True):
        row = Delivery.objects.select_related("person", "tenant").filter(pk=held.ref).first()
        if row is None or row.outcome:
            due.remove(held)
            return
    composed = compose(row)
    if isinstance(composed, str):
        _end(held, row, Delivery.Outcome.SKIPPED, composed)
        return
    try:
        # Outside of any transaction: a slow server would be taken for one that sits idle in it.
        composed.send()
    except (smtplib.SMTPException, OSError) as error:
        _not_now(held, row, error)
    else:
        _end(held, row, Delivery.Outcome.SENT)


def compose(row: Delivery) -> EmailMessage | str:
    """The mail as its recipient may read it, or why there is none to send."""
    person = row.person
    if person is None:
        return _compose_letter(row)
    if not person.is_active or not person.email:
        return "The person has no account any more."
    if row.kind not in KINDS or row.kind in person.mail_off:
        return "The person wants no mail of this kind."
    try:
        place = seat(person, row.tenant.slug)
    except Http404:
        return "The person has no seat there any more."
    with place.scope(), translation.override(person.language), timezone.override(person.timezone):
        message = KINDS[row.kind].compose(row, place)
        if message is None:
            return "There was nothing to say any more."
        return _written(row, message, person.email, person.language)


def _compose_letter(row: Delivery) -> EmailMessage | str:
    with acting_for(row.tenant_id):
        composed = LETTERS[row.kind].compose(row) if row.kind in LETTERS else None
        if composed is None:
            return "There was nothing to say any more."
        message, language = composed
        # Whoever has no account has told no zone: the programme's is the one that its calls and days are in.
        with translation.override(language), timezone.override(programme().timezone):
            return _written(row, message, row.address, language)


def _written(row: Delivery, message: Message, to: str, language: str) -> EmailMessage:
    shown = {"person": row.person, "site": settings.SITE_URL, "preferences": address("preferences"), **message.context}
    subject, _line, body = render_to_string(message.template, shown, using="mail").strip().partition("\n")
    return EmailMessage(
        subject=" ".join(subject.split())[:200],
        body=body.strip() + "\n",
        to=[to],
        headers={
            # The same at every try, so that a mailbox shows a message once.
            "Message-ID": f"<{row.pk}@{settings.INSTALLATION_ID}.cohort>",
            "Auto-Submitted": "auto-generated",
            "Content-Language": language,
        },
    )


def address(name: str, *args: Any) -> str:
    """A page's whole address, for a mail."""
    return f"{settings.SITE_URL.rstrip('/')}{reverse(name, args=args)}"


def _end(held: due.Held, row: Delivery, outcome: str, error: str = "") -> None:
    columns: dict[str, Any] = {"outcome": outcome, "ended_at": Now(), "error": error}
    if outcome != Delivery.Outcome.SKIPPED:
        columns |= {"tries": F("tries") + 1, "last_tried_at": Now()}
    with acting_for(row.tenant_id, staff=True):
        Delivery.objects.select_for_update(of=("self",)).get(pk=row.pk)
        due.remove(held)
        Delivery.objects.filter(pk=row.pk).update(**columns)


def _not_now(held: due.Held, row: Delivery, error: Exception) -> None:
    why = f"{type(error).__name__}: {error}"[:1000]
    pause = None if is_final(error) else pause_after(row.tries + 1)
    log.warning("mail_not_sent", delivery=str(row.pk), kind=row.kind, why=why, final=pause is None)
    if pause is None:
        _end(held, row, Delivery.Outcome.FAILED, why)
        return
    with acting_for(row.tenant_id, staff=True):
        Delivery.objects.select_for_update(of=("self",)).get(pk=row.pk)
        due.finish(held, again_in=pause)
        Delivery.objects.filter(pk=row.pk).update(tries=F("tries") + 1, last_tried_at=Now(), error=why)


def forget_old() -> int:
    """Remove what ended long ago, within the scope."""
    return Delivery.objects.filter(ended_at__lt=Now() - KEPT).delete()[0]
