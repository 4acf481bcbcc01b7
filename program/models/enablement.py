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
    agenda = models.JSONField(_("agenda"), default=list)
    materials = models.JSONField(_("materials"), default=list)
    registered = models.PositiveIntegerField(_("registered"), default=0)
    attended = models.PositiveIntegerField(_("attended"), null=True, blank=True)
    answers = models.PositiveIntegerField(_("answers to the survey"), null=True, blank=True)
    satisfaction = models.DecimalField(_("satisfaction"), max_digits=2, decimal_places=1, null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cycle", "code"], name="session_code"),
            models.CheckConstraint(
                condition=models.Q(satisfaction=None) | models.Q(satisfaction__range=(1, 5)),
                name="session_satisfaction",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.title}"


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
    """One line of the list."""

    SUBJECT = "onboarding_step"

    onboarding = tied("program.Onboarding", related_name="+")
    position = models.PositiveSmallIntegerField()
    text = models.CharField(_("what is to be done"), max_length=200)
    done = models.BooleanField(_("done"), default=False)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "onboarding", "position"], name="onboarding_step_once"),
        ]


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
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "kind", "period"], name="report_once"),
            checked("report", states.REPORT),
        ]
        indexes = [models.Index(fields=["tenant", "due_on", "id"], name="report_due")]
