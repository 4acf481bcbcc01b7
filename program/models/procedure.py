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
    held_at = models.DateTimeField(null=True)
    chair = models.ForeignKey("tenants.Person", models.PROTECT, null=True, related_name="+")
    scribe = models.ForeignKey("tenants.Person", models.PROTECT, null=True, related_name="+")
    published_at = models.DateTimeField(null=True)
    locked_at = models.DateTimeField(null=True)
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

    class Outcome(models.TextChoices):
        SETTLED = "settled", _("settled")
        BLOCK = "block", _("accepted as a block")
        FOLLOW_UP = "follow_up", _("taken up outside the meeting")
        ENDED = "ended", _("resolved in the meeting")
        # What is known of a meeting that Cohort did not hold.
        CARRIED = "carried", _("carried over to the next review")
        RESOLVED = "resolved", _("resolved before the next review")

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
    late = models.BooleanField(default=False)  # opened after the cut-off, added by the chair, counted next week
    accepted_as_block = models.BooleanField(default=False)
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome.choices, blank=True)
    times_reason = models.CharField(_("why it is here again"), max_length=300, blank=True)  # asked at the third time
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
    """The minutes one participant gets: rendered while acting for it alone, so nobody else's item can be in them.

    The office's own row is the internal version.
    """

    SUBJECT = "minutes"

    review_id = models.UUIDField()
    review_number = models.PositiveIntegerField()
    cutoff_at = models.DateTimeField()
    body = models.TextField()
    sha256 = models.CharField(max_length=64)
    edited_by = models.CharField(max_length=60, blank=True)
    edited_at = models.DateTimeField(null=True)
    locked_at = models.DateTimeField(null=True)  # from then on only addenda are written
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "review_id"], name="minutes_once"),
        ]


class Addendum(TenantOwned):
    """A correction of locked minutes: it stands beside them and never changes."""

    SUBJECT = "addendum"

    minutes = tied("program.Minutes", related_name="+")
    text = models.TextField(_("text"), max_length=5_000)
    author = models.CharField(max_length=60)
    at = models.DateTimeField(db_default=Now())


AUDIENCES = [("shared", _("shared with the participant")), ("internal", _("internal"))]


class Decision(TenantOwned):
    """What was decided, by whom and with which authority. The office's own row when it concerns nobody in particular."""

    SUBJECT = "decision"

    audience = models.CharField(max_length=8, choices=AUDIENCES, default="internal")
    number = models.CharField(max_length=20)  # DEC-0001, one sequence for the programme
    text = models.CharField(_("decision"), max_length=500)
    reason = models.TextField(_("reason"), max_length=2_000, blank=True)
    decided_by = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    authority = models.CharField(_("authority"), max_length=80, blank=True)
    decided_on = models.DateField(_("decided on"))
    affects = models.CharField(_("affects"), max_length=200, blank=True)
    supersedes = tied("program.Decision", null=True, related_name="+")
    case = tied("support.Case", null=True, related_name="+")
    review_id = models.UUIDField(null=True)  # the office's row
    recorded_by = models.CharField(max_length=60)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "number"], name="decision_number"),
            models.CheckConstraint(
                condition=models.Q(audience__in=["shared", "internal"]), name="decision_audience_known"
            ),
        ]
        indexes = [models.Index(fields=["tenant", "-decided_on", "-id"], name="decision_newest")]

    def __str__(self) -> str:
        return f"{self.number} {self.text}"


class ActionItem(TenantOwned):
    """Somebody does something by a day. The office's own row when it concerns no participant in particular."""

    class Kind(models.TextChoices):
        PREVENT = "prevent", _("prevent")
        DETECT = "detect", _("detect")
        MITIGATE = "mitigate", _("mitigate")
        INFORM = "inform", _("inform")

    SUBJECT = "action_item"
    MOVES = states.ACTION_ITEM

    audience = models.CharField(max_length=8, choices=AUDIENCES, default="internal")
    number = models.CharField(max_length=20)  # AI-0001, one sequence for the programme
    text = models.CharField(_("what is to be done"), max_length=300)
    owner = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    due = models.DateField(_("by"))
    due_at_first = models.DateField()
    due_changes = models.PositiveIntegerField(default=0)
    times_carried = models.PositiveIntegerField(default=0)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.PREVENT)
    state = models.CharField(max_length=8, default="open")
    evidence = models.URLField(_("evidence"), max_length=500, blank=True)
    ended_on = models.DateField(null=True, blank=True)
    ended_why = models.CharField(max_length=300, blank=True)
    case = tied("support.Case", null=True, related_name="+")
    decision = tied("program.Decision", null=True, related_name="+")
    review_id = models.UUIDField(null=True)  # the office's row
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "number"], name="action_item_number"),
            models.CheckConstraint(
                condition=models.Q(audience__in=["shared", "internal"]), name="action_item_audience_known"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=["prevent", "detect", "mitigate", "inform"]), name="action_item_kind_known"
            ),
            checked("action_item", states.ACTION_ITEM),
        ]
        indexes = [models.Index(fields=["tenant", "state", "due", "id"], name="action_item_due")]

    def __str__(self) -> str:
        return f"{self.number} {self.text}"


class Launch(OfficeOwned):
    """A planned launch: a day on which clusters come into service, one wave after the other."""

    SUBJECT = "launch"
    MOVES = states.LAUNCH

    cycle = models.ForeignKey(Cycle, models.PROTECT, related_name="+")
    name = models.CharField(_("name"), max_length=80)
    day = models.DateField(_("day"))
    state = models.CharField(max_length=8, default="planned")
    planned_by = models.CharField(max_length=60)
    stopped_why = models.CharField(max_length=300, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cycle", "day", "name"], name="launch_once"),
            checked("launch", states.LAUNCH),
        ]

    def __str__(self) -> str:
        return self.name


class LaunchWave(OfficeOwned):
    """A part of a launch that is started at once."""

    SUBJECT = "launch_wave"
    MOVES = states.LAUNCH_WAVE

    launch = models.ForeignKey(Launch, models.PROTECT, related_name="waves")
    number = models.PositiveSmallIntegerField()
    starts_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=8, default="planned")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["launch", "number"], name="launch_wave_number"),
            checked("launch_wave", states.LAUNCH_WAVE),
        ]


class LaunchCluster(TenantOwned):
    """A participant's cluster in a launch: how much is planned, whether it may go, and the cluster it became."""

    class Verdict(models.TextChoices):
        OPEN = "open", _("not decided")
        GO = "go", _("go")
        NO_GO = "no_go", _("no go")

    SUBJECT = "launch_cluster"

    launch_id = models.UUIDField()  # the office's row: a participant sees its own line, not the launch
    launch_name = models.CharField(max_length=80)
    day = models.DateField()
    wave = models.PositiveSmallIntegerField(default=1)
    participation = tied("tenants.Participation", related_name="+")
    name = models.CharField(max_length=63)
    region = models.CharField(max_length=20)
    instance_type = models.CharField(max_length=30)
    planned = models.PositiveIntegerField()  # accelerated instances
    accelerators = models.PositiveIntegerField()
    account = tied("clusters.CloudAccount", null=True, related_name="+")
    body = models.JSONField(null=True)  # what is asked for at the start when nobody asked before
    cluster = tied("clusters.Cluster", null=True, related_name="+")
    findings = models.JSONField(default=list)  # of the last full preflight, for display
    checked_at = models.DateTimeField(null=True)
    verdict = models.CharField(max_length=8, choices=Verdict.choices, default=Verdict.OPEN)
    verdict_why = models.CharField(max_length=300, blank=True)
    verdict_by = models.CharField(max_length=60, blank=True)
    started_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "launch_id", "name"], name="launch_cluster_once"),
            models.CheckConstraint(
                condition=models.Q(verdict__in=["open", "go", "no_go"]), name="launch_cluster_verdict_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name
