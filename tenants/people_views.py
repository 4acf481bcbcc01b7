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
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants import inviting, joining, leaving
from tenants import people as reads
from tenants.models import Invitation, JoinRequest, Membership
from tenants.people_forms import AnswerForm, InvitationForm, RemovalForm, SeatForm
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
        "may_decide": request.role in roles.LEADS,
        "requests": reads.join_requests() if request.role in roles.MANAGE_PEOPLE else None,
        "today": today,
        "soon": today + SOON,
    }
    return render(request, "tenants/people.html", context)


@allow(roles.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def invite(request: HttpRequest) -> HttpResponse:
    """Invite an address, by mail."""
    form = InvitationForm(
        posted(request),
        roles=reads.words_of(gives(request)),
        language=request.person.language,
        at_office=request.tenant.is_office,
    )
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


def _seat(request: HttpRequest, pk: int) -> Membership:
    rows = reads.memberships().filter(tenant=request.tenant).select_related("person", "tenant")
    return get_object_or_404(rows, pk=pk)


@allow(roles.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def change_seat(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a member another role or another last day."""
    row, refused = _seat(request, pk), None
    initial = {"role": row.role, "ends_on": row.ends_on, "team": row.team}
    offered = {"roles": reads.words_of(gives(request)), "at_office": request.tenant.is_office}
    form = SeatForm(posted(request), **offered, initial=initial)
    if request.method == "POST" and form.is_valid():
        values = {"seat": row, "by": request.actor, "person": request.person, "giver": request.role}
        done, refused = attempt(leaving.change, **values, **form.cleaned_data)
        if done is not None:
            messages.success(request, _("Saved. The history keeps what it was before."))
            return see_other(reverse("people", args=[request.tenant.slug]))
        refused = put_on_the_form(form, refused)
    context = {"form": form, "refused": refused, "title": _("Change access"), "about": row.person, "submit": _("Save")}
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)


@allow(roles.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def remove_seat(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a member's access away at once; the page says first what ends with it."""
    row, refused = _seat(request, pk), None
    form = RemovalForm(posted(request))
    if request.method == "POST" and form.is_valid():
        values = {"seat": row, "by": request.actor, "person": request.person, "why": form.cleaned_data["why"]}
        left, refused = attempt(leaving.remove, **values)
        if left is not None:
            _say_what_ended(request, row, left)
            myself = row.person_id == request.person.pk
            return see_other("/" if myself else reverse("people", args=[request.tenant.slug]))
    lead = _(
        "Access ends at once: sessions, tokens and open invitations too. What this person owns here waits for another "
        "owner. The history stays."
    )
    context = {
        "form": form, "refused": refused, "title": _("Remove access"), "about": row.person, "lead": lead,
        "submit": _("Remove"), "tone": "bad",
    }  # fmt: skip
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)


def _say_what_ended(request: HttpRequest, row: Membership, left: leaving.Left) -> None:
    messages.success(request, _("%(name)s has no access any more.") % {"name": row.person})
    owned = sum(left.unowned.values())
    if owned:
        sentence = ngettext(
            '%(n)s thing has no owner now; look for it under "Nobody yet".',
            '%(n)s things have no owner now; look for them under "Nobody yet".',
            owned,
        )
        messages.warning(request, sentence % {"n": owned})


@allow(roles.LEADS)
@require_http_methods(["GET", "POST"])
def accept_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say yes to somebody who asks to join: they are invited, and the link in the mail proves the address."""
    row, refused = get_object_or_404(JoinRequest.objects.all(), pk=pk), None
    form = AnswerForm(posted(request), roles=reads.words_of(gives(request)))
    if request.method == "POST" and form.is_valid():
        values = {"request": row, "by": request.actor, "giver": request.role}
        done, refused = attempt(joining.accept, **values, **form.cleaned_data)
        if done is not None:
            messages.success(request, _("Cohort writes to %(email)s.") % {"email": row.email})
            return see_other(reverse("people", args=[request.tenant.slug]))
        refused = put_on_the_form(form, refused)
    context = {
        "form": form, "refused": refused, "title": _("Let somebody join"), "about": f"{row.name} ({row.email})",
        "lead": row.message, "submit": _("Send the invitation"),
    }  # fmt: skip
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)


@allow(roles.LEADS)
@require_POST
def decline_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say no; whoever asked is not told."""
    row = get_object_or_404(JoinRequest.objects.all(), pk=pk)
    _done, refused = attempt(joining.decline, request=row, by=request.actor, giver=request.role)
    if refused is not None:
        messages.warning(request, refused.sentence)
    else:
        messages.success(request, _("Declined. Whoever asked is not told."))
    return see_other(reverse("people", args=[request.tenant.slug]))
