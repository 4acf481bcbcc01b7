"""A real Slurm behind the portal, with every process running: launched, held, begun again and cancelled from the pages; a
node is set down, another loses its power, and the run goes on from its checkpoint."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from playwright.sync_api import Browser, Page, expect

from tests import programmes
from tests.asking import Cloud, wait_for
from tests.flows.test_story import Visitor
from tests.slurm.cluster import RealSlurm
from tests.slurm.shipping import Shipper
from tests.tree import RunningTree

pytestmark = [pytest.mark.tree, pytest.mark.chromium, pytest.mark.slurm]

ACCOUNT, REGION, NODES = "000000000001", "ap-northeast-1", 3
PATIENCE = 90_000  # milliseconds
SOON = 45_000
DOCUMENT = {
    "architecture": "hyperpod-slurm",
    "region": REGION,
    "az_id": "apne1-az4",
    "subnet_cidr": "/22",
    "instance_groups": [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
        {
            "name": "workers",
            "instance_type": "p5.48xlarge",
            "count": NODES,
            "role": "compute",
            "training_plan": "tp-aster-train-0115",
        },
    ],
    "storage": {"lustre": {"capacity_gib": 1200, "mbs_per_tib": 250}},
}
# It keeps how far it came, and says where it goes on: what a scheduler begins again begins from the top.
SCRIPT = """#!/bin/bash
kept=/fsx/kept-$SLURM_JOB_ID; step=0
[ -f $kept ] && step=$(cat $kept) && echo "resumed from step $step"
while [ $step -lt 10000 ]; do
  step=$((step+1)); echo "iteration $step/10000 on $SLURM_JOB_NODELIST"; echo $step > $kept
  echo "successfully saved checkpoint from iteration $step to $kept"; sleep 1
done
"""


@dataclass
class Proving:
    """The portal, and the real cluster that it takes for the one in the sandbox cloud's account."""

    tree: RunningTree
    slurm: RealSlurm
    owner: Any

    def point(self, name: str) -> None:
        """As a controller would that has come up: say where Slurm is, and with which key."""
        group = f"/cohort/clusters/{name}/jobs"
        told = {"url": self.slurm.url, "versions": self.slurm.versions, "user": self.slurm.user, "log_group": group}
        self.owner("ssm").put_parameter(
            Name=f"/cohort/clusters/{name}/slurm", Value=json.dumps(told), Type="String", Overwrite=True
        )
        key = base64.b64encode(self.slurm.key).decode()
        self.owner("secretsmanager").put_secret_value(SecretId=f"cohort/clusters/{name}/slurm-jwt", SecretString=key)


@pytest.fixture(scope="module")
def proving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proving]:
    folder = tmp_path_factory.mktemp("real-slurm")
    settings = {"SANDBOX_SPEED": "2400", "BELL_SECONDS": "1", "CONSISTENCY_SECONDS": "5", "WEB_WORKERS": "1"}
    tree = RunningTree(folder / "var", **settings)
    slurm = RealSlurm(NODES)
    try:
        slurm.start()
        tree.wait_until_ready(180)
        tree.manage("demo", "--file", str(programmes.only((), folder)), seconds=120)
        cloud = json.loads((tree.var / "environment.json").read_text())["AWS_ENDPOINT_URL"]
        keys = {"aws_access_key_id": f"AKIAOWNER{ACCOUNT}", "aws_secret_access_key": "owner"}
        owner = lambda service: boto3.client(service, region_name=REGION, endpoint_url=cloud, **keys)
        # Nobody but the real one answers for Slurm.
        fault = {"fault": "no_answer", "service": "slurm", "operation": "GET jobs", "times": 100_000}
        Cloud(tree).post("faults", fault)
        yield Proving(tree, slurm, owner)
    finally:
        tree.stop()
        slurm.stop()


def _cluster(customer: Visitor, architect: Visitor, proving: Proving) -> tuple[str, str]:
    """Its page and its name in the account, once it is ready: its smoke job ran on the real Slurm."""
    page = customer.go("/t/asterlune/clusters/request/?mode=paste")
    page.locator("[name=name]").fill("proving")
    page.locator("[name=reason]").fill("runs that must survive a node")
    page.locator("[name=document_text]").fill(json.dumps(DOCUMENT))
    page.locator("button[value=request]").click()
    expect(page).to_have_url(re.compile(r"/clusters/[0-9a-f-]{36}/"))
    here = customer.here
    architect.go(f"{here}approve/").locator('form[action$="/approve/"] button[type=submit]').click()
    expect(architect.page.locator("h1 [data-state=requested]")).to_have_count(0)

    def told() -> list[str]:
        found = proving.owner("ssm").get_parameters_by_path(Path="/cohort/clusters", Recursive=True)["Parameters"]
        return [one["Name"].split("/")[3] for one in found if one["Name"].endswith("/slurm")]

    wait_for("the controller to say how it is reached", lambda: bool(told()), 120)
    [name] = told()
    proving.point(name)
    customer.page.reload()
    expect(customer.page.locator("h1 [data-state=ready]")).to_be_visible(timeout=PATIENCE * 2)
    return here, name


def _launch(customer: Visitor, cluster: str, name: str, nodes: int) -> str:
    page = customer.go(f"{cluster}launch/")
    page.locator("input[name=name]").fill(name)
    page.locator("input[name=nodes]").fill(str(nodes))
    page.locator("textarea[name=script]").fill(SCRIPT)
    page.get_by_role("button", name="Launch", exact=True).click()
    page.get_by_label("Launch it with its warnings").check()  # the script of a test knows no EFA
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    return customer.here


def _ask(customer: Visitor, job: str, deed: str) -> None:
    """On the deed's own page, as without JavaScript."""
    page = customer.go(f"{job}{deed}/")
    page.locator(f'form[action$="/{deed}/"] button[type=submit]').click()
    expect(page).to_have_url(re.compile(re.escape(job) + "$"))


def _attempt(page: Page, number: int) -> Any:
    return page.locator("#attempts tbody tr").filter(has=page.locator("th", has_text=re.compile(rf"^{number}$")))


def _runs_again(page: Page, number: int, why: str) -> None:
    """The run of that number is under way, its cause is told, and it went on from where the one before stood."""
    expect(_attempt(page, number)).to_contain_text(why, timeout=SOON)
    expect(page.locator("h1 [data-state=running]")).to_be_visible(timeout=SOON)
    expect(_attempt(page, number)).to_contain_text("gpu", timeout=SOON)


def test_a_run_survives_its_nodes_and_obeys_its_people(proving: Proving, browser: Browser) -> None:
    customer = Visitor(browser, proving.tree, "riku@asterlune.example")
    architect = Visitor(browser, proving.tree, "ren.lead-sa@nfmp.example")
    cluster, name = _cluster(customer, architect, proving)
    slurm, cloud = proving.slurm, json.loads((proving.tree.var / "environment.json").read_text())["AWS_ENDPOINT_URL"]
    shipper = Shipper(slurm.logs, f"/cohort/clusters/{name}/jobs", cloud, ACCOUNT, REGION).always()
    try:
        run = _launch(customer, cluster, "pretrain", 2)
        page = customer.page
        expect(page.locator("h1 [data-state=running]")).to_be_visible(timeout=SOON)
        expect(page.locator("#log")).to_contain_text("iteration", timeout=SOON)

        # What waits is held and let go, and cancelled.
        second = _launch(customer, cluster, "evaluate", 2)
        expect(page.locator("h1 [data-state=queued]")).to_be_visible(timeout=SOON)
        _ask(customer, second, "hold")
        expect(page.get_by_text("This job is held.")).to_be_visible(timeout=SOON)
        _ask(customer, second, "release")
        expect(page.get_by_text("This job is held.")).to_have_count(0, timeout=SOON)
        expect(page.locator("h1 [data-state=queued]")).to_be_visible()
        _ask(customer, second, "cancel")
        expect(page.locator("h1 [data-state=cancelled]")).to_be_visible(timeout=SOON)

        # Begun again because somebody asked.
        _ask(customer, run, "requeue")
        _runs_again(page, 2, "somebody asked for it")
        expect(page.locator("#log")).to_contain_text("resumed from step", timeout=SOON)

        # Begun again because a node was set down, and because another lost its power.
        lost = _nodes(page, 2, slurm)[0]
        slurm.set_down(lost)
        _runs_again(page, 3, f"{lost}: XID 79")
        slurm.resume(lost)
        dark = _nodes(page, 3, slurm)[0]
        slurm.cut_power(dark)
        _runs_again(page, 4, f"{dark}: Not responding")
        assert {lost, dark}.isdisjoint({dark} & set(_nodes(page, 4, slurm)))

        # Lost contact is no reason to touch what runs.
        slurm.stop_rest()
        expect(page.get_by_text("Lost contact with the scheduler")).to_be_visible(timeout=SOON)
        slurm.start_rest()
        expect(page.get_by_text("Lost contact with the scheduler")).to_have_count(0, timeout=SOON)
        expect(page.locator("h1 [data-state=running]")).to_be_visible()
        expect(_attempt(page, 4)).to_contain_text("gpu")
        expect(page.locator("#attempts tbody tr")).to_have_count(4)

        _ask(customer, run, "cancel")
        expect(page.locator("h1 [data-state=cancelled]")).to_be_visible(timeout=SOON)
        assert not customer.faults and not architect.faults
    finally:
        shipper.stop()
    # Nothing was ever submitted twice: the proof, two runs, and the errand that asked for a requeue.
    names = slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").split()
    assert len(names) == len(set(names)) == 4, names


def _nodes(page: Page, number: int, slurm: RealSlurm) -> list[str]:
    """The page writes them as Slurm does, and Slurm reads them."""
    told = re.findall(r"gpu\S+", _attempt(page, number).locator("td").last.inner_text())
    return slurm.ask("scontrol", "show", "hostnames", ",".join(told)).split()
