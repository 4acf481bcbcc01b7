"""What a cluster carries beside its engine: images by digest, charts, and the participant's own script for its nodes."""

from django.db import models

from tenants.models import TenantOwned, tied


class ContainerImage(TenantOwned):
    """An image that a configuration of a cluster names. The digest says what it is, whatever the tag is called."""

    SUBJECT = "image"

    cluster = tied("clusters.Cluster", related_name="+")
    revision = models.PositiveIntegerField()  # the configuration that named it first
    name = models.CharField(max_length=63)
    registry = models.CharField(max_length=120)
    repository = models.CharField(max_length=256)
    digest = models.CharField(max_length=71)
    until_revision = models.PositiveIntegerField(null=True)  # the first that no longer names it

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "name", "digest", "revision"], name="image_once"),
            models.CheckConstraint(condition=models.Q(digest__regex=r"^sha256:[0-9a-f]{64}$"), name="image_digest"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def uri(self) -> str:
        return f"{self.registry}/{self.repository}@{self.digest}"


class InstalledChart(TenantOwned):
    """A Helm chart as it was installed on a cluster of Kubernetes: which release, when, under which operation."""

    SUBJECT = "chart"

    cluster = tied("clusters.Cluster", related_name="+")
    operation = tied("clusters.Operation", related_name="+", null=True)  # what was being done to the cluster then
    name = models.CharField(max_length=63)
    chart_version = models.CharField(max_length=40)
    namespace = models.CharField(max_length=63)
    sha256 = models.CharField(max_length=64, blank=True)  # of the chart's archive, where whoever installed it says so
    installed_at = models.DateTimeField()
    recorded_by = models.CharField(max_length=60)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "name", "installed_at"], name="chart_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.chart_version}"


class NodeSetup(TenantOwned):
    """A participant's own script that runs on every node after ours; what it says is in its versions."""

    SUBJECT = "node_setup"

    name = models.CharField(max_length=40)
    newest = models.PositiveIntegerField(default=0)
    changed_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "name"], name="node_setup_name"),
        ]

    def __str__(self) -> str:
        return self.name


class NodeSetupVersion(TenantOwned):
    """One text of it, never changed once written."""

    SUBJECT = "node_setup_version"

    setup = tied("clusters.NodeSetup", related_name="+")
    number = models.PositiveIntegerField()
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    findings = models.JSONField(default=list)  # what was found in it, for display
    author = models.CharField(max_length=60)
    reason = models.CharField(max_length=300, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "setup", "number"], name="node_setup_number"),
        ]

    def __str__(self) -> str:
        return f"{self.setup_id} {self.number}"
