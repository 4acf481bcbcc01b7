"""The tracking record in the API: a participation's record whole, and its lines one by one, each change with its version."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import records
from clusters.models import FileSystem, QuotaGrant
from clusters.parallelism import Place, check
from tenants import states
from tenants.actions import add_record, confirm_block, edit_record, remove_record
from tenants.models import Participation
from tenants.programme_day import programme_today
from tenants.record_blocks import BLOCKS
from tenants.software import side_by_side
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import based_on, endpoint, versioned
from tenants.web.bodies import Asked, AskedModel, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, OneOf, Shown, WarningShown, Word, one

QUOTA = (
    *("instance_type", "region", "approved_instances", "unlimited"),
    *("provider_service", "provider_limit", "provider_unit", "provider_value"),
)


class Line(Shown, serializers.ModelSerializer):
    """A line of the record; the fields after `version` are its model's."""

    version = serializers.IntegerField()

    @classmethod
    def columns(cls) -> list[str]:
        return [*super().columns(), *(name for name in cls.Meta.fields if name not in cls._declared_fields)]  # type: ignore[attr-defined]


HEAD = ("id", "tenant", "created_at", "version")
Version = serializers.IntegerField(
    min_value=1, max_value=10**9, required=False, help_text="Or `If-Match` with the ETag."
)

Why = serializers.CharField(
    max_length=300, required=False, allow_blank=True, help_text="Of a change: stands in the history."
)


def _line(block: str) -> type[Line]:
    """What a line of a block shows: what is the same for all, and the block's own fields."""
    word = records.WORDS[block][0]
    meta = type("Meta", (), {"model": BLOCKS[word].model, "fields": (*HEAD, *BLOCKS[word].fields)})
    return type(f"{word.capitalize()}Line", (Line,), {"Meta": meta})


def _asked(block: str) -> type[AskedModel]:
    """What may be sent of a line; whether a version was measured is for whoever measures."""
    word = records.WORDS[block][0]
    fields = tuple(name for name in BLOCKS[word].fields if (word, name) != ("software", "source"))
    limits = {"zero_stage": {"max_value": 3}} if word == "framework" else {}
    meta = type(
        "Meta", (), {"model": BLOCKS[word].model, "fields": ("version", *fields, "why"), "extra_kwargs": limits}
    )
    return type(f"{word.capitalize()}Asked", (AskedModel,), {"Meta": meta, "version": Version, "why": Why})


class QuotaLine(Line):
    approved_instances = serializers.IntegerField(help_text="Granted today: the sum of the ledger's rows.")

    class Meta:
        model, fields = QuotaGrant, (*HEAD, *QUOTA)


class QuotaAsked(AskedModel):
    version = Version
    approved_instances = serializers.IntegerField(min_value=0, max_value=QuotaGrant.MOST)
    why = serializers.CharField(
        max_length=300, required=False, allow_blank=True, help_text="Stands in the ledger and in the history."
    )

    class Meta:
        model, fields = QuotaGrant, ("version", *QUOTA, "why")


class StorageLine(Shown):
    """A file system or bucket of a cluster; it follows from the cluster's configuration."""

    cluster = serializers.UUIDField(source="cluster_id")
    cluster_name = serializers.CharField(source="cluster.name")
    kind = serializers.ChoiceField(choices=[*FileSystem.Kind.values, "bucket"])
    name = serializers.CharField(required=False, help_text="Of a bucket.")
    used_tib = serializers.DecimalField(max_digits=10, decimal_places=2, required=False, allow_null=True)
    deployment = serializers.CharField(required=False)
    capacity_gib = serializers.IntegerField(required=False)
    mbs_per_tib = serializers.IntegerField(required=False, allow_null=True)
    mount = serializers.CharField(required=False)
    external_id = serializers.CharField(required=False)
    engine_status = serializers.CharField(required=False)


class ConfigurationLine(Shown):
    """The newest configuration of a cluster. It is changed by a new revision, never in place."""

    cluster = serializers.UUIDField(source="cluster_id")
    cluster_name = serializers.CharField(source="cluster.name")
    cluster_state = serializers.CharField(source="cluster.state")
    architecture = serializers.CharField(source="cluster.architecture")
    architecture_version = serializers.CharField(source="cluster.architecture_version")
    number = serializers.IntegerField()
    author = serializers.CharField()
    reason = serializers.CharField()
    body = serializers.DictField()


def _with_warnings(block: str) -> type[Line]:
    """A line by itself, with what is to be minded about it, where something can be."""
    if block not in records.WORDS or BLOCKS[records.WORDS[block][0]].minded is None:
        return LINES[block]
    listed = LINES[block]
    meta = type("Meta", (), {"model": listed.Meta.model, "fields": (*listed.Meta.fields, "warnings")})  # type: ignore[attr-defined]
    more = {"Meta": meta, "BESIDE": ("warnings",), "warnings": WarningShown(many=True)}
    return type(f"{listed.__name__}Alone", (listed,), more)


LINES: dict[str, type[Line]] = {**{block: _line(block) for block in records.WORDS}, "quotas": QuotaLine}


class ParallelShown(serializers.Serializer):
    """Whether a framework's degrees make as many processes as there are accelerators, or NeuronCores on Trainium."""

    framework = serializers.UUIDField()
    fits = serializers.BooleanField()
    sentence = serializers.CharField(help_text="With the numbers.")


class RecordShown(Shown):
    """All that is tracked of one participation."""

    BESIDE = (*LINES, "storage", "configurations", "parallelism", "drift")

    code = serializers.CharField()
    cycle = serializers.CharField(source="cycle.code")
    state = serializers.ChoiceField(choices=sorted(states.PARTICIPATION))
    project = serializers.CharField()
    models = LINES["models"](many=True)
    framework = LINES["framework"](many=True)
    software = LINES["software"](many=True)
    ingests = LINES["ingests"](many=True)
    milestones = LINES["milestones"](many=True)
    evaluations = LINES["evaluations"](many=True)
    results = LINES["results"](many=True)
    monitoring = LINES["monitoring"](many=True)
    quotas = QuotaLine(many=True)
    storage = StorageLine(many=True)
    configurations = ConfigurationLine(many=True)
    parallelism = ParallelShown(many=True)
    drift = serializers.ListField(
        child=serializers.CharField(), help_text="Components whose measured version is not the declared one."
    )


RECORDS = Listing(
    "records",
    RecordShown,
    {"state": OneOf("state", states.PARTICIPATION), "cycle": Word("cycle__code"), "participation": Id("id")},
    name="code",
)


def whole(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Participations with their blocks: a query for each block, whatever their number."""
    ids = [row["id"] for row in rows]
    blocks = {block: records.lines(block, ids, line.columns()) for block, line in LINES.items()}
    blocks |= {"storage": records.storage(ids), "configurations": records.configurations(ids)}
    places = records.places(ids)
    found = [row | {block: lines_of.get(row["id"], []) for block, lines_of in blocks.items()} for row in rows]
    return [row | _checked(row, places.get(row["id"], [])) for row in found]


def _checked(row: dict[str, Any], places: list[Place]) -> dict[str, Any]:
    """What follows from the lines of a record: whether the degrees fit, and which software is another than declared."""
    verdicts = [(use["id"], check(SimpleNamespace(**use), places)) for use in row["framework"]]
    pairs = side_by_side(SimpleNamespace(**line) for line in row["software"])
    told = [{"framework": pk, "fits": found.fits, "sentence": found.sentence} for pk, found in verdicts if found]
    return {"parallelism": told, "drift": [pair.component for pair in pairs if pair.drifts]}


@allow(roles.READ)
@RECORDS.described
@endpoint("GET")
def all_records(request: Request) -> Response:
    """The tracking record of each participation."""
    return RECORDS.answer(request, Participation.objects.values(*RECORDS.columns()), whole)


@allow(roles.READ)
@extend_schema(responses=RecordShown)
@endpoint("GET")
def record(request: Request, pk: UUID) -> Response:
    """The tracking record of one participation."""
    return Response(RecordShown(whole([one(Participation.objects.all(), RecordShown, pk)])[0]).data)


class BlockConfirmAsked(Asked):
    block = serializers.ChoiceField(choices=sorted(BLOCKS), help_text="A block of the record, in the word of its page.")


class BlockConfirmed(serializers.Serializer):
    block = serializers.CharField()
    confirmed_at = serializers.DateTimeField()


@allow(roles.EDIT_RECORD)
@extend_schema(request=BlockConfirmAsked, responses=BlockConfirmed)
@endpoint("POST")
@repeatable(required=False)
def confirm(request: Request, participation: UUID) -> Response:
    """Say that a block of the record is still right; it counts as fresh from now on."""
    place = Participation.objects.filter(pk=participation).first()
    if place is None:
        raise Http404
    sent = asked(BlockConfirmAsked, request)
    entry = confirm_block(participation=place, block=sent["block"], by=request.actor)
    entry.refresh_from_db()
    return Response(BlockConfirmed({"block": sent["block"], "confirmed_at": entry.occurred_at}).data)


class LineRemoved(Asked):
    version = Version
    why = Why


@dataclass(frozen=True)
class Block:
    """A part of the record whose lines people write: what they show, what they take, and who may."""

    shown: type[Line]
    form: type[AskedModel]
    write: frozenset[str]
    minded: Callable[..., Any] | None = None

    @property
    def model(self) -> Any:
        return self.shown.Meta.model  # type: ignore[attr-defined]

    def answer(self, pk: UUID, status: int = 200) -> Response:
        row = one(self.model.objects.all(), self.shown, pk)
        told = row | {"warnings": self.warnings(pk)} if self.minded else row
        return versioned(self.shown(told).data, row["version"], status=status)

    def warnings(self, pk: UUID) -> list[dict[str, Any]]:
        found = self.minded(self.model.objects.get(pk=pk), programme_today()) if self.minded else None
        return [{"code": found.code, "sentence": found.sentence, "about": []}] if found else []

    def adding(self) -> Callable[..., Any]:
        """The view that adds a line."""

        @allow(self.write)
        @extend_schema(request=self.form, responses={201: self.shown})
        @endpoint("POST")
        @repeatable(required=False)
        def add(request: Request, participation: UUID) -> Response:
            """Add a line to this part of the record."""
            place = Participation.objects.filter(pk=participation).first()
            if place is None:
                raise Http404
            sent = asked(self.form, request)
            sent.pop("version", None)
            if self.form is not QuotaAsked:
                sent.pop("why", None)
            line = self.model(tenant_id=place.tenant_id, participation=place, **sent)
            return self.answer(add_record(block=line, by=request.actor).pk, status=201)

        return add

    def removing(self) -> Callable[..., Any]:
        """The view that takes a line off."""

        @allow(self.write)
        @extend_schema(request=LineRemoved, responses=self.shown)
        @endpoint("POST")
        @repeatable(required=False)
        def remove(request: Request, participation: UUID, pk: UUID) -> Response:
            """Take a line off this part of the record; the answer is what it was, and the history keeps it."""
            found = self.model.objects.filter(participation=participation, pk=pk).first()
            if found is None:
                raise Http404
            sent = asked(LineRemoved, request)
            version = based_on(request, sent)
            was = self.shown(one(self.model.objects.all(), self.shown, pk)).data
            remove_record(block=found, version=version, by=request.actor, why=sent.get("why", ""))
            return Response(was)

        return remove

    def changing(self) -> Callable[..., Any]:
        """The view that shows and changes a line."""

        @allow(roles.READ, write=self.write)
        @extend_schema(methods=["GET"], responses=self.shown)
        @extend_schema(methods=["PATCH"], request=self.form, responses=self.shown)
        @endpoint("GET", "PATCH")
        def line(request: Request, participation: UUID, pk: UUID) -> Response:
            """One line of this part of the record; change fields of it. The history keeps old and new."""
            found = self.model.objects.filter(participation=participation, pk=pk).first()
            if found is None:
                raise Http404
            if request.method == "PATCH":
                sent = asked(self.form, request, partial=True)
                version = based_on(request, sent)
                sent.pop("version", None)
                why = sent.pop("why", "")
                edit_record(block=found, changes=sent, version=version, by=request.actor, why=why)
            return self.answer(pk)

        return line


EDITABLE = {
    **{
        block: Block(_with_warnings(block), _asked(block), roles.EDIT_RECORD, BLOCKS[word].minded)
        for block, (word, _order) in records.WORDS.items()
    },
    "quotas": Block(QuotaLine, QuotaAsked, roles.EDIT_QUOTAS),
}
