"""In a real browser a job is launched from a template: the script appears as one types, and what is wrong is said before."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from clusters.models import Job, Node
from tenants.wall.acting import acting_for
from tests import examples
from tests.test_pages_checks import SITE, Window
from tests.town import Town, town

__all__ = ["town"]
SHOTS = os.environ.get("LAUNCH_SHOTS", "")


class Doing(Window):
    """A window in which what one sends stays, until the town is taken down."""

    def _answer(self, route: Any) -> None:
        sent = route.request
        if sent.method != "POST":
            super()._answer(route)
            return
        answer = self.client.generic(
            "POST", sent.url.removeprefix(SITE), sent.post_data_buffer or b"",
            content_type=sent.headers.get("content-type", ""),
            headers={name: value for name, value in sent.headers.items() if name.startswith("hx-")},
        )  # fmt: skip
        if answer.status_code == 303:  # a browser would go there on its own, past us
            route.fulfill(status=200, content_type="text/html", body=f'<a id="on" href="{answer["Location"]}">on</a>')
            return
        headers = {name: value for name, value in answer.headers.items() if name.lower() != "content-length"}
        route.fulfill(status=answer.status_code, headers=headers, body=answer.content)


@pytest.fixture
def window(browser: Any, town: Town) -> Iterator[Doing]:
    made = Doing(browser, town)
    with acting_for(town.world.hoshi):
        for seat in (2, 3, 4):
            if not Node.objects.filter(cluster=town.hoshi["clusters"], group="gpu", seat=seat).exists():
                examples.node(town.hoshi["clusters"], seat)
    yield made
    made.context.close()


def shoot(page: Any, name: str) -> None:
    """Pictures for whoever wants to look: LAUNCH_SHOTS names the folder."""
    for width in (1280, 360) if SHOTS else ():
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        page.screenshot(path=Path(SHOTS) / f"{name}-{width}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.chromium
def test_a_job_is_launched_from_a_template_and_again_with_a_change(town: Town, window: Doing) -> None:
    cluster = town.hoshi["clusters"]
    page = window.show(f"/t/hoshi/clusters/{cluster.pk}/launch/", "ml_engineer", "light", 1280)
    shoot(page, "choose")
    page.get_by_role("link", name="Plain torchrun").click()
    made = page.locator("#made")
    expect(made.locator("[data-heals=on]")).to_be_visible()
    page.get_by_label("Nodes").fill("3")
    expect(made).to_contain_text("24 processes in all")
    expect(made.locator("pre")).to_contain_text("#SBATCH --nodes=3")
    page.get_by_label("Checkpoints").fill("/tmp/here")
    expect(made).to_contain_text("has to lie on shared storage")
    shoot(page, "wrong")
    page.get_by_label("Checkpoints").fill("/fsx/checkpoints/llama")
    page.get_by_label("Further arguments").fill("--steps 5")
    page.get_by_label("Time limit").fill("600")
    page.get_by_label("Save the script as").fill("llama")
    expect(made.locator("pre")).to_contain_text("ARGUMENTS=(--steps 5)")
    shoot(page, "filled")
    page.get_by_role("button", name="Launch", exact=True).click()
    first = urlsplit(page.locator("#on").get_attribute("href") or "").path
    page.goto(SITE + first)
    shoot(page, "job")
    expect(page.locator("h1")).to_contain_text("torchrun")

    page.get_by_role("link", name="Launch another like it").click()
    page.wait_for_load_state("networkidle")  # what is typed before htmx is there is seen at the next stroke only
    page.get_by_label("Further arguments").fill("--steps 6")
    expect(page.locator("#made ins")).to_contain_text("--steps 6")
    shoot(page, "again")
    page.get_by_role("button", name="Launch", exact=True).click()
    page.goto(SITE + (page.locator("#on").get_attribute("href") or ""))
    page.get_by_role("link", name="Compare with before").click()
    expect(page.locator("#scripts del")).to_contain_text("--steps 5")
    expect(page.locator("#facts tr.differs").first).to_be_visible()
    shoot(page, "compare")
    with acting_for(town.world.hoshi):
        job = Job.objects.select_related("script_version").latest("created_at")
    assert job.again_of_id and job.script_version and job.script_version.number == 2


@pytest.mark.chromium
def test_a_script_is_judged_while_it_is_typed(town: Town, window: Doing) -> None:
    page = window.show(f"/t/hoshi/clusters/{town.hoshi['clusters'].pk}/launch/", "ml_engineer", "light", 1280)
    page.locator("textarea[name=script]").fill("#!/bin/bash\nexport HF_TOKEN=abc\nsrun --container-image a.sqsh x\n")
    found = page.locator("#findings")
    expect(found).to_contain_text("HF_TOKEN is written out")
    expect(found).to_contain_text(re.compile("Error, line 3.*a.sqsh"))
    expect(found.locator("[data-heals=off]")).to_be_visible()
    shoot(page, "own")
    page.locator("input[name=name]").fill("mine")
    page.locator("input[name=accept]").check()
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.locator(".error-summary")).to_contain_text("HF_TOKEN")
    shoot(page, "refused")
