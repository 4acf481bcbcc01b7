"""The page on which a Helm chart is recorded as installed on a cluster of Kubernetes."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from clusters import queries
from clusters.actions.software import record_chart
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other


class ChartForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Chart"), max_length=63, initial="hyperpod-dependencies")
    chart_version = forms.CharField(
        label=gettext_lazy("Release"), max_length=40, help_text=gettext_lazy("As helm list shows it, like 1.4.0.")
    )
    namespace = forms.CharField(label=gettext_lazy("Namespace"), max_length=63, initial="kube-system")
    sha256 = forms.CharField(label=gettext_lazy("SHA-256 of its archive"), max_length=64, required=False)


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def record(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Record a chart as installed."""
    row = queries.cluster(pk)
    form = ChartForm(posted(request))
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(record_chart, cluster=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Recorded."))
                return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]))
            status = refused.status
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "title": _("Record a chart on %(name)s") % {"name": row.name},
        "text": _(
            "Install it with Helm first; what is recorded here says which release this cluster has, and since when."
        ),
        "submit": _("Record it"),
    }
    return render(request, "clusters/decide.html", context, status=status)
