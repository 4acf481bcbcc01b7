"""What the programme granted, what the provider allows, what is reserved; their numbers are sums of the ledger's rows."""

from collections.abc import Sequence
from typing import Any, Self

from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy as _

from clusters import states
from clusters.models.ledger import LedgerRow
from tenants.history.moves import move
from tenants.models import TenantManager, TenantOwned, tied, within
from tenants.states import checked
from tenants.work import due


class GrantManager(TenantManager):
    """Beside each line what is granted by it today: the sum of its rows that hold."""

    def get_queryset(self) -> models.QuerySet:
        today = LedgerRow._base_manager.filter(
            within(), tenant_id=models.OuterRef("tenant_id"), grant=models.OuterRef("pk")
        )
        total = today.order_by().values("grant").annotate(total=models.Sum("delta")).values("total")
        granted = Coalesce(models.Subquery(total), 0, output_field=models.IntegerField())
        return super().get_queryset().annotate(approved_instances=granted)


class QuotaGrant(TenantOwned):
    """A line of what the programme granted a participation; the provider's own limit is kept beside it.

    How many instances is the sum of the line's rows. Without a line nothing is set; a sum of 0 allows none.
    """

    SUBJECT = "quota"
    MOST = 100_000  # instances
    objects = GrantManager()

    participation = tied("tenants.Participation", related_name="+")
    instance_type = models.CharField(_("instance type"), max_length=30)
    region = models.CharField(_("Region"), max_length=20)
    unlimited = models.BooleanField(_("no limit"), default=False)
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
        count = translated("any number of") if self.unlimited else self.approved_instances
        return f"{count} {self.instance_type} in {self.region}"

    @property
    def approved_instances(self) -> int:
        """What is granted today, as it was read; what is set here becomes a row when the line is kept."""
        return int(self.__dict__.get("_approved", 0))

    @approved_instances.setter
    def approved_instances(self, instances: int) -> None:
        self.__dict__["_approved"] = instances

    @property
    def why(self) -> str:
        """Why it is changed; it stands in the row and not in the line."""
        return str(self.__dict__.get("_why", ""))

    @why.setter
    def why(self, text: str) -> None:
        self.__dict__["_why"] = text

    def refresh_from_db(self, *args: Any, **kwargs: Any) -> None:
        super().refresh_from_db(*args, **kwargs)
        self.approved_instances = type(self).objects.values_list("approved_instances", flat=True).get(pk=self.pk)

    def kept(self, *, by: str) -> None:
        """Add the row that brings the sum to what was set. The line is locked by the caller, or is new."""
        self.kept_together([self], by=by)

    @classmethod
    def kept_together(cls, rows: Sequence[Self], *, by: str) -> None:
        today = cls.objects.filter(pk__in=[row.pk for row in rows]).values_list("pk", "approved_instances")
        granted = dict(today)
        LedgerRow.objects.bulk_create([
            LedgerRow(
                tenant_id=row.tenant_id, ledger=LedgerRow.Ledger.GRANT, participation_id=row.participation_id, grant=row,
                region=row.region, instance_type=row.instance_type, delta=row.approved_instances - granted[row.pk],
                why=row.why[:300], by=by,
            )
            for row in rows
            if row.approved_instances != granted[row.pk]
        ])  # fmt: skip


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
    """Capacity held for a participation: on-demand reservation, Capacity Block or training plan, or nothing but the will."""

    class Kind(models.TextChoices):
        TRAINING_PLAN = "training_plan", _("training plan")
        CAPACITY_BLOCK = "capacity_block", _("Capacity Block")
        ODCR = "odcr", _("on-demand capacity reservation")
        ON_DEMAND = "on_demand", _("on demand, nothing reserved")

    SUBJECT = "reservation"
    MOVES = states.RESERVATION

    participation = tied("tenants.Participation", related_name="+")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    external_id = models.CharField(max_length=200, blank=True)  # empty while it is wanted
    state = models.CharField(max_length=8, default="wanted")
    region = models.CharField(max_length=20)
    az_id = models.CharField(max_length=20)
    instance_type = models.CharField(max_length=30)
    count = models.PositiveIntegerField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    engine_status = models.CharField(max_length=20, blank=True)
    warned = models.PositiveSmallIntegerField(
        null=True, blank=True
    )  # so many days before its end it was last warned of
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "external_id"], condition=~models.Q(external_id=""), name="reservation_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["wanted", "ended"])
                | ~models.Q(external_id="")
                | models.Q(kind="on_demand"),
                name="reservation_named_when_bought",
            ),
            checked("reservation", states.RESERVATION),
        ]

    def __str__(self) -> str:
        return f"{self.external_id}: {self.in_words()}" if self.external_id else self.in_words()

    @property
    def purposes(self) -> frozenset[str]:
        """What can be done with it now."""
        return {"wanted": frozenset({"buy", "change", "end"}), "ended": frozenset[str]()}.get(
            self.state, frozenset({"change", "end"})
        )

    def in_words(self) -> str:
        return f"{self.count} {self.instance_type} in {self.az_id}"

    def kept(self, *, by: str) -> None:
        """What came with the record, bought already: a row of the ledger, and its times are followed from now on."""
        move(self, "bought", by=by, what=self.in_words(), why=self.external_id)
        LedgerRow.objects.create(
            tenant_id=self.tenant_id, ledger=LedgerRow.Ledger.RESERVATION, participation_id=self.participation_id,
            region=self.region, instance_type=self.instance_type, option=self.kind, delta=self.count, reservation=self, by=by,
            why=self.external_id,
        )  # fmt: skip
        due.wish("reservation", self.pk, tenant=self.tenant_id)


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
