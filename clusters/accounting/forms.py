"""Forms about usage: which month, what is wrong with it, what holds, and what is lent."""

from decimal import Decimal

from django import forms
from django.utils.translation import gettext_lazy

MOST_HOURS = Decimal(1_000_000_000)


class DisputeForm(forms.Form):
    month = forms.CharField(label=gettext_lazy("Month"), widget=forms.HiddenInput, max_length=7)
    reason = forms.CharField(
        label=gettext_lazy("What is wrong"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy(
            "Name days, jobs or nodes. The programme gets a case with the numbers as they are shown."
        ),
    )
    claimed_hours = forms.DecimalField(
        label=gettext_lazy("Accelerator-hours as you count them"),
        required=False,
        min_value=0,
        max_value=MOST_HOURS,
        max_digits=14,
        decimal_places=2,
    )


class SettleForm(forms.Form):
    settled_hours = forms.DecimalField(
        label=gettext_lazy("Accelerator-hours that hold"),
        min_value=0,
        max_value=MOST_HOURS,
        max_digits=14,
        decimal_places=2,
        help_text=gettext_lazy("What was counted stays beside it."),
    )
    answer = forms.CharField(label=gettext_lazy("Answer"), max_length=1000, widget=forms.Textarea(attrs={"rows": 4}))
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class LendForm(forms.Form):
    nodes = forms.IntegerField(label=gettext_lazy("Nodes"), min_value=1, max_value=100_000)
    borrower = forms.CharField(label=gettext_lazy("Lent to"), max_length=120)
    reason = forms.CharField(label=gettext_lazy("Why"), max_length=300)
