"""Forms about budgets: set or change one, move some of it, pause the rule, enter a rate, ask what if."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from clusters.models import BudgetWatch
from tenants.forms import WallTime

MOST = Decimal(1_000_000_000_000)
BELOW = gettext_lazy("It may fall below what is spent and bound")


def _amount(label: Any, **more: Any) -> forms.DecimalField:
    return forms.DecimalField(label=label, min_value=0, max_value=MOST, max_digits=16, decimal_places=2, **more)


class ChangeForm(forms.Form):
    """A row of a budget: brought to a sum, raised or cut."""

    how = forms.ChoiceField(
        label=gettext_lazy("What is done"),
        choices=[
            ("set", gettext_lazy("Bring it to this sum")),
            ("raise", gettext_lazy("Raise it by this")),
            ("cut", gettext_lazy("Cut it by this")),
        ],
        widget=forms.RadioSelect,
    )
    amount = _amount(gettext_lazy("Amount"), help_text=gettext_lazy("0 as the sum allows nothing."))
    line = forms.CharField(
        label=gettext_lazy("Budget line"),
        max_length=120,
        help_text=gettext_lazy("Decisions name the line they are out of."),
    )
    reference = forms.CharField(
        label=gettext_lazy("Reference"),
        max_length=120,
        required=False,
        help_text=gettext_lazy("The number of the decision or the contract, for instance."),
    )
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    below_bound = forms.BooleanField(label=BELOW, required=False)

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"].unit = currency


class MoveForm(forms.Form):
    """Some of one participant's budget for another."""

    giver = forms.ChoiceField(label=gettext_lazy("From"))
    taker = forms.ChoiceField(label=gettext_lazy("To"))
    amount = _amount(gettext_lazy("Amount"))
    line = forms.CharField(label=gettext_lazy("Budget line"), max_length=120)
    reference = forms.CharField(label=gettext_lazy("Reference"), max_length=120, required=False)
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    below_bound = forms.BooleanField(label=BELOW, required=False)

    def __init__(self, *args: Any, places: list[tuple[str, str]], currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["giver"].choices = self.fields["taker"].choices = places
        self.fields["amount"].unit = currency


class RateForm(forms.Form):
    """What one unit of a currency is in the programme's."""

    of = forms.CharField(
        label=gettext_lazy("One"), max_length=3, min_length=3, help_text=gettext_lazy("For instance USD.")
    )
    rate = forms.DecimalField(label=gettext_lazy("Is"), min_value=0, max_value=10**9, max_digits=18, decimal_places=8)
    starts_on = forms.DateField(label=gettext_lazy("From"), widget=forms.DateInput(attrs={"type": "date"}))
    source = forms.CharField(
        label=gettext_lazy("Source"),
        max_length=200,
        help_text=gettext_lazy("Who says so: a bank's rate of a day, a contract."),
    )

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rate"].unit = currency


class RuleForm(forms.Form):
    """What happens at the limit for one participant."""

    rule = forms.ChoiceField(
        label=gettext_lazy("At the limit"), required=False, choices=BudgetWatch.Rule.choices, widget=forms.RadioSelect
    )
    counts = forms.ChoiceField(
        label=gettext_lazy("What is new counts against"),
        required=False,
        choices=BudgetWatch.Counts.choices,
        widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "Where what is bound counts too, nothing is launched or granted that would bind more than is left. Jobs are stopped only for what is spent."
        ),
    )
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class PauseForm(forms.Form):
    """Until when nothing is refused or stopped."""

    until = WallTime(
        label=gettext_lazy("Until, in UTC"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"}, format="%Y-%m-%dT%H:%M"),
        help_text=gettext_lazy("A moment that is past ends the pause."),
    )
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class WhatIfForm(forms.Form):
    """Fewer instances from now on, and an earlier end."""

    fewer = forms.IntegerField(
        label=gettext_lazy("Fewer accelerated instances"), required=False, min_value=0, max_value=100_000
    )
    ends = forms.DateField(
        label=gettext_lazy("Everything ends on"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
