"""Configurations as things of their own: saved in versions that never change, started from anything, compared, requested from."""

import json
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import ProgrammingError, transaction

from clusters import configuring
from clusters.models import Cluster, ClusterConfiguration, ConfigurationVersion
from tenants.history.models import Entry
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tests import examples
from tests.clusters.test_pages import REQUEST, signed_in, told
from tests.conftest import World
from tests.examples import BODY, Examples

NEW = "/t/hoshi/configurations/new/"
PCLUSTER: dict[str, Any] = {
    "Region": "ap-northeast-1",
    "Image": {"Os": "ubuntu2204"},
    "HeadNode": {"InstanceType": "m5.8xlarge", "Networking": {"SubnetId": "subnet-00000000000000000"}},
    "Scheduling": {
        "Scheduler": "slurm",
        "SlurmQueues": [
            {
                "Name": "gpu",
                "CapacityType": "ONDEMAND",
                "Networking": {"SubnetIds": ["subnet-00000000000000000"], "PlacementGroup": {"Enabled": False}},
                "ComputeResources": [{"Name": "p5", "InstanceType": "p5.48xlarge", "MinCount": 4, "MaxCount": 4}],
            }
        ],
    },
    "SharedStorage": [
        {"Name": "fsx", "StorageType": "FsxLustre", "MountDir": "/fsx", "FsxLustreSettings": {"StorageCapacity": 4800}}
    ],
    "Tags": [{"Key": "team", "Value": "構成"}],
}


@pytest.fixture
def hoshi(world: World) -> Examples:
    return examples.make(world, world.hoshi, 1)


def keep(world: World, text: Any, **more: Any) -> ConfigurationVersion:
    with acting_for(world.hoshi):
        words = text if isinstance(text, str) else json.dumps(text)
        return configuring.keep(**{"tenant": world.hoshi, "text": words, "name": "lab", "by": "engine", **more})


def page(world: World, address: str, role: str = "platform_engineer") -> str:
    answer = signed_in(world.person(role)).get(address)
    assert answer.status_code == 200, answer.content.decode()
    return str(answer.content.decode())


def test_a_version_never_changes_and_the_next_one_is_another(world: World, hoshi: Examples) -> None:
    first = keep(world, BODY)
    second = keep(world, {**BODY, "az_id": "apne1-az1"}, reason="another zone")
    assert (first.number, second.number, second.usable) == (1, 2, True)
    with acting_for(world.hoshi):
        row = ClusterConfiguration.objects.get(name="lab")
        assert (row.newest, row.main_type, row.nodes, row.usable) == (2, "p5.48xlarge", 5, True)
        assert Entry.objects.filter(kind="configuration.kept", subject_id=row.pk).count() == 2
        with pytest.raises(ProgrammingError), transaction.atomic():
            ConfigurationVersion.objects.filter(pk=first.pk).update(reason="x")
        with pytest.raises(ProgrammingError), transaction.atomic():
            ConfigurationVersion.objects.filter(pk=first.pk).delete()


def test_the_same_again_is_no_version_and_an_older_look_is_told(world: World, hoshi: Examples) -> None:
    keep(world, BODY)
    with pytest.raises(Refused) as refused:
        keep(world, BODY)
    assert refused.value.code == "nothing_new"
    keep(world, {**BODY, "az_id": "apne1-az1"}, version=1)
    with pytest.raises(Stale):
        keep(world, {**BODY, "az_id": "apne1-az2"}, version=1)


def test_unknown_keys_are_kept_and_stay_when_the_form_writes_the_next_version(world: World, hoshi: Examples) -> None:
    first = keep(world, {**BODY, "our_own_note": {"ticket": 7}})
    assert first.kept == {"our_own_note": {"ticket": 7}}
    assert first.usable
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, do="keep", name="lab"))
    assert answer.status_code == 303
    with acting_for(world.hoshi):
        second = ConfigurationVersion.objects.get(configuration=first.configuration, number=2)
        assert (second.origin, second.kept) == ("form", {"our_own_note": {"ticket": 7}})
        assert second.body["instance_groups"][1]["count"] == 2


def test_a_file_of_parallelcluster_is_kept_whole_and_told_in_our_words(world: World, hoshi: Examples) -> None:
    text = yaml.safe_dump(PCLUSTER, allow_unicode=True)
    made = keep(world, text, name="from pcluster")
    assert (made.kind, made.architecture, made.main_type, made.nodes) == (
        "parallelcluster",
        "parallelcluster-p5",
        "p5.48xlarge",
        5,
    )
    assert made.text == text
    assert made.kept["Image"] == {"Os": "ubuntu2204"}
    assert made.kept["Tags"] == [{"Key": "team", "Value": "構成"}]
    assert not made.usable  # no zone: the file names a subnet of somebody's own
    shown = page(world, f"/t/hoshi/configurations/{made.configuration_id}/")
    assert "az_id is missing." in shown
    assert "Kept, and not used" in shown and "構成" in shown


def test_an_upload_is_read_and_what_is_wrong_with_it_is_told_with_its_line(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    file = SimpleUploadedFile("cluster.yaml", "\ufeff".encode() + yaml.safe_dump(BODY).encode())
    answer = client.post(NEW, {"name": "uploaded", "file": file})
    assert answer.status_code == 303, answer.content.decode()
    with acting_for(world.hoshi):
        made = ConfigurationVersion.objects.get(configuration__name="uploaded")
        assert (made.origin, made.origin_name, made.usable) == ("file", "cluster.yaml", True)
    for data, says in (
        (b"a: 1\nb: !!python/object/apply:os.system [x]", "Line 2: python/object/apply:os.system would run a program"),
        ("a: é".encode("latin-1"), "Line 1: the byte 0xE9 is no UTF-8"),
        (b"x" * 600_000, "The file has 600,000 bytes; the most is 500,000."),
        (b"", "There is nothing in it."),
        (b"controller_group: a\nworker_groups: []", "no cluster can be made of it alone"),
    ):
        answer = client.post(NEW, {"name": "bad", "file": SimpleUploadedFile("bad.yaml", data)})
        assert answer.status_code == 422
        assert says in answer.content.decode()
    assert client.post(NEW, {"file": SimpleUploadedFile("x.yaml", b"x" * 10_000_000)}).status_code == 413
    with acting_for(world.hoshi):
        assert not ClusterConfiguration.objects.filter(name="bad").exists()


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        ("AKIA" + "Q" * 16, "an access key of AWS"),
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("hf_" + "a" * 34, "a token of Hugging Face"),
    ],
)
def test_row_69_a_secret_in_it_is_refused_and_not_kept(world: World, hoshi: Examples, secret: str, says: str) -> None:
    with pytest.raises(Refused) as refused:
        keep(world, {**BODY, "note": secret})
    assert refused.value.code == "secret_inside"
    assert says in str(refused.value) and secret not in str(refused.value)
    with acting_for(world.hoshi):
        assert not ClusterConfiguration.objects.filter(name="lab").exists()


def test_a_request_to_hyperpod_takes_its_roles_from_the_parameters_beside_it(world: World, hoshi: Examples) -> None:
    request = {
        "ClusterName": "from-hyperpod",
        "InstanceGroups": [
            {"InstanceGroupName": "boss", "InstanceType": "ml.m5.8xlarge", "InstanceCount": 1, "ExecutionRole": "x"},
            {"InstanceGroupName": "gpu", "InstanceType": "ml.p5.48xlarge", "InstanceCount": 2},
        ],
        "_comment": "keep me",
    }
    beside = {"controller_group": "boss", "worker_groups": [{"instance_group_name": "gpu"}]}
    made = keep(world, request, name="", beside=json.dumps(beside))
    assert str(made.configuration) == "from-hyperpod"
    assert [(each["name"], each["role"]) for each in made.body["instance_groups"]] == [
        ("boss", "controller"),
        ("gpu", "compute"),
    ]
    assert made.kept["_comment"] == "keep me"
    assert made.kept["InstanceGroups"] == {"boss": {"ExecutionRole": "x"}}


def test_it_can_start_from_a_cluster_and_a_cluster_from_it(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    answer = client.post(NEW, {"cluster": str(hoshi["clusters"].pk)})
    assert answer.status_code == 303
    with acting_for(world.hoshi):
        made = ConfigurationVersion.objects.get(configuration__name="lab-hoshi")
        assert (made.origin, made.origin_name, made.body["instance_groups"][1]["count"]) == ("cluster", "lab-hoshi", 4)
    form = page(world, f"{REQUEST}?configuration={made.pk}")
    assert 'value="lab-hoshi"' in form and 'value="gpu"' in form and 'value="4"' in form
    pasted = page(world, f"{REQUEST}?mode=paste&configuration={made.pk}")
    assert "instance_type: p5.48xlarge" in pasted


def test_two_versions_are_compared_in_words_and_side_by_side(world: World, hoshi: Examples) -> None:
    groups = [BODY["instance_groups"][0], {**BODY["instance_groups"][1], "count": 6}]
    old = keep(world, {**BODY, "software": {"nccl": "3.2", "cuda": "12.8"}})
    new = keep(world, {**BODY, "instance_groups": groups, "software": {"nccl": "3.10", "cuda": "12.8"}})
    shown = page(world, f"/configurations/compare/?old={old.pk}&new={new.pk}")
    assert "Nodes of the group gpu: from 4 to 6." in shown
    assert "software.nccl goes up, from 3.2 to 3.10." in shown
    assert "<del>  count: 4</del>" in shown and "<ins>  count: 6</ins>" in shown
    assert "Both say the same." in page(world, f"/configurations/compare/?old={old.pk}&new={old.pk}")


def test_staff_compare_two_participants_and_a_participant_sees_only_its_own(world: World, hoshi: Examples) -> None:
    umi = examples.make(world, world.umi, 2)
    with acting_for(world.umi):
        theirs = configuring.versions(umi["configurations"]).get()
    mine = keep(world, BODY)
    both = f"/configurations/compare/?old={theirs.pk}&new={mine.pk}"
    assert "Umi Vision" in page(world, both, "lead_architect")
    client = signed_in(world.person("platform_engineer"))
    assert client.get(both).status_code == 404
    assert client.get(f"/t/umi/configurations/{umi['configurations'].pk}/").status_code == 404
    assert client.get(f"{REQUEST}?configuration={theirs.pk}").status_code == 404
    assert "base-umi" not in page(world, "/configurations/")
    with reading_everyone():
        assert ClusterConfiguration.objects.filter(name="base-umi").exists()


def test_the_api_keeps_lists_and_compares(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    at = "/api/v1/t/hoshi/configurations/"
    made = client.post(at, json.dumps({"name": "api", "text": json.dumps(BODY)}), content_type="application/json")
    assert made.status_code == 201, made.content
    pk = made.json()["configuration"]
    assert made.json()["configuration_document"]["az_id"] == "apne1-az4"
    again = json.dumps({"text": json.dumps({**BODY, "az_id": "apne1-az1"}), "version": 1})
    assert client.post(f"{at}{pk}/versions/", again, content_type="application/json").status_code == 201
    assert client.post(f"{at}{pk}/versions/", again, content_type="application/json").status_code == 409
    assert [each["name"] for each in client.get("/api/v1/configurations/").json()["results"]] == ["api", "base-hoshi"]
    compared = client.get(f"/api/v1/configurations/{pk}/compare/").json()
    assert compared["words"] == ["Zone: from apne1-az4 to apne1-az1."]
    bad = client.post(at, json.dumps({"name": "x", "text": "a: *b"}), content_type="application/json")
    assert (bad.status_code, bad.json()["code"]) == (422, "unreadable")
    assert client.get(f"/api/v1/configurations/{pk}/compare/?old=99").status_code == 422


def test_a_kept_text_that_the_form_cannot_hold_is_a_page_all_the_same(world: World, hoshi: Examples) -> None:
    strange = {"architecture": "hyperpod-slurm", "instance_groups": "none", "storage": [], "software": 3, "region": {}}
    made = keep(world, strange, name="strange " + "長" * 40)
    page(world, f"/t/hoshi/configurations/{made.configuration_id}/")
    page(world, f"{REQUEST}?configuration={made.pk}")
    page(world, f"/configurations/compare/?old={made.pk}&new={made.pk}")
    assert not made.usable
    with acting_for(world.hoshi):
        assert not Cluster.objects.filter(name="strange").exists()


def test_texts_of_thousands_of_lines_are_compared_in_words_alone(world: World, hoshi: Examples) -> None:
    long = {**BODY, "note": [str(n) for n in range(6_000)]}
    first, second = keep(world, long), keep(world, {**long, "az_id": "apne1-az1"})
    with acting_for(world.hoshi):
        assert configuring.compared(first, second).rows is None
    assert "too long" in page(world, f"/configurations/compare/?old={first.pk}&new={second.pk}")
