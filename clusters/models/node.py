"""Nodes: seats of a cluster's instance groups, and the instances that sat in them."""

from django.db import models

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class Node(TenantOwned):
    """A seat. It keeps its name when the instance in it is replaced."""

    SUBJECT = "node"
    MOVES = states.NODE

    cluster = tied("clusters.Cluster", related_name="+")
    group = models.CharField(max_length=63)
    seat = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    role = models.CharField(max_length=12)
    instance_type = models.CharField(max_length=30)
    accelerators = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, default="pending")
    engine_status = models.CharField(max_length=40, blank=True)
    reason = models.TextField(blank=True)
    instance_id = models.CharField(max_length=30, blank=True)
    private_ip = models.CharField(max_length=45, blank=True)
    az_id = models.CharField(max_length=20, blank=True)
    since = models.DateTimeField(null=True)
    software_at = models.DateTimeField(null=True)  # when its engine last changed its machine image

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "group", "seat"], name="node_seat"),
            checked("node", states.NODE),
        ]
        indexes = [models.Index(fields=["tenant", "name", "id"], name="node_by_name")]

    def __str__(self) -> str:
        return self.name


class NodeInstance(TenantOwned):
    """Which instance sat in a seat, from when to when."""

    SUBJECT = "instance"

    node = tied("clusters.Node", related_name="+")
    instance_id = models.CharField(max_length=30)
    sat_from = models.DateTimeField()
    sat_until = models.DateTimeField(null=True)
    left_because = models.TextField(blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "node", "instance_id"], name="instance_in_seat"),
        ]
