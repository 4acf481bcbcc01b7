"""Asking the provider for more quota, from a line of the record."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from clusters import queries
from clusters.actions import quotas
from clusters.forms import MoreQuotaForm
from clusters.models import ServiceQuota
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def ask_for_more(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask the provider for more of what limits this line."""
    line: Any = get_object_or_404(queries.grants(), pk=pk)
    accounts = {str(row.pk): row for row in quotas.accounts_of(line)}
    form = MoreQuotaForm(
        posted(request), initial={"instances": line.approved_instances}, accounts=list(accounts.values())
    )
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = form.cleaned_data
            _asked, refused = attempt(
                quotas.ask_for_more, grant=line, account=accounts[told["account"]], instances=told["instances"],
                reason=told["reason"], by=request.actor,
            )  # fmt: skip
            if refused is None:
                messages.success(
                    request, _("The provider is being asked. The answer comes by itself, often after a day or more.")
                )
                return see_other(reverse("participant", args=[request.tenant.slug]) + "#quotas")
            status = refused.status
    limits = ServiceQuota.objects.filter(region=line.region, service=line.provider_service, name=line.provider_limit)
    context = {
        "line": line,
        "form": form,
        "refused": refused,
        "accounts": accounts,
        "limits": list(limits.select_related("account").order_by("account__account_id")),
    }
    return render(request, "clusters/quota_ask.html", context, status=status)
