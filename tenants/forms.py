"""Forms of the tenants layer: filters of the history, notes, corrections, and the blocks of the tracking record."""

import difflib
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants import software
from tenants.models import Delivery, FrameworkUse, Participation, Person, SoftwareVersion
from tenants.record_blocks import PARTICIPATION_FIELDS, Block
from tenants.web.templatetags.show import SEVERITIES

ANY = ("", gettext_lazy("Any"))
# The first word of a kind of entry -> what a person calls it.
SUBJECTS = [
    ("cluster", gettext_lazy("Clusters")),
    ("part", gettext_lazy("Parts in the account")),
    ("node", gettext_lazy("Nodes")),
    ("job", gettext_lazy("Jobs")),
    ("case", gettext_lazy("Cases")),
    ("review", gettext_lazy("Weekly reviews")),
    ("record", gettext_lazy("Tracking record")),
    ("interaction", gettext_lazy("Meetings, calls and messages")),
    ("quota_request", gettext_lazy("Quota requests")),
    ("usage", gettext_lazy("Usage")),
    ("health", gettext_lazy("Reports of faults")),
    ("decision", gettext_lazy("Decisions")),
    ("action_item", gettext_lazy("Action items")),
    ("minutes", gettext_lazy("Minutes")),
    ("launch", gettext_lazy("Launches")),
    ("onboarding", gettext_lazy("Onboarding")),
    ("report", gettext_lazy("Reports due")),
    ("account", gettext_lazy("Accounts")),
    ("member", gettext_lazy("People")),
    ("security", gettext_lazy("Signing in")),
    ("participation", gettext_lazy("Participation")),
    ("call", gettext_lazy("Calls")),
    ("application", gettext_lazy("Applications")),
]
MEDIA = {
    "meeting": gettext_lazy("Meeting"),
    "call": gettext_lazy("Telephone call"),
    "mail": gettext_lazy("Mail"),
    "channel": gettext_lazy("Channel"),
    "session": gettext_lazy("Session"),
    "other": gettext_lazy("Other"),
}
BROKEN_RULE = gettext_lazy("There is one of this name already, or the values do not go together.")
DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class HistoryFilters(forms.Form):
    """What of the history is shown; days are those of the reader."""

    about = forms.ChoiceField(label=gettext_lazy("About"), required=False, choices=[ANY, *SUBJECTS])
    cluster = forms.ChoiceField(label=gettext_lazy("Cluster"), required=False)
    severity = forms.ChoiceField(label=gettext_lazy("Severity"), required=False, choices=[ANY, *SEVERITIES.items()])
    audience = forms.ChoiceField(
        label=gettext_lazy("Audience"),
        required=False,
        choices=[ANY, ("shared", gettext_lazy("shared")), ("internal", gettext_lazy("internal"))],
    )
    start = forms.DateField(label=gettext_lazy("From"), required=False, widget=DAY)
    end = forms.DateField(label=gettext_lazy("To"), required=False, widget=DAY)
    day = forms.DateField(label=gettext_lazy("Jump to"), required=False, widget=DAY)

    def __init__(self, *args: Any, clusters: list[tuple[UUID, str]], internal: bool, zone: str, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="filter_%s", **kwargs)  # the form for a note stands on the same page
        self.zone = ZoneInfo(zone)
        self.fields["cluster"].choices = [ANY, *((str(pk), name) for pk, name in clusters)]
        if not internal:
            del self.fields["audience"]

    def chosen(self) -> dict[str, Any]:
        """The filters as the history's own."""
        if not self.is_valid():
            return {}
        told = self.cleaned_data
        return {
            "prefixes": [f"{told['about']}.", f"{told['about']}s."] if told["about"] else [],
            "cluster": UUID(told["cluster"]) if told["cluster"] else None,
            "severity": told["severity"],
            "audience": told.get("audience", ""),
            "after": self._midnight(told["start"]),
            "before": self._midnight(told["end"], days=1),
        }

    def day_ends(self) -> datetime | None:
        """The end of the day to begin with, if one was asked for."""
        return self._midnight(self.cleaned_data["day"], days=1) if self.is_valid() else None

    def _midnight(self, day: Any, days: int = 0) -> datetime | None:
        if day is None:
            return None
        try:
            return datetime.combine(day + timedelta(days=days), time.min, self.zone)
        except OverflowError:
            return None


class WallTime(forms.DateTimeField):
    """A moment typed and shown as the clock on the wall of `zone` tells it, wherever the reader is."""

    zone = "UTC"

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().prepare_value(value)

    def to_python(self, value: Any) -> datetime | None:
        with timezone.override(UTC):
            found = super().to_python(value)
        return found.replace(tzinfo=ZoneInfo(self.zone)) if found else None


class NoteForm(forms.Form):
    """A meeting, call or message written down; who may read it is seen while typing."""

    medium = forms.ChoiceField(label=gettext_lazy("What it was"), choices=[*MEDIA.items()])
    at = forms.DateTimeField(
        label=gettext_lazy("When"),
        required=False,
        help_text=gettext_lazy("Empty: now. A time in the past is marked as written later."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    with_whom = forms.CharField(label=gettext_lazy("With whom"), max_length=200, required=False)
    text = forms.CharField(
        label=gettext_lazy("What was said"), max_length=19_000, widget=forms.Textarea(attrs={"rows": 4})
    )
    promise = forms.CharField(
        label=gettext_lazy("What we promised"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("It becomes an action item of yours."),
    )
    promised_for = forms.DateField(
        label=gettext_lazy("Promised for"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    audience = forms.ChoiceField(
        label=gettext_lazy("Who may read it"),
        choices=[
            ("shared", gettext_lazy("Shared with the participant")),
            ("internal", gettext_lazy("Internal: the participant never sees it")),
        ],
        widget=forms.RadioSelect,
        initial="internal",
    )

    def clean_at(self) -> datetime | None:
        at = self.cleaned_data["at"]
        if at is not None and at > timezone.now():
            raise forms.ValidationError(_("That lies in the future."))
        return at

    def clean_promised_for(self) -> date | None:
        day = self.cleaned_data["promised_for"]
        if day is not None and not 2020 <= day.year <= 2200:
            raise forms.ValidationError(_("Send a day between 2020 and 2200."))
        return day

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        if told.get("promise") and not told.get("promised_for") and "promised_for" not in self.errors:
            self.add_error("promised_for", _("Say by which day it is promised."))
        if told.get("promised_for") and not told.get("promise") and "promise" not in self.errors:
            self.add_error("promise", _("Say what is promised for that day."))
        return told


class CorrectionForm(forms.Form):
    """What is right; the wrong entry stays, and is shown as corrected."""

    text = forms.CharField(
        label=gettext_lazy("What is right"), max_length=20_000, widget=forms.Textarea(attrs={"rows": 4})
    )


FRAMEWORKS = (
    "Megatron-LM", "NeMo", "DeepSpeed", "PyTorch FSDP", "Nanotron", "TorchTitan", "NeuronX Distributed", "JAX",
)  # fmt: skip
# What most people write there; any other word is as good.
PROPOSED = {SoftwareVersion: ("component", tuple(software.NAMES.values())), FrameworkUse: ("name", FRAMEWORKS)}


class BlockForm(forms.ModelForm):
    """One block of the record. `version` is the one that was being edited."""

    version = forms.IntegerField(
        label=gettext_lazy("Version"), widget=forms.HiddenInput, min_value=0, max_value=2_147_483_647
    )
    why = forms.CharField(
        label=gettext_lazy("Why"), max_length=300, required=False, help_text=gettext_lazy("It stands in the history.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "engine_state" in self.fields:
            self._ask_only_for_states_of_the_way()
        self.fields.pop("source", None)  # people declare; what is measured comes from the nodes
        if "code" in self.fields:
            self.fields["code"].help_text = _(
                "Your own short word for it, by which jobs and evaluations name it: L70B."
            )
        if "active_params_b" in self.fields:
            self.fields["active_params_b"].required = False
            self.fields["active_params_b"].help_text = _("Empty: all of them, as in a dense model.")
        self.proposals: list[tuple[str, tuple[str, ...]]] = []
        if known := PROPOSED.get(self._meta.model):
            name, words = known
            self.fields[name].widget.attrs["list"] = f"known-{name}"
            self.proposals.append((f"known-{name}", words))
        for name, value in self.initial.items():
            if isinstance(value, Decimal):
                self.initial[name] = f"{value.normalize():f}"

    def _ask_only_for_states_of_the_way(self) -> None:
        """Each way of data has its own words; they are asked for once the way is known."""
        known = self.instance.STATES.get(self.instance.method)
        if known is None:
            del self.fields["engine_state"]
        else:
            self.fields["engine_state"].choices = [("", "–"), *known.choices]  # type: ignore[attr-defined]

    def clean_active_params_b(self) -> Decimal | None:
        """Left empty it is what all of them are."""
        typed: Decimal | None = self.cleaned_data["active_params_b"]
        return self.cleaned_data.get("total_params_b") if typed is None else typed

    def columns(self) -> dict[str, Any]:
        """The columns of the line, as typed."""
        return {name: self.cleaned_data[name] for name in self._meta.fields if name in self.fields and name != "why"}

    def validate_constraints(self) -> None:
        """The database's own rules, without their names."""
        try:
            self.instance.validate_constraints(exclude=self._get_validation_exclusions())
        except forms.ValidationError:
            self.add_error(None, BROKEN_RULE)


class ParticipationForm(BlockForm):
    """What a participation says of its project and its organisation."""

    class Meta:
        model = Participation
        fields = PARTICIPATION_FIELDS
        widgets = {"abstract": forms.Textarea(attrs={"rows": 4}), "starts_on": DAY, "ends_on": DAY}


def block_form(block: Block) -> type[BlockForm]:
    """The form of a line of a block, its fields as the block says."""
    made: type[BlockForm] = forms.modelform_factory(
        block.model, form=BlockForm, fields=list(block.fields), formfield_callback=_form_field
    )
    return made


def _form_field(column: models.Field, **told: Any) -> forms.Field | None:
    if isinstance(column, models.DateField):
        told["widget"] = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    field = column.formfield(**told)
    if column.choices and not column.has_default():
        field.choices = [("", "–" if column.blank else gettext_lazy("Choose")), *column.choices]  # type: ignore[attr-defined]
    return field  # type: ignore[no-any-return]


class PreferencesForm(forms.Form):
    """How a person reads the portal, and which mail they get: a tick for each kind."""

    language = forms.ChoiceField(label=gettext_lazy("Language"), choices=settings.LANGUAGES)
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        help_text=gettext_lazy("Days and times on pages, in mail and in filters are those of this zone."),
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    zones = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))

    def __init__(self, *args: Any, kinds: Mapping[str, Any], person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kinds = kinds
        self.fields["language"].initial, self.fields["timezone"].initial = person.language, person.timezone
        for word, kind in kinds.items():
            self.fields[word] = forms.BooleanField(
                label=kind.label, help_text=kind.help, required=False, initial=word not in person.mail_off
            )

    def clean_timezone(self) -> str:
        asked: str = self.cleaned_data["timezone"]
        if asked not in available_timezones():
            close = difflib.get_close_matches(asked, self.zones, n=1)
            hint = _("Did you mean '%(name)s'?") % {"name": close[0]} if close else _("Write it like Asia/Tokyo.")
            raise forms.ValidationError(
                _("There is no time zone '%(asked)s'. %(hint)s") % {"asked": asked, "hint": hint}
            )
        return asked

    @property
    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """As the page shows them."""
        return [
            (gettext_lazy("Reading"), [self["language"], self["timezone"]]),
            (gettext_lazy("Mail that you get"), [self[word] for word in self.kinds]),
        ]

    def columns(self) -> dict[str, Any]:
        """The columns of the person, as chosen."""
        told = self.cleaned_data
        return {
            "language": told["language"],
            "timezone": told["timezone"],
            "mail_off": sorted(word for word in self.kinds if not told[word]),
        }


class DeliveryFilters(forms.Form):
    """What became of a message."""

    outcome = forms.ChoiceField(
        label=gettext_lazy("Outcome"),
        required=False,
        choices=[ANY, ("waiting", gettext_lazy("waiting")), *Delivery.Outcome.choices],
    )
