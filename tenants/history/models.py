"""The history's tables: one append-only line per thing that happened, texts people wrote, and seals over both."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from tenants.models.tenancy import Tenant, TenantManager, TenantOwned


class Entry(models.Model):
    """One line of a tenant's history. Written once; the database's role may add and read, nothing else.

    `occurred_at` may lie before `recorded_at`; the actor is an id (person:…, token:…, engine, provider:…).
    """

    AUDIENCES = [("shared", "shared"), ("internal", "internal")]

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False, related_name="+")
    participation = models.UUIDField(null=True)
    audience = models.CharField(max_length=8, choices=AUDIENCES, default="shared")
    occurred_at = models.DateTimeField(db_default=Now())
    recorded_at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=60)
    subject = models.CharField(max_length=20)
    subject_id = models.UUIDField()
    cluster = models.UUIDField(null=True)
    severity = models.CharField(max_length=8, blank=True)
    source = models.CharField(max_length=20, default="portal")
    actor = models.CharField(max_length=60)
    on_behalf_of = models.CharField(max_length=60, blank=True)
    action_id = models.UUIDField()
    corrects = models.ForeignKey(
        "self", models.PROTECT, null=True, db_index=False, db_constraint=False, related_name="+"
    )
    facts = models.JSONField(default=dict)
    objects = TenantManager()

    class Meta:
        indexes = [
            models.Index(fields=["tenant", "-occurred_at", "-id"], name="entry_tenant"),
            models.Index(fields=["tenant", "kind", "-occurred_at", "-id"], name="entry_kind"),
            models.Index(fields=["subject", "subject_id", "-occurred_at"], name="entry_subject"),
            models.Index(fields=["-occurred_at", "-id"], name="entry_everyone"),
            BrinIndex(fields=["recorded_at"], name="entry_recorded"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(audience__in=["shared", "internal"]), name="entry_audience_known"
            ),
        ]


class Note(TenantOwned):
    """What a person wrote about a meeting, a call or a message. The entry says that it was written, not what."""

    class Medium(models.TextChoices):
        MEETING = "meeting"
        CALL = "call"
        MAIL = "mail"
        CHANNEL = "channel"
        SESSION = "session"
        OTHER = "other"

    audience = models.CharField(max_length=8, choices=Entry.AUDIENCES, default="shared")
    medium = models.CharField(max_length=8, choices=Medium.choices, default=Medium.OTHER)
    text = models.TextField(max_length=20_000)
    author = models.CharField(max_length=60)


class Seal(models.Model):
    """A digest over what settled since the last one. A changed, removed or added line, or a cut tail, breaks it."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False, related_name="+")
    until = models.DateTimeField()
    entries = models.PositiveIntegerField()
    counts = models.JSONField(default=dict)  # entries by kind: the roll-up that boards and trends read
    digest = models.CharField(max_length=64)
    previous = models.CharField(max_length=64, blank=True)
    sealed_at = models.DateTimeField(db_default=Now())
    objects = TenantManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "until"], name="one_seal_per_time")]
