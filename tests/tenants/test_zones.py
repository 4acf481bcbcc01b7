"""Moments on pages are those of the reader's zone, named; where a form asks for another zone's, it says and shows that one's."""

from datetime import UTC, datetime

from clusters.models import Reservation
from tenants.forms import WallTime
from tenants.wall.acting import acting_for
from tests.clusters.test_pages import hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]

MOMENT = datetime(2031, 5, 6, 16, 30, tzinfo=UTC)


def test_a_moment_is_the_readers_on_a_page_and_utc_for_programs(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi, staff=True):
        Reservation.objects.update(starts_at=MOMENT, ends_at=MOMENT.replace(year=2032))
    row, person = hoshi["reservations"], world.person("lead_architect")
    for zone, shown in (("UTC", "2031-05-06 16:30 UTC"), ("Asia/Tokyo", "2031-05-07 01:30 JST")):
        person.timezone = zone
        person.save()
        reader = signed_in(person)
        assert shown in reader.get(f"/t/hoshi/reservations/{row.pk}/").content.decode()
        # What is labelled UTC stays so, wherever the reader is.
        assert 'value="2031-05-06T16:30"' in reader.get(f"/t/hoshi/reservations/{row.pk}/change/").content.decode()
        [told] = [
            one for one in reader.get("/api/v1/t/hoshi/reservations/").json()["results"] if one["id"] == str(row.pk)
        ]
        assert told["starts_at"] == "2031-05-06T16:30:00Z"


def test_the_clock_on_the_wall_of_a_zone_is_read_and_shown_alike() -> None:
    field = WallTime()
    field.zone = "Asia/Tokyo"
    read = field.clean("2031-05-07T01:30")
    assert read == MOMENT and field.prepare_value(read) == datetime(2031, 5, 7, 1, 30)
