"""Quotas and buckets as rows to import and export. Of a quota a file says what shall hold, and the ledger gets the difference."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters import facts
from clusters.models import Bucket, Cluster, QuotaGrant
from tenants import actions, many_lines
from tenants.import_export import ID, NUMBER, PARTICIPANT, Column, Current, Hand, Kind, kind, of_model
from tenants.import_kinds import CYCLE, NOT_TO_SET, OfParticipations
from tenants.models import Tenant
from tenants.sheets import Cell
from tenants.wall import roles
from tenants.web.bodies import nearest
from tenants.web.problems import Refused

UNLIMITED = "unlimited"
NOT_SET = ("not set", "not_set", "none", "-", "–")


class Allowance(Column):
    """How many instances: a number, 0 for none at all, or the word for no limit. Not set is a line that is not there."""

    def parse(self, cell: Cell) -> Any:
        text = cell.text.strip()
        if text == UNLIMITED:
            return UNLIMITED
        if text.lower() in NOT_SET:
            sentence = _(
                "'%(text)s' is no limit. Write 0 for none allowed, 'unlimited' for no limit; not set is a row that is not there."
            )
            raise ValidationError(sentence % {"text": text})
        if cell.told not in ("", "number") or not NUMBER.fullmatch(text) or "." in text:
            sentence = _("'%(text)s' is no number of instances, so the old limit stays. Write digits, or 'unlimited'.")
            raise ValidationError(sentence % {"text": text[:40]})
        return self.form.clean(text)


class InstanceType(forms.CharField):
    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        known = facts.load().instances
        if text.removeprefix("ml.") not in known:
            hint = nearest(text, known) if len(text) <= 30 else ""
            raise ValidationError(
                _("There is no instance type '%(text)s'. %(hint)s") % {"text": text[:40], "hint": hint}
            )
        return text


class Region(forms.CharField):
    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if text not in facts.load().zones:
            hint = nearest(text, facts.load().zones)
            raise ValidationError(_("There is no Region '%(text)s'. %(hint)s") % {"text": text[:40], "hint": hint})
        return text


class Quotas(OfParticipations):
    word, title = "quotas", gettext_lazy("Quotas")
    about = gettext_lazy(
        "Instances: a number, 0 for none allowed, or 'unlimited'. Where nothing is set there is no row. "
        "What changes becomes a row of the ledger from today on."
    )
    read, write = roles.READ, roles.EDIT_QUOTAS
    key, may_miss = ("participant", "cycle", "instance_type", "region"), ("cycle",)
    part = "quotas"
    PROVIDERS = ("provider_service", "provider_limit", "provider_unit", "provider_value")

    def __init__(self) -> None:
        column = QuotaGrant._meta.get_field
        count = forms.IntegerField(min_value=0, max_value=QuotaGrant.MOST)
        self.columns = (
            ID,
            PARTICIPANT,
            CYCLE,
            of_model(column("instance_type"), form=InstanceType(max_length=30), clears=False),
            of_model(column("region"), form=Region(max_length=20), clears=False),
            Allowance(
                "instances", gettext_lazy("Approved instances"), count, "number", needed=True, clears=False,
                help=gettext_lazy("0 allows none; 'unlimited' sets no limit."),
            ),
            *(of_model(column(name)) for name in self.PROVIDERS),
        )  # fmt: skip

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        places = self.places(tenants)
        for row in QuotaGrant.objects.order_by("tenant__slug", "instance_type", "region", "pk"):
            values = {name: getattr(row, name) for name in ("instance_type", "region", *self.PROVIDERS)}
            values["instances"] = UNLIMITED if row.unlimited else row.approved_instances
            yield Current(str(row.pk), places[row.participation_id] | values, row)

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        actions.add_record(block=_line(given, around, hand), by=hand.by, why=hand.why)

    def add_together(self, given: Sequence[Mapping[str, Any]], around: Any, hand: Hand) -> None:
        many_lines.add([_line(each, around, hand) for each in given], by=hand.by, why=hand.why)

    def change_together(self, asked: Sequence[tuple[Current, Mapping[str, Any]]], hand: Hand) -> None:
        many_lines.edit([(row.thing, _of_line(changes)) for row, changes in asked], by=hand.by, why=hand.why)

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        line = row.thing
        actions.edit_record(
            block=line, changes={**_of_line(changes), "why": hand.why}, version=line.version, by=hand.by, why=hand.why
        )


def _line(given: Mapping[str, Any], around: Any, hand: Hand) -> QuotaGrant:
    """A line that is not kept yet."""
    place = around[given["participant"]][given["cycle"]]
    values = _of_line({name: value for name, value in given.items() if name not in NOT_TO_SET})
    line = QuotaGrant(tenant_id=place.tenant_id, participation=place, **values)
    line.why = hand.why
    return line


def _of_line(values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a line for those of a file."""
    found = dict(values)
    instances = found.pop("instances", None)
    if instances == UNLIMITED:
        found["unlimited"] = True
    elif instances is not None:
        found |= {"unlimited": False, "approved_instances": instances}
    return found


class Buckets(Kind):
    """How much of each bucket is used; the buckets themselves follow from the configurations of clusters."""

    word, title = "buckets", gettext_lazy("Buckets")
    about = gettext_lazy("Buckets follow from the configurations of clusters; an import says how much of them is used.")
    read, write = roles.READ, roles.OPERATE
    key = ("participant", "cluster", "name")
    part = "storage"

    def __init__(self) -> None:
        column = Bucket._meta.get_field
        named = of_model(
            Cluster._meta.get_field("name"), name="cluster", label=gettext_lazy("Cluster"), once=True, clears=False
        )
        self.columns = (
            ID,
            PARTICIPANT,
            named,
            of_model(column("name"), once=True, clears=False),
            of_model(column("used_tib")),
        )

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        slugs = {tenant.pk: tenant.slug for tenant in tenants}
        living = Bucket.objects.exclude(cluster__state="deleted").select_related("cluster")
        for row in living.order_by("tenant__slug", "cluster__name", "name", "pk"):
            values = {"participant": slugs[row.tenant_id], "cluster": row.cluster.name, "name": row.name}
            yield Current(str(row.pk), values | {"used_tib": row.used_tib}, row)

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        sentence = _(
            "There is no bucket '%(name)s' at the cluster '%(cluster)s'; buckets follow from its configuration."
        )
        sentence %= {"name": given["name"], "cluster": given["cluster"]}
        raise Refused("bucket", sentence, status=422, fields={"name": [sentence]})

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        version = row.thing.version
        actions.edit_record(block=row.thing, changes=dict(changes), version=version, by=hand.by, why=hand.why)


kind(Quotas())
kind(Buckets())
