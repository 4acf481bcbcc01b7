"""Forms of calls and applications: the call, the answers, the time profile, scores, decisions."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from clusters import offers
from program.calls import calling, need, words
from program.calls.applying import NEEDED
from program.models import Application
from program.models.calls import MOST_SCORE
from tenants.forms import WallTime
from tenants.models import Cycle, Tenant

MOST = 2_147_483_647
MOMENT = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"}, format="%Y-%m-%dT%H:%M")
DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
FREE_ROWS = 2
OUTCOMES = {
    "selected": _("Select it"),
    "waitlisted": _("Put it on the waiting list"),
    "declined": _("Do not select it"),
}


def version() -> forms.IntegerField:
    return forms.IntegerField(label=_("Version"), required=False, widget=forms.HiddenInput, min_value=0, max_value=MOST)


class CallForm(forms.Form):
    """What the office asks for, when, and within which limits."""

    cycle = forms.ChoiceField(label=_("Cycle"))
    title = forms.CharField(label=_("Title"), max_length=200)
    text = forms.CharField(
        label=_("Text"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_("Whom the call is for, what is judged, what participants owe."),
    )
    gives = forms.CharField(
        label=_("What is given"),
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Which accelerators, how many in all, and what help comes with them."),
    )
    lasts = forms.CharField(
        label=_("For how long"),
        max_length=300,
        required=False,
        help_text=_("From when to when; whether it can be prolonged."),
    )
    paid_by = forms.CharField(
        label=_("Who pays"),
        max_length=300,
        required=False,
        help_text=_("What the programme pays, and what the participant pays itself."),
    )
    ask = forms.CharField(
        label=_("Whom to ask"),
        max_length=300,
        required=False,
        help_text=_("A name and an address. The public reads it."),
    )
    opens_at = WallTime(label=_("Opens"), widget=MOMENT)
    closes_at = WallTime(label=_("Closes"), widget=MOMENT)
    most_instances = forms.IntegerField(
        label=_("Most instances at once"),
        min_value=1,
        max_value=need.MOST_INSTANCES,
        required=False,
        help_text=_("Of one application. Empty: no limit."),
    )
    most_hours = forms.IntegerField(
        label=_("Most accelerator-hours"),
        min_value=1,
        max_value=calling.MOST_HOURS,
        required=False,
        help_text=_("Of one application. Empty: no limit."),
    )
    small_hours = forms.IntegerField(
        label=_("Decide at once up to, accelerator-hours"),
        min_value=0,
        max_value=calling.MOST_SMALL,
        initial=0,
        help_text=_(
            "An application whose whole need stays within this may be decided at once: without scores, and while the call "
            "is still open. 0: each waits until the call is closed and somebody scored it."
        ),
    )
    version = version()

    def __init__(self, *args: Any, cycles: list[Cycle], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycles = {str(cycle.pk): cycle for cycle in cycles}
        self.fields["cycle"].choices = [
            (pk, f"{cycle.programme.code} {cycle.name}") for pk, cycle in self.cycles.items()
        ]
        zone = cycles[0].programme.timezone if cycles else "UTC"
        for name in ("opens_at", "closes_at"):
            self.fields[name].zone = zone
            self.fields[name].help_text = _("In the programme's time zone, %(zone)s.") % {"zone": zone}

    def clean_cycle(self) -> Cycle:
        return self.cycles[self.cleaned_data["cycle"]]

    @property
    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        parts = [
            (_("What"), ("cycle", "title", "text")),
            (_("What applicants want to know"), calling.SAYS),
            (_("When"), ("opens_at", "closes_at")),
            (_("Limits"), ("most_instances", "most_hours", "small_hours")),
        ]
        return [(legend, [self[name] for name in names]) for legend, names in parts]


class BeginForm(forms.Form):
    """Who begins: the rest is written behind the link of the mail."""

    organisation = forms.CharField(
        label=_("Organisation"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "organization"})
    )
    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text=_("The link to your application is sent there."),
    )
    language = forms.ChoiceField(label=_("Language of the mail"), choices=settings.LANGUAGES)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["language"].initial = (get_language() or "en")[:2]


class ApplicationForm(forms.ModelForm):
    """The answers beside the time profile. A draft may be unfinished: what is missing is told when it is handed in."""

    staff_size = forms.IntegerField(
        label=_("Staff"),
        min_value=0,
        max_value=10_000_000,
        required=False,
        help_text=_("How many people work in the whole organisation, about."),
    )
    version = version()

    class Meta:
        model = Application
        fields = [
            "organisation", "organisation_kind", "sector", "staff_size", "contact_name", "project", "summary", "intended",
            "procure", "procure_how", "provider", "openness", "licence",
        ]  # fmt: skip
        widgets = {
            "summary": forms.Textarea(attrs={"rows": 5}),
            "intended": forms.Textarea(attrs={"rows": 3}),
            "openness": forms.Textarea(attrs={"rows": 3}),
            "procure_how": forms.Textarea(attrs={"rows": 2}),
        }
        labels = {"project": _("Title of the project"), "contact_name": _("Contact person")}
        help_texts = {
            "contact_name": _(
                "First and last name of whoever answers our questions; the mails go to the address you applied with."
            ),
            "organisation_kind": _("A company, a university, an institute."),
            "intended": _("Their sizes, kinds and languages, and from which they begin."),
            "provider": _("Empty: any. The programme depends on no one provider."),
            "openness": _("What you publish of models, data and results, and when."),
            "licence": _("Under which licence the models are given out."),
        }

    def __init__(self, *args: Any, fixed_name: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.elsewhere: list[tuple[str, str]] = []  # (where on the page, what is wrong there)
        self.fields["procure"].choices = [("", _("Not said")), *Application.Procure.choices]
        self.fields["organisation"].disabled = fixed_name
        for name in NEEDED:
            if name in self.fields and name != "organisation":
                self.fields[name].needed_later = _("needed to hand it in")

    def _post_clean(self) -> None:
        """The row itself is checked where it is locked; here only what was typed."""

    @property
    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        parts = [
            (_("Organisation"), ("organisation", "organisation_kind", "sector", "staff_size", "contact_name")),
            (_("Project"), ("project", "summary", "intended")),
            (_("Means"), ("procure", "procure_how", "provider")),
            (_("Openness"), ("openness", "licence")),
        ]
        return [(legend, [self[name] for name in names]) for legend, names in parts]


class SpanForm(forms.Form):
    """One span of the time profile."""

    starts_on = forms.DateField(label=_("From"), widget=DAY)
    ends_on = forms.DateField(label=_("Until"), widget=DAY)
    types = forms.ChoiceField(label=_("Instance type"), help_text=_("The need is counted by this one."))
    regions = forms.ChoiceField(label=_("Region"))
    minimum = forms.IntegerField(label=_("Minimum"), min_value=0, max_value=need.MOST_INSTANCES)
    peak = forms.IntegerField(label=_("Peak"), min_value=1, max_value=need.MOST_INSTANCES)
    other_types = forms.MultipleChoiceField(
        label=_("Other types that would do"), required=False, widget=forms.CheckboxSelectMultiple
    )
    other_regions = forms.MultipleChoiceField(
        label=_("Other Regions that would do"), required=False, widget=forms.CheckboxSelectMultiple
    )

    ASIDE = ("other_types", "other_regions")  # folded: most applications name one type and one Region

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        types, regions = calling.known_types(), offers.region_choices(calling.known_regions())
        self.fields["types"].choices = [("", _("Choose a type")), *offers.by_accelerator(types)]
        self.fields["other_types"].choices = offers.type_choices(
            name for _chip, group in offers.by_accelerator(types) for name, _words in group
        )
        self.fields["regions"].choices = [("", _("Choose a Region")), *regions]
        self.fields["other_regions"].choices = regions
        for name in ("minimum", "peak"):
            self.fields[name].unit = _("instances")

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in (*self.ASIDE, "DELETE")]

    @property
    def other_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.ASIDE]

    @property
    def names_others(self) -> bool:
        """Whether another type or Region is ticked, or one of those fields is wrong: then they lie open."""
        return any(self[name].value() or self[name].errors for name in self.ASIDE)


class Spans(forms.BaseFormSet):
    """All spans; rows that are left empty do not count."""

    def told(self) -> list[dict[str, Any]]:
        """As Span.kept() gives them."""
        return [
            need.Span(
                row["starts_on"], row["ends_on"], first_of(row, "types"), first_of(row, "regions"), row["minimum"], row["peak"]
            ).kept()
            for row in (form.cleaned_data for form in self.forms)
            if row and not row.get("DELETE")
        ]  # fmt: skip


def first_of(row: dict[str, Any], name: str) -> tuple[str, ...]:
    """What was chosen first, then the others that would do: the need is counted by the first."""
    return (row[name], *(word for word in row[f"other_{name}"] if word != row[name]))


def span_initial(kept: dict[str, Any]) -> dict[str, Any]:
    """A span as it lies in a column, for a form of it."""
    found = dict(kept)
    for name in ("types", "regions"):
        words = kept[name] or [""]
        found |= {name: words[0], f"other_{name}": list(words[1:])}
    return found


SpanSet = forms.formset_factory(
    SpanForm,
    formset=Spans,
    extra=FREE_ROWS,
    max_num=need.MOST_SPANS,
    absolute_max=need.MOST_SPANS + FREE_ROWS,
    can_delete=True,
)


class WhyForm(forms.Form):
    why = forms.CharField(label=_("Why"), max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 2}))


def points(label: Any) -> forms.TypedChoiceField:
    choices = [("", "–"), *((str(number), str(number)) for number in range(1, MOST_SCORE + 1))]
    return forms.TypedChoiceField(label=label, choices=choices, coerce=int, initial="")


class ScoreForm(forms.Form):
    """1 to 5 for each criterion, and why."""

    performance = points(_("Performance: how good it will be"))
    openness = points(_("Openness: what others get of it"))
    feasibility = points(_("Feasibility: whether they can do it"))
    reason = forms.CharField(
        label=_("Reason"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Needed: those who decide read it; the applicant does not."),
        error_messages={"required": _("Say in a sentence why you give these points.")},
    )


class DecideForm(forms.Form):
    """What becomes of it. Of a newcomer that is selected: under which short name, or which organisation it is already."""

    outcome = forms.ChoiceField(
        label=_("Decision"), choices=[(word, OUTCOMES[word]) for word in words.OUTCOMES], widget=forms.RadioSelect
    )
    why = forms.CharField(
        label=_("Why"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_(
            "The applicant reads it; conditions belong here. How much is granted is decided with the requests for capacity "
            "that come of it."
        ),
    )
    organisation = forms.ChoiceField(
        label=_("Organisation"), required=False, help_text=_("Choose it where it took part before.")
    )
    slug = forms.CharField(
        label=_("Short name of a new organisation"),
        max_length=40,
        required=False,
        help_text=_(
            "It does not count where an organisation is chosen above. It stands in addresses and does not change later. Lower-case letters, digits, dashes."
        ),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off", "autocapitalize": "off"}),
    )
    sure = forms.CharField(label=_("Sure"), required=False, max_length=20, widget=forms.HiddenInput)  # of which outcome
    version = version()

    def __init__(self, *args: Any, newcomer: bool, known: list[Tenant], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = {one.slug: one for one in known}
        self.fields["slug"].needed_later = _("needed for a new organisation")
        if newcomer:
            self.fields["organisation"].choices = [
                ("", _("It is new")),
                *((slug, one.name) for slug, one in self.known.items()),
            ]
        else:
            del self.fields["slug"], self.fields["organisation"]

    def clean_organisation(self) -> Tenant | None:
        return self.known.get(self.cleaned_data.get("organisation", ""))
