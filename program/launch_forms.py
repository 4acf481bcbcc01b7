"""Forms of a planned launch: its day and waves, a cluster in a wave, go or no go, and why it stops."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from clusters.models import CloudAccount, Cluster
from clusters.request_forms import read_text
from program.models import Launch, LaunchCluster, LaunchWave
from tenants.forms import WallTime
from tenants.models import Cycle

MOST_WAVES = 8


class LaunchForm(forms.Form):
    cycle = forms.ChoiceField(label=_("Cycle"))
    name = forms.CharField(label=_("Name"), max_length=80)
    day = forms.DateField(label=_("Day"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))
    waves = forms.IntegerField(label=_("Waves"), min_value=1, max_value=MOST_WAVES, initial=1)
    first_at = WallTime(
        label=_("First wave at"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    minutes_between = forms.IntegerField(label=_("Minutes between waves"), min_value=0, max_value=24 * 60, initial=60)

    def __init__(self, *args: Any, cycles: list[Cycle], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycles = {str(cycle.pk): cycle for cycle in cycles}
        self.fields["cycle"].choices = [
            (pk, f"{cycle.programme.code} {cycle.name}") for pk, cycle in self.cycles.items()
        ]
        if cycles:
            self.fields["first_at"].zone = cycles[0].programme.timezone
            self.fields["first_at"].help_text = _("In the programme's time zone, %(zone)s.") % {
                "zone": cycles[0].programme.timezone
            }


class AddForm(forms.Form):
    cluster = forms.ChoiceField(label=_("Cluster"))
    wave = forms.TypedChoiceField(label=_("Wave"), coerce=int)

    def __init__(self, *args: Any, clusters: list[Cluster], waves: list[LaunchWave], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["cluster"].choices = [
            ("", _("Choose a cluster")),
            *(
                (str(one.pk), f"{one.tenant.name}: {one.name}, {one.accelerated_wanted} × {one.main_type}")
                for one in clusters
            ),
        ]
        self.fields["wave"].choices = [(wave.number, str(wave.number)) for wave in waves if wave.state == "planned"]


class WishForm(forms.Form):
    """A cluster that nobody asked for yet: for whom, where, and its configuration as JSON or YAML."""

    account = forms.ChoiceField(label=_("For whom, in which account"))
    name = forms.CharField(label=_("Name of the cluster"), max_length=40)
    wave = forms.TypedChoiceField(label=_("Wave"), coerce=int)
    body = forms.CharField(
        label=_("Configuration"),
        max_length=100_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
        help_text=_("JSON or YAML, as a request takes it. It begins with the newest request of this programme."),
    )

    def __init__(self, *args: Any, accounts: list[CloudAccount], waves: list[LaunchWave], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.accounts = {str(one.pk): one for one in accounts}
        self.fields["account"].choices = [
            ("", _("Choose an account")),
            *((pk, f"{one.tenant.name}: {one.account_id} {one.name}".strip()) for pk, one in self.accounts.items()),
        ]
        self.fields["wave"].choices = [(wave.number, str(wave.number)) for wave in waves if wave.state == "planned"]

    def clean_account(self) -> CloudAccount:
        return self.accounts[self.cleaned_data["account"]]

    def clean_body(self) -> Any:
        return read_text(self.cleaned_data["body"])


class VerdictForm(forms.Form):
    verdict = forms.ChoiceField(
        label=_("Decision"), choices=[("go", _("go")), ("no_go", _("no go"))], widget=forms.RadioSelect
    )
    why = forms.CharField(label=_("Why not"), max_length=300, required=False, help_text=_("The participant reads it."))
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, line: LaunchCluster, **kwargs: Any) -> None:
        verdict = line.verdict if line.verdict != "open" else "go"
        kwargs["initial"] = {"verdict": verdict, "why": line.verdict_why, "version": line.version}
        super().__init__(*args, **kwargs)


class StopForm(forms.Form):
    why = forms.CharField(label=_("Why it stops"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, launch: Launch, **kwargs: Any) -> None:
        kwargs["initial"] = {"version": launch.version}
        super().__init__(*args, **kwargs)
