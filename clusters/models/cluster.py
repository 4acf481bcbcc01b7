"""A cluster as it is wished for and as it was last seen, its configurations, and the account it lives in."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.secret_fields import SecretField
from tenants.states import checked


class CloudAccount(TenantOwned):
    """A participant's account at the provider and how we are let in. We never hold its keys."""

    class Access(models.TextChoices):
        YES = "yes", _("yes")
        NO = "no", _("no")
        UNKNOWN = "unknown", _("unknown")

    SUBJECT = "account"

    account_id = models.CharField(
        _("account id"),
        max_length=12,
        validators=[RegexValidator(r"^\d{12}$", _("An account id has exactly 12 digits."))],
    )
    name = models.CharField(_("name"), max_length=80, blank=True)
    role_arn = models.CharField(_("role"), max_length=200)
    external_id = models.CharField(
        _("external id"), max_length=64, editable=False
    )  # ours, random, never chosen by a customer
    regions = ArrayField(models.CharField(max_length=20), default=list)
    access = models.CharField(max_length=7, choices=Access.choices, default=Access.UNKNOWN)
    access_since = models.DateTimeField(null=True)  # null: nobody has answered yet
    check_wished_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)  # the last answer, whichever
    lost_reason = models.TextField(blank=True)
    last_contact_at = models.DateTimeField(null=True)
    denied_reason = models.TextField(blank=True)
    # Whether the role refuses us when we do not say our id; without that others could borrow our trust.
    guarded = models.CharField(max_length=7, choices=Access.choices, default=Access.UNKNOWN)
    # Whether it has IAM Identity Center, which Amazon Managed Grafana signs people in with.
    identity_center = models.CharField(max_length=7, choices=Access.choices, default=Access.UNKNOWN)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "account_id"], name="account_once"),
            models.CheckConstraint(condition=models.Q(account_id__regex=r"^[0-9]{12}$"), name="account_12_digits"),
            models.CheckConstraint(
                condition=models.Q(access__in=("yes", "no", "unknown")), name="account_access_known"
            ),
            models.CheckConstraint(
                condition=models.Q(guarded__in=("yes", "no", "unknown")), name="account_guarded_known"
            ),
        ]

    def __str__(self) -> str:
        return self.account_id

    def lane(self, region: str = "") -> str:
        """What is throttled together. Whoever else names this account id, by mistake or not, waits in a lane of its own."""
        return "/".join(part for part in (self.account_id, region, self.pk.hex[:8]) if part)


class Cluster(TenantOwned):
    """What was asked for (wanted, generation, revision) beside what was seen (state, observed…, conditions)."""

    class Reach(models.TextChoices):
        DIRECT = "direct", _("directly")
        AGENT = "agent", _("by the agent on its head node")

    SUBJECT = "cluster"
    MOVES = states.CLUSTER

    participation = tied("tenants.Participation", related_name="+")
    account = tied("clusters.CloudAccount", related_name="+")
    name = models.CharField(max_length=63)
    architecture = models.CharField(max_length=40)
    architecture_version = models.CharField(max_length=20)
    orchestrator = models.CharField(max_length=20)
    reach = models.CharField(max_length=6, choices=Reach.choices, default=Reach.DIRECT)  # the way to its scheduler
    region = models.CharField(max_length=20)
    az_id = models.CharField(max_length=20)
    state = models.CharField(max_length=12, default="requested")
    wanted = models.BooleanField(default=True)
    generation = models.PositiveIntegerField(default=1)
    applied = models.PositiveIntegerField(default=0)  # the last generation the provider accepted
    proven = models.PositiveIntegerField(default=0)  # the last generation whose proofs all passed
    incarnation = models.PositiveIntegerField(default=1)
    observed_status = models.CharField(max_length=60, blank=True)
    observed_at = models.DateTimeField(null=True)
    # The instances of a ParallelCluster's queues can be stopped all together; its head node and its storage stay.
    fleet_wanted = models.CharField(max_length=8, default="running")
    fleet = models.CharField(max_length=20, blank=True)  # the engine's own word; empty where there is no such thing
    fleet_settled = models.PositiveIntegerField(default=0)  # the last generation whose wish for the fleet was seen
    unknown_since = models.DateTimeField(null=True)
    unknown_reason = models.TextField(blank=True)
    needs_person = models.TextField(blank=True)  # why the engine cannot go on by itself; empty when it can
    main_type = models.CharField(max_length=30)  # the accelerated instance type, without `ml.`
    nodes_wanted = models.PositiveIntegerField(default=0)  # all groups
    nodes_running = models.PositiveIntegerField(default=0)
    accelerated_wanted = models.PositiveIntegerField(
        default=0
    )  # instances with accelerators: what quotas and boards count
    accelerators_wanted = models.PositiveIntegerField(default=0)
    requested_by = models.CharField(max_length=60)
    approved_by = models.CharField(max_length=60, blank=True)
    approved_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    first_call_at = models.DateTimeField(
        null=True
    )  # when the first thing was asked of the provider for this generation
    conditions = models.JSONField(default=list)  # [{type, status, reason, sentence, since}], for display
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "name"], condition=~models.Q(state="deleted"), name="cluster_name_per_tenant"
            ),
            checked("cluster", states.CLUSTER),
            models.CheckConstraint(condition=models.Q(fleet_wanted__in=list(states.FLEET)), name="fleet_wanted_known"),
            models.CheckConstraint(condition=models.Q(reach__in=["direct", "agent"]), name="cluster_reach_known"),
        ]
        indexes = [models.Index(fields=["tenant", "name", "id"], name="cluster_by_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def lane(self) -> str:
        """The account and Region whose calls are throttled together."""
        return self.account.lane(self.region)


class Revision(TenantOwned):
    """One configuration of a cluster, never changed once written."""

    SUBJECT = "revision"

    cluster = tied("clusters.Cluster", related_name="+")
    number = models.PositiveIntegerField()
    body = models.JSONField()
    author = models.CharField(max_length=60)
    reason = models.CharField(max_length=300, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "number"], name="revision_number"),
        ]


class ClusterAccess(TenantOwned):
    """How a cluster's scheduler is reached, as its lifecycle script left it in the participant's account."""

    SUBJECT = "access"

    cluster = tied("clusters.Cluster", related_name="+")
    url = models.URLField(max_length=300)
    versions = ArrayField(models.CharField(max_length=12), default=list)
    username = models.CharField(max_length=40)
    jwt_key = SecretField()  # base64
    log_group = models.CharField(max_length=200)
    read_at = models.DateTimeField()

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster"], name="one_access_per_cluster"),
        ]


class Proof(TenantOwned):
    """Evidence that a generation of a cluster works; `ready` needs all of its architecture's proofs."""

    class Kind(models.TextChoices):
        NODES_RUNNING = "nodes_running", _("every node runs")
        FILE_SYSTEM = "file_system", _("the file system is available")
        SMOKE_JOB = "smoke_job", _("a smoke job over all nodes ends well")

    SUBJECT = "proof"

    cluster = tied("clusters.Cluster", related_name="+")
    generation = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    passed = models.BooleanField()
    evidence = models.TextField()
    taken_at = models.DateTimeField()

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster", "generation", "kind"], name="one_proof_each"),
        ]
