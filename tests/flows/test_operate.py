"""Each kind of architecture changed, grown and deleted from the pages, with every process running."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import programmes
from tests.flows.test_story import Visitor
from tests.tree import RunningTree

pytestmark = [pytest.mark.tree, pytest.mark.chromium, pytest.mark.pcluster]

LAUNCH = 300_000  # milliseconds
ARCHITECT = "ren.lead-sa@nfmp.example"
# cluster -> its platform engineer
CLUSTERS = {
    "kest-trn": "iona@kestrivane.example",
    "fern-vla": "wilma@fernolith.example",
    "glim-voice": "finn@glimmerok.example",
}


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTree]:
    folder = tmp_path_factory.mktemp("operate")
    settings = {"SANDBOX_SPEED": "1200", "BELL_SECONDS": "1", "CONSISTENCY_SECONDS": "5"}
    running = RunningTree(folder / "var", **settings)
    try:
        running.wait_until_ready(180)
        running.manage("demo", "--file", str(programmes.only(CLUSTERS, folder)), seconds=180)
        yield running
    finally:
        running.stop()


def in_state(page: Page, state: str) -> None:
    expect(page.locator(f"h1 [data-state={state}]")).to_be_visible(timeout=LAUNCH)


def settled(page: Page) -> None:
    """What was under way is over, and the cluster is ready."""
    expect(page.locator("#operation")).to_have_count(0, timeout=LAUNCH)
    in_state(page, "ready")


def number_of_workers(page: Page, more: int) -> int:
    name = page.locator('input[name$="-name"]').evaluate_all("all => all.map(one => one.value)").index("workers")
    count = page.locator(f'input[name="groups-{name}-count"]')
    wanted = int(count.input_value()) + more
    count.fill(str(wanted))
    return wanted


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_is_changed_grown_and_deleted_from_its_pages(
    name: str, operated: RunningTree, browser: Browser
) -> None:
    engineer, architect = Visitor(browser, operated, CLUSTERS[name]), Visitor(browser, operated, ARCHITECT)
    page = engineer.go("/clusters/")
    page.get_by_role("link", name=name, exact=True).click()
    cluster = re.sub(r"^https?://[^/]+", "", page.url)
    settled(page)

    page = engineer.go(f"{cluster}change/")
    fewer = number_of_workers(page, -1)
    page.locator("select[name=lustre_mbs]").select_option("1000")
    page.locator("input[name=reason], textarea[name=reason]").fill("a smaller run with more throughput")
    page.locator("button[name=do][value=plan]:not(.sr-only)").click()
    expect(page.locator("#plan")).to_contain_text("workers")
    page.locator("button[name=do][value=apply]").click()
    expect(page.locator("#operation")).to_be_visible()
    settled(page)
    expect(page.locator("#configuration")).to_contain_text("1000 MB/s/TiB")

    page = engineer.go(f"{cluster}change/")
    number_of_workers(page, 1)
    page.locator("input[name=reason], textarea[name=reason]").fill("room again")
    page.locator("button[name=do][value=plan]:not(.sr-only)").click()
    page.locator("button[name=do][value=apply]").click()
    expect(page.locator("#operation [data-state=waiting]")).to_be_visible()
    architect.go(f"{cluster}approve/").locator('form[action$="/approve/"] button[type=submit]').click()
    page.reload()
    settled(page)
    running = page.locator("#nodes .node[data-state=running]")
    assert running.count() >= fewer + 1

    page = engineer.go(f"{cluster}retire/")
    page.locator("[name=retire-why]").fill("the run is over")
    page.locator("form button[type=submit].danger").click()
    in_state(page, "deleted")
    page.reload()
    left = page.locator("#leftovers")
    expect(left).to_contain_text("AWS::FSx::FileSystem")
    assert not engineer.faults and not architect.faults
