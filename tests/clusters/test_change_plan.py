"""What a change does, as a table: from two configurations to effects, by the engines' own rules."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from clusters.architectures.configuration import Configuration, read_configuration
from clusters.facts import FOLDER
from clusters.plans.changes import changes
from clusters.plans.effects import KINDS, SENTENCES, WORDS
from clusters.plans.planning import Minutes, Observed, Place, RunningJob, change_plan, deletion_plan, software_plan
from clusters.plans.prices import UnreadablePrices, read_prices

PLACE = Place(
    "000000000001", "arn:aws:iam::000000000001:role/CohortProvisioner", {"base": "b", "eks": "e", "cluster": "c"}
)
PRICES = read_prices((FOLDER / "prices.toml").read_text())
TIME = Minutes(15, 25)
RUNNING = RunningJob("j1", "pretrain", 4, "workers")
ELSEWHERE = RunningJob("j2", "evaluate", 1, "small")
STORAGE = {"lustre": {"capacity_gib": 4800, "mbs_per_tib": 250}, "openzfs": {"capacity_gib": 512, "mbs": 256}}
SLURM = {
    "architecture": "hyperpod-slurm", "region": "ap-northeast-1", "az_id": "apne1-az4", "storage": STORAGE,
    "instance_groups": [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
        {"name": "workers", "instance_type": "p5.48xlarge", "count": 4},
        {"name": "small", "instance_type": "g5.2xlarge", "count": 1},
    ],
}  # fmt: skip
EKS = {
    "architecture": "hyperpod-eks", "region": "us-east-2", "az_id": "use2-az3", "storage": {"lustre": STORAGE["lustre"]},
    "instance_groups": [{"name": "workers", "instance_type": "p5.48xlarge", "count": 4}],
}  # fmt: skip
PCLUSTER = {
    "architecture": "parallelcluster-p5", "region": "ap-northeast-1", "az_id": "apne1-az4", "storage": STORAGE,
    "instance_groups": [
        {"name": "head", "instance_type": "m5.8xlarge", "count": 1, "role": "controller"},
        {"name": "workers", "instance_type": "p5.48xlarge", "count": 4},
        {"name": "small", "instance_type": "p5.4xlarge", "count": 1},
    ],
}  # fmt: skip


def read(document) -> Configuration:
    return read_configuration(document)


def group(document, name, **new):
    groups = [{**each, **new} if each["name"] == name else each for each in document["instance_groups"]]
    return {**document, "instance_groups": groups}


def without(document, name):
    return {**document, "instance_groups": [each for each in document["instance_groups"] if each["name"] != name]}


def more(document, **new):
    return {**document, "instance_groups": [*document["instance_groups"], new]}


def lustre(document, **new):
    return {**document, "storage": {**document["storage"], "lustre": {**document["storage"]["lustre"], **new}}}


def plan(old, new, *jobs, fleet="RUNNING"):
    return change_plan(old and read(old), read(new), PLACE, Observed(jobs, fleet), PRICES, TIME)


def told(old, new, **more_):
    return {(effect.part, effect.kind, effect.code) for effect in plan(old, new, **more_).effects}


NEW_GROUP = {"name": "next", "instance_type": "p5.48xlarge", "count": 2}
SITUATIONS = {
    "nothing changes": (SLURM, SLURM, set()),
    "a group grows": (SLURM, group(SLURM, "workers", count=6), {("cluster", "created", "nodes_added")}),
    "a group shrinks": (SLURM, group(SLURM, "workers", count=2), {("cluster", "removed", "nodes_removed")}),
    "a group comes": (SLURM, more(SLURM, **NEW_GROUP), {("cluster", "created", "group_created"), ("cluster", "later", "group_later")}),
    "a group's type is no small matter": (
        SLURM,
        group(SLURM, "workers", instance_type="p5e.48xlarge"),
        {("cluster", "refused", "group_immutable")},
    ),
    "a training plan is for those to come": (
        SLURM,
        group(SLURM, "workers", training_plan="tp-1"),
        {("cluster", "later", "group_later")},
    ),
    "recovery changes in place": (SLURM, {**SLURM, "node_recovery": "None"}, {("cluster", "changed", "cluster_changed")}),
    "throughput of Lustre changes in place": (
        SLURM,
        lustre(SLURM, mbs_per_tib=500),
        {("base", "changed", "resource_changed"), ("base", "changed", "storage_by_the_way")},
    ),
    "Lustre grows in place": (
        SLURM,
        lustre(SLURM, capacity_gib=7200),
        {("base", "changed", "resource_changed"), ("base", "changed", "storage_by_the_way")},
    ),
    "Lustre does not shrink": (SLURM, lustre(SLURM, capacity_gib=2400), {("base", "refused", "storage_grows_only")}),
    "a queue grows": (PCLUSTER, group(PCLUSTER, "workers", count=6), {("cluster", "created", "nodes_added")}),
    "a queue shrinks at once": (
        PCLUSTER,
        group(PCLUSTER, "workers", count=2),
        {("cluster", "removed", "nodes_removed"), ("cluster", "step", "terminated")},
    ),
    "a queue comes": (
        PCLUSTER,
        more(PCLUSTER, **NEW_GROUP),
        {("cluster", "created", "group_created")},
    ),
    "a queue goes": (
        PCLUSTER,
        without(PCLUSTER, "small"),
        {("cluster", "removed", "group_removed"), ("cluster", "step", "terminated")},
    ),
    "a queue's reservation drains its nodes": (
        PCLUSTER,
        group(PCLUSTER, "workers", reservation="cr-0123456789abcdef0"),
        {("cluster", "replaced", "field_drained")},
    ),
    "a queue's type wants a stopped fleet": (
        PCLUSTER,
        group(PCLUSTER, "small", instance_type="p5e.48xlarge"),
        {("cluster", "refused", "fleet_stop")},
    ),
    "a head node is what it is": (
        PCLUSTER,
        group(PCLUSTER, "head", instance_type="m5.12xlarge"),
        {("cluster", "refused", "field_refused")},
    ),
    "another architecture is another cluster": (SLURM, {**PCLUSTER}, {("cluster", "refused", "cluster_replaced")}),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_change_has_the_effects_that_the_engine_gives_it(name):
    old, new, wanted = SITUATIONS[name]
    assert told(old, new) == wanted


def test_with_a_stopped_fleet_the_type_of_a_queue_can_be_changed():
    new = group(PCLUSTER, "small", instance_type="p5e.48xlarge")
    assert {kind for _, kind, _ in told(PCLUSTER, new, fleet="STOPPED")} == {"changed"}


def test_another_zone_replaces_the_subnet_and_with_it_what_is_on_it_and_the_cluster_is_refused():
    found = plan(SLURM, {**SLURM, "az_id": "apne1-az1"})
    replaced = {effect.values["name"] for effect in found.effects if effect.kind in ("replaced", "lost")}
    assert {"NodeSubnet", "Lustre", "OpenZfs"} <= replaced
    assert ("cluster", "cluster_replaced") in {(effect.part, effect.code) for effect in found.refusals}
    assert {effect.values["name"] for effect in found.loses_data} >= {"Lustre", "OpenZfs"}
    assert found.second_person(10**6) == "data"


def test_a_file_system_that_is_left_out_stays_in_the_account_and_somebody_else_agrees():
    found = plan(SLURM, {**SLURM, "storage": {"lustre": STORAGE["lustre"]}})
    kept = [effect.values["name"] for effect in found.effects if effect.kind == "kept"]
    assert kept == ["OpenZfs"]
    assert found.second_person(10**6) == "data"


@pytest.mark.parametrize("document", [SLURM, EKS, PCLUSTER])
def test_a_new_cluster_is_told_resource_by_resource(document):
    found = plan(None, document)
    assert {effect.kind for effect in found.effects} == {"created"}
    assert any(effect.values.get("type") == "AWS::FSx::FileSystem" for effect in found.effects)
    groups = {
        effect.values["group"]: effect.values["count"] for effect in found.effects if effect.code == "group_created"
    }
    compute = {each["name"]: each["count"] for each in document["instance_groups"] if each.get("role") != "controller"}
    assert compute.items() <= groups.items()
    assert found.added == sum(each["count"] for each in document["instance_groups"] if each["instance_type"][0] in "pg")


@pytest.mark.parametrize("document", [SLURM, EKS, PCLUSTER])
def test_a_deletion_says_what_goes_and_what_stays(document):
    found = deletion_plan(read(document), PLACE, Observed((RunningJob("j", "n", 1, "workers"),)), PRICES, TIME)
    kept = {effect.values["type"] for effect in found.effects if effect.kind == "kept"}
    assert {"AWS::FSx::FileSystem", "AWS::S3::Bucket", "AWS::EC2::VPC"} <= kept
    assert not [effect for effect in found.effects if effect.kind == "lost"]
    assert [job.id for job in found.stopped] == ["j"]
    assert 0 < found.after.per_month < found.before.per_month


def test_only_jobs_on_nodes_that_go_are_stopped():
    assert [job.id for job in plan(SLURM, group(SLURM, "workers", count=2), RUNNING, ELSEWHERE).stopped] == ["j1"]
    assert plan(SLURM, group(SLURM, "workers", count=6), RUNNING, ELSEWHERE).stopped == ()
    found = software_plan(read(SLURM), {"small": 1}, PLACE, Observed((RUNNING, ELSEWHERE)), PRICES, TIME)
    assert [job.id for job in found.stopped] == ["j2"]


def test_the_cost_is_count_times_price_in_the_region_and_a_month_has_730_hours():
    found = plan(SLURM, group(SLURM, "workers", count=6))
    lines = {line.what: line for line in found.after.lines}
    assert lines["p5.48xlarge"].per_hour == Decimal("110") * Decimal("1.25") * 6
    assert lines["p5.48xlarge"].per_month == lines["p5.48xlarge"].per_hour * 730
    assert lines["lustre-250"].per_month.quantize(Decimal("0.01")) == Decimal("1200.00")  # 4800 × 0.20 × 1.25
    assert lines["EC2::NatGateway"].count == 1
    assert found.after.per_hour - found.before.per_hour == Decimal("275.00")


def test_what_has_no_price_is_said_and_is_not_nought():
    known = replace(PRICES, tables={**PRICES.tables, "hyperpod": {}})
    found = change_plan(None, read(SLURM), PLACE, Observed(), known, TIME)
    assert set(found.after.unpriced) == {"m5.4xlarge", "p5.48xlarge", "g5.2xlarge"}
    assert all(line.per_hour is None for line in found.after.lines if line.unit == "instances")


@pytest.mark.parametrize(
    ("text", "told_"),
    [
        ("title =", "no TOML"),
        ("title = 'x'", "'dated'"),
        (
            "title='x'\nfictional=true\ndated=2026-01-01\nexpires=2026-02-01\ncurrency='USD'\n[ec2]\nx = -1",
            "'x' in [ec2]",
        ),
        (
            "title='x'\nfictional=true\ndated=2026-01-01\nexpires=2026-02-01\ncurrency='USD'\n[ec2]\nx = true",
            "'x' in [ec2]",
        ),
    ],
)
def test_a_price_file_that_says_something_else_is_refused_by_name(text, told_):
    with pytest.raises(UnreadablePrices) as refused:
        read_prices(text)
    assert told_ in str(refused.value)


def test_a_price_file_is_good_until_its_last_day():
    assert not PRICES.expired(PRICES.expires)
    assert PRICES.expired(date(2030, 1, 1))


def test_a_plan_is_another_when_what_somebody_relied_on_is_another():
    first = plan(SLURM, group(SLURM, "workers", count=2))
    assert first.digest == plan(SLURM, group(SLURM, "workers", count=2)).digest
    assert first.digest != plan(SLURM, group(SLURM, "workers", count=1)).digest
    assert first.digest != plan(SLURM, group(SLURM, "workers", count=2), RUNNING).digest
    dearer = replace(PRICES, tables={**PRICES.tables, "region_factor": {}})
    assert (
        first.digest
        != change_plan(read(SLURM), read(group(SLURM, "workers", count=2)), PLACE, Observed(), dearer, TIME).digest
    )
    slower = change_plan(
        read(SLURM),
        read(group(SLURM, "workers", count=2)),
        PLACE,
        Observed((), "RUNNING"),
        PRICES,
        Minutes(1, 2, 90, 4),
    )
    assert first.digest == slower.digest


def test_every_effect_can_be_said():
    assert set(WORDS) == set(KINDS)
    for old, new, _ in SITUATIONS.values():
        for effect in plan(old, new).effects:
            assert effect.code in SENTENCES and "%(" not in effect.sentence()


def test_differences_are_told_in_words():
    new = {
        **more(group(without(SLURM, "small"), "workers", count=6), **NEW_GROUP),
        "node_recovery": "None",
        "storage": {"lustre": STORAGE["lustre"]},
    }
    said = [change.sentence() for change in changes(read(SLURM), read(new))]
    assert said == [
        "Nodes of the group workers: from 4 to 6.",
        "The group next comes: 2 × p5.48xlarge.",
        "The group small goes: 1 × g5.2xlarge.",
        "When a node fails its checks: from Automatic to None.",
        "OpenZFS goes: it was Size of OpenZFS (GiB) 512, Throughput of OpenZFS (MB/s) 256, Kind of OpenZFS SINGLE_AZ_1.",
    ]
