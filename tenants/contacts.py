"""Contacts by duty: whom to call about what, kept fresh by somebody who says from time to time that it is still right."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from tenants import entries
from tenants.actions import because, refuse_what_breaks_a_rule
from tenants.history import timeline
from tenants.history.models import Entry, Note
from tenants.models import Contact, Membership, Person, Programme, Tenant, holding
from tenants.web.problems import Refused, Stale

FRESH, DUE, STALE = "fresh", "due", "stale"
SOON = timedelta(days=14)
FIELDS = ("duty", "person", "name", "email", "phone", "timezone", "hours")


def freshness(checked_at: datetime, now: datetime, days: int) -> str:
    """Whether something was looked at lately: due in the last fourteen days of its time, stale after it."""
    ends = checked_at + timedelta(days=days)
    return STALE if now >= ends else DUE if now >= ends - SOON else FRESH


def confirm_days() -> int:
    """After how many days contacts and access are looked at again: a setting of the programme, 90 unless changed."""
    return Programme.objects.order_by("pk").values_list("confirm_access_days", flat=True).first() or 90


def add(*, tenant: Tenant, by: str, why: str = "", **told: Any) -> Contact:
    """Write down who answers for a duty. Raises Refused (422) for what breaks a rule."""
    row = Contact(tenant=tenant, checked_by=by, **told)
    _refuse_unfit(row)
    row.save(force_insert=True)
    timeline.record(entries.CONTACT_ADDED, about=row, by=by, contact_duty=row.duty, **because(why))
    return row


def add_for_all(*, tenant: Tenant, by: str, duties: list[str], why: str = "", **told: Any) -> list[Contact]:
    """The same contact for several duties, each once, all or none."""
    return [add(tenant=tenant, by=by, why=why, **told | {"duty": duty}) for duty in dict.fromkeys(duties)]


def edit(*, contact: Contact, by: str, version: int, why: str = "", **told: Any) -> Contact:
    """Change a contact; that is also to say that it is right.

    The history's entry names the fields and keeps no address; old and new stand in a text beside it, which can be emptied
    when somebody is erased.
    """
    row = _held(contact, version, told)
    changed = sorted(field for field, new in told.items() if getattr(row, field) != new)
    before = {field: _shown(getattr(row, field)) for field in changed}
    for field in changed:
        setattr(row, field, told[field])
    if not changed:
        return row
    _refuse_unfit(row)
    row.version, row.checked_at, row.checked_by = row.version + 1, timezone.now(), by
    row.save()
    text = "\n".join(f"{field}: {before[field]} → {_shown(getattr(row, field))}" for field in changed)
    note = Note.objects.create(tenant_id=row.tenant_id, medium="other", text=text, audience="shared", author=by)
    told_of = {"contact_duty": row.duty, "fields": changed, "note": str(note.pk), **because(why)}
    timeline.record(entries.CONTACT_CHANGED, about=row, by=by, **told_of)
    return row


def _shown(value: Any) -> str:
    return str(value) if value not in (None, "") else "–"


def empty_texts(person: Person, tenant: Tenant) -> int:
    """Empty what changes of contacts told of a person, by name or address, within the scope of the tenant."""
    rows = Entry.objects.filter(kind=entries.CONTACT_CHANGED, tenant=tenant)
    notes = [note for note in rows.values_list("facts__note", flat=True) if note]
    theirs = Q(text__icontains=person.email)
    if person.name:
        theirs |= Q(text__icontains=person.name)
    return Note.objects.filter(theirs, pk__in=notes).update(text="")


def confirm(*, contact: Contact, by: str) -> Contact:
    """Say that it is still right."""
    row = _held(contact)
    Contact.objects.filter(pk=row.pk).update(checked_at=timezone.now(), checked_by=by, version=F("version") + 1)
    timeline.record(entries.CONTACT_CONFIRMED, about=row, by=by, contact_duty=row.duty)
    row.refresh_from_db()
    return row


def remove(*, contact: Contact, by: str) -> None:
    """Take a contact off the list; the history says that there was one."""
    row = _held(contact)
    timeline.record(entries.CONTACT_REMOVED, about=row, by=by, contact_duty=row.duty)
    row.delete()


def forget(person: Person, tenant: Tenant, by: str) -> int:
    """Nobody is to be called who is gone: the contacts of a person at a tenant, removed."""
    rows = list(Contact.objects.filter(person=person, tenant=tenant))
    for row in rows:
        remove(contact=row, by=by)
    return len(rows)


def _held(contact: Contact, version: int | None = None, told: dict[str, Any] | None = None) -> Contact:
    row = Contact.objects.select_for_update(of=("self",)).filter(pk=contact.pk).first()
    if row is None:
        raise Refused("contact_gone", _("This contact was removed meanwhile."))
    if version is not None and row.version != version:
        both = {name: [str(getattr(row, name) or ""), str(new or "")] for name, new in (told or {}).items()}
        raise Stale(
            "stale",
            _("Somebody saved a newer version of %(what)s meanwhile. Compare, and save again.") % {"what": row.name},
            version=row.version,
            changes={name: pair for name, pair in both.items() if pair[0] != pair[1]},
        )
    return row


def _refuse_unfit(row: Contact) -> None:
    if row.person is not None and not _sits_here(row.person, row.tenant_id):
        sentence = _("'person' has no access here; write the name and address instead.")
        raise Refused("person", sentence, status=422, fields={"person": [sentence]})
    if not row.email and not row.phone and row.person is None:
        sentence = _("Write an e-mail address or a telephone number: somebody has to be reached.")
        raise Refused("unreachable", sentence, status=422, fields={"email": [sentence]})
    refuse_what_breaks_a_rule(row)


def _sits_here(person: Person, tenant: Any) -> bool:
    return Membership.objects.filter(holding(), person=person, tenant=tenant).exists()
