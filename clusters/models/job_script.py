"""Scripts and manifests of jobs that a participant keeps, in versions that never change."""

from django.db import models

from tenants.models import TenantOwned, tied


class JobScript(TenantOwned):
    """A script or manifest that is kept under a name; what it says is in its versions."""

    SUBJECT = "job_script"

    name = models.CharField(max_length=60)
    newest = models.PositiveIntegerField(default=0)
    changed_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "name"], name="job_script_name"),
        ]

    def __str__(self) -> str:
        return self.name


class JobScriptVersion(TenantOwned):
    """One text of it, and the template that it was made with, where it was made with one."""

    class Kind(models.TextChoices):
        SLURM = "slurm"
        KUBERNETES = "kubernetes"

    SUBJECT = "job_script_version"

    script = tied("clusters.JobScript", related_name="+")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    template = models.CharField(max_length=40, blank=True)
    template_version = models.CharField(max_length=20, blank=True)
    parameters = models.JSONField(default=dict)  # only its author and whoever launches it again read them
    findings = models.JSONField(default=list)  # what was found in it then, for display
    author = models.CharField(max_length=60)
    reason = models.CharField(max_length=300, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "script", "number"], name="job_script_number"),
        ]

    def __str__(self) -> str:
        return f"{self.script_id} {self.number}"
