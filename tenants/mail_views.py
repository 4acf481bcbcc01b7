"""Pages about mail: what a person wants to get, and for staff what became of every message."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants import mail
from tenants.forms import DeliveryFilters, PreferencesForm
from tenants.models import Delivery, Person
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other


@allow(roles.EVERYONE)
@require_http_methods(["GET", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Language, time zone, and which mail a person gets."""
    person = request.person
    form = PreferencesForm(posted(request), kinds=mail.KINDS, person=person)
    if request.method == "POST" and form.is_valid():
        # Who reads everybody writes nothing; a person's own row is no tenant's.
        with acting_for():
            Person.objects.filter(pk=person.pk).update(**form.columns())
        with translation.override(form.cleaned_data["language"]):
            messages.success(request, _("Your preferences are saved."))
        return see_other(reverse("preferences"))
    return render(request, "tenants/preferences.html", {"form": form}, status=422 if request.method == "POST" else 200)


@allow(roles.ENGINE_ROOM)
@require_safe
def deliveries(request: HttpRequest) -> HttpResponse:
    """Every message to a person, newest first: waiting, sent, failed with the reason, or no longer needed."""
    form = DeliveryFilters(request.GET)
    rows = Delivery.objects.select_related("person", "tenant")
    if form.is_valid() and form.cleaned_data["outcome"]:
        asked = form.cleaned_data["outcome"]
        rows = rows.filter(outcome="" if asked == "waiting" else asked)
    page = pages.newest_first(rows, request, at="created_at")
    context = {
        "form": form,
        "chosen": [name for name in form.fields if request.GET.get(name)],
        "rows": [{"row": row, "label": _label(row.kind)} for row in page.rows],
        "older": page.next,
        "may_again": request.role in roles.APPROVE,
    }
    return render(request, "tenants/deliveries.html", context, status=200 if form.is_valid() else 400)


def _label(kind: str) -> str:
    known = mail.KINDS.get(kind) or mail.LETTERS.get(kind)
    return str(known.name) if known else kind


@allow(roles.APPROVE)
@require_POST
def send_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Try once more what could not be delivered."""
    row = get_object_or_404(Delivery.objects.all(), pk=pk)
    _done, refused = attempt(mail.again, delivery=row, by=request.actor)
    if refused is not None:
        messages.warning(request, refused.sentence)
    else:
        messages.success(request, _("Cohort tries it again."))
    return see_other(reverse("deliveries"))
