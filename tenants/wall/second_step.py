"""Whether whoever sits at the office has to sign in with a second step, and from which day on nothing opens without it.

What was found lies in the session and is looked up again once an hour: a rule that is made today also reaches whoever
signed in yesterday, and no page asks the database for it.
"""

from datetime import date, timedelta

from allauth.mfa.models import Authenticator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from tenants.models import Membership, Person, Programme, holding
from tenants.programme_day import programme_day
from tenants.wall import roles
from tenants.web.problems import answer, is_api

BY, LOOKED = "second_step_by", "second_step_looked"
EVERY = timedelta(hours=1)
APP = Authenticator.Type.TOTP


def deadline(*, since: date | None, seated: date | None, grace_days: int) -> date | None:
    """The last day without a second step; None where none is asked for. Who came later has the same time from then on."""
    if since is None or seated is None:
        return None
    return max(since, seated) + timedelta(days=grace_days)


def deadline_of(person: Person) -> date | None:
    """The same for a person: a programme's rule, for whoever has a seat at its office."""
    rule = Programme.objects.order_by("pk").values_list("second_step_since", "second_step_grace_days").first()
    if rule is None or rule[0] is None:
        return None
    seats = Membership.objects.filter(holding(), person=person, tenant__is_office=True)
    days = seats.exclude(role=roles.AUTOMATION).order_by("starts_on").values_list("starts_on", flat=True)
    return deadline(since=rule[0], seated=days.first(), grace_days=rule[1])


def look(request: HttpRequest, person: Person) -> date | None:
    """Write into the session by which day a second step has to be there; None where it is, or none is asked for."""
    by = deadline_of(person)
    if by is not None and Authenticator.objects.filter(user=person, type=APP).exists():
        by = None
    request.session[LOOKED] = timezone.now().isoformat(timespec="seconds")
    request.session[BY] = by.isoformat() if by else ""
    return by


def overdue(request: HttpRequest) -> bool:
    """Whether this session may open nothing before a second step is set up; a token is no session."""
    if request.token is not None or not hasattr(request, "session"):
        return False
    now = timezone.now()
    if request.session.get(LOOKED, "") < (now - EVERY).isoformat(timespec="seconds"):
        look(request, request.person)
    by = request.session.get(BY, "")
    return bool(by) and programme_day(now).isoformat() > by


def asked_for(request: HttpRequest) -> HttpResponse:
    """The way to where it is set up, or a sentence that says so."""
    if is_api(request):
        sentence = _("Set up the second step of signing in first, at /accounts/2fa/totp/activate/.")
        return answer(request, 403, "second_step_required", sentence)
    if request.headers.get("HX-Request"):
        response = HttpResponse(status=403)
        response["HX-Redirect"] = "/accounts/2fa/totp/activate/"
        return response
    return redirect("mfa_activate_totp")
