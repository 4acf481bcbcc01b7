"""What the tests of the weekly review share: a chair, and how cases, freezes and publications come about."""

from datetime import UTC, date, datetime, timedelta

import pytest

from program import queries, reviews
from support import actions
from tenants.wall.acting import acting_for
from tests.examples import make_all_minutes

NOW = datetime.now(UTC)
DUE = date(2031, 1, 1)


def publish(review, by):
    """Publish, and make everybody's minutes as the workers do."""
    published = reviews.publish(review=review, by=by)
    make_all_minutes()
    with acting_for(published.tenant_id, staff=True):
        published.refresh_from_db()
    return published


def ago(**span):
    return NOW - timedelta(**span)


@pytest.fixture
def nothing_to_wait_for(settings):
    settings.SETTLE_SECONDS = 0


@pytest.fixture
def chair(world):
    return world.person("lead_architect")


@pytest.fixture
def opened(world):
    def make(tenant, at, title="Slow", severity="high", **values):
        with acting_for(tenant, staff=True):
            return actions.open_case(tenant=tenant, title=title, severity=severity, by="engine", at=at, **values)

    return make


@pytest.fixture
def frozen(world, chair):
    def make(cutoff, **values):
        return reviews.freeze(cycle=world.cycle, cutoff=cutoff, by=chair.actor, **values)

    return make


@pytest.fixture
def settle(chair):
    def all_of(review, reason="Not found yet"):
        for item in queries.review_items(review):
            if item.agenda_group != "rest":
                reviews.settle_item(item=item, owner=chair, next_step="Swap", due=DUE, reason=reason, by=chair.actor)

    return all_of


@pytest.fixture
def published(frozen, settle, chair):
    def make(cutoff, **values):
        review = frozen(cutoff, **values)
        settle(review)
        return publish(review, chair.actor)

    return make
