"""Signing in by choosing a person, for demonstrations only: it exists where the setting PERSONA_PICKER is on."""

from typing import Any

from allauth.account.views import LoginView
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME, login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from tenants.models import Membership, Person, holding
from tenants.wall import roles

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ROLE_WORDS = {
    roles.PROGRAMME_MANAGER: _("programme manager"),
    roles.PROGRAMME_OFFICER: _("programme officer"),
    roles.LEAD_ARCHITECT: _("lead architect"),
    roles.ACCOUNT_TEAM: _("account team"),
    roles.FRAMEWORKS_SPECIALIST: _("frameworks specialist"),
    roles.SERVICE_ENGINEER: _("service-team engineer"),
    roles.AUDITOR: _("auditor"),
    roles.BUSINESS_LEAD: _("business lead"),
    roles.TECHNICAL_LEAD: _("technical lead"),
    roles.PLATFORM_ENGINEER: _("platform engineer"),
    roles.ML_ENGINEER: _("ML engineer"),
    roles.VIEWER: _("viewer"),
    roles.AUTOMATION: _("automation"),
}


def personas() -> list[dict[str, Any]]:
    """Everybody with a seat today, the office first."""
    seats = Membership.objects.filter(holding(), person__is_active=True).exclude(role=roles.AUTOMATION)
    return [
        {
            "email": seat.person.email,
            "name": seat.person.name or seat.person.email,
            "role": ROLE_WORDS[seat.role],
            "organisation": seat.tenant.name,
        }
        for seat in seats.select_related("person", "tenant").order_by("-tenant__is_office", "tenant__name", "pk")
    ]


class SignIn(LoginView):  # type: ignore[misc]
    """allauth's own page, with the people to choose from where that is allowed."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        if settings.OIDC_ISSUER:
            apps = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
            context["oidc"] = {
                "name": apps[0]["name"],
                "url": reverse("openid_connect_login", args=[apps[0]["provider_id"]]),
            }
        if settings.PERSONA_PICKER:
            context |= {"personas": personas(), "persona_url": reverse("personas")}
        return context


@require_http_methods(["GET", "POST"])
def pick(request: HttpRequest) -> HttpResponse:
    """Sign in as the chosen person."""
    if not settings.PERSONA_PICKER:
        raise Http404
    if request.method == "GET":
        return redirect("account_login")
    email = request.POST.get("email", "")
    if not email.isprintable() or email not in {one["email"] for one in personas()}:
        raise Http404
    login(request, Person.objects.get_by_natural_key(email), backend=BACKEND)
    wanted = request.POST.get(REDIRECT_FIELD_NAME, "")
    inside = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return redirect(wanted if inside else settings.LOGIN_REDIRECT_URL)
