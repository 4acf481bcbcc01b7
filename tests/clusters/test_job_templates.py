"""Each template becomes, on each kind of cluster, a script that runs as many processes as it says, whatever is typed into it."""

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

from clusters.documents import reading
from clusters.jobs import lint as job_lint
from clusters.jobs import templates as job_templates
from clusters.jobs.templates import checks, manifest, rendering
from clusters.jobs.templates.checks import Place
from clusters.launchers import slurm_options

PLACES = {
    "hyperpod p5": Place("hyperpod-slurm", "ml.p5.48xlarge", 4, "gpu"),
    "hyperpod trn2": Place("hyperpod-slurm", "ml.trn2.48xlarge", 4, "worker"),
    "parallelcluster p4d": Place("parallelcluster", "p4d.24xlarge", 4, "train", minutes_left=9000),
    "parallelcluster p5": Place("parallelcluster", "p5.48xlarge", 4, "train"),
    "parallelcluster trn1": Place("parallelcluster", "trn1.32xlarge", 4, "train"),
    "small": Place("hyperpod-slurm", "ml.g5.2xlarge", 4, "small"),
}
EKS = Place("hyperpod-eks", "ml.p5.48xlarge", 4, namespace="hyperpod-ns-hoshi")
ALL = {each.slug: each for each in job_templates.templates()}
FITTING = [
    pytest.param(template, place, id=f"{template.slug} on {name}")
    for name, place in PLACES.items()
    for template in ALL.values()
    if checks.misfit(template, place) is None
]
NASTY = "$(touch /tmp/x); `id` 'a' \"b\" \\ | & > < * ~ ! #{}"


def rendered(template, place, nodes=2, name="llama", image="", **told):
    values = checks.starting(template, place) | told
    assert checks.wrong(template, values, place, nodes=nodes, minutes=600) == []
    settled = checks.settled(template, values, place)
    return rendering.script(template, settled, place, name=name, nodes=nodes, minutes=600, image=image)


def around(place):
    return job_lint.Around(
        engine=place.engine,
        instance_type=place.instance_type,
        nodes=2,
        minutes=600,
        partition=place.partition,
        sends=slurm_options.SENT | slurm_options.SAID,
    )


def parses(text):
    return subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False).stderr


def test_there_is_a_template_for_each_framework_of_the_programme():
    assert set(ALL) == {
        "megatron-lm", "nemo", "fsdp", "deepspeed", "torchtitan", "nanotron", "neuronx-distributed", "jax",
        "torchrun", "nccl-tests", "data-ingest",
    }  # fmt: skip
    for template in ALL.values():
        assert template.version and template.purpose and template.written_for
        used = set(re.findall(r"\$\{?([A-Z_]+)", template.body))
        unused = {each.variable for each in template.parameters.values()} - used - {"TENSOR_PARALLEL", "CHECKPOINTS"}
        assert unused <= {"PIPELINE_PARALLEL"}, template.slug


@pytest.mark.parametrize(("template", "place"), FITTING)
def test_what_is_rendered_parses_has_nothing_against_it_and_asks_for_what_it_was_told(template, place):
    text = rendered(template, place, image="/fsx/cohort/images/train-0123456789ab.sqsh")
    assert parses(text) == ""
    linted = job_lint.lint(text, around(place))
    assert linted.found == ()
    assert linted.facts["nodes"] == 2 and linted.facts["time_limit_minutes"] == 600
    assert linted.heals == (place.engine == "hyperpod-slurm")
    assert ("FI_PROVIDER=efa" in text) == ("g5" not in place.instance_type)


STUBS = {
    "scontrol": 'echo n1; echo n2',
    "srun": """
while [ $# -gt 0 ]; do case $1 in
  --container-image|--container-mounts) shift 2;; --*) shift;; *) break;; esac; done
for ((rank = 0; rank < SLURM_JOB_NUM_NODES * TASKS; rank++)); do
  SLURM_PROCID=$rank SLURM_NODEID=$((rank / TASKS)) SLURM_NNODES=$SLURM_JOB_NUM_NODES "$@" || exit $?
done""",
    "torchrun": """
nodes=0; each=0
for word in "$@"; do case $before in --nnodes) nodes=$word;; --nproc_per_node) each=$word;; esac; before=$word; done
for ((local = 0; local < each; local++)); do echo "rank $((SLURM_NODEID * each + local)) of $((nodes * each)) FI=${FI_PROVIDER-}"; done
printf 'word <%s>\\n' "$@" """,
    "python3": 'echo "rank $SLURM_PROCID of $JAX_NUM_PROCESSES FI=${FI_PROVIDER-}"; printf "word <%s>\\n" "$@"',
    "all_reduce_perf": 'echo "rank $SLURM_PROCID of $((SLURM_JOB_NUM_NODES * TASKS)) FI=${FI_PROVIDER-}"',
    "aws": 'case $2 in ls) printf "d t 1 prefix/a\\nd t 1 prefix/b c\\nd t 1 prefix/d\\n";; cp) echo "rank $SLURM_NODEID of 2 FI=${FI_PROVIDER-}"; printf "word <%s>\\n" "$@";; esac',
}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name, body in STUBS.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    return folder


def run(text, programs, tmp_path):
    tasks = job_lint.lint(text).facts["ntasks_per_node"]
    script = tmp_path / "job.sh"
    script.write_text(text)
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n[1-2]", "TASKS": str(tasks),
    }  # fmt: skip
    ran = subprocess.run(
        ["bash", str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def here(template, tmp_path, programs):
    """Values whose folders exist on this machine; shared storage is a temporary folder."""
    told = {
        name: str(tmp_path / name)
        for name, parameter in template.parameters.items()
        if parameter.kind == "path" and name in ("checkpoints", "code", "target")
    }
    if "code" in told:
        (tmp_path / "code").mkdir(exist_ok=True)
    return told | ({"folder": str(programs)} if template.slug == "nccl-tests" else {})


@pytest.mark.parametrize(("template", "place"), FITTING)
def test_the_world_is_nodes_times_processes(template, place, programs, tmp_path):
    near = dataclasses.replace(place, shared=(str(tmp_path),))
    said = run(rendered(template, near, **here(template, tmp_path, programs)), programs, tmp_path)
    ranks = re.findall(r"^rank (\d+) of (\d+) FI=(\S*)$", said, re.M)
    each = {"one": 1}.get(
        template.starts, {"ml.trn2.48xlarge": 64, "trn1.32xlarge": 32, "ml.g5.2xlarge": 1}.get(place.instance_type, 8)
    )
    world = 2 * each
    assert {int(told) for _rank, told, _fi in ranks} == {world}
    assert {int(rank) for rank, _told, _fi in ranks} == set(range(world))
    assert {fi for _rank, _told, fi in ranks} == ({""} if "g5" in place.instance_type else {"efa"})


@pytest.mark.parametrize("slug", ["megatron-lm", "torchrun", "jax", "nemo", "data-ingest"])
def test_what_looks_like_shell_stays_data(slug, programs, tmp_path):
    template = ALL[slug]
    place = dataclasses.replace(PLACES["hyperpod p5"], shared=(str(tmp_path),))
    nasty = {
        name: f"/fsx/{NASTY}"
        if parameter.kind == "path"
        else f"s3://bucket/{NASTY}"
        if parameter.kind == "address"
        else NASTY
        for name, parameter in template.parameters.items()
        if parameter.kind in ("path", "text", "address")
    } | here(template, tmp_path, programs)
    if "arguments" in template.parameters:
        nasty["arguments"] = "'$(id)' --x=\";rm -rf /\" '*'"
    text = rendered(template, place, name=f"a{NASTY}\nb", image=f"/fsx/{NASTY}.sqsh", **nasty)
    assert parses(text) == "" and job_lint.lint(text, around(place)).errors == ()
    said = run(text, programs, tmp_path)
    assert f"/fsx/{NASTY}" in said or "s3://bucket" in said
    if slug == "torchrun":
        assert [f"word <{each}>" in said for each in ("$(id)", "--x=;rm -rf /", "*")] == [True] * 3
    assert not Path("/tmp/x").exists() and "uid=" not in said


def sentence(slug, place="hyperpod p5", nodes=2, minutes=600, **told):
    template, where = ALL[slug], PLACES[place] if isinstance(place, str) else place
    return [
        (each.field, each.sentence())
        for each in checks.wrong(template, checks.starting(template, where) | told, where, nodes=nodes, minutes=minutes)
    ]


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"slug": "megatron-lm", "nodes": 5}, "nodes", "You asked for 5 nodes; gpu has 4."),
        ({"slug": "megatron-lm", "tensor_parallel": 16}, "tensor_parallel", "16; a node runs 8 processes"),
        ({"slug": "megatron-lm", "pipeline_parallel": 3}, "tensor_parallel", "is 24, which does not divide the 16 processes of 2 nodes"),
        ({"slug": "megatron-lm", "layers": 31, "pipeline_parallel": 2}, "layers", "31, which cannot be cut into 2"),
        ({"slug": "megatron-lm", "heads": 12, "hidden": 4800}, "heads", "12, which cannot be shared by 8"),
        ({"slug": "megatron-lm", "hidden": 4097}, "hidden", "no multiple of the 32"),
        ({"slug": "megatron-lm", "global_batch": 1023}, "global_batch", "a multiple of 2: micro batch 1 × 2 copies"),
        ({"slug": "megatron-lm", "steps": "1; id"}, "steps", "should be a whole number"),
        ({"slug": "megatron-lm", "steps": 0}, "steps", "it can be 1 to 1000000000"),
        ({"slug": "megatron-lm", "learning_rate": "fast"}, "learning_rate", "a number like 3.0e-4"),
        ({"slug": "megatron-lm", "checkpoints": "/tmp/ckpt"}, "checkpoints", "has to lie on shared storage: /fsx, /home"),
        ({"slug": "megatron-lm", "checkpoints": "/fsx/../tmp"}, "checkpoints", "a whole path"),
        ({"slug": "megatron-lm", "code": "code"}, "code", "beginning with /"),
        ({"slug": "megatron-lm", "code": ""}, "code", "is empty"),
        ({"slug": "megatron-lm", "code": "/fsx/\x07"}, "code", "cannot be printed"),
        ({"slug": "megatron-lm", "arguments": "'open"}, "arguments", "not closed"),
        ({"slug": "megatron-lm", "arguments": "x" * 5000}, "arguments", "5000 characters"),
        ({"slug": "megatron-lm", "colour": "red"}, "", "no parameter “colour”"),
        ({"slug": "megatron-lm", "place": "hyperpod trn2"}, "", "needs GPUs; the nodes here are ml.trn2.48xlarge"),
        ({"slug": "neuronx-distributed"}, "", "needs Trainium; the nodes here are ml.p5.48xlarge"),
        ({"slug": "jax", "place": EKS}, "", "written for Slurm"),
        ({"slug": "neuronx-distributed", "place": "hyperpod trn2", "tensor_parallel": 64, "heads": 64, "pipeline_parallel": 3}, "tensor_parallel", "192, which does not divide the 128"),
        ({"slug": "torchtitan", "shard_parallel": 3}, "shard_parallel", "3, which does not divide the 16"),
        ({"slug": "torchtitan", "shard_parallel": 0}, "shard_parallel", "0, which does not divide"),
        ({"slug": "deepspeed", "zero_stage": 3, "pipeline_parallel": 2}, "zero_stage", "3 excludes pipeline"),
        ({"slug": "fsdp", "sharding": "half"}, "sharding", "it can be full, hybrid"),
        ({"slug": "data-ingest", "source": "https://x"}, "source", "s3://bucket/prefix/"),
        ({"slug": "fsdp", "place": "parallelcluster p4d", "minutes": 9001}, "time_limit_minutes", "9001 minutes; the reservation of these nodes ends in 9000"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_its_numbers(asked, field, words):
    told = sentence(**asked)
    assert len(told) == 1 and told[0][0] == field and words in told[0][1]


@pytest.mark.parametrize(
    "template", [each for each in ALL.values() if checks.misfit(each, EKS) is None], ids=lambda each: each.slug
)
def test_a_pod_gets_shell_that_parses_and_starts_its_own_rank(template):
    values = checks.settled(template, checks.starting(template, EKS), EKS)
    text = rendering.in_pod(template, values, EKS, nodes=2)
    assert parses(text) == "" and "srun" not in text and "SLURM" not in text and "exec torchrun" in text


@pytest.mark.parametrize("slug", [each.slug for each in ALL.values() if checks.misfit(each, EKS) is None])
def test_a_manifest_has_nothing_against_it_and_its_values_stay_data(slug):
    template = ALL[slug]
    nasty = {"arguments": "'$(id)' --x=\"a b\""} if "arguments" in template.parameters else {}
    values = checks.settled(template, checks.starting(template, EKS) | nasty, EKS)
    image = "registry.example/train@sha256:" + "a" * 64
    told = manifest.manifest(template, values, EKS, name=f"A {NASTY}", nodes=2, minutes=60, image=image)
    around = job_lint.Around(engine="hyperpod-eks", instance_type=EKS.instance_type, namespace=EKS.namespace)
    linted = job_lint.lint(manifest.written(told), around)
    assert linted.found == () and linted.heals and linted.facts["nodes"] == 2
    assert reading.read(manifest.written(told)).value == told
    container = told["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    assert told["spec"]["runPolicy"]["activeDeadlineSeconds"] == 3600
    assert "ARGUMENTS=('$(id)' '--x=a b')" in container["command"][2] or not nasty
    alone = manifest.manifest(template, values, EKS, name="x", nodes=1, minutes=None, image=image)
    assert set(alone["spec"]["pytorchReplicaSpecs"]) == {"Master"}
