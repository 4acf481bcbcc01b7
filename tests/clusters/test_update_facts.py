"""The tables of update rules say what the tools that they come from say. `FACTS=write` writes them anew."""

import os
import subprocess
from pathlib import Path

import pytest

from clusters.architectures import architectures
from clusters.facts import FOLDER
from clusters.plans import parallelcluster, stacks
from clusters.plans.templates import resources

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".pcluster-venv" / "bin" / "python"
POLICIES, REPLACING = FOLDER / "parallelcluster-update-policies.tsv", FOLDER / "replacing-properties.tsv"
# Not in the registry's schemas: FSx replaces a file system whose deployment type changes, as the catalogue's users found.
BESIDE = {("AWS::FSx::FileSystem", "LustreConfiguration/DeploymentType"), ("AWS::FSx::FileSystem", "OpenZFSConfiguration/DeploymentType")}  # fmt: skip
HEAD = (
    "# extracted from the registry schemas in cfn-lint (createOnlyProperties, conditionalCreateOnlyProperties) for the "
    "types in our templates, and the deployment types of FSx; '-' stands for none; written anew by FACTS=write pytest "
    "tests/clusters/test_update_facts.py\ntype\tproperty\n"
)
LISTING = """
import os
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
from pcluster.config.update_policy import UpdatePolicy
from pcluster.schemas.cluster_schema import ClusterSchema

def walk(schema, path, seen):
    for _, field in sorted(schema.declared_fields.items(), key=lambda pair: pair[1].data_key or pair[0]):
        policy = field.metadata.get("update_policy", UpdatePolicy.UNSUPPORTED)
        many, nested = bool(getattr(field, "many", False)), hasattr(field, "nested")
        key = (field.metadata.get("update_key") or "-") if nested and many else "-"
        print(f"{path}{field.data_key}\\t{policy.name}\\t{key}")
        if nested and type(field.schema) not in seen:
            walk(field.schema, f"{path}{field.data_key}/", seen | {type(field.schema)})

walk(ClusterSchema(cluster_name="x"), "", frozenset())
"""


@pytest.mark.pcluster
def test_the_policies_are_those_of_the_pinned_parallelcluster():
    said = subprocess.run([PROGRAM, "-c", LISTING], capture_output=True, text=True, timeout=60, check=True).stdout
    if os.environ.get("FACTS") == "write":
        head = POLICIES.read_text("utf-8").splitlines()[0]
        POLICIES.write_text(f"{head}\npath\tpolicy\tkey\n{said}", "utf-8")
    kept = POLICIES.read_text("utf-8").splitlines()[2:]
    assert kept == said.splitlines()


def _by_the_registry() -> set[tuple[str, str]]:
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

    types = {resource.type for each in architectures() for resource in _made(each)}
    found = set(BESIDE)
    for name in types:
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", name).schema
        paths = [*(schema.get("createOnlyProperties") or ()), *(schema.get("conditionalCreateOnlyProperties") or ())]
        found |= {(name, path.removeprefix("/properties/")) for path in paths} or {(name, "-")}
    return found


def _made(architecture):
    import yaml

    from clusters.plans.templates import Loader

    for file in architecture.folder.glob("*.yaml"):
        document = yaml.load(file.read_text("utf-8"), Loader)
        if "Resources" in document:
            # Whatever its conditions say, a type counts.
            bare = {name: {**each, "Condition": "Always"} for name, each in document["Resources"].items()}
            text = yaml.safe_dump({**document, "Resources": bare, "Conditions": {**document.get("Conditions", {}), "Always": {"Fn::Equals": ["a", "a"]}}})  # fmt: skip
            yield from resources(text, {}).values()


def test_what_replaces_a_resource_is_what_the_registry_says():
    told = _by_the_registry()
    if os.environ.get("FACTS") == "write":
        REPLACING.write_text(HEAD + "".join(f"{name}\t{field}\n" for name, field in sorted(told)), "utf-8")
    kept = {tuple(line.split("\t")) for line in REPLACING.read_text("utf-8").splitlines()[2:]}
    assert kept >= told, f"write the table anew: {sorted(told - kept)}"
    assert {name for name, _ in told} <= set(stacks.replacing())


def test_every_field_that_we_write_has_a_policy():
    known = parallelcluster.policies()
    for path in (
        "Region",
        "Image/Os",
        "HeadNode/InstanceType",
        "SharedStorage",
        "Scheduling/SlurmQueues/ComputeResources/MinCount",
    ):
        assert path in known
    assert known["Scheduling/SlurmQueues"].key == "Name"
