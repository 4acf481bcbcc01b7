"""Somebody asks the programme for other capacity: more, less, for longer, or in another Region."""

from datetime import date

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
    kind = models.CharField(_("What is wanted"), max_length=8, choices=Kind.choices)
    instance_type = models.CharField(_("Instance type"), max_length=30)
    region = models.CharField(_("Region"), max_length=20)
    to_region = models.CharField(_("The other Region"), max_length=20, blank=True)
    option = models.CharField(_("How it is bought"), max_length=14, choices=Option.choices, blank=True)
    instances = models.PositiveIntegerField(_("Instances"))
    # So few help already; with less than that nothing can be begun. Empty: one does.
    least = models.PositiveIntegerField(_("At least"), null=True)
    starts_on = models.DateField(_("From"))
    ends_on = models.DateField(_("Until"), null=True)
    reason = models.CharField(_("Why"), max_length=1000)
    # As it was shown when it was asked for: accelerator-hours, price, days past the stage gate.
    effect = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    state = models.CharField(max_length=10, default="waiting")
    rule = models.CharField(max_length=12, blank=True)  # which rule granted it at once; empty: somebody decided
    budget_line = models.CharField(max_length=120, blank=True)
    why = models.CharField(max_length=1000, blank=True)
    # What was granted where that is less than what was asked for; what was asked for stays as it is.
    granted_instances = models.PositiveIntegerField(null=True)
    granted_until = models.DateField(null=True)
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

    @property
    def given(self) -> int:
        """Instances that were granted, or are asked for as long as nobody decided."""
        return self.instances if self.granted_instances is None else self.granted_instances

    @property
    def given_until(self) -> date | None:
        return self.granted_until or self.ends_on

    @property
    def given_less(self) -> bool:
        """Whether fewer or a shorter time was granted than was asked for."""
        return self.granted_instances is not None or self.granted_until is not None

    @property
    def given_hours(self) -> int | None:
        """Accelerator-hours of what was granted, else of what is asked for."""
        found: int | None = self.effect.get("granted", self.effect).get("accelerator_hours")
        return found
