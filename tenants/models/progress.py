"""How far a project has come: the data that arrives, milestones, evaluations and results, and where it is watched."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator, URLValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models.record import RecordBlock, TrainingModel
from tenants.models.tenancy import TenantOwned

A_PREFIX = RegexValidator(
    r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\S*)?$", _("An S3 prefix looks like s3://bucket/folder/.")
)
A_LINK = URLValidator(["https", "http"], message=_("A link begins with https:// or http://."))
NOT_NEGATIVE = MinValueValidator(0)


class DataIngest(RecordBlock):
    """Data on its way to where jobs read it; amounts are TB (10^12 bytes). `ready_on` opens the gate before the first job.

    The words of a job or task are those of its API, as botocore has them: JobState of Snowball, TaskExecutionStatus of
    DataSync, DataRepositoryTaskLifecycle of FSx.
    """

    class Method(models.TextChoices):
        SNOWBALL = "snowball", _("Snowball")
        DATASYNC = "datasync", _("DataSync")
        S3_COPY = "s3_copy", _("copy to S3")
        REPOSITORY = "repository", _("import through Lustre")
        PREPARING = "preparing", _("prepared by a job")
        OTHER = "other", _("another way")

    class Snowball(models.TextChoices):
        NEW = "New", "New"
        PREPARING_APPLIANCE = "PreparingAppliance", "PreparingAppliance"
        PREPARING_SHIPMENT = "PreparingShipment", "PreparingShipment"
        TO_CUSTOMER = "InTransitToCustomer", "InTransitToCustomer"
        WITH_CUSTOMER = "WithCustomer", "WithCustomer"
        TO_AWS = "InTransitToAWS", "InTransitToAWS"
        SORTING = "WithAWSSortingFacility", "WithAWSSortingFacility"
        WITH_AWS = "WithAWS", "WithAWS"
        IN_PROGRESS = "InProgress", "InProgress"
        COMPLETE = "Complete", "Complete"
        CANCELLED = "Cancelled", "Cancelled"
        LISTING = "Listing", "Listing"
        PENDING = "Pending", "Pending"

    class DataSync(models.TextChoices):
        QUEUED = "QUEUED", "QUEUED"
        LAUNCHING = "LAUNCHING", "LAUNCHING"
        PREPARING = "PREPARING", "PREPARING"
        TRANSFERRING = "TRANSFERRING", "TRANSFERRING"
        VERIFYING = "VERIFYING", "VERIFYING"
        CANCELLING = "CANCELLING", "CANCELLING"
        SUCCESS = "SUCCESS", "SUCCESS"
        ERROR = "ERROR", "ERROR"

    class RepositoryTask(models.TextChoices):
        PENDING = "PENDING", "PENDING"
        EXECUTING = "EXECUTING", "EXECUTING"
        SUCCEEDED = "SUCCEEDED", "SUCCEEDED"
        FAILED = "FAILED", "FAILED"
        CANCELING = "CANCELING", "CANCELING"
        CANCELED = "CANCELED", "CANCELED"

    # way -> in which words its provider tells how far it is; of any other way nobody tells.
    STATES: ClassVar[dict[str, Any]] = {"snowball": Snowball, "datasync": DataSync, "repository": RepositoryTask}
    CALLED_OFF = ("Cancelled", "CANCELED")  # nobody waits for these any more

    SUBJECT = "ingest"
    CALLED = ("name",)

    name = models.CharField(_("data"), max_length=120)
    method = models.CharField(_("way"), max_length=12, choices=Method.choices)
    engine_id = models.CharField(
        _("job or task"), max_length=120, blank=True, help_text=_("As the provider calls it, for instance JID….")
    )
    engine_state = models.CharField(
        _("state of the job or task"),
        max_length=24,
        choices=[*Snowball.choices, *DataSync.choices, *RepositoryTask.choices],
        blank=True,
    )
    planned_tb = models.DecimalField(
        _("planned (TB)"), max_digits=10, decimal_places=3, validators=[NOT_NEGATIVE], null=True, blank=True
    )
    arrived_tb = models.DecimalField(
        _("arrived (TB)"), max_digits=10, decimal_places=3, validators=[NOT_NEGATIVE], null=True, blank=True
    )
    prefix = models.CharField(_("S3 prefix"), max_length=300, validators=[A_PREFIX], blank=True)
    read_by = models.CharField(
        _("read by"), max_length=200, blank=True, help_text=_("The Spark or Slurm jobs that read it.")
    )
    due_on = models.DateField(_("expected on"), null=True, blank=True)
    ready_on = models.DateField(
        _("ready since"),
        null=True,
        blank=True,
        help_text=_("Empty: not ready. The first training job warns as long as data is not ready."),
    )

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "name"], name="ingest_name"),
            models.CheckConstraint(
                condition=models.Q(engine_state="") | models.Q(method__in=["snowball", "datasync", "repository"]),
                name="ingest_state_of_its_way",
            ),
            models.CheckConstraint(
                condition=(models.Q(planned_tb=None) | models.Q(planned_tb__gte=0))
                & (models.Q(arrived_tb=None) | models.Q(arrived_tb__gte=0)),
                name="ingest_amounts",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean_alone(self) -> None:
        if self.engine_state and self.method not in self.STATES:
            sentence = _("Only Snowball, DataSync and an import through Lustre tell a state; leave it empty.")
            raise ValidationError({"engine_state": sentence})
        if self.engine_state and self.engine_state not in (known := self.STATES[self.method].values):
            told = {"asked": self.engine_state, "way": self.get_method_display(), "known": ", ".join(known)}
            sentence = _("'%(asked)s' is no state of this way (%(way)s); it has: %(known)s.")
            raise ValidationError({"engine_state": sentence % told})

    @property
    def percent(self) -> int | None:
        """How much of what was planned has arrived; None when either is not known."""
        if not self.planned_tb or self.arrived_tb is None:
            return None
        return min(100, round(100 * self.arrived_tb / self.planned_tb))


class MonitoringLink(RecordBlock):
    """Where a participation is watched outside of Cohort."""

    class Kind(models.TextChoices):
        GRAFANA = "grafana", "Grafana"
        PROMETHEUS = "prometheus", "Prometheus"
        EXPERIMENTS = "experiments", _("experiment tracker")
        CHANNEL = "channel", _("channel")
        OTHER = "other", _("other")

    SUBJECT = "monitoring"
    CALLED = ("name",)

    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=120)
    link = models.CharField(_("link"), max_length=400, validators=[A_LINK])
    exporters = ArrayField(models.CharField(max_length=40), verbose_name=_("exporters"), default=list, blank=True)
    alert_tested_on = models.DateField(_("alert tested on"), null=True, blank=True)

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "name"], name="monitoring_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Milestone(RecordBlock):
    """What the project is to reach by a day."""

    class Kind(models.TextChoices):
        DATA = "data", _("data")
        TRAINING = "training", _("training")
        GATE = "gate", _("stage gate")
        RELEASE = "release", _("release")
        OTHER = "other", _("other")

    SUBJECT = "milestone"
    CALLED = ("title",)

    title = models.CharField(_("milestone"), max_length=160)
    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    due_on = models.DateField(_("due on"))
    done_on = models.DateField(_("done on"), null=True, blank=True)
    remark = models.CharField(_("remark"), max_length=300, blank=True)

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "title"], name="milestone_title"),
        ]

    def __str__(self) -> str:
        return self.title


class Evaluation(RecordBlock):
    """What a model reached in a benchmark; `higher_is_better` says which of two scores is the better one."""

    SUBJECT = "evaluation"

    model_code = models.CharField(_("model"), max_length=40, help_text=_("The code of a model of this record."))
    benchmark = models.CharField(_("benchmark"), max_length=120)
    score = models.DecimalField(_("score"), max_digits=14, decimal_places=4)
    unit = models.CharField(_("unit"), max_length=30, blank=True)
    higher_is_better = models.BooleanField(_("higher is better"), default=True)
    measured_on = models.DateField(_("measured on"))
    at_amount = models.DecimalField(
        _("after"), max_digits=12, decimal_places=3, validators=[NOT_NEGATIVE], null=True, blank=True
    )
    link = models.CharField(_("link"), max_length=400, validators=[A_LINK], blank=True)

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "participation", "model_code", "benchmark", "measured_on"], name="evaluation_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.benchmark} {self.score.normalize():f}"

    @classmethod
    def clean_together(cls, rows: Sequence[Self]) -> None:
        known: dict[UUID, list[str]] = defaultdict(list)
        models_of = TrainingModel.objects.filter(participation__in={row.participation_id for row in rows})
        for place, code in models_of.order_by("code").values_list("participation_id", "code"):
            known[place].append(code)
        for row in rows:
            if row.model_code not in known[row.participation_id]:
                told = {"code": row.model_code, "known": ", ".join(known[row.participation_id]) or "–"}
                sentence = _("There is no model '%(code)s' in this record; there are: %(known)s.")
                raise ValidationError({"model_code": sentence % told})


class Result(RecordBlock):
    """What comes out of a project: a model, data, a paper, a program; and under which licence."""

    class Kind(models.TextChoices):
        MODEL = "model", _("model")
        DATASET = "dataset", _("data")
        PAPER = "paper", _("paper")
        CODE = "code", _("program")
        DEMO = "demo", _("demonstration")
        OTHER = "other", _("other")

    class Openness(models.TextChoices):
        OPEN = "open", _("open")
        WEIGHTS = "weights", _("open weights")
        RESTRICTED = "restricted", _("on conditions")
        CLOSED = "closed", _("not published")

    SUBJECT = "result"
    CALLED = ("title", "kind")

    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    title = models.CharField(_("title"), max_length=200)
    openness = models.CharField(_("openness"), max_length=12, choices=Openness.choices)
    licence = models.CharField(_("licence"), max_length=120, blank=True)
    link = models.CharField(_("link"), max_length=400, validators=[A_LINK], blank=True)
    published_on = models.DateField(_("published on"), null=True, blank=True)

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "kind", "title"], name="result_once"),
        ]

    def __str__(self) -> str:
        return self.title
