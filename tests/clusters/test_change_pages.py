"""The pages and the API on which a cluster is changed: first the plan, then the deed."""

import json
import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from clusters import spending
from clusters.models import Job, Node, NodeInstance, NodeOrder, Operation, Revision
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tests import examples
from tests.clusters.test_pages import hoshi, page_of, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]


def form(page: str, **changes: str) -> dict[str, str]:
    """What the page's form would send, with these changes."""
    found = dict(re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', page))
    for name, body in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', page, re.S):
        chosen = re.search(r'value="([^"]*)" selected', body) or re.search(r'value="([^"]*)"', body)
        found[name] = chosen[1] if chosen else ""
    return {name: value for name, value in found.items() if "DELETE" not in name and name != "stop_jobs"} | changes


def test_a_change_is_seen_first_and_applied_as_it_was_seen(world: World, hoshi: Examples) -> None:
    cluster, client = hoshi["clusters"], signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi):
        Job.objects.filter(cluster=cluster).update(state="succeeded")
    address = f"{page_of(cluster)}change/"
    first = form(client.get(address).content.decode(), do="plan", reason="less", **{"groups-1-count": "3"})
    shown = client.post(address, first)
    page = shown.content.decode()
    assert shown.status_code == 200 and "Nodes of the group gpu: from 4 to 3." in page
    assert "shrinks by 1 to 3" in page and "UpdateCluster" in page and "fictional" in page
    with acting_for(world.hoshi):
        assert not Operation.objects.filter(cluster=cluster, reason="less").exists()
    stale = client.post(address, form(page, do="apply", reason="less", **{"groups-1-count": "2"}))
    assert stale.status_code == 409 and "no longer what you looked at" in stale.content.decode()
    applied = client.post(address, form(page, do="apply", reason="less"))
    assert applied.status_code == 303, applied.content.decode()
    with acting_for(world.hoshi):
        operation = Operation.objects.get(cluster=cluster, reason="less")
        assert (operation.state, operation.revision) == ("running", 2)
        assert Revision.objects.get(cluster=cluster, number=2).body["instance_groups"][1]["count"] == 3
    assert "under way" in client.get(page_of(cluster)).content.decode()
    assert "is under way since" in client.get(address).content.decode()


def test_growing_waits_for_somebody_who_looks_at_the_plan(world: World, hoshi: Examples) -> None:
    cluster, client = hoshi["clusters"], signed_in(world.person("platform_engineer"))
    address = f"{page_of(cluster)}change/"
    first = form(client.get(address).content.decode(), do="plan", reason="grow", **{"groups-1-count": "6"})
    page = client.post(address, first).content.decode()
    assert "somebody else has to agree" in page
    assert client.post(address, form(page, do="apply", reason="grow")).status_code == 303
    lead = signed_in(world.person("lead_architect"))
    plan = lead.get(f"{page_of(cluster)}approve/").content.decode()
    assert "grows by 2 to 6" in plan
    answer = lead.post(f"{page_of(cluster)}approve/", form(plan))
    assert answer.status_code == 303, answer.content.decode()
    with acting_for(world.hoshi):
        assert Operation.objects.get(cluster=cluster, reason="grow").state == "running"


def test_nodes_are_ordered_from_a_page_and_refused_with_numbers(world: World, hoshi: Examples) -> None:
    cluster, client = hoshi["clusters"], signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi):
        examples.node(cluster, 3)
        node = Node.objects.get(cluster=cluster, seat=1)
        Job.objects.filter(cluster=cluster).update(partition="gpu", state="running")
    body = {"order": "replace", "nodes": [str(node.pk)], "why": "Xid 79"}
    address = f"{page_of(cluster)}nodes/"
    refused = client.post(address, body)
    assert refused.status_code == 409 and "It would stop 1 job on 1 nodes" in refused.content.decode()
    assert client.post(address, body | {"stop_jobs": "on"}).status_code == 303
    with acting_for(world.hoshi):
        [order] = NodeOrder.objects.filter(operation__kind="replace", operation__state="running")
        assert (order.node_id, order.result) == (node.pk, "wished")


def send(world: World, path: str, body: Any) -> Any:
    text = issue_token(person=world.person("platform_engineer"), name=uuid.uuid4().hex)[1]
    headers = {"Authorization": f"Bearer {text}", "Idempotency-Key": uuid.uuid4().hex}
    return Client(headers=headers).post(f"/api/v1/t/hoshi/{path}", json.dumps(body), content_type="application/json")


def test_a_dry_run_of_the_api_is_the_same_plan_and_asks_for_nothing(world: World, hoshi: Examples) -> None:
    cluster = hoshi["clusters"]
    groups = [examples.BODY["instance_groups"][0], {**examples.BODY["instance_groups"][1], "count": 6}]
    body = {"configuration": {**examples.BODY, "instance_groups": groups}, "why": "more", "dry_run": True}
    told = send(world, f"clusters/{cluster.pk}/change/", body)
    assert told.status_code == 200, told.json()
    plan = told.json()
    assert plan["possible"] and plan["second_person"] == "size"
    assert [effect["kind"] for effect in plan["effects"]] == ["created"]
    assert Decimal(plan["after"]["per_hour"]) - Decimal(plan["before"]["per_hour"]) == Decimal("275.00")
    made = send(world, f"clusters/{cluster.pk}/change/", {**body, "dry_run": False, "plan": plan["digest"]})
    assert (made.status_code, made.json()["state"]) == (202, "waiting")
    again = send(world, f"clusters/{cluster.pk}/change/", body | {"dry_run": False})
    assert (again.status_code, again.json()["code"]) == (409, "busy")


@pytest.mark.parametrize("kind", ["p5.48xlarge", "x9.unknown"])
def test_spending_is_node_hours_times_price_and_unknown_is_no_price(world: World, hoshi: Examples, kind: str) -> None:
    cluster = hoshi["clusters"]
    with acting_for(world.hoshi):
        NodeInstance.objects.filter(node__cluster=cluster).delete()
        Node.objects.filter(cluster=cluster).update(instance_type=kind)
        node = Node.objects.get(cluster=cluster, seat=1)
        for name, begin, end in (
            ("i-1", "2026-01-01T00:00Z", "2026-01-01T06:00Z"),
            ("i-2", "2026-01-01T06:00Z", "2026-01-01T10:30Z"),
        ):
            NodeInstance.objects.create(tenant=world.hoshi, node=node, instance_id=name, sat_from=begin, sat_until=end)
        found = spending.spent(cluster)
    [line] = found.lines
    assert line.hours == Decimal("10.5")
    if kind.startswith("p5"):
        assert (line.amount, found.total, found.unpriced) == (Decimal("1443.75"), Decimal("1443.75"), [])
    else:
        assert (line.amount, found.total, found.unpriced) == (None, Decimal("0.00"), [kind])
