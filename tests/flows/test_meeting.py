"""A whole review meeting in a real browser, by keyboard alone; and two browsers at once, of which neither loses a word."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from program import queries, reviews
from program.models import ActionItem, Decision, Minutes, Review
from support import actions
from support.models import Case, CaseNote
from tenants.models import Person
from tenants.wall.acting import acting_for, reading_everyone
from tests.conftest import World, make_world
from tests.examples import make_all_minutes

pytestmark = pytest.mark.chromium

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
INTERNAL, SHARED = "between us: swap it quietly", "We swap the node tonight"


@pytest.fixture
def world(transactional_db: Any, settings: Any) -> World:
    settings.SETTLE_SECONDS = 0
    return make_world()


@pytest.fixture
def review(world: World) -> Review:
    """Three cases; one of them on the agenda for the third time."""
    now, chair = datetime.now(UTC), world.person("lead_architect")
    for tenant, title, severity, days in (
        (world.hoshi, "Link errors on node 7", "critical", 1),
        (world.umi, "Loss is not a number", "high", 30),
        (world.umi, "How large may a checkpoint be", "low", 1),
    ):
        with acting_for(tenant, staff=True):
            case = actions.open_case(
                tenant=tenant, title=title, severity=severity, by="engine", at=now - timedelta(days=days)
            )
            if severity == "low":
                actions.plan_case(
                    case=case,
                    owner=chair,
                    next_step="Answer",
                    due=(now + timedelta(days=9)).date(),
                    by=chair.actor,
                    at=now - timedelta(hours=30),
                )
                actions.take_case(case=case, person=chair, by=chair.actor, at=now - timedelta(hours=20))
                actions.note_case(
                    case=case, text="We look", audience="shared", by=chair.actor, at=now - timedelta(hours=20)
                )
    for days in (20, 10):
        reviews.freeze(cycle=world.cycle, cutoff=now - timedelta(days=days), by=chair.actor)
    return reviews.freeze(cycle=world.cycle, cutoff=now - timedelta(minutes=1), by=chair.actor)


class Visitor:
    """One person in a browser window of their own, who never touches the mouse."""

    def __init__(self, browser: Browser, site: str, person: Person) -> None:
        client = Client()
        client.force_login(person, BACKEND)
        context = browser.new_context(locale="en-US", reduced_motion="reduce")
        context.add_cookies(
            [{"name": name, "value": morsel.value, "url": site} for name, morsel in client.cookies.items()]
        )
        self.site, self.faults = site, []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def go(self, path: str) -> Page:
        answer = self.page.goto(self.site + path)
        assert answer is not None and answer.status == 200, f"{path}: {answer and answer.status}"
        return self.page

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def settle(self, step: str, reason: str = "") -> None:
        self.keys("o")
        self.type("Lead Arch")
        self.keys("Tab")
        self.keys("Control+A")
        self.type(step)
        self.keys("Tab")
        self.type("01152031")
        if reason:
            self.page.locator("#id_settle-reason").focus()
            self.type(reason)
        self.keys("Control+Enter")

    def shown(self, words: str) -> None:
        expect(self.page.locator("h1")).to_contain_text(words)


def sent(page: Page, name: str) -> None:
    """The form answered and is empty again."""
    expect(page.locator(f"#do-{name} [data-error-summary]")).to_have_count(0)
    expect(page.locator("#toasts .toast").last).to_be_visible()


def test_a_whole_meeting_goes_by_keyboard(world: World, review: Review, live_server: Any, browser: Browser) -> None:
    chair = Visitor(browser, live_server.url, world.person("lead_architect"))
    page = chair.go(f"/t/programme/reviews/{review.pk}/meeting/")
    chair.shown("Numbers")
    chair.keys("n")
    chair.shown("Action items")
    chair.keys("n")
    chair.shown("Link errors on node 7")
    chair.settle("Swap node 7")
    expect(page.locator("#outcome")).to_have_text("settled")
    expect(page.locator("#standing")).to_contain_text("Swap node 7")

    chair.keys("i")
    chair.type(SHARED)
    chair.keys("Tab", "Space", "Control+Enter")
    expect(page.locator("#standing .note", has_text=SHARED)).to_be_visible()
    chair.keys("Escape", "i")
    chair.type(INTERNAL)
    chair.keys("Tab", "Space", "ArrowDown", "Control+Enter")
    expect(page.locator("#standing .internal-text", has_text=INTERNAL)).to_be_visible()

    chair.keys("Escape", "x")
    chair.type("Every node is tested before a launch")
    page.locator("#id_decide-decided_by").focus()
    chair.type("Lead Arch")
    page.locator("#id_decide-audience_0").focus()
    chair.keys("Space", "Control+Enter")
    sent(page, "decide")
    chair.keys("Escape", "a")
    chair.type("Write the test")
    chair.keys("Tab")
    chair.type("Lead Arch")
    page.locator("#id_give-audience_1").focus()
    chair.keys("Space", "Control+Enter")
    sent(page, "give")
    chair.keys("Escape", "w")
    chair.keys("Space", "Tab")
    chair.type("They look at the fabric")
    chair.keys("Control+Enter")
    expect(page.locator("#standing [data-state=waiting_provider]")).to_be_visible()

    chair.keys("Escape", "n")
    chair.shown("Loss is not a number")
    chair.settle("Bisect the data")
    expect(page.locator("#do-settle")).to_contain_text("Why it is here again")
    expect(page.locator("#do-settle [data-error-summary]")).to_be_focused()
    expect(page.locator("#id_settle-next_step")).to_have_value("Bisect the data")
    page.locator("#id_settle-reason").focus()
    chair.type("The shard was found only now")
    chair.keys("Control+Enter")
    expect(page.locator("#outcome")).to_have_text("settled")
    chair.keys("Escape", "n")
    chair.shown("How large may a checkpoint be")
    chair.keys("b")
    expect(page.locator("#outcome")).to_have_text("accepted as a block")
    for title in ("Capacity", "Seen at several", "Sessions", "Read back"):
        chair.keys("n")
        chair.shown(title)
    expect(page.locator("#stop")).to_contain_text("Every node is tested before a launch")
    chair.keys("p")
    chair.shown("Sessions")

    chair.go(f"/reviews/{review.pk}/")
    page.get_by_role("button", name="Publish the minutes").focus()
    chair.keys("Enter")
    expect(page.locator("#publishing")).to_contain_text("still to come")
    make_all_minutes()
    expect(page.locator("h1 [data-state=published]")).to_be_visible(timeout=15_000)  # the page finds out by itself
    assert chair.faults == []
    with reading_everyone():
        assert {item.outcome for item in queries.review_items(review)} == {"settled", "block"}
        assert Decision.objects.get().audience == "shared" and ActionItem.objects.get().audience == "internal"
        minutes = Minutes.objects.get(tenant=world.hoshi).body
    assert SHARED in minutes and "Every node is tested before a launch" in minutes
    assert INTERNAL not in minutes and "Write the test" not in minutes and "Loss is not a number" not in minutes


def test_two_browsers_at_once_lose_no_text(world: World, review: Review, live_server: Any, browser: Browser) -> None:
    first = Visitor(browser, live_server.url, world.person("lead_architect"))
    second = Visitor(browser, live_server.url, world.person("programme_manager"))
    item = queries.review_items(review)[0]
    for one in (first, second):
        one.go(f"/t/programme/reviews/{review.pk}/meeting/?at={item.pk}")
    second.keys("i")
    second.type("half a thought")
    second.keys("Escape")
    first.settle("Swap node 7")
    expect(first.page.locator("#outcome")).to_have_text("settled")
    second.settle("Call the vendor")
    page = second.page
    differing = page.locator("#do-settle .diff")
    expect(differing).to_contain_text("Swap node 7")
    expect(differing).to_contain_text("Call the vendor")
    expect(page.locator("#id_settle-next_step")).to_have_value("Call the vendor")
    expect(page.locator("#id_note-text")).to_have_value("half a thought")
    with reading_everyone():
        assert Case.objects.get(pk=item.case_id).next_step == "Swap node 7"
    page.locator("#id_settle-next_step").focus()
    second.keys("Control+Enter")
    expect(page.locator("#standing")).to_contain_text("Call the vendor")
    second.keys("Escape", "i")
    second.keys("End")
    second.type(", now whole")
    second.keys("Tab", "Space", "Control+Enter")
    expect(page.locator("#standing .note", has_text="half a thought, now whole")).to_be_visible()
    with reading_everyone():
        assert Case.objects.get(pk=item.case_id).next_step == "Call the vendor"
        assert CaseNote.objects.get(case_id=item.case_id).text == "half a thought, now whole"
    assert first.faults == [] and second.faults == []


def test_the_screen_works_without_javascript_and_tells_of_a_conflict(world: World, review: Review) -> None:
    client = Client()
    chair = world.person("lead_architect")
    client.force_login(chair, BACKEND)
    item = queries.review_items(review)[0]
    address = f"/t/programme/reviews/{review.pk}/items/{item.pk}/settle/"
    told = {"settle-owner": str(chair.pk), "settle-due": "2031-01-15", "settle-version": "1"}
    assert client.post(address, {**told, "settle-next_step": "Swap node 7"}).status_code == 303
    answer = client.post(address, {**told, "settle-next_step": "Call the vendor"})
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "Swap node 7" in page and 'value="Call the vendor"' in page
