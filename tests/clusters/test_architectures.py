"""The catalogue is whole, its templates are sound in every Region it names, and a configuration is read strictly."""

import copy
import json
import runpy
import shutil
import subprocess
from datetime import UTC, date, datetime
from functools import lru_cache

import cfnlint.api
import pytest

from clusters import architectures
from clusters.architectures.configuration import VPC_CIDR, read_configuration
from clusters.architectures.parts import MissingOutput, Wiring, node_scripts, parts
from clusters.facts import grafana_regions, load
from clusters.finding_words import ADVICE, SENTENCES
from clusters.findings import Refusals
from tests.clusters.wishes import DEMO, document, wish

SHELF = architectures.architectures()
TEMPLATES = [(each, part) for each in SHELF for part in each.parts if part.template]
FOLDER = architectures.FOLDER
versions = architectures.versions
LOCKS = ("requirements.lock", "requirements-pcluster.lock")
LOCKED = [line for name in LOCKS for line in (FOLDER.parents[1] / name).read_text("utf-8").splitlines()]


def lint(text, regions):
    return _lint(text, tuple(sorted(regions)))


@lru_cache(maxsize=50)
def _lint(text, regions):
    found = cfnlint.api.lint(text, config=cfnlint.api.ManualArgs(regions=list(regions)))
    return [f"{match.rule.id} line {match.linenumber}: {match.message}" for match in found]


@pytest.mark.parametrize(
    ("architecture", "part"), TEMPLATES, ids=lambda value: getattr(value, "slug", None) or value.role
)
def test_a_template_is_sound_in_every_region_of_its_architecture(architecture, part):
    text = architecture.text(part.template)
    # Managed Grafana is refused where there is none, before anything is made.
    regions = set(grafana_regions()) & set(architecture.regions) if part.role == "grafana" else architecture.regions
    assert lint(text, regions) == []
    assert len(text.encode()) <= 51_200


def test_the_linter_would_have_told():
    broken = architectures.architecture("hyperpod-slurm").text("base.yaml").replace("SubnetIds:", "SubnetIdz:")
    assert any("SubnetIdz" in line for line in lint(broken, ["ap-northeast-1"]))


@pytest.mark.parametrize("architecture", SHELF, ids=lambda each: each.slug)
def test_an_entry_says_where_it_comes_from_and_how_it_was_proven(architecture):
    assert all(architecture.sentences())
    assert architecture.changelog[0].version == architecture.version
    assert [change.version for change in architecture.changelog] == list(versions(architecture.slug))[::-1]
    assert architecture.changelog[0].on <= architecture.proof.on <= datetime.now(UTC).date()
    assert 0 < architecture.proof.days <= 180
    assert {change.effect for change in architecture.changelog} <= {"none", "in_place", "drain", "rebuild"}
    assert architecture.proof.against in ("sandbox", "account")
    assert set(architecture.regions) <= set(load().zones)
    assert all(parameter.help for parameter in architecture.parameters.values())


def test_an_entry_pins_the_release_that_it_was_proven_with_here():
    asked = {line.split("==")[0]: line.split("==")[1].split()[0] for line in LOCKED if "==" in line}
    for architecture in SHELF:
        package, release = architecture.made_by.pin.split()
        assert asked[package] == release, f"prove {architecture.slug} again with {package} {asked[package]}"


def test_a_proof_is_worth_something_until_its_last_day():
    proof = architectures.Proof(on=date(2026, 1, 1), against="sandbox", days=30, how="by hand")
    assert proof.expires == date(2026, 1, 31)
    assert proof.fresh(date(2026, 1, 31)) and not proof.fresh(date(2026, 2, 1))


def test_versions_are_ordered_as_numbers():
    assert sorted(["2026.11.1", "2026.9", "2026.11", "2026.10"], key=architectures._age) == [
        "2026.9", "2026.10", "2026.11", "2026.11.1"]  # fmt: skip


def test_changes_since_a_version_are_those_that_a_cluster_of_it_does_not_have():
    for architecture in SHELF:
        assert architectures.changes_since(architecture.slug, architecture.version) == ()
        assert architectures.changes_since(architecture.slug, "2020.1") == architecture.changelog
    assert architectures.changes_since("nomad", "2020.1") == ()


@pytest.mark.parametrize("architecture", SHELF, ids=lambda each: each.slug)
def test_the_control_zones_are_zones_of_their_region(architecture):
    for region, zones in architecture.control_zones.items():
        assert len(zones) > 1
        assert {load().region_of(zone) for zone in zones} == {region}
    assert not architecture.control_zones or set(architecture.control_zones) == set(architecture.regions)


@pytest.mark.parametrize("script", sorted(FOLDER.rglob("*.sh")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_script_is_shell(script):
    assert subprocess.run(["bash", "-n", script], check=False, capture_output=True).stderr == b""
    if (shellcheck := shutil.which("shellcheck")) and "2026.11" not in script.parts:
        done = subprocess.run([shellcheck, "-S", "warning", script], check=False, capture_output=True, text=True)
        assert done.stdout == ""


def test_nothing_is_fetched_from_the_internet_while_a_node_is_made():
    for text in [text for architecture in SHELF for text in node_scripts(architecture).values()]:
        assert "https://" not in text and "git clone" not in text and "pip install" not in text


def test_the_newest_version_is_the_default_and_an_unknown_one_is_an_error():
    newest = architectures.architecture("hyperpod-slurm")
    assert architectures.architecture("hyperpod-slurm", newest.version) is newest
    assert architectures.versions("hyperpod-slurm")[-1] == newest.version
    for slug, version in (("hyperpod-slurm", "1999.01"), ("nomad", None)):
        with pytest.raises(LookupError):
            architectures.architecture(slug, version)


@pytest.mark.parametrize("name", DEMO)
def test_a_configuration_reads_back_as_it_was_written(name):
    configuration = wish(name)
    stored = json.loads(json.dumps(configuration.document()))
    assert read_configuration(stored) == configuration
    assert read_configuration(stored).document() == configuration.document()


def test_defaults_are_filled_in_and_names_become_plain():
    configuration = wish("aster-train")
    assert configuration.version == architectures.architecture("hyperpod-slurm").version
    assert configuration.vpc_cidr == VPC_CIDR
    assert configuration.subnet_cidr == "10.0.128.0/21"
    assert configuration.node_recovery == "Automatic"
    assert [group.instance_type for group in configuration.instance_groups] == ["m5.8xlarge", "p5.48xlarge"]
    assert [group.role for group in configuration.instance_groups] == ["controller", "compute"]
    assert (configuration.storage.openzfs.mbs, configuration.storage.openzfs.deployment) == (320, "MULTI_AZ_1")
    assert configuration.storage.lustre.mbs == 14062
    assert wish("birch-med").software == {"kubernetes": "1.33"}


def test_a_plan_may_be_given_by_its_arn():
    asked = document()
    asked["instance_groups"][1]["training_plan"] = (
        "arn:aws:sagemaker:ap-northeast-1:000000000001:training-plan/tp-aster-train"
    )
    assert read_configuration(asked).instance_groups[1].training_plan == "tp-aster-train"


def changed(path, value, name="aster-train"):
    asked = copy.deepcopy(document(name))
    *steps, last = path
    inner = asked
    for step in steps:
        inner = inner[step]
    inner[last] = value
    return asked


COUNT, TYPE, NAME, PLAN = (
    ("instance_groups", 1, field) for field in ("count", "instance_type", "name", "training_plan")
)
LUSTRE = ("storage", "lustre", "capacity_gib")


@pytest.mark.parametrize(
    ("path", "value", "code", "field"),
    [
        (("architecture",), "nomad", "unknown_architecture", "architecture"),
        (("architecture",), None, "unknown_architecture", "architecture"),
        (("architecture",), ["hyperpod-slurm"], "unknown_architecture", "architecture"),
        (("version",), "1999.01", "unknown_version", "version"),
        (("region",), "", "missing", "region"),
        (("region",), 7, "not_text", "region"),
        (("region",), "a" * 300, "too_large", "region"),
        (("region",), "ap\0northeast", "not_text", "region"),
        (("az_id",), None, "missing", "az_id"),
        (("surprise",), 1, "unknown_field", "surprise"),
        (("instance_groups",), [], "missing", "instance_groups"),
        (("instance_groups",), "workers", "not_list", "instance_groups"),
        (("instance_groups",), [3], "not_fields", "instance_groups[0]"),
        (("instance_groups",), [{"name": f"g{i}"} for i in range(101)], "too_large", "instance_groups"),
        (COUNT, 0, "too_small", "instance_groups[1].count"),
        (COUNT, -1, "too_small", "instance_groups[1].count"),
        (COUNT, 10**9, "too_large", "instance_groups[1].count"),
        (COUNT, 6759, "too_large", "instance_groups[1].count"),
        (COUNT, "20", "not_number", "instance_groups[1].count"),
        (COUNT, True, "not_number", "instance_groups[1].count"),
        (COUNT, 2.5, "not_number", "instance_groups[1].count"),
        (COUNT, None, "missing", "instance_groups[1].count"),
        (NAME, "under_score", "bad_name", "instance_groups[1].name"),
        (NAME, "-begins", "bad_name", "instance_groups[1].name"),
        (NAME, "n" * 64, "bad_name", "instance_groups[1].name"),
        (NAME, "head", "twice", "instance_groups"),
        (TYPE, None, "missing", "instance_groups[1].instance_type"),
        (PLAN, "cr-0123456789abcdef0!", "bad_plan", "instance_groups[1].training_plan"),
        (("instance_groups", 1, "role"), "boss", "not_a_choice", "instance_groups[1].role"),
        (("instance_groups", 1, "role"), "controller", "role_too_many", "instance_groups"),
        (("instance_groups", 0, "role"), "compute", "role_too_few", "instance_groups"),
        (("instance_groups", 0, "count"), 2, "role_count", "instance_groups"),
        (("instance_groups", 1, "spot"), True, "unknown_field", "instance_groups[1].spot"),
        (LUSTRE, 1201, "not_a_step", "storage.lustre.capacity_gib"),
        (LUSTRE, 3600, "not_a_step", "storage.lustre.capacity_gib"),
        (LUSTRE, 600, "too_small", "storage.lustre.capacity_gib"),
        (LUSTRE, 10**9, "too_large", "storage.lustre.capacity_gib"),
        (("storage", "lustre", "mbs_per_tib"), 300, "not_a_choice", "storage.lustre.mbs_per_tib"),
        (("storage", "lustre"), 5, "not_fields", "storage.lustre"),
        (("storage", "openzfs", "capacity_gib"), 10, "too_small", "storage.openzfs.capacity_gib"),
        (("storage", "bucket"), "Not_A_Bucket", "bad_bucket", "storage.bucket"),
        (("storage", "bucket_exists"), "yes", "not_yes_or_no", "storage.bucket_exists"),
        (("node_recovery",), "Auto", "not_a_choice", "node_recovery"),
        (("deep_health_checks",), ["Everything"], "not_a_choice", "deep_health_checks"),
        (("deep_health_checks",), "InstanceStress", "not_list", "deep_health_checks"),
        (("accounting",), 1, "not_a_choice", "accounting"),
        (("accounting",), "yes", "not_a_choice", "accounting"),
        (("tiered_storage",), 20, "not_here", "tiered_storage"),
        (("editor_role",), "arn:aws:iam::000000000001:role/T", "not_here", "editor_role"),
        (("software",), ["cuda"], "not_fields", "software"),
        (("software",), {"cuda": 12}, "not_text", "software.cuda"),
        (("vpc_cidr",), "10.0.0.1/16", "bad_network", "vpc_cidr"),
        (("vpc_cidr",), "8.8.0.0/16", "network_not_private", "vpc_cidr"),
        (("vpc_cidr",), "10.0.0.0/8", "network_size", "vpc_cidr"),
        (("vpc_cidr",), "10.0.0.0/32", "network_size", "vpc_cidr"),
        (("subnet_cidr",), "/16", "subnet_outside", "subnet_cidr"),
        (("subnet_cidr",), "/29", "subnet_outside", "subnet_cidr"),
        (("subnet_cidr",), "10.1.0.0/21", "subnet_outside", "subnet_cidr"),
        (("subnet_cidr",), "10.0.0.0/21", "subnet_outside", "subnet_cidr"),
        (("subnet_cidr",), "wide", "bad_network", "subnet_cidr"),
    ],
)
def test_a_mistake_is_named_with_its_field(path, value, code, field):
    with pytest.raises(Refusals) as refusals:
        read_configuration(changed(path, value))
    assert (code, field) in [(finding.code, finding.field) for finding in refusals.value.findings]
    for finding in refusals.value.findings:
        assert finding.sentence()
        finding.advice()


def test_all_mistakes_are_told_at_once():
    asked = changed(COUNT, 0) | {"region": "", "surprise": 1}
    with pytest.raises(Refusals) as refusals:
        read_configuration(asked)
    assert {"too_small", "missing", "unknown_field"} <= {finding.code for finding in refusals.value.findings}


@pytest.mark.parametrize("nonsense", [None, [], "text", 3])
def test_what_is_no_document_is_refused(nonsense):
    with pytest.raises(Refusals):
        read_configuration(nonsense)


@pytest.mark.parametrize(("gib", "nearest"), [(1300, "2400"), (3600, "4800"), (28801, "28800"), (50000, "50400")])
def test_a_size_between_two_steps_gets_the_nearest(gib, nearest):
    with pytest.raises(Refusals) as refusals:
        read_configuration(changed(LUSTRE, gib))
    assert refusals.value.findings[0].suggestion == nearest


@pytest.mark.parametrize("gib", [1200, 2400, 4800, 57600])
def test_sizes_that_lustre_comes_in_are_taken(gib):
    assert read_configuration(changed(LUSTRE, gib)).storage.lustre.capacity_gib == gib


def test_an_architecture_without_openzfs_says_so():
    with pytest.raises(Refusals) as refusals:
        read_configuration(changed(("storage", "openzfs"), {"capacity_gib": 512}, name="birch-med"))
    assert refusals.value.findings[0].sentence() == "HyperPod with EKS brings no OpenZFS file system."


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("tiered_storage", 15, "not_a_choice"),
        ("tiered_storage", True, "not_a_choice"),
        ("editor_role", "Trainers", "bad_role"),
        ("editor_role", 7, "not_text"),
        ("accounting", True, "not_here"),
    ],
)
def test_what_only_eks_has_is_read_as_strictly(field, value, code):
    with pytest.raises(Refusals) as refusals:
        wish("birch-med", **{field: value})
    assert [(finding.code, finding.field) for finding in refusals.value.findings] == [(code, field)]
    assert refusals.value.findings[0].sentence()


def test_a_document_of_the_first_version_is_read_as_it_was_written():
    old = document() | {"version": "2026.11"}
    assert read_configuration(old).accounting is False
    assert "accounting" not in read_configuration(old).made_of().parameters
    with pytest.raises(Refusals):
        read_configuration(old | {"accounting": True})


def test_the_parts_come_in_the_order_of_the_architecture():
    made = {name: [part.role for part in parts(wish(name).made_of(), wish(name))] for name in DEMO}
    assert made["aster-train"] == ["base", "cluster"]
    assert made["birch-med"] == ["base", "eks", "cluster"]
    asked = wish(accounting=True)
    made_parts = parts(asked.made_of(), asked)
    assert [(part.role, part.needs) for part in made_parts][1:] == [
        ("accounting", ("base",)),
        ("cluster", ("base", "accounting")),
    ]
    assert parts(wish().made_of(), wish())[-1].needs == ("base",)


def test_the_small_subnets_lie_beside_the_one_of_the_nodes():
    spec = parts(wish("birch-med").made_of(), wish("birch-med"))[0]
    given = spec.body(Wiring("000000000002", "arn:aws:iam::000000000002:role/R", {"base": "c-base"}))["Parameters"]
    assert given["NodeCidr"] == "10.0.128.0/21"
    assert [given[key] for key in ("PublicCidr", "ControlCidrA", "ControlCidrB")] == [
        "10.0.0.0/28",
        "10.0.0.16/28",
        "10.0.0.32/28",
    ]
    assert given["ControlZoneA"] == "use2-az3" and given["ControlZoneB"] == "use2-az1"


@pytest.mark.parametrize("name", DEMO)
def test_every_parameter_of_the_base_template_is_given_and_no_other(name):
    configuration = wish(name)
    wiring = Wiring("000000000001", "arn:aws:iam::000000000001:role/R", {"base": "c-base", "eks": "c-eks"})
    spec = parts(configuration.made_of(), configuration)[0]
    template, _ = cfnlint.decode.decode_str(spec.body(wiring)["TemplateBody"])
    assert set(template["Parameters"]) == set(spec.body(wiring)["Parameters"])


@pytest.mark.parametrize(
    ("bucket", "exists", "name", "made"),
    [
        ("demo-data", False, "demo-data", "yes"),
        ("demo-data", True, "demo-data", "no"),
        ("", False, "cohort-data-c-base-000000000001", "yes"),
    ],
)
def test_a_bucket_that_exists_is_used_and_not_made(bucket, exists, name, made):
    configuration = wish(storage={"bucket": bucket, "bucket_exists": exists})
    spec = parts(configuration.made_of(), configuration)[0]
    given = spec.body(Wiring("000000000001", "", {"base": "c-base"}))["Parameters"]
    assert (given["DataBucketName"], given["MakeDataBucket"]) == (name, made)


def test_bucket_names_stay_within_63_characters_and_apart():
    spec = parts(wish().made_of(), wish())[0]
    names = {
        spec.body(Wiring("000000000001", "", {"base": "x" * 60 + end}))["Parameters"]["LifecycleBucketName"]
        for end in "ab"
    }
    assert len(names) == 2
    assert all(len(name) <= 63 and name.startswith("sagemaker-") for name in names)


def test_a_missing_output_is_named():
    spec = parts(wish().made_of(), wish())[1]
    with pytest.raises(MissingOutput) as missing:
        spec.body(Wiring("000000000001", "", {"base": "b", "cluster": "c"}, {"base": {"VpcId": "vpc-1"}}))
    assert missing.value.name == "LifecycleBucketName" or missing.value.name == "LustreDnsName"


def test_every_advice_belongs_to_a_sentence():
    assert set(ADVICE) <= set(SENTENCES)


def node(address):
    return {"InstanceName": "x", "CustomerIpAddress": address, "InstanceId": "i-1"}


RESOURCES = {
    "ClusterConfig": {"ClusterName": "c1", "ClusterArn": "arn:aws:sagemaker:eu-west-2:1:cluster/abc"},
    "InstanceGroups": [
        {"Name": "head", "InstanceType": "ml.m5.4xlarge", "Instances": [node("10.0.128.100"), node("10.0.128.9")]},
        {"Name": "workers", "InstanceType": "ml.p5.48xlarge", "Instances": [node("10.0.128.20"), node("10.0.128.21")]},
    ],
}
PROVISIONING = {
    "controller_group": "head",
    "worker_groups": [{"instance_group_name": "workers", "partition_name": "workers"}],
    "fsx_dns_name": "fs-1.fsx",
    "fsx_mountname": "abc",
}


def test_a_new_node_finds_its_group_role_type_and_controllers():
    facts_of = runpy.run_path(str(FOLDER / "hyperpod-slurm" / "lifecycle" / "node_facts.py"))["facts"]
    found = facts_of(RESOURCES, PROVISIONING, "10.0.128.21")
    assert (found["role"], found["instance_type"], found["region"]) == ("compute", "ml.p5.48xlarge", "eu-west-2")
    assert found["controllers"] == "10.0.128.9,10.0.128.100"  # the same order on every node, by number
    assert facts_of(RESOURCES, PROVISIONING, "10.0.128.9")["role"] == "controller"
    assert found["database_host"] == ""
    told = {**PROVISIONING, "slurm_configurations": {"slurm_database_endpoint": "db", "slurm_shared_directory": "/fsx"}}
    with_database = facts_of(RESOURCES, told, "10.0.128.9")
    assert (with_database["database_host"], with_database["shared_folder"]) == ("db", "/fsx")
    with pytest.raises(SystemExit):
        facts_of(RESOURCES, PROVISIONING, "10.9.9.9")


def test_only_whole_lines_of_a_job_are_shipped(tmp_path):
    ship = runpy.run_path(str(FOLDER / "hyperpod-slurm" / "lifecycle" / "ship_job_logs.py"))["unshipped"]
    output = tmp_path / "7.out"
    output.write_text("step 1\nstep 2\nste")
    assert ship(output, 0) == (["step 1", "step 2"], 14)
    output.write_text("step 1\nstep 2\nstep 3\n")
    assert ship(output, 14) == (["step 3"], 21)
    assert ship(output, 21) == ([], 21)
