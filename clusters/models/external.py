"""What was asked of a cloud, under which name and token: the intent is committed before the call."""

from django.db import models

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class ExternalObject(TenantOwned):
    """One part of a cluster at the provider. Name and token are functions of stored facts."""

    SUBJECT = "part"
    MOVES = states.PART

    cluster = tied("clusters.Cluster", related_name="+")
    role = models.CharField(max_length=20)  # base, eks, cluster: its place in the architecture
    position = models.PositiveSmallIntegerField()  # parts are made in this order and removed in the reverse one
    kind = models.CharField(max_length=20)  # which adapter
    account_number = models.CharField(max_length=12)
    region = models.CharField(max_length=20)
    name = models.CharField(max_length=128)
    token = models.CharField(max_length=64, blank=True)  # of the last action
    incarnation = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=10, default="intended")
    external_id = models.CharField(max_length=300, blank=True)
    status = models.CharField(max_length=60, blank=True)  # the engine's own word
    reason = models.TextField(blank=True)
    outputs = models.JSONField(default=dict)
    applied = models.PositiveIntegerField(default=0)  # the last generation accepted for this part
    intended_at = models.DateTimeField()
    last_call_at = models.DateTimeField(null=True)
    last_call = models.CharField(max_length=8, blank=True)
    deletes = models.PositiveSmallIntegerField(default=0)  # how often it was asked to go, in this generation
    last_seen_at = models.DateTimeField(null=True)
    absences = models.PositiveSmallIntegerField(default=0)  # looks in a row that found nothing
    newest_event = models.CharField(
        max_length=200, blank=True
    )  # the engine's newest event that is already in the history
    body_sha256 = models.CharField(max_length=64, blank=True)  # of the request that was accepted last
    existed = models.BooleanField(default=False)  # was seen complete once: never deleted to be made anew
    stuck = models.JSONField(default=list)  # what its rollback stopped at: [{resource, type, reason}]
    lines = models.JSONField(default=list)  # the newest of what its nodes' set-up says: [{at, node, text}]
    lines_read_at = models.DateTimeField(null=True)
    refused_since = models.DateTimeField(null=True)  # the provider has been short of capacity or quota since then

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "kind", "account_number", "region", "name"], name="external_name"
            ),
            models.UniqueConstraint(fields=["tenant", "cluster", "role"], name="external_role"),
            checked("part", states.PART),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
