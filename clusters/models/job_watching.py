"""What a training job tells of itself: its output, its steps, who of it was heard, and what went wrong."""

from django.db import models
from django.db.models import Q

from clusters.jobs.logs.trouble import KIND_NAMES
from tenants.models import TenantOwned, tied
from tenants.secret_fields import SecretField

LOSS_WORDS = ("", "nan", "inf")
SOURCES = ("log", "reporter")


class JobProgress(TenantOwned):
    """How far a job has come by its own words, and how far we have read them. One row for each job that said something."""

    SUBJECT = "job_progress"

    job = tied("clusters.Job", related_name="+")
    log_position = models.TextField(blank=True)  # the log group's own token of where to read on
    log_lines = models.PositiveBigIntegerField(default=0)  # ever read; the number of the next line
    log_format = models.CharField(max_length=40, blank=True)  # empty: not recognised
    carry = models.JSONField(default=dict)  # what the next stretch has to know of the one before
    last_line_at = models.DateTimeField(null=True)
    step = models.PositiveBigIntegerField(null=True)
    step_at = models.DateTimeField(null=True)
    total_steps = models.PositiveBigIntegerField(null=True)
    world = models.PositiveIntegerField(null=True)  # ranks, as the job says
    timeout_seconds = models.FloatField(null=True)  # as the communicator said when it gave up, or the reporter
    checkpoint_path = models.CharField(max_length=500, blank=True)
    resumed_step = models.PositiveBigIntegerField(null=True)
    resumed_at = models.DateTimeField(null=True)
    resumed_attempt = models.PositiveIntegerField(null=True)
    drilled_at = models.DateTimeField(null=True)  # when a run first trained on beyond the checkpoint it came from
    loss_word = models.CharField(max_length=3, blank=True)  # of the newest step whose loss was no number
    loss_word_step = models.PositiveBigIntegerField(null=True)
    stalled_since = models.DateTimeField(null=True)
    activity = models.FloatField(
        null=True
    )  # percent to which its busiest node used its accelerators; null: not measured
    activity_at = models.DateTimeField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job"], name="job_progress_once"),
            models.CheckConstraint(condition=Q(loss_word__in=LOSS_WORDS), name="job_progress_loss_word"),
            models.CheckConstraint(
                condition=Q(activity=None) | Q(activity__range=(0, 100)), name="job_progress_activity_percent"
            ),
        ]


class JobPoint(TenantOwned):
    """One training step of one run of a job, as its log or its reporter told it. What was not told is null, never 0."""

    SUBJECT = "job_point"

    job = tied("clusters.Job", related_name="+")
    attempt = models.PositiveIntegerField()
    step = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    source = models.CharField(max_length=8, default="log")
    loss = models.FloatField(null=True)
    loss_word = models.CharField(max_length=3, blank=True)
    tokens_per_second = models.FloatField(null=True)
    samples_per_second = models.FloatField(null=True)
    tflops = models.FloatField(null=True)  # of each accelerator
    mfu = models.FloatField(null=True)  # percent
    learning_rate = models.FloatField(null=True)
    grad_norm = models.FloatField(null=True)
    step_seconds = models.FloatField(null=True)
    batch = models.FloatField(null=True)  # samples of one step
    consumed_tokens = models.FloatField(null=True)
    consumed_samples = models.FloatField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job", "attempt", "step"], name="job_point_once"),
            models.CheckConstraint(condition=Q(loss_word__in=LOSS_WORDS), name="job_point_loss_word"),
            models.CheckConstraint(condition=Q(source__in=SOURCES), name="job_point_source"),
        ]


class JobOutput(TenantOwned):
    """A stretch of a job's output, cleaned. Stretches follow each other without a gap; the oldest are let go."""

    SUBJECT = "job_output"

    job = tied("clusters.Job", related_name="+")
    number = models.PositiveIntegerField()
    first_line = models.PositiveBigIntegerField()
    lines = models.PositiveIntegerField()
    size = models.PositiveIntegerField()  # characters
    text = models.TextField()
    until = models.DateTimeField()  # when its last line was written

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job", "number"], name="job_output_once"),
        ]


class JobRank(TenantOwned):
    """The last that was heard of one rank of a job."""

    SUBJECT = "job_rank"

    job = tied("clusters.Job", related_name="+")
    rank = models.PositiveIntegerField()
    host = models.CharField(max_length=120, blank=True)
    attempt = models.PositiveIntegerField()
    heard_at = models.DateTimeField()
    text = models.CharField(max_length=300, blank=True)
    source = models.CharField(max_length=8, default="log")

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job", "rank"], name="job_rank_once"),
            models.CheckConstraint(condition=Q(source__in=SOURCES), name="job_rank_source"),
        ]


class JobFault(TenantOwned):
    """A line of a job's output that says that something went wrong."""

    SUBJECT = "job_fault"

    job = tied("clusters.Job", related_name="+")
    attempt = models.PositiveIntegerField()
    at = models.DateTimeField()
    fault_kind = models.CharField(max_length=14)
    rank = models.PositiveIntegerField(null=True)
    host = models.CharField(max_length=120, blank=True)
    xid = models.PositiveIntegerField(null=True)
    text = models.CharField(max_length=500)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.CheckConstraint(condition=Q(fault_kind__in=KIND_NAMES), name="job_fault_kind"),
        ]
        indexes = [models.Index(fields=["tenant", "job", "-at"], name="job_fault_newest")]


class JobReporter(TenantOwned):
    """The door through which a job reports by itself. Its token is given to the job alone, and shown nowhere."""

    SUBJECT = "job_reporter"

    job = tied("clusters.Job", related_name="+")
    token = SecretField()
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    reports = models.PositiveBigIntegerField(default=0)
    minute = models.DateTimeField(null=True)  # the one in which the reports below were counted
    this_minute = models.PositiveIntegerField(default=0)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job"], name="one_job_reporter"),
        ]
