"""Pages about configurations that participants keep: all of them, one with its versions, a new one, two side by side."""

from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import architectures, checking, configuring, file_checks, foresight, listing
from clusters.configuration_forms import CheckForm, ConfigurationFilters, EditForm, KeepForm
from clusters.documents import kinds
from clusters.documents.reading import Unreadable
from clusters.findings import Finding
from clusters.models import Cluster, ClusterConfiguration, ConfigurationVersion
from clusters.request_forms import groups_of
from tenants.queries import actor_names, tenants
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.templatetags.show import words

NEWEST_VERSIONS = 50
MOST_OFFERED = 200


@allow(roles.READ)
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every configuration one may see, by name."""
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    form = ConfigurationFilters(request.GET, tenants=everybody)
    chosen = form.chosen()
    rows = configuring.configurations()
    if q := chosen.get("q"):
        rows = rows.filter(Q(name__icontains=q) | Q(main_type__icontains=q) | Q(architecture__icontains=q))
    if tenant := chosen.get("tenant"):
        rows = rows.filter(tenant__slug=tenant)
    if usable := chosen.get("usable"):
        rows = rows.filter(usable=usable == "yes")
    page = pages.by_name(rows, request)
    new_at = ""
    if request.role in roles.OPERATE and len(everybody) == 1:
        new_at = reverse("new_configuration", args=[everybody[0].slug])
    context = {
        "form": form,
        "chosen": chosen,
        "rows": page.rows,
        "older": page.next,
        "several": len(everybody) > 1,
        "new_at": new_at,
        "check_at": reverse("check_file", args=[everybody[0].slug])
        if request.role in roles.LAUNCH and len(everybody) == 1
        else "",
    }
    return render(request, "clusters/configurations.html", context, status=200 if form.is_valid() else 400)


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def check_file(request: HttpRequest) -> HttpResponse:
    """Look at a file of somebody's own for mistakes that are known; nothing of it is kept."""
    form = CheckForm(posted(request), request.FILES or None)
    context: dict[str, Any] = {"form": form}
    status = 200
    if request.method == "POST":
        if form.is_valid():
            name, text = form.told()
            found = file_checks.findings(name, text)
            context |= {
                "looked_at": name,
                "lines": [listing.of_finding(each) | {"line": each.values.get("line", 1)} for each in found],
                "size": len(text.splitlines()),
            }
        else:
            status = 422
    return render(request, "clusters/check_file.html", context, status=status)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Save a configuration: pasted, uploaded, or as a cluster has it."""
    clusters = Cluster.objects.exclude(state="deleted").order_by("name")
    form = KeepForm(
        posted(request), request.FILES or None, clusters=clusters, initial={"cluster": request.GET.get("cluster")}
    )
    return _kept(request, form, {"title": _("Save a configuration"), "back": reverse("configurations")})


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Write another version of one as text."""
    row = configuring.configuration(pk)
    newest = configuring.versions(row).first()
    first = {"version": row.version}
    if newest is not None:
        first |= {"text": newest.text, "beside": newest.beside}
    form = EditForm(posted(request), request.FILES or None, initial=first)
    back = reverse("configuration", args=[request.tenant.slug, row.pk])
    return _kept(request, form, {"title": _("Another version of %(name)s") % {"name": row.name}, "back": back}, row)


def _kept(
    request: HttpRequest, form: Any, context: dict[str, Any], row: ClusterConfiguration | None = None
) -> HttpResponse:
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = form.source() | {"name": row.name if row else form.cleaned_data["name"]}
            if row is None and (cluster := form.chosen()) and not told["text"].strip():
                told |= {"text": configuring.written(foresight.current(cluster).document()), "origin": "cluster"}
                told |= {"origin_name": cluster.name, "name": told["name"] or cluster.name}
            if row is not None:
                told["version"] = form.cleaned_data["version"]
            kept, refused = attempt(configuring.keep, tenant=request.tenant, by=request.actor, **told)
            if refused is None:
                return see_other(reverse("configuration", args=[request.tenant.slug, kept.configuration_id]))
            status = refused.status
    shown = context | {"form": form, "refused": refused, "row": row, "submit": _("Save it")}
    return render(request, "clusters/keep_configuration.html", shown, status=status)


@allow(roles.READ)
@require_safe
def configuration(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One configuration: a version of it, what was found about that, and the versions there are."""
    row = configuring.configuration(pk)
    versions = list(configuring.versions(row)[:NEWEST_VERSIONS])
    asked = request.GET.get("version", "")
    found = [each for each in versions if str(each.number) == asked] if asked else versions[:1]
    if not found:
        raise Http404
    shown = found[0]
    names = actor_names({each.author for each in versions})
    before = next((each for each in versions if each.number == shown.number - 1), None)
    findings = _findings(shown)
    context = {
        "row": row,
        "shown": shown,
        "versions": [(each, names.get(each.author, each.author)) for each in versions],
        "kind": _(kinds.KINDS.get(shown.kind, shown.kind)),
        "title_of": _title(shown),
        "groups": [{**each, "role_word": words(str(each.get("role") or "compute"))} for each in groups_of(shown.body)],
        "yaml": configuring.written(shown.body),
        "kept": configuring.written(shown.kept) if shown.kept else "",
        "before": before,
        "words": [each.sentence(_) for each in configuring.compared(before, shown).words] if before else [],
        "findings": [checking.told(each) for each in findings if each.level != "ok"],
        "others": configuring.newest_versions().exclude(configuration=row)[:MOST_OFFERED],
        "may": request.role in roles.OPERATE,
    }
    return render(request, "clusters/configuration.html", context)


def _findings(shown: ConfigurationVersion) -> list[Finding]:
    try:
        return list(configuring.judge(shown.text, shown.beside, with_engine=True).findings)
    except Unreadable as error:  # what could be read once may be refused by a stricter reader
        return [error.finding, *error.more]


def _title(shown: ConfigurationVersion) -> str:
    try:
        return _(architectures.architecture(shown.architecture).title)
    except LookupError:
        return shown.architecture


@allow(roles.READ)
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two versions, of one configuration or of two participants': in words, and side by side."""
    old, new = (_version(request.GET.get(side, "")) for side in ("old", "new"))
    context: dict[str, Any] = {"old": old, "new": new, "others": configuring.newest_versions()[:MOST_OFFERED]}
    if old is not None and new is not None:
        compared = configuring.compared(old, new)
        context |= {"words": [each.sentence(_) for each in compared.words], "lines": compared.rows}
    return render(request, "clusters/compare_configurations.html", context)


def _version(text: str) -> ConfigurationVersion | None:
    try:
        return configuring.version(UUID(text)) if text else None
    except ValueError:
        raise Http404 from None
