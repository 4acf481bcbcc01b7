"""Configurations as things of their own: what a cluster could be made of, kept by a participant in versions that never change."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import TenantOwned, tied


class ClusterConfiguration(TenantOwned):
    """A name under which versions are kept. The columns are those of the newest one, for lists."""

    SUBJECT = "configuration"

    name = models.CharField(_("name"), max_length=63)
    newest = models.PositiveIntegerField(default=1)
    architecture = models.CharField(max_length=40, blank=True)
    architecture_version = models.CharField(max_length=20, blank=True)
    region = models.CharField(max_length=20, blank=True)
    main_type = models.CharField(max_length=40, blank=True)
    nodes = models.PositiveIntegerField(default=0)
    usable = models.BooleanField(default=False)  # whether a cluster can be asked for with it as it is
    changed_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "name"], name="configuration_name"),
        ]
        indexes = [models.Index(fields=["tenant", "name", "id"], name="configuration_by_name")]

    def __str__(self) -> str:
        return self.name


class ConfigurationVersion(TenantOwned):
    """One version: the text as it came, what it says in our words, and what it says beside that. Never changed."""

    class Origin(models.TextChoices):
        FORM = "form", _("the form")
        TEXT = "text", _("a text")
        FILE = "file", _("a file")
        CLUSTER = "cluster", _("a cluster")

    SUBJECT = "configuration_version"

    configuration = tied("clusters.ClusterConfiguration", related_name="+")
    number = models.PositiveIntegerField()
    origin = models.CharField(max_length=8, choices=Origin.choices)
    origin_name = models.CharField(max_length=200, blank=True)  # of the file or the cluster
    kind = models.CharField(max_length=16)  # what the text is, a key of documents.kinds.KINDS
    text = models.TextField()
    beside = models.TextField(blank=True)  # provisioning parameters that came with it
    body = models.JSONField(default=dict)  # in our words, as much as could be said
    kept = models.JSONField(default=dict)  # what it says beside, unchanged and unused
    digest = models.CharField(max_length=64)
    architecture = models.CharField(max_length=40, blank=True)
    architecture_version = models.CharField(max_length=20, blank=True)
    region = models.CharField(max_length=20, blank=True)
    az_id = models.CharField(max_length=20, blank=True)
    main_type = models.CharField(max_length=40, blank=True)
    nodes = models.PositiveIntegerField(default=0)
    usable = models.BooleanField(default=False)
    author = models.CharField(max_length=60)
    reason = models.CharField(max_length=300, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "configuration", "number"], name="configuration_version_number"),
        ]

    def __str__(self) -> str:
        return f"{self.configuration} {self.number}"
