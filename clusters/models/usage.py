"""What accelerators were used for: runs of jobs, each day of each cluster in its classes, what was lent, what is disputed."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class JobRun(TenantOwned):
    """One attempt of a job as its scheduler's accounting keeps it, or, until that told of it, as we watched it."""

    class Source(models.TextChoices):
        ACCOUNTING = "accounting", _("accounting of the cluster")
        WATCHED = "watched", _("watched by Cohort")

    SUBJECT = "run"

    cluster = tied("clusters.Cluster", related_name="+")
    job = tied("clusters.Job", null=True, related_name="+")  # null: it was not launched through Cohort
    external_id = models.CharField(max_length=60)
    attempt = models.PositiveIntegerField()
    name = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=10, choices=Source.choices)
    outcome = models.CharField(max_length=20, blank=True)
    engine_state = models.CharField(max_length=40, blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    counted_until = models.DateTimeField(null=True)  # its end, or when it was last seen: nothing is counted beyond
    nodes = models.PositiveIntegerField(null=True)
    accelerators = models.PositiveIntegerField(null=True)  # null: not measured
    node_names = models.JSONField(default=list)
    exit_code = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)
    told_at = models.DateTimeField()

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "external_id", "attempt"], name="run_once"),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(counted_until=F("ended_at")), name="run_counted_to_its_end"
            ),
            models.CheckConstraint(condition=Q(source__in=["accounting", "watched"]), name="run_source_known"),
        ]
        indexes = [models.Index(fields=["tenant", "cluster", "-started_at"], name="run_newest")]

    def __str__(self) -> str:
        return f"{self.external_id}.{self.attempt}"


class AccountingRead(TenantOwned):
    """Whether a cluster keeps accounting of its jobs, and until when we have read it."""

    class Kept(models.TextChoices):
        YES = "yes", _("yes")
        NO = "no", _("no")
        UNKNOWN = "unknown", _("unknown")

    SUBJECT = "accounting"

    cluster = tied("clusters.Cluster", related_name="+")
    kept = models.CharField(max_length=7, choices=Kept.choices, default=Kept.UNKNOWN)
    told = models.TextField(blank=True)  # why it keeps none, or why it did not answer
    asked_at = models.DateTimeField(null=True)
    read_until = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster"], name="one_accounting_read"),
            models.CheckConstraint(condition=Q(kept__in=["yes", "no", "unknown"]), name="accounting_kept_known"),
        ]


class NodeSpell(TenantOwned):
    """From when to when a node was in a state; an open end is null."""

    SUBJECT = "node_spell"

    node = tied("clusters.Node", related_name="+")
    word = models.CharField(max_length=10)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "node"], condition=Q(ended_at=None), name="one_open_spell"),
        ]
        indexes = [models.Index(fields=["tenant", "node", "began_at"], name="spell_in_order")]


class UsageDay(TenantOwned):
    """A day of a cluster in the programme's zone: each reserved accelerator-second in one class, and what runs used."""

    class Source(models.TextChoices):
        ACCOUNTING = "accounting", _("accounting of the cluster")
        WATCHED = "watched", _("watched by Cohort")
        NOBODY = "nobody", _("not measured")

    SUBJECT = "usage_day"

    cluster = tied("clusters.Cluster", related_name="+")
    day = models.DateField()
    zone = models.CharField(max_length=64)
    reserved = models.BigIntegerField(default=0, validators=[MinValueValidator(0)])
    training = models.BigIntegerField(default=0)
    stalled = models.BigIntegerField(default=0)
    recovering = models.BigIntegerField(default=0)
    waiting_us = models.BigIntegerField(default=0)
    waiting_provider = models.BigIntegerField(default=0)
    waiting_participant = models.BigIntegerField(default=0)
    idle = models.BigIntegerField(default=0)
    lent = models.BigIntegerField(default=0)
    used = models.BigIntegerField(default=0)  # by all runs, reserved or not
    runs = models.PositiveIntegerField(default=0)
    unmeasured = models.PositiveIntegerField(default=0)  # runs that are not in `used`
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.NOBODY)
    computed_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "day"], name="usage_day_once"),
            models.CheckConstraint(
                condition=Q(
                    reserved=F("training") + F("stalled") + F("recovering") + F("waiting_us") + F("waiting_provider")
                    + F("waiting_participant") + F("idle") + F("lent")
                ),
                name="usage_classes_sum",
            ),
            models.CheckConstraint(
                condition=Q(
                    training__gte=0, stalled__gte=0, recovering__gte=0, waiting_us__gte=0, waiting_provider__gte=0,
                    waiting_participant__gte=0, idle__gte=0, lent__gte=0, used__gte=0,
                ),
                name="usage_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(source__in=["accounting", "watched", "nobody"]), name="usage_source_known"
            ),
        ]  # fmt: skip
        indexes = [models.Index(fields=["tenant", "day"], name="usage_by_day")]


class Lending(TenantOwned):
    """Nodes of a cluster that somebody else may use for a while, for instance to serve a model."""

    SUBJECT = "lending"

    cluster = tied("clusters.Cluster", related_name="+")
    nodes = models.PositiveIntegerField(_("nodes"))
    borrower = models.CharField(_("lent to"), max_length=120)
    reason = models.CharField(_("why"), max_length=300)
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    lent_by = models.CharField(max_length=60)
    taken_back_by = models.CharField(max_length=60, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.CheckConstraint(condition=Q(ends_at=None) | Q(ends_at__gte=F("begins_at")), name="lending_order"),
            models.UniqueConstraint(fields=["tenant", "cluster"], condition=Q(ends_at=None), name="one_open_lending"),
        ]


class UsageDispute(TenantOwned):
    """A participant says that a month of a cluster is counted wrong. Both numbers stay, whatever comes of it."""

    SUBJECT = "usage_dispute"
    MOVES = states.USAGE_DISPUTE

    cluster = tied("clusters.Cluster", related_name="+")
    month = models.DateField()  # its first day
    state = models.CharField(max_length=8, default="open")
    reason = models.CharField(_("what is wrong"), max_length=1000)
    claimed_hours = models.DecimalField(_("hours as you count them"), max_digits=14, decimal_places=2, null=True)
    reserved_then = models.BigIntegerField()  # accelerator-seconds, as they were shown
    used_then = models.BigIntegerField(null=True)  # null: not measured
    disputed_by = models.CharField(max_length=60)
    disputed_at = models.DateTimeField()
    settled_hours = models.DecimalField(_("hours that hold"), max_digits=14, decimal_places=2, null=True)
    answer = models.CharField(_("answer"), max_length=1000, blank=True)
    answered_by = models.CharField(max_length=60, blank=True)
    answered_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "cluster", "month"], condition=Q(state="open"), name="one_open_dispute"
            ),
            checked("usage_dispute", states.USAGE_DISPUTE),
        ]
