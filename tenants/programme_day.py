"""The day that it is for the programme: what begins, ends or is due on a day does so at midnight in the programme's zone."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.utils import timezone

from tenants.models import Programme


def programme_zone() -> ZoneInfo:
    """The zone whose midnights count; UTC until a programme is written down."""
    return ZoneInfo(Programme.objects.order_by("pk").values_list("timezone", flat=True).first() or "UTC")


def programme_day(moment: datetime) -> date:
    """The day on which this moment lies."""
    return moment.astimezone(programme_zone()).date()


def programme_today() -> date:
    return programme_day(timezone.now())
