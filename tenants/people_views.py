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

from tenants import assigning, confirming, contacts, inviting, joining, leaving
from tenants import people as reads
from tenants.models import Contact, Invitation, JoinRequest, Membership
from tenants.people_forms import AnswerForm, ContactForm, InvitationForm, RemovalForm, SeatForm
from tenants.programme_day import programme_day, programme_today
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other, theirs_and_yours
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
    now, days = timezone.now(), contacts.confirm_days()
    today = programme_day(now)
    seats = reads.seats(request.tenant, today)
    stale = [seat.pk for seat in seats if confirming.standing(seat, now, days) == contacts.STALE]
    context = {
        "seats": seats,
        "team": [] if request.tenant.is_office else assigning.team(request.tenant, today),
        "may_assign": request.role in roles.ASSIGN and not request.tenant.is_office,
        "may_give_on": request.role in roles.GIVE_ON,
        "stale": stale,
        "confirm_days": days,
        "by_duty": reads.contacts_by_duty(now),
        "may_keep_contacts": request.role in roles.KEEP_CONTACTS,
        "former": reads.former(request.tenant, today),
        "invitations": reads.open_invitations(),
        "may_manage": bool(gives(request)),
        "may_erase": request.tenant.is_office and request.role in roles.ASK_ERASURE,
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
    today = programme_today()
    heirs = [seat.person for seat in reads.seats(request.tenant, today) if seat.starts_on <= today]
    form = RemovalForm(posted(request), heirs=[person for person in heirs if person.pk != row.person_id])
    if request.method == "POST" and form.is_valid():
        values = {"seat": row, "by": request.actor, "person": request.person}
        left, refused = attempt(leaving.remove, **values, **form.cleaned_data)
        if left is not None:
            _say_what_ended(request, row, left)
            myself = row.person_id == request.person.pk
            return see_other("/" if myself else reverse("people", args=[request.tenant.slug]))
        refused = put_on_the_form(form, refused)
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
    kept = left.unowned.get("action_item", 0)
    if kept:
        sentence = ngettext(
            "%(n)s open action item stays in their name; give it to somebody else.",
            "%(n)s open action items stay in their name; give them to somebody else.",
            kept,
        )
        messages.warning(request, sentence % {"n": kept})
    owned = left.unowned.get("case", 0)
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


@allow(roles.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def confirm_access(request: HttpRequest) -> HttpResponse:
    """Say whose access is still right; whoever is not chosen stays, and stays shown."""
    now, days, refused = timezone.now(), contacts.confirm_days(), None
    if request.method == "POST":
        sent = request.POST.getlist("seat")[: reads.MOST]
        chosen = [int(pk) for pk in sent if pk.isascii() and pk.isdigit() and len(pk) < 18]
        done, refused = attempt(confirming.confirm, tenant=request.tenant, seats=chosen, by=request.actor)
        if done:
            said = ngettext(
                "The access of %(n)s person is confirmed.", "The access of %(n)s people is confirmed.", done
            )
            messages.success(request, said % {"n": done})
            return see_other(reverse("people", args=[request.tenant.slug]))
    today = programme_day(now)
    seats = [seat for seat in reads.seats(request.tenant, today) if seat.starts_on <= today]
    rows = [{"seat": seat, "standing": confirming.standing(seat, now, days)} for seat in seats]
    context = {"rows": rows, "refused": refused, "days": days}
    return render(request, "tenants/confirm_access.html", context, status=refused.status if refused else 200)


def _contact_form(request: HttpRequest, **more: Any) -> ContactForm:
    members = {seat.person_id: seat.person for seat in reads.seats(request.tenant, programme_today())}
    return ContactForm(posted(request), members=members.values(), **more)


def _kept(request: HttpRequest, form: ContactForm, title: str, action: Any, **values: Any) -> HttpResponse:
    refused = None
    if request.method == "POST" and form.is_valid():
        told = {name: form.cleaned_data[name] for name in contacts.FIELDS}
        done, refused = attempt(action, by=request.actor, **values, **told)
        if done is not None:
            messages.success(request, _("Saved."))
            return see_other(f"{reverse('people', args=[request.tenant.slug])}#contacts")
        refused = put_on_the_form(form, refused)
    diff = theirs_and_yours(form, refused)
    context = {"form": form, "refused": refused, "diff": diff, "title": title, "submit": _("Save")}
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)


@allow(roles.KEEP_CONTACTS)
@require_http_methods(["GET", "POST"])
def add_contact(request: HttpRequest) -> HttpResponse:
    """Write down who answers for a duty."""
    asked = request.GET.get("duty", "")
    initial = {"duty": asked if asked in Contact.Duty.values else "business", "timezone": request.person.timezone}
    form = _contact_form(request, initial=initial, new=True)
    valid = request.method == "POST" and form.is_valid()
    duties = [form.cleaned_data["duty"], *form.cleaned_data["also"]] if valid else []
    return _kept(request, form, _("Add a contact"), contacts.add_for_all, tenant=request.tenant, duties=duties)


@allow(roles.KEEP_CONTACTS)
@require_http_methods(["GET", "POST"])
def edit_contact(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change a contact."""
    row = get_object_or_404(Contact.objects.select_related("person"), pk=pk)
    initial = {name: getattr(row, name) for name in contacts.FIELDS} | {"version": row.version, "person": row.person_id}
    form = _contact_form(request, initial=initial)
    version = form["version"].value()
    based_on = int(version) if str(version).isascii() and str(version).isdigit() else 0
    return _kept(request, form, _("Edit a contact"), contacts.edit, contact=row, version=based_on)


def _contact_act(request: HttpRequest, pk: UUID, action: Any, said: str) -> HttpResponse:
    row = get_object_or_404(Contact.objects.all(), pk=pk)
    _done, refused = attempt(action, contact=row, by=request.actor)
    if refused is not None:
        messages.warning(request, refused.sentence)
    else:
        messages.success(request, said)
    return see_other(f"{reverse('people', args=[request.tenant.slug])}#contacts")


@allow(roles.KEEP_CONTACTS)
@require_POST
def confirm_contact(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say that a contact is still right."""
    return _contact_act(request, pk, contacts.confirm, _("Confirmed."))


@allow(roles.KEEP_CONTACTS)
@require_POST
def remove_contact(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take a contact off the list."""
    return _contact_act(request, pk, contacts.remove, _("Removed."))
