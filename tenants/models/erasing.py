"""That a person is to be forgotten: asked for by one of the office, done by another."""

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tenants.models.tenancy import Tenant
from tenants.states import ERASURE, checked


class Erasure(models.Model):
    """A wish to erase a person. It is a row of the office; the person's own row stays, emptied, for the history."""

    SUBJECT = "erasure"
    MOVES = ERASURE

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")  # the office, for its history
    created_at = models.DateTimeField(db_default=Now())
    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    state = models.CharField(max_length=12, default="open")
    reason = models.CharField(_("reason"), max_length=300)
    asked_by = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    decided_by = models.ForeignKey("tenants.Person", models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["person"], condition=models.Q(state="open"), name="one_open_erasure"),
            checked("erasure", ERASURE),
        ]
        indexes = [models.Index(fields=["-created_at", "-id"], name="erasure_newest")]
