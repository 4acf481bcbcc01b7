"""None of the eleven defects of the published packs is ours, and each is found in the file that shows it.

The numbers are those of A12 in the fact sheet on cluster engines; the files are real ones that were kept beside it.
"""

import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import cfnlint.api
import pytest

from clusters import architectures, catalogue, facts
from clusters.architectures import export
from clusters.architectures.parts import node_scripts
from clusters.facts import load
from clusters.file_checks import findings
from clusters.finding_words import ADVICE
from clusters.preflight import Network, Quotas, preflight, refused
from tests.clusters.wishes import wish

REAL = Path(__file__).parents[3] / "shared" / "data" / "real-inputs"
PRESENT = REAL.is_dir()
real = pytest.mark.skipif(not PRESENT, reason="the real files of others are not beside this checkout")
SHELF = architectures.architectures()
ADA, ADT = "awslabs+awsome-distributed-ai__", "aws-samples+awsome-distributed-training__"


def upstream(name: str) -> str:
    return (REAL / name).read_text("utf-8")


def codes(name: str, text: str) -> set[str]:
    found = findings(name, text)
    assert all(each.sentence() and (each.code not in ADVICE or each.advice()) for each in found)
    return {each.code for each in found}


def ours() -> dict[str, str]:
    """Every file that we hand out or run on nodes."""
    return export.repository(SHELF)


def mine(code: str) -> list[str]:
    return [path for path, text in ours().items() if code in codes(path, text)]


def lint(text: str, regions: tuple[str, ...]) -> list[str]:
    found = cfnlint.api.lint(text, config=cfnlint.api.ManualArgs(regions=list(regions)))
    return [match.rule.id for match in found]


@pytest.mark.parametrize("way", ["FromItself", "ToItself"])
def test_a12_1_a_check_that_finds_nothing_to_read_does_not_pass(way):
    """Upstream the last of several checks decided, and a rule that was absent counted as right."""
    template = architectures.architecture("hyperpod-slurm").text("base.yaml")
    assert "efa_rule_missing" not in codes("base.yaml", template)
    before, rest = template.split(f"  {way}:\n")
    without = before + rest[rest.index("\n\n") :].replace(f"[{way}, ", "[").replace(f", {way}]", "]")
    [found] = [each for each in findings("base.yaml", without) if each.code == "efa_rule_missing"]
    assert found.allowed == ("ingress" if way == "FromItself" else "egress")
    # One failing check among many that pass is a refusal, wherever it stands in the list.
    now = datetime.now(UTC)
    for changed in ({"az_id": "use1-az1"}, {"region": "sa-east-1"}):
        found = preflight(wish(**changed), load(), Quotas(), {}, [], Network(), now, name="x")
        assert refused(found)
    # What is not known is never told as fitting.
    found = preflight(wish(), load(), Quotas(), {}, [], Network(), now, name="x")
    assert all(each.level != "ok" for each in found if each.code.endswith("_unknown"))


@real
def test_a12_1_the_template_that_has_both_rules_is_not_blamed():
    assert "efa_rule_missing" not in codes("t.yaml", upstream(f"{ADA}sagemaker-hyperpod.yaml"))


def test_a12_2_a_script_does_not_return_outside_a_function_or_go_on_with_empty_names(tmp_path):
    """Upstream's create_config.sh did both: a missing stack left empty variables."""
    broken = '#!/bin/bash\nif [ -z "$1" ]; then\n  return 1\nfi\necho "export VPC=$VPC"\n'
    assert {"return_outside", "script_not_strict"} <= codes("create_config.sh", broken)
    fine = "#!/bin/bash\nset -euo pipefail\nf() {\n  if true; then\n    return 1\n  fi\n}\nf || exit 1\n"
    assert codes("f.sh", fine) == set()
    assert mine("return_outside") == [] and mine("script_not_strict") == []
    script = tmp_path / "s.sh"
    script.write_text(broken)
    assert subprocess.run(["bash", script], capture_output=True, text=True, check=False).stderr.count("return")


@real
@pytest.mark.parametrize("name", [f"{ADA}cluster-vanilla.yaml", f"{ADA}geniac-branch--cluster-observability.yaml"])
def test_a12_3_nothing_is_pulled_from_a_branch_at_boot(name):
    found = [each for each in findings(name, upstream(name)) if each.code == "source_unpinned"]
    lines = upstream(name).splitlines()
    assert len(found) == sum("raw.githubusercontent.com" in line for line in lines)
    assert all("githubusercontent" in lines[each.values["line"] - 1] for each in found)
    assert mine("source_unpinned") == []


def test_a12_3_a_commit_or_release_is_a_pin():
    where = "https://raw.githubusercontent.com/a/b"
    for pinned in (
        f"{where}/{'0' * 40}/x.sh",
        f"{where}/v1.2.3/x.sh",
        "git clone --branch v2.27.0 https://github.com/a/b",
    ):
        assert "source_unpinned" not in codes("a.yaml", f"Script: {pinned}\n")
    for loose in (f"{where}/main/x.sh", f"{where}/refs/heads/main/x.sh", "git clone https://github.com/a/b"):
        assert "source_unpinned" in codes("a.yaml", f"Script: {loose}\n")


def test_a12_4_no_file_is_empty():
    """Upstream's cluster-accounting*.yaml and one provisioning_parameters.json are."""
    for empty in ("", "\n", "  \n\n"):
        assert codes("provisioning_parameters.json", empty) == {"file_empty"}
    assert mine("file_empty") == []
    for path, text in ours().items():
        if path.endswith("provisioning_parameters.json"):
            assert json.loads(text)["worker_groups"]


@real
def test_a12_5_one_way_of_spelling_and_the_right_kind_of_id():
    mixed = upstream(f"{ADA}geniac-branch--cluster-observability.yaml")
    [found] = [each for each in findings("g.yaml", mixed) if each.code == "placeholders_mixed"]
    assert (found.asked, found.allowed) == ("PRIVATE_SUBNET_ID", "PublicSubnet")
    assert "PRIVATE_SUBNET_ID" in mixed.splitlines()[found.values["line"] - 1]
    assert "placeholders_mixed" not in codes("v.yaml", upstream(f"{ADA}cluster-vanilla.yaml"))
    guide = "Image:\n  Os: ubuntu2022\nHeadNode: {}\nScheduling:\n  Id: cb-0123456789abcdef0\n"
    assert {"offering_for_reservation", "system_refused"} <= codes("guide.yaml", guide)
    for code in ("placeholders_mixed", "offering_for_reservation", "system_refused"):
        assert mine(code) == []


@real
def test_a12_6_a_manifest_is_the_model_that_it_is_called_and_keeps_checkpoints_and_secrets():
    text = upstream(f"{ADA}llama3_1_8b-fsdp-hpto.yaml")
    found = {each.code: each for each in findings("hpto.yaml", text)}
    assert {"model_size", "checkpoint_inside", "secret_in_env"} <= set(found)
    assert (found["model_size"].asked, found["model_size"].allowed) == ("8", "13")
    assert found["secret_in_env"].asked == "HF_TOKEN"
    assert found["checkpoint_inside"].asked == "./checkpoints"
    right = (
        text.replace("--hidden_width=5120", "--hidden_width=4096")
        .replace("--num_layers=40", "--num_layers=32")
        .replace("--checkpoint_dir=./checkpoints", "--checkpoint_dir=/local/checkpoints")
        .replace("                - name: HF_TOKEN\n                  value: '${HF_TOKEN}'\n", "")
    )
    assert not {"model_size", "checkpoint_inside", "secret_in_env"} & codes("hpto.yaml", right)
    for code in ("model_size", "checkpoint_inside", "secret_in_env"):
        assert mine(code) == []


def test_a12_7_a_word_that_only_parses_is_seen():
    """Upstream's llama3_train.yaml-template has a container called `cpuyeah`."""
    job = (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: llama3-train}\nspec:\n  pytorchReplicaSpecs:\n"
        "    Worker:\n      template:\n        spec:\n          containers:\n            - name: cpuyeah\n              image: x\n"
    )
    [found] = findings("llama3_train.yaml", job)
    assert (found.code, found.asked, found.values["line"]) == ("container_name", "cpuyeah", 10)
    assert findings("llama3_train.yaml", job.replace("cpuyeah", "pytorch")) == []
    assert mine("container_name") == []


@real
def test_a12_8_a_second_deployment_in_an_account_meets_no_name_that_is_taken():
    found = [
        each for each in findings("t.yaml", upstream(f"{ADA}sagemaker-hyperpod.yaml")) if each.code == "name_fixed"
    ]
    assert {each.asked for each in found} == {"SSM-SessionManagerRunShellAsUbuntu", "FlowLogsGroup"}
    assert mine("name_fixed") == []


@real
def test_a12_9_a_template_is_clean_and_a_zone_that_fits_nothing_is_refused():
    text = upstream("aws+sagemaker-hyperpod-cluster-setup__main-stack-eks-based-template.yaml")
    assert "E3005" in lint(text, ("us-east-1",))
    for each in SHELF:
        for name, template in each.templates().items():
            # Managed Grafana is refused in Regions that have none, before anything is made.
            regions = set(each.regions) & set(facts.grafana_regions()) if name == "grafana.yaml" else each.regions
            assert lint(template, regions) == []
    # Upstream a zone without a subnet is ignored; here there is one zone, and it is checked.
    found = preflight(wish(az_id="use1-az1"), load(), Quotas(), {}, [], Network(), datetime.now(UTC), name="x")
    assert "zone_elsewhere" in {each.code for each in refused(found)}


@real
def test_a12_10_grafana_is_not_open_with_the_password_that_everybody_knows():
    text = upstream(f"{ADA}cluster-observability-os-grafana.yaml")
    assert {"grafana_default_password", "grafana_without_tls"} <= codes("g.yaml", text)
    assert mine("grafana_default_password") == [] and mine("grafana_without_tls") == []


# The samples of 2023 and 2024, and the examples of ParallelCluster itself: the fact sheet counted ten of ten.
OLD = (
    f"{ADT}distributed-training-p4de-base.yaml",
    f"{ADT}distributed-training-p4de_batch-inference-g5_custom_ami.yaml",
    f"{ADT}distributed-training-p4de_custom_ami.yaml",
    f"{ADT}distributed-training-p4de_postinstall_scripts.yaml",
    f"{ADT}distributed-training-p5-base.yaml",
    f"{ADT}distributed-training-trn1_custom_ami.yaml",
    "aws+aws-parallelcluster__slurm.required.yaml",
)


@real
@pytest.mark.parametrize("name", OLD)
def test_a12_11_a_system_that_the_pinned_engine_refuses_is_told(name):
    [found] = [each for each in findings(name, upstream(name)) if each.code == "system_refused"]
    assert found.asked in ("alinux2", "ubuntu2004")
    assert found.asked in upstream(name).splitlines()[found.values["line"] - 1]
    repaired = re.sub(r"Os: \S+", "Os: ubuntu2204", upstream(name))
    assert "system_refused" not in codes(name, repaired)


def test_a12_11_every_entry_carries_the_release_it_was_proven_with():
    for each in SHELF:
        package, release = each.made_by.pin.split()
        assert package and re.fullmatch(r"\d+\.\d+\.\d+", release)
        assert each.proof.on and each.proof.expires > each.proof.on
    assert mine("system_refused") == []


def test_our_own_files_have_no_finding_at_all():
    found = {path: codes(path, text) for path, text in ours().items() if not path.endswith(".md")}
    assert {path: each for path, each in found.items() if each} == {}
    for each in SHELF:
        for file in catalogue.files(each):
            assert codes(file.path, file.text) == set(), file.path
        assert all(codes(name, text) == set() for name, text in node_scripts(each).items())


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.sh", "#!/bin/bash\r\nset -euo pipefail\r\n", "carriage_return"),
        ("a.yaml", "x" * 1_000_001, "too_large"),
    ],
)
def test_other_traps_are_told_too(name, text, code):
    assert code in {each.code for each in findings(name, text)}


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x\n",
        "!!python/object/apply:os.system [echo]\n",
        "[" * 3000,
        "\0",
        "a: b: c",
        "---\n- 1\n---\nkind: Pod\napiVersion: v1\nspec: {containers: 3}\n",
        "kind: Pod\napiVersion: v1\nspec: {containers: [3, {env: [4], command: [{}]}]}\n",
        "Resources: {A: 3, B: {Type: 4, Properties: {Name: 5}}, C: {Type: AWS::SSM::Document}}\n",
        "HeadNode: {}\nImage: {Os: [1]}\n",
    ],
)
def test_nothing_that_somebody_sends_breaks_it(text):
    findings("a.yaml", text)
