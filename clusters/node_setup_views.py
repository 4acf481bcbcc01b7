"""Pages about participants' own scripts for nodes: all of them, one with its versions, a new version."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from clusters import node_setups
from clusters.models import NodeSetup, NodeSetupVersion
from tenants.queries import actor_names, tenants
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other

NEWEST_VERSIONS = 50
FIRST = "#!/bin/bash\nset -euo pipefail\n\n"


class SetupForm(forms.Form):
    """A script, pasted or as a file; the file counts where there is one."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=40, help_text=gettext_lazy("Lower-case letters, digits and dashes.")
    )
    text = forms.CharField(
        label=gettext_lazy("Script"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
        help_text=gettext_lazy(
            "It runs as root on every node after ours, at most 25 minutes; COHORT_ROLE says what the node is for. Keep "
            "secrets in Secrets Manager: what is written here lies in a bucket."
        ),
    )
    file = forms.FileField(label=gettext_lazy("Or a file"), required=False)
    reason = forms.CharField(label=gettext_lazy("Why"), max_length=300, required=False)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].required = not self.files.get("file")  # one of both is enough

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or {}
        file = told.get("file")
        if file is not None:
            if file.size > node_setups.LARGEST:
                sentence = _("The file has %(n)s bytes; it may have %(most)s.")
                raise forms.ValidationError({"file": sentence % {"n": file.size, "most": node_setups.LARGEST}})
            try:
                told["text"] = file.read().decode()
            except UnicodeDecodeError:
                raise forms.ValidationError({"file": _("The file is no text in UTF-8.")}) from None
        if not (told.get("text") or "").strip():
            raise forms.ValidationError({"text": _("Paste a script, or choose a file.")})
        # A browser sends line ends of Windows for what was typed; those of a file are the file's own.
        if file is None:
            told["text"] = told["text"].replace("\r\n", "\n")
        return told


@allow(roles.READ)
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every script that one may see, by name."""
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    page = pages.by_name(NodeSetup.objects.select_related("tenant"), request)
    new_at = ""
    if request.role in roles.OPERATE and len(everybody) == 1:
        new_at = reverse("new_node_setup", args=[everybody[0].slug])
    context = {"rows": page.rows, "older": page.next, "several": len(everybody) > 1, "new_at": new_at}
    return render(request, "clusters/node_setups.html", context)


@allow(roles.READ)
@require_safe
def one(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One script: what its newest version says, what was found in it, and the versions before."""
    row = _row(pk)
    versions = list(NodeSetupVersion.objects.filter(setup=row).order_by("-number")[:NEWEST_VERSIONS])
    asked = request.GET.get("version", "")
    chosen = next((each for each in versions if str(each.number) == asked), versions[0] if versions else None)
    names = actor_names({each.author for each in versions})
    context = {
        "row": row,
        "chosen": chosen,
        "versions": [(each, names.get(each.author, each.author)) for each in versions],
        "findings": [each.sentence(_) for each in node_setups.findings(chosen.text)] if chosen else [],
        "may_keep": request.role in roles.OPERATE,
    }
    return render(request, "clusters/node_setup.html", context)


def _row(pk: UUID) -> NodeSetup:
    row = NodeSetup.objects.filter(pk=pk).first()
    if row is None:
        raise Http404
    return row


@allow(roles.OPERATE, upload=True)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Save a script."""
    form = SetupForm(posted(request), request.FILES or None, initial={"text": FIRST})
    return _kept(request, form, None, reverse("node_setups"))


@allow(roles.OPERATE, upload=True)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Save another version of one."""
    row = _row(pk)
    newest = NodeSetupVersion.objects.filter(setup=row).order_by("-number").first()
    first = {"name": row.name, "text": newest.text if newest else FIRST, "version": row.version}
    data = posted(request)
    form = SetupForm(data, request.FILES or None, initial=first)
    form.fields["name"].disabled = True
    return _kept(request, form, row, reverse("node_setup", args=[request.tenant.slug, row.pk]))


def _kept(request: HttpRequest, form: SetupForm, row: NodeSetup | None, back: str) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = {name: form.cleaned_data[name] for name in ("name", "text", "reason", "version")}
            made, refused = attempt(node_setups.keep, tenant=request.tenant, by=request.actor, **told)
            if refused is None:
                return see_other(reverse("node_setup", args=[request.tenant.slug, made.setup_id]))
            status = refused.status
    context = {"row": row, "form": form, "refused": refused, "back": back}
    return render(request, "clusters/keep_node_setup.html", context, status=status)
