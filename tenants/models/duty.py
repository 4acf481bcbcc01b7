"""Who of a team is on duty from when to when."""

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tenants.models.tenancy import Tenant


class DutyShift(models.Model):
    """One person on duty for one team. A row of the office; moments are exact, `zone` is how whoever planned it meant them."""

    class Part(models.TextChoices):
        PRIMARY = "primary", _("primary")
        DEPUTY = "deputy", _("deputy")

    SUBJECT = "duty_shift"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")  # the office, for its history
    created_at = models.DateTimeField(db_default=Now())
    team = models.CharField(_("team"), max_length=40)  # account, lead, frameworks, or the component of a service team
    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    part = models.CharField(_("part"), max_length=8, choices=Part.choices, default=Part.PRIMARY)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    zone = models.CharField(_("time zone"), max_length=64)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(ends_at__gt=models.F("starts_at")), name="duty_shift_has_length"),
            models.CheckConstraint(condition=models.Q(part__in=["primary", "deputy"]), name="duty_part_known"),
        ]
        indexes = [models.Index(fields=["team", "ends_at"], name="duty_shift_team")]
