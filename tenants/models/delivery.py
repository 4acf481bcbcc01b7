"""Files that people attach, messages to people, and answers that an API client may ask for twice."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

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


class Delivery(TenantOwned):
    """One message to one person, or to an address, over one channel: what it is about and what became of it. Its text is made when it is sent."""

    class Channel(models.TextChoices):
        MAIL = "mail", _("mail")

    class Outcome(models.TextChoices):
        SENT = "sent", _("sent")
        FAILED = "failed", _("could not be delivered")
        SKIPPED = "skipped", _("no longer needed")

    SUBJECT = "delivery"

    person = models.ForeignKey("tenants.Person", models.PROTECT, null=True, related_name="+")
    address = models.EmailField(max_length=254, blank=True)  # of whoever has no account yet
    channel = models.CharField(max_length=8, choices=Channel.choices, default=Channel.MAIL)
    kind = models.CharField(max_length=24)  # who makes its text, and what a person may switch off
    about = models.UUIDField(null=True)  # the case, for instance
    key = models.CharField(max_length=80)  # what makes two messages the same one
    tries = models.PositiveIntegerField(default=0)
    last_tried_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices, blank=True)  # empty: it waits
    ended_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "person", "channel", "kind", "key"], name="one_delivery_each"),
            models.UniqueConstraint(
                fields=["tenant", "address", "channel", "kind", "key"],
                condition=models.Q(person=None),
                name="one_delivery_each_address",
            ),
            models.CheckConstraint(
                condition=models.Q(outcome="", ended_at=None)
                | models.Q(outcome__in=["sent", "failed", "skipped"], ended_at__isnull=False),
                name="delivery_ended_with_an_outcome",
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="delivery_newest"),
            models.Index(fields=["outcome", "-created_at", "-id"], name="delivery_outcome"),
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
