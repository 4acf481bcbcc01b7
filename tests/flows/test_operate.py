"""Each architecture created, changed, scaled and deleted from the pages, with every process running, all of them at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from playwright.sync_api import Browser, Page, expect

from tests import programmes
from tests.clusters.engine.test_deletion import inventory
from tests.flows.test_story import Visitor
from tests.tree import RunningTree

pytestmark = [pytest.mark.tree, pytest.mark.chromium, pytest.mark.pcluster]

LAUNCH = 900_000  # milliseconds; the program of ParallelCluster runs one at a time
ARCHITECT = "ren.lead-sa@nfmp.example"


@dataclass(frozen=True)
class Case:
    """A cluster, who runs it, where, and by how many nodes it is scaled; the demo asks for those without a document."""

    architecture: str
    engineer: str
    account: str
    region: str
    scale: int = -1
    again: bool = False  # scaled once more, to where it was
    document: dict[str, Any] | None = None


def asked_for(architecture: str, *groups: dict[str, Any]) -> dict[str, Any]:
    storage = {"lustre": {"capacity_gib": 1200, "mbs_per_tib": 250}}
    place = {"region": "ap-northeast-1", "az_id": "apne1-az4", "subnet_cidr": "/22"}
    return {"architecture": architecture, **place, "instance_groups": list(groups), "storage": storage}


def group(name: str, kind: str, count: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "instance_type": kind, "count": count, "role": "compute", **more}


TWO_HEADS = asked_for(
    "hyperpod-slurm-ha",
    group("head", "m5.4xlarge", 2, role="controller"),
    group("workers", "p5.48xlarge", 2, training_plan="tp-aster-train-0115"),
)
ON_EC2 = asked_for(
    "parallelcluster-p4d", group("head", "m5.4xlarge", 1, role="controller"), group("workers", "p4d.24xlarge", 1)
)
CASES = {
    "kest-trn": Case("hyperpod-slurm", "iona@kestrivane.example", "000000000011", "us-east-1", again=True),
    "fern-vla": Case("hyperpod-eks", "wilma@fernolith.example", "000000000006", "us-west-2"),
    "glim-voice": Case("parallelcluster-p5", "finn@glimmerok.example", "000000000007", "ap-northeast-1"),
    "dove-trn": Case("parallelcluster-trn1", "bea@dovemoor.example", "000000000004", "us-west-2"),
    "two-heads": Case(
        "hyperpod-slurm-ha", "riku@asterlune.example", "000000000001", "ap-northeast-1", +1, document=TWO_HEADS
    ),
    "on-p4d": Case(
        "parallelcluster-p4d", "pavel@emberquill.example", "000000000005", "ap-northeast-1", +1, document=ON_EC2
    ),
}


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTree]:
    folder = tmp_path_factory.mktemp("operate")
    settings = {"SANDBOX_SPEED": "1200", "BELL_SECONDS": "1", "CONSISTENCY_SECONDS": "5"}
    running = RunningTree(folder / "var", PCLUSTER_LOCK=str(folder / "lock"), **settings)
    try:
        running.wait_until_ready(300)
        told = [name for name, case in CASES.items() if case.document is None]
        running.manage("demo", "--file", str(programmes.only(told, folder)), seconds=600)
        yield running
    finally:
        running.stop()


class Operator:
    """A cluster's platform engineer, on its pages."""

    def __init__(self, browser: Browser, tree: RunningTree, name: str) -> None:
        self.name, self.case, self.tree = name, CASES[name], tree
        self.visitor = Visitor(browser, tree, self.case.engineer)
        self.page, self.here, self.workers = self.visitor.page, "", 0

    def ask(self) -> None:
        """By a pasted configuration, where the demo did not."""
        if self.case.document is not None:
            self.visitor.go(f"/t/{self.case.engineer.split('@')[1].split('.')[0]}/clusters/request/?mode=paste")
            self.page.locator("[name=name]").fill(self.name)
            self.page.locator("[name=reason]").fill("another kind")
            self.page.locator("[name=document_text]").fill(json.dumps(self.case.document))
            self.page.locator("button[value=request]").click()
        else:
            self.visitor.go("/clusters/")
            self.page.get_by_role("link", name=self.name, exact=True).click()
        expect(self.page).to_have_url(re.compile(r"/clusters/[0-9a-f-]{36}/"))
        self.here = re.sub(r"^https?://[^/]+", "", self.page.url)

    def look(self) -> Page:
        return self.visitor.go(self.here)

    def change(self, by: int, throughput: str = "") -> None:
        page = self.visitor.go(f"{self.here}change/")
        names = page.locator('input[name$="-name"]').evaluate_all("all => all.map(one => one.value)")
        count = page.locator(f'input[name="groups-{names.index("workers")}-count"]')
        self.workers = int(count.input_value()) + by
        count.fill(str(self.workers))
        if throughput:
            page.locator("select[name=lustre_mbs]").select_option(throughput)
        page.locator("input[name=reason], textarea[name=reason]").fill("another run")
        page.locator("button[name=do][value=plan]:not(.sr-only)").click()
        expect(page.locator("#plan")).to_contain_text("workers")
        page.locator("button[name=do][value=apply]").click()
        expect(page.locator("#operation")).to_be_visible()

    def settled(self) -> None:
        """What was under way is over, and the cluster is ready."""
        page = self.look()
        expect(page.locator("#operation"), self.name).to_have_count(0, timeout=LAUNCH)
        in_state(page, "ready")

    def retire(self) -> None:
        page = self.visitor.go(f"{self.here}retire/")
        page.locator("[name=retire-why]").fill("the run is over")
        page.locator("form button[type=submit].danger").click()


def in_state(page: Page, state: str) -> None:
    expect(page.locator(f"h1 [data-state={state}]")).to_be_visible(timeout=LAUNCH)


def agree(architect: Visitor, operator: Operator) -> None:
    architect.go(f"{operator.here}approve/").locator('form[action$="/approve/"] button[type=submit]').click()
    expect(architect.page).to_have_url(re.compile(re.escape(operator.here) + "$"))


def account(tree: RunningTree, case: Case) -> Callable[[str], Any]:
    """The account's owner, who sees everything in it."""
    cloud = json.loads((tree.var / "environment.json").read_text())["AWS_ENDPOINT_URL"]
    keys = {"aws_access_key_id": f"AKIAOWNER{case.account}", "aws_secret_access_key": "owner"}
    return lambda service: boto3.client(service, region_name=case.region, endpoint_url=cloud, **keys)


def test_every_architecture_is_created_changed_scaled_and_deleted_from_its_pages(
    operated: RunningTree, browser: Browser
) -> None:
    architect = Visitor(browser, operated, ARCHITECT)
    operators = [Operator(browser, operated, name) for name in CASES]
    for one in operators:
        one.ask()
        if one.case.document is not None:
            agree(architect, one)
    # Each is changed as soon as it is there, while the others still come: those without a program first.
    for one in operators:
        one.settled()
        one.change(one.case.scale, "1000")
        if one.case.scale > 0:
            expect(one.page.locator("#operation [data-state=waiting]")).to_be_visible()
            agree(architect, one)
    for one in operators:
        one.settled()
        expect(one.page.locator("#configuration")).to_contain_text("1000 MB/s/TiB")
        running = one.page.locator("#nodes .node[data-state=running]")
        assert running.count() >= one.workers, one.name
        if one.case.again:
            one.change(1)
            agree(architect, one)
    for one in operators:
        if one.case.again:
            one.settled()
        one.retire()
    for one in operators:
        page = one.look()
        in_state(page, "deleted")
        page.reload()
        listed = page.locator("#leftovers").inner_text()
        assert "AWS::FSx::FileSystem" in listed
        unlisted = {name for name in inventory(account(operated, one.case)) if name not in listed}
        assert not unlisted, f"{one.name} left what nobody lists: {unlisted}"
        assert not one.visitor.faults
    assert not architect.faults
