"""The weekly review from freezing to locking: what is counted, what is refused, what each participant gets."""

import random
import threading
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from program import queries, reviews
from program.figures import Event, figures
from program.freezing import digest
from program.models import Minutes, Review, ReviewItem
from support import actions
from support.models import Case
from tenants.history.models import Entry
from tenants.history.moves import IllegalMove, move
from tenants.history.seals import seal
from tenants.models import Cycle
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tests.program.conftest import DUE, ago, publish

pytestmark = pytest.mark.usefixtures("nothing_to_wait_for")


def numbers(review):
    names = ("open_before", "opened", "reopened", "resolved", "open_now", "carried")
    return tuple(getattr(review, name) for name in names)


def test_a_freeze_lists_what_was_open_at_its_moment(world, opened, frozen):
    old, late = opened(world.hoshi, ago(days=9)), opened(world.umi, ago(hours=1))
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=old, cause="software", by="engine", at=ago(hours=2))
    review = frozen(ago(days=1))
    assert numbers(review) == (0, 1, 0, 0, 1, 0)
    assert [(item.case, item.state_then, item.age_days) for item in queries.review_items(review)] == [(old, "new", 8)]
    second = frozen(ago(minutes=1), regular=False)
    assert (second.number, second.regular, numbers(second)) == (2, False, (1, 1, 0, 1, 1, 0))
    assert [item.case for item in queries.review_items(second)] == [late]
    assert second.previous_cutoff_at == review.cutoff_at
    assert second.snapshot["resolved"][0]["cause"] == "software"


def test_current_fields_are_never_read(world, opened, frozen):
    case = opened(world.hoshi, ago(days=3))
    with acting_for(world.hoshi, staff=True):
        actions.change_severity(case=case, severity="critical", why="All stopped", by="engine", at=ago(hours=1))
        actions.take_case(case=case, person=world.person("lead_architect"), by="engine", at=ago(hours=1))
        Case.objects.filter(pk=case.pk).update(title="Rewritten", next_step="Rewritten")
    (item,) = queries.review_items(frozen(ago(days=1)))
    assert (item.severity_then, item.state_then, item.owner, item.next_step) == ("high", "new", None, "")


def test_later_changes_leave_the_snapshot_and_its_digest(world, opened, frozen):
    case = opened(world.hoshi, ago(days=3))
    review = frozen(ago(days=1))
    before = review.snapshot
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=case, cause="software", by="engine")
    with reading_everyone():
        stored = Review.objects.get(pk=review.pk)
    assert stored.snapshot == before
    assert stored.sha256 == digest(stored.snapshot)
    assert stored.snapshot["items"][0]["title"] == "Slow"


def test_carried_items_count_their_agendas(world, opened, frozen):
    opened(world.hoshi, ago(days=20))
    seen = []
    for cutoff in (ago(days=15), ago(days=8), ago(days=1)):
        (item,) = queries.review_items(frozen(cutoff))
        seen.append((item.times_on_agenda, item.carried_over, item.agenda_group))
    assert seen == [(1, False, "unattended"), (2, True, "unattended"), (3, True, "unattended")]


def test_a_case_reopened_and_resolved_in_one_window_counts_in_both(world, opened, frozen):
    case = opened(world.hoshi, ago(days=9))
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=case, cause="software", by="engine", at=ago(days=8))
        frozen(ago(days=7))
        actions.reopen_case(case=case, why="Back", by="engine", at=ago(days=3))
        actions.resolve_case(case=case, cause="hardware", by="engine", at=ago(days=2))
    assert numbers(frozen(ago(days=1))) == (0, 0, 1, 1, 0, 0)


def test_an_extra_review_sees_todays_case_and_waits_only_for_the_margin(world, opened, frozen, settings):
    opened(world.hoshi, ago(hours=2), title="Today's")
    frozen(ago(days=1))
    settings.SETTLE_SECONDS = 300
    with pytest.raises(Refused) as refused:
        frozen(timezone.now() - timedelta(seconds=200), regular=False)
    assert refused.value.code == "not_settled"
    ready = datetime.fromisoformat(refused.value.facts["ready_at"])
    assert timedelta(0) < ready - timezone.now() < timedelta(seconds=101)
    assert ready.strftime("%H:%M:%S") in refused.value.sentence


def test_what_was_recorded_after_the_freezing_time_waits_for_the_next(world, opened, frozen, settings):
    """The entries of this test were recorded seconds ago: with a margin of minutes they are not settled."""
    opened(world.hoshi, ago(days=3))
    settings.SETTLE_SECONDS = 300
    first = frozen(ago(days=1))
    assert numbers(first) == (0, 0, 0, 0, 0, 0)
    settings.SETTLE_SECONDS = 0
    assert numbers(frozen(ago(minutes=1))) == (0, 1, 0, 0, 1, 0)


def test_a_moment_ahead_before_the_last_or_without_zone_is_refused(world, opened, frozen):
    opened(world.hoshi, ago(days=3))
    frozen(ago(days=1))
    for cutoff, code in [
        (timezone.now() + timedelta(hours=1), "cutoff_ahead"),
        (ago(days=1), "cutoff_before_last"),
        (ago(days=2), "cutoff_before_last"),
        (datetime(2026, 1, 1), "cutoff"),
    ]:
        with pytest.raises(Refused) as refused:
            frozen(cutoff)
        assert refused.value.code == code
    with reading_everyone():
        assert Review.objects.count() == 1


def test_a_cycle_without_participants_is_refused_and_one_without_cases_is_not(world, chair, frozen):
    empty = Cycle.objects.create(programme=world.cycle.programme, code="C3", name="Cycle 3", starts_on=date(2027, 1, 1))
    with pytest.raises(Refused) as refused:
        reviews.freeze(cycle=empty, cutoff=ago(days=1), by=chair.actor)
    assert refused.value.code == "empty_cycle"
    assert numbers(frozen(ago(days=1))) == (0, 0, 0, 0, 0, 0)


def test_a_case_whose_history_does_not_add_up_is_named(world, opened, frozen):
    case = opened(world.umi, ago(days=9))
    with acting_for(world.umi, staff=True):
        actions.resolve_case(case=case, cause="software", by="engine", at=ago(days=8))
        move(case, "in_progress", by="engine", at=ago(days=3), number=case.number)  # reopened without saying so
    with pytest.raises(Refused, match="umi CASE-0001") as refused:
        frozen(ago(days=1))
    assert refused.value.code == "balance"
    with reading_everyone():
        assert not Review.objects.exists()


@pytest.mark.parametrize("seed", range(4))
def test_reviews_in_a_row_tell_what_one_look_over_all_history_tells(world, opened, frozen, seed):
    """A freeze reads only what may have changed since the last; the whole history must tell the same."""
    chance = random.Random(seed)
    living = []
    for hour in range(400, 0, -4):
        moment = ago(hours=hour)
        if chance.random() < 0.3:
            living.append(opened(chance.choice([world.hoshi, world.umi]), moment))
        if living and chance.random() < 0.4:
            case = chance.choice(living)
            with acting_for(case.tenant, staff=True):
                if case.state == "resolved":
                    actions.reopen_case(case=case, why="x", by="engine", at=moment)
                else:
                    actions.resolve_case(case=case, cause="software", by="engine", at=moment)
        if hour % 80 == 0:
            review = frozen(moment + timedelta(minutes=1))
            with reading_everyone():
                rows = Entry.objects.filter(subject="case", occurred_at__lte=review.cutoff_at)
                events = [
                    Event(e.pk, str(e.subject_id), "x", e.kind, e.occurred_at, e.recorded_at, e.facts) for e in rows
                ]
            before = review.previous_cutoff_at
            whole = figures(events, lambda event, before=before: before is not None and event.at <= before)
            assert whole.balanced
            assert numbers(review) == numbers(whole)
            assert {str(item.case_id) for item in queries.review_items(review)} == {c.case for c in whole.open_cases}
    assert review.number == 5


def test_every_participants_items_are_its_own_rows(world, opened, frozen):
    opened(world.hoshi, ago(days=3)), opened(world.umi, ago(days=2))
    review = frozen(ago(days=1))
    with acting_for(world.hoshi):
        assert [item.tenant for item in ReviewItem.objects.all()] == [world.hoshi]
        assert not Review.objects.exists()
    assert [item.tenant for item in queries.review_items(review)] == [world.hoshi, world.umi]
    assert [item.position for item in queries.review_items(review)] == [1, 2]


def settle(item, world, **values):
    given = {
        "owner": world.person("lead_architect"),
        "next_step": "Swap the node",
        "due": DUE,
        "by": "engine",
        **values,
    }
    return reviews.settle_item(item=item, **given)


def test_settling_writes_the_item_and_its_case(world, opened, frozen, chair):
    case = opened(world.hoshi, ago(days=3))
    (item,) = queries.review_items(frozen(ago(days=1)))
    settle(item, world, by=chair.actor)
    assert (item.owner, item.next_step, item.next_step_due) == (chair, "Swap the node", DUE)
    assert item.discussed_at is not None
    with acting_for(world.hoshi):
        case = Case.objects.get(pk=case.pk)
        assert (case.owner, case.next_step, case.next_step_due) == (chair, "Swap the node", DUE)
        assert Entry.objects.get(kind="review.item_settled").facts["case"] == case.number


@pytest.mark.parametrize("missing", [{"owner": None}, {"next_step": "  "}, {"due": None}])
def test_an_open_item_does_not_leave_without_all_three(world, opened, frozen, missing):
    opened(world.hoshi, ago(days=3))
    (item,) = queries.review_items(frozen(ago(days=1)))
    with pytest.raises(Refused) as refused:
        settle(item, world, **missing)
    assert refused.value.facts["missing"] == list(missing)
    with acting_for(world.hoshi):
        assert Case.objects.get().owner is None


def test_a_stale_item_is_refused_with_both_answers(world, opened, frozen):
    opened(world.hoshi, ago(days=3))
    (item,) = queries.review_items(frozen(ago(days=1)))
    settle(item, world)
    with pytest.raises(Stale) as stale:
        settle(item, world, next_step="Reboot", version=1)
    assert stale.value.facts["changes"] == {"next_step": ["Swap the node", "Reboot"]}


def test_minutes_do_not_go_out_while_a_flagged_item_is_unsettled(world, opened, frozen, chair):
    first, second = opened(world.hoshi, ago(days=3)), opened(world.umi, ago(days=3))
    review = frozen(ago(days=1))
    items = queries.review_items(review)
    settle(items[0], world)
    with pytest.raises(Refused) as refused:
        publish(review, chair.actor)
    assert refused.value.code == "unsettled"
    assert [(left["tenant"], left["case"], left["missing"]) for left in refused.value.facts["items"]] == [
        ("umi", second.number, ["owner", "next_step", "due"])
    ]
    with acting_for(world.umi, staff=True):
        actions.resolve_case(case=second, cause="software", by="engine")
    publish(review, chair.actor)  # a case that ended meanwhile needs no next step
    assert review.state == "published"
    assert first.tenant == world.hoshi


def test_the_rest_is_accepted_as_a_block(world, opened, frozen, chair):
    case = opened(world.hoshi, ago(days=3), severity="low")
    with acting_for(world.hoshi, staff=True):
        actions.plan_case(case=case, owner=chair, next_step="Wait", due=DUE, by="engine", at=ago(days=2))
        actions.note_case(case=case, text="Seen", audience="shared", by=chair.actor, at=ago(days=3, minutes=-5))
        actions.wait_for(case=case, whom="provider", why="AWS", by="engine", at=ago(days=2))
    review = frozen(ago(days=1))
    (item,) = queries.review_items(review)
    assert item.agenda_group == "rest"
    with acting_for(world.hoshi):
        ReviewItem.objects.update(owner=None)
    assert publish(review, chair.actor).published_at is not None


def test_each_participant_gets_minutes_that_hold_nothing_of_others_and_nothing_internal(world, opened, frozen, chair):
    hers, theirs = (
        opened(world.hoshi, ago(days=3), title="Hoshi's nodes die"),
        opened(world.umi, ago(days=3), title="Umi's secret"),
    )
    for case in (hers, theirs):
        with acting_for(case.tenant, staff=True):
            actions.note_case(case=case, text=f"shared with {case.tenant.slug}", audience="shared", by=chair.actor)
            actions.note_case(case=case, text="INTERNAL budget", audience="internal", by=chair.actor)
    with acting_for(world.hoshi, staff=True):
        done = actions.open_case(tenant=world.hoshi, title="Done", severity="low", by="engine", at=ago(days=4))
        actions.resolve_case(case=done, cause="hardware", by="engine", at=ago(days=2))
        digest_of_hoshi = seal(world.hoshi).digest
    review = frozen(ago(days=1))
    for item in queries.review_items(review):
        settle(item, world)
    publish(review, chair.actor)
    with acting_for(world.hoshi):
        minutes = Minutes.objects.get()
        for text in (
            "Hoshi's nodes die",
            "shared with hoshi",
            "Swap the node",
            "Done (hardware)",
            chair.name,
            review.sha256,
        ):
            assert text in minutes.body
        assert digest_of_hoshi in minutes.body
        for text in ("Umi", "umi", "INTERNAL"):
            assert text not in minutes.body
        told = Entry.objects.filter(kind__in=["review.published", "minutes.published"])
        assert set(told.values_list("kind", flat=True)) == {"review.published", "minutes.published"}
        assert not Entry.objects.filter(facts__icontains="INTERNAL").exists()
        assert not Entry.objects.filter(audience="internal").exists()
    with acting_for(world.umi):
        assert "Umi's secret" in Minutes.objects.get().body
    with acting_for(world.office, staff=True):
        assert Entry.objects.filter(kind="review.published").count() == 1


def test_a_participant_without_items_gets_minutes_too(world, frozen, chair):
    publish(frozen(ago(days=1)), chair.actor)
    with acting_for(world.umi):
        assert "No case was open." in queries.minutes().get().body


def test_a_review_goes_forward_only(world, opened, frozen, chair):
    opened(world.hoshi, ago(days=3))
    review = frozen(ago(days=1))
    (item,) = queries.review_items(review)
    with pytest.raises(IllegalMove):
        reviews.lock(review=review, by=chair.actor)
    reviews.open_session(review=review, by=chair.actor)
    settle(item, world)
    publish(review, chair.actor)
    for again in (
        lambda: publish(review, chair.actor),
        lambda: settle(item, world),
        lambda: reviews.open_session(review=review, by=chair.actor),
    ):
        with pytest.raises(Refused):
            again()
    with pytest.raises(Stale):
        reviews.lock(review=review, by=chair.actor, version=1)
    assert reviews.lock(review=review, by=chair.actor, version=review.version).state == "locked"
    with acting_for(world.hoshi):
        assert Minutes.objects.count() == 1


def test_the_programmes_own_cutoffs_are_offered(world, frozen):
    world.cycle.programme.refresh_from_db()  # its time as the database gives it
    offered = queries.cutoffs(world.cycle, datetime(2026, 3, 4, 9, 30, tzinfo=UTC))
    assert offered.last == datetime(2026, 3, 4, 9, tzinfo=UTC)  # Wednesday 18:00 in Tokyo
    assert offered.next == datetime(2026, 3, 11, 9, tzinfo=UTC)
    assert frozen(queries.cutoffs(world.cycle, timezone.now()).extra, regular=False).number == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_freezes_at_once_one_wins(world, opened, chair):
    opened(world.hoshi, ago(days=3))
    barrier, answers = threading.Barrier(4), []

    def freeze():
        barrier.wait()
        try:
            answers.append(reviews.freeze(cycle=world.cycle, cutoff=ago(days=1), by=chair.actor).number)
        except Refused as refused:
            answers.append(refused.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=freeze) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(1) == 1
    assert set(answers) <= {1, "frozen_meanwhile", "cutoff_before_last"}
    with reading_everyone():
        assert ReviewItem.objects.count() == 1
