"""Nodes that jobs are kept away from, since when and why; and who let them back."""

from typing import Any

from django.db import models
from django.db.models import Q

from tenants.models import TenantOwned, tied


class Quarantine(TenantOwned):
    """An instance in its seat that is not to be used. It ends with a person's reason, a passed check, or another instance."""

    SUBJECT = "quarantine"

    cluster = tied("clusters.Cluster", related_name="+")
    node = tied("clusters.Node", related_name="+")
    instance_id = models.CharField(max_length=30, blank=True)
    began_at = models.DateTimeField()
    reason = models.CharField(max_length=300)
    evidence = models.JSONField(default=list)  # [{at, what, told}], for display
    strikes = models.PositiveSmallIntegerField(default=0)  # 0: a person decided
    held_by = models.CharField(max_length=60)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=60, blank=True)
    lifted_because = models.CharField(max_length=300, blank=True)

    checked: Any = None  # the newest check of the instance, where a query looked for it

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "node"], condition=Q(lifted_at=None), name="one_quarantine"),
        ]
        indexes = [models.Index(fields=["tenant", "cluster"], condition=Q(lifted_at=None), name="quarantine_open")]

    def __str__(self) -> str:
        return self.instance_id
