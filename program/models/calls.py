"""Calls for applications to a cycle, what organisations apply with, how they were scored and what was decided."""

from datetime import datetime

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from program.calls import words
from program.models.procedure import OfficeOwned
from tenants.models import Cycle, TenantOwned
from tenants.states import checked

MOST_SCORE = 5


class Call(OfficeOwned):
    """The office asks for applications to a cycle, from one moment to another."""

    SUBJECT = "call"
    MOVES = words.CALL

    cycle = models.ForeignKey(Cycle, models.PROTECT, related_name="+")
    title = models.CharField(_("title"), max_length=200)
    text = models.TextField(_("text"), max_length=20_000, blank=True)
    gives = models.TextField(_("what is given"), max_length=2000, blank=True, default="")
    lasts = models.CharField(_("for how long"), max_length=300, blank=True, default="")
    paid_by = models.CharField(_("who pays"), max_length=300, blank=True, default="")
    ask = models.CharField(_("whom to ask"), max_length=300, blank=True, default="")
    opens_at = models.DateTimeField(_("opens"))
    closes_at = models.DateTimeField(_("closes"))
    most_instances = models.PositiveIntegerField(_("most instances at once"), null=True, blank=True)
    most_hours = models.PositiveBigIntegerField(_("most accelerator-hours"), null=True, blank=True)
    small_hours = models.PositiveIntegerField(_("small up to"), default=0)
    closed_at = models.DateTimeField(null=True, blank=True)  # when somebody closed it; empty: as planned, or not yet
    state = models.CharField(max_length=12, default="draft")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(closes_at__gt=models.F("opens_at")), name="call_times"),
            checked("call", words.CALL),
        ]
        indexes = [models.Index(fields=["-opens_at", "-id"], name="call_newest")]

    def __str__(self) -> str:
        return self.title

    @property
    def takes_until(self) -> datetime:
        """The moment from which on it takes nothing: as planned, or when somebody closed it before."""
        early = self.state == "closed" and self.closed_at is not None and self.closed_at < self.closes_at
        return self.closed_at if early else self.closes_at

    @property
    def is_over(self) -> bool:
        """Whether it was out and takes nothing any more, though nobody may have closed it."""
        return self.state == "closed" or (self.state == "open" and self.closes_at <= timezone.now())

    @property
    def shown_state(self) -> str:
        """The state that people see: past its closing an open call is closed."""
        return "closed" if self.is_over else self.state


class Application(TenantOwned):
    """What an organisation applies with. Of a newcomer it is the office's row, until it is selected and becomes a tenant."""

    class Procure(models.TextChoices):
        NO = "no", _("no")
        PARTLY = "partly", _("partly")
        YES = "yes", _("yes")

    SUBJECT = "application"
    MOVES = words.APPLICATION

    call = models.ForeignKey(Call, models.PROTECT, related_name="+")
    number = models.CharField(max_length=20)
    organisation = models.CharField(_("organisation"), max_length=120)
    organisation_kind = models.CharField(_("kind of organisation"), max_length=40, blank=True)
    sector = models.CharField(_("sector"), max_length=120, blank=True)
    staff_size = models.PositiveIntegerField(_("staff"), null=True, blank=True)
    contact_name = models.CharField(_("contact"), max_length=120, blank=True)
    contact_email = models.EmailField(_("e-mail address"), max_length=254)  # in small letters
    language = models.CharField(_("language"), max_length=8, default="en")
    project = models.CharField(_("project"), max_length=300, blank=True)
    summary = models.TextField(_("what it is about"), max_length=5000, blank=True)
    intended = models.TextField(_("models intended"), max_length=2000, blank=True)
    need = models.JSONField(_("time profile"), default=list, encoder=DjangoJSONEncoder)
    procure = models.CharField(_("can you procure this yourself?"), max_length=8, choices=Procure.choices, blank=True)
    procure_how = models.CharField(_("how, or why not"), max_length=500, blank=True)
    provider = models.CharField(_("provider wished for"), max_length=120, blank=True)
    openness = models.TextField(_("openness plan"), max_length=2000, blank=True)
    licence = models.CharField(_("licence"), max_length=120, blank=True)
    state = models.CharField(max_length=12, default="draft")
    edition = models.PositiveIntegerField(default=0)  # how often it was handed in; 0: never
    digest = models.CharField(max_length=64, blank=True)  # of the link; empty: a participant applies from its own pages
    issue = models.PositiveSmallIntegerField(default=1)
    confirmed_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=60, blank=True)
    why = models.CharField(max_length=1000, blank=True)
    became = models.UUIDField(null=True)  # the participation that came of it
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["call", "number"], name="application_number"),
            models.UniqueConstraint(
                fields=["call", "contact_email"],
                condition=~models.Q(digest="") & ~models.Q(state="withdrawn"),
                name="one_application_an_address",
            ),
            models.UniqueConstraint(
                fields=["tenant", "call"],
                condition=models.Q(digest="") & ~models.Q(state="withdrawn"),
                name="one_application_a_participant",
            ),
            models.UniqueConstraint(fields=["digest"], condition=~models.Q(digest=""), name="application_link"),
            checked("application", words.APPLICATION),
        ]
        indexes = [models.Index(fields=["tenant", "-created_at", "-id"], name="application_newest")]

    def __str__(self) -> str:
        return f"{self.number} {self.organisation}"


class ApplicationVersion(OfficeOwned):
    """An application as it was handed in one time, so that a later change can be told from it."""

    SUBJECT = "application_version"

    application = models.ForeignKey(Application, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    answers = models.JSONField(encoder=DjangoJSONEncoder)
    by = models.CharField(max_length=60)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["application", "number"], name="application_version_once")]


class ApplicationScore(OfficeOwned):
    """What one reviewer gives an application: performance, openness and feasibility from 1 to 5, with the reason."""

    SUBJECT = "application_score"

    application = models.ForeignKey(Application, models.PROTECT, related_name="scores")
    reviewer = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    performance = models.PositiveSmallIntegerField(_("performance"))
    openness = models.PositiveSmallIntegerField(_("openness"))
    feasibility = models.PositiveSmallIntegerField(_("feasibility"))
    reason = models.CharField(_("reason"), max_length=1000)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["application", "reviewer"], name="application_score_once"),
            models.CheckConstraint(
                condition=models.Q(performance__range=(1, MOST_SCORE))
                & models.Q(openness__range=(1, MOST_SCORE))
                & models.Q(feasibility__range=(1, MOST_SCORE)),
                name="application_score_range",
            ),
        ]
