"""Forms of the weekly review: which moment to freeze, and what the meeting settles about one item."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from program.figures import THIRD_TIME
from program.models import ReviewItem
from support import clocks
from support.forms import OwnerField
from support.showing import span
from tenants.forms import WallTime
from tenants.history.seals import settled_until
from tenants.models import Cycle

REGULAR, EXTRA, OTHER = "regular", "extra", "other"


def last_cutoff(cycle: Cycle, now: datetime) -> datetime:
    """The latest regular cut-off of the cycle's programme."""
    programme = cycle.programme
    return clocks.last_cutoff(now, programme.cutoff_weekday, programme.cutoff_time, programme.timezone)


class FreezeForm(forms.Form):
    cycle = forms.ChoiceField(label=gettext_lazy("Cycle"))
    which = forms.ChoiceField(label=gettext_lazy("As of"), widget=forms.RadioSelect)
    moment = WallTime(
        label=gettext_lazy("The other moment"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"}, format="%Y-%m-%dT%H:%M"),
    )

    def __init__(
        self, *args: Any, cycles: list[Cycle], now: datetime, reviewed_until: datetime | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.cycles = {str(cycle.pk): cycle for cycle in cycles}
        self.now = now
        zone = cycles[0].programme.timezone
        cutoff = last_cutoff(cycles[0], now)
        margin = span(timedelta(seconds=settings.SETTLE_SECONDS))
        self.fields["cycle"].choices = [
            (pk, f"{cycle.programme.code} {cycle.name}") for pk, cycle in self.cycles.items()
        ]
        self.fields["which"].choices = [
            (
                REGULAR,
                _("The last regular cut-off, %(moment)s (%(zone)s)") % {"moment": shown(cutoff, zone), "zone": zone},
            ),
            (EXTRA, _("Now, less the %(margin)s in which entries may still arrive") % {"margin": margin}),
            (OTHER, _("Another past moment")),
        ]
        self.fields["moment"].zone = zone
        self.fields["moment"].help_text = _("In the programme's time zone, %(zone)s.") % {"zone": zone}
        done = reviewed_until is not None and cutoff <= reviewed_until
        self.initial = {"cycle": next(iter(self.cycles)), "which": EXTRA if done else REGULAR, **self.initial}
        if len(cycles) == 1:
            self.fields["cycle"].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        told = super().clean() or self.cleaned_data
        if told.get("which") == OTHER and not told.get("moment") and "moment" not in self.errors:
            self.add_error("moment", _("Say which moment."))
        return told

    def asked(self) -> dict[str, Any]:
        """What the action takes."""
        cycle = self.cycles[self.cleaned_data["cycle"]]
        which = self.cleaned_data["which"]
        moments = {
            REGULAR: lambda: last_cutoff(cycle, self.now),
            EXTRA: settled_until,
            OTHER: lambda: self.cleaned_data["moment"],
        }
        return {"cycle": cycle, "cutoff": moments[which](), "regular": which == REGULAR}


def shown(moment: datetime, zone: str) -> str:
    """A moment as the programme's own clock shows it."""
    there = moment.astimezone(ZoneInfo(zone))
    return f"{date_format(there, 'DAY_FORMAT')} {there:%H:%M}"


class SettleForm(forms.Form):
    """Owner, next step and date of one item, and at the third time why it is here again."""

    owner = OwnerField(label=gettext_lazy("Owner"))
    due = forms.DateField(label=gettext_lazy("By"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))
    next_step = forms.CharField(
        label=gettext_lazy("Next step"), max_length=300, help_text=gettext_lazy("Begin with a verb.")
    )
    reason = forms.CharField(label=gettext_lazy("Why it is here again"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, item: ReviewItem, owners: list[Any], **kwargs: Any) -> None:
        kwargs.setdefault("prefix", f"i{item.position}")
        kwargs["initial"] = {
            "owner": item.owner_id,
            "due": item.next_step_due,
            "next_step": item.next_step,
            "reason": item.times_reason,
            "version": item.version,
        }
        super().__init__(*args, **kwargs)
        self.item_pk = item.pk
        self.fields["owner"].choices = owners
        if item.times_on_agenda < THIRD_TIME:
            del self.fields["reason"]

    def keep_with(self, version: int) -> None:
        """Keep what was typed, but for the newest version: the person has now seen it."""
        self.data = self.data.copy()
        self.data[self.add_prefix("version")] = str(version)
