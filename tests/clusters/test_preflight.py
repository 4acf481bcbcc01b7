"""What fits and what does not: tables, with the sentence a person reads."""

from datetime import UTC, datetime, timedelta

import pytest

from clusters import facts
from clusters.facts import ACROSS_CLUSTERS, DISK, LUSTRE_CAPACITY, PER_CLUSTER, cluster_usage
from clusters.finding_words import SENTENCES
from clusters.preflight import Network, Plan, Quotas, preflight, refused
from tests.clusters.wishes import DEMO, document, wish

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FACTS = facts.load()
CONTROLLER, WORKER = cluster_usage("m5.8xlarge"), cluster_usage("p5.48xlarge")


def quotas(**changes):
    values = {CONTROLLER: 1, WORKER: 20, PER_CLUSTER: 26, ACROSS_CLUSTERS: 30} | changes.pop("sagemaker", {})
    told = {("sagemaker", name): value for name, value in values.items() if value is not None}
    return Quotas(told | {("fsx", name): value for name, value in changes.pop("fsx", {}).items()})


def plan(**changes):
    told = {
        "name": "tp-aster-train",
        "instance_type": "p5.48xlarge",
        "region": "ap-northeast-1",
        "az_id": "apne1-az4",
        "count": 20,
        "state": "active",
        "starts_at": NOW - timedelta(days=10),
        "ends_at": NOW + timedelta(days=100),
    }
    return Plan(**told | changes)


def check(configuration=None, *, quota=None, usage=None, plans=None, network=None, name="aster-train"):
    return preflight(
        configuration or wish(),
        FACTS,
        quota or quotas(),
        usage or {},
        [plan()] if plans is None else plans,
        network or Network(),
        NOW,
        name=name,
    )


def problems(findings):
    return [(finding.code, finding.level) for finding in findings if finding.level != "ok"]


def groups(*changes):
    """The demo cluster's groups, the compute group changed; each further change is a group more."""
    head, workers = document()["instance_groups"]
    return [head, *({**workers, **change} for change in changes)]


def test_the_demo_cluster_fits_and_every_check_says_so():
    findings = check()
    assert problems(findings) == []
    assert {finding.code for finding in findings} == {
        "name", "region", "zone", "type_offered", "type_quota", "cluster_quota", "total_quota", "plan", "addresses", "lustre",
    }  # fmt: skip


@pytest.mark.parametrize("name", DEMO)
def test_each_cluster_of_the_demo_fits_its_quota_to_the_last_instance(name):
    configuration = wish(name)
    told = {("sagemaker", cluster_usage(each)): count for each, count in configuration.counts().items()}
    total = sum(configuration.counts().values())
    told |= {("sagemaker", PER_CLUSTER): total, ("sagemaker", ACROSS_CLUSTERS): total}
    plans = [
        plan(
            name=group.training_plan, instance_type=group.instance_type, region=configuration.region, az_id="", count=99
        )
        for group in configuration.instance_groups
    ]
    assert problems(check(configuration, quota=Quotas(told), plans=plans)) == []
    for quota in told:
        short = Quotas(told | {quota: told[quota] - 1})
        assert [level for _, level in problems(check(configuration, quota=short, plans=plans))] == ["refused"]


@pytest.mark.parametrize(
    ("told", "usage", "code", "asked", "allowed"),
    [
        ({WORKER: 19}, {}, "type_quota_exceeded", 20, 19),
        ({WORKER: 0}, {}, "type_quota_exceeded", 20, 0),
        ({WORKER: 30, ACROSS_CLUSTERS: 60}, {"p5.48xlarge": 11}, "type_quota_exceeded", 20, 30),
        ({WORKER: 30}, {"p5.48xlarge": 9}, None, 0, 0),
        ({CONTROLLER: 1}, {"m5.8xlarge": 1}, "type_quota_exceeded", 1, 1),
        ({PER_CLUSTER: 20}, {}, "cluster_quota_exceeded", 21, 20),
        ({PER_CLUSTER: 21}, {}, None, 0, 0),
        ({ACROSS_CLUSTERS: 20}, {}, "total_quota_exceeded", 21, 20),
        ({ACROSS_CLUSTERS: 30}, {"g5.xlarge": 10}, "total_quota_exceeded", 21, 30),
        ({ACROSS_CLUSTERS: 31}, {"g5.xlarge": 10}, None, 0, 0),
    ],
)
def test_a_quota_counts_what_other_clusters_use(told, usage, code, asked, allowed):
    found = refused(check(quota=quotas(sagemaker=told), usage=usage))
    assert [(each.code, each.asked, each.allowed, each.unit) for each in found] == (
        [(code, asked, allowed, "instances")] if code else []
    )


def test_the_groups_of_one_type_are_counted_together():
    configuration = wish(instance_groups=groups({"count": 12, "name": "a"}, {"count": 9, "name": "b"}))
    found = {each.code: each.asked for each in refused(check(configuration, quota=quotas(sagemaker={WORKER: 20})))}
    assert found == {"type_quota_exceeded": 21, "plan_count": 21}


def test_a_vcpu_quota_of_ec2_is_no_quota_of_hyperpod():
    wrong_service = Quotas({("ec2", "Running On-Demand P instances"): 10_000, ("ec2", WORKER): 10_000})
    assert ("type_quota_unknown", "warning") in problems(check(quota=wrong_service))


@pytest.mark.parametrize(
    ("quota", "code"),
    [(WORKER, "type_quota_unknown"), (PER_CLUSTER, "cluster_quota_unknown"), (ACROSS_CLUSTERS, "total_quota_unknown")],
)
def test_an_unknown_quota_warns_and_names_who_finds_out(quota, code):
    findings = check(quota=quotas(sagemaker={quota: None}))
    assert problems(findings) == [(code, "warning")]
    assert findings[0].advice() == f"Let your account team record the quota “{quota}”."


def test_a_refusal_names_asked_allowed_unit_and_who():
    finding = refused(check(quota=quotas(sagemaker={WORKER: 24}), usage={"p5.48xlarge": 20}))[0]
    assert finding.sentence() == (
        "You asked for 20 ml.p5.48xlarge instances; 4 are left in ap-northeast-1: the quota allows 24 and 20 are in use."
    )
    assert finding.advice() == f"Ask for fewer, or let your account team have the quota “{WORKER}” raised."
    assert finding.field == "instance_groups[1].count"


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"region": "eu-west-1"}, "region_not_offered", "HyperPod with Slurm is not offered in eu-west-1."),
        ({"az_id": "use1-az6"}, "zone_elsewhere", "The zone use1-az6 does not lie in ap-northeast-1."),
        ({"az_id": "apne1-az9"}, "zone_elsewhere", "The zone apne1-az9 does not lie in ap-northeast-1."),
        ({"az_id": "ap-northeast-1a"}, "zone_elsewhere", "The zone ap-northeast-1a does not lie in ap-northeast-1."),
    ],
)
def test_the_place_must_be_one_of_the_architecture(changes, code, told):
    found = {each.code: each.sentence() for each in refused(check(wish(**changes), plans=[plan(az_id="")]))}
    assert found[code] == told


@pytest.mark.parametrize(
    ("instance_type", "zone", "code", "told"),
    [
        ("p5.48xlrge", "apne1-az4", "type_unknown", "Did you mean p5.48xlarge"),
        ("ml.p5.48xlargee", "apne1-az4", "type_unknown", "Did you mean p5.48xlarge"),
        ("banana.split", "apne1-az4", "type_unknown", "Did you mean p5.48xlarge?"),
        ("trn1.32xlarge", "apne1-az4", "type_not_in_region", "us-east-1, us-east-2"),
        ("p5.4xlarge", "apne1-az4", "type_not_in_zone", "apne1-az1"),
        ("p5en.48xlarge", "apne1-az1", "type_not_in_zone", "apne1-az4"),
        ("p5.48xlarge", "apne1-az2", "type_not_in_zone", "apne1-az1, apne1-az4"),
    ],
)
def test_a_type_must_exist_and_be_offered(instance_type, zone, code, told):
    configuration = wish(az_id=zone, instance_groups=groups({"instance_type": instance_type}))
    found = {each.code: each.advice() for each in refused(check(configuration, plans=[]))}
    assert told in found[code]


def test_a_type_our_snapshot_does_not_place_warns():
    configuration = wish(instance_groups=groups({"instance_type": "p6e-gb200.36xlarge"}))
    findings = check(configuration, plans=[plan(instance_type="p6e-gb200.36xlarge")])
    assert any(each.code.startswith("type_offer_unknown") or each.code == "type_not_in_region" for each in findings)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"state": "scheduled"}, []),
        ({"used": 1}, [("plan_count", "refused")]),
        ({"count": 19}, [("plan_count", "refused")]),
        ({"name": "another"}, [("plan_missing", "refused")]),
        ({"region": "us-east-1"}, [("plan_missing", "refused")]),
        ({"instance_type": "ml.p5.48xlarge"}, []),
        ({"instance_type": "p5en.48xlarge"}, [("plan_type", "refused")]),
        ({"az_id": "apne1-az1"}, [("plan_zone", "refused")]),
        ({"state": "failed"}, [("plan_state", "refused")]),
        ({"state": "expired"}, [("plan_state", "refused")]),
        ({"ends_at": NOW}, [("plan_over", "refused")]),
        ({"ends_at": NOW + timedelta(days=3)}, [("plan_ends_soon", "warning")]),
        ({"starts_at": NOW + timedelta(days=3)}, [("plan_not_begun", "warning")]),
        ({"az_id": "apne1-az1", "count": 1}, [("plan_zone", "refused"), ("plan_count", "refused")]),
    ],
)
def test_a_training_plan_must_cover_type_zone_count_and_time(changes, found):
    assert problems(check(plans=[plan(**changes)])) == found


def test_a_plan_that_is_short_names_how_many_are_left():
    finding = refused(check(plans=[plan(used=6)]))[0]
    assert finding.sentence() == (
        "You asked for 20 instances from the training plan tp-aster-train; 14 of its 20 are left."
    )


def test_accelerators_without_a_plan_warn_and_plain_machines_do_not():
    found = check(wish(instance_groups=groups({"training_plan": None})))
    assert [(each.code, each.values["group"]) for each in found if each.level == "warning"] == [
        ("plan_absent", "workers")
    ]


@pytest.mark.parametrize(
    ("name", "count", "subnet", "code"),
    [
        ("aster-train", 7, "/24", "addresses_tight"),  # 7 x 32 + 1 = 225 of 251; a replacement would not fit
        ("aster-train", 6, "/24", None),
        ("aster-train", 8, "/24", "addresses_short"),
        ("aster-train", 20, "/22", None),
        ("aster-train", 20, "/23", "addresses_short"),
        ("birch-med", 3, "/24", "addresses_tight"),  # 3 x 81 = 243 of 251
        ("birch-med", 4, "/24", "addresses_short"),
        ("birch-med", 8, "/22", None),
        ("fern-vla", 12, "/22", "addresses_tight"),  # 12 x 81 = 972 of 1019
        ("fern-vla", 13, "/22", "addresses_short"),
        ("kest-trn", 8, "/24", None),
        ("kest-trn", 8, "/26", "addresses_short"),
    ],
)
def test_nodes_need_addresses_by_orchestrator_and_type(name, count, subnet, code):
    asked = document(name)
    asked["instance_groups"][-1]["count"] = count
    configuration = wish(name, instance_groups=asked["instance_groups"], subnet_cidr=subnet)
    found = [each.code for each in check(configuration, plans=[]) if each.field == "subnet_cidr" and each.level != "ok"]
    assert found == ([code] if code else [])


def test_a_subnet_that_is_too_small_is_told_with_one_that_is_not():
    finding = refused(check(wish(subnet_cidr="/23")))[0]
    assert (finding.asked, finding.allowed, finding.unit) == (641, 507, "addresses")
    assert finding.sentence() == "The nodes need 641 addresses; the subnet 10.0.128.0/23 has 507."
    assert finding.advice() == "Ask for a subnet of /22 or larger, or for fewer nodes."


def test_a_subnet_that_is_there_counts_what_is_free_in_it():
    network = Network("10.0.128.0/21", free_addresses=640)
    assert [each.code for each in refused(check(network=network))] == ["addresses_short"]


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("aster-train", True),
        ("a", True),
        ("a1-b2", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("Aster", False),
        ("under_score", False),
        ("405-voyage", False),
        ("-a", False),
        ("a-", False),
        ("a b", False),
        ("a\n", False),
        ("ねこ", False),
        ("a\0b", False),
    ],
)
def test_a_name_is_one_that_hyperpod_takes(name, good):
    assert [each.level for each in check(name=name) if each.field == "name"] == ["ok" if good else "refused"]


@pytest.mark.parametrize(("gb", "found"), [(499, [("disk_quota_exceeded", "refused")]), (500, []), (1024, [])])
def test_the_disk_of_an_instance_must_fit_its_quota(gb, found):
    assert problems(check(quota=quotas(sagemaker={DISK: gb}))) == found


def test_more_lustre_than_the_quota_warns():
    findings = check(quota=quotas(fsx={LUSTRE_CAPACITY: 20_000}))
    assert problems(findings) == [("lustre_quota_exceeded", "warning")]


def test_refusals_come_first_then_warnings():
    levels = [each.level for each in check(quota=quotas(sagemaker={WORKER: 1, PER_CLUSTER: None}))]
    assert levels == sorted(levels, key=("refused", "warning", "ok").index)


def test_every_finding_has_its_sentence_and_the_numbers_stay_when_it_is_translated():
    seen = check(wish(subnet_cidr="/24"), quota=Quotas(), plans=[plan(used=5)], name="Bad")
    for finding in seen:
        assert finding.code in SENTENCES
        assert "%(" not in finding.sentence() + finding.advice()
    asked = next(each for each in seen if each.code == "plan_count")
    assert asked.sentence(lambda text: text.replace("You asked for", "Sie baten um")).startswith("Sie baten um 20 ")
