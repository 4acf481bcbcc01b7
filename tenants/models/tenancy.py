"""Tenants, who belongs to them from when to when, and the cycles they take part in."""

import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Self
from zoneinfo import available_timezones

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import DataError, connection, models, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tenants.states import CYCLE, PARTICIPATION, checked
from tenants.wall.acting import scope
from tenants.wall.roles import DUTIES, ROLES


class Tenant(models.Model):
    """One organisation, or the programme's office. The directory is not row-secured: sign-in has to find it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=120)
    is_office = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["is_office"], condition=models.Q(is_office=True), name="one_office")
        ]

    def __str__(self) -> str:
        return self.name


def within(on: Any = None) -> models.Q:
    """Dated rows whose days include this one, first and last day included; without a day, the programme's today."""
    day = _day(on)
    return models.Q(starts_on__lte=day) & (models.Q(ends_on=None) | models.Q(ends_on__gte=day))


def holding(on: Any = None) -> models.Q:
    """The same for seats, which may also have been taken away in the middle of their last day: from that moment on they hold
    no longer, whatever day it is in the zone of whoever reads. Of a day that is asked for, one in UTC, the end counts."""
    if on is None:
        return within() & models.Q(ended_at=None)  # it is written when it happens, and never beforehand
    return within(on) & (models.Q(ended_at=None) | models.Q(ended_at__gt=datetime.combine(on, time.max, UTC)))


def _day(on: Any) -> Any:
    return on if on is not None else Today()


class Today(models.Func):
    """The day that it is in the programme's zone (UTC until a programme is written down), by the database's clock."""

    output_field = models.DateField()
    template = (
        "(statement_timestamp() AT TIME ZONE"
        " coalesce((SELECT timezone FROM tenants_programme ORDER BY id LIMIT 1), 'UTC'))::date"
    )


class Dated(models.Model):
    """Something that holds from a day to a day (both included); an open end is null."""

    starts_on = models.DateField(db_default=Now())
    ends_on = models.DateField(null=True, blank=True)

    class Meta:
        abstract = True


class Taken(Dated):
    """What can be taken away at once: `ended_at` is that moment, and `ends_on` its day."""

    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class Membership(Taken):
    """A person's role at a tenant. Staff are members of the office."""

    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="memberships")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=24, choices=[(name, name) for name in ROLES])
    team = models.CharField(
        max_length=40, blank=True, help_text=_("For service engineers: the component they answer for.")
    )
    created_at = models.DateTimeField(db_default=Now())
    confirmed_at = models.DateTimeField(null=True)  # when somebody last said that it is still right

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "tenant"], condition=models.Q(ends_on=None), name="one_open_seat"
            ),
            models.CheckConstraint(condition=models.Q(role__in=ROLES), name="membership_role_known"),
            models.CheckConstraint(
                condition=models.Q(ends_on=None) | models.Q(ends_on__gte=models.F("starts_on")), name="membership_dates"
            ),
        ]


class Assignment(Taken):
    """A member of staff looks after a participant: lead, deputy, account, frameworks, service."""

    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="assignments")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="assignments")
    duty = models.CharField(max_length=12, choices=[(duty, duty) for duty in DUTIES])

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "tenant", "duty"], condition=models.Q(ends_on=None), name="one_open_assignment"
            ),
            models.CheckConstraint(condition=models.Q(duty__in=DUTIES), name="assignment_duty_known"),
        ]


class TenantManager(models.Manager):
    """Says the scope in the query too, so that the planner can walk (tenant, …) indexes; row security stays the wall."""

    def get_queryset(self) -> models.QuerySet:
        rows, seen = super().get_queryset(), scope()
        if not seen.everyone:
            only_one = len(seen.tenants) == 1
            rows = rows.filter(tenant_id=seen.tenants[0]) if only_one else rows.filter(tenant_id__in=seen.tenants)
        if seen.staff or not self._has_audience():
            return rows
        return rows.filter(audience="shared")

    def _has_audience(self) -> bool:
        try:
            return bool(self.model._meta.get_field("audience"))
        except FieldDoesNotExist:
            return False


class TenantOwned(models.Model):
    """What belongs to one tenant. Its table is protected, and keys between such tables are tied to the same tenant."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    objects = TenantManager()

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["tenant", "id"], name="%(app_label)s_%(class)s_tenant_id"),
        ]

    def kept(self, *, by: str) -> None:
        """What a line of the record writes beside itself, once it was saved, in the same transaction."""

    @classmethod
    def kept_together(cls, rows: Sequence[Self], *, by: str) -> None:
        """The same for many lines at once."""
        for row in rows:
            row.kept(by=by)

    @classmethod
    def clean_together(cls, rows: Sequence[Self]) -> None:
        """What `clean` checks, for many lines at once and in their order. Raises ValidationError for the first that is wrong."""
        for row in rows:
            row.clean()


def tied(to: str, *, null: bool = False, related_name: str | None = None) -> models.ForeignKey:
    """A key to another tenant table; `tie()` in the migration makes the database hold both rows to one tenant."""
    return models.ForeignKey(
        to,
        models.PROTECT,
        db_constraint=False,
        null=null,
        blank=null,
        **({"related_name": related_name} if related_name else {}),
    )


def warn_at() -> list[int]:
    """Percentages of a budget at which somebody is told."""
    return [50, 80, 95]


def a_zone(name: str) -> None:
    """Raises ValidationError for what is no name of the time zone database."""
    if name not in available_timezones():
        raise ValidationError(_("There is no time zone '%(name)s'. Write it like Asia/Tokyo.") % {"name": name[:64]})


def a_zone_of_the_database(name: str) -> None:
    """The same for one that the database does not know, whose edition of the zones is another: it reckons the days with it."""
    if name not in available_timezones():
        return  # said already
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT timezone(%s, now())", [name])
    except DataError:
        raise ValidationError(
            _("There is no time zone '%(name)s'. Write it like Asia/Tokyo.") % {"name": name[:64]}
        ) from None


SENSIBLE_DAYS = [MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(2100, 12, 31))]


class Programme(models.Model):
    """The national programme and the settings its office may change."""

    code = models.SlugField(max_length=20, unique=True)
    name = models.CharField(_("name"), max_length=120)
    sponsor = models.CharField(_("sponsor"), max_length=120, blank=True)
    agency = models.CharField(_("agency"), max_length=120, blank=True)
    timezone = models.CharField(
        _("time zone"),
        max_length=64,
        default="UTC",
        validators=[a_zone, a_zone_of_the_database],
        help_text=_("Cut-offs, days and months of the programme are those of this zone."),
    )
    currency = models.CharField(
        _("currency"),
        max_length=3,
        default="USD",
        validators=[RegexValidator("^[A-Z]{3}$", _("Three capitals, like JPY."))],
    )
    approval_over_instances = models.PositiveIntegerField(
        _("approval over instances"),
        default=0,
        validators=[MaxValueValidator(100_000)],
        help_text=_("Requests for more accelerated instances than this need an approval."),
    )
    small_request_hours = models.PositiveIntegerField(
        default=0,
        help_text=_("Requests for capacity of up to so many accelerator-hours within 30 days are granted at once."),
    )
    cutoff_weekday = models.PositiveSmallIntegerField(
        _("weekday of the cut-off"), default=2, validators=[MaxValueValidator(6)], help_text=_("0 is Monday.")
    )
    cutoff_time = models.TimeField(_("time of the cut-off"), default="18:00")
    stale_after_days = models.PositiveSmallIntegerField(
        _("stale after days"),
        default=14,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text=_("A record that nobody changed for so long is said to be stale."),
    )
    invitation_days = models.PositiveSmallIntegerField(
        _("invitations open for days"),
        default=7,
        validators=[MinValueValidator(1), MaxValueValidator(90)],
        help_text=_("How long the link of an invitation opens."),
    )
    confirm_access_days = models.PositiveSmallIntegerField(
        _("access confirmed every days"),
        default=90,
        validators=[MinValueValidator(1), MaxValueValidator(730)],
        help_text=_("After how many days a participant's lead confirms again who has access."),
    )
    second_step_since = models.DateField(
        _("second step for the office since"),
        null=True,
        blank=True,
        validators=[MinValueValidator(date(2020, 1, 1)), MaxValueValidator(date(2200, 1, 1))],
        help_text=_("From this day on people of the office sign in with a second step. Empty: it is their choice."),
    )
    second_step_grace_days = models.PositiveSmallIntegerField(
        _("days to set it up"),
        default=14,
        validators=[MaxValueValidator(90)],
        help_text=_(
            "Counted from that day, or from the first day of somebody's seat; after them nothing opens without it."
        ),
    )
    quarantine_strikes = models.PositiveSmallIntegerField(
        _("faults"),
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text=_("Jobs are kept away from a node after so many faults."),
    )
    quarantine_days = models.PositiveSmallIntegerField(
        _("within days"),
        default=7,
        validators=[MinValueValidator(1), MaxValueValidator(90)],
        help_text=_("Faults that are older do not count any more."),
    )
    quarantine_event_minutes = models.PositiveSmallIntegerField(
        _("one event, minutes"),
        default=30,
        validators=[MinValueValidator(0), MaxValueValidator(1440)],
        help_text=_("What is seen within so many minutes of a fault is the same fault."),
    )
    idle_minutes = models.PositiveIntegerField(
        _("silent minutes"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(10_080)],
        help_text=_(
            "A job that prints nothing for so long is said to be idle. Empty: only where its launch asks for it."
        ),
    )
    idle_below_percent = models.PositiveSmallIntegerField(
        _("computing from percent"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_(
            "Where the use of its accelerators is measured, a silent job that uses them this much is not idle."
        ),
    )
    grant_not_set = models.CharField(
        _("where nothing is granted yet"),
        max_length=6,
        default="tell",
        choices=[("tell", _("let it through, and say so")), ("refuse", _("refuse it"))],
        help_text=_("A cluster of an instance type of which nobody has said how many the participant may have."),
    )
    budget_rule = models.CharField(
        _("at the limit"),
        max_length=6,
        default="refuse",
        choices=[
            ("tell", _("tell")),
            ("refuse", _("tell, and refuse what is new at the limit")),
            ("stop", _("tell, refuse, and stop jobs at the limit")),
        ],
        help_text=_("What happens when a participant's budget is spent. A participant may have its own rule."),
    )
    budget_counts = models.CharField(
        _("what is new counts against"),
        max_length=5,
        default="spent",
        choices=[("spent", _("what is spent")), ("bound", _("what is spent and bound"))],
        help_text=_(
            "Where what is bound counts too, nothing is launched or granted that would bind more than is left. Jobs are stopped only for what is spent. A participant may have its own rule."
        ),
    )
    budget_warn_at = ArrayField(
        models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(100)]),
        verbose_name=_("told at percent"),
        default=warn_at,
        size=6,
        help_text=_("At each its business lead and the account team are told, once. Numbers with commas between them."),
    )
    budget_notice_hours = models.PositiveSmallIntegerField(
        _("warning time, hours"),
        default=72,
        validators=[MinValueValidator(1), MaxValueValidator(720)],
        help_text=_("So long after the limit was told no job is stopped."),
    )
    budget_patience_hours = models.PositiveSmallIntegerField(
        _("waiting for a checkpoint, hours"),
        default=24,
        validators=[MinValueValidator(1), MaxValueValidator(168)],
        help_text=_(
            "After the warning time a job that saves checkpoints is ended after its next one, at the latest then."
        ),
    )
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(grant_not_set__in=["tell", "refuse"]), name="grant_not_set_known"
            ),
            models.CheckConstraint(
                condition=models.Q(budget_rule__in=["tell", "refuse", "stop"]), name="budget_rule_known"
            ),
            models.CheckConstraint(
                condition=models.Q(budget_counts__in=["spent", "bound"]), name="budget_counts_known"
            ),
            models.CheckConstraint(
                condition=models.Q(budget_notice_hours__range=(1, 720)), name="budget_notice_hours_range"
            ),
            models.CheckConstraint(
                condition=models.Q(budget_patience_hours__range=(1, 168)), name="budget_patience_hours_range"
            ),
            models.CheckConstraint(
                condition=models.Q(quarantine_strikes__range=(1, 20)), name="quarantine_strikes_range"
            ),
            models.CheckConstraint(condition=models.Q(quarantine_days__range=(1, 90)), name="quarantine_days_range"),
            models.CheckConstraint(
                condition=models.Q(quarantine_event_minutes__lte=1440), name="quarantine_event_minutes_range"
            ),
            models.CheckConstraint(
                condition=models.Q(idle_minutes=None) | models.Q(idle_minutes__range=(1, 10_080)),
                name="idle_minutes_range",
            ),
            models.CheckConstraint(
                condition=models.Q(idle_below_percent__range=(1, 100)), name="idle_below_percent_range"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Cycle(models.Model):
    """One round of the programme."""

    programme = models.ForeignKey(Programme, models.PROTECT, related_name="cycles")
    code = models.SlugField(_("code"), max_length=20)
    name = models.CharField(_("name"), max_length=80)
    state = models.CharField(max_length=12, default="preparing")
    starts_on = models.DateField(_("first day"))
    ends_on = models.DateField(_("last day"), null=True, blank=True)
    launch_day = models.DateField(_("launch day"), null=True, blank=True)
    stage_gate_on = models.DateField(_("stage gate"), null=True, blank=True)
    final_report_due = models.DateField(_("final report due"), null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["programme", "code"], name="cycle_code"),
            checked("cycle", CYCLE),
        ]

    def __str__(self) -> str:
        return self.name


class Participation(TenantOwned):
    """A tenant takes part in a cycle: what the project is and how far it has come."""

    class Gate(models.TextChoices):
        PASSED = "passed", _("passed")
        CONDITIONS = "conditions", _("passed on conditions")
        FAILED = "failed", _("not passed")

    SUBJECT = "participation"
    MOVES = PARTICIPATION

    cycle = models.ForeignKey(Cycle, models.PROTECT, related_name="+")
    code = models.CharField(max_length=12)
    state = models.CharField(max_length=12, default="applied")
    project = models.CharField(_("project"), max_length=300)
    organisation_kind = models.CharField(_("kind of organisation"), max_length=40, blank=True)
    sector = models.CharField(_("sector"), max_length=120, blank=True)
    staff_size = models.PositiveIntegerField(_("staff"), null=True, blank=True)
    support_plan = models.CharField(_("support plan"), max_length=60, blank=True)
    abstract = models.TextField(_("abstract"), max_length=5000, blank=True)
    provider = models.CharField(
        _("provider"), max_length=120, blank=True, help_text=_("Whose computing power it trains on. Empty: not said.")
    )
    starts_on = models.DateField(
        _("first day"), null=True, blank=True, help_text=_("Empty: that of its cycle."), validators=SENSIBLE_DAYS
    )
    ends_on = models.DateField(
        _("last day"), null=True, blank=True, help_text=_("Empty: that of its cycle."), validators=SENSIBLE_DAYS
    )
    gate = models.CharField(_("stage gate"), max_length=12, choices=Gate.choices, blank=True)  # empty: not decided
    gate_on = models.DateField(_("stage gate decided on"), null=True, blank=True)
    gate_why = models.CharField(_("why the stage gate was decided so"), max_length=500, blank=True)
    # Where its data may lie; empty: anywhere.
    allowed_regions = ArrayField(
        models.CharField(max_length=20), verbose_name=_("allowed Regions"), default=list, blank=True
    )
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cycle"], name="once_per_cycle"),
            checked("participation", PARTICIPATION),
            models.CheckConstraint(
                condition=models.Q(starts_on=None)
                | models.Q(ends_on=None)
                | models.Q(ends_on__gte=models.F("starts_on")),
                name="participation_days",
            ),
            models.CheckConstraint(
                condition=models.Q(gate__in=["", "passed", "conditions", "failed"]), name="participation_gate_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.project}"

    def clean(self) -> None:
        if self.starts_on is not None and self.ends_on is not None and self.ends_on < self.starts_on:
            told = {"last": self.ends_on.isoformat(), "first": self.starts_on.isoformat()}
            sentence = _(
                "The last day, %(last)s, is before the first, %(first)s. Choose a later day, or leave it empty."
            )
            raise ValidationError({"ends_on": sentence % told})
