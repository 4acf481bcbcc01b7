"""Storage that belongs to a cluster: file systems and buckets. Sizes are GiB and TiB, throughput MB/s per TiB."""

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import TenantOwned, tied


class FileSystem(TenantOwned):
    class Kind(models.TextChoices):
        LUSTRE = "lustre", _("FSx for Lustre")
        OPENZFS = "openzfs", _("FSx for OpenZFS")

    SUBJECT = "file_system"

    cluster = tied("clusters.Cluster", related_name="+")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    deployment = models.CharField(max_length=20, blank=True)
    capacity_gib = models.PositiveIntegerField(_("capacity (GiB)"))
    mbs_per_tib = models.PositiveIntegerField(_("throughput (MB/s per TiB)"), null=True, blank=True)
    mount = models.CharField(_("mounted at"), max_length=60)
    external_id = models.CharField(max_length=60, blank=True)
    engine_status = models.CharField(max_length=30, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "mount"], name="one_mount"),
        ]

    def __str__(self) -> str:
        return f"{self.mount}: {self.get_kind_display()}, {self.capacity_gib} GiB"


class Bucket(TenantOwned):
    """An object store bucket a participation reads from or writes to."""

    SUBJECT = "bucket"

    cluster = tied("clusters.Cluster", related_name="+")
    name = models.CharField(_("bucket"), max_length=63)
    used_tib = models.DecimalField(
        _("used (TiB)"), max_digits=10, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )

    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "name"], name="bucket_once"),
        ]

    def __str__(self) -> str:
        return self.name
