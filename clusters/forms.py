"""Forms of the clusters layer: filters, a job, a reason, what was granted."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from clusters import facts, offers, states
from clusters.actions import quotas
from clusters.models import Bucket, CapacityRequest, CloudAccount, Cluster, Option, QuotaGrant, Reservation
from tenants.forms import BlockForm, WallTime
from tenants.models import Participation
from tenants.states import Moves
from tenants.web.templatetags.show import words

ANY = ("", gettext_lazy("Any"))
SORTS = [("attention", gettext_lazy("Attention first")), ("name", gettext_lazy("Name"))]
UPDATES = [ANY, ("available", gettext_lazy("Update available")), ("newest", gettext_lazy("Newest version"))]


def states_of(moves: Moves) -> list[tuple[str, Any]]:
    return [ANY, *((state, words(state)) for state in moves)]


class Filters(forms.Form):
    """A bar of filters; a tenant is chosen where one may see several."""

    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=80)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    tenant = forms.ChoiceField(label=gettext_lazy("Participant"), required=False)

    def __init__(self, *args: Any, tenants: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["q"].widget.attrs |= {"type": "search", "data-slash": ""}
        if len(tenants) > 1:
            self.fields["tenant"].choices = [ANY, *((tenant.slug, tenant.name) for tenant in tenants)]
        else:
            del self.fields["tenant"]

    def chosen(self) -> dict[str, str]:
        """The filters that say something and may be used."""
        return {name: value for name, value in self.cleaned_data.items() if value} if self.is_valid() else {}


class ClusterFilters(Filters):
    region = forms.ChoiceField(label=gettext_lazy("Region"), required=False)
    update = forms.ChoiceField(label=gettext_lazy("Architecture"), required=False, choices=UPDATES)
    sort = forms.ChoiceField(label=gettext_lazy("Order"), required=False, choices=SORTS)
    field_order = ["q", "state", "region", "tenant", "update", "sort"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["state"].choices = states_of(states.CLUSTER)
        self.fields["region"].choices = [ANY, *((region, region) for region in facts.load().zones)]


class JobFilters(Filters):
    field_order = ["q", "state", "tenant"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["state"].choices = states_of(states.JOB)


class ReasonForm(forms.Form):
    """A decision with its reason; `version` is what the person was looking at."""

    why = forms.CharField(
        label=gettext_lazy("Why"), max_length=300, help_text=gettext_lazy("It stands in the history.")
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, optional: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["why"].required = not optional


class ReachForm(forms.Form):
    """The way to a cluster's scheduler."""

    reach = forms.ChoiceField(label=gettext_lazy("Reached"), choices=Cluster.Reach.choices, widget=forms.RadioSelect)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class ApprovalForm(forms.Form):
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    plan = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)  # the digest that was looked at


class BucketForm(BlockForm):
    """What only the participant knows of a bucket; file systems follow from the configuration."""

    class Meta:
        model = Bucket
        fields = ["used_tib"]


class QuotaForm(BlockForm):
    """What the programme granted, and the provider's own limit beside it."""

    approved_instances = forms.IntegerField(
        label=gettext_lazy("Approved instances"),
        min_value=0,
        max_value=QuotaGrant.MOST,
        help_text=gettext_lazy("From today on, however they are bought. 0 allows none."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("approved_instances", self.instance.approved_instances)

    class Meta:
        model = QuotaGrant
        fields = [
            "approved_instances",
            "unlimited",
            "provider_service",
            "provider_limit",
            "provider_unit",
            "provider_value",
        ]


class MoreQuotaForm(forms.Form):
    """How many instances the provider should allow, in which account, and why."""

    instances = forms.IntegerField(
        label=gettext_lazy("Instances to be allowed"),
        min_value=1,
        max_value=quotas.MOST_INSTANCES,
        help_text=gettext_lazy("In all, not in addition. It is asked for in the provider's own unit."),
    )
    account = forms.ChoiceField(label=gettext_lazy("Cloud account"))
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=quotas.LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("What it is for. It stays in the history."),
    )

    def __init__(self, *args: Any, accounts: Sequence[CloudAccount], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["account"].choices = [(str(row.pk), f"{row.account_id} {row.name}".strip()) for row in accounts]
        if len(accounts) == 1:
            self.fields["account"].initial = str(accounts[0].pk)


class RegionsForm(BlockForm):
    """Where the data of a participation may lie."""

    allowed_regions = forms.MultipleChoiceField(
        label=gettext_lazy("Allowed Regions"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Nothing chosen: its data may lie in any Region. Clusters are refused elsewhere."),
    )

    class Meta:
        model = Participation
        fields = ["allowed_regions"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["allowed_regions"].choices = [(region, region) for region in facts.load().zones]


class AccountForm(forms.Form):
    """A cloud account of the participant. Its id stays text: it may begin with noughts."""

    account_id = forms.CharField(
        label=gettext_lazy("Account id"),
        max_length=14,
        widget=forms.TextInput(
            attrs={"inputmode": "numeric", "autocomplete": "off", "spellcheck": "false", "class": "mono", "size": 14}
        ),
        help_text=gettext_lazy("Twelve digits, with the noughts in front. The provider's dashes may stay."),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("What you call it, for instance training."),
    )
    regions = forms.MultipleChoiceField(
        label=gettext_lazy("Regions"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Where clusters may be made; their quotas are read every hour."),
    )
    role_arn = forms.CharField(
        label=gettext_lazy("Role"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text=gettext_lazy("The ARN of the role that Cohort takes. Empty: CohortProvisioner in that account."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["regions"].choices = [(region, region) for region in facts.load().zones]

    def clean_account_id(self) -> str:
        return str(self.cleaned_data["account_id"]).replace("-", "").replace(" ", "")


class RenewForm(forms.Form):
    """That a new external id is wanted, of the account as it was seen."""

    version = forms.IntegerField(
        label=gettext_lazy("Version"), widget=forms.HiddenInput, min_value=1, max_value=2_147_483_647
    )


class AskingForm(forms.Form):
    """What every request for capacity says: why, and that it is wanted beside what is there already."""

    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("What it is for, and what becomes of it otherwise. It stays in the history."),
    )
    again = forms.BooleanField(
        label=gettext_lazy("Ask for it in addition to what waits or is granted already"),
        required=False,
        widget=forms.HiddenInput,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields([name for name in self.fields if name not in AskingForm.base_fields])  # these come last

    def asks_again(self) -> None:
        """Show the tick that it is wanted in addition; before, it is hidden."""
        self.fields["again"].widget = forms.CheckboxInput()


class CapacityForm(AskingForm):
    """Other capacity of the programme: how much, of what, where, from when to when, and what for."""

    kind = forms.ChoiceField(label=gettext_lazy("What is wanted"), choices=CapacityRequest.Kind.choices)
    instance_type = forms.ChoiceField(label=gettext_lazy("Instance type"))
    region = forms.ChoiceField(label=gettext_lazy("Region"))
    to_region = forms.ChoiceField(
        label=gettext_lazy("The other Region"),
        required=False,
        help_text=gettext_lazy("Only where it is wanted in another Region."),
    )
    option = forms.ChoiceField(label=gettext_lazy("How it is bought"), required=False, choices=Option.choices)
    instances = forms.IntegerField(label=gettext_lazy("Instances"), min_value=1, max_value=QuotaGrant.MOST)
    least = forms.IntegerField(
        label=gettext_lazy("At least"),
        required=False,
        min_value=1,
        max_value=QuotaGrant.MOST,
        help_text=gettext_lazy("So few instances help already; fewer are not granted."),
    )
    starts_on = forms.DateField(
        label=gettext_lazy("From"),
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy(
            "For longer: the day after it would have ended; from the first day on, it adds to what is granted."
        ),
    )
    ends_on = forms.DateField(
        label=gettext_lazy("Until"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy("This day included. Empty: until the cycle ends."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, types: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["instance_type"].choices = offers.type_choices(types)
        regions = offers.region_choices(sorted(facts.load().zones))
        self.fields["region"].choices = regions
        self.fields["to_region"].choices = [("", gettext_lazy("the same")), *regions]


class LongerForm(AskingForm):
    """What is granted, for longer: only until when, and why; from when is the day after it would have ended."""

    ends_on = forms.DateField(
        label=gettext_lazy("Until"),
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy("The new last day, included."),
    )


class SmallForm(forms.Form):
    """Up to what a request for capacity needs nobody's agreement."""

    hours = forms.IntegerField(
        label=gettext_lazy("Accelerator-hours within 30 days"),
        min_value=0,
        max_value=10_000_000,
        help_text=gettext_lazy("Of one participant, all small requests together. 0: somebody decides each."),
    )
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class DecisionForm(forms.Form):
    """What becomes of a request for capacity."""

    decision = forms.ChoiceField(
        label=gettext_lazy("Decision"),
        choices=[("grant", gettext_lazy("Grant it")), ("decline", gettext_lazy("Decline it"))],
        widget=forms.RadioSelect,
    )
    instances = forms.IntegerField(
        label=gettext_lazy("Instances that are granted"), required=False, min_value=1, max_value=QuotaGrant.MOST
    )
    ends_on = forms.DateField(
        label=gettext_lazy("Granted until"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy("This day included, no later than was asked for. What was asked for stays as it is."),
    )
    nevertheless = forms.BooleanField(
        label=gettext_lazy("Grant it nevertheless, also for the days after the end of the cycle"),
        required=False,
        widget=forms.HiddenInput,
    )
    budget_line = forms.CharField(
        label=gettext_lazy("Budget line"),
        max_length=120,
        required=False,
        help_text=gettext_lazy(
            "The name of the money it is paid from, as the finance people know it, for example 'compute, first half'. "
            "The participant's budget has no lines yet: once it has, they stand here as a list."
        ),
        widget=forms.TextInput(attrs={"list": "budget-lines"}),
    )
    why = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("The participant reads it."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def asks_nevertheless(self) -> None:
        """Show the tick; before, it is hidden."""
        self.fields["nevertheless"].widget = forms.CheckboxInput()

    def __init__(
        self, *args: Any, lines: Sequence[str] = (), row: CapacityRequest | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if row is not None:
            self.initial |= {"instances": row.instances, "ends_on": row.ends_on}
            told = {"least": row.least or 1, "most": row.instances}
            self.fields["instances"].help_text = (
                gettext("Between %(least)s and %(most)s were asked for.") if row.instances > 1 else ""
            ) % told
        if lines:  # the participant's budget has these; any other is refused
            old = self.fields["budget_line"]
            self.fields["budget_line"] = forms.ChoiceField(
                label=old.label,
                required=False,
                help_text=gettext_lazy("Of the participant's budget; out of which it is paid."),
                choices=[("", "–"), *((one, one) for one in lines)],
            )
        self.fields["budget_line"].needed_later = gettext_lazy("needed to grant it")


def _moment() -> forms.DateTimeInput:
    return forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"}, format="%Y-%m-%dT%H:%M")


class WantedForm(forms.Form):
    """A reservation that somebody should buy. Times are in UTC, as the provider tells them."""

    kind = forms.ChoiceField(label=gettext_lazy("How it is bought"), choices=Reservation.Kind.choices)
    instance_type = forms.ChoiceField(label=gettext_lazy("Instance type"))
    az_id = forms.ChoiceField(
        label=gettext_lazy("Zone"), help_text=gettext_lazy("By its id, which is the same for everybody.")
    )
    count = forms.IntegerField(label=gettext_lazy("Instances"), min_value=1, max_value=10_000)
    starts_at = WallTime(label=gettext_lazy("From, in UTC"), widget=_moment())
    ends_at = WallTime(label=gettext_lazy("Until, in UTC"), widget=_moment())
    reason = forms.CharField(label=gettext_lazy("Why"), max_length=300)

    def __init__(self, *args: Any, types: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["instance_type"].choices = [(name, name) for name in types]
        self.fields["az_id"].choices = [(zone, zone) for zones in facts.load().zones.values() for zone in zones]


class BoughtForm(forms.Form):
    external_id = forms.CharField(
        label=gettext_lazy("The provider's id"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text=gettext_lazy("As the provider calls it. Only what is on demand has none."),
    )
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class ChangedForm(forms.Form):
    count = forms.IntegerField(label=gettext_lazy("Instances"), min_value=1, max_value=10_000)
    starts_at = WallTime(label=gettext_lazy("From, in UTC"), widget=_moment())
    ends_at = WallTime(label=gettext_lazy("Until, in UTC"), widget=_moment())
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
