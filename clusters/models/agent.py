"""The agent on a cluster's head node: its token and what it last told, what it is to do, and what jobs printed and used."""

from django.db import models

from tenants.models import TenantOwned, tied
from tenants.secret_fields import SecretField


class HeadNodeAgent(TenantOwned):
    """One cluster's agent. Of its token only the digest is kept, and the token itself until it was brought to the account."""

    SUBJECT = "agent"

    cluster = tied("clusters.Cluster", related_name="+")
    digest = models.CharField(max_length=64)
    before_digest = models.CharField(
        max_length=64, blank=True
    )  # opens too, until the head node has fetched the new one
    before_until = models.DateTimeField(null=True)
    undelivered = SecretField(blank=True, default="")
    made_by = models.CharField(max_length=60)
    made_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    connected_at = models.DateTimeField(null=True)  # since when it speaks without a pause
    last_seen_at = models.DateTimeField(null=True)
    agent_version = models.CharField(max_length=20, blank=True)
    boot = models.CharField(max_length=64, blank=True)
    identity = models.CharField(max_length=32, blank=True)  # whom orders go to: of two head nodes one at a time
    host = models.CharField(max_length=120, blank=True)
    username = models.CharField(max_length=64, blank=True)  # whom it runs jobs as
    slurm_version = models.CharField(max_length=40, blank=True)
    trouble = models.CharField(max_length=500, blank=True)  # why it could not ask Slurm, in Slurm's words
    jobs = models.JSONField(default=list)  # as `clusters.agent_reports` has checked them
    jobs_digest = models.CharField(max_length=64, blank=True)
    jobs_at = models.DateTimeField(null=True)
    nodes = models.JSONField(default=list)
    nodes_digest = models.CharField(max_length=64, blank=True)
    nodes_at = models.DateTimeField(null=True)
    accounts = models.BooleanField(null=True)  # whether Slurm keeps accounts there; null: nobody has said

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster"], name="one_agent_per_cluster"),
        ]


class AgentOrder(TenantOwned):
    """One thing that the agent is to do, once. What it needs may hold a job's secrets, so it is sealed, and goes when done."""

    class Kind(models.TextChoices):
        SUBMIT = "submit"
        CANCEL = "cancel"
        HOLD = "hold"
        RELEASE = "release"
        REQUEUE = "requeue"
        NODE = "node"

    SUBJECT = "order"

    cluster = tied("clusters.Cluster", related_name="+")
    number = models.PositiveIntegerField()  # they are done in this order
    kind = models.CharField(max_length=8, choices=Kind.choices)
    key = models.CharField(max_length=200)  # the same wish is the same order
    target = models.CharField(max_length=128)  # the job's name or id, or the node's name
    arguments = SecretField(blank=True, default="")
    taken_at = models.DateTimeField(null=True)
    taken_by = models.CharField(max_length=32, blank=True)
    answered_at = models.DateTimeField(null=True)
    went_well = models.BooleanField(null=True)
    external_id = models.CharField(max_length=60, blank=True)  # of the job that was submitted or found
    told = models.CharField(max_length=2000, blank=True)  # why not, in Slurm's words
    told_at = models.DateTimeField(null=True)  # when the engine was told of the refusal

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "key"], name="agent_order_once"),
            models.UniqueConstraint(fields=["tenant", "cluster", "number"], name="agent_order_number"),
            models.CheckConstraint(
                condition=models.Q(kind__in=["submit", "cancel", "hold", "release", "requeue", "node"]),
                name="agent_order_kind",
            ),
            models.CheckConstraint(
                condition=models.Q(answered_at__isnull=True, went_well__isnull=True)
                | models.Q(answered_at__isnull=False, went_well__isnull=False),
                name="agent_order_answer",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "cluster", "number"],
                condition=models.Q(answered_at__isnull=True),
                name="agent_order_open",
            )
        ]

    @property
    def progress(self) -> str:
        if self.answered_at is not None:
            return "done" if self.went_well else "failed"
        return "waiting" if self.taken_at is None else "taken"


class AgentLog(TenantOwned):
    """The end of what one job has printed, as its agent sent it piece by piece. Offsets are bytes of the file."""

    SUBJECT = "agent_log"

    cluster = tied("clusters.Cluster", related_name="+")
    name = models.CharField(max_length=128)  # the job's id at its scheduler, which names its file
    turn = models.PositiveIntegerField(default=1)  # +1 when the file was begun anew
    starts_at = models.PositiveBigIntegerField(default=0)
    ends_at = models.PositiveBigIntegerField(default=0)
    characters = models.PositiveBigIntegerField(default=0)  # ever added to the text, which keeps the last of them
    text = models.TextField(blank=True)
    received_at = models.DateTimeField()

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "name"], name="agent_log_once"),
        ]


class AgentRun(TenantOwned):
    """One run of a job as the cluster's accounting keeps it."""

    SUBJECT = "agent_run"

    cluster = tied("clusters.Cluster", related_name="+")
    external_id = models.CharField(max_length=60)
    attempt = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    engine_state = models.CharField(max_length=40)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField()
    node_names = models.JSONField(default=list)
    accelerators = models.PositiveIntegerField(null=True)
    exit_code = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "external_id", "attempt"], name="agent_run_once"),
        ]
        indexes = [models.Index(fields=["tenant", "cluster", "ended_at"], name="agent_run_by_end")]
