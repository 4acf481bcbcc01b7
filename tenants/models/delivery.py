"""Files that people attach and answers that an API client may ask for twice."""

from django.db import models
from django.db.models.functions import Now

from tenants.models.tenancy import Tenant, TenantManager, TenantOwned


class Attachment(TenantOwned):
    """A stored file. Its bytes lie in Django's storage under the digest; only a view hands them out."""

    AUDIENCES = [("shared", "shared"), ("internal", "internal")]

    audience = models.CharField(max_length=8, choices=AUDIENCES, default="shared")
    subject = models.CharField(max_length=20)
    subject_id = models.UUIDField()
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=120)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    stored_as = models.CharField(max_length=200)
    actor = models.CharField(max_length=60)

    class Meta(TenantOwned.Meta):
        indexes = [
            models.Index(fields=["tenant", "subject", "subject_id"], name="attachment_subject"),
            models.Index(fields=["tenant", "-created_at", "-id"], name="attachment_newest"),
        ]


class IdempotencyKey(models.Model):
    """The stored answer to a request that a client may repeat; kept for 72 hours."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False, related_name="+")
    actor = models.CharField(max_length=60)
    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    objects = TenantManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "actor", "key"], name="one_answer_per_key")]
