"""The form in which a cluster is asked for, and how what it says becomes a configuration document."""

from collections.abc import Mapping
from typing import Any

import yaml
from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from clusters import facts, node_setups
from clusters.architectures import Architecture, Parameter
from clusters.architectures.configuration import NAME_LENGTH, VPC_CIDR
from clusters.documents import kinds, reading
from clusters.models import Cluster
from tenants.web.templatetags.show import words

MOST_GROUPS = 100
SUBNETS = range(20, 26)
LOST_PER_SUBNET = 5  # AWS keeps five addresses of every subnet
LARGEST_DOCUMENT, LARGEST_SETTINGS = 200_000, 20_000
PLAIN = {"spellcheck": "false", "autocomplete": "off", "autocapitalize": "off"}
RESERVED = forms.TextInput(attrs=PLAIN | {"list": "reserved"})

MONITORING = {
    "none": gettext_lazy("none"),
    "managed": gettext_lazy("with Amazon Managed Grafana"),
    "instance": gettext_lazy("with a Grafana of its own"),
}
IMAGE_EXAMPLE = "train 111122223333.dkr.ecr.us-east-1.amazonaws.com/train@sha256:…"

# Words of choices and units in the catalogue, where the translators' tools find them.
OF_CHOICES = (gettext_noop("Automatic"), gettext_noop("None"), gettext_noop("MB/s per TiB"))


def options(limits: Parameter) -> list[tuple[Any, str]]:
    return [(str(choice), f"{_(str(choice))} {_(limits.unit)}".strip()) for choice in limits.choices]


def read_text(text: str) -> Any:
    """What a text in JSON or YAML says. Raises ValidationError."""
    try:
        return reading.read(text).value
    except reading.Unreadable as error:
        raise forms.ValidationError(error.finding.sentence(_)) from None


class EngineSettings(forms.CharField):
    """What ParallelCluster is told in its own words, beside what Cohort tells it."""

    def __init__(self, open_to: tuple[str, ...]) -> None:
        example = "Monitoring:\n  DetailedMonitoring: true"
        super().__init__(
            label=_("Settings of ParallelCluster"),
            required=False,
            max_length=LARGEST_SETTINGS,
            strip=False,
            widget=forms.Textarea(attrs=PLAIN | {"rows": 8, "class": "mono", "placeholder": example}),
            help_text=_("YAML as in its own configuration file. Open are: %(parts)s.") % {"parts": ", ".join(open_to)},
        )

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return read_text(text) if text and text.strip() else {}


class WhatAndWhere(forms.Form):
    """Which architecture, under which name, in which account: asked for whichever way the rest is told."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=63,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=gettext_lazy("Lower-case letters, digits and dashes. It cannot be changed later."),
    )
    account = forms.ModelChoiceField(label=gettext_lazy("Account"), queryset=None, empty_label=None)
    reason = forms.CharField(
        label=gettext_lazy("What it is for"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("Whoever approves it reads this."),
    )

    def __init__(self, *args: Any, accounts: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["account"].queryset = accounts
        self.fields["account"].label_from_instance = lambda account: f"{account.account_id} {account.name}".strip()


class RequestForm(WhatAndWhere):
    """A cluster in fields; limits, defaults and help come from the architecture."""

    az_id = forms.ChoiceField(label=gettext_lazy("Region and zone"))
    subnet = forms.ChoiceField(
        label=gettext_lazy("Room for nodes"),
        help_text=gettext_lazy("Every network card of a node takes an address of the subnet."),
    )
    vpc_cidr = forms.CharField(
        label=gettext_lazy("Network"),
        max_length=18,
        required=False,
        widget=forms.TextInput(attrs=PLAIN | {"placeholder": VPC_CIDR}),
    )
    lustre_gib = forms.IntegerField(label=gettext_lazy("Lustre"))
    lustre_mbs = forms.ChoiceField(label=gettext_lazy("Throughput"))
    bucket = forms.CharField(
        label=gettext_lazy("Bucket"), max_length=63, required=False, widget=forms.TextInput(attrs=PLAIN)
    )
    bucket_exists = forms.BooleanField(label=gettext_lazy("The bucket is there already"), required=False)
    node_recovery = forms.ChoiceField(label=gettext_lazy("When a node fails its checks"))

    def __init__(self, *args: Any, architecture: Architecture, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.architecture = architecture
        limits = architecture.parameters
        self.fields["az_id"].choices = zones(architecture)
        self.fields["subnet"].choices = [(f"/{size}", _subnet(size)) for size in SUBNETS]
        self.fields["subnet"].initial = "/22"
        self._number("lustre_gib", limits["storage.lustre.capacity_gib"])
        self._choice("lustre_mbs", limits["storage.lustre.mbs_per_tib"])
        self._choice("node_recovery", limits["node_recovery"])
        self.fields["bucket"].help_text = _(
            "An S3 bucket for data and checkpoints; Cohort makes it unless it is there already."
        )
        if "storage.openzfs.capacity_gib" in limits:
            self.fields["openzfs_gib"] = forms.IntegerField(label=_("OpenZFS"), required=False)
            self._number("openzfs_gib", limits["storage.openzfs.capacity_gib"], initial=None)
            self.fields["openzfs_gib"].help_text += " " + _("Empty: no such file system.")
            self.fields["openzfs_mbs"] = forms.ChoiceField(label=_("Throughput of OpenZFS"), required=False)
            self._choice("openzfs_mbs", limits["storage.openzfs.mbs"])
        if "deep_health_checks" in limits:
            self.fields["deep_health_checks"] = forms.MultipleChoiceField(
                label=_("Deep health checks"), required=False, widget=forms.CheckboxSelectMultiple
            )
            self._choice("deep_health_checks", limits["deep_health_checks"])
        self._parts_of_its_own(limits)
        self._what_it_carries(limits)
        if architecture.engine_settings:
            self.fields["engine_settings"] = EngineSettings(architecture.engine_settings)
        if "software.kubernetes" in limits:
            self.fields["kubernetes"] = forms.ChoiceField(label=_("Kubernetes"))
            self._choice("kubernetes", limits["software.kubernetes"])

    def _parts_of_its_own(self, limits: Mapping[str, Parameter]) -> None:
        """What only some architectures bring."""
        if "accounting" in limits and len(limits["accounting"].choices) > 1:
            self.fields["accounting"] = forms.BooleanField(
                label=_("Accounting database"), required=False, help_text=_(limits["accounting"].help)
            )
        if "tiered_storage" in limits:
            self.fields["tiered_storage"] = forms.ChoiceField(label=_("Checkpoints in memory"))
            self._choice("tiered_storage", limits["tiered_storage"])
        if "editor_role" in limits:
            self.fields["editor_role"] = forms.CharField(
                label=_("Role of those who work with jobs"),
                max_length=200,
                required=False,
                help_text=_(limits["editor_role"].help),
                widget=forms.TextInput(attrs=PLAIN | {"placeholder": "arn:aws:iam::111122223333:role/Trainers"}),
            )

    def _what_it_carries(self, limits: Mapping[str, Parameter]) -> None:
        """Monitoring, images, and the participant's own script."""
        if "storage.openzfs.deployment" in limits and "openzfs_gib" in self.fields:
            kinds = [(kind, kind) for kind in limits["storage.openzfs.deployment"].choices]
            self.fields["openzfs_deployment"] = forms.ChoiceField(
                label=_("Kind of OpenZFS"),
                required=False,
                choices=[("", _("The safest that the Region has")), *kinds],
                help_text=_(limits["storage.openzfs.deployment"].help),
            )
            self.fields["openzfs_mbs"].choices = [
                ("", _("256 MB/s or a little more")),
                *self.fields["openzfs_mbs"].choices,
            ]
            self.fields["openzfs_mbs"].initial = ""
        if "observability" in limits:
            self.fields["observability"] = forms.ChoiceField(
                label=_("Monitoring"),
                required=False,
                choices=list(MONITORING.items()),
                help_text=_(limits["observability"].help),
            )
        if "images" in limits:
            self.fields["images"] = forms.CharField(
                label=_("Images"),
                required=False,
                max_length=LARGEST_SETTINGS,
                help_text=_(limits["images"].help) + " " + _("One in a line, with a name before it where you like."),
                widget=forms.Textarea(attrs=PLAIN | {"rows": 3, "class": "mono", "placeholder": IMAGE_EXAMPLE}),
            )
        if "kubernetes.namespace" in limits:
            for name, label in (
                ("namespace", _("Namespace")),
                ("queue", _("Local queue")),
                ("priority", _("Priority")),
            ):
                self.fields[f"kubernetes_{name}"] = forms.CharField(
                    label=label,
                    required=False,
                    max_length=NAME_LENGTH,
                    help_text=_(limits[f"kubernetes.{name}"].help),
                    widget=forms.TextInput(attrs=PLAIN | {"placeholder": limits[f"kubernetes.{name}"].default or ""}),
                )
        if "reach" in limits:
            self.fields["reach"] = forms.ChoiceField(
                label=_("Way to the scheduler"),
                required=False,
                choices=[(str(way), label) for way, label in Cluster.Reach.choices],
                help_text=_(limits["reach"].help),
            )
        if "node_setup" in limits:
            self.fields["node_setup"] = forms.ChoiceField(
                label=_("Your own node set-up"),
                required=False,
                choices=[("", _("none")), *node_setups.choices()],
                help_text=_(limits["node_setup"].help),
            )

    def _number(self, name: str, limits: Parameter, **fixed: Any) -> None:
        field = self.fields[name]
        field.initial = fixed.get("initial", limits.default)
        field.help_text, field.unit = _(limits.help), limits.unit
        # The limits themselves are told by the check, with the number asked and who can change it.
        field.widget.attrs |= {"min": limits.minimum, "inputmode": "numeric"}

    def _choice(self, name: str, limits: Parameter) -> None:
        field = self.fields[name]
        field.choices, field.help_text = options(limits), _(limits.help)
        field.initial = [] if isinstance(field, forms.MultipleChoiceField) else str(limits.default)

    def document(self, groups: list[dict[str, Any]]) -> dict[str, Any]:
        """The configuration as a document, to be read and checked like one that somebody pasted."""
        told, limits = self.cleaned_data, self.architecture.parameters
        storage: dict[str, Any] = {
            "lustre": {"capacity_gib": told["lustre_gib"], "mbs_per_tib": int(told["lustre_mbs"])},
            "bucket": told["bucket"],
            "bucket_exists": told["bucket_exists"],
        }
        if told.get("openzfs_gib") is not None:
            storage["openzfs"] = self._openzfs(told, limits)
        return {
            "architecture": self.architecture.slug,
            "version": self.architecture.version,
            "region": facts.load().region_of(told["az_id"]) or "",
            "az_id": told["az_id"],
            "vpc_cidr": told["vpc_cidr"] or VPC_CIDR,
            "subnet_cidr": told["subnet"],
            "instance_groups": groups,
            "node_recovery": told["node_recovery"],
            "deep_health_checks": told.get("deep_health_checks", []),
            "storage": storage,
            "software": {"kubernetes": told["kubernetes"]} if "kubernetes" in told else {},
            **{name: told[name] for name in ("accounting", "editor_role") if name in told},
            **({"tiered_storage": int(told["tiered_storage"])} if "tiered_storage" in told else {}),
            "engine_settings": told.get("engine_settings") or {},
            **self.carried(),
        }

    @staticmethod
    def _openzfs(told: Mapping[str, Any], limits: Mapping[str, Parameter]) -> dict[str, Any]:
        mbs = told.get("openzfs_mbs")
        if "storage.openzfs.deployment" not in limits:
            return {
                "capacity_gib": told["openzfs_gib"],
                "mbs": int(mbs or limits["storage.openzfs.mbs"].default),
            }
        deployment = told.get("openzfs_deployment") or ""
        return {"capacity_gib": told["openzfs_gib"], "mbs": int(mbs) if mbs else None, "deployment": deployment}

    def carried(self) -> dict[str, Any]:
        """What stands beside the engine, as a document has it."""
        told = self.cleaned_data
        found: dict[str, Any] = {}
        if "kubernetes_queue" in self.fields:
            names = [name for name in ("namespace", "queue", "priority") if f"kubernetes_{name}" in self.fields]
            found["kubernetes"] = {name: told.get(f"kubernetes_{name}") or "" for name in names}
        if "reach" in self.fields:
            found["reach"] = told.get("reach") or str(Cluster.Reach.DIRECT)
        if "observability" in self.fields:
            found["observability"] = told.get("observability") or "none"
        if "images" in self.fields:
            found["images"] = images_of(told.get("images") or "")
        if "node_setup" in self.fields:
            found["node_setup"] = node_setups.chosen(told.get("node_setup") or "")
        return found


def images_of(text: str) -> list[dict[str, str]]:
    """One image in a line, `name uri` or the address alone; what is wrong with it, the check says."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return [{"name": row[0] if len(row) > 1 else "", "uri": row[-1]} for row in rows]


def as_lines(images: Any) -> str:
    rows = images if isinstance(images, list) else []
    return "\n".join(
        f"{each.get('name', '')} {each.get('uri', '')}".strip() for each in rows if isinstance(each, Mapping)
    )


def first_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The form filled in with a document, as far as it goes."""
    storage = _fields(document.get("storage"))
    lustre, openzfs = _fields(storage.get("lustre")), _fields(storage.get("openzfs"))
    subnet = str(document.get("subnet_cidr") or "")
    told = {
        "az_id": document.get("az_id"),
        "subnet": f"/{subnet.rpartition('/')[2]}" if subnet else None,
        "vpc_cidr": document.get("vpc_cidr"),
        "lustre_gib": lustre.get("capacity_gib"),
        "lustre_mbs": lustre.get("mbs_per_tib"),
        "openzfs_gib": openzfs.get("capacity_gib"),
        "openzfs_mbs": openzfs.get("mbs"),
        "openzfs_deployment": openzfs.get("deployment"),
        "reach": document.get("reach"),
        **{f"kubernetes_{name}": value for name, value in _fields(document.get("kubernetes")).items()},
        "observability": document.get("observability"),
        "images": as_lines(document.get("images")),
        "node_setup": _setup(document.get("node_setup")),
        "bucket": storage.get("bucket"),
        "bucket_exists": storage.get("bucket_exists"),
        "kubernetes": _fields(document.get("software")).get("kubernetes"),
        "engine_settings": _written(document.get("engine_settings")),
        **{
            name: document.get(name)
            for name in ("node_recovery", "deep_health_checks", "accounting", "tiered_storage", "editor_role")
        },
    }
    return {name: value for name, value in told.items() if value not in (None, "", [])}


def groups_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the groups filled in with a document."""
    rows = document.get("instance_groups")
    return [dict(each) for each in rows[:MOST_GROUPS] if isinstance(each, Mapping)] if isinstance(rows, list) else []


def _setup(value: Any) -> str:
    return f"{value.get('name')}@{value.get('version')}" if isinstance(value, Mapping) else ""


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _written(settings: Any) -> str:
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True) if settings else ""


def zones(architecture: Architecture) -> list[tuple[str, list[tuple[str, str]]]]:
    """The zones of each Region in which the architecture is offered."""
    known = facts.load().zones
    allowed = architecture.control_zones
    return [
        (
            region,
            [
                (zone, f"{region}, {zone}")
                for zone in known.get(region, ())
                if zone in (allowed.get(region) or known[region])
            ],
        )
        for region in architecture.regions
        if region in known
    ]


def _subnet(size: int) -> str:
    return _("/%(size)s: %(n)s addresses") % {"size": size, "n": f"{2 ** (32 - size) - LOST_PER_SUBNET:,}"}


class GroupForm(forms.Form):
    """One instance group. HyperPod takes training plans; EC2 takes reservations, and says how it charges for them."""

    name = forms.CharField(label=gettext_lazy("Group"), max_length=63, widget=forms.TextInput(attrs=PLAIN))
    role = forms.ChoiceField(label=gettext_lazy("Role"), initial="compute")
    instance_type = forms.CharField(
        label=gettext_lazy("Instance type"),
        max_length=40,
        widget=forms.TextInput(attrs=PLAIN | {"list": "instance-types"}),
    )
    count = forms.IntegerField(
        label=gettext_lazy("Nodes"), widget=forms.NumberInput(attrs={"min": 1, "inputmode": "numeric"})
    )
    training_plan = forms.CharField(
        label=gettext_lazy("Training plan"), max_length=200, required=False, widget=RESERVED
    )
    reservation = forms.CharField(label=gettext_lazy("Reservation"), max_length=200, required=False, widget=RESERVED)
    capacity = forms.ChoiceField(label=gettext_lazy("Capacity"), required=False)

    def __init__(self, *args: Any, architecture: Architecture, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [(name, words(name)) for name in architecture.roles]
        capacity = architecture.parameters.get("instance_groups.capacity")
        for name in ("training_plan",) if capacity else ("reservation", "capacity"):
            del self.fields[name]
        if capacity:
            self.fields["capacity"].choices = options(capacity)
            self.fields["capacity"].initial = str(capacity.default)


class Groups(forms.BaseFormSet):
    """The instance groups; a row marked as left out, or empty, is none."""

    def add_fields(self, form: forms.Form, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields["DELETE"].label = _("Leave out")

    def told(self) -> list[dict[str, Any]]:
        rows = [form.cleaned_data for form in self.forms if form.cleaned_data and not form.cleaned_data.get("DELETE")]
        return [{name: value for name, value in row.items() if name != "DELETE"} for row in rows]


GroupSet = forms.formset_factory(
    GroupForm,
    formset=Groups,
    extra=0,
    max_num=MOST_GROUPS,
    absolute_max=MOST_GROUPS,
    validate_max=True,
    can_delete=True,
)


class PasteForm(WhatAndWhere):
    """A configuration as somebody has it already, in JSON or YAML."""

    document_text = forms.CharField(
        label=gettext_lazy("Configuration"),
        max_length=LARGEST_DOCUMENT,
        strip=False,
        widget=forms.Textarea(attrs=PLAIN | {"rows": 22, "class": "mono"}),
        help_text=gettext_lazy("JSON or YAML. A cluster's page shows its own in this form, ready to be copied."),
    )

    def clean_document_text(self) -> Any:
        """Our own document as it is; a file of ParallelCluster or a request to HyperPod in our words."""
        text = self.cleaned_data["document_text"]
        try:
            found = kinds.understand(text)
        except reading.Unreadable as error:
            raise forms.ValidationError([each.sentence(_) for each in (error.finding, *error.more)][:20]) from None
        if found.kind == "cohort" or found.document is None:
            return found.source.value
        against = [each.sentence(_) for each in found.findings if each.code == "placeholder_unfilled"]
        if against:
            raise forms.ValidationError(against[:20])
        return dict(found.document)


def kept(data: QueryDict, form: forms.Form) -> dict[str, Any]:
    """What was typed, as the first values of a form that is shown again without being judged."""
    many = {name for name, field in form.fields.items() if isinstance(field, forms.MultipleChoiceField)}
    return {
        name: (data.getlist(name) if name in many else data.get(name))
        for name in form.fields
        if name in data or name in many
    }
