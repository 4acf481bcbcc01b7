"""Whoever keeps an old block of the record is reminded of it once a week, and of nothing that was seen to meanwhile."""

from datetime import UTC, datetime, timedelta

from program import record_reminding
from tenants import mail
from tenants.actions import confirm_block
from tenants.models import Delivery, TrainingModel
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due
from tests.clusters.test_pages import hoshi
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]


def reminded() -> set[str]:
    due.wish("remind-records", "test")
    held = due.claim(["remind-records"])
    assert held is not None
    record_reminding.remind(held)
    with reading_everyone():
        rows = Delivery.objects.filter(kind="record-reminder").select_related("person")
        return {row.person.email for row in rows if row.person}


def test_only_who_keeps_an_old_block_is_reminded_and_once_a_week(world: World, hoshi: Examples) -> None:
    assert reminded() == set()
    with acting_for(world.hoshi, staff=True):
        TrainingModel.objects.update(updated_at=datetime.now(UTC) - timedelta(days=40))
    keepers = {world.person(role).email for role in ("ml_engineer", "technical_lead")}
    assert reminded() == keepers
    reminded()
    with reading_everyone():
        assert Delivery.objects.filter(kind="record-reminder").count() == len(keepers)
        row = Delivery.objects.get(kind="record-reminder", person=world.person("ml_engineer"))
    message = mail.compose(row)
    assert not isinstance(message, str), message
    assert "Models in training" in message.body and "/t/hoshi/#record" in message.body
    assert "one part of the record is old" in message.subject
    with acting_for(world.hoshi, staff=True):
        confirm_block(participation=hoshi["participations"], block="model", by="engine")
    assert mail.compose(row) == "There was nothing to say any more."


def test_a_week_is_one_of_the_calendar() -> None:
    assert record_reminding.week_of(datetime(2027, 1, 3, tzinfo=UTC)) == "2026-W53"
