"""The API of who takes part and what happened: me, tenants, participations, entries."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import queries, states
from tenants.actions import edit_record
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Membership, Participation, Tenant, holding
from tenants.record_blocks import PARTICIPATION_FIELDS
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import based_on, endpoint, versioned
from tenants.web.bodies import AskedModel, asked, nearest
from tenants.web.listing import Id, Listing, Moment, OneOf, Shown, Word, one
from tenants.web.problems import Refused
from tenants.web.templatetags.show import SEVERITIES


class SeatShown(serializers.Serializer):
    tenant = serializers.SlugField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=roles.ROLES)


class TokenShown(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    scope = serializers.ChoiceField(choices=["read", "write"])
    internal = serializers.BooleanField()
    tenant = serializers.SlugField(
        source="tenant.slug", default=None, allow_null=True, help_text="Null: all that its person may see."
    )
    expires_at = serializers.DateTimeField()


class MeShown(serializers.Serializer):
    """Who asks, with what, and where they sit."""

    id = serializers.UUIDField()
    tenant = serializers.SlugField(
        allow_null=True, help_text="The one tenant of a narrowed token or of a person with one seat."
    )
    created_at = serializers.DateTimeField(source="joined_at")
    email = serializers.EmailField()
    name = serializers.CharField()
    language = serializers.CharField()
    timezone = serializers.CharField()
    role = serializers.ChoiceField(choices=roles.ROLES)
    internal = serializers.BooleanField(help_text="Whether internal text is visible.")
    seats = SeatShown(many=True)
    token = TokenShown(allow_null=True)


@allow(roles.EVERYONE)
@extend_schema(responses=MeShown)
@endpoint("GET")
def me(request: Request) -> Response:
    """The person asking, their seats, and the token they ask with."""
    person, token = request.person, request.token
    seats = Membership.objects.filter(holding(), person=person).select_related("tenant").order_by("tenant__slug")
    if token and token.tenant_id and not any(seat.tenant.is_office for seat in seats):
        seats = seats.filter(tenant=token.tenant_id)
    shown = [{"tenant": seat.tenant.slug, "name": seat.tenant.name, "role": seat.role} for seat in seats]
    only = token.tenant.slug if token and token.tenant_id else shown[0]["tenant"] if len(shown) == 1 else None
    fields = ("id", "joined_at", "email", "name", "language", "timezone")
    whole = {field: getattr(person, field) for field in fields}
    whole |= {"tenant": only, "role": request.role, "internal": request.internal, "seats": shown, "token": token}
    return Response(MeShown(whole).data)


class TenantShown(serializers.Serializer):
    """One organisation."""

    id = serializers.UUIDField()
    tenant = serializers.SlugField(source="slug")
    created_at = serializers.DateTimeField()
    name = serializers.CharField()
    is_office = serializers.BooleanField(help_text="Whether it is the programme's own office.")


class TenantsListing(Listing):
    def columns(self) -> list[str]:
        return ["id", "slug", "created_at", "name", "is_office"]


TENANTS = TenantsListing("tenants", TenantShown, {"name": Word("name__icontains")})


@allow(roles.EVERYONE)
@TENANTS.described
@endpoint("GET")
def tenants(request: Request) -> Response:
    """The organisations that the caller may see."""
    return TENANTS.answer(request, queries.tenants())


@allow(roles.EVERYONE)
@extend_schema(responses=TenantShown)
@endpoint("GET")
def tenant(request: Request) -> Response:
    """One organisation."""
    return Response(TenantShown(Tenant.objects.get(pk=request.tenant.pk)).data)


class ParticipationShown(Shown):
    """A tenant in a cycle: the project and how far it has come."""

    cycle = serializers.CharField(source="cycle.code")
    code = serializers.CharField()
    state = serializers.ChoiceField(choices=sorted(states.PARTICIPATION))
    project = serializers.CharField()
    organisation_kind = serializers.CharField()
    sector = serializers.CharField()
    staff_size = serializers.IntegerField(allow_null=True)
    support_plan = serializers.CharField()
    abstract = serializers.CharField()
    provider = serializers.CharField(help_text="Whose computing power it trains on; empty: not said.")
    starts_on = serializers.DateField(allow_null=True, help_text="Null: that of its cycle.")
    ends_on = serializers.DateField(allow_null=True, help_text="Null: that of its cycle.")
    gate = serializers.ChoiceField(choices=["", *Participation.Gate.values], help_text="Empty: not decided.")
    gate_on = serializers.DateField(allow_null=True)
    gate_why = serializers.CharField()
    allowed_regions = serializers.ListField(
        child=serializers.CharField(), help_text="Where its data may lie; empty: anywhere."
    )
    version = serializers.IntegerField()


PARTICIPATIONS = Listing(
    "participations",
    ParticipationShown,
    {"state": OneOf("state", states.PARTICIPATION), "cycle": Word("cycle__code")},
    name="code",
    beside=("framework", "software"),
)
RECORD_FILTERS = [
    OpenApiParameter("framework", OpenApiTypes.STR, description="The name of a framework as the record has it."),
    OpenApiParameter(
        "software", OpenApiTypes.STR, enum=["drift"], description="Where a measured version is not the declared one."
    ),
]


@allow(roles.READ)
@extend_schema(parameters=RECORD_FILTERS)
@PARTICIPATIONS.described
@endpoint("GET")
def participations(request: Request) -> Response:
    """Who takes part in which cycle."""
    rows = Participation.objects.all()
    if name := request.GET.get("framework"):
        rows = rows.filter(pk__in=queries.with_framework(name) if name.isprintable() else ())
    if (asked := request.GET.get("software")) is not None:
        if asked != "drift":
            sentence = _("'%(name)s' cannot be '%(value)s'. %(hint)s")
            hint = _("Allowed are: %(words)s.") % {"words": "drift"}
            shown = asked[:60].encode("utf-8", "replace").decode().replace("\x00", "␀")
            told = {"name": "software", "value": shown, "hint": hint}
            raise Refused("filter", sentence % told, status=400, field="software", value=shown)
        rows = rows.filter(pk__in=queries.with_drift())
    return PARTICIPATIONS.answer(request, rows)


@allow(roles.READ)
@extend_schema(responses=ParticipationShown)
@endpoint("GET")
def participation(request: Request, pk: Any) -> Response:
    """One participation."""
    row = one(Participation.objects.all(), ParticipationShown, pk)
    return versioned(ParticipationShown(row).data, row["version"])


class ParticipationAsked(AskedModel):
    version = serializers.IntegerField(
        min_value=1, max_value=10**9, required=False, help_text="Or `If-Match` with the ETag."
    )
    why = serializers.CharField(max_length=300, required=False, allow_blank=True, help_text="Stands in the history.")

    class Meta:
        model, fields = Participation, ("version", *PARTICIPATION_FIELDS, "why")


@allow(roles.READ, write=roles.EDIT_QUOTAS)
@extend_schema(methods=["GET"], responses=ParticipationShown)
@extend_schema(methods=["PATCH"], request=ParticipationAsked, responses=ParticipationShown)
@endpoint("GET", "PATCH")
def tenant_participation(request: Request, pk: Any) -> Response:
    """One participation; change what it says of the project and the organisation. The history keeps old and new."""
    if request.method == "PATCH":
        found = one(Participation.objects.all(), None, pk)
        sent = asked(ParticipationAsked, request, partial=True)
        version = based_on(request, sent)
        sent.pop("version", None)
        why = sent.pop("why", "")
        edit_record(block=found, changes=sent, version=version, by=request.actor, why=why)
    row = one(Participation.objects.all(), ParticipationShown, pk)
    return versioned(ParticipationShown(row).data, row["version"])


class EntryShown(serializers.Serializer):
    """One line of the history, in words and as data. It is never changed; a correction is a later entry."""

    id = serializers.IntegerField()
    tenant = serializers.SlugField()
    created_at = serializers.DateTimeField(help_text="When it was recorded, by the database's clock.")
    occurred_at = serializers.DateTimeField()
    kind = serializers.CharField()
    sentence = serializers.CharField()
    text = serializers.CharField(help_text="What somebody wrote, for the entries that say that something was written.")
    participation = serializers.UUIDField(allow_null=True)
    cluster = serializers.UUIDField(allow_null=True)
    subject = serializers.CharField()
    subject_id = serializers.UUIDField()
    severity = serializers.ChoiceField(choices=["", *SEVERITIES])
    audience = serializers.ChoiceField(choices=["shared", "internal"])
    source = serializers.CharField()
    actor = serializers.CharField(help_text="person:…, token:…, engine or provider:…")
    actor_name = serializers.CharField()
    on_behalf_of = serializers.CharField()
    action_id = serializers.UUIDField(help_text="The same for everything one request or one turn of the engine wrote.")
    corrects = serializers.IntegerField(allow_null=True)
    facts = serializers.DictField()


# `kind` and `prefix` take what is declared, and what is declared is known only when every layer is loaded.
ENTRY_FILTERS = {
    "cluster": Id("cluster"),
    "participation": Id("participation"),
    "subject": Word("subject"),
    "subject_id": Id("subject_id"),
    "severity": OneOf("severity", SEVERITIES),
    "audience": OneOf("audience", ["shared", "internal"]),
    "actor": Word("actor"),
    "source": Word("source"),
    "after": Moment("occurred_at__gte", "At or after this time."),
    "before": Moment("occurred_at__lt", "Before this time."),
}
KIND_FILTERS = [
    OpenApiParameter(
        "kind", OpenApiTypes.STR, many=True, explode=True, description="Kinds of entry, e.g. cluster.ready."
    ),
    OpenApiParameter("prefix", OpenApiTypes.STR, description="All kinds that begin so, e.g. `case.`"),
]


class EntriesListing(Listing):
    """The history, whose lines are put into words a page at a time."""

    def answer_history(self, request: Request, rows: QuerySet[Entry], kinds: list[str]) -> Response:
        return self.answer(request, rows.filter(kind__in=kinds) if kinds else rows, shown_entries)


ENTRIES = EntriesListing("entries", EntryShown, ENTRY_FILTERS, newest="occurred_at", beside=("kind", "prefix"))


def shown_entries(entries: list[Entry]) -> list[dict[str, Any]]:
    """Entries as data and in words: a handful of queries a page."""
    slugs = (
        dict(Tenant.objects.filter(pk__in={entry.tenant_id for entry in entries}).values_list("pk", "slug"))
        if entries
        else {}
    )
    found = []
    for entry, line in zip(entries, queries.lines(entries), strict=True):
        columns = {field.attname: getattr(entry, field.attname) for field in Entry._meta.concrete_fields}
        words = {"sentence": line.sentence, "text": line.text, "actor_name": line.actor_name}
        keys = {"tenant": slugs[entry.tenant_id], "created_at": entry.recorded_at, "corrects": entry.corrects_id}
        found.append(columns | words | keys)
    return found


def _kinds(request: Request) -> list[str]:
    known = timeline.KINDS
    asked = request.GET.getlist("kind")
    for name in asked:
        if name not in known:
            raise _no_kind("kind", name, known)
    prefix = request.GET.get("prefix")
    if prefix is None:
        return asked
    begun = [name for name in known if prefix and name.startswith(prefix)]
    if not begun:
        raise _no_kind("prefix", prefix, {name.partition(".")[0] + "." for name in known})
    return [name for name in begun if name in asked or not asked] or ["–"]


def _no_kind(field: str, value: str, known: Any) -> Refused:
    shown = value[:60].encode("utf-8", "replace").decode().replace("\x00", "␀")
    sentence = _("No kind of entry is called '%(name)s'. %(hint)s") % {"name": shown, "hint": nearest(shown, known)}
    return Refused("filter", sentence, status=400, field=field, value=shown)


@allow(roles.READ)
@extend_schema(parameters=KIND_FILTERS)
@ENTRIES.described
@endpoint("GET")
def entries(request: Request) -> Response:
    """The history, newest first."""
    return ENTRIES.answer_history(request, queries.history(), _kinds(request))


@allow(roles.READ)
@extend_schema(responses=EntryShown)
@endpoint("GET")
def entry(request: Request, pk: int) -> Response:
    """One line of the history."""
    found = one(Entry.objects.all(), None, pk)
    return Response(EntryShown(shown_entries([found])[0]).data)
