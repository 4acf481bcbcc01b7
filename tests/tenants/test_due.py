"""The work table: a wish is never lost, a claim never shared, and who lost the lease writes nothing."""

import re
import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction

from tenants.models import Due
from tenants.secret_fields import open_text
from tenants.work import due, loop

NOW = timedelta(0)


def row(ref="a") -> Due:
    return Due.objects.get(kind="test", ref=ref)


def wish(ref="a", **options):
    due.wish("test", ref, **options)


def claim() -> due.Held | None:
    return due.claim(["test"])


def time_out(ref="a"):
    with connection.cursor() as cursor:
        cursor.execute(
            "update tenants_due set leased_until = statement_timestamp() - interval '1 second' where ref = %s", [ref]
        )


def test_what_is_wished_twice_is_done_once(db):
    wish()
    wish()
    assert claim() is not None and claim() is None


def test_what_is_due_later_waits(db):
    wish(after=timedelta(minutes=1))
    assert claim() is None
    wish()
    assert claim() is not None


def test_a_wish_while_it_is_held_makes_its_end_a_beginning(db):
    wish()
    held = claim()
    wish()
    assert claim() is None
    due.finish(held, again_in=timedelta(hours=1))
    assert claim() is not None


def test_a_wish_while_it_is_held_keeps_the_row_from_being_removed(db):
    wish()
    held = claim()
    wish()
    due.remove(held)
    assert claim() is not None


def test_what_is_finished_comes_back_when_it_said(db):
    wish()
    due.finish(claim(), again_in=None)
    assert row().due_at is None and claim() is None
    wish()
    due.finish(claim(), again_in=NOW)
    assert claim() is not None


def test_who_was_paused_past_the_lease_writes_nothing(db):
    wish()
    paused = claim()
    time_out()
    due.free_the_dead()
    successor = claim()
    assert successor.epoch == paused.epoch + 1
    for late in (lambda: due.finish(paused, again_in=None), lambda: due.remove(paused)):
        with pytest.raises(due.LostLease):
            late()
    assert not due.renew(paused)
    assert due.renew(successor)
    due.finish(successor, again_in=None)


def test_who_finished_cannot_finish_again(db):
    wish()
    held = claim()
    due.finish(held, again_in=NOW)
    with pytest.raises(due.LostLease):
        due.finish(held, again_in=None)


def test_an_attempt_is_counted_before_any_work_and_forgotten_after_progress(db):
    wish()
    for attempt in (1, 2, 3):
        held = claim()
        assert held.attempt == attempt
        time_out()
        due.free_the_dead()
    held = claim()
    due.finish(held, again_in=NOW, progress=True)
    assert claim().attempt == 1


def test_whoever_was_throttled_gets_the_attempt_back(db):
    wish()
    due.finish(claim(), again_in=NOW, progress=False)
    assert row().attempt == 1
    due.finish(claim(), again_in=NOW, progress=False, give_back=True)
    assert row().attempt == 1


def test_a_stuck_row_waits_for_a_wish(db):
    wish()
    due.finish(claim(), again_in=NOW, progress=False, stuck="nobody knows why")
    assert claim() is None and due.waiting(["test"]) == 0
    wish()
    assert row().stuck == "" and claim().attempt == 1


def test_a_wish_while_the_last_attempt_fails_is_a_new_try(db):
    wish()
    held = claim()
    wish()
    due.finish(held, again_in=timedelta(hours=1), progress=False, stuck="nobody knows why")
    assert row().stuck == "" and claim().attempt == 1


def test_a_wish_while_its_holder_died_is_a_new_try(db):
    wish()
    claim()
    time_out()
    due.free_the_dead()
    assert claim().attempt == 2
    wish()
    time_out()
    due.free_the_dead()
    assert claim().attempt == 1


@pytest.mark.django_db(transaction=True)
def test_what_somebody_has_locked_does_not_keep_the_other_dead_from_being_freed():
    for ref in ("locked", "free"):
        wish(ref)
        claim()
        time_out(ref)
    locked, over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            wish("locked")
            locked.set()
            over.wait(10)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(10)
    assert due.free_the_dead() == 1
    over.set()
    holder.join()
    assert due.free_the_dead() == 1


def test_one_account_has_five_in_flight_and_another_is_not_held_back(db):
    for number in range(8):
        wish(f"noisy{number}", lane="noisy")
    wish("quiet", lane="quiet", after=timedelta(milliseconds=1))
    held = [claim() for _ in range(7)]
    assert [each.lane for each in held if each] == ["noisy"] * 5 + ["quiet"]


def test_a_throttled_account_cools_down_and_no_other(db):
    wish("hot", lane="hot")
    wish("cold", lane="cold")
    due.cool("hot", 60)
    assert claim().ref == "cold" and claim() is None


def test_the_longest_due_comes_first(db):
    for ref in ("first", "second", "third"):
        wish(ref)
    assert [claim().ref for _ in range(3)] == ["first", "second", "third"]


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_never_hold_the_same_and_never_more_than_five_of_a_lane():
    for number in range(20):
        wish(str(number), lane="one" if number < 15 else "")
    held, lock = [], threading.Lock()

    def work() -> None:
        try:
            while (mine := claim()) is not None:
                with lock:
                    held.append(mine)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(8)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len({each.ref for each in held}) == len(held) == 10
    assert sum(each.lane == "one" for each in held) == 5


@pytest.mark.django_db(transaction=True)
def test_a_handler_that_fails_is_tried_again_later_and_in_the_end_is_stuck(monkeypatch):
    def broken(held: due.Held) -> None:
        open_text("hf_zebrafish: no such thing")

    monkeypatch.setitem(loop.HANDLERS, "test", ("engine", broken))
    wish()
    for attempt in range(1, due.MOST_ATTEMPTS + 1):
        loop.handle(claim())
        assert row().attempt == attempt and claim() is None
        Due.objects.update(due_at="2020-01-01T00:00Z")
    told = row().stuck
    assert claim() is None and "zebrafish" not in told and "no such thing" not in told
    assert re.fullmatch(
        r"\w+ in tenants\.secret_fields\.open_text\. The log has the whole of it under [0-9a-f-]{36}\.", told
    )
    assert "zebrafish" not in str(list(Due.objects.values_list("stuck", flat=True)))


@pytest.mark.parametrize("attempt", [1, 2, 5, 8, 100])
def test_backing_off_doubles_and_ends_at_ten_minutes(attempt):
    longest = min(5 * 2 ** min(attempt - 1, 10), 600)
    assert all(longest / 2 <= loop.back_off(attempt).total_seconds() <= longest for _ in range(20))
