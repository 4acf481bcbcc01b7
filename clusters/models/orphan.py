"""What was found in an account with our tags and without a row of ours."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import TenantOwned, tied


class Orphan(TenantOwned):
    """In quarantine: seen at every look, told to people, and neither changed nor deleted by us."""

    class Kind(models.TextChoices):
        STACK = "stack", _("stack")
        HYPERPOD = "hyperpod", _("HyperPod cluster")

    SUBJECT = "orphan"

    account = tied("clusters.CloudAccount", related_name="+")
    region = models.CharField(max_length=20)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    external_id = models.CharField(max_length=300)
    name = models.CharField(max_length=128)
    claims = models.CharField(max_length=60, blank=True)  # the id of the cluster that its tags name
    found_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "account", "region", "external_id"], name="orphan_once"),
            models.CheckConstraint(condition=models.Q(kind__in=["stack", "hyperpod"]), name="orphan_kind_known"),
        ]

    def __str__(self) -> str:
        return self.name
