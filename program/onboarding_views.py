"""Pages of onboarding: the board of all participants, gaps first, and one list with its evidence."""

from collections.abc import Iterable
from datetime import date
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from program import onboarding
from program.checklists import help_of, worded
from program.meeting_forms import day_field
from program.models import Application, Onboarding, OnboardingStep
from support.forms import OwnerField, owners_of
from tenants.files import LARGEST
from tenants.forms import WallTime
from tenants.models import Attachment, Membership, Participation, Tenant, holding
from tenants.programme_day import programme_today
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale

LIVING = ("selected", "onboarding", "active", "closing")


class PlanForm(forms.Form):
    """The session with the lead architect."""

    lead = OwnerField(label=gettext_lazy("Lead"))
    held_at = WallTime(
        label=gettext_lazy("Session at"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"}, format="%Y-%m-%dT%H:%M"),
    )
    minutes = forms.IntegerField(label=gettext_lazy("Minutes"), min_value=1, max_value=24 * 60, initial=120)
    looks_after = forms.BooleanField(
        label=gettext_lazy("This person is the participant's lead architect from now on"),
        required=False,
        initial=True,
        help_text=gettext_lazy("The participant sees who helps. Where somebody leads already, nothing changes."),
    )

    def __init__(self, *args: Any, owners: list[Any], zone: str, zones: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["lead"].choices = architects_first(owners)
        self.fields["held_at"].zone = zone
        self.fields["held_at"].help_text = _("In the programme's time zone, %(zone)s.") % {"zone": zone}
        if theirs := sorted(set(zones) - {zone}):
            told = _("The participant's leads live in %(zones)s: mind their hours.") % {"zones": ", ".join(theirs)}
            self.fields["held_at"].help_text += f" {told}"


class ChangeForm(PlanForm):
    """Another lead or another time. Who leads the participant is not changed by it."""

    looks_after = None


def architects_first(owners: list[Any]) -> list[Any]:
    """The choices of OwnerField with the programme's lead architects as their first group."""
    seats = Membership.objects.filter(holding(), tenant__is_office=True, role=roles.LEAD_ARCHITECT)
    architects = {str(pk) for pk in seats.values_list("person_id", flat=True)}
    first, rest = [], []
    for group, people in owners:
        if isinstance(people, list):
            first += [one for one in people if one[0] in architects]
            rest.append((group, [one for one in people if one[0] not in architects]))
        else:
            rest.append((group, people))
    return [*rest[:1], (_("Lead architects"), first), *rest[1:]] if first else owners


class StepForm(forms.Form):
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, step: OnboardingStep, today: date | None = None, **kwargs: Any) -> None:
        """`today`: what it proposes as the day on which the step was done."""
        super().__init__(*args, **{"initial": {"version": step.version, "done_on": today}, **kwargs})


class TickForm(StepForm):
    """What proves that a step is done; a test is proved by what it measured."""

    done_on = day_field(gettext_lazy("Done on"))
    bus_gbps = forms.DecimalField(
        label=gettext_lazy("Bus bandwidth"), max_digits=8, decimal_places=2, min_value=0, required=False
    )
    nodes = forms.IntegerField(label=gettext_lazy("Nodes"), min_value=1, max_value=10_000, required=False)
    note = forms.CharField(
        label=gettext_lazy("What proves it"),
        max_length=500,
        required=False,
        help_text=gettext_lazy("A note, a link or a file: one of the three is needed."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    link = forms.URLField(label=gettext_lazy("Link"), max_length=500, required=False, assume_scheme="https")
    file = forms.FileField(
        label=gettext_lazy("File"), required=False, help_text=gettext_lazy("A log, a picture, a table; up to 20 MiB.")
    )

    def __init__(self, *args: Any, step: OnboardingStep, **kwargs: Any) -> None:
        super().__init__(*args, step=step, **kwargs)
        self.fields["bus_gbps"].unit = "GB/s"
        if step.measure != onboarding.NCCL:
            del self.fields["bus_gbps"], self.fields["nodes"]
            for name in ("note", "link", "file"):
                self.fields[name].needed_later = _("one of three")
        else:
            self.fields["file"].label = _("Log of the test")
            self.fields["note"].label, self.fields["note"].help_text = _("Note"), ""
            for name in ("bus_gbps", "nodes", "file"):
                self.fields[name].needed_later = _("needed")

    def clean_file(self) -> tuple[str, bytes] | None:
        sent = self.cleaned_data.get("file")
        if sent is None:
            return None
        if sent.size > LARGEST:
            raise forms.ValidationError(
                _("'%(name)s' has %(size)s bytes; %(most)s are allowed.")
                % {"name": sent.name, "size": sent.size, "most": LARGEST}
            )
        return sent.name, sent.read()


class WhyForm(StepForm):
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)


FORMS = {"tick": TickForm, "skip": WhyForm, "untick": WhyForm}


@allow(roles.READ)
@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """Where each participation stands, the one with most left to do first; a customer sees its own."""
    rows = list(
        Participation.objects.filter(state__in=LIVING, tenant__is_office=False)
        .select_related("tenant", "cycle")
        .order_by("tenant__name", "code")
    )
    lists = {row.participation_id: row for row in Onboarding.objects.select_related("lead")}
    counts = {
        row["onboarding_id"]: row
        for row in OnboardingStep.objects.values("onboarding_id").annotate(
            steps=Count("id"), left=Count("id", filter=Q(state="open"))
        )
    }
    gaps: dict[Any, list[str]] = {}
    for onboarding_id, text in (
        OnboardingStep.objects.filter(state="open").order_by("position").values_list("onboarding_id", "text")
    ):
        gaps.setdefault(onboarding_id, []).append(worded(text))
    told = [_board_row(row, lists.get(row.pk), counts, gaps) for row in rows]
    told.sort(key=lambda one: (one["list"] is not None, -one["left"]))
    context = {
        "rows": told,
        "complete": sum(one["list"] is not None and not one["left"] for one in told),
        "may_plan": request.role in roles.ONBOARD,
    }
    return render(request, "program/onboarding.html", context)


def _board_row(row: Participation, made: Onboarding | None, counts: dict[Any, Any], gaps: dict[Any, Any]) -> Any:
    counted = counts.get(made.pk, {"steps": 0, "left": 0}) if made else {"steps": 0, "left": 0}
    steps, left = counted["steps"], counted["left"]
    return {
        "row": row,
        "list": made,
        "steps": steps,
        "left": left,
        "done": steps - left,
        "gaps": gaps.get(made.pk, []) if made else [],
    }


def _zones_of_leads(tenant: Tenant) -> list[str]:
    leads = Membership.objects.filter(holding(), tenant=tenant, role__in=sorted(roles.LEADS))
    return list(leads.order_by().values_list("person__timezone", flat=True).distinct())


@allow(roles.ONBOARD)
@require_http_methods(["GET", "POST"])
def plan(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Set the session of a participation and lay out its list."""
    row = Participation.objects.select_related("cycle__programme", "tenant").filter(pk=pk).first()
    if row is None or request.tenant.is_office:
        raise Http404
    form = PlanForm(
        request.POST if request.method == "POST" else None,
        owners=owners_of([request.tenant])[request.tenant.pk],
        zone=row.cycle.programme.timezone,
        zones=_zones_of_leads(request.tenant),
    )
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            made, refused = attempt(
                onboarding.plan_onboarding, participation=row, by=request.actor, **form.cleaned_data
            )
            if refused is None:
                messages.success(
                    request, _("The onboarding is planned; who leads it and the participant's leads are told by mail.")
                )
                return see_other(reverse("onboarding_list", args=[request.tenant.slug, made.pk]))
            status = refused.status
    context = {"form": form, "refused": refused, "title": _("Plan the onboarding"), "back": reverse("onboarding")}
    return render(request, "program/write_down.html", context, status=status)


@allow(roles.ONBOARD)
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change who leads an onboarding, or when its session is."""
    row = _found(pk)
    form = ChangeForm(
        request.POST if request.method == "POST" else None,
        owners=owners_of([request.tenant])[request.tenant.pk],
        zone=row.participation.cycle.programme.timezone,
        zones=_zones_of_leads(request.tenant),
        initial={"lead": str(row.lead_id), "held_at": row.held_at, "minutes": row.minutes},
    )
    back = reverse("onboarding_list", args=[request.tenant.slug, pk])
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _made, refused = attempt(onboarding.change_onboarding, made=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Saved; whom it concerns is told by mail."))
                return see_other(back)
            status = refused.status
    context = {"form": form, "refused": refused, "title": _("Change the session"), "back": back}
    return render(request, "program/write_down.html", context, status=status)


def _found(pk: UUID) -> Onboarding:
    found = Onboarding.objects.select_related("tenant", "lead", "participation__cycle__programme").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ)
@require_safe
def one_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One list: each step with who settled it when, and what proves it."""
    return _shown(request, _found(pk))


def _shown(
    request: HttpRequest,
    row: Onboarding,
    refused: Refused | None = None,
    status: int = 200,
    step: UUID | None = None,
    doing: str = "",
    form: forms.Form | None = None,
) -> HttpResponse:
    steps = list(OnboardingStep.objects.filter(onboarding=row).order_by("position"))
    files: dict[UUID, list[Attachment]] = {}
    for kept in Attachment.objects.filter(
        subject=OnboardingStep.SUBJECT, subject_id__in=[each.pk for each in steps]
    ).order_by("created_at"):
        files.setdefault(kept.subject_id, []).append(kept)
    names = actor_names({each.settled_by for each in steps if each.settled_by})
    works = request.role in roles.ONBOARD
    told, today = [], programme_today() if works else None
    for each in steps:
        offered = ("tick", "skip") if each.state == "open" else ("untick",)
        told.append(
            {
                "step": each,
                "text": worded(each.text),
                "help": help_of(each),
                "by": names.get(each.settled_by, ""),
                "files": files.get(each.pk, []),
                "forms": [
                    (
                        name,
                        form
                        if (each.pk, name) == (step, doing)
                        else FORMS[name](step=each, today=today, prefix=f"s{each.position}{name}"),
                    )
                    for name in offered
                ]
                if works
                else [],
                "open": each.pk == step,
                # What is to be done next lies open.
                "next": step is None and each.state == "open" and not any(one["next"] for one in told),
            }
        )
    context = {
        "row": row,
        "steps": told,
        "left": sum(each.state == "open" for each in steps),
        "refused": refused,
        "works": works,
        "applied": Application.objects.filter(became=row.participation_id).first() if works else None,
    }
    return render(request, "program/onboarding_list.html", context, status=status)


@allow(roles.ONBOARD, upload=True)
@require_POST
def step(request: HttpRequest, pk: UUID, step: UUID) -> HttpResponse:
    """Tick a step off with its evidence, say that it does not apply, or take that back."""
    row = _found(pk)
    found = OnboardingStep.objects.filter(onboarding=row, pk=step).first()
    if found is None:
        raise Http404
    doing = request.POST.get("do", "")
    if doing not in FORMS:
        refused = Refused("unknown_do", _("Choose what to do with it."), status=422)
        return _shown(request, row, refused, 422)
    form = FORMS[doing](request.POST, request.FILES, step=found, prefix=f"s{found.position}{doing}")
    if not form.is_valid():
        return _shown(request, row, None, 422, found.pk, doing, form)
    act, done = onboarding.VERBS[doing]
    _result, refused = attempt(act, step=found, by=request.actor, **form.cleaned_data)
    if refused is None:
        messages.success(request, str(done))
        return see_other(reverse("onboarding_list", args=[request.tenant.slug, pk]) + f"#step-{step}")
    if isinstance(refused, Stale):
        form.data = form.data.copy()
        form.data[form.add_prefix("version")] = str(refused.facts["version"])
    elif refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)
        refused = None
    return _shown(request, _found(pk), refused, 422 if refused is None else refused.status, found.pk, doing, form)
