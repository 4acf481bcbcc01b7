"""Training jobs and their attempts."""

import json
from collections.abc import Mapping

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.secret_fields import SecretField
from tenants.states import checked


class Job(TenantOwned):
    """A job as it was launched and as its scheduler last told. `engine_name` is the key that is never submitted twice."""

    class Purpose(models.TextChoices):
        TRAINING = "training", _("training")
        PROOF = "proof", _("proof of a cluster")
        PROBE = "probe", _("test of two nodes")

    SUBJECT = "job"
    MOVES = states.JOB

    cluster = tied("clusters.Cluster", related_name="+")
    name = models.CharField(max_length=120)
    purpose = models.CharField(max_length=8, choices=Purpose.choices, default=Purpose.TRAINING)
    engine_name = models.CharField(max_length=64)
    script = models.TextField()
    nodes = models.PositiveIntegerField()
    partition = models.CharField(max_length=63, blank=True)
    time_limit_minutes = models.PositiveIntegerField(null=True)
    environment_names = models.JSONField(default=list)  # shown; what they stand for never is
    environment_sealed = SecretField(default="", blank=True)  # a JSON object of text
    state = models.CharField(max_length=10, default="requested")
    engine_state = models.CharField(max_length=40, blank=True)
    reason = models.TextField(blank=True)
    exit_code = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)
    external_id = models.CharField(max_length=60, blank=True)
    node_names = models.JSONField(default=list)
    restarts = models.PositiveIntegerField(default=0)
    accelerators = models.PositiveIntegerField(default=0)
    image = models.CharField(max_length=63, blank=True)  # the name of the cluster's image that its script runs in
    image_digest = models.CharField(max_length=71, blank=True)
    pinned = models.JSONField(default=list)  # the nodes that it must have, by their scheduler's names; empty: any
    configuration = models.PositiveIntegerField(default=1)  # the cluster's revision at launch
    template = models.CharField(max_length=40, blank=True)
    template_version = models.CharField(max_length=20, blank=True)
    template_parameters = models.JSONField(default=dict)  # what was filled in; its script is what ran
    processes_per_node = models.PositiveIntegerField(null=True)  # as its script says; None where it does not
    heals = models.BooleanField(default=False)  # whether its script asks to be started again after a fault
    script_version = tied("clusters.JobScriptVersion", related_name="+", null=True)
    again_of = tied("clusters.Job", related_name="+", null=True)  # the job that this one was made from
    launched_by = models.CharField(max_length=60)
    submitted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    observed_at = models.DateTimeField(null=True)
    unknown_since = models.DateTimeField(null=True)
    unknown_reason = models.TextField(blank=True)
    cancel_wished_at = models.DateTimeField(null=True)
    last_call_at = models.DateTimeField(null=True)
    absences = models.PositiveSmallIntegerField(default=0)
    log_tail = models.TextField(blank=True)
    log_read_at = models.DateTimeField(null=True)
    lost_hours = models.DecimalField(max_digits=10, decimal_places=2, null=True)
    checkpoint_step = models.PositiveBigIntegerField(null=True)  # of the last one that the log speaks of
    checkpoint_at = models.DateTimeField(null=True)  # when that was first read
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "engine_name"], name="job_engine_name"),
            checked("job", states.JOB),
        ]
        indexes = [models.Index(fields=["tenant", "-created_at", "-id"], name="job_newest")]

    def __str__(self) -> str:
        return self.name

    @property
    def environment(self) -> dict[str, str]:
        """The variables with their values, for the scheduler alone: they may be tokens of other services."""
        found: dict[str, str] = json.loads(self.environment_sealed or "{}")
        return found

    @environment.setter
    def environment(self, variables: Mapping[str, str]) -> None:
        self.environment_names = sorted(variables)
        self.environment_sealed = json.dumps(dict(variables)) if variables else ""


class Attempt(TenantOwned):
    """One run of a job by its scheduler; a requeue begins the next."""

    SUBJECT = "attempt"

    job = tied("clusters.Job", related_name="+")
    number = models.PositiveIntegerField()
    external_id = models.CharField(max_length=60)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    node_names = models.JSONField(default=list)
    exit_code = models.IntegerField(null=True)
    reason = models.TextField(blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job", "number"], name="attempt_number"),
        ]
