"""The whole procedure of a review: what the chair adds, what the third time asks for, minutes edited, locked, added to."""

import copy
import uuid
from datetime import date, timedelta

import pytest
from django.db import connection, transaction
from django.db.utils import IntegrityError
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from program import decisions, queries, reviews
from program.freezing import digest, freeze
from program.meeting import in_order, late_cases
from program.models import ActionItem, Addendum, Decision, Minutes, Review, ReviewItem
from support import actions
from support.models import Case
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Cycle, Participation, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused, Stale
from tests.program.conftest import DUE, ago, publish

pytestmark = pytest.mark.usefixtures("nothing_to_wait_for")
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
CANARY = "quetzal"  # no word of ours


def test_a_failure_seen_at_two_participants_is_a_lesson_for_the_office_alone(world, opened, published):
    for tenant, what in ((world.hoshi, "gpu"), (world.umi, "gpu"), (world.umi, "efa")):
        opened(tenant, ago(days=3), signature=f"{uuid.uuid4()}/{what}")
    review = published(ago(days=1))
    with reading_everyone():
        bodies = dict(Minutes.objects.filter(review_id=review.pk).values_list("tenant__slug", "body"))
    assert "gpu: Hoshi Language Works, Umi Vision" in bodies["programme"] and "efa:" not in bodies["programme"]
    assert "Umi" not in bodies["hoshi"]


def test_what_was_opened_after_the_cutoff_joins_the_agenda_and_is_counted_next_time(world, opened, frozen, chair):
    old, late = opened(world.hoshi, ago(days=3)), opened(world.umi, ago(hours=1), severity="urgent")
    review = frozen(ago(days=1))
    assert late_cases(review) == [late]
    item = reviews.add_late_item(review=review, case=late, by=chair.actor)
    assert (item.late, item.agenda_group, item.severity_then, item.carried_over) == (True, "worst", "urgent", False)
    assert [one.case for one in in_order(queries.review_items(review))] == [late, old]
    assert late_cases(review) == []
    with acting_for(world.office, staff=True):
        review.refresh_from_db()
    assert (review.open_now, review.opened) == (1, 1)
    ended = opened(world.hoshi, ago(hours=1))
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=ended, cause="software", by="engine")
    for case, code in ((late, "on_agenda"), (old, "on_agenda"), (ended, "case_ended")):
        with pytest.raises(Refused) as refused:
            reviews.add_late_item(review=review, case=case, by=chair.actor)
        assert refused.value.code == code
    second = frozen(ago(minutes=1))
    assert (second.open_before, second.opened, second.resolved, second.carried) == (1, 2, 0, 1)
    assert {one.case: one.times_on_agenda for one in queries.review_items(second)} == {old: 2, late: 2, ended: 1}


def test_a_case_of_another_cycle_is_neither_offered_nor_let_in(world, opened, frozen, chair):
    opened(world.hoshi, ago(days=3))
    review = frozen(ago(days=1))
    other = Cycle.objects.create(programme=world.cycle.programme, code="C3", name="Cycle 3", starts_on=date(2027, 1, 1))
    elsewhere = Tenant.objects.create(slug="kaze", name="Kaze Speech")
    for tenant in (elsewhere, world.umi):
        with acting_for(tenant, staff=True):
            joined = Participation.objects.create(tenant=tenant, cycle=other, code="X", state="active", project="P")
        late = opened(tenant, ago(hours=1), participation=joined)
        assert late_cases(review) == []
        with pytest.raises(Refused) as refused:
            reviews.add_late_item(review=review, case=late, by=chair.actor)
        assert refused.value.code == "other_cycle"
    both = opened(world.umi, ago(hours=1))  # no single participation: of every cycle of its tenant
    assert both.participation_id is None and late_cases(review) == [both]


def test_the_third_time_asks_why_and_the_fourth_proposes_an_escalation(world, opened, frozen, chair, client):
    opened(world.hoshi, ago(days=9), severity="urgent")
    for days in (8, 7):
        frozen(ago(days=days))
    review = frozen(ago(days=6))
    (item,) = queries.review_items(review)
    asked = {"item": item, "owner": chair, "next_step": "Swap", "due": DUE, "by": chair.actor}
    with pytest.raises(Refused) as refused:
        reviews.settle_item(**asked)
    assert refused.value.facts["missing"] == ["reason"]
    with acting_for(world.office, staff=True), pytest.raises(Refused) as unsettled:
        publish(review, chair.actor)
    assert "reason" in unsettled.value.facts["items"][0]["missing"]
    assert reviews.settle_item(**asked, reason="No spare node").times_reason == "No spare node"
    fourth = frozen(ago(days=5))
    (again,) = queries.review_items(fourth)
    client.force_login(chair, BACKEND)
    page = client.get(f"/t/programme/reviews/{fourth.pk}/meeting/?at={again.pk}").content.decode()
    assert "escalate it to a service team" in page
    assert (
        "escalate it to a service team"
        not in client.get(f"/t/programme/reviews/{review.pk}/meeting/?at={item.pk}").content.decode()
    )


def test_only_what_has_no_flag_is_accepted_as_a_block(world, opened, frozen, chair, settle):
    quiet, loud = opened(world.hoshi, ago(hours=30), severity="low"), opened(world.umi, ago(days=2), severity="urgent")
    with acting_for(world.hoshi, staff=True):
        actions.take_case(case=quiet, person=chair, by=chair.actor, at=ago(hours=29))
        actions.plan_case(case=quiet, owner=chair, next_step="Answer", due=DUE, by=chair.actor, at=ago(hours=29))
        actions.note_case(case=quiet, text="We look", audience="shared", by=chair.actor, at=ago(hours=29))
    review = frozen(ago(days=1))
    by_case = {item.case: item for item in queries.review_items(review)}
    assert (by_case[quiet].agenda_group, by_case[loud].agenda_group) == ("rest", "worst")
    with pytest.raises(Refused) as refused:
        reviews.accept_as_block(review=review, items=by_case.values(), by=chair.actor)
    assert refused.value.code == "flagged"
    assert reviews.accept_as_block(review=review, by=chair.actor) == 1
    assert reviews.accept_as_block(review=review, by=chair.actor) == 0
    by_case = {item.case: item for item in queries.review_items(review)}
    assert (by_case[quiet].outcome, by_case[loud].outcome) == ("block", "")
    with acting_for(world.hoshi, staff=True):
        assert Entry.objects.filter(kind="review.item_accepted").count() == 1


def test_the_chair_changes_the_order_within_a_group(world, opened, frozen, chair):
    first, second = (
        opened(world.hoshi, ago(days=4), severity="urgent"),
        opened(world.umi, ago(days=3), severity="urgent"),
    )
    review = frozen(ago(days=1))
    items = {item.case: item for item in queries.review_items(review)}
    reviews.move_item(item=items[second], earlier=True, by=chair.actor)
    assert [item.case for item in in_order(queries.review_items(review))] == [second, first]
    moved = {item.case: item for item in queries.review_items(review)}
    reviews.move_item(item=moved[second], earlier=True, by=chair.actor)
    assert [item.case for item in in_order(queries.review_items(review))] == [second, first]


def test_every_input_of_the_procedure_is_in_the_snapshot_even_when_nothing_is_recorded(world, opened, frozen):
    review = frozen(ago(days=1))
    named = {
        "action_items",
        "decisions_awaited",
        "events",
        "capacity",
        "usage",
        "version_drift",
        "reports_due",
        "sessions",
        "stale_records",
    }
    assert set(review.snapshot["inputs"]) == named
    assert {"items", "resolved", "changes", "measures", "bands"} <= set(review.snapshot)
    assert digest(review.snapshot) == review.sha256
    assert [line["what"] for line in review.snapshot["changes"]] == ["nothing", "nothing"]
    assert {row["tenant"] for row in review.snapshot["inputs"]["stale_records"]} == {"hoshi", "umi"}


def test_an_action_item_is_counted_as_it_stood_at_the_cutoff(world, frozen, chair):
    given_ = {"tenant": world.hoshi, "owner": chair, "by": chair.actor}
    overdue = decisions.give_action_item(text="Swap", due=ago(days=3).date(), at=ago(days=9), **given_)
    decisions.give_action_item(text="Write", due=DUE, at=ago(days=8), **given_)
    decisions.end_action_item(item=overdue, outcome="done", by=chair.actor, at=ago(hours=2))
    told = frozen(ago(days=1)).snapshot["inputs"]["action_items"]
    assert (told["open"], told["overdue"]) == (2, 1)
    second = frozen(ago(minutes=1)).snapshot
    assert (second["inputs"]["action_items"]["open"], second["inputs"]["action_items"]["overdue"]) == (1, 0)
    assert second["measures"]["actions"]["ended"] == 1 and second["measures"]["actions"]["on_time"] == 0


def test_an_action_item_counts_the_reviews_that_found_it_open(world, published, chair):
    item = decisions.give_action_item(
        tenant=world.office, text="Swap", due=DUE, owner=chair, by=chair.actor, at=ago(days=9)
    )
    for number, days in enumerate((5, 4), start=1):
        published(ago(days=days))
        with acting_for(world.office, staff=True):
            item.refresh_from_db()
        assert item.times_carried == number


def test_a_date_moves_only_with_a_reason_and_each_move_is_kept(world, chair):
    item = decisions.give_action_item(tenant=world.hoshi, text="Swap", due=DUE, owner=chair, by=chair.actor)
    with acting_for(world.hoshi, staff=True), pytest.raises(Refused):
        decisions.move_due(item=item, due=date(2031, 2, 1), why=" ", by=chair.actor)
    for day in range(1, 4):
        decisions.move_due(item=item, due=date(2031, 2, day), why="No spare", by=chair.actor, version=item.version)
    assert (item.due_changes, item.due_at_first, item.due) == (3, DUE, date(2031, 2, 3))
    with acting_for(world.hoshi, staff=True), pytest.raises(Stale) as stale:
        decisions.move_due(item=item, due=DUE, why="Back", by=chair.actor, version=1)
    assert stale.value.facts["changes"] == {"due": ["2031-02-03", "2031-01-01"]}
    with acting_for(world.hoshi, staff=True), pytest.raises(Refused):
        decisions.end_action_item(item=item, outcome="dropped", by=chair.actor)
    decisions.end_action_item(item=item, outcome="done", evidence="https://example.org/1", by=chair.actor)
    with acting_for(world.hoshi, staff=True), pytest.raises(Refused) as ended:
        decisions.move_due(item=item, due=DUE, why="Late", by=chair.actor)
    assert ended.value.code == "action_item_ended"
    with acting_for(world.hoshi, staff=True):
        told = list(
            Entry.objects.filter(subject="action_item", subject_id=item.pk)
            .order_by("id")
            .values_list("kind", flat=True)
        )
    assert told == ["action_item.given", *["action_item.due_moved"] * 3, "action_item.done"]


def test_a_decision_never_changes_and_what_concerns_several_has_one_number(world, chair):
    told = {"decided_by": chair, "by": chair.actor, "audience": "shared"}
    rows = decisions.record_decision(tenants=[world.hoshi, world.umi], text="Pin the image", **told)
    assert len({row.number for row in rows}) == 1
    (later,) = decisions.record_decision(tenants=[world.hoshi], text="Unpin it", supersedes=rows[0], **told)
    assert (later.supersedes_id, later.number) == (rows[0].pk, "DEC-0002")
    with acting_for(world.hoshi):
        assert {row.text for row in Decision.objects.all()} == {"Pin the image", "Unpin it"}
        with pytest.raises(Exception, match="permission denied"), transaction.atomic():
            Decision.objects.filter(pk=later.pk).update(text="Another")


def test_minutes_are_edited_until_they_are_locked_and_then_added_to(world, opened, published, chair):
    opened(world.hoshi, ago(days=3))
    review = published(ago(days=1))
    with acting_for(world.hoshi, staff=True):
        minutes = Minutes.objects.select_related("tenant").get(review_id=review.pk)
        before = minutes.sha256
        reviews.edit_minutes(minutes=minutes, body=minutes.body + "\nOne more line", by=chair.actor, version=1)
        assert minutes.body.endswith("One more line\n") and minutes.sha256 != before and minutes.version == 2
        with pytest.raises(Stale) as stale:
            reviews.edit_minutes(minutes=minutes, body="Mine", by=chair.actor, version=1)
        assert stale.value.facts["changes"]["body"][1] == "Mine\n"
        with pytest.raises(Refused) as named:
            reviews.edit_minutes(minutes=minutes, body=f"{minutes.body}\nAs at Umi Vision", by=chair.actor)
        assert named.value.code == "names_others"
        with pytest.raises(Refused):
            reviews.add_addendum(minutes=minutes, text="Too early", by=chair.actor)
    with acting_for(world.office, staff=True):
        reviews.lock(review=review, by=chair.actor)
    with acting_for(world.hoshi, staff=True):
        minutes.refresh_from_db()
        kept = minutes.body
        with pytest.raises(Refused) as locked:
            reviews.edit_minutes(minutes=minutes, body="Anything", by=chair.actor)
        assert locked.value.code == "locked"
        for change in (
            lambda: Minutes.objects.filter(pk=minutes.pk).update(body="Anything"),
            lambda: Minutes.objects.filter(pk=minutes.pk).delete(),
        ):
            with pytest.raises(IntegrityError, match="locked minutes do not change"), transaction.atomic():
                change()
        reviews.add_addendum(minutes=minutes, text="The cause was the cable", by=chair.actor)
        minutes.refresh_from_db()
        assert minutes.body == kept and Addendum.objects.get().text == "The cause was the cable"
    page = signed_in(world.person("viewer")).get(f"/t/hoshi/minutes/{minutes.pk}/").content.decode()
    assert "The cause was the cable" in page


def signed_in(person):
    client = Client()
    client.force_login(person, BACKEND)
    return client


def test_a_participants_minutes_hold_only_its_items_and_no_internal_word_as_page_and_as_file(
    world, opened, frozen, settle, chair
):
    mine, theirs = (
        opened(world.hoshi, ago(days=3), title="Link errors"),
        opened(world.umi, ago(days=3), title=f"{CANARY} of umi"),
    )
    for tenant, case in ((world.hoshi, mine), (world.umi, theirs)):
        with acting_for(tenant, staff=True):
            actions.note_case(case=case, text=f"{CANARY} internal", audience="internal", by=chair.actor)
            actions.note_case(case=case, text=f"Shared with {tenant.slug}", audience="shared", by=chair.actor)
    review = frozen(ago(days=1))
    settle(review)
    told = {"decided_by": chair, "by": chair.actor, "review": review}
    decisions.record_decision(tenants=[world.hoshi], text=f"{CANARY} decided", **told)
    decisions.record_decision(tenants=[world.hoshi], text="Swap the cable", audience="shared", **told)
    given_ = {"owner": chair, "due": DUE, "by": chair.actor, "review": review}
    decisions.give_action_item(tenant=world.hoshi, text=f"{CANARY} to do", **given_)
    decisions.give_action_item(tenant=world.hoshi, text="Write it down", audience="shared", **given_)
    decisions.give_action_item(tenant=world.office, text=f"{CANARY} of the office", **given_)
    publish(review, chair.actor)
    with reading_everyone():
        rows = {row.tenant_id: row for row in Minutes.objects.filter(review_id=review.pk)}
    internal = rows[world.office.pk].body
    for word in (
        f"{CANARY} of umi",
        f"{CANARY} internal",
        f"{CANARY} decided",
        f"{CANARY} to do",
        f"{CANARY} of the office",
        "Link errors",
    ):
        assert word in internal
    hoshis = rows[world.hoshi.pk]
    client = signed_in(world.person("platform_engineer"))
    for address in ("", "markdown/", "html/"):
        answer = client.get(f"/t/hoshi/minutes/{hoshis.pk}/{address}")
        text = answer.content.decode()
        assert answer.status_code == 200
        for word in ("Link errors", "Shared with hoshi", "Swap the cable", "Write it down"):
            assert word in text, (address, word)
        for word in (CANARY, "umi", "Umi", "internal"):
            assert word not in text.replace("data-internal", ""), (address, word)
        if address:
            assert (
                answer["Content-Disposition"].startswith("attachment;")
                and answer["X-Content-Type-Options"] == "nosniff"
            )
    api = client.get(f"/api/v1/t/hoshi/minutes/{hoshis.pk}/").content.decode()
    assert "Link errors" in api and CANARY not in api
    for address in (
        f"/t/programme/minutes/{rows[world.office.pk].pk}/",
        f"/api/v1/minutes/{rows[world.office.pk].pk}/",
        f"/t/hoshi/minutes/{rows[world.umi.pk].pk}/",
    ):
        assert client.get(address).status_code == 404


def test_what_people_wrote_stays_text_in_the_files(world, opened, published):
    opened(world.hoshi, ago(days=3), title="<img src=x onerror=alert(1)> # [a](http://b)")
    review = published(ago(days=1))
    with reading_everyone():
        row = Minutes.objects.get(tenant=world.hoshi, review_id=review.pk)
    client = signed_in(world.person("viewer"))
    html = client.get(f"/t/hoshi/minutes/{row.pk}/html/").content.decode()
    assert "<img" not in html and "&lt;img src=x" in html and "<script" not in html
    text = client.get(f"/t/hoshi/minutes/{row.pk}/markdown/").content.decode()
    assert "\\[a\\](http://b)" in text and "\\<img" in text


def test_the_offices_minutes_and_what_changed_do_not_exist_for_a_narrow_or_outward_token(world, opened, published):
    for tenant in (world.hoshi, world.umi):
        opened(tenant, ago(days=3))
    review = published(ago(days=1))
    with reading_everyone():
        office = Minutes.objects.get(tenant=world.office)
    manager, robot = world.person("programme_manager"), world.person("automation")
    narrow = Client(
        headers={
            "Authorization": f"Bearer {issue_token(person=manager, name='n', tenant=world.hoshi, internal=True)[1]}"
        }
    )
    outward = Client(headers={"Authorization": f"Bearer {issue_token(person=robot, name='o')[1]}"})
    for address in (
        f"reviews/{review.pk}/changes/",
        "reviews/trend/",
        f"minutes/{office.pk}/",
        f"t/programme/minutes/{office.pk}/",
    ):
        assert narrow.get(f"/api/v1/{address}").status_code == 404, address
    for address in (
        f"minutes/{office.pk}/",
        f"t/programme/minutes/{office.pk}/",
        f"t/programme/minutes/{office.pk}/addenda/",
    ):
        assert outward.get(f"/api/v1/{address}").status_code == 404, address
    page = signed_in(robot).get(f"/t/programme/minutes/{office.pk}/")
    assert page.status_code == 404
    assert outward.get("/api/v1/t/programme/minutes/").json()["results"] == []


def test_old_numbers_stay_after_later_edits_late_entries_and_an_import(world, opened, published, frozen, chair):
    case = opened(world.hoshi, ago(days=9))
    first = published(ago(days=7))
    kept = copy.deepcopy(
        {field: getattr(first, field) for field in ("snapshot", "sha256", "open_now", "opened", "resolved", "carried")}
    )
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(
            case=case, cause="software", by="engine", at=ago(days=8)
        )  # told late: it was before the cut-off
        Case.objects.filter(pk=case.pk).update(title="Rewritten", severity="low")
    with acting_for(world.umi, staff=True):  # an import tells of a past that nobody knew
        old = actions.open_case(
            tenant=world.umi, title="Older", severity="high", by="engine", at=ago(days=20), source="import"
        )
        actions.resolve_case(case=old, cause="software", by="engine", at=ago(days=19), source="import")
    second = frozen(ago(minutes=1))
    with acting_for(world.office, staff=True):
        first = Review.objects.get(pk=first.pk)
    assert {field: getattr(first, field) for field in kept} == kept and digest(first.snapshot) == first.sha256
    assert (second.open_before, second.opened, second.resolved, second.open_now) == (1, 1, 2, 0)
    with acting_for(world.hoshi):
        assert ReviewItem.objects.get(review_id=first.pk).severity_then == "high"


def test_a_history_that_does_not_add_up_is_explained_case_by_case(world, opened, frozen, chair):
    case = opened(world.hoshi, ago(days=3))
    with acting_for(world.hoshi, staff=True):
        timeline.record("case.closed", about=case, by="engine", at=ago(days=2), number=case.number)
    with acting_for(world.office, staff=True), pytest.raises(Refused) as refused:
        frozen(ago(days=1))
    assert (
        "CASE-0001 was not open before, was opened 1, reopened 0 and resolved 0 times, and is not open."
        in refused.value.sentence
    )


def test_the_open_cases_of_who_joins_between_two_reviews_come_in_as_opened(world, opened, frozen):
    """A case without a single participation belongs to every cycle of its tenant, also to one that it joins later."""
    newcomer = Tenant.objects.create(slug="kaze", name="Kaze Speech")
    brought, ended = opened(newcomer, ago(days=9)), opened(newcomer, ago(days=9))
    old = opened(world.hoshi, ago(days=9))
    with acting_for(newcomer, staff=True):
        actions.resolve_case(case=ended, cause="software", by="engine", at=ago(days=8))
    assert (first := frozen(ago(days=2))).open_now == 1
    with acting_for(newcomer, staff=True):
        Participation.objects.create(tenant=newcomer, cycle=world.cycle, code="K", state="active", project="P")
    second = frozen(ago(days=1))
    assert (second.open_before, second.opened, second.resolved, second.open_now) == (first.open_now, 1, 0, 2)
    assert {item.case for item in queries.review_items(second)} == {old, brought}
    with acting_for(newcomer, staff=True):
        actions.reopen_case(case=ended, why="Again", by="engine", at=ago(hours=20))
        actions.resolve_case(case=brought, cause="software", by="engine", at=ago(hours=20))
    third = frozen(ago(hours=1))
    counts = (third.open_before, third.opened, third.reopened, third.resolved, third.open_now)
    assert counts == (2, 0, 1, 1, 2)


WORDS = ["open", "resolve", "reopen", "import", "join"]
STEP = st.tuples(st.sampled_from(WORDS), st.integers(0, 5), st.floats(0.1, 13.9))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=st.lists(STEP, max_size=10), cutoffs=st.lists(st.floats(1, 13.9), min_size=1, max_size=3, unique=True))
def test_the_balance_holds_over_random_histories(world, opened, chair, steps, cutoffs):
    """Opened, resolved, reopened and imported at any past time, told in any order between the reviews, also by a tenant
    that joins between two of them; all of it is undone."""
    with transaction.atomic():
        cases, told, counted = [], iter(steps), []
        start = ago(days=14)
        newcomer = Tenant.objects.create(slug="kaze", name="Kaze Speech")
        for cutoff in sorted(cutoffs):
            for word, which, when in list(told)[: len(steps) // len(cutoffs) + 1]:
                _do(world, newcomer, opened, cases, word, which, start + timedelta(days=when))
            counted.append(freeze(cycle=world.cycle, cutoff=start + timedelta(days=cutoff), by=chair.actor))
        for before, after in zip([None, *counted], counted, strict=False):
            assert after.open_now == after.open_before + after.opened + after.reopened - after.resolved
            assert after.open_before == (before.open_now if before else 0)
            with reading_everyone():
                ids = {item["case"] for item in after.snapshot["items"]}
                assert ids == {
                    str(pk) for pk in ReviewItem.objects.filter(review_id=after.pk).values_list("case_id", flat=True)
                }
                ours = Case.objects.filter(
                    tenant__in=Participation.objects.filter(cycle=world.cycle).values("tenant_id")
                )
                assert ids == {str(case.pk) for case in ours if _open_at(case, after.cutoff_at, after.frozen_at)}
            carried = {item["case"] for item in before.snapshot["items"]} & ids if before else set()
            assert after.carried == len(carried)
        transaction.set_rollback(True)
    connection.scope = None


def _open_at(case, cutoff, frozen_at):
    """Told by the newest word about it alone, which is another way than the product's."""
    told = Entry.objects.filter(
        subject_id=case.pk,
        occurred_at__lte=cutoff,
        recorded_at__lte=frozen_at,
        kind__in=["case.opened", "case.resolved", "case.reopened"],
    )
    last = told.order_by("-occurred_at", "-id").values_list("kind", flat=True).first()
    return last in ("case.opened", "case.reopened")


def _do(world, newcomer, opened, cases, word, which, when):
    tenant = (world.hoshi, world.umi, newcomer)[which % 3]
    if word == "join":
        with acting_for(newcomer, staff=True):
            Participation.objects.get_or_create(
                tenant=newcomer, cycle=world.cycle, defaults={"code": "K", "state": "active", "project": "P"}
            )
        return
    if word in ("open", "import"):
        cases.append(opened(tenant, when, **({"source": "import"} if word == "import" else {})))
        return
    if not cases:
        return
    case = cases[which % len(cases)]
    with acting_for(case.tenant_id, staff=True):
        last = (
            Entry.objects.filter(subject_id=case.pk)
            .order_by("-occurred_at", "-id")
            .values_list("occurred_at", flat=True)[0]
        )
        at = max(when, last)
        case.refresh_from_db()
        if word == "resolve" and case.state != "resolved":
            actions.resolve_case(case=case, cause="software", by="engine", at=at)
        elif word == "reopen" and case.state == "resolved":
            actions.reopen_case(case=case, why="Again", by="engine", at=at)


def test_action_items_and_decisions_of_others_do_not_exist(world, chair):
    decisions.give_action_item(tenant=world.umi, text=CANARY, due=DUE, owner=chair, by=chair.actor, audience="shared")
    decisions.record_decision(tenants=[world.umi], text=CANARY, decided_by=chair, by=chair.actor, audience="shared")
    decisions.give_action_item(tenant=world.hoshi, text=CANARY, due=DUE, owner=chair, by=chair.actor)
    client = signed_in(world.person("business_lead"))
    for address in ("/action-items/", "/decisions/", "/api/v1/action-items/", "/api/v1/decisions/"):
        assert CANARY not in client.get(address).content.decode()
    with acting_for(world.hoshi):
        assert not ActionItem.objects.exists()
