"""Writing down a contact with a participant, from wherever one looks after it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from program import contacting
from tenants import participating
from tenants.forms import NoteForm
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused

BACK = ("engagement", "portfolio")  # where one came from, and is led back to


@allow(roles.NOTE)
@require_http_methods(["GET", "POST"])
def note(request: HttpRequest) -> HttpResponse:
    """Write down a meeting, a call or a message, with whom it was and what was promised."""
    with timezone.override(request.person.timezone):
        form = NoteForm(posted(request))
        valid = request.method == "POST" and form.is_valid()
    came_from = request.GET.get("from", "")
    of_tenant = "history" if came_from == "history" else "participant"
    back = reverse(came_from) if came_from in BACK else reverse(of_tenant, args=[request.tenant.slug])
    refused = None
    if valid:
        participation = participating.current_first().select_related("tenant").first()
        if participation is None:
            refused = Refused(
                "no_participation", _("This organisation takes part in no cycle, so there is no history to write into.")
            )
        else:
            told = {"participation": participation, "by": request.person, "actor": request.actor}
            _done, refused = attempt(contacting.note_contact, **told, **form.cleaned_data)
        if refused is None:
            messages.success(request, _("It stands in the history."))
            return see_other(back)
    context = {
        "form": form,
        "refused": refused,
        "title": _("Note a meeting, call or message"),
        "submit": _("Add to the history"),
        "back": back,
    }
    status = refused.status if refused else (422 if request.method == "POST" else 200)
    return render(request, "tenants/write.html", context, status=status)
