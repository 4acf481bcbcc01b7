"""The full preflight of the engine: the account is asked afresh, what does not fit stops the operation before its first call."""

import hashlib
from typing import Any

import pytest

from clusters import actions, foresight, linting
from clusters.models import AccountFact, ClusterAccess, Operation, Preflight, PreflightLine, Revision
from tenants.history.models import Entry
from tenants.models import Lane
from tenants.wall.acting import acting_for
from tenants.work import loop
from tests.clusters.engine.conftest import Bench
from tests.clusters.engine.test_changes import change, changed, operations

CHANGING = ("CreateStack", "UpdateStack", "CreateCluster", "UpdateCluster", "RunInstances")


def asked_to_change(bench: Bench) -> int:
    return sum(bench.creates(operation) for operation in CHANGING)


def lines(bench: Bench) -> dict[str, str]:
    return {line.code: line.verdict for line in bench.rows(PreflightLine)}


def test_a_creation_begins_with_it_and_every_line_is_kept_with_its_age(bench: Bench) -> None:
    cluster = bench.approved()
    assert bench.rows(AccountFact) == []
    assert bench.look(cluster).state == "creating"
    [row] = bench.rows(Preflight)
    assert (row.verdict, row.generation, row.failed) == ("pass", 1, 0)
    told = bench.rows(PreflightLine)
    assert len(told) == row.passed + row.unknown + row.minded
    read = {line.code for line in told if line.known_at}
    assert {"zone_open", "type_offered", "networks", "nat_gateways", "actions", "linked_roles_to_come"} <= read
    assert all(line.known_at is None or line.known_at >= row.began_at for line in told)
    # What nobody can say is written down as such, and stops nothing.
    assert lines(bench)["lustre_zone_unknown"] == "unknown"
    assert [entry.kind for entry in bench.rows(Entry, kind__startswith="preflight.")] == ["preflight.passed"]
    calls = [call for call in bench.cloud.calls(account=bench.cloud_account.id) if call["effective"]]
    first = next(number for number, call in enumerate(calls) if call["operation"] == "CreateStack")
    assert all(call["operation"] not in CHANGING for call in calls[:first])


def test_what_does_not_fit_stops_a_creation_before_its_first_call_and_mended_it_goes_on(bench: Bench) -> None:
    cluster = bench.approved()
    bench.cloud.change(bench.cloud_account.id, quotas={"vpc": {"VPCs per Region": 1}})
    bench.look(cluster)
    failed = bench.look(cluster)
    assert (failed.state, asked_to_change(bench)) == ("failed", 0)
    assert failed.needs_person == (
        "This needs 1 network more in ap-northeast-1; the account may have 1, and 0 are left. "
        "Let your account team have the quota “VPCs per Region” raised."
    )
    assert operations(bench) == [("create", "failed")]
    assert [code for code, verdict in lines(bench).items() if verdict == "fail"] == ["networks_exceeded"]
    assert bench.look(cluster, steps=2).state == "failed" and asked_to_change(bench) == 0
    bench.cloud.change(bench.cloud_account.id)
    with acting_for(bench.tenant):
        actions.retry_cluster(cluster=failed, by="engine", why="the quota was raised")
    assert bench.look(cluster).state == "creating"
    assert [row.verdict for row in sorted(bench.rows(Preflight), key=lambda row: row.generation)] == ["fail", "pass"]
    assert bench.creates("CreateStack") == 1


def test_what_may_not_be_read_is_unknown_and_stops_nothing(bench: Bench) -> None:
    cluster = bench.approved()
    for operation in ("ListBuckets", "DescribeNatGateways"):
        bench.cloud.fault("timeout_after_success", operation=operation, account=bench.cloud_account.id, times=2)
    assert bench.look(cluster).state == "creating"
    known = {row.kind: bool(row.read_at) for row in bench.rows(AccountFact)}
    assert (known["network"], known["zones"]) == (False, True)
    assert {row.kind for row in bench.rows(AccountFact) if row.error} == {"network", "buckets"}


def test_an_account_that_wants_us_slower_is_asked_again_before_anything_is_made(bench: Bench) -> None:
    cluster = bench.approved()
    bench.cloud.fault("throttling", operation="DescribeInstanceTypeOfferings", account=bench.cloud_account.id, times=2)
    assert bench.look(cluster).state == "approved"
    assert Lane.objects.get().name == cluster.lane
    assert (bench.rows(Preflight), asked_to_change(bench)) == ([], 0)
    assert bench.look(cluster).state == "creating"


def rules_of(bench: Bench, way: str) -> tuple[Any, str, list[Any]]:
    ec2, group = bench.cloud_account.owner("ec2"), bench.part("base").outputs["SecurityGroupId"]
    told = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    name = "IpPermissions" if way == "in" else "IpPermissionsEgress"
    return ec2, group, [rule for rule in told[name] if rule["UserIdGroupPairs"]]


def test_a_change_that_does_not_fit_leaves_the_cluster_as_it_was(bench: Bench) -> None:
    """Somebody took a rule of the security group away: EFA would fail in silence on every node."""
    cluster = bench.until(bench.approved(count=3), "ready")
    before = asked_to_change(bench)
    ec2, group, own = rules_of(bench, "in")
    pair = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    assert own
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=pair)
    change(bench, cluster, changed(bench, 2))
    bench.look(cluster)
    assert operations(bench)[-1] == ("change", "failed")
    after = bench.until(cluster, "ready")
    newest = max(bench.rows(Operation), key=lambda row: row.created_at)
    assert (
        f"the security group {group}: the rule for all traffic that names the group itself is missing (in)"
        in newest.outcome
    )
    assert "Let whoever owns the account add that rule" in newest.outcome
    assert (after.state, after.nodes_wanted, asked_to_change(bench)) == ("ready", 4, before)
    assert [revision.number for revision in bench.rows(Revision)] == [1, 2, 3]
    assert lines(bench)["efa_rules_missing"] == "fail" and bench.rows(ClusterAccess)
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=pair)
    bench.step("account")  # until it is read again, asking for a change is refused by what was seen
    change(bench, cluster, changed(bench, 2))
    bench.look(cluster)
    assert operations(bench)[-1] == ("change", "running") and asked_to_change(bench) == before + 1
    newest_lines = {
        line.code: line.known_at for line in bench.rows(PreflightLine, preflight=max(bench.rows(Preflight), key=lambda row: row.generation))
    }  # fmt: skip
    assert (
        newest_lines["efa_rules"]
        and newest_lines["lustre_ports"]
        and newest_lines["way_out"]
        and newest_lines["way_to_s3"]
    )


def test_templates_are_looked_at_once_by_the_slow_worker_and_a_mistake_in_one_stops_what_is_made_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = bench.approved()
    bench.look(cluster)
    assert lines(bench)["lint_unknown"] == "unknown"
    assert loop.HANDLERS[linting.KIND][0] == "slow"
    bench.step(linting.KIND)
    with acting_for(bench.tenant):
        wish = foresight.current(cluster)
    found = linting.finding(wish)
    assert (found.verdict, found.code) == ("pass", "lint") and found.known_at
    assert "finds nothing wrong with the 1 templates in ap-northeast-1" in found.sentence()
    broken = wish.made_of().text("base.yaml").replace("SubnetIds:", "SubnetIdz:")
    linting.keep([broken], wish.region)
    monkeypatch.setattr(linting, "templates", lambda wish: {hashlib.sha256(broken.encode()).hexdigest(): broken})
    found = linting.finding(wish)
    assert (found.verdict, found.who) == ("fail", "architect") and "SubnetIdz" in found.sentence()
