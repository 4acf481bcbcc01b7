"""What is being done to a cluster: one thing at a time, with its plan, who agreed, how far it is and what came of it."""

from django.db import models
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class Operation(TenantOwned):
    """The lock on a cluster and the record of what was done under it; at most one is open."""

    class Kind(models.TextChoices):
        CREATE = "create", _("creation")
        CHANGE = "change", _("change")
        SOFTWARE = "software", _("software update")
        REBOOT = "reboot", _("reboot of nodes")
        REPLACE = "replace", _("replacement of nodes")
        REMOVE = "remove", _("removal of nodes")
        DELETE = "delete", _("deletion")
        CONTINUE = "continue", _("end of a rollback that stopped")
        ROLLBACK = "rollback", _("rollback of what stopped")

    class Second(models.TextChoices):
        NOBODY = "", _("nobody else")
        SIZE = "size", _("somebody else: it takes more instances than are free of approval")
        DATA = "data", _("somebody else: data would be gone, or no longer where jobs look for it")
        BUDGET = "budget", _("somebody: the budget is used up, and nodes would go")

    SUBJECT = "operation"
    MOVES = states.OPERATION

    cluster = tied("clusters.Cluster", related_name="+")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    state = models.CharField(max_length=10, default="waiting")
    generation = models.PositiveIntegerField(default=0)  # of the cluster, that it leads to; 0 while it waits
    revision = models.PositiveIntegerField(null=True)  # the configuration that it leads to
    body = models.JSONField(null=True)  # the configuration that was asked for, while it waits
    plan = models.JSONField(default=dict)  # as it was agreed to, for display
    plan_digest = models.CharField(max_length=40, blank=True)
    second_person = models.CharField(max_length=8, choices=Second.choices, blank=True)
    may_stop_jobs = models.BooleanField(default=False)
    removes_nodes = models.BooleanField(default=False)
    asked_by = models.CharField(max_length=60)
    reason = models.CharField(max_length=300, blank=True)
    approved_by = models.CharField(max_length=60, blank=True)
    approved_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)  # an order to nodes: when it was sent, never twice
    ended_at = models.DateTimeField(null=True)
    cancel_wished_at = models.DateTimeField(null=True)
    denied_since = models.DateTimeField(null=True)  # the account does not let us go on since then
    usual_minutes = models.PositiveIntegerField(null=True)  # how long such a thing usually takes
    outcome = models.TextField(blank=True)
    evidence = models.JSONField(
        default=list
    )  # what its parts were when it failed: [{part, name, external_id, status, reason}]
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "cluster"], condition=models.Q(state__in=["running", "waiting"]), name="one_operation"
            ),
            checked("operation", states.OPERATION),
        ]
        indexes = [models.Index(fields=["tenant", "cluster", "-created_at", "-id"], name="operation_newest")]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"

    @property
    def kind_word(self) -> str:
        """What it is, in English: the history translates it for each reader."""
        with translation.override("en"):
            return str(self.Kind(self.kind).label)


class NodeOrder(TenantOwned):
    """What an operation asks of one node, and what the engine answered for this one."""

    class Result(models.TextChoices):
        WISHED = "wished", _("not sent yet")
        ACCEPTED = "accepted", _("accepted")
        AWAY = "away", _("on its way")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        UNCLEAR = "unclear", _("no answer")

    SUBJECT = "node_order"

    operation = tied("clusters.Operation", related_name="+")
    node = tied("clusters.Node", related_name="+")
    instance_id = models.CharField(max_length=30)
    result = models.CharField(max_length=8, choices=Result.choices, default=Result.WISHED)
    code = models.CharField(max_length=60, blank=True)
    message = models.TextField(blank=True)
    done_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "operation", "node"], name="node_order_once"),
        ]


class Leftover(TenantOwned):
    """Something of a deleted cluster that is still in the account: kept on purpose, or stuck."""

    class Why(models.TextChoices):
        KEPT = "kept", _("kept on purpose")
        STUCK = "stuck", _("could not be deleted")
        FOUND = "found", _("found by its tags or its network")
        SHARED = "shared", _("shared with other clusters")

    SUBJECT = "leftover"

    cluster = tied("clusters.Cluster", related_name="+")
    kind = models.CharField(max_length=60)  # the type of the resource, as CloudFormation calls it
    external_id = models.CharField(max_length=300)
    name = models.CharField(max_length=200, blank=True)
    why = models.CharField(max_length=8, choices=Why.choices)
    reason = models.TextField(blank=True)
    size_gib = models.PositiveIntegerField(null=True)
    monthly = models.DecimalField(max_digits=12, decimal_places=2, null=True)  # what it costs; null: no price
    found_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "kind", "external_id"], name="leftover_once"),
        ]
