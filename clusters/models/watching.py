"""What tells of a cluster from inside: where its alerts come in, and each alert that came."""

from django.db import models

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.secret_fields import SecretField
from tenants.states import checked


class AlertIntake(TenantOwned):
    """The door through which a cluster's alerts come. The token is written into its account, and shown nowhere."""

    SUBJECT = "alert_intake"

    cluster = tied("clusters.Cluster", related_name="+")
    token = SecretField()
    before = SecretField(blank=True, default="")  # the one before it, good until the account has the new one
    before_until = models.DateTimeField(null=True)
    made_by = models.CharField(max_length=60)
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster"], name="one_alert_intake"),
        ]


class Alert(TenantOwned):
    """One alert from its beginning to its end: what fires again later is another."""

    SUBJECT = "alert"
    MOVES = states.ALERT

    cluster = tied("clusters.Cluster", related_name="+")
    fingerprint = models.CharField(max_length=64)  # of the rule and its labels, by Alertmanager
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    name = models.CharField(max_length=120)
    severity = models.CharField(max_length=8, default="normal")  # ours, made of the rule's own word
    summary = models.CharField(max_length=500, blank=True)
    node = models.CharField(max_length=120, blank=True)
    labels = models.JSONField(default=dict)
    state = models.CharField(max_length=8, default="firing")
    told = models.PositiveIntegerField(default=1)  # how often Alertmanager spoke of it
    last_told_at = models.DateTimeField()

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "fingerprint", "starts_at"], name="alert_once"),
            models.CheckConstraint(
                condition=models.Q(severity__in=["critical", "urgent", "high", "normal", "low"]), name="alert_severity"
            ),
            checked("alert", states.ALERT),
        ]
        indexes = [models.Index(fields=["tenant", "cluster", "-starts_at"], name="alert_newest")]

    def __str__(self) -> str:
        return self.name
