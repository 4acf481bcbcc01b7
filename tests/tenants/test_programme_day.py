"""A day begins at midnight in the programme's zone: seats, grants and what is due, for the database as for the product."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.db import DataError, transaction

from tenants.models import Membership, Programme, holding
from tenants.models.tenancy import a_zone_of_the_database
from tenants.programme_day import programme_day, programme_today

# At any moment at least one of these two is in another day than UTC.
AHEAD, BEHIND = "Pacific/Kiritimati", "Pacific/Pago_Pago"  # UTC+14 and UTC-11, without summer time


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("Asia/Tokyo", datetime(2026, 12, 1, 14, 59, tzinfo=UTC), date(2026, 12, 1)),
        ("Asia/Tokyo", datetime(2026, 12, 1, 15, 0, tzinfo=UTC), date(2026, 12, 2)),
        ("America/New_York", datetime(2026, 12, 2, 4, 59, tzinfo=UTC), date(2026, 12, 1)),
        ("UTC", datetime(2026, 12, 1, 23, 59, tzinfo=UTC), date(2026, 12, 1)),
    ],
)
def test_a_moment_lies_on_the_day_of_the_programmes_zone(world, zone, moment, day):
    Programme.objects.update(timezone=zone)
    assert programme_day(moment) == day


@pytest.mark.parametrize("zone", [AHEAD, BEHIND])
def test_a_seat_holds_from_the_first_to_the_last_day_there(world, zone):
    Programme.objects.update(timezone=zone)
    today = datetime.now(ZoneInfo(zone)).date()
    assert programme_today() == today
    seat = Membership.objects.filter(person=world.person("viewer"))
    day = timedelta(days=1)
    for starts, ends, holds in [
        (today, today, True),
        (today - day, today, True),
        (today, None, True),
        (today + day, None, False),
        (today - day, today - day, False),
    ]:
        seat.update(starts_on=starts, ends_on=ends)
        assert seat.filter(holding()).exists() == holds, (zone, starts, ends)


def test_a_zone_that_the_database_does_not_know_is_refused_by_both(world):
    a_zone_of_the_database("Asia/Tokyo")
    with pytest.raises(DataError), transaction.atomic():
        Programme.objects.update(timezone="Moon/Tranquility")
    with pytest.raises(ValidationError, match="no time zone 'Moon/Tranquility'"):
        Programme(code="P", name="P", timezone="Moon/Tranquility").clean_fields()
