"""Writing on a case and doing things with it: each verb has a page that asks, and the case's page asks the same over itself."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from support import actions, forms
from support.models import Case
from support.verbs import Verb
from support.views import found_case, shown
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale


@allow(roles.READ_CASES, write=roles.ANSWER_CASES)
@require_http_methods(["GET", "POST"])
def note(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Write on a case; what a customer writes is shared."""
    row = found_case(request, pk)
    address = reverse("case", args=[request.tenant.slug, row.pk])
    if request.method != "POST":
        return shown(request, row)
    form = forms.NoteForm(request.POST, case=row, internal=request.internal)
    if not form.is_valid():
        return shown(request, row, form, status=422)
    told = {"audience": "shared", **form.cleaned_data}
    written, refused = attempt(actions.note_case, case=row, by=request.actor, **told)
    if refused is not None:
        return shown(request, row, form, refused, status=refused.status)
    for_whom = (
        _("Your note is saved; only staff see it.") if told["audience"] == "internal" else _("Your note is shared.")
    )
    messages.success(request, for_whom)
    return see_other(f"{address}#n-{written.pk}")


def page_of(verb: Verb) -> Callable[..., HttpResponse]:
    """The view of one verb."""

    def view(request: HttpRequest, pk: UUID) -> HttpResponse:
        row = found_case(request, pk)
        form = verb.form(request.POST if request.method == "POST" else None, case=row, prefix=verb.name)
        refused, status = None, 200
        if request.method == "POST":
            status = 422
            if form.is_valid():
                refused = _done(request, verb, row, form)
                if refused is None:
                    messages.success(request, str(verb.done))
                    return see_other(reverse("case", args=[request.tenant.slug, row.pk]))
                status = refused.status
        context = {
            "row": row,
            "verb": verb,
            "form": form,
            "refused": refused,
            "changes": _changes(form, refused),
            "title": str(verb.title) % {"number": row.number},
        }
        return render(request, "support/act.html", context, status=status)

    view.__name__ = f"{verb.name}_case"
    view.__doc__ = verb.act.__doc__
    return allow(verb.allowed)(require_http_methods(["GET", "POST"])(view))


def _done(request: HttpRequest, verb: Verb, row: Case, form: forms.CaseForm) -> Refused | None:
    """Do it; None when it is done. What was typed on an old page is kept for the next try."""
    told = {name: value for name, value in form.cleaned_data.items() if name != "version"}
    version = form.cleaned_data.get("version")
    values: dict[str, Any] = verb.arguments(request, told) | ({"version": version} if version is not None else {})
    _result, refused = attempt(verb.act, case=row, by=request.actor, **values)
    if isinstance(refused, Stale):
        form.keep_with(refused.facts["version"])
    elif refused is not None and refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)
    return refused


def _changes(form: forms.CaseForm, refused: Refused | None) -> list[dict[str, Any]]:
    """What differs between the case as it is now and what was typed."""
    if not isinstance(refused, Stale):
        return []
    fields = {**form.fields, "next_step_due": form.fields.get("due")}
    return [
        {"name": fields[name].label if fields.get(name) else name, "theirs": theirs, "yours": yours}
        for name, (theirs, yours) in refused.facts["changes"].items()
    ]
