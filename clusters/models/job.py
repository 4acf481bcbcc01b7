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

    class Wish(models.TextChoices):
        HOLD = "hold", _("hold")
        RELEASE = "release", _("release")
        REQUEUE = "requeue", _("requeue")

    class How(models.TextChoices):
        OK = "afterok", _("when it has succeeded")
        ANY = "afterany", _("when it has ended")
        NOT_OK = "afternotok", _("when it has failed")

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
    wish = models.CharField(max_length=8, choices=Wish.choices, blank=True, default="")
    wished_at = models.DateTimeField(null=True)
    wish_restarts = models.PositiveIntegerField(default=0)  # `restarts` at the wish: one more confirms a requeue
    wish_refused = models.TextField(blank=True)  # why the last one was not possible
    held = models.BooleanField(default=False)
    queue_position = models.PositiveIntegerField(null=True)
    begin_at = models.DateTimeField(null=True)  # not before
    array = models.CharField(max_length=60, blank=True)
    after = tied("clusters.Job", null=True, related_name="+")
    after_how = models.CharField(max_length=10, choices=How.choices, blank=True, default="")
    run_version = models.PositiveIntegerField(default=1)
    restarts_an_hour = models.PositiveSmallIntegerField(default=3)
    restarts_forgiven = models.PositiveIntegerField(default=0)  # those before the last release do not count any more
    idle_minutes = models.PositiveIntegerField(null=True)
    idle_cancels = models.BooleanField(default=False)
    idle_since = models.DateTimeField(null=True)
    output_at = models.DateTimeField(null=True)  # when its output was last seen to grow
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
            models.CheckConstraint(
                condition=models.Q(wish__in=["", "hold", "release", "requeue"]), name="job_wish_known"
            ),
            models.CheckConstraint(
                condition=models.Q(after_how__in=["", "afterok", "afterany", "afternotok"]), name="job_after_known"
            ),
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

    class Cause(models.TextChoices):
        FIRST = "first", _("the first run")
        NODE = "node", _("a node was lost")
        REQUEUE = "requeue", _("somebody asked for it")
        SCHEDULER = "scheduler", _("the scheduler began it again")

    SUBJECT = "attempt"

    job = tied("clusters.Job", related_name="+")
    number = models.PositiveIntegerField()
    external_id = models.CharField(max_length=60)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    node_names = models.JSONField(default=list)
    exit_code = models.IntegerField(null=True)
    reason = models.TextField(blank=True)
    cause = models.CharField(max_length=9, choices=Cause.choices, default=Cause.FIRST)  # why it began
    cause_told = models.TextField(blank=True)  # the nodes that were lost, and what the scheduler says of them
    lost_hours = models.DecimalField(max_digits=10, decimal_places=2, null=True)  # instance hours that nothing saved

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(cause__in=["first", "node", "requeue", "scheduler"]), name="attempt_cause_known"
            ),
            models.UniqueConstraint(fields=["tenant", "job", "number"], name="attempt_number"),
        ]
