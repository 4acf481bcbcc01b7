"""Every page, for staff and for a customer: no barrier that axe can find, nothing to scroll sideways, no word untranslated."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.staticfiles import finders
from django.db import connection

from tenants.wall import roles
from tests.examples import Route, page_routes
from tests.strings import Data, catalogue, pseudo_language, stored, untranslated
from tests.town import Town, ask, town

__all__ = ["town"]

ENGLISH_ONLY = {"styleguide", "api-docs"}  # for whoever builds pages and programs
SIGNING_IN = (
    "/accounts/login/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
    "/accounts/signup/",
    "/join/",
)
SITE = "http://portal.test"
PAGES = page_routes()
WHO = ("programme_manager", "platform_engineer")
AXE = Axe()
WCAG = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
    "rules": {"color-contrast": {"enabled": False}},  # by itself, once for what looks alike
}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "resultTypes": ["violations"]}


def named(route: Route) -> str:
    return route.name


def home(town: Town, route: Route) -> str:
    return town.world.office.slug if route.of_office else town.world.hoshi.slug


def is_a_page(answer: Any) -> bool:
    """What is given as a file is nobody's page."""
    return answer["Content-Type"].startswith("text/html") and "Content-Disposition" not in answer


def seen_by(route: Route) -> list[str]:
    """Staff and a customer, as far as the page is theirs; a page of neither is shown to somebody whose it is."""
    listed = route.view.roles["read"] | route.view.roles["write"]
    found = [role for role in WHO if role in listed and not (route.of_office and role in roles.CUSTOMER_ROLES)]
    return found or [sorted(listed)[0]]


@pytest.fixture(scope="module")
def data(town: Town) -> Data:
    """All data there is, read as the owner, whom no policy binds."""
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        found = Data([*stored(), *catalogue()])
        cursor.execute("set local role none")
    return found


@pytest.mark.parametrize("route", [route for route in PAGES if route.name not in ENGLISH_ONLY], ids=named)
def test_no_word_on_a_page_is_out_of_reach_of_a_translation(town: Town, data: Data, route: Route) -> None:
    address = route.address(home(town, route), town.hoshi)
    for role in seen_by(route):
        client = town.client(town.world.person(role))
        for method in ("GET", "POST"):
            with pseudo_language():
                answer = ask(client, method, address)
            if answer.status_code in (200, 409, 422) and is_a_page(answer):
                html = answer.content.decode()
                assert html.startswith("<!doctype") and untranslated(html, data) == [], f"{method} {address} as {role}"


def test_a_bare_word_in_a_template_would_be_found(data: Data) -> None:
    html = '<p>⟦Cases⟧</p><p>Hoshi Language Works</p><p title="Bare">3 ⟦open⟧</p><p>Look here</p><img alt="A tree"><svg><title>no</title></svg>'
    assert untranslated(html, data) == ["<p title>: Bare", "text: Look here", "<img alt>: A tree"]


@pytest.mark.parametrize("address", SIGNING_IN)
def test_no_word_of_signing_in_is_out_of_reach_either(town: Town, data: Data, settings: Any, address: str) -> None:
    settings.PERSONA_PICKER = True
    with pseudo_language():
        answer = ask(town.client(None), "GET", address)
    assert answer.status_code == 200
    assert untranslated(answer.content.decode(), data) == []


@pytest.mark.parametrize("status", ["403", "404"])
def test_refusals_are_translated_too(town: Town, data: Data, status: str) -> None:
    asked = {"403": ("viewer", "/t/hoshi/clusters/request/"), "404": ("viewer", "/t/umi/")}[status]
    with pseudo_language():
        answer = ask(town.client(town.world.person(asked[0])), "GET", asked[1])
    assert answer.status_code == int(status)
    assert untranslated(answer.content.decode(), data) == []


# A label or a link would lead to the first of two; axe looks only at some of them.
IDS_GIVEN_TWICE = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return [...new Set(ids.filter((id, at) => ids.indexOf(id) !== at))];
}"""


class Window:
    """A real browser whose requests are answered by the portal in this process, inside the town's transaction."""

    def __init__(self, browser: Any, town: Town) -> None:
        self.town, self.client = town, town.client(None)
        self.given: dict[str, Any] = {}  # what was asked before, by address
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.route("**/*", self._answer)
        self.page = self.context.new_page()

    def _answer(self, route: Any) -> None:
        asked = urlsplit(route.request.url)
        if asked.path.startswith("/static/"):
            file = finders.find(asked.path.removeprefix("/static/"))
            return route.fulfill(path=file) if file else route.fulfill(status=404)
        # A page that polls says so; without that word it would be given a whole page to put into itself.
        polls = {name: value for name, value in route.request.headers.items() if name == "hx-request"}
        address = route.request.url.removeprefix(SITE)
        answer = self.given.pop(address, None) or ask(self.client, "GET", address, **polls)
        if answer.status_code in (302, 303):  # a browser would go there on its own, past us
            answer = ask(self.client, "GET", answer["Location"])
        headers = {name: value for name, value in answer.headers.items() if name.lower() != "content-length"}
        return route.fulfill(status=answer.status_code, headers=headers, body=answer.content)

    def show(self, address: str, role: str | None, scheme: str, width: int, given: Any = None) -> Any:
        """The page at this address, as a person of this role sees it; None: nobody. What was `given` is not asked again."""
        self.given = {address: given} if given else {}
        self.client = self.town.client(self.town.world.person(role) if role else None)
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.set_viewport_size({"width": width, "height": 900})
        answer = self.page.goto(SITE + address)
        assert answer.status == 200, f"{address} as {role}: {answer.status}"
        return self.page


@pytest.fixture(scope="module")
def window(browser: Any, town: Town) -> Iterator[Window]:
    made = Window(browser, town)
    yield made
    made.context.close()


def shown(town: Town, route: Route) -> list[tuple[str, str, Any]]:
    """(role, address, answer) of each way in which this page is shown to somebody by a plain GET."""
    address = route.address(home(town, route), town.hoshi)
    ways = [(role, address) for role in seen_by(route)]
    answers = [(role, at, ask(town.client(town.world.person(role)), "GET", at)) for role, at in ways]
    assert any(answer.status_code in (200, 405) for *_way, answer in answers), f"{address} is shown to none of {ways}"
    return [way for way in answers if way[2].status_code == 200 and is_a_page(way[2])]


# Text stands out or not by its colour, its size and what lies beneath it. Gives {how it looks: the first that looks so}.
LOOKS = """() => {
  const beneath = new Map(), looks = {};
  const below = (one) => {
    if (!one) return "";
    if (!beneath.has(one)) {
      const style = getComputedStyle(one);
      const own = [style.backgroundColor, style.backgroundImage, style.opacity].join(",");
      beneath.set(one, below(one.parentElement) + (own === "rgba(0, 0, 0, 0),none,1" ? "" : "/" + own));
    }
    return beneath.get(one);
  };
  [...document.querySelectorAll("body *")].forEach((one, at) => {
    const text = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!(text || one.matches("input, select, textarea")) || !one.checkVisibility()) return;
    const style = getComputedStyle(one);
    looks[[below(one), style.color, style.fontSize, style.fontWeight].join("|")] ??= at;
  });
  return looks;
}"""
MARK = """(which) => {
  const all = document.querySelectorAll("body *");
  for (const at of which) all[at].setAttribute("data-not-seen-before", "");
}"""


def pale(page: Any, seen: set[str]) -> list[dict[str, Any]]:
    """What does not stand out from what lies beneath it, among what looks like nothing that was `seen`."""
    looks = page.evaluate(LOOKS)
    new = [at for look, at in looks.items() if look not in seen]
    seen.update(looks)
    if not new:
        return []
    page.evaluate(MARK, new)
    return violations(page, CONTRAST, {"include": [["[data-not-seen-before]"]]})


def violations(page: Any, options: dict[str, Any], where: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return AXE.run(page, context=where, options=options).response["violations"]


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """How text looked on the pages so far: in light and in dark no two looks are alike."""
    return set()


@pytest.mark.chromium
@pytest.mark.parametrize("route", PAGES, ids=named)
def test_a_page_has_no_barrier_and_nothing_to_scroll_sideways(
    town: Town, window: Window, seen: set[str], route: Route
) -> None:
    for role, address, answer in shown(town, route):
        page = window.show(address, role, "light", 1280, answer)
        found = violations(page, WCAG) + pale(page, seen)
        assert found == [], f"{address} as {role}: {told(found)}"
        assert page.evaluate(IDS_GIVEN_TWICE) == [], f"{address} as {role}"
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        found = pale(page, seen)
        assert found == [], f"{address} as {role}, dark: {told(found)}"
        page.set_viewport_size({"width": 360, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{address} as {role} is {wide} px wide on a phone"


def told(violations: list[dict[str, Any]]) -> str:
    short = [
        {"rule": one["id"], "at": [(node["html"][:200], node["failureSummary"][:200]) for node in one["nodes"][:3]]}
        for one in violations
    ]
    return json.dumps(short, indent=1)


@pytest.mark.chromium
@pytest.mark.parametrize("address", SIGNING_IN)
def test_axe_finds_no_barrier_to_signing_in(window: Window, settings: Any, address: str) -> None:
    settings.PERSONA_PICKER = True
    for scheme, width in (("light", 1280), ("dark", 360)):
        page = window.show(address, None, scheme, width)
        found = violations(page, WCAG) + violations(page, CONTRAST)
        assert found == [], told(found)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.chromium
def test_a_barrier_would_be_found(window: Window) -> None:
    page = window.context.new_page()  # without the portal's own policy, which forbids an inline style
    page.set_content(
        '<html lang="en"><title>x</title><main><h1>x</h1><p style="color:#ccc">pale</p><input></main></html>'
    )
    seen: set[str] = set()
    found = [{one["id"] for one in some} for some in (violations(page, WCAG), pale(page, seen), pale(page, seen))]
    page.close()
    assert "label" in found[0] and found[1:] == [{"color-contrast"}, set()]


@pytest.mark.chromium
def test_the_menu_folds_by_keyboard_stays_folded_and_shows_its_own_group_on_a_phone(window: Window) -> None:
    opened = "() => [...document.querySelectorAll('details.nav-fold[open]')].map((one) => one.id)"
    page = window.show("/clusters/", WHO[0], "light", 1280)
    groups = page.evaluate(opened)
    page.locator("#nav-money > summary").focus()
    page.keyboard.press("Enter")
    page = window.show("/clusters/", WHO[0], "light", 1280)
    assert page.evaluate(opened) == [one for one in groups if one != "nav-money"]
    assert page.locator(".side [aria-current]").all_inner_texts() == ["Clusters"]
    page.evaluate("document.querySelector('main').style.minHeight = '4000px'; scrollTo(0, 3000)")
    assert (
        page.locator(".side").evaluate("(one) => one.getBoundingClientRect().top") == 0
    )  # it stays beside a long page
    assert window.show("/clusters/", WHO[0], "light", 360).evaluate(opened) == ["nav-training"]
    page.evaluate("localStorage.clear()")
