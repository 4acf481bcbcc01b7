"""`make shots`: a picture of every page that can be reached by a link, as staff and as a customer, wide and on a phone.

It looks at the portal that runs on PORT; when none runs there, at the tests' own town.
"""

import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error, sync_playwright

FOLDER = Path(os.environ.get("SHOTS", "var/shots"))
PERSONAS = {
    "staff": os.environ.get("SHOTS_STAFF", "Lead architect"),
    "customer": os.environ.get("SHOTS_CUSTOMER", "Platform engineer"),
}
WIDTHS = (1280, 360)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NEVER = ("/accounts/", "/api/", "/static/")
MOST_OF_A_KIND = 2


def kind_of(path: str) -> str:
    """The address without whose and which: pages of one kind look alike."""
    return re.sub(r"/\d+(?=/|$)", "/n", UUID.sub("id", re.sub(r"^/t/[\w-]+/", "/t/slug/", path)))


def crawl(page: Any, site: str) -> Iterator[tuple[str, str]]:
    """(name, address) of every kind of page, by following links from the first one."""
    waiting: list[str] = ["/"]
    been: set[str] = set()
    seen: dict[str, int] = {}
    while waiting:
        path = waiting.pop(0)
        kind = kind_of(path)
        if path in been or seen.get(kind, 0) >= MOST_OF_A_KIND or path.startswith(NEVER):
            continue
        been.add(path)
        seen[kind] = seen.get(kind, 0) + 1
        try:
            answer = page.goto(site + path)
        except Error:  # a file to keep is no page
            continue
        if answer is None or answer.status != 200:
            continue
        suffix = f"-{seen[kind]}" if seen[kind] > 1 else ""
        yield (kind.strip("/").replace("/", "_") or "home") + suffix, path
        links = page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)")
        waiting += [urlsplit(link).path for link in links if link.startswith(site) and not urlsplit(link).query]


def shoot(page: Any, site: str, who: str) -> int:
    """Take them, and say how many."""
    taken = 0
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    for name, path in list(crawl(page, site)):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(site + path)
            page.wait_for_timeout(150)
            page.screenshot(path=FOLDER / f"{who}-{name}-{width}.png", full_page=True)
            taken += 1
    return taken


def of_a_running_portal(site: str) -> int:
    """Sign in by choosing a person of each kind, and look around."""
    from tests.conftest import QUIET
    from tests.parts import chromium

    taken = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        for who, role in PERSONAS.items():
            context = browser.new_context(reduced_motion="reduce")
            page = context.new_page()
            page.goto(f"{site}/accounts/login/")
            page.screenshot(path=FOLDER / "sign-in-1280.png", full_page=True)
            page.locator("button.persona", has_text=re.compile(role, re.IGNORECASE)).first.click()
            taken += shoot(page, site, who)
            context.close()
        browser.close()
    return taken


def runs(site: str) -> bool:
    try:
        with urllib.request.urlopen(f"{site}/healthz", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.chromium
def test_shots_of_the_town(browser: Any, town: Any) -> None:
    """Collected only when this file is named: `make shots` without a portal."""
    from tests.test_pages_checks import SITE, Window

    window = Window(browser, town)
    for who, role in (("staff", "lead_architect"), ("customer", "platform_engineer")):
        window.client = town.client(town.world.person(role))
        assert shoot(window.page, SITE, who)


def main() -> int:
    site = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.png"):
        old.unlink()
    if runs(site):
        print(f"{of_a_running_portal(site)} pictures of {site} are in {FOLDER}")
        return 0
    print(f"Nothing runs at {site}; taking pictures of the tests' town instead.")
    return int(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))


if __name__ == "__main__":
    sys.exit(main())
else:
    from tests.town import town

    __all__ = ["town"]
