"""What this layer lets people import and export: participants, people, contacts, and each block of the tracking record."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.core.validators import validate_slug
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants import actions, contacts, inviting, leaving, many_lines
from tenants.enrolling import enrol
from tenants.import_export import ID, PARTICIPANT, TEXT, Column, Current, Hand, Kind, kind, of_model
from tenants.models import Contact, Cycle, Invitation, Membership, Participation, Tenant
from tenants.participating import current_first
from tenants.people_forms import timezone_named, visible_name
from tenants.programme_day import programme_today
from tenants.record_blocks import BLOCKS, PARTICIPATION_FIELDS, Block
from tenants.wall import roles
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.web.templatetags.show import ROLES

CYCLE = Column(
    "cycle",
    gettext_lazy("Cycle"),
    TEXT,
    help=gettext_lazy("Its code; empty: the one that runs, else the newest the participant takes part in."),
)
CHANGED_AT = Column("changed_at", gettext_lazy("Changed at"), TEXT, "moment", told=True)
NOT_TO_SET = {"id", "participant", "cycle"}


class Zone(forms.CharField):
    def clean(self, value: Any) -> str:
        return timezone_named(super().clean(value))


class Name(forms.CharField):
    def clean(self, value: Any) -> str:
        return visible_name(super().clean(value))


class Address(forms.EmailField):
    def clean(self, value: Any) -> str:
        return str(super().clean(value)).lower()


class OfParticipations(Kind):
    """Rows that belong to a participation: they say its participant, and its cycle where it is not the one that runs."""

    def around(self, tenants: Sequence[Tenant]) -> dict[str, dict[str, Participation]]:
        """Participant -> cycle -> participation; first the one that pages speak of, which is not one that is applied for."""
        found: dict[str, dict[str, Participation]] = {tenant.slug: {} for tenant in tenants}
        slugs = {tenant.pk: tenant.slug for tenant in tenants}
        for row in current_first().select_related("cycle"):
            found[slugs[row.tenant_id]].setdefault(row.cycle.code, row)
        return found

    def settle(self, given: dict[str, Any], around: Any) -> Iterable[tuple[str, str]]:
        there = around.get(given["participant"], {})
        if not there:
            yield "participant", _("'%(slug)s' takes part in no cycle.") % {"slug": given["participant"]}
        elif given.setdefault("cycle", next(iter(there))) not in there:
            sentence = _("'%(slug)s' does not take part in the cycle '%(cycle)s'; it does in: %(known)s.")
            yield (
                "cycle",
                sentence
                % {"slug": given["participant"], "cycle": given["cycle"][:40], "known": ", ".join(sorted(there))},
            )

    def places(self, tenants: Sequence[Tenant]) -> dict[Any, dict[str, str]]:
        """Participation -> the columns that say it."""
        around = self.around(tenants)
        return {
            row.pk: {"participant": slug, "cycle": cycle}
            for slug, rows in around.items()
            for cycle, row in rows.items()
        }


def _unique(model: type[models.Model]) -> tuple[str, ...]:
    """By what a line of a block is told from the others of its participation, as the database holds it."""
    for each in model._meta.constraints:
        if isinstance(each, models.UniqueConstraint) and "participation" in each.fields:
            return tuple(name for name in each.fields if name not in ("tenant", "participation"))
    return ("name",)


class Lines(OfParticipations):
    """The lines of one block of the tracking record."""

    read, write = roles.READ, roles.EDIT_RECORD
    part = "record"

    def __init__(self, word: str, block: Block) -> None:
        self.word, self.title, self.model, self.fields = word, block.title, block.model, block.fields
        of_block = (of_model(block.model._meta.get_field(name)) for name in block.fields)  # type: ignore[arg-type]
        self.columns = (ID, PARTICIPANT, CYCLE, *of_block, CHANGED_AT)
        self.key = ("participant", "cycle", *_unique(block.model))
        self.may_miss = (
            "cycle",
            *(name for name in self.key if self.by_name[name].empty == "" and self._default(name)),
        )

    def _default(self, name: str) -> Any:
        if name not in self.fields:
            return None
        column: Any = self.model._meta.get_field(name)
        return column.default if column.has_default() else None

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        places = self.places(tenants)
        found = self.model.objects.order_by("tenant__slug", *self.key[2:], "pk")  # type: ignore[attr-defined]
        for row in found:
            values = {name: getattr(row, name) for name in self.fields}
            yield Current(str(row.pk), places[row.participation_id] | values | {"changed_at": row.updated_at}, row)

    def settle(self, given: dict[str, Any], around: Any) -> Iterable[tuple[str, str]]:
        yield from super().settle(given, around)
        for name in self.may_miss[1:]:
            given.setdefault(name, str(self._default(name)))

    def _made(self, given: Mapping[str, Any], around: Any) -> Any:
        place = around[given["participant"]][given["cycle"]]
        values = {name: value for name, value in given.items() if name not in NOT_TO_SET}
        return self.model(tenant_id=place.tenant_id, participation=place, **values)

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        actions.add_record(block=self._made(given, around), by=hand.by, why=hand.why)

    def add_together(self, given: Sequence[Mapping[str, Any]], around: Any, hand: Hand) -> None:
        many_lines.add([self._made(each, around) for each in given], by=hand.by, why=hand.why)

    def change_together(self, asked: Sequence[tuple[Current, Mapping[str, Any]]], hand: Hand) -> None:
        many_lines.edit([(row.thing, changes) for row, changes in asked], by=hand.by, why=hand.why)

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        version = row.thing.version
        actions.edit_record(block=row.thing, changes=dict(changes), version=version, by=hand.by, why=hand.why)


class Participants(OfParticipations):
    """Who takes part in which cycle, with what project."""

    word, title = "participants", gettext_lazy("Participants")
    about = gettext_lazy(
        "A new row takes an organisation in, as applied. Its state changes on its pages, and not here."
    )
    read, write = roles.READ, roles.EDIT_QUOTAS
    key, may_miss = ("participant", "cycle"), ("cycle",)
    makes_participants = True
    page = "portfolio"
    FIELDS = (*PARTICIPATION_FIELDS, "allowed_regions")

    def __init__(self) -> None:
        column = Participation._meta.get_field
        regions = of_model(column("allowed_regions"), help=gettext_lazy("Where its data may lie; empty: anywhere."))
        self.columns = (
            PARTICIPANT,
            of_model(Tenant._meta.get_field("name"), label=gettext_lazy("Name"), once=True, needed=False),
            CYCLE,
            of_model(column("code"), label=gettext_lazy("Code"), once=True),
            Column("state", gettext_lazy("State"), TEXT, fixed=True),
            *(of_model(column(name)) for name in self.FIELDS[:-1]),
            regions,
        )

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        names = {tenant.pk: (tenant.slug, tenant.name) for tenant in tenants}
        for row in Participation.objects.select_related("cycle").order_by("tenant__slug", "-created_at", "pk"):
            slug, name = names[row.tenant_id]
            values = {column: getattr(row, column) for column in ("code", "state", *self.FIELDS)}
            yield Current("", {"participant": slug, "name": name, "cycle": row.cycle.code} | values, row)

    def around(self, tenants: Sequence[Tenant]) -> Any:
        cycles = {cycle.code: cycle for cycle in Cycle.objects.order_by("-starts_on")}
        return {"cycles": cycles, "places": super().around(tenants)}

    def settle(self, given: dict[str, Any], around: Any) -> Iterable[tuple[str, str]]:
        there, cycles = around["places"].get(given["participant"], {}), around["cycles"]
        going = [code for code, cycle in cycles.items() if cycle.state != "closed"]
        if "cycle" not in given and not there and len(going) != 1:
            yield "cycle", _("Say which cycle: %(known)s.") % {"known": ", ".join(going) or "–"}
            return
        given.setdefault("cycle", next(iter(there), going[0] if going else ""))
        if given["cycle"] not in cycles:
            sentence = _("There is no cycle '%(cycle)s'; there are: %(known)s.")
            yield "cycle", sentence % {"cycle": given["cycle"][:40], "known": ", ".join(cycles) or "–"}

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        if hand.role not in roles.REVIEW:
            sentence = _("There is no participant '%(slug)s' here.") % {"slug": given["participant"][:60]}
            raise Refused("participant", sentence, status=422, fields={"participant": [sentence]})
        try:
            validate_slug(given["participant"])
        except forms.ValidationError as error:
            raise Refused(
                "participant", error.messages[0], status=422, fields={"participant": error.messages}
            ) from None
        known = around["places"].get(given["participant"])
        if known is None and not given.get("name"):
            sentence = _("A new row needs it; the cell is empty.")
            raise Refused("name", sentence, status=422, fields={"name": [sentence]})
        values = {name: given[name] for name in ("code", *self.FIELDS) if name in given}
        enrol(
            slug=given["participant"], name=given.get("name", ""), cycle=around["cycles"][given["cycle"]], by=hand.by,
            why=hand.why, **values,
        )  # fmt: skip

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        version = row.thing.version
        actions.edit_record(block=row.thing, changes=dict(changes), version=version, by=hand.by, why=hand.why)


class People(Kind):
    """Who belongs to a participant. A new row is an invitation: whoever reads that mail takes the role."""

    word, title = "people", gettext_lazy("People")
    about = gettext_lazy(
        "A new row sends an invitation by mail. Access is taken away on the page of people, and not here."
    )
    read, write = roles.READ, roles.MANAGE_PEOPLE
    key = ("participant", "email")
    page = "people"

    def __init__(self) -> None:
        day = Membership._meta.get_field
        self.columns = (
            PARTICIPANT,
            Column("email", gettext_lazy("E-mail address"), Address(max_length=254)),
            Column("name", gettext_lazy("Name"), TEXT, fixed=True),
            Column("role", gettext_lazy("Role"), TEXT, "choice", needed=True, clears=False, choices=tuple((role, ROLES[role]) for role in roles.CUSTOMER_ROLES)),
            of_model(day("starts_on"), label=gettext_lazy("From"), clears=False, needed=False),
            of_model(day("ends_on"), label=gettext_lazy("Until")),
            Column("standing", gettext_lazy("Standing"), TEXT, "choice", fixed=True, clears=False, choices=(("member", gettext_lazy("member")), ("invited", gettext_lazy("invited")))),
        )  # fmt: skip

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        today, slugs = programme_today(), {tenant.pk: tenant.slug for tenant in tenants}
        seats = Membership.objects.filter(Q(ends_on=None) | Q(ends_on__gte=today), tenant__in=tenants, ended_at=None)
        newest: dict[tuple[str, str], Current] = {}
        for invitation in Invitation.objects.filter(state=inviting.OPEN, expires_at__gt=timezone.now()):
            where = (slugs[invitation.tenant_id], invitation.email)
            newest[where] = Current("", self._values(where, "", invitation, "invited"), invitation)
        # Of two seats one after the other, what comes last is what is wanted.
        for seat in seats.select_related("person", "tenant").order_by("starts_on", "pk"):
            where = (slugs[seat.tenant_id], seat.person.email.lower())
            newest[where] = Current("", self._values(where, seat.person.name, seat, "member"), seat)
        return [newest[where] for where in sorted(newest)]

    def _values(self, where: tuple[str, str], name: str, thing: Any, standing: str) -> dict[str, Any]:
        slug, email = where
        days = {"starts_on": thing.starts_on, "ends_on": thing.ends_on}
        return {"participant": slug, "email": email, "name": name, "role": thing.role, **days, "standing": standing}

    def around(self, tenants: Sequence[Tenant]) -> dict[str, Tenant]:
        return {tenant.slug: tenant for tenant in tenants}

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        tenant = around[given["participant"]]
        days = {name: given[name] for name in ("starts_on", "ends_on") if name in given}
        # Of an address there may be one open invitation for each organisation, and only this one's may be seen.
        with acting_for(tenant, staff=hand.staff):
            inviting.invite(
                tenant=tenant, email=given["email"], role=given["role"], by=hand.by, giver=hand.role, why=hand.why,
                language=hand.person.language, **days,
            )  # fmt: skip

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        if isinstance(row.thing, Invitation):
            sentence = _("%(email)s is invited and has not answered. Withdraw that invitation, and invite anew.")
            raise Refused(
                "invited_already",
                sentence % {"email": row.thing.email},
                fields={"email": [sentence % {"email": row.thing.email}]},
            )
        if "starts_on" in changes and "role" not in changes:
            sentence = _("The first day of a role that somebody has does not change; with another role it may.")
            raise Refused("starts_on", sentence, status=422, fields={"starts_on": [sentence]})
        days = {"starts_on": changes["starts_on"]} if "starts_on" in changes else {}
        with acting_for(row.thing.tenant_id, staff=hand.staff):
            leaving.change(
                seat=row.thing, role=changes.get("role", row.thing.role), ends_on=changes.get("ends_on", row.thing.ends_on),
                by=hand.by, person=hand.person, giver=hand.role, why=hand.why, **days,
            )  # fmt: skip


class Contacts(Kind):
    """Whom to call about what."""

    word, title = "contacts", gettext_lazy("Contacts by duty")
    read, write = roles.READ, roles.KEEP_CONTACTS
    key = ("participant", "duty", "name")
    page, part = "people", "contacts"

    def __init__(self) -> None:
        column = Contact._meta.get_field
        self.columns = (
            ID,
            PARTICIPANT,
            of_model(column("duty")),
            Column("name", gettext_lazy("Name"), Name(max_length=120), needed=True, clears=False),
            Column("person", gettext_lazy("Member"), Address(max_length=254), help=gettext_lazy("The address of a member, where it is one.")),
            of_model(column("email")),
            of_model(column("phone")),
            Column("timezone", gettext_lazy("Time zone"), Zone(max_length=64), clears=False),
            of_model(column("hours")),
            Column("checked_at", gettext_lazy("Last confirmed"), TEXT, "moment", told=True),
        )  # fmt: skip

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        slugs = {tenant.pk: tenant.slug for tenant in tenants}
        for row in Contact.objects.select_related("person").order_by("tenant__slug", "duty", "created_at", "id"):
            values = {name: getattr(row, name) for name in ("duty", "name", "email", "phone", "timezone", "hours")}
            values |= {"participant": slugs[row.tenant_id], "checked_at": row.checked_at}
            values |= {"person": row.person.email.lower() if row.person else ""}
            yield Current(str(row.pk), values, row)

    def around(self, tenants: Sequence[Tenant]) -> dict[str, Any]:
        people: dict[str, dict[str, Any]] = {tenant.slug: {} for tenant in tenants}
        today, slugs = programme_today(), {tenant.pk: tenant.slug for tenant in tenants}
        seats = Membership.objects.filter(Q(ends_on=None) | Q(ends_on__gte=today), tenant__in=tenants, ended_at=None)
        for seat in seats.select_related("person"):
            people[slugs[seat.tenant_id]][seat.person.email.lower()] = seat.person
        self_known = {tenant.slug: tenant for tenant in tenants}
        return {"people": people, "tenants": self_known}

    def settle(self, given: dict[str, Any], around: Any) -> Iterable[tuple[str, str]]:
        if "person" in given and given["person"] not in around["people"][given["participant"]]:
            yield "person", _("'%(email)s' belongs to no member of this participant.") % {"email": given["person"]}

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        values = {name: value for name, value in given.items() if name not in NOT_TO_SET}
        if "person" in values:
            values["person"] = around["people"][given["participant"]][values["person"]]
        contacts.add(tenant=around["tenants"][given["participant"]], by=hand.by, why=hand.why, **values)

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        values = dict(changes)
        if "person" in values:
            seats = Membership.objects.filter(tenant=row.thing.tenant_id, person__email__iexact=values["person"])
            seat = seats.select_related("person").first() if values["person"] else None
            values["person"] = seat.person if seat else None
        contacts.edit(contact=row.thing, by=hand.by, version=row.thing.version, why=hand.why, **values)


kind(Participants())
kind(People())
kind(Contacts())
for _word, _block in BLOCKS.items():
    kind(Lines(_word, _block))
