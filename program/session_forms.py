"""Forms of sessions: what is planned, who came, what they thought of it."""

from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext_lazy as _

from program.models import Registration, Session
from tenants.forms import WallTime
from tenants.models import Cycle, Person

ROWS = {"rows": 5}


class Lines(forms.CharField):
    """Several short texts, one a line."""

    widget = forms.Textarea(attrs=ROWS)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        text = super().clean(value) or ""
        return [line.strip() for line in text.splitlines() if line.strip()]


FORMATS = [("", _("Not said")), ("online", _("online")), ("on site", _("on site")), ("hybrid", _("on site and online"))]


class SessionForm(forms.Form):
    """What is planned; before it is announced nobody but staff sees it."""

    title = forms.CharField(label=_("Title"), max_length=200)
    kind = forms.ChoiceField(label=_("Kind"), choices=Session.Kind.choices)
    cycle = forms.ChoiceField(label=_("Cycle"))
    starts_at = WallTime(
        label=_("Begins"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"}, format="%Y-%m-%dT%H:%M"),
    )
    minutes = forms.IntegerField(label=_("Minutes"), min_value=1, max_value=24 * 60, initial=120)
    format = forms.ChoiceField(label=_("Format"), choices=FORMATS, required=False)
    place = forms.CharField(
        label=_("Where"), max_length=300, required=False, help_text=_("A room, or the address of the meeting.")
    )
    seats = forms.IntegerField(
        label=_("Seats"), min_value=1, max_value=100_000, required=False, help_text=_("Empty: as many as come.")
    )
    prerequisites = forms.CharField(label=_("What to bring or know"), max_length=300, required=False)
    recurrence = forms.CharField(label=_("Repeats"), max_length=80, required=False)
    agenda = Lines(label=_("Agenda"), required=False, max_length=12_000, help_text=_("One point a line."))
    materials = Lines(
        label=_("Materials"),
        required=False,
        max_length=12_000,
        help_text=_("One a line; an address that begins with https:// becomes a link."),
    )
    speakers = forms.MultipleChoiceField(
        label=_("Speakers"), required=False, widget=forms.SelectMultiple(attrs={"size": 6})
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, cycles: list[Cycle], staff: list[Person], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycles = {str(cycle.pk): cycle for cycle in cycles}
        self.staff = {str(person.pk): person for person in staff}
        self.fields["cycle"].choices = [
            (pk, f"{cycle.programme.code} {cycle.name}") for pk, cycle in self.cycles.items()
        ]
        self.fields["speakers"].choices = [(pk, str(person)) for pk, person in self.staff.items()]
        if cycles:
            zone = cycles[0].programme.timezone
            self.fields["starts_at"].zone = zone
            self.fields["starts_at"].help_text = _("In the programme's time zone, %(zone)s.") % {"zone": zone}

    @property
    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """In the order in which one plans: what it is, when and where, what happens there."""
        parts = [
            (_("What"), ("title", "kind", "cycle")),
            (_("When and where"), ("starts_at", "minutes", "recurrence", "format", "place", "seats")),
            (_("What happens there"), ("agenda", "materials", "speakers", "prerequisites")),
        ]
        return [(legend, [self[name] for name in names]) for legend, names in parts]

    def clean_cycle(self) -> Cycle:
        return self.cycles[self.cleaned_data["cycle"]]

    def clean_speakers(self) -> list[Person]:
        return [self.staff[pk] for pk in self.cleaned_data["speakers"]]


class WhyForm(forms.Form):
    why = forms.CharField(label=_("Why it is called off"), max_length=300, help_text=_("Participants read it."))


class AttendanceForm(forms.Form):
    """Who of the registered came, and how many beside them."""

    came = forms.MultipleChoiceField(
        label=_("Of those who registered, these came"), required=False, widget=forms.CheckboxSelectMultiple
    )
    others = forms.IntegerField(
        label=_("And beside them"), min_value=0, max_value=100_000, help_text=_("People who are not listed by name.")
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, session: Session, registered: list[Registration], **kwargs: Any) -> None:
        named = [str(row.pk) for row in registered if row.came is not False]
        came = sum(bool(row.came) for row in registered)
        others = max(0, (session.attended or 0) - came)
        kwargs["initial"] = {"came": named, "others": others, "version": session.version}
        super().__init__(*args, **kwargs)
        self.rows = {str(row.pk): row.pk for row in registered}
        self.fields["came"].choices = [(str(row.pk), f"{row.person}, {row.tenant.name}") for row in registered]
        if not registered:
            del self.fields["came"]
            self.fields["others"].label = _("How many came")
            self.fields["others"].help_text = ""

    def asked(self) -> dict[str, Any]:
        told = self.cleaned_data
        ticked = [self.rows[pk] for pk in told.get("came", [])]
        return {"came": ticked, "others": told["others"], "version": told["version"]}


class SurveyForm(forms.Form):
    answers = forms.IntegerField(label=_("Answers"), min_value=1, max_value=100_000)
    satisfaction = forms.DecimalField(
        label=_("Mean satisfaction"), min_value=1, max_value=5, max_digits=2, decimal_places=1, help_text=_("Of 5.")
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, session: Session, **kwargs: Any) -> None:
        kwargs["initial"] = {
            "answers": session.answers,
            "satisfaction": session.satisfaction,
            "version": session.version,
        }
        super().__init__(*args, **kwargs)


def zone_of(name: str) -> ZoneInfo:
    return ZoneInfo(name)
