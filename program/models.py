"""What the programme keeps about everybody: the weekly review, its items, decisions, action items and minutes."""

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from program import states
from tenants.models import Cycle, TenantOwned, tied
from tenants.states import checked


class OfficeOwned(models.Model):
    """A row of the office: it exists only for staff."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", models.PROTECT, related_name="+")  # the office, for its history
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class Review(OfficeOwned):
    """One weekly review: the state of everything at `cutoff_at`, frozen once, with the digest of what was frozen."""

    SUBJECT = "review"
    MOVES = states.REVIEW

    cycle = models.ForeignKey(Cycle, models.PROTECT, related_name="+")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=12, default="draft")
    regular = models.BooleanField(default=True)  # an extra review may be held at any time
    previous_cutoff_at = models.DateTimeField(null=True)
    cutoff_at = models.DateTimeField()
    frozen_at = models.DateTimeField()  # entries recorded up to here were counted
    opened = models.PositiveIntegerField()
    reopened = models.PositiveIntegerField()
    resolved = models.PositiveIntegerField()
    carried = models.PositiveIntegerField()
    open_before = models.PositiveIntegerField()
    open_now = models.PositiveIntegerField()
    mitigated = models.PositiveIntegerField()
    snapshot = models.JSONField()  # all that was frozen, for display
    sha256 = models.CharField(max_length=64)
    held_by = models.CharField(max_length=60)
    published_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cycle", "number"], name="review_number"),
            models.CheckConstraint(
                condition=models.Q(
                    open_now=models.F("open_before") + models.F("opened") + models.F("reopened") - models.F("resolved")
                ),
                name="review_balance",
            ),
            checked("review", states.REVIEW),
        ]

    def __str__(self) -> str:
        return f"{self.cycle} {self.number}"


class ReviewItem(TenantOwned):
    """A case as it stood at the cut-off, in its place on the agenda, and what the meeting settled about it."""

    SUBJECT = "review_item"

    review_id = models.UUIDField()  # the office's row: a participant sees its item, not the review
    case = tied("support.Case", related_name="+")
    position = models.PositiveIntegerField()
    agenda_group = models.CharField(max_length=20, choices=states.AGENDA_GROUPS)
    state_then = models.CharField(max_length=16)
    severity_then = models.CharField(max_length=8)
    age_days = models.PositiveIntegerField()
    idle_days = models.PositiveIntegerField()
    times_on_agenda = models.PositiveIntegerField(default=1)
    carried_over = models.BooleanField(default=False)
    owner = models.ForeignKey("tenants.Person", models.PROTECT, null=True, blank=True, related_name="+")
    next_step = models.CharField(_("next step"), max_length=300, blank=True)
    next_step_due = models.DateField(_("by"), null=True, blank=True)
    discussed_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "review_id", "case"], name="case_once_per_review"),
        ]


class Minutes(TenantOwned):
    """The minutes one participant gets: rendered while acting for it alone, so nobody else's item can be in them."""

    SUBJECT = "minutes"

    review_id = models.UUIDField()
    review_number = models.PositiveIntegerField()
    cutoff_at = models.DateTimeField()
    body = models.TextField()
    sha256 = models.CharField(max_length=64)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "review_id"], name="minutes_once"),
        ]
