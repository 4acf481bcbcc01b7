"""What changed of capacity, one row for each change: a sum of rows is what holds, and no number of it is kept anywhere."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Dated, TenantOwned, tied


class Option(models.TextChoices):
    """How instances are bought. Empty stands for any way."""

    ANY = "", _("any way of buying")
    ON_DEMAND = "on_demand", _("on demand")
    ODCR = "odcr", _("on-demand capacity reservation")
    CAPACITY_BLOCK = "capacity_block", _("Capacity Block")
    TRAINING_PLAN = "training_plan", _("training plan")


class LedgerRow(Dated, TenantOwned):
    """So many more or fewer, in instances, or for a service quota in the provider's own unit. Rows are only ever added."""

    class Ledger(models.TextChoices):
        GRANT = "grant", _("granted by the programme")
        QUOTA = "quota", _("allowed by the provider")
        RESERVATION = "reservation", _("reserved")
        USE = "use", _("held by clusters")

    SUBJECT = "ledger_row"

    ledger = models.CharField(max_length=12, choices=Ledger.choices)
    participation = tied("tenants.Participation", null=True, related_name="+")  # none of what an account allows
    region = models.CharField(max_length=20)
    instance_type = models.CharField(max_length=30, blank=True)
    option = models.CharField(max_length=14, choices=Option.choices, blank=True)
    delta = models.BigIntegerField()
    why = models.CharField(max_length=300, blank=True)
    by = models.CharField(max_length=60)
    grant = tied("clusters.QuotaGrant", null=True, related_name="rows")
    account = tied("clusters.CloudAccount", null=True, related_name="+")
    quota = models.CharField(max_length=230, blank=True)  # its service and exact name, where it is the provider's
    reservation = tied("clusters.Reservation", null=True, related_name="+")
    cluster = tied("clusters.Cluster", null=True, related_name="+")
    request = tied("clusters.CapacityRequest", null=True, related_name="rows")  # that it was granted for
    operation = tied("clusters.Operation", null=True, related_name="+")

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.CheckConstraint(condition=~models.Q(delta=0), name="ledger_delta_says_something"),
            models.CheckConstraint(
                condition=models.Q(ends_on=None) | models.Q(ends_on__gte=models.F("starts_on")), name="ledger_dates"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "participation", "ledger", "region", "instance_type"], name="ledger_sums"),
            models.Index(fields=["tenant", "cluster"], condition=models.Q(ledger="use"), name="ledger_of_cluster"),
        ]

    def __str__(self) -> str:
        return f"{self.delta:+} {self.instance_type} in {self.region}"
