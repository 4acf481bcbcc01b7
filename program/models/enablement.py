"""What the programme does for everybody beside the review: sessions, who attended, onboarding, and the reports due."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from program import states
from program.models.procedure import OfficeOwned, Review
from tenants.models import Cycle, TenantOwned, tied
from tenants.states import checked


class Session(OfficeOwned):
    """Something that people of several participants are taught at or ask at: who taught is its attendance."""

    class Kind(models.TextChoices):
        MASS = "mass_enablement", _("opening for all participants")
        WORKSHOP = "workshop", _("workshop")
        CLINIC = "clinic", _("clinic")
        OFFICE_HOURS = "office_hours", _("office hours")
        EVENT = "event", _("event")

    SUBJECT = "session"

    cycle = models.ForeignKey(Cycle, models.PROTECT, related_name="+")
    code = models.CharField(max_length=20)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    title = models.CharField(_("title"), max_length=200)
    starts_at = models.DateTimeField(_("begins"))
    minutes = models.PositiveIntegerField(_("minutes"))
    format = models.CharField(_("format"), max_length=20, blank=True)
    recurrence = models.CharField(_("repeats"), max_length=80, blank=True)
    place = models.CharField(_("where"), max_length=300, blank=True)
    prerequisites = models.CharField(_("what to bring or know"), max_length=300, blank=True)
    agenda = models.JSONField(_("agenda"), default=list)
    materials = models.JSONField(_("materials"), default=list)
    seats = models.PositiveIntegerField(_("seats"), null=True, blank=True)
    announced_at = models.DateTimeField(null=True, blank=True)  # from then on every participant may read it
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_why = models.CharField(max_length=300, blank=True)
    registered = models.PositiveIntegerField(_("registered"), default=0)
    attended = models.PositiveIntegerField(_("attended"), null=True, blank=True)
    answers = models.PositiveIntegerField(_("answers to the survey"), null=True, blank=True)
    satisfaction = models.DecimalField(_("satisfaction"), max_digits=2, decimal_places=1, null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cycle", "code"], name="session_code"),
            models.CheckConstraint(
                condition=models.Q(satisfaction=None) | models.Q(satisfaction__range=(1, 5)),
                name="session_satisfaction",
            ),
            models.CheckConstraint(
                condition=models.Q(answers=None) | models.Q(attended__gte=models.F("answers")), name="session_answers"
            ),
        ]
        indexes = [models.Index(fields=["starts_at", "id"], name="session_by_day")]

    def __str__(self) -> str:
        return f"{self.code} {self.title}"


class Registration(TenantOwned):
    """A person of a participant who wants to come to a session; whether they came is known afterwards."""

    SUBJECT = "registration"

    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    cancelled_at = models.DateTimeField(null=True, blank=True)
    came = models.BooleanField(null=True, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "session", "person"], name="registration_once"),
        ]


class Attendance(OfficeOwned):
    """A person who was at a review or at a session."""

    class Part(models.TextChoices):
        ATTENDEE = "attendee", _("took part")
        SPEAKER = "speaker", _("spoke")

    SUBJECT = "attendance"

    review = models.ForeignKey(Review, models.PROTECT, null=True, related_name="attendance")
    session = models.ForeignKey(Session, models.PROTECT, null=True, related_name="attendance")
    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    part = models.CharField(max_length=8, choices=Part.choices, default=Part.ATTENDEE)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(review=None, session__isnull=False) | models.Q(review__isnull=False, session=None),
                name="attendance_of_one",
            ),
            models.UniqueConstraint(fields=["review", "person"], name="attendance_review"),
            models.UniqueConstraint(fields=["session", "person"], name="attendance_session"),
        ]


class Onboarding(TenantOwned):
    """A participation's way in: the session with its lead architect, and the list that has to be done before it trains."""

    SUBJECT = "onboarding"

    participation = tied("tenants.Participation", related_name="+")
    lead = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    held_at = models.DateTimeField(_("held"))
    minutes = models.PositiveIntegerField(_("minutes"))
    completed_on = models.DateField(_("completed on"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation"], name="onboarding_once"),
        ]


class OnboardingStep(TenantOwned):
    """One line of the list, and what proves that it was done: a measurement, a note, a link, or files."""

    class Measure(models.TextChoices):
        NONE = "", _("nothing is measured")
        NCCL = "nccl", _("NCCL or NCCOM test")

    SUBJECT = "onboarding_step"
    MOVES = states.ONBOARDING_STEP

    onboarding = tied("program.Onboarding", related_name="+")
    position = models.PositiveSmallIntegerField()
    text = models.CharField(_("what is to be done"), max_length=200)
    # Null: laid out before each cycle had a list of its own; what is shipped for this text helps.
    help = models.TextField(_("help"), max_length=1000, null=True, blank=True)
    state = models.CharField(max_length=14, default="open")
    measure = models.CharField(max_length=8, choices=Measure.choices, blank=True)
    done_on = models.DateField(_("done on"), null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.CharField(max_length=60, blank=True)
    bus_gbps = models.DecimalField(_("bus bandwidth"), max_digits=8, decimal_places=2, null=True, blank=True)
    nodes = models.PositiveIntegerField(_("nodes"), null=True, blank=True)
    note = models.CharField(_("what proves it"), max_length=500, blank=True)
    link = models.CharField(_("link"), max_length=500, blank=True)
    why = models.CharField(_("why it does not apply"), max_length=300, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "onboarding", "position"], name="onboarding_step_once"),
            models.CheckConstraint(
                condition=~models.Q(state="not_applicable") | ~models.Q(why=""), name="onboarding_step_why"
            ),
            checked("onboarding_step", states.ONBOARDING_STEP),
        ]


class ChecklistStep(OfficeOwned):
    """One line of a cycle's list, from which the onboarding of its participations is laid out. A cycle without any has the
    shipped list."""

    cycle = models.ForeignKey(Cycle, models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()
    text = models.CharField(_("what is to be done"), max_length=200)
    help = models.TextField(_("help"), max_length=1000, blank=True)
    measure = models.CharField(
        _("measured by"), max_length=8, choices=OnboardingStep.Measure.choices, default="", blank=True
    )
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            # Two steps change places within a transaction.
            models.UniqueConstraint(
                fields=["cycle", "position"], name="checklist_step_once", deferrable=models.Deferrable.DEFERRED
            ),
        ]

    def __str__(self) -> str:
        return self.text


class Report(TenantOwned):
    """A report that a participation owes by a day."""

    class Kind(models.TextChoices):
        MONTHLY = "monthly_utilisation", _("monthly utilisation")
        STAGE_GATE = "stage_gate_report", _("stage gate report")
        FINAL = "final_report", _("final report")

    SUBJECT = "report"
    MOVES = states.REPORT

    participation = tied("tenants.Participation", related_name="+")
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    period = models.CharField(_("period"), max_length=10)
    due_on = models.DateField(_("due on"))
    state = models.CharField(max_length=12, default="not_started")
    text = models.TextField(_("text"), max_length=20_000, blank=True)
    handed_in_at = models.DateTimeField(null=True, blank=True)
    handed_in_by = models.CharField(max_length=60, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.CharField(max_length=60, blank=True)
    answer = models.CharField(_("why it came back"), max_length=500, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "kind", "period"], name="report_once"),
            checked("report", states.REPORT),
        ]
        indexes = [models.Index(fields=["tenant", "due_on", "id"], name="report_due")]
