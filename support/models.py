"""Cases: what went wrong, how bad it is, who owns it, and what people wrote about it."""

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from support import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class Case(TenantOwned):
    """One problem or inquiry of one participant. Severity is one of critical, urgent, high, normal, low."""

    class Type(models.TextChoices):
        PROBLEM = "problem", _("problem")
        INQUIRY = "inquiry", _("inquiry")

    class Cause(models.TextChoices):
        HARDWARE = "hardware", _("hardware")
        SOFTWARE = "software", _("software")
        CONFIGURATION = "configuration", _("configuration")
        CAPACITY = "capacity", _("capacity")
        USER_CODE = "user_code", _("the participant's code")
        PROVIDER = "provider", _("provider's service")
        UNKNOWN = "unknown", _("not found")

    SUBJECT = "case"
    MOVES = states.CASE

    participation = tied("tenants.Participation", null=True, related_name="+")
    cluster = tied("clusters.Cluster", null=True, related_name="+")
    job = tied("clusters.Job", null=True, related_name="+")
    number = models.CharField(max_length=20)  # CASE-0001, per tenant
    type = models.CharField(max_length=8, choices=Type.choices, default=Type.PROBLEM)
    title = models.CharField(_("title"), max_length=200)
    category = models.CharField(_("category"), max_length=30, blank=True)
    severity = models.CharField(_("severity"), max_length=8, choices=[(word, word) for word in states.SEVERITIES])
    state = models.CharField(max_length=16, default="new")
    signature = models.CharField(max_length=120, blank=True)  # what makes two failures alike
    component = models.CharField(max_length=40, blank=True)  # the service team it was escalated to
    owner = models.ForeignKey("tenants.Person", models.PROTECT, null=True, blank=True, related_name="+")
    next_step = models.CharField(_("next step"), max_length=300, blank=True)
    next_step_due = models.DateField(_("by"), null=True, blank=True)
    opened_at = models.DateTimeField()
    reopened_at = models.DateTimeField(null=True)
    severity_raised_at = models.DateTimeField(null=True)  # the response counts from here, it was not so bad before
    first_response_at = models.DateTimeField(null=True)
    last_shared_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    cause = models.CharField(_("cause"), max_length=16, choices=Cause.choices, blank=True)
    cause_text = models.TextField(_("what it was"), blank=True)
    lost_hours = models.DecimalField(_("instance hours lost"), max_digits=10, decimal_places=2, null=True, blank=True)
    evidence = models.JSONField(default=dict)  # frozen at opening, for display
    opened_by = models.CharField(max_length=60)
    version = models.PositiveIntegerField(default=1)
    internal_version = models.PositiveIntegerField(default=0)  # what happened that only staff may know of

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "number"], name="case_number"),
            models.CheckConstraint(condition=models.Q(severity__in=states.SEVERITIES), name="case_severity_known"),
            checked("case", states.CASE),
        ]
        indexes = [
            models.Index(fields=["tenant", "-opened_at", "-id"], name="case_newest"),
            models.Index(fields=["tenant", "signature"], name="case_signature"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.title}"


class CaseNote(TenantOwned):
    """What somebody wrote on a case, for all who may see it or for staff only."""

    AUDIENCES = [("shared", _("shared with the participant")), ("internal", _("internal"))]

    SUBJECT = "note"

    case = tied("support.Case", related_name="+")
    audience = models.CharField(max_length=8, choices=AUDIENCES)
    text = models.TextField(_("text"), max_length=20_000)
    author = models.CharField(max_length=60)
    at = models.DateTimeField()


class OfficeText(models.Model):
    """A row of the office."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", models.PROTECT, related_name="+")  # the office, for its history
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class Article(OfficeText):
    """What was learnt from cases, in Markdown. The database shows it to a customer once it is published and shared."""

    SUBJECT = "article"
    MOVES = states.ARTICLE

    code = models.CharField(max_length=20)
    title = models.CharField(_("title"), max_length=200)
    body = models.TextField(_("text"), max_length=50_000, blank=True)
    category = models.CharField(_("category"), max_length=30, blank=True)
    audience = models.CharField(max_length=8, choices=CaseNote.AUDIENCES, default="internal")
    state = models.CharField(max_length=10, default="draft")
    author = models.CharField(max_length=60, blank=True)
    changed_at = models.DateTimeField(db_default=Now())
    published_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "code"], name="article_code"),
            checked("article", states.ARTICLE),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.title}"


class ArticleVersion(OfficeText):
    """An article as it once read."""

    SUBJECT = "article_version"

    article = models.ForeignKey(Article, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    body = models.TextField(max_length=50_000, blank=True)
    author = models.CharField(max_length=60)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["article", "number"], name="article_version_once")]


class ArticleUse(TenantOwned):
    """A case that an article came out of, or that it solved. Internal while the participant may not read the article."""

    class Kind(models.TextChoices):
        ORIGIN = "origin", _("the article came out of it")
        SOLVED = "solved", _("solved by the article")

    SUBJECT = "article_use"

    case = tied("support.Case", related_name="+")
    article = models.ForeignKey(Article, models.PROTECT, related_name="uses")
    kind = models.CharField(max_length=6, choices=Kind.choices)
    audience = models.CharField(max_length=8, choices=CaseNote.AUDIENCES, default="internal")

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "case", "article"], name="article_use_once"),
        ]
        indexes = [models.Index(fields=["article"], name="article_used")]
