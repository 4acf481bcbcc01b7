"""Forms about people: an invitation, and what a new person says of themselves."""

import difflib
from collections.abc import Iterable
from typing import Any
from zoneinfo import available_timezones

from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.forms import PreferencesForm
from tenants.models import Contact, Person


def day(label: Any, **more: Any) -> forms.DateField:
    return forms.DateField(label=label, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **more)


def component() -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Component"),
        max_length=40,
        required=False,
        help_text=gettext_lazy("For service engineers: the component they answer for."),
    )


WHAT_A_ROLE_MAY = gettext_lazy(
    "Business lead: people, record, capacity and reports. Technical lead: people, record, capacity, cloud accounts, "
    "clusters, jobs and cases. Platform engineer: the same without people. ML engineer: record, jobs and cases. "
    "Viewer: reads only."
)


class InvitationForm(forms.Form):
    """Whom to invite, as what, from when to when."""

    email = forms.EmailField(
        label=gettext_lazy("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"))
    starts_on = day(gettext_lazy("From"), required=False, help_text=gettext_lazy("Empty: from the day of accepting."))
    ends_on = day(
        gettext_lazy("Until"), required=False, help_text=gettext_lazy("The last day with access. Empty: open.")
    )
    language = forms.ChoiceField(label=gettext_lazy("Language of the mail"), choices=settings.LANGUAGES)
    team = component()

    def __init__(
        self, *args: Any, roles: Iterable[tuple[str, Any]], language: str, at_office: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = list(roles)  # type: ignore[attr-defined]
        self.fields["language"].initial = language
        if not at_office:
            del self.fields["team"]
            self.fields["role"].initial = "viewer"
            self.fields["role"].help_text = WHAT_A_ROLE_MAY


class SeatForm(forms.Form):
    """Another role, or other days; empty days leave it open."""

    role = forms.ChoiceField(label=gettext_lazy("Role"))
    starts_on = day(
        gettext_lazy("From"), required=False, help_text=gettext_lazy("For another role. Empty: from now on.")
    )
    ends_on = day(
        gettext_lazy("Until"), required=False, help_text=gettext_lazy("The last day with access. Empty: open.")
    )

    team = component()

    def __init__(self, *args: Any, roles: Iterable[tuple[str, Any]], at_office: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = list(roles)  # type: ignore[attr-defined]
        if not at_office:
            del self.fields["team"]


class JoinForm(forms.Form):
    """What a stranger says: which organisation, who they are, where they read mail."""

    organisation = forms.CharField(
        label=gettext_lazy("Organisation"),
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Your name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    email = forms.EmailField(
        label=gettext_lazy("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    message = forms.CharField(
        label=gettext_lazy("Message"),
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("What you will do there; the leads read it."),
    )

    def clean_name(self) -> str:
        return visible_name(self.cleaned_data["name"])


class AnswerForm(forms.Form):
    """As what somebody who asked to join is invited."""

    role = forms.ChoiceField(label=gettext_lazy("Role"))
    ends_on = day(
        gettext_lazy("Until"), required=False, help_text=gettext_lazy("The last day with access. Empty: open.")
    )

    def __init__(self, *args: Any, roles: Iterable[tuple[str, Any]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = list(roles)  # type: ignore[attr-defined]
        self.fields["role"].initial = "viewer"


class RemovalForm(forms.Form):
    """Why somebody loses access, and who goes on with what is theirs."""

    to = forms.ChoiceField(
        label=gettext_lazy("Give what is theirs to"),
        required=False,
        help_text=gettext_lazy(
            "Open cases and action items, and at the office whom they look after and when they are on duty."
        ),
    )
    why = forms.CharField(
        label=gettext_lazy("Why"), required=False, max_length=300, help_text=gettext_lazy("The history keeps it.")
    )

    def __init__(self, *args: Any, heirs: Iterable[Person], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heirs = {str(person.pk): person for person in heirs}
        self.fields["to"].choices = [  # type: ignore[attr-defined]
            ("", gettext_lazy("Nobody yet")),
            *((pk, str(person)) for pk, person in self.heirs.items()),
        ]

    def clean_to(self) -> Person | None:
        return self.heirs.get(self.cleaned_data["to"])


def visible_name(name: str) -> str:
    """A name as it is typed. Raises ValidationError for letters that nobody sees, or that turn a line around."""
    if not name.isprintable():
        raise forms.ValidationError(_("A name is made of letters that can be seen; take out the others."))
    return name


def timezone_named(asked: str) -> str:
    """A zone of the time zone database. Raises ValidationError with the nearest name."""
    if asked in available_timezones():
        return asked
    close = difflib.get_close_matches(asked, PreferencesForm.zones, n=1)
    hint = _("Did you mean '%(name)s'?") % {"name": close[0]} if close else _("Write it like Asia/Tokyo.")
    raise forms.ValidationError(_("There is no time zone '%(asked)s'. %(hint)s") % {"asked": asked, "hint": hint})


class NewPersonForm(forms.Form):
    """What somebody new says of themselves; the address is the one that was written to."""

    name = forms.CharField(
        label=gettext_lazy("Your name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    language = forms.ChoiceField(label=gettext_lazy("Language"), choices=settings.LANGUAGES)
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("At least 8 characters, and not one that many people use."),
    )
    zones = PreferencesForm.zones

    def __init__(self, *args: Any, email: str, language: str, timezone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email
        self.fields["language"].initial, self.fields["timezone"].initial = language, timezone

    def clean_name(self) -> str:
        return visible_name(self.cleaned_data["name"])

    def clean_timezone(self) -> str:
        return timezone_named(self.cleaned_data["timezone"])

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        if "password" in told:
            somebody = Person(email=self.email, name=told.get("name", ""))
            try:
                get_adapter().clean_password(told["password"], somebody)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return told


class ContactForm(forms.Form):
    """Who answers for a duty: a member of the organisation, or somebody without an account."""

    duty = forms.ChoiceField(label=gettext_lazy("Duty"), choices=Contact.Duty.choices)
    person = forms.ChoiceField(
        label=gettext_lazy("Member"), required=False, help_text=gettext_lazy("Or leave it empty, and write an address.")
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120, required=False)
    email = forms.EmailField(label=gettext_lazy("E-mail address"), max_length=254, required=False)
    phone = forms.CharField(
        label=gettext_lazy("Telephone"), max_length=40, required=False, widget=forms.TextInput(attrs={"type": "tel"})
    )
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    hours = forms.CharField(
        label=gettext_lazy("Hours"), max_length=80, required=False, help_text=gettext_lazy("Like: Mon to Fri, 9 to 18")
    )
    also = forms.MultipleChoiceField(
        label=gettext_lazy("The same person also for"),
        choices=Contact.Duty.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2_147_483_647, required=False)
    zones = PreferencesForm.zones

    def __init__(self, *args: Any, members: Iterable[Person], new: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not new:
            del self.fields["also"]
        self.members = {str(person.pk): person for person in members}
        self.fields["person"].choices = [  # type: ignore[attr-defined]
            ("", gettext_lazy("Nobody with an account")),
            *((pk, str(person)) for pk, person in self.members.items()),
        ]

    def clean_timezone(self) -> str:
        return timezone_named(self.cleaned_data["timezone"])

    def clean_name(self) -> str:
        return visible_name(self.cleaned_data["name"])

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        person = told["person"] = self.members.get(told.get("person") or "")
        if person is not None:
            told["name"], told["email"] = told.get("name") or str(person), told.get("email") or person.email
        elif "name" in told and not told["name"]:
            self.add_error("name", _("Choose a member, or write a name."))
        return told
