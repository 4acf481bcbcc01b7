"""Where a cluster's Alertmanager posts to, with the cluster's own token; and the page on which that token is renewed."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from clusters import alerts, queries
from clusters.actions import alerts as taking
from clusters.forms import ReasonForm
from clusters.models import AlertIntake
from tenants.models import Tenant
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused


# No person and no seat: the token is the cluster's, opens this one address, and reads nothing.
@csrf_exempt
@require_POST
def take(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Alerts of one cluster, in the shape of Alertmanager's webhook."""
    scheme, _sep, token = request.headers.get("Authorization", "").partition(" ")
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > alerts.LARGEST:
        return _problem(413, "too_large", f"The message has {length} bytes; it may have {alerts.LARGEST}.")
    body = request.body  # a slow sender is waited for here, not inside the transaction
    place = Tenant.objects.filter(slug=tenant, is_office=False).first()
    if scheme.lower() != "bearer" or not token or place is None:
        return _not_known()
    try:
        with acting_for(place, staff=True):
            intake = AlertIntake.objects.select_related("cluster").filter(cluster_id=pk).first()
            if intake is None or not taking.opens(intake, token.strip()):
                return _not_known()
            if not intake.cluster.wanted or intake.cluster.state == "deleted":
                return _problem(410, "cluster_gone", "The cluster is deleted; it takes no alerts any more.")
            counted = taking.take_alerts(intake=intake, cluster=intake.cluster, told=alerts.read(body))
    except Refused as error:
        return _problem(error.status, error.code, error.sentence, **error.facts)
    return JsonResponse(counted)


def _not_known() -> HttpResponse:
    response = _problem(401, "not_known", "The token is missing, unknown or replaced; send it as 'Bearer TOKEN'.")
    response["WWW-Authenticate"] = "Bearer"
    return response


def _problem(status: int, code: str, sentence: str, **facts: object) -> JsonResponse:
    told = {"type": "about:blank", "title": sentence, "status": status, "code": code, "detail": sentence, **facts}
    return JsonResponse(told, status=status, content_type="application/problem+json")


@allow(roles.OPERATE)
@require_http_methods(["GET", "POST"])
def renew(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Make a new token for a cluster's alerts."""
    row = queries.cluster(pk)
    form = ReasonForm(posted(request), initial={"version": row.version}, optional=True)
    status, refused = 200, None
    if request.method == "POST" and form.is_valid():
        version = form.cleaned_data["version"]
        _done, refused = attempt(taking.renew_token, cluster=row, by=request.actor, version=version)
        if refused is None:
            messages.success(request, _("There is a new token; the engine brings it into the account."))
            return see_other(reverse("cluster", args=[request.tenant.slug, row.pk]))
        status = refused.status
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "title": _("Make a new token for the alerts of %(name)s?") % {"name": row.name},
        "text": _(
            "Nobody sees it: it is written into the account's own secret. The one before opens for another day, until "
            "the change has arrived."
        ),
        "submit": _("Make a new one"),
    }
    return render(request, "clusters/decide.html", context, status=status)
