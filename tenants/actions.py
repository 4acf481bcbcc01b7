"""Writes of the tenants layer: the tracking record, interactions, members, tokens."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tenants import entries
from tenants.history import timeline
from tenants.history.models import Entry, Note
from tenants.models import Assignment, Evaluation, Membership, Participation, Person, Tenant, TrainingModel
from tenants.record_blocks import BLOCKS
from tenants.wall import roles
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused, Stale
from tenants.work import due

NEWCOMER = "newcomer"  # waits for: whoever answers for a component from now on is let in where it is needed


def plain(value: Any) -> Any:
    """A value as the history keeps it: text for what JSON does not know."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, models.Model):
        return str(value.pk)
    return value


def refuse_what_breaks_a_rule(row: models.Model) -> None:
    """Raises Refused (422) that names each field, where the database would only say that a constraint was violated."""
    keys = [field.name for field in row._meta.concrete_fields if field.is_relation]
    try:
        row.clean_fields(exclude=keys)
        row.clean()
        row.validate_constraints()
    except ValidationError as error:
        fields = {"_" if name == NON_FIELD_ERRORS else name: list(texts) for name, texts in error.message_dict.items()}
        name, texts = next(iter(fields.items()))
        raise Refused(
            "invalid", texts[0] if name == "_" else f"{name}: {texts[0]}", status=422, fields=fields
        ) from None


def edit_record(
    *,
    block: Any,
    changes: dict[str, Any],
    version: int,
    by: str,
    on_behalf_of: str = "",
    merge: bool = False,
    why: str = "",
) -> Any:
    """Change fields of one line of the record; the history keeps old and new of each changed field, and `why` if told.

    Raises Stale when `version` is not the newest, with both texts, so that nothing typed is lost. With `merge`, for a
    form that sends every field, only fields that both changed are in the way; `kept` are those that only they changed.
    """
    current = type(block).objects.select_for_update().get(pk=block.pk)
    before = {field: getattr(current, field) for field in changes}
    if current.version != version:
        theirs = _changed_since(current, version) if merge else None
        kept, both = three_way(
            {field: plain(value) for field, value in before.items()},
            {field: plain(new) for field, new in changes.items()},
            theirs,
        )
        if both or theirs is None:
            raise Stale(
                "stale",
                _("Somebody saved a newer version of %(what)s meanwhile. Compare, and save again.")
                % {"what": str(current)},
                version=current.version,
                changes={field: [plain(before[field]), plain(changes[field])] for field in both},
                kept=kept,
            )
        changes = {field: new for field, new in changes.items() if field not in kept}
        version = current.version
    changed = {field: new for field, new in changes.items() if before[field] != new}
    if not changed:
        return current
    for field, new in changed.items():
        setattr(current, field, new)
    refuse_what_breaks_a_rule(current)
    current.version, current.why = version + 1, why  # what a line writes beside itself says why as well
    current.save()
    current.kept(by=by)
    timeline.record(
        entries.RECORD_CHANGED,
        about=current,
        by=by,
        on_behalf_of=on_behalf_of,
        what=str(current),
        fields=sorted(changed),
        changes={field: [plain(before[field]), plain(new)] for field, new in changed.items()},
        **because(why),
    )
    return current


def stale(row: Any, told: Mapping[str, Any], shown: Callable[[Any], Any] = plain) -> Stale:
    """The refusal of a change that was made on an older version of a row: each field that differs, as theirs and yours."""
    both = {name: [shown(getattr(row, name)), shown(new)] for name, new in told.items()}
    return Stale(
        "stale",
        _("Somebody saved a newer version of %(what)s meanwhile. Compare, and save again.") % {"what": str(row)},
        version=row.version,
        changes={name: pair for name, pair in both.items() if pair[0] != pair[1]},
    )


def three_way(
    now: Mapping[str, Any], mine: Mapping[str, Any], was: Mapping[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Which fields only they changed, and which both did and not alike. `was` holds what they replaced; None: unknown."""
    differing = [field for field in mine if now[field] != mine[field]]
    if was is None:
        return [], differing
    kept = [field for field in differing if field in was and mine[field] == was[field]]
    return kept, [field for field in differing if field in was and field not in kept]


def _changed_since(block: Any, version: int) -> dict[str, Any] | None:
    """What each field held at that version that was changed since, by the history; None when it does not tell all of it."""
    rows = Entry.objects.filter(kind=entries.RECORD_CHANGED, subject=block.SUBJECT, subject_id=block.pk)
    told = list(rows.order_by("-id").values_list("facts", flat=True)[: max(block.version - version, 0)])
    if len(told) != block.version - version:
        return None
    return {field: pair[0] for facts in told for field, pair in facts["changes"].items()}  # the oldest comes last


def because(why: str) -> dict[str, str]:
    """The reason as a fact of an entry, where there is one."""
    return {"why": why} if why else {}


def add_record(*, block: Any, by: str, on_behalf_of: str = "", source: str = "portal", why: str = "") -> Any:
    """Add a line to the record."""
    refuse_what_breaks_a_rule(block)
    block.save(force_insert=True)
    block.kept(by=by)
    told = {"what": str(block), **because(why)}
    timeline.record(entries.RECORD_ADDED, about=block, by=by, on_behalf_of=on_behalf_of, source=source, **told)
    return block


def remove_record(*, block: Any, version: int, by: str, why: str = "") -> None:
    """Take a line off the record; the history keeps what it held, as a change of each field to nothing.

    Raises Stale where somebody changed it meanwhile, and Refused("named") for a model that evaluations still name.
    """
    current = type(block).objects.select_for_update(of=("self",)).filter(pk=block.pk).first()
    if current is None:
        raise Refused("line_gone", _("Somebody removed this line meanwhile."))
    if current.version != version:
        sentence = _("Somebody saved a newer version of %(what)s meanwhile. Look at it again before you remove it.")
        raise Stale("stale", sentence % {"what": str(current)}, version=current.version)
    if isinstance(current, TrainingModel):
        _refuse_while_evaluated(current)
    held = {name: plain(getattr(current, name)) for name in BLOCKS[current.SUBJECT].fields}
    changes = {name: [value, None] for name, value in held.items() if value not in (None, "", [])}
    told = {"what": str(current), "fields": sorted(changes), "changes": changes, **because(why)}
    timeline.record(entries.RECORD_REMOVED, about=current, by=by, **told)
    current.delete()


def _refuse_while_evaluated(model: TrainingModel) -> None:
    count = Evaluation.objects.filter(participation_id=model.participation_id, model_code=model.code).count()
    if count:
        sentence = ngettext(
            "%(n)s evaluation names '%(code)s'; remove it first, or give it another model.",
            "%(n)s evaluations name '%(code)s'; remove them first, or give them another model.",
            count,
        )
        raise Refused("named", sentence % {"n": count, "code": model.code}, evaluations=count)


def confirm_block(*, participation: Participation, block: str, by: str, on_behalf_of: str = "") -> Entry:
    """Somebody looked at a block of the record and found that all of it is still right: it counts as fresh from now on."""
    if block not in BLOCKS:
        raise Refused(
            "block",
            _("There is no block '%(block)s' in the record; there are: %(known)s.")
            % {"block": block[:40], "known": ", ".join(BLOCKS)},
            status=422,
            field="block",
        )
    return timeline.record(
        entries.RECORD_CONFIRMED, about=participation, by=by, on_behalf_of=on_behalf_of, record_block=block
    )


def note_interaction(
    *,
    participation: Participation,
    medium: str,
    text: str,
    audience: str,
    by: str,
    at: datetime | None = None,
    **facts: Any,
) -> Note:
    """Write down a meeting, call or message; the entry says that it happened, the text lies in its own row."""
    note = Note.objects.create(
        tenant_id=participation.tenant_id, medium=medium, text=text, audience=audience, author=by
    )
    timeline.record(
        entries.NOTED, about=participation, by=by, at=at, audience=audience, medium=medium, note=str(note.pk), **facts
    )
    return note


def correct_entry(*, entry: Entry, text: str, by: str) -> Entry:
    """A correction is a new entry that names the old one; nothing written is ever changed."""
    tenant = Tenant.objects.get(pk=entry.tenant_id)
    note = Note.objects.create(tenant=tenant, medium="other", text=text, audience=entry.audience, author=by)
    return timeline.record(
        entries.CORRECTED,
        about=tenant,
        by=by,
        audience=entry.audience,
        corrects=entry,
        note=str(note.pk),
        entry=entry.pk,
    )


def seat_person(*, person: Person, tenant: Tenant, role: str, by: str, starts_on: date, team: str = "") -> Membership:
    """Give a person a role at a tenant from a day on. One open seat per person and tenant."""
    seat, new = Membership.objects.get_or_create(
        person=person, tenant=tenant, ends_on=None, defaults={"role": role, "team": team, "starts_on": starts_on}
    )
    if not new and seat.role != role:
        raise Refused(
            "already_seated", _("%(name)s already has the role %(role)s here.") % {"name": person, "role": seat.role}
        )
    if new:
        timeline.record(entries.JOINED, about=tenant, by=by, person=str(person.pk), role=role)
        if role == roles.SERVICE_ENGINEER and team:
            due.wish(NEWCOMER, seat.pk, tenant=tenant)
    return seat


def assign(
    *, person: Person, tenant: Tenant, duty: str, by: str, starts_on: date, at: datetime | None = None, **facts: Any
) -> Assignment:
    """Let a member of staff look after a participant."""
    row, new = Assignment.objects.get_or_create(
        person=person, tenant=tenant, duty=duty, ends_on=None, defaults={"starts_on": starts_on}
    )
    if new:
        timeline.record(entries.ASSIGNED, about=tenant, by=by, at=at, person=str(person.pk), duty=duty, **facts)
    return row


def unassign(*, assignment: Assignment, by: str, ends_on: date, at: datetime | None = None, **facts: Any) -> None:
    """End that a member of staff looks after a participant; the last day is included."""
    if not Assignment.objects.filter(pk=assignment.pk, ends_on=None).update(ends_on=ends_on):
        return
    told = {"person": str(assignment.person_id), "duty": assignment.duty, **facts}
    timeline.record(entries.UNASSIGNED, about=assignment.tenant, by=by, at=at, **told)


def grant_token(
    *,
    person: Person,
    name: str,
    by: str,
    tenant: Tenant | None = None,
    days: int = 90,
    scope: str = "write",
    internal: bool = False,
) -> str:
    """Issue a token and write into the history that it exists; its text is returned once and kept nowhere.

    A token of a single tenant stands in that tenant's history, any other in the office's.
    """
    place = tenant or Tenant.objects.get(is_office=True)
    with acting_for(place, staff=True):
        token, text = issue_token(person=person, name=name, tenant=tenant, days=days, scope=scope, internal=internal)
        timeline.record(
            entries.TOKEN_ISSUED, about=place, by=by, name=name, token=str(token.pk), until=token.expires_at.isoformat()
        )
    return text
