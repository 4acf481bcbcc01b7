"""Files of others, as they were published, get the verdicts that were measured and read by hand beside them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cfnlint.api
import pytest

from clusters import engine_check
from clusters.documents import hyperpod, kinds, placeholders
from clusters.documents.reading import Unreadable, read
from clusters.findings import Finding
from clusters.jobs import lint as job_lint
from clusters.providers import schema

CHECKOUT = Path(__file__).parents[2]
REAL = CHECKOUT.parent / "shared" / "data" / "real-inputs"
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real files of others are not beside this checkout")
MANIFEST = json.loads((REAL / "MANIFEST.json").read_text("utf-8")) if REAL.is_dir() else []
EXPECTED = json.loads((REAL / "EXPECTED.json").read_text("utf-8"))["files"] if REAL.is_dir() else {}
VERDICT = "ClusterSchema_3.16.1_after_placeholder_substitution"
KINDS = {
    "pcluster-yaml": "parallelcluster",
    "hyperpod-create-cluster-json": "hyperpod",
    "hyperpod-provisioning-parameters": "provisioning",
    "cfn-parameters-json": "parameters",
    "cfn-template": "template",
}


def of(*names: str) -> list[Any]:
    return [pytest.param(each, id=each["file"]) for each in MANIFEST if each["kind"] in names]


def text(name: str) -> str:
    return (REAL / name).read_text("utf-8")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The process that holds ParallelCluster's own schema."""
    place = tmp_path_factory.mktemp("schema") / "socket"
    words = [sys.executable, "clusters/providers/schema_server.py", str(place), "--python", ".pcluster-venv/bin/python"]
    started = subprocess.Popen(words, cwd=CHECKOUT, env=dict(os.environ), stdout=subprocess.PIPE, text=True)
    assert started.stdout
    assert started.stdout.readline().strip() == "answering"
    schema.resting.end()
    yield str(place)
    started.terminate()
    started.wait()


def refused(findings: list[Finding]) -> list[Finding]:
    return [each for each in findings if each.level == "refused"]


@pytest.mark.parametrize("entry", of("pcluster-yaml"))
def test_parallelcluster_files_get_the_verdict_of_the_real_schema(entry: dict[str, Any], address: str) -> None:
    found = kinds.understand(text(entry["file"]))
    assert found.kind == "parallelcluster"
    told = engine_check.of_file(found.source, address=address)
    loads = not refused(told)
    assert all(each.code.startswith("schema") and each.sentence() for each in told)
    assert not any(each.code in ("schema_off", "schema_away", "schema_late", "schema_dumb") for each in told)
    assert ("loads" if loads else "rejected") == entry["measured"][VERDICT]
    if not loads:
        assert all(each.values["line"] >= 1 for each in refused(told))
        system = found.source.value.get("Image", {}).get("Os", "")
        other = read(found.source.text.replace(f"Os: {system}", "Os: ubuntu2204"))
        changed = not refused(engine_check.of_file(other, address=address))
        assert changed == entry["measured"]["loads_if_only_Image.Os_is_changed_to_ubuntu2204"]


@pytest.mark.parametrize("entry", of("pcluster-yaml", "pcluster-yaml-jinja"))
def test_every_blank_is_named_with_its_line(entry: dict[str, Any]) -> None:
    content = text(entry["file"])
    blanks = placeholders.blanks(content)
    assert len(blanks) == entry["measured"]["placeholders"]
    lines = content.splitlines()
    assert all(each.written in lines[each.line - 1] for each in blanks)
    try:
        found = kinds.understand(content).findings
    except Unreadable as error:
        found = error.more
    named = [(each.asked, each.values["line"]) for each in found if each.code == "placeholder_unfilled"]
    assert named == [(each.written, each.line) for each in blanks]


@pytest.mark.parametrize("entry", of("pcluster-yaml-jinja"))
def test_a_template_is_told_from_plain_yaml(entry: dict[str, Any]) -> None:
    assert entry["measured"][VERDICT] == "not plain YAML (Jinja)"
    with pytest.raises(Unreadable) as error:
        kinds.understand(text(entry["file"]))
    assert error.value.finding.code == "read_template"


@pytest.mark.parametrize("entry", of(*KINDS))
def test_what_a_file_is_its_content_says(entry: dict[str, Any]) -> None:
    found = kinds.understand(text(entry["file"]))
    assert found.kind == KINDS[entry["kind"]]
    assert (found.document is not None) == (found.kind in kinds.CLUSTERS)


# What speaks of job scripts and manifests is told by the lint of jobs.
JOBS = (
    ".sbatch",
    ".sh",
    "fsdp.yaml",
    "hpto.yaml",
    "template",
    "trainjob.yaml",
    "team-a.yaml",
    "prio.yaml",
    "integration.yaml",
)


@pytest.mark.parametrize("name", [each for each in EXPECTED if each.endswith(JOBS)])
def test_job_files_get_the_findings_that_a_person_read_out_of_them(name: str) -> None:
    told, content = EXPECTED[name], text(name)
    linted = job_lint.lint(content)
    codes = {each.code.replace("_", "-") for each in linted.found}
    assert set(told["must"]) <= codes
    assert not set(told["must_not"]) & codes
    lines = content.splitlines()
    assert all(1 <= each.line <= len(lines) and each.reason() and each.fix() for each in linted.found)
    for each in linted.found:
        if each.code == "placeholder_unfilled":
            assert str(each.asked) in lines[each.line - 1]
    for fact, value in told["facts"].items():
        if fact == "commented_out_option_ignored":
            assert value in linted.facts["commented_out"]
            assert value.removeprefix("--") not in linted.facts["options"]
        else:
            assert linted.facts[fact] == value, fact


@pytest.mark.parametrize("name", [each for each in EXPECTED if not each.endswith(JOBS)])
def test_findings_are_those_that_a_person_read_out_of_the_file(name: str) -> None:
    told, facts = EXPECTED[name], EXPECTED[name]["facts"]
    beside = ""
    if name.endswith("cluster-config.json"):
        beside = text("furuya02+aws-hyperpod-slurm-hello-world__lifecycle--provisioning_parameters.json")
    found = kinds.understand(text(name), beside)
    codes = {each.code.replace("_", "-") for each in found.findings}
    assert set(told["must"]) <= codes
    assert not set(told["must_not"]) & codes
    if "placeholders" in facts:
        assert {each.written for each in placeholders.blanks(text(name))} == set(facts["placeholders"])
    if "groups" in facts:
        assert found.document is not None
        groups = {each["name"]: f"ml.{each['instance_type']}" for each in found.document["instance_groups"]}
        assert groups == facts["groups"]
        assert found.kept[facts["unknown_key_kept"]]
    named = hyperpod.named_groups(found.source.value)
    if "controller_group" in facts:
        assert named[facts["controller_group"]] == "controller"
    if "worker_groups" in facts:
        assert [each for each, role in named.items() if role == "compute"] == facts["worker_groups"]
    if "login_group" in facts:
        assert named[facts["login_group"]] == "login"


def test_group_names_that_do_not_agree_are_told_both_ways() -> None:
    request = text("furuya02+aws-hyperpod-slurm-hello-world__cluster-config.json")
    other = text("aws-samples+awsome-distributed-training__base-config--provisioning_parameters.json")
    found = [(each.code, each.asked) for each in kinds.understand(request, other).findings if "group" in each.code]
    assert found == [
        ("group_name_mismatch", "controller-machine"),
        ("group_name_mismatch", "my-login-group"),
        ("group_name_mismatch", "compute-nodes"),
        ("group_without_role", "controller"),
        ("group_without_role", "worker"),
    ]


@pytest.mark.parametrize("entry", of("cfn-template"))
def test_templates_get_the_verdict_of_cfn_lint(entry: dict[str, Any]) -> None:
    content = text(entry["file"])
    measured = entry["measured"]
    assert (len(content.encode()) <= 51_200) == measured["fits_TemplateBody_51200"]
    # A newer release of the linter than the one that measured knows more; what that one found is found still.
    found = {match.rule.id for match in cfnlint.api.lint(content, config=cfnlint.api.ManualArgs(regions=["us-east-1"]))}
    assert set(measured["cfn_lint_1.51_errors"]) <= found
    assert {each for each in found if each.startswith("E")} == set(measured["cfn_lint_1.51_errors"])
