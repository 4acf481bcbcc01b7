"""Attaching a file to a case on its page."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from support import forms
from support.attaching import attach_to_case
from support.views import found_case, shown
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, see_other


@allow(roles.READ_CASES, write=roles.ANSWER_CASES, upload=True)
@require_http_methods(["GET", "POST"])
def attach(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Attach a file to a case; what a customer sends is shared."""
    row = found_case(request, pk)
    if request.method != "POST":
        return shown(request, row)
    form = forms.FileForm(request.POST, request.FILES, internal=request.internal)
    if not form.is_valid():
        return shown(request, row, status=422, file_form=form)
    sent, audience = form.cleaned_data["file"], form.cleaned_data.get("audience", "shared")
    kept, refused = attempt(
        attach_to_case,
        case=row,
        name=sent.name,
        content=sent.read(),
        media_type=sent.content_type or "",
        audience=audience,
        by=request.actor,
    )
    if refused is not None:
        form.add_error("file", refused.sentence)
        return shown(request, row, status=refused.status, file_form=form)
    messages.success(request, _("%(name)s is attached.") % {"name": kept.name})
    return see_other(f"{reverse('case', args=[request.tenant.slug, row.pk])}#f-{kept.pk}")
