"""Applications: begun by mail or by a participant, saved as a draft, handed in, changed until the call closes, withdrawn.

Whoever is no participant yet is known by the link of a mail, made anew from the server's key like that of an invitation.
"""

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Length, Now
from django.utils import timezone, translation
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from program.calls import calling, editions, need, words
from program.models import Application, ApplicationVersion, Call
from program.sessions import office
from support.writing import text_of
from tenants import erasing, inviting, mail
from tenants.actions import plain, stale
from tenants.history import timeline
from tenants.history.moves import move
from tenants.inviting import LINK, cleaned_address, digest_of
from tenants.models import Delivery, Invitation, Person, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused

ANSWERS = (
    "organisation", "organisation_kind", "sector", "staff_size", "contact_name", "project", "summary", "intended", "need",
    "procure", "procure_how", "provider", "openness", "licence",
)  # fmt: skip
# Without these it is not handed in.
NEEDED = ("organisation", "contact_name", "project", "summary", "intended", "need", "procure", "openness")
LIVING = ("draft", "submitted", "waitlisted")
MOST_MAILS = 5  # of one application in a day: a stranger with a program fills nobody's mailbox
MOST_BEGUN = 60  # of one call in an hour, by mail


def link_token(row: Application) -> str:
    """The secret part of the link of the newest mail: 43 letters for 256 bits."""
    made = salted_hmac("cohort.application", f"{row.pk}:{row.issue}", algorithm="sha256").digest()
    return base64.urlsafe_b64encode(made).decode().rstrip("=")


def by_link(token: str) -> Application | None:
    """The application of a link; None for a link that is none of ours or is no longer the newest."""
    if not LINK.fullmatch(token):
        return None
    with reading_everyone():
        return Application.objects.select_related("call__cycle").filter(digest=digest_of(token)).first()


def open_calls() -> list[Call]:
    """What anybody may apply to now, the one that closes first at the top."""
    with reading_everyone():
        rows = Call.objects.filter(state="open", opens_at__lte=Now(), closes_at__gt=Now())
        return list(rows.select_related("cycle__programme").order_by("closes_at", "id"))


def begin_by_mail(*, call: Call, email: str, organisation: str, language: str = "en") -> None:
    """Write to an address the link of an application to this call. What comes back says nothing of what is there already."""
    email = cleaned_address(email)
    organisation = text_of(organisation, _("the organisation"), 120, "organisation")
    place = office()
    with acting_for(place, staff=True):
        held = Call.objects.select_for_update(of=("self",)).get(pk=call.pk)
        calling.refuse_unless_it_takes(held, timezone.now())
        rows = Application.objects.filter(call=held, contact_email=email).exclude(digest="").exclude(state="withdrawn")
        known = rows.first()
        if known is not None:
            _send_again(known)
            return
        lately = Application.objects.filter(call=held, created_at__gt=Now() - timedelta(hours=1)).exclude(digest="")
        if lately.count() >= MOST_BEGUN:
            raise Refused("too_many", _("Many people apply at this moment. Try again in an hour."), status=429)
        row = Application(
            tenant=place, call=held, number=_number(held), organisation=organisation, contact_email=email,
            language=language,
        )  # fmt: skip
        row.digest = digest_of(link_token(row))
        row.save(force_insert=True)
        timeline.record(words.BEGUN, about=row, by="engine", number=row.number)
        _write(row)


def _send_again(row: Application) -> None:
    """The link before is dead from now on. Beyond so many a day nothing is sent, and nothing is said of that."""
    sent = Delivery.objects.filter(kind=LINK_MAIL, about=row.pk, created_at__gt=Now() - timedelta(days=1)).count()
    if sent >= MOST_MAILS or row.issue >= 30_000:
        return
    row.issue += 1
    row.digest = digest_of(link_token(row))
    row.save(update_fields=["issue", "digest"])
    timeline.record(words.LINK_SENT, about=row, by="engine", number=row.number)
    _write(row)


def _write(row: Application) -> None:
    key = f"{row.pk}:{row.issue}"
    mail.write_to(address=row.contact_email, tenant=row.tenant_id, kind=LINK_MAIL, key=key, about=row.pk)


def _number(call: Call) -> str:
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"application {call.pk}"])
    with reading_everyone():
        known = Application.objects.filter(call=call, number__regex=r"^AP-[0-9]+$")
        last = known.order_by(Length("number").desc(), "-number").values_list("number", flat=True).first()
    return f"AP-{int((last or 'AP-0').partition('-')[2]) + 1:03d}"


def begin(*, call: Call, tenant: Tenant, person: Person, by: str) -> Application:
    """A participant, or one of earlier cycles, applies: what it wrote last time is where it begins."""
    calling.refuse_unless_it_takes(call, timezone.now())
    if tenant.is_office:
        raise Refused("office", _("The office does not apply to its own call."), status=422)
    with acting_for(tenant, staff=True):
        Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)  # two leads who begin at once begin one
        known = Application.objects.filter(call=call, digest="").exclude(state="withdrawn").first()
        if known is not None:
            return known
        last = Application.objects.exclude(call=call).order_by("-created_at").first()
        kept = ("organisation_kind", "sector", "staff_size", "procure", "provider", "openness", "licence")
        row = Application.objects.create(
            tenant=tenant, call=call, number=_number(call), organisation=tenant.name, contact_name=person.name,
            contact_email=person.email.lower(), language=person.language, confirmed_at=Now(),
            **({name: getattr(last, name) for name in kept} if last else {}),
        )  # fmt: skip
        timeline.record(words.BEGUN, about=row, by=by, number=row.number)
    row.call = call
    return fresh(row)


def confirm(row: Application) -> None:
    """Whoever opened the link reads that address's mail."""
    if row.confirmed_at is None:
        with acting_for(row.tenant_id):
            Application.objects.filter(pk=row.pk, confirmed_at=None).update(confirmed_at=Now())


def answers(row: Application) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ANSWERS}


def save(
    *, application: Application, by: str, version: int | None = None, hands_in: bool = False, **values: Any
) -> Application:
    """Keep the answers; `hands_in` hands them in. Of what is handed in every change is an edition of its own.

    `need` is a list as Span.kept() gives it. Raises Refused (422) with `fields`: which answer lacks what; Stale.
    """
    row = hold(application, version, {name: value for name, value in values.items() if name in ANSWERS})
    with acting_for(row.tenant_id):
        calling.refuse_unless_it_takes(row.call, timezone.now())
        if row.state not in ("draft", "submitted"):
            raise Refused("decided", _("%(number)s can no longer be changed.") % {"number": row.number})
        found = answers(row) | {name: value for name, value in values.items() if name in ANSWERS}
        handed_in = hands_in or row.state == "submitted"
        fields = unfit(found, row.call, whole=handed_in)
        if fields:
            first = next(iter(fields.values()))[0]
            raise Refused("invalid", first, status=422, fields=fields)
        changed = sorted(name for name in ANSWERS if getattr(row, name) != found[name])
        if changed:
            columns = {name: found[name] for name in changed}
            Application.objects.filter(pk=row.pk).update(version=F("version") + 1, **columns)
            row.refresh_from_db()
        if handed_in and (changed or row.state == "draft"):
            _edition(row, by, changed)
    return fresh(row)


def _edition(row: Application, by: str, changed: list[str]) -> None:
    number = row.edition + 1
    if row.state == "draft":
        move(row, "submitted", by=by, columns={"edition": number, "submitted_at": Now()}, number=row.number)
    else:
        Application.objects.filter(pk=row.pk).update(edition=number, submitted_at=Now())
        timeline.record(words.SAVED, about=row, by=by, number=row.number, edition=number, fields=changed)
    place = office()
    with acting_for(place, staff=True):
        ApplicationVersion.objects.create(
            tenant=place, application_id=row.pk, number=number, answers=answers(row), by=by
        )
    key = f"{row.pk}:{number}"  # each edition is receipted: whoever changed something has it in hand that it arrived
    mail.write_to(address=row.contact_email, tenant=row.tenant_id, kind=RECEIPT_MAIL, key=key, about=row.pk)


def hold(application: Application, version: int | None, told: Mapping[str, Any] | None = None) -> Application:
    """The row, locked, with its call. Raises Stale, with what was `told` beside what is there."""
    with acting_for(application.tenant_id):
        row = Application.objects.select_for_update(of=("self",)).get(pk=application.pk)
    with acting_for(office(), staff=True):
        row.call = Call.objects.select_related("cycle__programme").get(pk=row.call_id)
    if version is not None and row.version != version:
        raise stale(row, told or {}, _in_words)
    return row


def _in_words(value: Any) -> Any:
    """A time profile as lines, everything else as the history keeps it."""
    if isinstance(value, list):
        return "; ".join(need.in_words(span) for span in need.read(value))
    return plain(value)


def fresh(row: Application) -> Application:
    with acting_for(row.tenant_id):
        found = Application.objects.get(pk=row.pk)
        found.call = row.call
        return found


def unfit(found: Mapping[str, Any], call: Call, *, whole: bool) -> dict[str, list[str]]:
    """Field -> sentences. A draft may lack what an application handed in must have."""
    fields: dict[str, list[str]] = {}
    if whole:
        for name in NEEDED:
            if not found[name]:
                label = _("time profile") if name == "need" else Application._meta.get_field(name).verbose_name
                fields[name] = [_("'%(field)s' is empty; it is needed to hand the application in.") % {"field": label}]
    if not str(found["organisation"]).strip():
        fields.setdefault("organisation", [_("Say which organisation applies.")])
    problems = need.problems(
        need.read(found["need"]), known_types=calling.known_types(), known_regions=calling.known_regions(),
        most_instances=call.most_instances, most_hours=call.most_hours, each=calling.each, last=call.cycle.ends_on,
    )  # fmt: skip
    for index, field, sentence in problems:
        where = "need" if index is None else f"need[{index}].{field}"
        fields.setdefault(where, []).append(sentence)
    return fields


def withdraw(*, application: Application, why: str, by: str, version: int | None = None) -> Application:
    """It is not to be decided any more; another one may be begun as long as the call is open."""
    row = hold(application, version)
    with acting_for(row.tenant_id):
        move(row, "withdrawn", by=by, columns={"why": why.strip()[:1000]}, number=row.number, why=why.strip() or "–")
    return fresh(row)


def forget_address(email: str, instead: str) -> None:
    """The contact of applications is nobody any more: address and name go, of every edition too; the link dies with them."""
    with reading_everyone():
        rows = list(Application.objects.filter(contact_email__iexact=email).values_list("pk", "tenant_id"))
    for pk, tenant in rows:
        with acting_for(tenant, staff=True):
            forgotten = f"{pk}.{instead}"[-254:]
            Application.objects.filter(pk=pk).update(contact_email=forgotten, contact_name="", version=F("version") + 1)
            Application.objects.filter(pk=pk).exclude(digest="").update(digest=digest_of(f"{pk} forgotten"))
    place = office()
    with acting_for(place, staff=True):
        for edition in ApplicationVersion.objects.filter(application__in=[pk for pk, _tenant in rows]):
            edition.answers["contact_name"] = ""
            edition.save(update_fields=["answers"])


erasing.FORGETTERS.append(forget_address)


def name_of(invitation: Invitation) -> str:
    """How whoever is invited called themselves when their organisation applied; empty where they did not."""
    with acting_for(invitation.tenant_id):
        rows = Application.objects.filter(contact_email=invitation.email).order_by("-created_at")
        return rows.values_list("contact_name", flat=True).first() or ""


inviting.NAMES.append(name_of)


def address_of(row: Application) -> str:
    """Where its applicant reads it."""
    if row.digest:
        return mail.address("application_link", link_token(row))
    return mail.address("application", row.tenant.slug, row.pk)


def _found(about: UUID) -> Application | None:
    return Application.objects.select_related("tenant").filter(pk=about).first()


def _titled(row: Application) -> Call:
    with reading_everyone():
        return Call.objects.select_related("cycle__programme").get(pk=row.call_id)


def _compose(delivery: Delivery) -> tuple[mail.Message, str] | None:
    row = _found(delivery.about)
    if row is None or delivery.key != f"{row.pk}:{row.issue}" or row.state == "withdrawn":
        return None
    context = {"row": row, "call": _titled(row), "address": address_of(row)}
    return mail.Message("program/mail/application.txt", context), row.language


LINK_MAIL = mail.letter("application", name=gettext_lazy("Link of an application"), compose=_compose)


def _compose_receipt(delivery: Delivery) -> tuple[mail.Message, str] | None:
    row = _found(delivery.about)
    if row is None or row.state != "submitted":
        return None
    with acting_for(office(), staff=True), translation.override(row.language):
        newest = next(iter(editions.of(row)), None)
    changed = [one["label"] for one in newest["changed"]] if newest else []
    context = {"row": row, "call": _titled(row), "address": address_of(row), "changed": changed}
    return mail.Message("program/mail/application_received.txt", context), row.language


RECEIPT_MAIL = mail.letter(
    "application-received", name=gettext_lazy("Receipt of an application"), compose=_compose_receipt
)


def _tell_of_the_closing(call: Call) -> None:
    """Whoever could still change or hand in something hears that it is over, or ends at another moment than announced."""
    with reading_everyone():
        rows = Application.objects.filter(call=call, state__in=("draft", "submitted")).exclude(confirmed_at=None)
        found = list(rows.values_list("pk", "tenant_id", "contact_email"))
    for pk, tenant, email in found:
        with acting_for(tenant):
            key = f"{pk}:{call.takes_until:%Y%m%d%H%M%S}"
            mail.write_to(address=email, tenant=tenant, kind=CLOSED_MAIL, key=key, about=pk)


calling.ON_OTHER_CLOSING.append(_tell_of_the_closing)


def _compose_closed(delivery: Delivery) -> tuple[mail.Message, str] | None:
    row = _found(delivery.about)
    if row is None or row.state not in ("draft", "submitted"):
        return None
    call = _titled(row)
    if delivery.key != f"{row.pk}:{call.takes_until:%Y%m%d%H%M%S}":
        return None  # it is another moment again, of which another mail tells
    context = {"row": row, "call": call, "address": address_of(row)}
    return mail.Message("program/mail/application_call_closed.txt", context), row.language


CLOSED_MAIL = mail.letter(
    "call-closed-early", name=gettext_lazy("A call closes at another time"), compose=_compose_closed
)


def _compose_decision(delivery: Delivery) -> tuple[mail.Message, str] | None:
    row = _found(delivery.about)
    if row is None or delivery.key != f"{row.pk}:{row.state}":
        return None
    context = {"row": row, "call": _titled(row), "address": address_of(row)}
    return mail.Message("program/mail/application_decided.txt", context), row.language


DECISION_MAIL = mail.letter(
    "application-decided", name=gettext_lazy("Decision about an application"), compose=_compose_decision
)
