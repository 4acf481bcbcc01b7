"""The page of a participation: where it stands, what that permits, what the next step needs."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from program import life
from program.models import Onboarding, Report
from tenants import participating
from tenants.forms import DAY
from tenants.models import Participation
from tenants.programme_day import programme_today
from tenants.queries import history, lines
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other, theirs_and_yours
from tenants.web.problems import Refused, Stale

WORDS = {
    "selected": gettext_lazy("Select it"),
    "onboarding": gettext_lazy("Begin the onboarding"),
    "active": gettext_lazy("Let it train"),
    "closing": gettext_lazy("Begin to close"),
    "closed": gettext_lazy("Close it"),
    "suspended": gettext_lazy("Suspend it"),
    "withdrawn": gettext_lazy("Withdraw it"),
}
BAD = ("suspended", "withdrawn")


class StepForm(forms.Form):
    """To where, and why."""

    to = forms.ChoiceField(label=gettext_lazy("Next state"))
    why = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("Needed to suspend and to withdraw; the participant reads it."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput, min_value=0, max_value=2_147_483_647)

    def __init__(self, *args: Any, steps: list[participating.Step], state: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        back = {"onboarding": _("Let it go on"), "active": _("Let it go on")} if state == "suspended" else {}
        self.fields["to"].choices = [(one.to, back.get(one.to) or WORDS[one.to]) for one in steps]


@allow(roles.READ, write=roles.REVIEW)
@require_http_methods(["GET", "POST"])
def participation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One participation: where it stands, and for the office how it goes on."""
    row = Participation.objects.select_related("cycle__programme", "tenant").filter(pk=pk).first()
    if row is None:
        raise Http404
    steps = participating.steps(row.state, life.facts_of(row))
    form = StepForm(request.POST or None, steps=steps, state=row.state, initial={"version": row.version})
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _row, refused = attempt(life.go_on, participation=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("It is done."))
                return see_other(reverse("participation", args=[request.tenant.slug, pk]))
            status = refused.status
            refused = _into(form, refused)
    context = {
        "row": row,
        "steps": [{"step": one, "words": dict(form.fields["to"].choices)[one.to]} for one in steps],
        "form": form if request.role in roles.REVIEW and steps else None,
        "permitted": participating.permitted(row.state),
        "goes_on": participating.GOES_ON.get(row.state, ""),
        "refused": refused,
        "reports": Report.objects.filter(participation=row).order_by("due_on", "id")[:50],
        "onboarding": Onboarding.objects.filter(participation=row).first(),
        "may_onboard": request.role in roles.ONBOARD,
        "may_decide_gate": request.role in roles.PUBLISH and row.state in life.GATED,
        "gate_due": life.gate_is_due(row, programme_today()),
        "others": Participation.objects.filter(tenant=row.tenant)
        .exclude(pk=row.pk)
        .select_related("cycle", "tenant")
        .order_by("-cycle__starts_on", "-id")[:20],
        "entries": lines(list(history(subject=(Participation.SUBJECT, row.pk)).order_by("-occurred_at", "-id")[:50])),
    }
    return render(request, "program/participation.html", context, status=status)


class GateForm(forms.Form):
    """Whether it passed, since when, and why."""

    outcome = forms.ChoiceField(
        label=gettext_lazy("Stage gate"), choices=Participation.Gate.choices, widget=forms.RadioSelect
    )
    on = forms.DateField(
        label=gettext_lazy("Decided on"), required=False, widget=DAY, help_text=gettext_lazy("Empty: today.")
    )
    why = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=life.LONGEST_GATE_WHY,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("The conditions too, where there are some. The participant reads it."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput, min_value=0, max_value=2_147_483_647)


@allow(roles.PUBLISH)
@require_http_methods(["GET", "POST"])
def decide_gate(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Decide the stage gate of a participation, or correct what was decided."""
    row = Participation.objects.select_related("cycle").filter(pk=pk).first()
    if row is None:
        raise Http404
    initial = {"outcome": row.gate, "on": row.gate_on, "why": row.gate_why, "version": row.version}
    form, refused = GateForm(posted(request), initial=initial), None
    back = reverse("participation", args=[request.tenant.slug, pk])
    if request.method == "POST" and form.is_valid():
        done, refused = attempt(life.decide_gate, participation=row, by=request.actor, **form.cleaned_data)
        if done is not None:
            messages.success(request, _("It is decided; the participant reads it on this page."))
            return see_other(back)
        refused = _into(form, refused)
    status = 200 if request.method == "GET" else refused.status if refused else 422
    context = {
        "form": form,
        "refused": refused,
        "diff": theirs_and_yours(form, refused, gate=_("Stage gate"), gate_why=_("Why")),
        "title": _("Stage gate of %(code)s") % {"code": row.code},
        "submit": _("Decide"),
        "back": back,
    }
    return render(request, "program/write_down.html", context, status=status)


def _into(form: forms.Form, refused: Refused) -> Refused | None:
    if isinstance(refused, Stale):
        form.data = form.data.copy()
        form.data["version"] = str(refused.facts["version"])
        return refused
    if refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)
        return None
    return refused
