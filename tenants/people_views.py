"""The page of an organisation's people: who belongs to it, who is invited, and what its leads do about that."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants import inviting
from tenants import people as reads
from tenants.models import Invitation
from tenants.people_forms import InvitationForm
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused

SOON = timedelta(days=14)


def gives(request: HttpRequest) -> tuple[str, ...]:
    """The roles that whoever asks may give at this place."""
    return roles.may_give(request.role, at_office=request.tenant.is_office)


def put_on_the_form(form: Any, refused: Refused | None) -> Refused | None:
    """A refusal of a field becomes that field's error; whatever else it is stays a refusal."""
    for name, sentences in (refused.facts.get("fields", {}) if refused else {}).items():
        if name in form.fields:
            form.add_error(name, sentences)
            refused = None
    return refused


@allow(roles.READ)
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Members with their days, open invitations, and who left."""
    today = timezone.now().date()
    context = {
        "seats": reads.seats(request.tenant, today),
        "former": reads.former(request.tenant, today),
        "invitations": reads.open_invitations(),
        "may_manage": bool(gives(request)),
        "today": today,
        "soon": today + SOON,
    }
    return render(request, "tenants/people.html", context)


@allow(roles.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def invite(request: HttpRequest) -> HttpResponse:
    """Invite an address, by mail."""
    form = InvitationForm(posted(request), roles=reads.words_of(gives(request)), language=request.person.language)
    refused = None
    if request.method == "POST" and form.is_valid():
        told = dict(form.cleaned_data)
        made, refused = attempt(inviting.invite, tenant=request.tenant, by=request.actor, giver=request.role, **told)
        if made is not None:
            messages.success(request, _("Cohort writes to %(email)s.") % {"email": made.email})
            return see_other(reverse("people", args=[request.tenant.slug]))
        refused = put_on_the_form(form, refused)
    context = {"form": form, "refused": refused, "title": _("Invite somebody"), "submit": _("Send the invitation")}
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)


def _act(request: HttpRequest, pk: UUID, action: Any, said: str, **values: Any) -> HttpResponse:
    row = get_object_or_404(Invitation.objects.all(), pk=pk)
    _done, refused = attempt(action, invitation=row, by=request.actor, **values)
    if refused is not None:
        messages.warning(request, refused.sentence)
    else:
        messages.success(request, said % {"email": row.email})
    return see_other(reverse("people", args=[request.tenant.slug]))


@allow(roles.MANAGE_PEOPLE)
@require_POST
def send_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Send the mail again, with a new link."""
    said = _("Cohort writes to %(email)s again; the link before no longer opens.")
    return _act(request, pk, inviting.resend, said, giver=request.role)


@allow(roles.MANAGE_PEOPLE)
@require_POST
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Make the link worthless."""
    return _act(request, pk, inviting.withdraw, _("The invitation of %(email)s is withdrawn."))
