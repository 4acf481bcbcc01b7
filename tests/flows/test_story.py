"""The whole story in a browser with every process running: request, approval, launch, failure, case, review, minutes;
that of a job whose node dies: template, log and chart, suspect, replacement, on from its checkpoint; and that of somebody
new: the invitation's mail, an account, the record, capacity asked for and granted, and a change that outlives its author."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message
from playwright.sync_api import Browser, Page, expect

from tests import programmes
from tests.asking import Cloud, Portal
from tests.tree import RunningTree, free_port

pytestmark = [pytest.mark.tree, pytest.mark.chromium]

SHOTS = os.environ.get("STORY_SHOTS", "")
LAUNCH, MOMENT = 180_000, 30_000  # milliseconds
SCRIPT = """#!/bin/bash
echo "loading shards of the corpus"
sleep 20
echo "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out"
exit 137
"""
INTERNAL, SHARED = "between us: the node was replaced twice", "We look at the fabric of node 7 today"


class Mailbox(Message):
    """What a real mail server was given, for anybody."""

    def __init__(self) -> None:
        super().__init__()
        self.letters: list[EmailMessage] = []
        self.port = 0

    def prepare_message(self, session: Any, envelope: Any) -> EmailMessage:
        letter = message_from_bytes(envelope.content, policy=policy.default)
        letter["X-Given-To"] = ", ".join(envelope.rcpt_tos)
        return letter

    def handle_message(self, message: EmailMessage) -> None:
        self.letters.append(message)

    def link_to(self, address: str, seconds: float = 30) -> str:
        """The link in the mail to this address, once it has come."""
        for _ in range(int(seconds * 5)):
            for letter in self.letters:
                if letter["X-Given-To"] == address:
                    [link] = re.findall(r"http://\S+/join/\S+", letter.get_content())
                    return str(link)
            time.sleep(0.2)
        raise AssertionError(f"no mail for {address}; there is mail for {[one['X-Given-To'] for one in self.letters]}")


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
    server = Controller(box, hostname="127.0.0.1", port=free_port())
    server.start()
    box.port = server.port
    yield box
    server.stop()


@pytest.fixture(scope="module")
def story_tree(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox) -> Iterator[RunningTree]:
    folder = tmp_path_factory.mktemp("story")
    settings = {"SANDBOX_SPEED": "1200", "BELL_SECONDS": "1", "SETTLE_SECONDS": "1"}
    settings |= {"MAIL_HOST": "127.0.0.1", "MAIL_PORT": str(mailbox.port)}
    running = RunningTree(folder / "var", **settings)
    try:
        running.wait_until_ready(120)
        running.manage("demo", "--file", str(programmes.only((), folder)), seconds=120)
        yield running
    finally:
        running.stop()


class Visitor:
    """One person in a browser window of their own."""

    def __init__(self, browser: Browser, tree: RunningTree, email: str) -> None:
        self.url = tree.url
        self.page: Page = browser.new_context(reduced_motion="reduce").new_page()
        self.page.set_default_timeout(MOMENT)
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(tree.url + "/")
        self.page.locator(f'button[name=email][value="{email}"]').click()
        expect(self.page).to_have_url(tree.url + "/")

    def go(self, path: str) -> Page:
        answer = self.page.goto(self.url + path)
        assert answer is not None and answer.status == 200, f"{path}: {answer and answer.status}"
        return self.page

    def status(self, path: str) -> int:
        return self.page.request.get(self.url + path, max_redirects=0).status

    @property
    def here(self) -> str:
        return self.page.url.removeprefix(self.url).split("#")[0]


def _ask_for_a_cluster(customer: Visitor) -> str:
    page = customer.go("/t/asterlune/clusters/request/")
    page.locator("input[name=name]").fill("story")
    page.locator("input[name=reason]").fill("the 100B run")
    # A node that fails waits for a person here, who reads why on the page of its job.
    page.locator("select[name=node_recovery]").select_option("None")
    page.locator("button[value=check]:visible").last.click()
    expect(page.locator("#findings").get_by_text("It fits", exact=True)).to_be_visible()
    page.locator("button[value=request]").click()
    expect(page).to_have_url(re.compile(r"/clusters/[0-9a-f-]{36}/"))
    expect(page.locator("h1 [data-state=requested]")).to_be_visible()
    return customer.here


def _launch_a_job_that_fails(customer: Visitor) -> str:
    page = customer.page
    page.locator('a[href*="/clusters/"][href$="/launch/"]').first.click()
    page.locator("input[name=name]").fill("pretrain-story")
    page.locator("input[name=nodes]").fill("20")
    page.locator("textarea[name=script]").fill(SCRIPT)
    page.locator("input[name=accept]").check()
    page.locator('form[action$="/launch/"] button[type=submit]').click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    expect(page.locator("h1 [data-state=failed]")).to_be_visible(timeout=LAUNCH)
    expect(page.locator("#log")).to_contain_text("ibv_modify_qp failed")
    return customer.here


def _find_the_case(customer: Visitor) -> str:
    """Triage runs beside: the page is looked at again until the case is on it."""
    link = customer.page.locator('main a[href*="/cases/"]').first
    for _ in range(20):
        if link.count():
            break
        customer.page.wait_for_timeout(1000)
        customer.page.reload()
    link.click()
    page = customer.page
    expect(page).to_have_url(re.compile(r"/cases/[0-9a-f-]{36}/"))
    expect(page.locator("main")).to_contain_text("137")
    expect(page.locator("main")).to_contain_text("ibv_modify_qp failed")
    return customer.here


def _work_on_it(architect: Visitor, case: str) -> None:
    page = architect.go(case)
    page.locator('form[action$="/take/"] button').click()
    expect(page.locator(".sub [data-state=in_progress]")).to_be_visible()
    for text, audience in ((INTERNAL, "internal"), (SHARED, "shared")):
        page.locator("textarea[name=text]").fill(text)
        page.locator(f"#write input[name=audience][value={audience}]").check()
        page.locator("#write button.primary").click()
        expect(page.locator("#notes")).to_contain_text(text)


def _hold_a_review(architect: Visitor) -> str:
    page = architect.go("/reviews/")
    page.wait_for_timeout(1500)  # the settling margin of this tree: what was just written has to be in it
    page.locator("input[name=which][value=extra]").check()
    page.locator('form[action$="/freeze/"] button[type=submit]').click()
    expect(page).to_have_url(re.compile(r"/reviews/[0-9a-f-]{36}/"))
    item = page.locator(".agenda li").filter(has_text="Asterlune")
    expect(item).to_have_count(1)
    if item.locator("details").get_attribute("open") is None:
        item.locator("summary").click()
    item.locator("input[name$=next_step]").fill("Replace the cable of node 7")
    item.locator("input[name$=due]").fill((datetime.now(UTC).date() + timedelta(days=7)).isoformat())
    item.locator("form button.primary").click()
    page.locator('form[action$="/publish/"] button:enabled').click()
    expect(page.locator("h1 [data-state=published]")).to_be_visible(timeout=30_000)
    return architect.here


@pytest.fixture(scope="module")
def story_cluster(story_tree: RunningTree, browser: Browser) -> str:
    """Where the cluster is that one person asked for, another approved, and whose page the first followed to the end."""
    customer = Visitor(browser, story_tree, "riku@asterlune.example")
    architect = Visitor(browser, story_tree, "ren.lead-sa@nfmp.example")
    cluster = _ask_for_a_cluster(customer)
    architect.go(f"{cluster}approve/").locator('form[action$="/approve/"] button[type=submit]').click()
    expect(architect.page.locator("h1 [data-state=requested]")).to_have_count(0)
    customer.page.reload()  # a request that waits for a person does not poll; from here on the page follows by itself
    expect(customer.page.locator("h1 [data-state=ready]")).to_be_visible(timeout=LAUNCH)
    assert customer.faults == architect.faults == []
    return cluster


def test_from_a_request_to_the_published_minutes(story_tree: RunningTree, story_cluster: str, browser: Browser) -> None:
    customer = Visitor(browser, story_tree, "riku@asterlune.example")
    architect = Visitor(browser, story_tree, "ren.lead-sa@nfmp.example")
    stranger = Visitor(browser, story_tree, "iona@kestrivane.example")

    cluster = story_cluster
    customer.go(cluster)
    job = _launch_a_job_that_fails(customer)
    case = _find_the_case(customer)
    _work_on_it(architect, case)
    customer.page.reload()
    expect(customer.page.locator("main")).to_contain_text(SHARED)
    expect(customer.page.locator("main")).not_to_contain_text(INTERNAL)
    review = _hold_a_review(architect)

    page = customer.go("/t/asterlune/")
    page.locator('a[href*="/minutes/"]').first.click()
    minutes = customer.here
    expect(page.locator("main")).to_contain_text("Replace the cable of node 7")
    expect(page.locator("main")).not_to_contain_text(INTERNAL)

    for path in (cluster, job, case, minutes, "/t/asterlune/", "/t/asterlune/history/"):
        assert stranger.status(path) == 404, path
    assert stranger.status(review) in (403, 404)
    for path in ("/", "/clusters/", "/jobs/", "/cases/", "/t/kestrivane/", "/t/kestrivane/history/"):
        text = stranger.go(path).content()
        for word in ("Asterlune", "asterlune", "pretrain-story", "ibv_modify_qp", "node 7", INTERNAL):
            assert word not in text, f"{word} on {path}"
    assert customer.faults == architect.faults == stranger.faults == []


def _launch_from_a_template(customer: Visitor, cluster: str) -> str:
    page = customer.go(cluster)
    page.locator('a[href*="/clusters/"][href$="/launch/"]').first.click()
    page.get_by_role("link", name="Plain torchrun").click()
    page.wait_for_load_state("networkidle")
    page.get_by_label("Name", exact=True).fill("torchrun-story")
    page.get_by_label("Nodes", exact=True).fill("20")
    page.get_by_label("Time limit").fill("9000")
    expect(page.locator("#made")).to_contain_text("160 processes in all")
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    return customer.here


def shoot(page: Page, name: str) -> None:
    """Pictures for whoever wants to look: STORY_SHOTS names the folder."""
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width}"
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"{name}-{width}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})


def _step(page: Page) -> int:
    return int(re.sub(r"\D", "", page.locator("#now .split b").inner_text().split(" of ")[0]))


def test_a_node_dies_is_suspected_and_replaced_and_its_job_goes_on(
    story_tree: RunningTree, story_cluster: str, browser: Browser
) -> None:
    customer = Visitor(browser, story_tree, "riku@asterlune.example")
    page = customer.page
    job = _launch_from_a_template(customer, story_cluster)
    expect(page.locator("h1 [data-state=running]")).to_be_visible(timeout=LAUNCH)
    expect(page.locator("#log-lines")).to_contain_text("lm loss")
    expect(page.locator(".chart polyline").first).to_be_visible()
    expect(page.locator("#risk")).to_contain_text("step ", timeout=LAUNCH)
    before, lines = _step(page), page.locator("#log-lines li").count()
    expect(page.locator("#now .split b")).not_to_contain_text(f"step {before} ", timeout=LAUNCH)
    page.wait_for_function(f"document.querySelectorAll('#log-lines li').length > {lines}", timeout=LAUNCH)
    assert _step(page) > before
    shoot(page, "running")

    Cloud(story_tree).post(
        "faults", {"fault": "node_failure", "service": "sagemaker", "account": "000000000001", "match": "*/workers"}
    )
    expect(page.locator("h1 [data-state=recovering]")).to_be_visible(timeout=LAUNCH)
    suspect = page.locator("#nodes tbody tr").first
    expect(suspect).to_contain_text("likely", timeout=LAUNCH)
    expect(suspect).to_contain_text("%")
    expect(page.locator("#nodes tbody tr")).to_have_count(20)
    assert page.locator("#nodes tbody tr", has_text="%").count() == 1
    expect(page.locator("#attempts")).to_contain_text("a node was lost", timeout=LAUNCH)
    name = suspect.locator("th").inner_text()
    shoot(page, "suspect")

    suspect.get_by_role("link", name="Replace it").click()
    page.locator("[name=why]").fill("Xid 79")
    assert page.locator("input[name=nodes]:checked").count() == 1
    page.get_by_role("button", name="Send the order").click()
    expect(page).to_have_url(re.compile(r"/clusters/[0-9a-f-]{36}/"))
    customer.go(job)
    expect(page.locator("h1 [data-state=running]")).to_be_visible(timeout=LAUNCH)
    expect(page.locator("#log-lines")).to_contain_text("successfully loaded checkpoint", timeout=LAUNCH)
    expect(page.locator("#risk")).to_contain_text("from step", timeout=LAUNCH)
    first, second = page.locator("#attempts tbody tr").nth(1), page.locator("#attempts tbody tr").nth(0)
    expect(page.locator("#attempts tbody tr")).to_have_count(2)
    expect(first).to_contain_text(name)
    expect(second).not_to_contain_text(f"{name},")
    expect(second).to_contain_text(f"{name}: ")
    expect(page.locator("#facts")).to_contain_text(re.compile(r"Restarts\s*1"))
    shoot(page, "resumed")
    assert customer.faults == []


NEWCOMER = "noriko@asterlune.example"


def test_somebody_new_comes_from_the_mail_to_granted_capacity(
    story_tree: RunningTree, mailbox: Mailbox, browser: Browser
) -> None:
    lead = Visitor(browser, story_tree, "emi@asterlune.example")
    page = lead.go("/t/asterlune/people/invite/")
    page.locator("[name=email]").fill(NEWCOMER)
    page.locator("[name=role]").select_option("technical_lead")
    page.locator("main button[type=submit]").click()
    expect(page).to_have_url(re.compile(r"/t/asterlune/people/"))
    link = mailbox.link_to(NEWCOMER)
    began, steps = time.monotonic(), 0

    page = browser.new_context(reduced_motion="reduce").new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))

    def send(**fields: str) -> None:
        nonlocal steps
        for name, value in fields.items():
            field = page.locator(f"main [name={name}]")
            if field.evaluate("one => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        page.locator("main button[type=submit]").last.click()
        steps += 1

    page.goto(link)
    send(name="Noriko 森", password="a long walk by the sea 9")
    page.get_by_role("link", name="Go on").click()
    expect(page.locator("#waits")).to_be_visible()
    shoot(page, "newcomer-home")

    record = f"{story_tree.url}/t/asterlune/record"
    day = (datetime.now(UTC) + timedelta(days=40)).date().isoformat()
    for block, fields in {
        "ingest": {
            "name": "Web crawl 2026",
            "method": "s3_copy",
            "planned_tb": "40",
            "prefix": "s3://asterlune-data/crawl/",
        },
        "milestone": {"title": "600 billion tokens", "kind": "training", "due_on": day},
        "result": {"kind": "model", "title": "Asterlune 100B", "openness": "weights", "licence": "Apache-2.0"},
        "monitoring": {"kind": "grafana", "name": "Boards", "link": "https://boards.asterlune.example/"},
        "evaluation": {"model_code": "AL-100B", "benchmark": "Exam", "score": "61.5", "measured_on": day},
    }.items():
        page.goto(f"{record}/{block}/add/")
        send(**fields)
        expect(page).to_have_url(f"{story_tree.url}/t/asterlune/#record")
    for told in ("Web crawl 2026", "600 billion tokens", "Asterlune 100B", "Boards", "61.5"):
        expect(page.locator("#record")).to_contain_text(told)
    shoot(page, "newcomer-record")

    page.goto(f"{story_tree.url}/t/asterlune/capacity/")
    page.locator('a[href*="/capacity/ask/"]').first.click()
    send(
        kind="more",
        instance_type="p5.48xlarge",
        region="ap-northeast-1",
        instances="4",
        starts_on=day,
        reason="The second stage.",
    )
    expect(page).to_have_url(re.compile(r"/capacity-requests/[0-9a-f-]{36}/"))
    shoot(page, "newcomer-capacity")
    asked = page.url.removeprefix(story_tree.url)
    if page.locator("h1 [data-state=granted]").count() == 0:
        office = Visitor(browser, story_tree, "hana.pm@nfmp.example")
        office.go(asked)
        office.page.locator("[name=decision][value=grant]").check()
        office.page.locator("select[name=budget_line]").select_option(index=1)
        office.page.locator("[name=why]").fill("It fits the plan.")
        office.page.locator('form[action$="/decide/"] button[type=submit]').click()
        page.reload()
    expect(page.locator("[data-state=granted]").first).to_be_visible()
    assert not faults
    print(f"from the mail to granted capacity: {steps} forms in {time.monotonic() - began:.0f} s")

    page.goto(f"{story_tree.url}/t/asterlune/#ingests")
    page.locator("#ingests").get_by_role("link", name="Edit Web crawl 2026").click()
    send(planned_tb="44")
    expect(page.locator("#ingests")).to_contain_text("44")
    _forget(story_tree, NEWCOMER)
    page.reload()
    expect(page).to_have_url(re.compile("/accounts/login/"))
    changed = Portal(story_tree, "emi@asterlune.example").rows("t/asterlune/entries/", kind="record.changed")
    [told] = [row for row in changed if row["facts"].get("changes", {}).get("planned_tb")]
    assert [float(value) for value in told["facts"]["changes"]["planned_tb"]] == [40, 44]
    assert told["actor_name"].startswith("a former member (") and "Noriko" not in str(changed)


def _forget(tree: RunningTree, email: str) -> None:
    """One of the office asks for it, and another one does it."""
    asked = {"email": email, "reason": "By letter of today."}
    row = Portal(tree, "sora.pm@nfmp.example", "--internal").sends("t/programme/erasures/", asked)
    Portal(tree, "hana.pm@nfmp.example", "--internal").sends(f"t/programme/erasures/{row['id']}/erase/", {})
