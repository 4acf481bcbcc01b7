"""A cluster moves to a newer version of its architecture: what it would choose anew stays, and the plan says what changes."""

import pytest

from clusters import architectures
from clusters.architectures.configuration import read_configuration
from clusters.facts import openzfs
from clusters.findings import Refusals
from clusters.moving import moved
from clusters.plans.planning import Minutes, Observed, Place, change_plan
from clusters.plans.prices import prices
from tests.clusters.wishes import document

NEWEST = architectures.newest()
PRICES = prices(str(architectures.FOLDER.parent / "facts" / "prices.toml"))
PLACE = Place("000000000001", "arn:aws:iam::000000000001:role/R", {"base": "b", "cluster": "c", "eks": "e"})


def plan(old, new):
    return change_plan(old, new, PLACE, Observed(), PRICES, Minutes(1, 2))


@pytest.mark.parametrize("name", ["aster-train", "birch-med"])
@pytest.mark.parametrize("version", ["2026.11", "2026.11.1"])
def test_a_hyperpod_cluster_moves_in_place_and_loses_nothing(name, version):
    old = read_configuration(document(name) | {"version": version})
    new = read_configuration(moved(old, NEWEST[old.architecture]))
    told = plan(old, new)
    assert new.version == NEWEST[old.architecture] and not told.refusals and not told.loses_data
    assert any(change.path == "version" and change.code == "raised" for change in told.changes)
    kinds = {(effect.kind, str(effect.values.get("type"))) for effect in told.effects}
    assert ("created", "AWS::ECR::Repository") in kinds
    if old.storage.openzfs:
        assert moved(old, NEWEST[old.architecture])["storage"]["openzfs"]["deployment"] == "SINGLE_AZ_1"
        assert (new.storage.openzfs.deployment, new.storage.openzfs.mbs) == ("SINGLE_AZ_1", old.storage.openzfs.mbs)


def test_homes_of_a_new_cluster_are_on_the_safest_kind_that_has_the_throughput():
    asked = document()
    for mbs, kind, given in ((None, "MULTI_AZ_1", 320), (320, "MULTI_AZ_1", 320), (256, "SINGLE_AZ_1", 256)):
        asked["storage"]["openzfs"] = {"capacity_gib": 512, **({"mbs": mbs} if mbs else {})}
        found = read_configuration(asked).storage.openzfs
        assert (found.deployment, found.mbs) == (kind, given)
    asked["storage"]["openzfs"] = {"capacity_gib": 512, "deployment": "SINGLE_AZ_2"}
    with pytest.raises(Refusals) as refusals:
        read_configuration(asked)
    assert refusals.value.findings[0].sentence().endswith("it can be MULTI_AZ_1, SINGLE_AZ_1.")
    assert list(openzfs("ap-southeast-4")) == ["SINGLE_AZ_1"]


@pytest.mark.parametrize(
    ("images", "code"),
    [
        ([{"uri": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:latest"}], "image_tag"),
        ([{"uri": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train"}], "image_tag"),
        ([{"uri": "docker.io/train@sha256:" + "a" * 64}], "image_registry"),
        ([{"name": "A b", "uri": "111122223333.dkr.ecr.us-east-1.amazonaws.com/t@sha256:" + "a" * 64}], "image_name"),
        ("train", "not_list"),
    ],
)
def test_an_image_is_named_by_digest_in_a_registry_of_an_account(images, code):
    with pytest.raises(Refusals) as refusals:
        read_configuration(document() | {"images": images})
    assert refusals.value.findings[0].code == code and refusals.value.findings[0].sentence()


def test_managed_grafana_is_refused_where_there_is_none():
    asked = document() | {"observability": "managed", "region": "ap-south-1", "az_id": "aps1-az1"}
    with pytest.raises(Refusals) as refusals:
        read_configuration(asked)
    assert refusals.value.findings[0].sentence().startswith("Amazon Managed Grafana is not offered in ap-south-1")
