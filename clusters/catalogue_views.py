"""Pages of the catalogue of reference architectures: all of them, one of them, and its files to take away."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from clusters import architectures, catalogue, queries, showing
from clusters.architectures import Architecture, export
from clusters.forms import ANY
from tenants.wall import roles
from tenants.wall.access import allow

PROOFS = [ANY, ("fresh", gettext_lazy("Fresh")), ("expired", gettext_lazy("Expired"))]
MOST_CLUSTERS = 50


class CatalogueFilters(forms.Form):
    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=80)
    engine = forms.ChoiceField(label=gettext_lazy("Engine"), required=False)
    region = forms.ChoiceField(label=gettext_lazy("Region"), required=False)
    accelerator = forms.ChoiceField(label=gettext_lazy("Accelerator"), required=False)
    proof = forms.ChoiceField(label=gettext_lazy("Proof"), required=False, choices=PROOFS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["q"].widget.attrs |= {"type": "search", "data-slash": ""}
        self.fields["engine"].choices = [ANY, *((label, showing.ENGINES[label]) for label in catalogue.engines())]
        self.fields["region"].choices = [ANY, *((region, region) for region in catalogue.regions())]
        self.fields["accelerator"].choices = [ANY, *catalogue.MOSTLY.items()]

    def chosen(self) -> dict[str, str]:
        return {name: value for name, value in self.cleaned_data.items() if value} if self.is_valid() else {}


@allow(roles.READ)
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every reference architecture in its newest version."""
    form, today = CatalogueFilters(request.GET), timezone.localdate()
    chosen = form.chosen()
    used = queries.clusters_by_architecture()
    rows = [_row(each, used) for each in catalogue.matching(today, **chosen)]
    context = {"form": form, "chosen": chosen, "rows": rows}
    return render(request, "clusters/catalogue.html", context, status=200 if form.is_valid() else 400)


def _row(each: Architecture, used: dict[tuple[str, str], int]) -> dict[str, Any]:
    mine = {version: count for (slug, version), count in used.items() if slug == each.slug}
    return {
        "one": each,
        "engine": showing.ENGINES[each.label],
        "accelerators": [catalogue.MOSTLY[kind] for kind in catalogue.accelerators(each)],
        "families": sorted({found.family for found in catalogue.training_types(each)}),
        "regions": [fit.region for fit in catalogue.fits(each) if fit.types],
        "fresh": each.proof.fresh(timezone.localdate()),
        "against": catalogue.AGAINST[each.proof.against],
        "clusters": sum(mine.values()),
        "behind": sum(count for version, count in mine.items() if version != each.version),
    }


@allow(roles.READ)
@require_safe
def architecture(request: HttpRequest, slug: str) -> HttpResponse:
    """One reference architecture: what it makes, where, within which limits, how sure it is, and its files."""
    each = _asked(request, slug)
    newest = architectures.architecture(slug)
    clusters = list(queries.clusters().filter(architecture=slug).order_by("name", "id")[: MOST_CLUSTERS + 1])
    context = {
        **_row(each, {}),
        "newest": newest,
        "old": each.version != newest.version,
        "versions": architectures.versions(slug)[::-1],
        "fits": catalogue.fits(each),
        "parameters": [(limits, export.limits(limits)) for limits in each.parameters.values()],
        "changes": [(change, catalogue.EFFECTS[change.effect]) for change in newest.changelog],
        "files": catalogue.files(each),
        "parts": [(part, showing.PART_NAMES.get(part.role, part.role)) for part in each.parts],
        "clusters": clusters[:MOST_CLUSTERS],
        "more_clusters": len(clusters) > MOST_CLUSTERS,
        "several": len({row["tenant__slug"] for row in clusters}) > 1 or request.role in roles.STAFF,
    }
    return render(request, "clusters/architecture.html", context)


def _asked(request: HttpRequest, slug: str) -> Architecture:
    try:
        return architectures.architecture(slug, request.GET.get("version") or None)
    except LookupError:
        raise Http404 from None


@allow(roles.READ)
@require_safe
def export_all(request: HttpRequest) -> HttpResponse:
    """The whole catalogue as one archive."""
    return archive(export.repository(architectures.architectures()))


@allow(roles.READ)
@require_safe
def export_one(request: HttpRequest, slug: str) -> HttpResponse:
    """One version of one architecture as an archive."""
    each = _asked(request, slug)
    return archive(export.folder(each), each.slug, each.version)


def archive(files: dict[str, str], *named: str) -> HttpResponse:
    """An answer that is saved as a file."""
    name = "-".join(["cohort", *(named or ("architectures",))])
    answer = HttpResponse(export.zipped(files, name), content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
