"""Three ledgers of capacity: what the programme granted, what the provider allows, what is reserved."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class QuotaGrant(TenantOwned):
    """What the programme granted a participation, in instances; the provider's own limit is kept beside it."""

    SUBJECT = "quota"

    participation = tied("tenants.Participation", related_name="+")
    instance_type = models.CharField(_("instance type"), max_length=30)
    region = models.CharField(_("Region"), max_length=20)
    approved_instances = models.PositiveIntegerField(_("approved instances"))
    provider_service = models.CharField(_("provider's service"), max_length=20, blank=True)
    provider_limit = models.CharField(_("provider's limit"), max_length=120, blank=True)
    provider_unit = models.CharField(_("provider's unit"), max_length=20, blank=True)
    provider_value = models.PositiveIntegerField(_("provider's value"), null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "instance_type", "region"], name="grant_once"),
        ]

    def __str__(self) -> str:
        return f"{self.approved_instances} {self.instance_type} in {self.region}"


class ServiceQuota(TenantOwned):
    """A quota as the account itself reports it. The unit is in the name: instances for SageMaker, vCPUs for EC2."""

    SUBJECT = "service_quota"

    account = tied("clusters.CloudAccount", related_name="+")
    region = models.CharField(max_length=20)
    service = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    code = models.CharField(max_length=20, blank=True)
    value = models.DecimalField(max_digits=14, decimal_places=2)
    read_at = models.DateTimeField()

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "account", "region", "service", "name"], name="service_quota_once"
            ),
        ]


class Reservation(TenantOwned):
    """Capacity held for a participation: on-demand reservation, Capacity Block or training plan."""

    class Kind(models.TextChoices):
        TRAINING_PLAN = "training_plan", _("training plan")
        CAPACITY_BLOCK = "capacity_block", _("Capacity Block")
        ODCR = "odcr", _("on-demand capacity reservation")

    SUBJECT = "reservation"

    participation = tied("tenants.Participation", related_name="+")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    external_id = models.CharField(max_length=200)
    region = models.CharField(max_length=20)
    az_id = models.CharField(max_length=20)
    instance_type = models.CharField(max_length=30)
    count = models.PositiveIntegerField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    engine_status = models.CharField(max_length=20, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "external_id"], name="reservation_once"),
        ]

    def __str__(self) -> str:
        return f"{self.external_id}: {self.count} {self.instance_type} in {self.az_id}"


class QuotaRequest(TenantOwned):
    """Somebody asks the provider for more: what is wanted in instances, and the number in the provider's own unit."""

    SUBJECT = "quota_request"
    MOVES = states.QUOTA_REQUEST

    participation = tied("tenants.Participation", related_name="+")
    number = models.CharField(max_length=20)
    region = models.CharField(_("Region"), max_length=20)
    instance_type = models.CharField(_("instance type"), max_length=30)
    instances = models.PositiveIntegerField(_("instances"))
    provider_unit = models.CharField(_("provider's unit"), max_length=20)
    provider_value = models.PositiveIntegerField(_("provider's value"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    state = models.CharField(max_length=12, default="pending")
    requested_on = models.DateField(_("asked on"))
    decided_on = models.DateField(_("decided on"), null=True, blank=True)
    # Of a request that Cohort itself makes: where, of which quota, and what the provider calls it. Imported ones have none.
    account = tied("clusters.CloudAccount", related_name="+", null=True)
    service = models.CharField(max_length=20, blank=True)
    name = models.CharField(max_length=200, blank=True)
    code = models.CharField(max_length=20, blank=True)
    engine_id = models.CharField(max_length=64, blank=True)
    engine_status = models.CharField(max_length=20, blank=True)  # the provider's own word
    told = models.TextField(blank=True)  # what the provider said when it could not be asked, or refused
    sent_at = models.DateTimeField(null=True)  # committed before it is asked
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "number"], name="quota_request_number"),
            models.UniqueConstraint(
                fields=["tenant", "account", "region", "service", "name"],
                condition=models.Q(state__in=["pending", "case_opened"], account__isnull=False),
                name="quota_request_open_once",
            ),
            checked("quota_request", states.QUOTA_REQUEST),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.instances} × {self.instance_type} in {self.region}"
