"""Minutes as files, edited until they are locked, and corrected by addenda after."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from program import meeting_forms, minutes_files, reviews
from program.models import Addendum, Minutes
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Stale


class EditForm(forms.Form):
    body = forms.CharField(
        label=gettext_lazy("Minutes"),
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 30, "spellcheck": "true"}),
        help_text=gettext_lazy(
            "An empty line begins the next part; its first line is its title. No other participant may be named."
        ),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class AddendumForm(forms.Form):
    text = forms.CharField(label=gettext_lazy("Addendum"), max_length=5_000, widget=forms.Textarea(attrs={"rows": 5}))


def found_minutes(request: HttpRequest, pk: UUID) -> Minutes:
    """The minutes of this organisation. The office's own name everybody, and are for its staff only."""
    found = Minutes.objects.select_related("tenant").filter(pk=pk).first()
    if found is None or (request.tenant.is_office and not request.internal):
        raise Http404
    return found


def addenda_of(row: Minutes) -> list[dict[str, Any]]:
    """The addenda of minutes, the oldest first, with who wrote them."""
    rows = list(Addendum.objects.filter(minutes=row).order_by("at", "id"))
    writers = actor_names({one.author for one in rows})
    return [{"at": one.at, "text": one.text, "name": writers.get(one.author, one.author)} for one in rows]


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change the words of minutes that are not locked yet."""
    row = found_minutes(request, pk)
    form = EditForm(
        request.POST if request.method == "POST" else None, initial={"body": row.body, "version": row.version}
    )
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _result, refused = attempt(reviews.edit_minutes, minutes=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("The minutes say it so now."))
                return see_other(reverse("minutes", args=[request.tenant.slug, row.pk]))
            status = refused.status
            if isinstance(refused, Stale):
                meeting_forms.keep_with(form, refused.facts["version"])
    theirs = refused.facts["changes"]["body"][0] if isinstance(refused, Stale) else ""
    context = {"row": row, "form": form, "refused": refused, "theirs": theirs, "kind": "edit"}
    return render(request, "program/minutes_edit.html", context, status=status)


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def addendum(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Add to minutes that are locked."""
    row = found_minutes(request, pk)
    form = AddendumForm(request.POST if request.method == "POST" else None)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _result, refused = attempt(reviews.add_addendum, minutes=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("The addendum stands beside the minutes."))
                return see_other(reverse("minutes", args=[request.tenant.slug, row.pk]))
            status = refused.status
    context = {"row": row, "form": form, "refused": refused, "theirs": "", "kind": "addendum"}
    return render(request, "program/minutes_edit.html", context, status=status)


@allow(roles.READ)
@require_safe
def markdown(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The minutes as a Markdown file."""
    row = found_minutes(request, pk)
    return _file(row, minutes_files.markdown(row, addenda_of(row)), "md", "text/markdown")


@allow(roles.READ)
@require_safe
def page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The minutes as one HTML file that needs nothing else."""
    row = found_minutes(request, pk)
    return _file(row, minutes_files.html(row, addenda_of(row)), "html", "text/html")


def _file(row: Minutes, text: str, ending: str, media_type: str) -> HttpResponse:
    answer = HttpResponse(text, content_type=f"{media_type}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="review-{row.review_number}-{row.tenant.slug}.{ending}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
