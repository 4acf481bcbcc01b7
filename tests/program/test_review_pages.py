"""The pages of the weekly review: freezing, going through the agenda, publishing, and the minutes of each participant."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from program import reviews
from program.models import Minutes, Review, ReviewItem
from program.review_forms import last_cutoff
from support import actions
from support.models import Case
from tenants.models import Cycle
from tenants.wall.acting import acting_for, reading_everyone
from tests.examples import make_all_minutes
from tests.program.conftest import publish

NOW = datetime.now(UTC)
FREEZE = "/t/programme/reviews/freeze/"


def ago(**span):
    return NOW - timedelta(**span)


@pytest.fixture(autouse=True)
def nothing_to_wait_for(settings):
    settings.SETTLE_SECONDS = 0


@pytest.fixture
def as_(world):
    def signed_in(role, tenant=None):
        client = Client()
        client.force_login(world.person(role, tenant), backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    return signed_in


@pytest.fixture
def opened(world):
    def make(tenant, title="Slow", severity="high", **values):
        with acting_for(tenant, staff=True):
            return actions.open_case(
                tenant=tenant, title=title, severity=severity, by="engine", at=ago(days=2), **values
            )

    return make


@pytest.fixture
def review(world, opened):
    """A frozen review with an item of each participant."""
    opened(world.hoshi, "Ours at hoshi"), opened(world.umi, "Theirs at umi")
    return reviews.freeze(cycle=world.cycle, cutoff=ago(hours=1), by=world.person("lead_architect").actor)


def text(answer):
    return answer.content.decode()


def items(review):
    with reading_everyone():
        return list(
            ReviewItem.objects.filter(review_id=review.pk).select_related("case", "tenant").order_by("position")
        )


def now(review):
    with reading_everyone():
        return Review.objects.get(pk=review.pk)


def item_at(review, item):
    return f"/t/programme/reviews/{review.pk}/items/{item.pk}/"


def plan(item, person, **more):
    told = {"owner": person.pk, "next_step": "Read the log", "due": "2031-01-01", "version": item.version, **more}
    return {f"i{item.position}-{name}": value for name, value in told.items()}


def test_the_office_freezes_as_of_the_last_regular_cut_off(as_, world, opened):
    opened(world.hoshi)
    client = as_("programme_manager")
    assert 'value="regular"' in text(client.get("/reviews/"))
    answer = client.post(FREEZE, {"cycle": world.cycle.pk, "which": "regular"})
    assert answer.status_code == 303
    with reading_everyone():
        made = Review.objects.get()
    assert (made.cutoff_at, made.regular) == (last_cutoff(Cycle.objects.get(), timezone.now()), True)
    assert answer["Location"] == f"/reviews/{made.pk}/"


def test_an_extra_review_counts_until_now(as_, world, opened):
    opened(world.hoshi)
    as_("programme_manager").post(FREEZE, {"cycle": world.cycle.pk, "which": "extra"})
    with reading_everyone():
        made = Review.objects.get()
    assert not made.regular and made.open_now == 1
    assert timezone.now() - made.cutoff_at < timedelta(minutes=1)


def test_another_moment_is_typed_in_the_programmes_own_time(as_, world, opened):
    opened(world.hoshi)
    client = as_("programme_manager")
    assert "Asia/Tokyo" in text(client.get("/reviews/"))
    client.post(FREEZE, {"cycle": world.cycle.pk, "which": "other", "moment": "2025-06-04T18:00"})
    with reading_everyone():
        assert Review.objects.get().cutoff_at == datetime(2025, 6, 4, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"which": "other"}, 422),
        ({"which": "other", "moment": "soon"}, 422),
        ({"which": "other", "moment": "2099-01-01T00:00"}, 409),
        ({"which": "never"}, 422),
        ({"which": "extra", "cycle": "999999"}, 422),
    ],
)
def test_a_moment_that_cannot_be_frozen_is_refused_in_the_form(as_, world, sent, status):
    answer = as_("programme_manager").post(FREEZE, {"cycle": world.cycle.pk, **sent})
    assert answer.status_code == status
    assert 'name="which"' in text(answer)
    with reading_everyone():
        assert not Review.objects.exists()


@pytest.mark.parametrize("role", ["programme_officer", "account_team", "auditor", "frameworks_specialist"])
def test_only_those_who_may_publish_may_freeze(as_, world, role):
    client = as_(role)
    assert 'name="which"' not in text(client.get("/reviews/"))
    assert client.post(FREEZE, {"cycle": world.cycle.pk, "which": "extra"}).status_code == 403


def test_a_review_has_no_address_at_a_participant(as_, review):
    client = as_("lead_architect")
    assert client.post(f"/t/hoshi/reviews/{review.pk}/publish/").status_code == 404
    assert client.post("/t/hoshi/reviews/freeze/").status_code == 404


def test_customers_see_no_review(as_, review):
    client = as_("business_lead")
    assert client.get("/reviews/").status_code == 403
    assert client.get(f"/reviews/{review.pk}/").status_code == 403
    assert client.get(f"/t/programme/reviews/{review.pk}/publish/").status_code == 404


def test_the_page_shows_the_balance_and_every_participants_item(as_, review):
    page = text(as_("auditor").get(f"/reviews/{review.pk}/"))
    assert "<b>+ 2</b>opened" in page and "<b>= 2</b>open now" in page
    assert "Ours at hoshi" in page and "Theirs at umi" in page
    assert review.sha256 in page
    assert "<form" not in page.split('id="main"')[1], "an auditor changes nothing"


def test_an_item_is_settled_without_javascript(as_, world, review):
    lead, item = world.person("lead_architect"), items(review)[0]
    answer = as_("lead_architect").post(item_at(review, item), plan(item, lead))
    assert (answer.status_code, answer["Location"]) == (303, f"/reviews/{review.pk}/#item-{item.pk}")
    settled = items(review)[0]
    assert (settled.owner, settled.next_step, settled.case.next_step) == (lead, "Read the log", "Read the log")


def test_htmx_gets_the_item_back_and_what_is_still_missing(as_, world, review):
    lead, item = world.person("lead_architect"), items(review)[0]
    answer = as_("lead_architect").post(item_at(review, item), plan(item, lead), headers={"HX-Request": "true"})
    page = text(answer)
    assert answer.status_code == 200 and "<!doctype" not in page
    assert f'id="item-{item.pk}"' in page and "settled" in page
    assert 'hx-swap-oob="true"' in page and "1 item keeps the minutes from going out" in page


@pytest.mark.parametrize("left_out", ["owner", "next_step", "due"])
def test_no_item_leaves_without_owner_step_and_date(as_, world, review, left_out):
    item = items(review)[0]
    sent = plan(item, world.person("lead_architect"), **{left_out: ""})
    for headers in ({}, {"HX-Request": "true"}):
        answer = as_("lead_architect").post(item_at(review, item), sent, headers=headers)
        assert answer.status_code == 422
        assert "This field is required" in text(answer) and " open>" in text(answer)
    assert items(review)[0].version == item.version


@pytest.mark.parametrize(("headers", "status"), [({}, 409), ({"HX-Request": "true"}, 422)])
def test_an_item_that_somebody_else_settled_is_shown_beside_what_was_typed(as_, world, review, headers, status):
    lead, item = world.person("lead_architect"), items(review)[0]
    reviews.settle_item(item=item, owner=lead, next_step="Theirs", due=NOW.date(), by=lead.actor)
    client = as_("lead_architect")
    sent = plan(item, lead, version=1)
    answer = client.post(item_at(review, item), sent, headers=headers)
    page = text(answer)
    assert answer.status_code == status
    assert "<del>Theirs</del>" in page and "<ins>Read the log</ins>" in page and 'value="Read the log"' in page
    newest = re.search(rf'name="i{item.position}-version" value="(\d+)"', page)[1]
    assert client.post(item_at(review, item), sent | {f"i{item.position}-version": newest}).status_code == 303


def test_the_third_time_asks_why_it_is_here_again(as_, world, opened):
    opened(world.hoshi)
    for hours in (5, 4, 3):
        review = reviews.freeze(cycle=world.cycle, cutoff=ago(hours=hours), by="engine")
    lead, item = world.person("lead_architect"), items(review)[0]
    client = as_("lead_architect")
    assert client.post(item_at(review, item), plan(item, lead)).status_code == 422
    assert client.post(item_at(review, item), plan(item, lead, reason="No node was free")).status_code == 303
    assert items(review)[0].times_reason == "No node was free"


def test_publishing_says_what_is_missing_and_then_gives_each_participant_its_minutes(as_, world, review):
    lead = world.person("lead_architect")
    client = as_("lead_architect")
    publish = f"/t/programme/reviews/{review.pk}/publish/"
    page = text(client.get(f"/reviews/{review.pk}/"))
    assert "2 items keep the minutes from going out" in page and "lacks an owner, a next step, a date" in page
    assert re.search(r'<button class="button primary" disabled>', page)
    assert client.post(publish).status_code == 409, "also when somebody asks for it past the page"
    for item in items(review):
        client.post(item_at(review, item), plan(item, lead))
    assert client.post(f"/t/programme/reviews/{review.pk}/begin/").status_code == 303
    assert client.post(publish, {"version": now(review).version}).status_code == 303
    under_way = text(client.get(f"/reviews/{review.pk}/"))
    assert "The minutes are being made" in under_way and "0 are there, 3 are still to come" in under_way
    poll = {"headers": {"HX-Request": "true"}}
    assert "3 are still to come" in text(client.get(f"/reviews/{review.pk}/?part=publishing", **poll))
    make_all_minutes()
    assert client.get(f"/reviews/{review.pk}/?part=publishing", **poll)["HX-Refresh"] == "true"
    page = text(client.get(f"/reviews/{review.pk}/"))
    with reading_everyone():
        given = {one.tenant.slug: one for one in Minutes.objects.filter(review_id=review.pk).select_related("tenant")}
    assert {"hoshi", "umi", "programme"} == set(given)
    assert all(f"/t/{slug}/minutes/{one.pk}/" in page and one.sha256[:16] in page for slug, one in given.items())
    assert client.post(f"/t/programme/reviews/{review.pk}/lock/").status_code == 303
    assert now(review).state == "locked"


def test_a_step_on_an_old_page_is_refused(as_, review):
    client = as_("lead_architect")
    client.post(f"/t/programme/reviews/{review.pk}/begin/")
    answer = client.post(f"/t/programme/reviews/{review.pk}/publish/", {"version": "1"})
    assert answer.status_code == 409 and "Somebody changed this review" in text(answer)
    assert client.post(f"/t/programme/reviews/{review.pk}/accept/", {"version": "1"}).status_code == 409
    address = f"/api/v1/t/programme/reviews/{review.pk}/accept/"
    assert client.post(address, {"version": 1}, content_type="application/json").status_code in (403, 409)


def test_what_has_no_flag_is_accepted_together(as_, world, opened):
    lead = world.person("lead_architect")
    case = opened(world.hoshi, severity="low")
    with acting_for(world.hoshi, staff=True):
        actions.note_case(case=case, text="We look", audience="shared", by=lead.actor, at=ago(days=2))
        actions.plan_case(
            case=Case.objects.get(), owner=lead, next_step="x", due=NOW.date(), by=lead.actor, at=ago(days=2)
        )
        actions.take_case(case=Case.objects.get(), person=lead, by=lead.actor, at=ago(days=2))
    review = reviews.freeze(cycle=world.cycle, cutoff=ago(hours=1), by=lead.actor)
    client = as_("programme_officer")
    assert "Accept as a block" in text(client.get(f"/reviews/{review.pk}/"))
    assert client.post(f"/t/programme/reviews/{review.pk}/accept/").status_code == 303
    assert [item.accepted_as_block for item in items(review)] == [True]


@pytest.fixture
def published(world, review):
    lead = world.person("lead_architect")
    for item in items(review):
        reviews.settle_item(item=item, owner=lead, next_step="Read the log", due=NOW.date(), by=lead.actor)
    publish(review, lead.actor)
    with reading_everyone():
        return {one.tenant.slug: one for one in Minutes.objects.select_related("tenant")}


def test_a_participant_reads_its_own_minutes_and_nobody_elses(as_, world, published):
    client = as_("viewer")
    page = text(client.get(f"/t/hoshi/minutes/{published['hoshi'].pk}/"))
    assert "Ours at hoshi" in page and "Theirs at umi" not in page and published["hoshi"].sha256 in page
    assert client.get(f"/t/hoshi/minutes/{published['umi'].pk}/").status_code == 404
    assert client.get(f"/t/umi/minutes/{published['umi'].pk}/").status_code == 404


def test_the_offices_own_minutes_are_for_staff_who_see_internal_text(as_, published):
    address = f"/t/programme/minutes/{published['programme'].pk}/"
    assert as_("auditor").get(address).status_code == 200
    assert as_("automation").get(address).status_code == 404
    assert as_("viewer").get(address).status_code == 404


def test_a_review_of_many_items_costs_no_more_queries(as_, world, opened, django_assert_max_num_queries):
    for number in range(12):
        opened(world.hoshi if number % 2 else world.umi, f"case {number}")
    review = reviews.freeze(cycle=world.cycle, cutoff=ago(hours=1), by="engine")
    client = as_("lead_architect")
    with django_assert_max_num_queries(40):
        page = text(client.get(f"/reviews/{review.pk}/"))
    assert page.count('class="item ') == 12
