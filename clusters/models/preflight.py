"""What an account said of itself, and the full check before something is applied: what was found, line by line, and when."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tenants.models import TenantOwned, tied


class AccountFact(TenantOwned):
    """One kind of fact as an account last told it. Without `read_at` it never did; `error` says why the last try gave nothing."""

    SUBJECT = "account_fact"

    account = tied("clusters.CloudAccount", related_name="+")
    region = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    body = models.JSONField(default=dict)
    read_at = models.DateTimeField(null=True)
    tried_at = models.DateTimeField()
    error = models.TextField(blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "account", "region", "kind"], name="account_fact_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.region}"


class Preflight(TenantOwned):
    """One full check of a generation of a cluster, by what the account said at that moment."""

    class Verdict(models.TextChoices):
        PASS = "pass", _("fits")
        FAIL = "fail", _("does not fit")

    SUBJECT = "preflight"

    cluster = tied("clusters.Cluster", related_name="+")
    operation = tied("clusters.Operation", null=True, related_name="+")
    generation = models.PositiveIntegerField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(db_default=Now())
    verdict = models.CharField(max_length=4, choices=Verdict.choices)
    passed = models.PositiveSmallIntegerField()
    failed = models.PositiveSmallIntegerField()
    unknown = models.PositiveSmallIntegerField()
    minded = models.PositiveSmallIntegerField()
    why = models.TextField(blank=True)  # the first thing that does not fit, and who mends it

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "generation"], name="preflight_once"),
            models.CheckConstraint(condition=models.Q(verdict__in=["pass", "fail"]), name="preflight_verdict_known"),
            models.CheckConstraint(
                condition=models.Q(verdict="pass", failed=0) | models.Q(verdict="fail", failed__gt=0),
                name="preflight_fails_by_a_line",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.generation}"


class PreflightLine(TenantOwned):
    """One line of it: what was looked at, pass, fail, unknown or mind, who can change it, and how old the fact was."""

    class Verdict(models.TextChoices):
        FAIL = "fail", _("Does not fit")
        UNKNOWN = "unknown", _("Not known")
        MIND = "mind", _("Mind")
        PASS = "pass", _("Fits")

    SUBJECT = "preflight_line"

    preflight = tied("clusters.Preflight", related_name="+")
    position = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=40)
    verdict = models.CharField(max_length=7, choices=Verdict.choices)
    who = models.CharField(max_length=16)
    field = models.CharField(max_length=200)
    unit = models.CharField(max_length=20, blank=True)
    told = models.JSONField(default=dict)  # {asked, allowed, suggestion, values}: what its sentence is filled in with
    known_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "preflight", "position"], name="preflight_line_place"),
            models.CheckConstraint(
                condition=models.Q(verdict__in=["fail", "unknown", "mind", "pass"]), name="preflight_line_verdict_known"
            ),
        ]


class TemplateVerdict(models.Model):
    """What cfn-lint said of a template of the catalogue for a Region. The template is nobody's, so the verdict is everybody's."""

    digest = models.CharField(max_length=64)
    region = models.CharField(max_length=20)
    linter = models.CharField(max_length=20)  # its version: another one may say otherwise
    at = models.DateTimeField(db_default=Now())
    problems = models.JSONField(default=list)  # [{rule, line, says}], for display

    class Meta:
        constraints = [models.UniqueConstraint(fields=["digest", "region", "linter"], name="template_verdict_once")]
