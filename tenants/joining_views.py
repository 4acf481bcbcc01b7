"""Pages without a seat: what the link of an invitation opens, and asking to join."""

from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from tenants import inviting, joining
from tenants.models import Invitation, Membership, Person, Programme
from tenants.people_forms import JoinForm, NewPersonForm
from tenants.personas import BACKEND
from tenants.programme_day import programme_today
from tenants.web.attempt import posted
from tenants.web.problems import Refused
from tenants.web.throttles import refuse_a_flood

ASKED_FROM_ONE_PLACE = "30/hour"
GONE = {inviting.UNKNOWN: 404, "accepted": 410, "withdrawn": 410, inviting.EXPIRED: 410}


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Accept an invitation: as whoever is signed in, or as somebody new. Every link that opens nothing says why."""
    found = inviting.by_link(token)
    worth = inviting.standing(found.state, found.expires_at, timezone.now()) if found else inviting.UNKNOWN
    if found is None or worth != inviting.OPEN:
        return dead(request, worth)
    if request.person is None and settings.LANGUAGE_COOKIE_NAME not in request.COOKIES:
        translation.activate(found.language)
        request.LANGUAGE_CODE = found.language
    try:
        return _with_account(request, found, token) if request.person else _without(request, found, token)
    except Refused as refused:
        if refused.code in GONE:
            return dead(request, refused.code)
        return render(request, "account/invitation.html", _shown(found, refused=refused), status=refused.status)


@require_http_methods(["GET", "POST"])
def ask_to_join(request: HttpRequest) -> HttpResponse:
    """Ask to belong to an organisation; the answer is the same whether it exists or not."""
    form = JoinForm(posted(request))
    if request.method == "POST" and form.is_valid():
        refuse_a_flood(request, "join", ASKED_FROM_ONE_PLACE)
        joining.ask(**form.cleaned_data, language=(translation.get_language() or "en")[:2])
        return render(request, "account/join.html", {"sent": True})
    return render(request, "account/join.html", {"form": form}, status=422 if request.method == "POST" else 200)


def dead(request: HttpRequest, worth: str) -> HttpResponse:
    """The page of a link that opens nothing: the same for every organisation, which it does not name."""
    return render(request, "account/invitation_over.html", {"worth": worth}, status=GONE[worth])


def _shown(found: Invitation, **more: Any) -> dict[str, Any]:
    return {"invitation": found, "place": found.tenant, **more}


def _with_account(request: HttpRequest, found: Invitation, token: str) -> HttpResponse:
    if request.person.email.lower() != found.email:
        return render(request, "account/invitation.html", _shown(found, somebody_else=True), status=403)
    if request.method == "POST":
        return _welcome(request, inviting.accept(token=token, person=request.person))
    return render(request, "account/invitation.html", _shown(found, mine=True))


def _without(request: HttpRequest, found: Invitation, token: str) -> HttpResponse:
    # Whoever reads that address's mail may know whether it has an account.
    if Person.objects.filter(email__iexact=found.email).exists():
        sign_in = f"{reverse('account_login')}?next={reverse('invitation', args=[token])}"
        return render(request, "account/invitation.html", _shown(found, sign_in=sign_in))
    zone = Programme.objects.order_by("pk").values_list("timezone", flat=True).first() or "UTC"
    name = next((known for ask in inviting.NAMES if (known := ask(found))), "")
    form = NewPersonForm(
        posted(request), email=found.email, language=found.language, timezone=zone, initial={"name": name}
    )
    if request.method == "POST" and form.is_valid():
        seat = inviting.accept(token=token, person=None, new=form.cleaned_data)
        login(request, seat.person, backend=BACKEND)
        translation.activate(seat.person.language)
        return _welcome(request, seat)
    status = 422 if request.method == "POST" else 200
    return render(request, "account/invitation.html", _shown(found, form=form), status=status)


def _welcome(request: HttpRequest, seat: Membership) -> HttpResponse:
    later = seat.starts_on > programme_today()
    return render(request, "account/invitation_accepted.html", {"seat": seat, "place": seat.tenant, "later": later})
