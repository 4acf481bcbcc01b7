"""Publishing beside a meeting that goes on: what the minutes say is what stands."""

import threading
import time
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection

from program import queries, reviews
from program.models import Minutes
from support import actions
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.examples import make_all_minutes

pytestmark = pytest.mark.django_db(transaction=True)
DUE = date(2031, 1, 1)


def test_nothing_is_settled_while_the_minutes_are_being_made(world, settings):
    settings.SETTLE_SECONDS = 0
    chair, now = world.person("lead_architect"), datetime.now(UTC)
    with acting_for(world.hoshi, staff=True):
        actions.open_case(tenant=world.hoshi, title="Slow", severity="high", by="engine", at=now - timedelta(days=2))
    review = reviews.freeze(cycle=world.cycle, cutoff=now - timedelta(days=1), by=chair.actor)
    (item,) = queries.review_items(review)
    reviews.settle_item(item=item, owner=chair, next_step="Swap", due=DUE, by=chair.actor)
    made = threading.Event()

    def publish() -> None:
        with acting_for(world.office, staff=True):
            reviews.publish(review=review, by=chair.actor)
            made.set()
            time.sleep(0.5)  # not committed yet
        connection.close()

    publishing = threading.Thread(target=publish)
    publishing.start()
    assert made.wait(10)
    with pytest.raises(Refused) as refused:
        reviews.settle_item(item=item, owner=chair, next_step="Something else", due=DUE, by=chair.actor)
    publishing.join()
    make_all_minutes()
    assert refused.value.code == "review_published"
    with acting_for(world.hoshi):
        assert "Swap" in Minutes.objects.get().body
