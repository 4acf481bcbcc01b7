"""The page of duty rosters: who is on, what comes, where nobody is; and what the office does about it."""

from datetime import timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from tenants import rosters
from tenants.duty_calendar import calendar
from tenants.forms import PreferencesForm
from tenants.models import DutyShift, Tenant
from tenants.people_forms import day, timezone_named
from tenants.people_views import put_on_the_form
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused

WEEKDAYS = [
    (0, gettext_lazy("Monday")),
    (1, gettext_lazy("Tuesday")),
    (2, gettext_lazy("Wednesday")),
    (3, gettext_lazy("Thursday")),
    (4, gettext_lazy("Friday")),
    (5, gettext_lazy("Saturday")),
    (6, gettext_lazy("Sunday")),
]
CALENDAR_AHEAD = timedelta(days=180)
CLOCK = forms.TimeInput(attrs={"type": "time"}, format="%H:%M")


class PlanForm(forms.Form):
    """A weekly pattern: which team, which days, from when to when in which zone, and who takes turns."""

    team = forms.ChoiceField(label=gettext_lazy("Team"))
    part = forms.ChoiceField(label=gettext_lazy("Part"), choices=DutyShift.Part.choices)
    people = forms.MultipleChoiceField(
        label=gettext_lazy("Who takes turns"), widget=forms.CheckboxSelectMultiple, choices=()
    )
    turn = forms.ChoiceField(
        label=gettext_lazy("They change"),
        choices=[("week", gettext_lazy("every week")), ("day", gettext_lazy("with every shift"))],
    )
    weekdays = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Days"),
        widget=forms.CheckboxSelectMultiple,
        coerce=int,
        choices=WEEKDAYS,
        initial=[0, 1, 2, 3, 4],
    )
    begins = forms.TimeField(label=gettext_lazy("From"), widget=CLOCK, initial="09:00")
    ends = forms.TimeField(
        label=gettext_lazy("To"),
        widget=CLOCK,
        initial="18:00",
        help_text=gettext_lazy("Not after the beginning: on the next day."),
    )
    zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    first = day(gettext_lazy("First day"))
    weeks = forms.IntegerField(label=gettext_lazy("Weeks"), min_value=1, max_value=rosters.MOST_WEEKS, initial=4)
    zones = PreferencesForm.zones

    def __init__(self, *args: Any, teams: list[str], zone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups_of = {team: rosters.members(team) for team in teams}
        self.people = {str(person.pk): person for members in self.groups_of.values() for person in members}
        self.fields["team"].choices = [(team, rosters.team_words(team)) for team in teams]  # type: ignore[attr-defined]
        self.fields["people"].choices = [  # type: ignore[attr-defined]
            (rosters.team_words(team), [(str(person.pk), str(person)) for person in members])
            for team, members in self.groups_of.items()
        ]
        self.fields["zone"].initial = zone

    def clean_zone(self) -> str:
        return timezone_named(self.cleaned_data["zone"])

    def clean_first(self) -> Any:
        first = self.cleaned_data["first"]
        if not 2020 <= first.year <= 2200:
            raise forms.ValidationError(_("Send a day between 2020 and 2200."))
        return first

    def wish(self) -> dict[str, Any]:
        """What the action takes."""
        told = self.cleaned_data
        pattern = rosters.Pattern(
            **{name: told[name] for name in ("weekdays", "begins", "ends", "zone", "first", "weeks", "turn")}
        )
        people = [self.people[pk] for pk in told["people"]]
        return {"team": told["team"], "part": told["part"], "people": people, "pattern": pattern}


class SwapForm(forms.Form):
    """With which shift of the team it is swapped, or who takes it."""

    to = forms.ChoiceField(label=gettext_lazy("Swap with, or give to"))
    why = forms.CharField(label=gettext_lazy("Why"), required=False, max_length=rosters.LONGEST_WHY)

    def __init__(self, *args: Any, shift: DutyShift, zone: ZoneInfo, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        coming = rosters.shifts(shift.team).filter(ends_at__gt=timezone.now()).exclude(person=shift.person_id)
        self.others = {f"shift:{row.pk}": row for row in coming[:100]}
        self.members = {
            f"person:{person.pk}": person for person in rosters.members(shift.team) if person.pk != shift.person_id
        }
        self.fields["to"].choices = [  # type: ignore[attr-defined]
            (_("Give to"), [(key, str(person)) for key, person in self.members.items()]),
            (
                _("Swap with"),
                [
                    (key, f"{row.person}, {row.starts_at.astimezone(zone):%Y-%m-%d %H:%M} ({row.get_part_display()})")
                    for key, row in self.others.items()
                ],
            ),
        ]


class ShiftWhyForm(forms.Form):
    why = forms.CharField(label=gettext_lazy("Why"), required=False, max_length=rosters.LONGEST_WHY)


@allow(roles.STAFF)
@require_safe
def duty(request: HttpRequest) -> HttpResponse:
    """Every team: who is on now, the next two weeks, gaps and overlaps."""
    boards = rosters.boards(timezone.now()) if request.internal else []
    context = {
        "boards": boards,
        "zone": ZoneInfo(request.person.timezone),
        "office": Tenant.objects.get(is_office=True) if request.role in roles.REVIEW else None,
    }
    return render(request, "tenants/duty.html", context)


@allow(roles.STAFF)
@require_safe
def duty_calendar(request: HttpRequest) -> HttpResponse:
    """The shifts of half a year, of one team with `team`, for a person's own calendar."""
    now = timezone.now()
    team = request.GET.get("team", "")
    if not team.isprintable() or len(team) > 40:
        raise Refused("team", _("A team's name has up to 40 visible letters."), status=400, field="team")
    rows = rosters.shifts(team).filter(ends_at__gt=now, starts_at__lt=now + CALENDAR_AHEAD)[:1000]
    body = calendar(rows, now=now, site=settings.SITE_URL)
    response = HttpResponse(body, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="duty.ics"'
    return response


def _shown(request: HttpRequest, form: forms.Form, refused: Refused | None, **told: Any) -> HttpResponse:
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/duty_form.html", {"form": form, "refused": refused, **told}, status=status)


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def plan_duty(request: HttpRequest) -> HttpResponse:
    """Plan the shifts of a weekly pattern."""
    at_the_office(request)
    form, refused = PlanForm(posted(request), teams=rosters.teams(), zone=request.person.timezone), None
    if request.method == "POST" and form.is_valid():
        made, refused = attempt(rosters.plan, office=request.tenant, by=request.actor, **form.wish())
        if made is not None:
            said = ngettext("%(n)s shift is planned.", "%(n)s shifts are planned.", len(made)) % {"n": len(made)}
            messages.success(request, said)
            return see_other(reverse("duty"))
        refused = put_on_the_form(form, refused)
    return _shown(request, form, refused, title=_("Plan duty"), submit=_("Plan the shifts"))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def swap_duty(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Swap a shift with another one, or give it to somebody."""
    at_the_office(request)
    row, refused = get_object_or_404(rosters.shifts(), pk=pk), None
    zone = ZoneInfo(request.person.timezone)
    form = SwapForm(posted(request), shift=row, zone=zone)
    if request.method == "POST" and form.is_valid():
        to, why = form.cleaned_data["to"], form.cleaned_data["why"]
        told = {"shift": row, "why": why, "by": request.actor}
        if to in form.others:
            _none, refused = attempt(rosters.swap, other=form.others[to], **told)
        else:
            _none, refused = attempt(rosters.give, person=form.members[to], **told)
        if refused is None:
            messages.success(request, _("Swapped. The history keeps who it was."))
            return see_other(reverse("duty"))
    about = f"{rosters.team_words(row.team)}: {row.person}, {row.starts_at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
    return _shown(request, form, refused, title=_("Swap a shift"), submit=_("Swap"), about=about)


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def remove_duty(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take a shift off the roster."""
    at_the_office(request)
    row, refused = get_object_or_404(rosters.shifts(), pk=pk), None
    form = ShiftWhyForm(posted(request))
    if request.method == "POST" and form.is_valid():
        _none, refused = attempt(rosters.remove, shift=row, by=request.actor, why=form.cleaned_data["why"])
        if refused is None:
            messages.success(request, _("Removed."))
            return see_other(reverse("duty"))
    zone = ZoneInfo(request.person.timezone)
    about = f"{rosters.team_words(row.team)}: {row.person}, {row.starts_at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
    return _shown(request, form, refused, title=_("Remove a shift"), submit=_("Remove"), about=about, tone="bad")
