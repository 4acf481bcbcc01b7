"""Publishing goes participant by participant: under way until all minutes are there, whoever dies in between."""

import threading
from datetime import timedelta

import pytest
from django.db import connection

from program import publishing, reviews
from program.models import Minutes, Review
from tenants.history.models import Entry
from tenants.models import Due
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.work import due, loop
from tests.examples import make_all_minutes
from tests.program.conftest import ago

pytestmark = pytest.mark.usefixtures("nothing_to_wait_for")


@pytest.fixture
def under_way(world, opened, frozen, settle, chair):
    opened(world.hoshi, ago(days=3))
    review = frozen(ago(days=1))
    settle(review)
    return reviews.publish(review=review, by=chair.actor)


def now(review):
    with reading_everyone():
        return Review.objects.get(pk=review.pk)


def whose():
    with reading_everyone():
        return sorted(Minutes.objects.values_list("tenant__slug", flat=True))


def one():
    held = due.claim(["minutes"])
    loop.HANDLERS["minutes"][1](held)
    return held


def test_one_row_waits_for_each_and_the_review_is_published_with_the_last(world, under_way, chair):
    assert sorted(Due.objects.filter(kind="minutes").values_list("tenant__slug", flat=True)) == [
        "hoshi",
        "programme",
        "umi",
    ]
    seen = []
    while Due.objects.filter(kind="minutes").exists():
        seen.append((now(under_way).state, len(whose())))
        one()
    assert seen == [("publishing", 0), ("publishing", 1), ("publishing", 2)]
    assert now(under_way).state == "published" and whose() == ["hoshi", "programme", "umi"]
    with acting_for(world.hoshi):
        told = Entry.objects.filter(kind__in=("review.published", "minutes.published"))
        assert [entry.actor for entry in told] == [chair.actor] * 2
        shared = {entry.action_id for entry in told}
    with acting_for(world.office, staff=True):
        assert shared == {Entry.objects.get(kind="review.publishing").action_id}
        assert Entry.objects.get(kind="review.published").actor == chair.actor


def test_items_stand_and_nothing_is_locked_while_it_is_under_way(world, under_way, chair, opened):
    one()
    with pytest.raises(Refused):
        reviews.publish(review=now(under_way), by=chair.actor)
    with pytest.raises(Refused):
        reviews.lock(review=now(under_way), by=chair.actor)
    with pytest.raises(Refused) as refused:
        reviews.add_late_item(review=under_way, case=opened(world.umi, ago(hours=1)), by=chair.actor)
    assert refused.value.code == "review_published"


def test_who_dies_before_the_commit_leaves_nothing_and_a_second_run_makes_nothing_twice(under_way, monkeypatch):
    held = due.claim(["minutes"])
    with monkeypatch.context() as broken:
        broken.setattr(publishing.due, "remove", lambda held: (_ for _ in ()).throw(due.LostLease("gone")))
        with pytest.raises(due.LostLease):
            loop.HANDLERS["minutes"][1](held)
    assert whose() == [] and now(under_way).state == "publishing"
    Due.objects.filter(pk=held.id).update(leased_until=None)
    make_all_minutes()
    assert len(whose()) == 3 and now(under_way).state == "published"
    due.wish("minutes", held.ref, tenant=held.tenant_id)  # somebody asks again
    make_all_minutes()
    assert len(whose()) == 3 and now(under_way).state == "published" and not Due.objects.filter(kind="minutes").exists()


def test_minutes_that_cannot_be_made_keep_the_review_under_way_and_are_shown(world, under_way, client):
    Due.objects.filter(kind="minutes", tenant=world.umi).update(stuck="KeyError in program.minutes.minutes_of.")
    make_all_minutes()
    assert now(under_way).state == "publishing" and whose() == ["hoshi", "programme"]
    client.force_login(world.person("lead_architect"), "allauth.account.auth_backends.AuthenticationBackend")
    page = client.get(f"/reviews/{under_way.pk}/").content.decode()
    assert "2 are there, 1 is still to come" in page
    assert "stopped; the engine room says why" in page and "KeyError" not in page
    waiting = Due.objects.get(kind="minutes")
    due.wish("minutes", waiting.ref, tenant=world.umi)
    make_all_minutes()
    assert now(under_way).state == "published"


@pytest.mark.django_db(transaction=True)
def test_workers_side_by_side_publish_once(world, opened, frozen, settle, chair):
    opened(world.hoshi, ago(days=3) + timedelta(minutes=1))
    review = frozen(ago(days=1))
    settle(review)
    reviews.publish(review=review, by=chair.actor)
    barrier, through = threading.Barrier(3), []

    def work():
        held = due.claim(["minutes"])
        barrier.wait()
        try:
            loop.HANDLERS["minutes"][1](held)
            through.append(held.ref)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(3)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(through) == 3
    assert now(review).state == "published" and len(whose()) == 3
    with acting_for(world.office, staff=True):
        assert Entry.objects.filter(kind="review.published").count() == 1
