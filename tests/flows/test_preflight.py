"""From “request a cluster” through what does not fit to a plan, somebody else's approval and ready, in a browser, all processes running."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import examples, programmes
from tests.asking import Cloud, Portal
from tests.flows.test_story import LAUNCH, Visitor
from tests.tree import RunningTree

pytestmark = [pytest.mark.tree, pytest.mark.chromium]


@pytest.fixture(scope="module")
def tree_of_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTree]:
    folder = tmp_path_factory.mktemp("preflight")
    settings = {"SANDBOX_SPEED": "1200", "BELL_SECONDS": "1", "SETTLE_SECONDS": "1", "CONSISTENCY_SECONDS": "5"}
    running = RunningTree(folder / "var", **settings)
    try:
        running.wait_until_ready(120)
        running.manage("demo", "--file", str(programmes.only((), folder)), seconds=120)
        yield running
    finally:
        running.stop()


def _check(page: Page) -> None:
    page.locator("button[value=check]:visible").last.click()
    page.wait_for_load_state("networkidle")


def test_what_does_not_fit_is_mended_one_by_one_until_it_is_ready(tree_of_one: RunningTree, browser: Browser) -> None:
    customer = Visitor(browser, tree_of_one, "riku@asterlune.example")
    architect = Visitor(browser, tree_of_one, "ren.lead-sa@nfmp.example")
    page = customer.go("/t/asterlune/clusters/request/")
    page.locator("input[name=name]").fill("fitted")
    page.locator("input[name=reason]").fill("the 100B run")
    found = page.locator("#findings")
    count, zone = page.locator("input[name=groups-1-count]"), page.locator("select[name=az_id]")
    fits, here = count.input_value(), zone.input_value()

    # More than the quota and the plan hold.
    count.fill("400")
    _check(page)
    expect(found).to_contain_text("You asked for 400 ml.p5.48xlarge instances")
    expect(found).to_contain_text("Who can change it")
    count.fill(fits)

    # A zone in which nothing is reserved.
    zone.select_option("apne1-az1" if here != "apne1-az1" else "apne1-az4")
    _check(page)
    expect(found).to_contain_text(here)
    expect(found.locator(".refused").first).to_be_visible()
    zone.select_option(here)

    # Every card of a node takes an address: 32 of each P5.
    page.locator("select[name=subnet]").select_option("/25")
    _check(page)
    expect(found).to_contain_text("addresses")
    expect(found.locator(".refused")).to_have_count(1)
    page.locator("select[name=subnet]").select_option("/21")

    _check(page)
    expect(found.locator(".tag.good")).to_be_visible()
    expect(found).to_contain_text("will be made")
    page.locator("button[value=request]").click()
    expect(page).to_have_url(re.compile(r"/clusters/[0-9a-f-]{36}/"))
    expect(page.locator("h1 [data-state=requested]")).to_be_visible()

    cluster = customer.here
    plan = architect.go(f"{cluster}plan/")
    expect(plan.locator("main")).to_contain_text("p5.48xlarge")
    # The quota is there, the machines are not: the first try ends with the provider's sentence.
    Cloud(tree_of_one).post("faults", {"fault": "no_capacity", "operation": "CreateCluster", "times": 1})
    architect.go(f"{cluster}approve/").locator('form[action$="/approve/"] button[type=submit]').click()
    expect(architect.page.locator("h1 [data-state=requested]")).to_have_count(0)
    page.reload()  # what waits for a person does not poll; from here on the page follows by itself
    # Real events of the stack come by while it is made.
    expect(page.locator("main")).to_contain_text("CREATE_COMPLETE", timeout=LAUNCH)
    trouble = page.locator("#trouble")
    expect(trouble).to_contain_text("The provider has no room for it now.", timeout=LAUNCH)
    expect(trouble).to_contain_text("do not have sufficient capacity")
    expect(trouble).to_contain_text("another zone")
    trouble.get_by_role("link", name="Try again").click()
    page.locator('form[action$="/retry/"] button[type=submit]').click()
    expect(page.locator("#operation")).to_be_visible()
    expect(page.locator("h1 [data-state=ready]")).to_be_visible(timeout=LAUNCH)
    assert customer.faults == architect.faults == []


AT_ONCE = 50
ONE_ALLOWED = """
from clusters.models import QuotaGrant
from tenants.models import Tenant
from tenants.wall.acting import acting_for
with acting_for(Tenant.objects.get(slug="lumenfold"), staff=True):
    line = QuotaGrant.objects.get(instance_type="p5.48xlarge", region="ap-northeast-1")
    line.approved_instances = 1
    line.kept(by="engine")
"""


def _asks(tree: RunningTree, token: str, body: dict[str, Any]) -> tuple[int, str]:
    """Status and text of the answer to one request for a cluster."""
    headers = {
        "Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex, "Authorization": f"Bearer {token}"
    }  # fmt: skip
    url = f"{tree.url}/api/v1/t/lumenfold/clusters/"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=180) as a:
            return a.status, a.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_of_fifty_requests_over_http_one_gets_what_one_may_have(tree_of_one: RunningTree) -> None:
    tree_of_one.manage("shell", "-c", ONE_ALLOWED)
    engineer = Portal(tree_of_one, "bram@lumenfold.example")
    [place] = engineer.rows("participations/")
    [account] = engineer.rows("accounts/")
    groups = [group | {"count": 1} for group in examples.BODY["instance_groups"]]
    asked = {
        "participation": place["id"], "account": account["account_id"], "reason": "a race",
        "configuration": examples.BODY | {"instance_groups": groups},
    }  # fmt: skip
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(
            pool.map(lambda n: _asks(tree_of_one, engineer.token, asked | {"name": f"race-{n}"}), range(AT_ONCE))
        )
    taken = [text for status, text in answers if status == 202]
    refused = [text for status, text in answers if status == 422]
    assert len(taken) == 1, Counter(status for status, _text in answers)
    assert refused and all("the programme grants 1 and 1 are held" in text for text in refused)
    # Whoever waited too long for the others is told to come again, and nothing else happened to anybody.
    assert {status for status, _text in answers} <= {202, 422, 503}
    assert [row["name"].startswith("race-") for row in engineer.rows("clusters/")] == [True]
    [quota] = [row for row in engineer.rows("quotas/") if row["instance_type"] == "p5.48xlarge"]
    assert (quota["approved_instances"], quota["used"]) == (1, 1)
