"""The office's page of people who are to be forgotten: who asked, and what another one decides."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from tenants import erasing
from tenants.people_views import put_on_the_form
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other


class AskErasureForm(forms.Form):
    """Whom to forget, and on what ground."""

    email = forms.EmailField(
        label=gettext_lazy("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=erasing.LONGEST_REASON,
        help_text=gettext_lazy("It is kept: write the ground and the case number, and not the name."),
    )


class DecideErasureForm(forms.Form):
    """Why it is declined; nothing has to be said to do it."""

    why = forms.CharField(label=gettext_lazy("Why not"), required=False, max_length=erasing.LONGEST_REASON)


@allow(roles.STAFF)
@require_safe
def erasures(request: HttpRequest) -> HttpResponse:
    """All of them, newest first."""
    at_the_office(request)
    page = pages.newest_first(erasing.erasures(), request, at="created_at")
    context = {
        "rows": page.rows,
        "older": page.next,
        "may_ask": request.role in roles.ASK_ERASURE,
        "may_decide": request.role in roles.ERASE,
    }
    return render(request, "tenants/erasures.html", context)


@allow(roles.ASK_ERASURE)
@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Ask that somebody is erased."""
    at_the_office(request)
    form, refused = AskErasureForm(posted(request)), None
    if request.method == "POST" and form.is_valid():
        values = {"office": request.tenant, "by": request.actor, "person": request.person}
        done, refused = attempt(erasing.ask, **values, **form.cleaned_data)
        if done is not None:
            messages.success(request, _("Asked. Another one of the office has to do it."))
            return see_other(reverse("erasures", args=[request.tenant.slug]))
        refused = put_on_the_form(form, refused)
    lead = _(
        "Names and addresses go, and all access ends. What the person did stays in the history, without their name. "
        "It cannot be undone."
    )
    context = {"form": form, "refused": refused, "title": _("Erase a person"), "lead": lead, "submit": _("Ask for it")}
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)


@allow(roles.ERASE)
@require_http_methods(["GET", "POST"])
def decide(request: HttpRequest, pk: UUID, verb: str) -> HttpResponse:
    """Erase, or say no and why."""
    at_the_office(request)
    row = get_object_or_404(erasing.erasures(), pk=pk)
    form, refused, erases = DecideErasureForm(posted(request)), None, verb == "erase"
    if erases:
        del form.fields["why"]
    else:
        form.fields["why"].required = True
    if request.method == "POST" and form.is_valid():
        values: dict[str, Any] = {"erasure": row, "by": request.actor, "person": request.person}
        _none, refused = attempt(erasing.erase if erases else erasing.decline, **values, **form.cleaned_data)
        if refused is None:
            messages.success(request, _("Erased.") if erases else _("Declined."))
            return see_other(reverse("erasures", args=[request.tenant.slug]))
    context = {
        "form": form, "refused": refused, "about": row.person, "lead": row.reason,
        "title": _("Erase for ever") if erases else _("Decline to erase"),
        "submit": _("Erase for ever") if erases else _("Decline"), "tone": "bad" if erases else "",
    }  # fmt: skip
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", context, status=status)
