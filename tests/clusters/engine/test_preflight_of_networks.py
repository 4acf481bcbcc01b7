"""The preflight of what is there already: lines about a network through the form that changes a cluster, and launches at night."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from clusters.engine import asking
from clusters.models import AccountFact, CloudAccount
from program import launch_checks, launching
from program.models import LaunchCluster
from support.models import Case
from tenants.wall.acting import acting_for
from tenants.work import due
from tests.clusters.engine.conftest import Bench
from tests.clusters.sandbox.driver import REGION
from tests.clusters.test_change_pages import form
from tests.clusters.test_pages import page_of, signed_in

ALL = (0, 65535)


def ask_again(bench: Bench) -> None:
    with acting_for(bench.tenant, staff=True):
        account = CloudAccount.objects.get(pk=bench.account.pk)
        asking.keep(account, asking.ask(account, REGION, asking.question(account, REGION)))


def rule(group: str, protocol: str, low: int, high: int) -> dict[str, Any]:
    pair = {"UserIdGroupPairs": [{"GroupId": group}]}
    return {"IpProtocol": protocol, "FromPort": low, "ToPort": high, **pair}


def test_each_thing_that_a_network_lacks_fails_its_own_line_and_no_other(bench: Bench) -> None:
    """Nodes without EFA, since a group that lets EFA through lets everything through."""
    groups = [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
        {"name": "workers", "instance_type": "m5.4xlarge", "count": 1},
    ]
    storage = {"lustre": {"capacity_gib": 1200, "mbs_per_tib": 250}, "openzfs": {"capacity_gib": 64, "mbs": 160}}
    cluster = bench.until(bench.request(instance_groups=groups, storage=storage), "ready")
    made, ec2 = bench.part("base").outputs, bench.cloud_account.owner("ec2")
    vpc, subnet, group = made["VpcId"], made["NodeSubnetId"], made["SecurityGroupId"]
    where = [{"Name": "vpc-id", "Values": [vpc]}]
    client = signed_in(bench.world.person("platform_engineer"))
    address = f"{page_of(cluster)}change/"
    sent = form(client.get(address).content.decode(), do="plan", reason="grow", **{"groups-1-count": "2"})

    def failing() -> tuple[list[str], str]:
        ask_again(bench)
        answer = client.post(address, sent)
        assert answer.status_code == 200
        return [one["code"] for one in answer.context["against"]], answer.content.decode()

    assert failing()[0] == []

    own = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    but_lustre = [rule(group, "tcp", 0, 987), rule(group, "tcp", 1024, 65535), rule(group, "udp", *ALL)]
    but_openzfs = [rule(group, "tcp", *ALL)]
    for rules, code, says in (
        (but_lustre, "lustre_ports_missing", "in tcp 988; in tcp 1018-1023"),
        (but_openzfs, "openzfs_ports_missing", "in udp 111; in udp 2049; in udp 20001-20003"),
    ):
        ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=own)
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=rules)
        found, page = failing()
        assert (found, says in page, group in page) == ([code], True, True)
        ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=rules)
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=own)
    assert failing()[0] == []

    [table] = [
        one
        for one in ec2.describe_route_tables(Filters=where)["RouteTables"]
        if any(each.get("SubnetId") == subnet for each in one["Associations"])
    ]
    ec2.delete_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0")
    found, page = failing()
    assert (found, "ec2; logs; sts" in page, subnet in page) == (["way_out_missing"], True, True)

    for name in ("ec2", "logs", "sts"):
        ec2.create_vpc_endpoint(
            VpcEndpointType="Interface", VpcId=vpc, SubnetIds=[subnet], ServiceName=f"com.amazonaws.{REGION}.{name}"
        )
    assert failing()[0] == []
    endpoints = ec2.describe_vpc_endpoints(Filters=where)["VpcEndpoints"]
    gateway = next(one["VpcEndpointId"] for one in endpoints if one["ServiceName"].endswith(".s3"))
    ec2.delete_vpc_endpoints(VpcEndpointIds=[gateway])
    assert failing()[0] == ["way_to_s3_missing"]


def test_at_night_the_account_of_a_planned_launch_is_asked_afresh(bench: Bench) -> None:
    """What changed in the account since the day is seen without anybody looking: no go, and a case of its participant."""
    manager = bench.world.person("programme_manager").actor
    day = timezone.localdate() + timedelta(days=3)
    with acting_for(bench.world.office, staff=True):
        launch = launching.plan_launch(cycle=bench.world.cycle, name="Spring", day=day, waves=[None], by=manager)
    line = launching.add_cluster(launch=launch, cluster=bench.request(), wave=1, by=manager)

    def night() -> tuple[LaunchCluster, list[Any]]:
        due.wish("launch-preflight", "installation")
        launch_checks.check_all(due.claim(["launch-preflight"]))  # type: ignore[arg-type]
        bench.step("launch-line")
        bench.step("triage")
        return bench.rows(LaunchCluster, pk=line.pk)[0], bench.rows(Case)

    seen, cases = night()
    assert (seen.verdict, cases) == ("go", [])
    read = {row.kind: row.read_at for row in bench.rows(AccountFact)}
    assert read and all(read.values())
    bench.cloud.change(bench.cloud_account.id, not_offered={"p5.48xlarge": ["apne1-az4"]})
    seen, cases = night()
    assert all(row.read_at > read[row.kind] for row in bench.rows(AccountFact))
    assert (seen.verdict, seen.verdict_by) == ("no_go", "engine")
    assert [one["code"] for one in seen.findings if one["level"] == "refused"] == ["type_not_in_zone"]
    assert [case.title.startswith("train no longer fits for its launch:") for case in cases] == [True]
    # An account that lets nobody in is judged by what it said last, and the night goes on.
    bench.cloud_account.close()
    bench.cloud.advance(0, age_sessions=7200)
    seen, _cases = night()
    assert seen.verdict == "no_go" and bench.rows(AccountFact)
    bench.cloud_account.open_again()
    bench.cloud.change(bench.cloud_account.id)
    assert night()[0].verdict == "go"
