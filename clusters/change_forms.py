"""Forms about clusters that are there: what may be changed, which software, which nodes."""

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.architectures.configuration import Configuration
from clusters.forms import ReasonForm
from clusters.models import CloudAccount, Node
from clusters.request_forms import RequestForm, first_of
from tenants.web.templatetags.show import words

# The way to the scheduler is changed on the cluster's page at once: it changes nothing of the cluster.
FIXED = ("name", "account", "az_id", "subnet", "vpc_cidr", "bucket", "bucket_exists", "reach", "kubernetes_namespace")


class ChangeForm(RequestForm):
    """What of a configuration can be changed in place; where and under which name it lives is what it is."""

    field_order = ["lustre_gib", "lustre_mbs", "openzfs_gib", "openzfs_mbs", "node_recovery", "reason"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, accounts=CloudAccount.objects.none(), **kwargs)
        for name in FIXED:
            self.fields.pop(name, None)
        self.fields["reason"].label = _("Why")
        self.fields["reason"].help_text = _("Whoever approves it reads this, and it stands in the history.")
        self.fields["reason"].required = True

    CARRIED = (
        "observability",
        "images",
        "node_setup",
        "accounting",
        "tiered_storage",
        "editor_role",
        "engine_settings",
        "kubernetes_queue",
        "kubernetes_priority",
    )

    @staticmethod
    def first(now: Configuration) -> dict[str, Any]:
        """The form filled in with what is."""
        storage = now.storage
        told: dict[str, Any] = {
            "lustre_gib": storage.lustre.capacity_gib,
            "lustre_mbs": str(storage.lustre.mbs_per_tib),
            "node_recovery": now.node_recovery,
            "deep_health_checks": list(now.deep_health_checks),
            "kubernetes": now.software.get("kubernetes", ""),
        }
        if storage.openzfs:
            told |= {"openzfs_gib": storage.openzfs.capacity_gib, "openzfs_mbs": str(storage.openzfs.mbs)}
            told["openzfs_deployment"] = storage.openzfs.deployment
        filled = first_of(now.document())
        return told | {name: filled[name] for name in ChangeForm.CARRIED if name in filled}

    def changed(self, now: Configuration, groups: list[dict[str, Any]]) -> dict[str, Any]:
        """The configuration as it is, with what was changed; what the form does not ask for stays."""
        told, document = self.cleaned_data, now.document()
        before = {group["name"]: group for group in document["instance_groups"]}
        storage = {
            **document["storage"],
            "lustre": {"capacity_gib": told["lustre_gib"], "mbs_per_tib": int(told["lustre_mbs"])},
        }
        if "openzfs_gib" in told:
            size, rate = told["openzfs_gib"], told.get("openzfs_mbs")
            kind = {"deployment": told["openzfs_deployment"]} if told.get("openzfs_deployment") else {}
            storage["openzfs"] = None if size is None else {"capacity_gib": size, "mbs": int(rate or 0) or None, **kind}
        software = dict(document["software"])
        if told.get("kubernetes"):
            software["kubernetes"] = told["kubernetes"]
        carried = self.carried()
        if "kubernetes" in carried:
            carried["kubernetes"] = {**(document["kubernetes"] or {}), **carried["kubernetes"]}
        checks = {"deep_health_checks": told["deep_health_checks"]} if "deep_health_checks" in told else {}
        return {
            **document,
            **checks,
            "instance_groups": [{**before.get(group["name"], {}), **group} for group in groups],
            "node_recovery": told["node_recovery"],
            "storage": storage,
            "software": software,
            **{name: told[name] for name in ("accounting", "editor_role") if name in told},
            **({"tiered_storage": int(told["tiered_storage"])} if told.get("tiered_storage") else {}),
            **({"engine_settings": told["engine_settings"] or {}} if "engine_settings" in told else {}),
            **carried,
        }

    @staticmethod
    def version(data: QueryDict) -> int | None:
        """The version of the cluster that the person was looking at."""
        text = data.get("version", "")
        return int(text) if text.isdigit() and len(text) < 10 else None


class StopJobs(ReasonForm):
    stop_jobs = forms.BooleanField(
        label=gettext_lazy("Jobs that run there may be stopped"),
        required=False,
        help_text=gettext_lazy("Without this it is refused while a job would be stopped."),
    )


class SoftwareForm(StopJobs):
    chosen = forms.MultipleChoiceField(label=gettext_lazy("Groups"), widget=forms.CheckboxSelectMultiple)
    field_order = ["chosen", "stop_jobs", "why", "version"]

    def __init__(self, *args: Any, groups: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["chosen"].choices = [(name, name) for name in groups]


class NodesForm(StopJobs):
    order = forms.ChoiceField(label=gettext_lazy("What"), widget=forms.RadioSelect)
    nodes = forms.MultipleChoiceField(label=gettext_lazy("Nodes"), widget=forms.CheckboxSelectMultiple)
    field_order = ["order", "nodes", "stop_jobs", "why", "version"]

    def __init__(self, *args: Any, nodes: list[Node], orchestrator: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = {
            "reboot": _("Reboot: the instance stays, with its disks"),
            "replace": _("Replace: another instance takes the seat"),
            "remove": _("Remove: the group gets smaller"),
        }
        offered = ["replace"] if orchestrator == "parallelcluster" else list(known)
        self.fields["order"].choices = [(name, known[name]) for name in offered]
        self.fields["nodes"].choices = [
            (str(node.pk), f"{node.name}, {words(node.state)}, {node.instance_id}") for node in nodes
        ]


class SkipForm(ReasonForm):
    skip = forms.MultipleChoiceField(
        label=gettext_lazy("Leave out"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "What is left out counts as put back and stays as it is: CloudFormation then believes something that is not "
            "so, and a later change of it may fail. Leave out only what nobody can mend."
        ),
    )
    field_order = ["skip", "why", "version"]

    def __init__(self, *args: Any, stuck: list[dict[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["skip"].choices = [(each["resource"], f"{each['resource']}, {each['type']}") for each in stuck]
        if not stuck:
            del self.fields["skip"]

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or {}
        return {"skip": [], **told}
