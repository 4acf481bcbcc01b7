"""The tracking record of a participation: what is trained, with which framework, on which software."""

from collections.abc import Sequence
from typing import Any, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models.tenancy import TenantOwned, tied
from tenants.names import plain_name
from tenants.software import proper_name


class RecordBlock(TenantOwned):
    """One line of the record; `version` refuses an edit that was made on an older text."""

    participation = tied("tenants.Participation", related_name="+")
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    # The field by which people tell its lines apart, and those within which they do.
    CALLED: tuple[str, ...] = ()

    class Meta(TenantOwned.Meta):
        abstract = True

    def clean(self) -> None:
        self.clean_together([self])

    def clean_alone(self) -> None:
        """What can be said of a line without the others. Raises ValidationError."""

    @classmethod
    def clean_together(cls, rows: Sequence[Self]) -> None:
        cls._refuse_twins(rows)
        for row in rows:
            row.clean_alone()

    @classmethod
    def _refuse_twins(cls, rows: Sequence[Self]) -> None:
        """Two lines that are called the same to a person would be taken for one."""
        if not cls.CALLED:
            return
        name, *within = cls.CALLED
        others = cls.objects.filter(participation__in={row.participation_id for row in rows})
        others = others.exclude(pk__in=[row.pk for row in rows])
        there: dict[Any, tuple[UUID, str]] = {
            (place, plain_name(word), *beside): (pk, word)
            for pk, place, word, *beside in others.values_list("pk", "participation_id", name, *within)
        }
        for row in rows:
            word = str(getattr(row, name))
            key = (row.participation_id, plain_name(word), *(getattr(row, field) for field in within))
            owner, twin = there.setdefault(key, (row.pk, word))
            if owner != row.pk:
                told = {"code": word, "twin": twin}
                raise ValidationError({name: _("'%(code)s' is there already, as '%(twin)s'.") % told})


class TrainingModel(RecordBlock):
    """A model in training. Parameters are billions; the amount trained on is counted in `amount_unit`."""

    class Family(models.TextChoices):
        DENSE = "dense", _("dense transformer")
        MOE = "moe", _("mixture of experts")
        DIFFUSION = "diffusion", _("diffusion")
        VLA = "vla", _("vision-language-action")
        SPEECH = "speech", _("speech")
        VISION = "vision", _("vision or vision-language")
        OTHER = "other", _("other")

    class Unit(models.TextChoices):
        BILLION_TOKENS = "billion_tokens", _("billion tokens")
        MILLION_SAMPLES = "million_samples", _("million samples")
        THOUSAND_HOURS = "thousand_hours", _("thousand hours")

    SUBJECT = "model"
    CALLED = ("code",)

    code = models.CharField(_("code"), max_length=40)
    name = models.CharField(_("name"), max_length=120)
    family = models.CharField(_("family"), max_length=10, choices=Family.choices)
    architecture = models.CharField(_("architecture"), max_length=200, blank=True)
    layers = models.PositiveIntegerField(_("layers"), null=True, blank=True)
    initialisation = models.CharField(_("starts from"), max_length=200, blank=True)
    total_params_b = models.DecimalField(
        _("total parameters (billions)"), max_digits=9, decimal_places=3, validators=[MinValueValidator(0)]
    )
    active_params_b = models.DecimalField(
        _("active parameters (billions)"), max_digits=9, decimal_places=3, validators=[MinValueValidator(0)]
    )
    modalities = ArrayField(
        models.CharField(max_length=40),
        verbose_name=_("modalities"),
        default=list,
        blank=True,
        help_text=_("With commas: text, 16-bit image."),
    )
    context_length = models.PositiveIntegerField(_("context length"), null=True, blank=True)
    target_amount = models.DecimalField(
        _("target"), max_digits=12, decimal_places=3, validators=[MinValueValidator(0)], null=True, blank=True
    )
    done_amount = models.DecimalField(
        _("done so far"), max_digits=12, decimal_places=3, validators=[MinValueValidator(0)], null=True, blank=True
    )
    amount_unit = models.CharField(_("counted in"), max_length=16, choices=Unit.choices, default=Unit.BILLION_TOKENS)
    precision = models.CharField(_("precision"), max_length=60, blank=True)
    phase = models.CharField(_("phase"), max_length=120, blank=True)
    licence_plan = models.CharField(_("licence plan"), max_length=200, blank=True)
    evaluation_plan = ArrayField(
        models.CharField(max_length=60),
        verbose_name=_("evaluations planned"),
        default=list,
        blank=True,
        help_text=_("Benchmarks, with commas between them."),
    )

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "code"], name="model_code"),
            models.CheckConstraint(
                condition=models.Q(active_params_b__lte=models.F("total_params_b")), name="active_within_total"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean_alone(self) -> None:
        if None not in (self.active_params_b, self.total_params_b) and self.active_params_b > self.total_params_b:
            told = {"active": f"{self.active_params_b.normalize():f}", "total": f"{self.total_params_b.normalize():f}"}
            raise ValidationError(
                {
                    "active_params_b": _(
                        "%(active)s billion active parameters are more than the total of %(total)s billion."
                    )
                    % told
                }
            )


def degree(label: Any) -> models.PositiveIntegerField:
    """Over how many processes something is spread: one at least, or nothing said."""
    return models.PositiveIntegerField(label, validators=[MinValueValidator(1)], null=True, blank=True)


class FrameworkUse(RecordBlock):
    """A distributed-training framework as this participation uses it; degrees are process counts."""

    SUBJECT = "framework"

    name = models.CharField(_("framework"), max_length=80)
    core_version = models.CharField(_("core and version"), max_length=120, blank=True)
    tensor_parallel = degree(_("tensor parallel"))
    pipeline_parallel = degree(_("pipeline parallel"))
    data_parallel = degree(_("data parallel"))
    context_parallel = degree(_("context parallel"))
    expert_parallel = degree(_("expert parallel"))
    sequence_parallel = degree(_("sequence parallel"))
    fsdp = degree(_("fully sharded over"))
    zero_stage = models.PositiveSmallIntegerField(_("ZeRO stage"), null=True, blank=True)
    checkpoint = models.CharField(_("checkpoints"), max_length=120, blank=True)

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(zero_stage=None) | models.Q(zero_stage__lte=3), name="zero_stage_0_to_3"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean_alone(self) -> None:
        if self.zero_stage is not None and self.zero_stage > 3:
            raise ValidationError(
                {"zero_stage": _("The ZeRO stage is 0, 1, 2 or 3; you sent %(stage)s.") % {"stage": self.zero_stage}}
            )


class SoftwareVersion(RecordBlock):
    """One component of the software set; versions are text, because 3.10 is not 3.1."""

    class Source(models.TextChoices):
        DECLARED = "declared", _("declared")
        MEASURED = "measured", _("measured")

    SUBJECT = "software"
    CALLED = ("component", "source")

    component = models.CharField(_("component"), max_length=60)
    software_version = models.CharField(_("version"), max_length=120)
    source = models.CharField(_("source"), max_length=8, choices=Source.choices, default=Source.DECLARED)

    class Meta(RecordBlock.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "participation", "component", "source"], name="component_once"),
        ]

    def __str__(self) -> str:
        return f"{proper_name(self.component)} {self.software_version}"
