"""The money of a participation: rows whose sum is its budget, how it stands to the limit, and what prices and rates held when."""

from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class BudgetRow(TenantOwned):
    """So much more or less for the term, in the programme's currency, out of a line. Rows are only ever added.

    The budget is their sum. Without a row nothing is set; a sum of 0 allows nothing, so a row may say 0.
    """

    SUBJECT = "budget_row"

    participation = tied("tenants.Participation", related_name="+")
    line = models.CharField(_("budget line"), max_length=120)
    delta = models.DecimalField(max_digits=16, decimal_places=2)
    currency = models.CharField(max_length=3)
    why = models.CharField(_("why"), max_length=300)
    reference = models.CharField(_("reference"), max_length=120, blank=True)
    moved = models.UUIDField(null=True)  # the same on both rows of what was moved between participants
    by = models.CharField(max_length=60)

    class Meta(TenantOwned.Meta):
        indexes = [models.Index(fields=["tenant", "participation", "-created_at"], name="budget_newest")]

    def __str__(self) -> str:
        return f"{self.delta:+,.2f} {self.currency}"


class BudgetWatch(TenantOwned):
    """How a participation stands to its budget: what was told, and how far the stop rule has come."""

    class Rule(models.TextChoices):
        PROGRAMMES = "", _("as the programme has it")
        TELL = "tell", _("tell")
        REFUSE = "refuse", _("tell, and refuse what is new at the limit")
        STOP = "stop", _("tell, refuse, and stop jobs at the limit")

    class Counts(models.TextChoices):
        PROGRAMMES = "", _("as the programme has it")
        SPENT = "spent", _("what is spent")
        BOUND = "bound", _("what is spent and bound")

    SUBJECT = "budget_watch"
    MOVES = states.BUDGET_WATCH

    participation = tied("tenants.Participation", related_name="+")
    state = models.CharField(max_length=8, default="within")
    since = models.DateTimeField(db_default=Now())  # in this state
    warned = models.PositiveSmallIntegerField(default=0)  # percent; the highest that was told
    rule = models.CharField(_("rule"), max_length=6, choices=Rule.choices, blank=True)
    counts = models.CharField(_("what is new counts against"), max_length=5, choices=Counts.choices, blank=True)
    paused_until = models.DateTimeField(null=True)
    paused_why = models.CharField(max_length=300, blank=True)
    paused_by = models.CharField(max_length=60, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation"], name="one_budget_watch"),
            models.CheckConstraint(
                condition=models.Q(rule__in=["", "tell", "refuse", "stop"]), name="budget_watch_rule_known"
            ),
            models.CheckConstraint(
                condition=models.Q(counts__in=["", "spent", "bound"]), name="budget_watch_counts_known"
            ),
            checked("budget_watch", states.BUDGET_WATCH),
        ]


class ExchangeRate(models.Model):
    """What one unit of a currency is in the programme's, from a day on, as the office entered it; rows are only added."""

    programme = models.ForeignKey("tenants.Programme", models.PROTECT, related_name="+")
    of = models.CharField(_("one of"), max_length=3)
    rate = models.DecimalField(_("is"), max_digits=18, decimal_places=8, validators=[MinValueValidator(0)])
    currency = models.CharField(max_length=3)  # the programme's, then
    starts_on = models.DateField(_("from"))
    source = models.CharField(_("source"), max_length=200)
    by = models.CharField(max_length=60)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(rate__gt=0), name="exchange_rate_says_something")]


class PriceList(models.Model):
    """The operator's price file as it once was, so that an hour keeps the price of its time."""

    digest = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    dated = models.DateField()
    expires = models.DateField()
    currency = models.CharField(max_length=3)
    fictional = models.BooleanField()
    tables = models.JSONField(encoder=DjangoJSONEncoder)
    kept_at = models.DateTimeField(db_default=Now())
