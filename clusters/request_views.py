"""The page on which a cluster is asked for: told in fields or pasted, checked as often as one likes, then requested."""

import dataclasses
import json
import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from clusters import actions, architectures, checking, configuring, facts, foresight, listing, queries
from clusters.architectures import Architecture
from clusters.budgets import effects
from clusters.budgets import queries as budget_queries
from clusters.checking import Checked
from clusters.findings import Finding
from clusters.models import ConfigurationVersion
from clusters.request_forms import (
    LARGEST_DOCUMENT,
    MOST_GROUPS,
    GroupForm,
    GroupSet,
    PasteForm,
    RequestForm,
    first_of,
    groups_of,
    kept,
)
from tenants import participating
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused

FIRST_NODES = 2
KEPT = {"text": "document_text", "name": "name", "reason": "reason"}
# Where a finding's path in the configuration is asked for on the page.
FIELDS = {
    "name": "id_name",
    "region": "id_az_id",
    "az_id": "id_az_id",
    "vpc_cidr": "id_vpc_cidr",
    "subnet_cidr": "id_subnet",
    "storage.lustre.capacity_gib": "id_lustre_gib",
    "storage.lustre.mbs_per_tib": "id_lustre_mbs",
    "storage.openzfs.capacity_gib": "id_openzfs_gib",
    "storage.openzfs.mbs": "id_openzfs_mbs",
    "storage.bucket": "id_bucket",
    "node_recovery": "id_node_recovery",
    "accounting": "id_accounting",
    "tiered_storage": "id_tiered_storage",
    "editor_role": "id_editor_role",
    "engine_settings": "id_engine_settings",
    "storage.openzfs.deployment": "id_openzfs_deployment",
    "observability": "id_observability",
    "reach": "id_reach",
    "kubernetes.namespace": "id_kubernetes_namespace",
    "kubernetes.queue": "id_kubernetes_queue",
    "kubernetes.priority": "id_kubernetes_priority",
    "images": "id_images",
    "node_setup": "id_node_setup",
}


LABELS = {
    "az_id": gettext_lazy("Region and zone"),
    "region": gettext_lazy("Region and zone"),
    "vpc_cidr": gettext_lazy("Network"),
    "subnet_cidr": gettext_lazy("Room for nodes"),
    "instance_groups": gettext_lazy("Instance groups"),
    "storage.lustre.capacity_gib": gettext_lazy("Lustre"),
    "storage.lustre.mbs_per_tib": gettext_lazy("Throughput"),
    "storage.openzfs.capacity_gib": gettext_lazy("OpenZFS"),
    "storage.openzfs.mbs": gettext_lazy("Throughput of OpenZFS"),
    "storage.bucket": gettext_lazy("Bucket"),
    "editor_role": gettext_lazy("Role of those who work with jobs"),
    "engine_settings": gettext_lazy("Settings of ParallelCluster"),
    "storage.openzfs.deployment": gettext_lazy("Kind of OpenZFS"),
    "observability": gettext_lazy("Monitoring"),
    "reach": gettext_lazy("Way to the scheduler"),
    "kubernetes.namespace": gettext_lazy("Namespace"),
    "kubernetes.queue": gettext_lazy("Local queue"),
    "kubernetes.priority": gettext_lazy("Priority"),
    "images": gettext_lazy("Images"),
    "node_setup": gettext_lazy("Your own node set-up"),
}


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def request_cluster(request: HttpRequest) -> HttpResponse:
    """Ask for a cluster. `do` says which button was used: shape, add, check or request; type: none, it is being typed."""
    participation = participating.current_first().exclude(state__in=["closed", "withdrawn"]).first()
    accounts = queries.accounts()
    if participation is None or not accounts.exists():
        return render(
            request, "clusters/request.html", {"missing": "participation" if participation is None else "account"}
        )
    pasting = (request.POST if request.method == "POST" else request.GET).get("mode") == "paste"
    page = _Pasted(request, accounts) if pasting else _Told(request, accounts)
    do = request.POST.get("do", "request") if request.method == "POST" else ""
    checked, refused, status = None, None, 200
    if do == "keep":
        kept, refused = page.keep()
        if kept is not None:
            return see_other(reverse("configuration", args=[request.tenant.slug, kept.configuration_id]))
        status = refused.status if refused else 422
    if do in ("type", "check", "request"):
        if do == "type":
            page.form.fields["name"].required = False  # it may come last
        checked = page.check()
        status = 422 if do == "request" else 200
        if do == "request" and checked is not None and checked.fits:
            row, refused = attempt(
                actions.request_cluster, participation=participation, by=request.actor, **page.told()
            )
            if refused is None:
                messages.success(request, _("Requested. You see here how it goes on."))
                return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]))
            status = refused.status
    context = (
        page.context()
        | _findings(checked, labelled=not pasting)
        | _plan(page, checked)
        | {"refused": refused, "pasting": pasting, "do": do, "account_at": _account_page(request, page, checked)}
    )
    part = "#findings" if do in ("type", "check") and request.headers.get("HX-Request") else ""
    return render(request, f"clusters/request.html{part}", context, status=status)


def _account_page(request: HttpRequest, page: Any, checked: Checked | None) -> str:
    """Where the account is asked again; for whoever has just had it mended."""
    account = page.form.cleaned_data.get("account") if checked is not None else None
    return reverse("account", args=[request.tenant.slug, account.pk]) if account is not None else ""


def _plan(page: Any, checked: Checked | None) -> dict[str, Any]:
    """What will be made, how long it takes and what it costs, as soon as the configuration can be read."""
    if checked is None or checked.configuration is None:
        return {}
    planned, refused = attempt(foresight.for_request, account=page.form.cleaned_data["account"], checked=checked)
    if planned is None or refused is not None:
        return {}
    return {
        "plan": foresight.told(foresight.kept(planned)),
        "budget": effects.of_wish(budget_queries.here(), checked.configuration),
    }


class _Told:
    """The configuration in fields."""

    def __init__(self, request: HttpRequest, accounts: Any) -> None:
        self.request = request
        self.architecture = _chosen(request)
        self.on_ec2 = self.architecture.on_ec2
        self.reserved = [
            each
            for each in queries.reservations().exclude(external_id="")
            if (each.kind == "training_plan") != self.on_ec2
        ]
        given = {"accounts": accounts, "architecture": self.architecture}
        rows = {"prefix": "groups", "form_kwargs": {"architecture": self.architecture}}
        if request.method != "POST":
            start = _start(request)
            first = first_of(start.body) | {"name": start.configuration.name} if start else self._first()
            self.form = RequestForm(initial=first, **given)
            self.groups = GroupSet(initial=groups_of(start.body) if start else self._first_groups(), **rows)
        elif request.POST.get("do") in ("shape", "add"):
            self.form = RequestForm(initial=kept(request.POST, RequestForm(**given)), **given)
            self.groups = GroupSet(initial=self._kept_groups(GroupSet(request.POST, **rows)), **rows)
        else:
            self.form = RequestForm(request.POST, **given)
            self.groups = GroupSet(request.POST, **rows)

    def _first(self) -> dict[str, Any]:
        """A start that fits: the zone of what is reserved, where something is; monitoring by what the account has."""
        first = {"az_id": self.reserved[0].az_id} if self.reserved else {}
        account = queries.accounts().first()
        return first | {"observability": _monitoring(account, self.architecture)}

    def _first_groups(self) -> list[dict[str, Any]]:
        held = self.reserved[0] if self.reserved else None
        workers: dict[str, Any] = {
            "name": "workers",
            "instance_type": "p5.48xlarge",
            "role": "compute",
            "count": FIRST_NODES,
        }
        if held:
            where = "reservation" if self.on_ec2 else "training_plan"
            workers |= {"instance_type": held.instance_type, "count": held.count, where: held.external_id}
        controller = {"name": "controller", "instance_type": "m5.8xlarge", "count": 1, "role": "controller"}
        return [controller, workers] if "controller" in self.architecture.roles else [workers]

    def _kept_groups(self, told: Any) -> list[dict[str, Any]]:
        total = min(told.total_form_count(), MOST_GROUPS) if told.management_form.is_valid() else 0
        rows = [
            {name: self.request.POST.get(f"groups-{index}-{name}", "") for name in GroupForm.base_fields}
            for index in range(total)
            if not self.request.POST.get(f"groups-{index}-DELETE")
        ]
        rows = [row for row in rows if any(row[name] for name in ("name", "instance_type", "count"))]
        # A role that this architecture does not know belongs to the one chosen before.
        rows = [row for row in rows if row["role"] in self.architecture.roles]
        if self.request.POST.get("do") == "add":
            return [*rows, {"role": "compute"}]
        present = {row["role"] for row in rows}
        return [*(row for row in self._first_groups() if row["role"] not in present), *rows]

    def check(self) -> Checked | None:
        fine = self.form.is_valid() and self.groups.is_valid()
        return checking.check_with_engine(**self._wish()) if fine else None

    def keep(self) -> tuple[ConfigurationVersion | None, Refused | None]:
        """Write it down as a version of the configuration of that name, with what an earlier one keeps beside it."""
        if not (self.form.is_valid() and self.groups.is_valid()):
            return None, None
        told = self._wish()
        earlier = configuring.newest_versions().filter(configuration__name=told["name"]).first()
        text = configuring.written(told["body"], earlier.kept if earlier else None)
        return attempt(
            configuring.keep,
            tenant=self.request.tenant,
            by=self.request.actor,
            text=text,
            name=told["name"],
            origin="form",
            reason=self.form.cleaned_data["reason"],
        )

    def _wish(self) -> dict[str, Any]:
        told = self.form.cleaned_data
        return {"account": told["account"], "name": told["name"], "body": self.form.document(self.groups.told())}

    def told(self) -> dict[str, Any]:
        return self._wish() | {"reason": self.form.cleaned_data["reason"]}

    def context(self) -> dict[str, Any]:
        known = facts.load()
        return {
            "form": self.form,
            "groups": self.groups,
            "architecture": self.architecture,
            "architectures": architectures.architectures(),
            "reserved": self.reserved,
            "instance_types": sorted(known.instances.values(), key=lambda each: (not each.accelerators, each.name)),
        }


class _Pasted:
    """The configuration as one text."""

    def __init__(self, request: HttpRequest, accounts: Any) -> None:
        self.request = request
        start = _start(request)
        first = {"document_text": configuring.written(start.body), "name": start.configuration.name} if start else {}
        self.form = PasteForm(posted(request), accounts=accounts, initial=first)

    def keep(self) -> tuple[ConfigurationVersion | None, Refused | None]:
        """Write it down as it was pasted, unfinished or not."""
        told = {name: self.request.POST.get(field, "") for name, field in KEPT.items()}
        if len(told["text"]) > LARGEST_DOCUMENT:
            return None, None
        return attempt(configuring.keep, tenant=self.request.tenant, by=self.request.actor, **told)

    def check(self) -> Checked | None:
        return checking.check_with_engine(**self._wish()) if self.form.is_valid() else None

    def _wish(self) -> dict[str, Any]:
        told = self.form.cleaned_data
        return {"account": told["account"], "name": told["name"], "body": told["document_text"]}

    def told(self) -> dict[str, Any]:
        return self._wish() | {"reason": self.form.cleaned_data["reason"]}

    def context(self) -> dict[str, Any]:
        return {"form": self.form, "example": json.dumps(EXAMPLE, indent=2)}


EXAMPLE = {
    "architecture": "hyperpod-slurm",
    "region": "ap-northeast-1",
    "az_id": "apne1-az4",
    "subnet_cidr": "/22",
    "instance_groups": [
        {"name": "controller", "instance_type": "m5.8xlarge", "count": 1, "role": "controller"},
        {"name": "workers", "instance_type": "p5.48xlarge", "count": 4, "training_plan": "tp-name"},
    ],
    "storage": {"lustre": {"capacity_gib": 4800, "mbs_per_tib": 250}},
}


def _monitoring(account: Any, architecture: Architecture) -> str:
    """Managed where people can be signed in to it, else on a machine; none where the architecture is older than that."""
    if "observability" not in architecture.parameters or account is None:
        return "none"
    region = account.regions[0] if account.regions else ""
    managed = account.identity_center == "yes" and region in facts.grafana_regions()
    return "managed" if managed else "instance"


def _label(path: str) -> str:
    """The path of a field in a configuration as the form calls it."""
    if group := re.fullmatch(r"instance_groups\[(\d+)\]\.(\w+)", path):
        name = GroupForm.base_fields[group[2]].label if group[2] in GroupForm.base_fields else group[2]
        return _("group %(n)s, %(field)s") % {"n": int(group[1]) + 1, "field": name}
    if path.startswith("engine_settings."):
        return path.removeprefix("engine_settings.")
    return str(LABELS.get(path, path))


def _start(request: HttpRequest) -> ConfigurationVersion | None:
    """The kept configuration that the form begins with."""
    asked = request.GET.get("configuration", "") if request.method != "POST" else ""
    try:
        return configuring.version(UUID(asked)) if asked else None
    except ValueError:
        raise Http404 from None


def _chosen(request: HttpRequest) -> Architecture:
    known = {each.slug: each for each in architectures.architectures()}
    if start := _start(request):
        return known.get(start.architecture) or known["hyperpod-slurm"]
    asked = request.POST.get("architecture") or request.GET.get("architecture")
    return known.get(asked) or known.get("hyperpod-slurm") or next(iter(known.values()))


def _findings(checked: Checked | None, *, labelled: bool) -> dict[str, Any]:
    """What was found: what does not fit by who can change it, what is to be minded or not known, and what fits."""
    told = [_in_words(each, labelled) for each in (checked.findings if checked else [])]
    open_ = [each for each in told if each["verdict"] in ("unknown", "mind")]
    return {
        "checked": checked,
        "counts": listing.counts(told),
        "against": [each for each in told if each["verdict"] == "fail"],
        "to_mend": listing.by_who(each for each in told if each["verdict"] == "fail"),
        "to_mind": listing.by_who(open_),
        "open": len(open_),
        "unknown": sum(each["verdict"] == "unknown" for each in told),
        "fine": [each for each in told if each["verdict"] == "pass"],
    }


def _place(path: str) -> str:
    """The field or the panel of the page in which it was asked for."""
    whole = next((each for each in ("instance_groups", "engine_settings") if path.startswith(each)), path)
    return FIELDS.get(whole, "groups" if whole == "instance_groups" else "")


def _in_words(finding: Finding, labelled: bool) -> dict[str, Any]:
    # Who fills in a form has never seen the paths of a configuration.
    shown = dataclasses.replace(finding, field=_label(finding.field)) if labelled else finding
    return listing.of_finding(shown) | {"at": _place(finding.field)}
