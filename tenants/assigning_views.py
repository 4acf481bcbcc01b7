"""Pages of who of the programme looks after a participant: naming somebody, another last day, the end of it."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from tenants import assigning
from tenants.models import Assignment, Person
from tenants.people_forms import day
from tenants.people_views import put_on_the_form
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused


def why() -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Why"),
        required=False,
        max_length=assigning.LONGEST_WHY,
        help_text=gettext_lazy("The participant reads it."),
    )


class NameForm(forms.Form):
    """Who looks after the participant, as what, from when to when."""

    person = forms.ChoiceField(label=gettext_lazy("Who"))
    duty = forms.ChoiceField(label=gettext_lazy("Duty"))
    starts_on = day(gettext_lazy("From"), required=False, help_text=gettext_lazy("Empty: from now on."))
    ends_on = day(gettext_lazy("Until"), required=False, help_text=gettext_lazy("The last day. Empty: open."))
    takes_over = forms.BooleanField(
        label=gettext_lazy("A new lead takes over from the one before"),
        required=False,
        help_text=gettext_lazy("The lead of now leads until the day before. A participant has one lead at a time."),
    )
    why = why()

    def __init__(self, *args: Any, people: Iterable[Person], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.people = {str(person.pk): person for person in people}
        self.fields["person"].choices = [("", "–"), *((pk, str(one)) for pk, one in self.people.items())]  # type: ignore[attr-defined]
        self.fields["duty"].choices = assigning.words()  # type: ignore[attr-defined]

    def clean_person(self) -> Person:
        return self.people[self.cleaned_data["person"]]


class GiveOnForm(forms.Form):
    """To which colleague; with a last day only for as long as whoever has it is away."""

    person = forms.ChoiceField(label=gettext_lazy("To whom"))
    starts_on = day(gettext_lazy("From"), required=False, help_text=gettext_lazy("Empty: from now on."))
    ends_on = day(
        gettext_lazy("Until"),
        required=False,
        help_text=gettext_lazy(
            "With a day: the colleague steps in until then, and it ends by itself. Empty: given on for good."
        ),
    )
    why = why()

    def __init__(self, *args: Any, people: Iterable[Person], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.people = {str(person.pk): person for person in people}
        self.fields["person"].choices = [("", "–"), *((pk, str(one)) for pk, one in self.people.items())]  # type: ignore[attr-defined]

    def clean_person(self) -> Person:
        return self.people[self.cleaned_data["person"]]


class DaysForm(forms.Form):
    """Another last day."""

    ends_on = day(gettext_lazy("Until"), required=False, help_text=gettext_lazy("The last day. Empty: open."))
    why = why()


class EndForm(forms.Form):
    why = why()


@allow(roles.ASSIGN)
@require_http_methods(["GET", "POST"])
def name_somebody(request: HttpRequest) -> HttpResponse:
    """Name somebody of the office who looks after this participant."""
    if request.tenant.is_office:
        raise Http404
    asked = request.GET.get("duty", "")
    initial = {"duty": asked} if asked in assigning.DUTIES else {}
    form, refused = NameForm(posted(request), people=assigning.candidates(), initial=initial), None
    if request.method == "POST" and form.is_valid():
        made, refused = attempt(assigning.name_somebody, tenant=request.tenant, by=request.actor, **form.cleaned_data)
        if made is not None:
            said = _("%(name)s looks after %(participant)s.")
            messages.success(request, said % {"name": made.person, "participant": request.tenant.name})
            return _back(request)
        refused = put_on_the_form(form, refused)
    return _shown(request, form, refused, title=_("Name who looks after this participant"), submit=_("Name"))


def _row(request: HttpRequest, pk: int) -> Assignment:
    rows = Assignment.objects.filter(tenant=request.tenant, duty__in=assigning.DUTIES)
    if pk >= 2**62:
        raise Http404
    return get_object_or_404(rows.select_related("person", "tenant"), pk=pk)


@allow(roles.ASSIGN)
@require_http_methods(["GET", "POST"])
def change_days(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a duty another last day."""
    row, refused = _row(request, pk), None
    form = DaysForm(posted(request), initial={"ends_on": row.ends_on})
    if request.method == "POST" and form.is_valid():
        done, refused = attempt(assigning.change_days, assignment=row, by=request.actor, **form.cleaned_data)
        if done is not None:
            messages.success(request, _("Saved. The history keeps what it was before."))
            return _back(request)
        refused = put_on_the_form(form, refused)
    return _shown(request, form, refused, title=_("Change the last day"), about=_about(row), submit=_("Save"))


@allow(roles.ASSIGN)
@require_http_methods(["GET", "POST"])
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """End a duty at once."""
    row, refused = _row(request, pk), None
    form = EndForm(posted(request))
    if request.method == "POST" and form.is_valid():
        done, refused = attempt(assigning.end, assignment=row, by=request.actor, **form.cleaned_data)
        if done is not None:
            messages.success(request, _("It has ended. The history keeps who it was."))
            return _back(request)
    return _shown(
        request, form, refused, title=_("End this duty"), about=_about(row), submit=_("End it"), tone="bad",
        lead=_("It ends at once. Open cases and action items stay with whoever owns them."),
    )  # fmt: skip


def _not_theirs(**_values: Any) -> None:
    raise Refused("not_yours", _("You give on what you look after yourself; the office gives on the rest."), status=403)


@allow(roles.GIVE_ON)
@require_http_methods(["GET", "POST"])
def give_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a duty to a colleague, for good or while one is away."""
    row, refused = _row(request, pk), None
    people = [one for one in assigning.candidates() if one.pk != row.person_id]
    form = GiveOnForm(posted(request), people=people)
    if request.method == "POST" and form.is_valid():
        may = request.role in roles.ASSIGN or row.person_id == request.person.pk
        act = assigning.give_on if may else _not_theirs
        made, refused = attempt(act, assignment=row, by=request.actor, **form.cleaned_data)
        if made is not None:
            said = _("%(name)s looks after %(participant)s.")
            messages.success(request, said % {"name": made.person, "participant": request.tenant.name})
            return _back(request)
        refused = put_on_the_form(form, refused)
    return _shown(
        request, form, refused, title=_("Give to a colleague"), about=_about(row), submit=_("Give to a colleague")
    )


def _about(row: Assignment) -> str:
    return f"{row.person}, {dict(assigning.words())[row.duty]}"


def _back(request: HttpRequest) -> HttpResponse:
    return see_other(f"{reverse('people', args=[request.tenant.slug])}#team")


def _shown(request: HttpRequest, form: forms.Form, refused: Refused | None, **told: Any) -> HttpResponse:
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/people_form.html", {"form": form, "refused": refused, **told}, status=status)
