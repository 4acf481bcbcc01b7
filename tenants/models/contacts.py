"""Whom to call about what, and when somebody last said that it is still right."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tenants.models.tenancy import TenantOwned


class Contact(TenantOwned):
    """Who answers for one duty of an organisation: a member, or somebody without an account."""

    class Duty(models.TextChoices):
        BUSINESS = "business", _("business")
        TECHNICAL = "technical", _("technical")
        BILLING = "billing", _("billing")
        SECURITY = "security", _("security")
        DATA = "data", _("data protection")
        ON_CALL = "on_call", _("on call")

    SUBJECT = "contact"

    duty = models.CharField(_("duty"), max_length=12, choices=Duty.choices)
    person = models.ForeignKey("tenants.Person", models.PROTECT, null=True, blank=True, related_name="+")
    name = models.CharField(_("name"), max_length=120)
    email = models.EmailField(_("e-mail address"), max_length=254, blank=True)
    phone = models.CharField(_("telephone"), max_length=40, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    hours = models.CharField(_("hours"), max_length=80, blank=True)
    checked_at = models.DateTimeField(db_default=Now())
    checked_by = models.CharField(max_length=60)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(duty__in=["business", "technical", "billing", "security", "data", "on_call"]),
                name="contact_duty_known",
            ),
        ]
        indexes = [models.Index(fields=["tenant", "duty", "id"], name="contact_duty")]

    def __str__(self) -> str:
        return self.name
