"""Somebody asks the programme for other capacity: more, less, for longer, or in another Region."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters import states
from clusters.models.ledger import Option
from tenants.models import TenantOwned, tied
from tenants.states import checked


class CapacityRequest(TenantOwned):
    """What is asked for and why, what it comes to, and who decided it, out of which budget, why."""

    class Kind(models.TextChoices):
        MORE = "more", _("more")
        FEWER = "fewer", _("fewer: give back")
        LONGER = "longer", _("for longer")
        REGION = "region", _("in another Region")

    SUBJECT = "capacity_request"
    MOVES = states.CAPACITY_REQUEST

    participation = tied("tenants.Participation", related_name="+")
    number = models.CharField(max_length=20)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    instance_type = models.CharField(max_length=30)
    region = models.CharField(max_length=20)
    to_region = models.CharField(max_length=20, blank=True)
    option = models.CharField(max_length=14, choices=Option.choices, blank=True)
    instances = models.PositiveIntegerField()
    starts_on = models.DateField()
    ends_on = models.DateField(null=True)
    reason = models.CharField(max_length=1000)
    # As it was shown when it was asked for: accelerator-hours, price, days past the stage gate.
    effect = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    state = models.CharField(max_length=10, default="waiting")
    rule = models.CharField(max_length=12, blank=True)  # which rule granted it at once; empty: somebody decided
    budget_line = models.CharField(max_length=120, blank=True)
    why = models.CharField(max_length=1000, blank=True)
    asked_by = models.CharField(max_length=60)
    decided_by = models.CharField(max_length=60, blank=True)
    decided_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "number"], name="capacity_request_number"),
            models.CheckConstraint(
                condition=models.Q(ends_on=None) | models.Q(ends_on__gte=models.F("starts_on")),
                name="capacity_request_dates",
            ),
            models.CheckConstraint(condition=models.Q(instances__gt=0), name="capacity_request_says_something"),
            checked("capacity_request", states.CAPACITY_REQUEST),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.instances} × {self.instance_type} in {self.region}"
