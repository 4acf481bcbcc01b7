"""What the shipped snapshots say, and what they admit not to know."""

import pytest

from clusters import facts

FACTS = facts.load()


@pytest.mark.parametrize(
    ("instance_type", "slurm", "eks"),
    [
        ("p5.48xlarge", 32, 81),
        ("ml.p5.48xlarge", 32, 81),
        ("trn1.32xlarge", 8, 57),
        ("p5en.48xlarge", 16, 65),
        ("m5.8xlarge", 1, 30),
        ("p5.4xlarge", 1, 30),
    ],
)
def test_a_node_takes_addresses_by_its_cards_and_its_orchestrator(instance_type, slurm, eks):
    instance = FACTS.instance(instance_type)
    assert (instance.addresses("slurm"), instance.addresses("eks")) == (slurm, eks)


@pytest.mark.parametrize(
    ("instance_type", "vcpus", "accelerator", "count", "efa"),
    [
        ("p5.48xlarge", 192, "H100", 8, 32),
        ("p6-b300.48xlarge", 192, "B300", 8, 16),
        ("trn1.32xlarge", 128, "Neuron", 16, 8),
        ("g5.xlarge", 4, "A10G", 1, 0),
        ("m5.8xlarge", 32, "", 0, 0),
        ("trn2u.48xlarge", None, "", 0, None),
    ],
)
def test_an_instance_type_has_the_facts_of_the_table(instance_type, vcpus, accelerator, count, efa):
    instance = FACTS.instance(instance_type)
    assert (instance.vcpus, instance.accelerator, instance.accelerators, instance.efa) == (
        vcpus,
        accelerator,
        count,
        efa,
    )


@pytest.mark.parametrize(
    ("region", "instance_type", "zones"),
    [
        ("ap-northeast-1", "p5.48xlarge", ("apne1-az1", "apne1-az4")),
        ("ap-northeast-1", "ml.trn1.32xlarge", ()),
        ("us-east-2", "trn1.32xlarge", ("use2-az3",)),
        ("mars-north-1", "p5.48xlarge", None),
        ("us-east-1", "p9.48xlarge", None),
    ],
)
def test_not_offered_and_not_known_are_different_answers(region, instance_type, zones):
    assert FACTS.offered(region, instance_type) == zones


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("p5.48xlrge", "p5.48xlarge"), ("ml.P5.48xlarge", "p5.48xlarge"), ("trn1.32xl", "trn1.32xlarge")],
)
def test_a_misspelt_type_finds_what_was_meant(typed, meant):
    assert FACTS.close_matches(typed)[0] == meant


def test_nonsense_finds_nothing():
    assert FACTS.close_matches("banana") == []


@pytest.mark.parametrize(
    ("az_id", "region"),
    [
        ("apne1-az4", "ap-northeast-1"),
        ("use1-az6", "us-east-1"),
        ("usw2-az4", "us-west-2"),
        ("euw2-az3", "eu-west-2"),
        ("use2-az9", "us-east-2"),
        ("ap-northeast-1a", None),
        ("", None),
    ],
)
def test_a_zone_id_tells_its_region(az_id, region):
    assert FACTS.region_of(az_id) == region


def test_quota_names_are_exact_and_their_codes_agree_with_the_source():
    name = facts.cluster_usage("p5.48xlarge")
    assert name == "ml.p5.48xlarge for cluster usage"
    assert FACTS.quota("sagemaker", name).code == "L-8762A75F"
    assert FACTS.quota("sagemaker", facts.PER_CLUSTER).code == "L-2CE978FC"
    assert FACTS.quota("sagemaker", facts.ACROSS_CLUSTERS).code == "L-3308CCC7"
    assert FACTS.quota("fsx", facts.LUSTRE_CAPACITY).code == "L-8F1B9C74"
    assert FACTS.quota("ec2", name) is None


def test_plain_and_ml_names_turn_into_each_other():
    assert facts.ml_name("p5.48xlarge") == facts.ml_name("ml.p5.48xlarge") == "ml.p5.48xlarge"
    assert facts.plain_name("ml.p5.48xlarge") == facts.plain_name("p5.48xlarge") == "p5.48xlarge"
