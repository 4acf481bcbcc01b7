"""Pages of cycles: which there are, one with its days, its people and its demand, changing it, and copying it to the next."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from program import checklists
from program.calls import cycles, demand
from program.calls.forms import DAY, version
from program.models import Call, ChecklistStep, OnboardingStep, Session
from tenants.models import Cycle, Participation, Tenant
from tenants.states import CYCLE
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import reading_everyone
from tenants.web.attempt import attempt, posted, see_other, theirs_and_yours
from tenants.web.problems import Refused
from tenants.web.tables import as_csv

MOST_ROWS = 300


class CycleForm(forms.Form):
    """A cycle's name and days."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=80)
    starts_on = forms.DateField(label=gettext_lazy("First day"), widget=DAY)
    ends_on = forms.DateField(label=gettext_lazy("Last day"), widget=DAY, required=False)
    launch_day = forms.DateField(label=gettext_lazy("Launch day"), widget=DAY, required=False)
    stage_gate_on = forms.DateField(label=gettext_lazy("Stage gate"), widget=DAY, required=False)
    final_report_due = forms.DateField(label=gettext_lazy("Final report due"), widget=DAY, required=False)
    version = version()


class CopyForm(forms.Form):
    """The next cycle: what it is called and when it begins."""

    code = forms.SlugField(label=gettext_lazy("Code"), max_length=20)
    name = forms.CharField(label=gettext_lazy("Name"), max_length=80)
    starts_on = forms.DateField(
        label=gettext_lazy("First day"),
        widget=DAY,
        help_text=gettext_lazy("Everything else moves by as many whole weeks, so that weekdays stay."),
    )


class ChecklistForm(forms.Form):
    """One step of a cycle's onboarding list."""

    text = forms.CharField(label=gettext_lazy("What is to be done"), max_length=checklists.MOST_TEXT)
    help = forms.CharField(
        label=gettext_lazy("Help"),
        max_length=checklists.MOST_HELP,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("What it is, who does it and what to bring. The participant reads it beside the step."),
    )
    measure = forms.ChoiceField(
        label=gettext_lazy("Measured by"),
        choices=OnboardingStep.Measure.choices,
        required=False,
        help_text=gettext_lazy("A step that nothing measures is ticked with a note, a link or a file."),
    )
    version = version()


class StepVersionForm(forms.Form):
    """Nothing but which version of the step was looked at."""

    version = version()


def _found(pk: int) -> Cycle:
    found = Cycle.objects.select_related("programme").filter(pk=pk).first() if pk < 2**62 else None
    if found is None:
        raise Http404
    return found


def _office(request: HttpRequest) -> Tenant | None:
    return Tenant.objects.get(is_office=True) if request.role in roles.REVIEW else None


@allow(roles.STAFF)
@require_safe
def all_cycles(request: HttpRequest) -> HttpResponse:
    """Cycles, the newest first; several may run at a time."""
    rows = list(Cycle.objects.select_related("programme").order_by("-starts_on", "-pk"))
    counts: dict[int, int] = {}
    for pk in Participation.objects.exclude(state="withdrawn").values_list("cycle_id", flat=True):
        counts[pk] = counts.get(pk, 0) + 1
    context = {"rows": [{"row": row, "count": counts.get(row.pk, 0)} for row in rows]}
    return render(request, "program/cycles.html", context)


@allow(roles.STAFF)
@require_safe
def cycle(request: HttpRequest, pk: int) -> HttpResponse:
    """One cycle: days, who takes part, its calls, and what it will need."""
    return _shown(request, _found(pk))


def _shown(request: HttpRequest, row: Cycle, refused: Refused | None = None) -> HttpResponse:
    rows = demand.forecast(row)
    weeks = demand.weeks_of(rows)
    context = {
        "row": row,
        "participations": list(
            Participation.objects.filter(cycle=row).select_related("tenant").order_by("code", "tenant__name")
        ),
        "calls": list(Call.objects.filter(cycle=row).order_by("-opens_at", "-id")),
        "sessions": Session.objects.filter(cycle=row).count(),
        "rows": rows[:MOST_ROWS],
        "more": max(0, len(rows) - MOST_ROWS),
        "chart": demand.chart(rows, weeks),
        "checklist": [_step_told(one) for one in checklists.steps_of(row.pk)],
        "most_steps": checklists.MOST_STEPS,
        "next_states": sorted(CYCLE[row.state]),
        "office": _office(request),
        "refused": refused,
    }
    return render(request, "program/cycle.html", context, status=refused.status if refused else 200)


def _step_told(step: ChecklistStep) -> dict[str, Any]:
    return {"row": step, "text": checklists.worded(step.text), "help": checklists.worded(step.help)}


@allow(roles.STAFF)
@require_safe
def demand_file(request: HttpRequest, pk: int) -> HttpResponse:
    """The forecast as a table to keep."""
    row = _found(pk)
    return as_csv(f"demand-{row.code}.csv", demand.HEADER, (demand.cells(one) for one in demand.forecast(row)))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a cycle's name and days."""
    at_the_office(request)
    row = _found(pk)
    initial = {name: getattr(row, name) for name in cycles.EDITABLE} | {"version": row.version}
    form = CycleForm(posted(request), initial=initial)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = dict(form.cleaned_data)
            based_on = told.pop("version")
            _row, refused = attempt(cycles.change, cycle=row, values=told, by=request.actor, version=based_on)
            if refused is None:
                messages.success(request, _("The cycle is changed."))
                return see_other(reverse("cycle", args=[pk]))
            status = refused.status
            refused = _into(form, refused)
    diff = theirs_and_yours(form, refused)
    context = {
        "form": form,
        "refused": refused,
        "diff": diff,
        "title": _("Edit the cycle"),
        "back": reverse("cycle", args=[pk]),
    }
    return render(request, "program/write_down.html", context, status=status)


def _into(form: forms.Form, refused: Refused) -> Refused | None:
    if refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)
        return None
    return refused


@allow(roles.REVIEW)
@require_POST
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Let it run, or close it."""
    at_the_office(request)
    row = _found(pk)
    _row, refused = attempt(cycles.go_on, cycle=row, to=request.POST.get("to", "")[:12], by=request.actor)
    if refused is not None:
        with reading_everyone():
            return _shown(request, _found(pk), refused)
    messages.success(request, _("It is done."))
    return see_other(reverse("cycle", args=[pk]))


def _step_of(row: Cycle, pk: UUID) -> ChecklistStep:
    with reading_everyone():
        found = next((one for one in checklists.steps_of(row.pk) if one.pk == pk), None)
    if found is None:
        raise Http404
    return found


def _back(row: Cycle, step: UUID | None = None) -> str:
    return reverse("cycle", args=[row.pk]) + (f"#step-{step}" if step else "#checklist")


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def add_step(request: HttpRequest, pk: int) -> HttpResponse:
    """Put a step at the end of the cycle's onboarding list."""
    at_the_office(request)
    row = _found(pk)
    return _step_written(request, row, None, ChecklistForm(posted(request)))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def change_step(request: HttpRequest, pk: int, step: UUID) -> HttpResponse:
    """Change a step of the cycle's onboarding list."""
    at_the_office(request)
    row = _found(pk)
    found = _step_of(row, step)
    initial = {name: checklists.worded(getattr(found, name)) for name in checklists.EDITABLE}
    return _step_written(
        request, row, found, ChecklistForm(posted(request), initial=initial | {"version": found.version})
    )


def _step_written(request: HttpRequest, row: Cycle, found: ChecklistStep | None, form: forms.Form) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = dict(form.cleaned_data)
            based_on = told.pop("version")
            if found is None:
                made, refused = attempt(checklists.add_step, cycle=row, by=request.actor, **told)
            else:
                made, refused = attempt(
                    checklists.change_step, cycle=row, step=found.pk, values=told, by=request.actor, version=based_on
                )
            if refused is None:
                messages.success(request, _("The onboarding list is changed. Lists laid out before stay as they are."))
                return see_other(_back(row, made.pk))
            status = refused.status
            refused = _into(form, refused)
    context = {
        "form": form,
        "refused": refused,
        "diff": theirs_and_yours(form, refused),
        "title": _("Change a step of onboarding") if found else _("Add a step to onboarding"),
        "back": _back(row, found.pk if found else None),
    }
    return render(request, "program/write_down.html", context, status=status)


@allow(roles.REVIEW)
@require_POST
def move_step(request: HttpRequest, pk: int, step: UUID) -> HttpResponse:
    """Let a step change places with its neighbour: `to` is up or down."""
    at_the_office(request)
    row = _found(pk)
    found = _step_of(row, step)
    based_on = StepVersionForm(request.POST)
    if not based_on.is_valid():
        refused: Refused | None = Refused("version", _("Look at the list again, and choose once more."), status=422)
    else:
        _row, refused = attempt(
            checklists.move_step,
            cycle=row,
            step=found.pk,
            to=request.POST.get("to", "")[:12],
            by=request.actor,
            version=based_on.cleaned_data["version"],
        )
    if refused is not None:
        with reading_everyone():
            return _shown(request, _found(pk), refused)
    return see_other(_back(row, step))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def remove_step(request: HttpRequest, pk: int, step: UUID) -> HttpResponse:
    """Ask whether a step is to go, and take it out of the list."""
    at_the_office(request)
    row = _found(pk)
    found = _step_of(row, step)
    form = StepVersionForm(posted(request), initial={"version": found.version})
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = form.cleaned_data
            _gone, refused = attempt(
                checklists.remove_step, cycle=row, step=found.pk, by=request.actor, version=told["version"]
            )
            if refused is None:
                messages.success(request, _("The step is out of the list. Lists laid out before keep it."))
                return see_other(_back(row))
            status = refused.status
    context = {
        "row": row,
        "step": _step_told(found),
        "form": form,
        "diff": theirs_and_yours(form, refused),
        "refused": refused,
        "back": _back(row, found.pk),
    }
    return render(request, "program/cycle_step_remove.html", context, status=status)


@allow(roles.PUBLISH)
@require_http_methods(["GET", "POST"])
def copy(request: HttpRequest, pk: int) -> HttpResponse:
    """Look at what goes over to the next cycle, then make it: `do` is look or copy."""
    at_the_office(request)
    row = _found(pk)
    form = CopyForm(posted(request))
    refused, status, preview = None, 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = form.cleaned_data
            if request.POST.get("do") == "copy":
                made, refused = attempt(cycles.copy, cycle=row, by=request.actor, **told)
                if refused is None:
                    messages.success(request, _("%(name)s is made.") % {"name": made.name})
                    return see_other(reverse("cycle", args=[made.pk]))
                status = refused.status
                refused = _into(form, refused)
            else:
                preview, refused = attempt(cycles.preview, cycle=row, starts_on=told["starts_on"])
                status = refused.status if refused else 200
    context: dict[str, Any] = {
        "row": row,
        "form": form,
        "refused": refused,
        "preview": preview,
        "days": _days(preview),
        "steps": [checklists.worded(one.text) for one in preview.checklist] if preview else [],
        "stays": cycles.STAYS,
        "goes_anyway": cycles.GOES_ANYWAY,
    }
    return render(request, "program/cycle_copy.html", context, status=status)


def _days(preview: cycles.Copied | None) -> list[dict[str, Any]]:
    """The days in words, as they were and as they will be."""
    if preview is None:
        return []
    return [
        {"label": Cycle._meta.get_field(name).verbose_name, "was": was, "now": now}
        for name, (was, now) in preview.days.items()
    ]
