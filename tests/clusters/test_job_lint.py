"""Mistakes in job scripts and manifests are found with their line, and options are read as sbatch itself reads them."""

import dataclasses
import re
import shutil
import subprocess
import time

import pytest
import yaml

from clusters.jobs import lint as job_lint
from clusters.jobs.lint import Around, sbatch, words
from clusters.launchers import slurm_options

CLEAN = """#!/bin/bash
#SBATCH --job-name=llama
#SBATCH --nodes=2
#SBATCH --time=1-00:00:00
#SBATCH --open-mode=append
set -euo pipefail
export FI_PROVIDER=efa
AUTO_RESUME=""
if [ -d /opt/sagemaker_cluster ]; then AUTO_RESUME="--auto-resume=1"; fi
srun $AUTO_RESUME --container-image /fsx/images/train.sqsh torchrun --nproc_per_node=8 train.py --save /fsx/ckpt
"""
HYPERPOD = Around(engine="hyperpod-slurm", instance_type="ml.p5.48xlarge")
POD = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: llama
  annotations:
    sagemaker.amazonaws.com/enable-job-auto-resume: "true"
    sagemaker.amazonaws.com/job-max-retry-count: "2"
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          volumes:
            - name: fsx
              persistentVolumeClaim: {claimName: fsx}
          containers:
            - name: pytorch
              image: registry.example/train@sha256:%s
              command: [torchrun, --save, /fsx/ckpt]
              resources:
                limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}
              volumeMounts:
                - {name: fsx, mountPath: /fsx}
""" % ("a" * 64)
EKS = Around(engine="hyperpod-eks", instance_type="ml.p5.48xlarge", namespace="hyperpod-ns-hoshi")


def told(text, around=HYPERPOD):
    return [(each.code, each.line) for each in job_lint.lint(text, around).found]


def test_what_is_right_has_no_findings_and_says_what_it_is():
    assert told(CLEAN) == [] and told(POD, EKS) == []
    facts = job_lint.lint(CLEAN).facts
    assert {name: facts[name] for name in ("nodes", "processes_per_node", "time_limit_minutes", "auto_resume")} == {
        "nodes": 2,
        "processes_per_node": 8,
        "time_limit_minutes": 1440,
        "auto_resume": True,
    }
    assert job_lint.lint(POD).facts["nodes"] == 2 and job_lint.lint(POD).heals


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("#!/bin/bash\n", "", "not_a_script", 1),
        ("pipefail\n", "pipefail\r\n", "carriage_return", 6),
        ("#SBATCH --nodes=2\n", "", "nodes_not_set", 1),
        ("#SBATCH --time=1-00:00:00\n", "", "no_time_limit", 1),
        ("--time=1-00:00:00", "--time=UNLIMITED", "no_time_limit", 4),
        ("--time=1-00:00:00", "--time=0", "no_time_limit", 4),
        ("#SBATCH --open-mode=append\n", "", "open_mode_append_missing", 1),
        ("#SBATCH --open-mode", "  #SBATCH --open-mode", "option_ignored", 5),
        ("set -euo pipefail", "set -euo pipefail\n#SBATCH --exclusive", "option_ignored", 7),
        ("--job-name=llama", "--job-name='llama", "option_unreadable", 2),
        ("--job-name=llama", "llama", "option_unreadable", 2),
        ("srun $AUTO_RESUME", "srun", "auto_resume_missing", 10),
        ("--open-mode=append", "--open-mode=append --auto-resume=1", "auto_resume_on_sbatch", 5),
        ("--nodes=2", "--nodes=2 --gres=gpu:8", "gres_with_auto_resume", 3),
        ("--nodes=2", "--nodes=2 -G 16", "gres_with_auto_resume", 3),
        ("srun $AUTO", "srun --gpus-per-node=8 $AUTO", "gres_with_auto_resume", 10),
        ("/fsx/images/train.sqsh", "train.sqsh", "container_path_relative", 10),
        ("--save /fsx/ckpt", "--save ckpt", "checkpoint_path_relative", 10),
        ("--save /fsx/ckpt", '--checkpoint-path "$(pwd)/out"', "checkpoint_path_relative", 10),
        ("export FI_PROVIDER=efa\n", "#export FI_PROVIDER=efa\n", "efa_settings_missing", 1),
        ("export FI", "export HF_TOKEN=abcdef\nexport FI", "secret_in_plain_env", 7),
        ("export FI", "export HF=hf_" + "a" * 34 + "\nexport FI", "secret_inside", 7),
        ("export FI", "DATA=s3://<YOUR_BUCKET>\nexport FI", "placeholder_unfilled", 7),
    ],
)
def test_each_mistake_of_a_script_is_found_alone_and_on_its_line(old, new, code, line):
    text = CLEAN.replace(old, new, 1)
    assert text != CLEAN
    assert (code, line) in told(text)
    assert {each for each, _line in told(text)} - {code, "option_ignored", "open_mode_append_missing"} == set()


@pytest.mark.parametrize(
    ("around", "code"),
    [
        ({"nodes": 4}, "option_overruled"),
        ({"minutes": 60}, "option_overruled"),
        ({"minutes_left": 600}, "time_past_reservation"),
        ({"minutes": 1440, "minutes_left": 1439}, "time_past_reservation"),
        ({"nodes": 2, "minutes": 1440, "minutes_left": 1440}, None),
        ({"accounts": ("hoshi",)}, None),
    ],
)
def test_a_script_is_held_against_its_launch_and_its_reservation(around, code):
    assert [each for each, _line in told(CLEAN, dataclasses.replace(HYPERPOD, **around))] == ([code] if code else [])


def test_what_slurms_rest_server_is_not_sent_is_told_where_it_is_what_gets_the_job():
    text = CLEAN.replace(
        "--nodes=2", "--nodes=2 --mem=0 --cpus-per-task=8 --signal=B:USR1@60 --mail-type=END -d afterok:7"
    )
    linted = job_lint.lint(text, dataclasses.replace(HYPERPOD, sends=slurm_options.SENT | slurm_options.SAID))
    said = [each.asked for each in linted.found if each.code == "option_not_sent"]
    assert said == ["--dependency=afterok:7", "--mail-type=END", "--signal=B:USR1@60"]
    assert all(each.severity == "warning" and each.fix() and each.reason() for each in linted.found)
    assert "option_not_sent" not in {code for code, _line in told(text)}  # the agent's sbatch reads them all
    assert told(CLEAN, dataclasses.replace(HYPERPOD, sends=slurm_options.SENT | slurm_options.SAID)) == []


def test_a_foreign_account_is_named():
    text = CLEAN.replace("--nodes=2", "--nodes=2 -A umi")
    assert told(text, dataclasses.replace(HYPERPOD, accounts=("hoshi",))) == [("account_foreign", 3)]
    image = CLEAN.replace("/fsx/images/train.sqsh", "111122223333.dkr.ecr.us-east-1.amazonaws.com#train")
    assert told(image, dataclasses.replace(HYPERPOD, cloud_account="111122223333")) == []
    assert told(image, dataclasses.replace(HYPERPOD, cloud_account="000000000001")) == [("registry_foreign", 10)]


def test_auto_resume_and_efa_are_wanted_only_where_they_exist():
    bare = re.sub(r"srun \$AUTO_RESUME", "srun", CLEAN).replace("export FI_PROVIDER=efa\n", "")
    assert told(bare, Around(engine="parallelcluster", instance_type="g5.8xlarge")) == []
    assert [code for code, _line in told(bare, Around(engine="parallelcluster", instance_type="trn1.32xlarge"))] == [
        "efa_settings_missing"
    ]


def test_a_commented_option_of_accelerators_does_not_count():
    text = CLEAN.replace("#SBATCH --nodes=2\n", "#SBATCH --nodes=2\n##SBATCH --gpus-per-node=8\n")
    assert told(text) == [] and job_lint.lint(text).facts["commented_out"] == ["--gpus-per-node"]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("  name: llama", "  name: llama\n  namespace: hyperpod-ns-umi", "namespace_foreign", 5),
        ('resume: "true"', 'resume: "false"', "auto_resume_missing", 4),
        ('resume: "true"', "resume: true", "annotation_not_text", 6),
        ('    sagemaker.amazonaws.com/job-max-retry-count: "2"\n', "", "max_retry_missing", 4),
        ("persistentVolumeClaim: {claimName: fsx}", "hostPath: {path: /mnt}", "host_path", 16),
        ("persistentVolumeClaim: {claimName: fsx}", "emptyDir: {}", "checkpoint_inside_container", 20),
        ("--save, /fsx/ckpt", "--save=/tmp/ckpt", "checkpoint_inside_container", 20),
        ("- name: pytorch", "- name: trainer", "container_name", 18),
        ("@sha256:" + "a" * 64, ":latest", "image_not_pinned", 19),
        ("replicas: 2", "replicas: $NODES", "placeholder_unfilled", 11),
        ("[torchrun,", "[bash, -c, pip install x,", "download_at_start", 20),
        (", vpc.amazonaws.com/efa: 32", "", "efa_not_requested", 22),
        ("efa: 32", "efa: 4", "efa_fewer", 22),
        ("              resources:", "              securityContext: {privileged: true}\n              resources:", "privileged", 21),
        ("          containers:", "          hostNetwork: true\n          containers:", "privileged", 17),
        ("              resources:", "              env: [{name: HF_TOKEN, value: x}]\n              resources:", "secret_in_plain_env", 21),
        ("kind: PyTorchJob", "kind: Deployment", "no_job", 1),
    ],
)  # fmt: skip
def test_each_mistake_of_a_manifest_is_found_on_its_line(old, new, code, line):
    text = POD.replace(old, new, 1)
    assert text != POD
    assert (code, line) in told(text, EKS)


def test_several_documents_count_their_lines_from_the_top():
    service = "# beside\napiVersion: v1\nkind: Service\nmetadata: {name: etcd}\n---\n"
    assert told(service + POD, EKS) == [("kind_not_allowed", 3)]
    assert told(POD + "---\n" + POD, EKS)[0][0] == "several_jobs"
    assert told(POD.replace("replicas: 2", "replicas: $N") + "---\n", EKS) == [("placeholder_unfilled", 11)]
    assert told(service + POD.replace("replicas: 2", "replicas: [2"), EKS)[0][1] > 5


def test_variables_of_a_shell_in_a_manifest_are_no_blanks():
    shell = "[bash, -c, 'export STEPS=5; for x in 1 2; do echo $x ${STEPS} $RANK $(hostname); done']"
    assert told(POD.replace("[torchrun, --save, /fsx/ckpt]", shell), EKS) == []
    assert told(POD.replace("[torchrun, --save, /fsx/ckpt]", "[bash, -c, 'echo ${NUM_NODES}']"), EKS) == [
        ("placeholder_unfilled", 20)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: !!python/object/apply:os.system ['true']\n",
        "apiVersion: v1\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "apiVersion: v1\nkind: PyTorchJob\nkind: TrainJob\n",
        "apiVersion: {{ version }}\n",
        "apiVersion: v1\n" + "a: [" * 80,
        "apiVersion: v1\n\x00",
        "---\n# apiVersion: v1\napiVersion:\n",
        "#!/bin/bash\n" + "x" * 10_000_000,
        "apiVersion: v1\n" + "# x\n" * 2_500_000,
        "apiVersion: v1\nkind: PyTorchJob\nspec: [1, 2]\nmetadata: 5\n",
        "apiVersion: v1\nkind: TrainJob\nspec: {trainer: {command: bash, args: {a: 1}, env: 5, image: 3}}\n",
        "apiVersion: v1\nkind: PyTorchJob\nspec: {template: {containers: [1, null, {name: x, volumeMounts: [1]}]}}\n",
        "", "\ud800", "#SBATCH", "#!/bin/bash\n#SBATCH -", "#!/bin/bash\n#SBATCH --\n#SBATCH --=\nsrun ${A:-${A}} $A\nA=$A\n",
    ],
    ids=lambda text: text[:40].replace("\n", " ").replace("\x00", "").replace("\ud800", ""),
)  # fmt: skip
def test_hostile_and_broken_texts_are_refused_in_a_sentence(text):
    linted = job_lint.lint(text, EKS)
    assert linted.errors
    assert all(each.reason() and each.severity == "error" and each.line >= 1 for each in linted.errors)


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\nA=" + "x" * 19_000 + "\n" + "srun $A --save $A\n" * 50_000,
        "#!/bin/bash\n" + "A=$A$A$A\n" * 100_000 + "srun $A\n",
        "#!/bin/bash\nsrun " + "--save-" * 140_000,
        "#!/bin/bash\n" + "srun --container-image ${A:-${B:-${C\n" * 25_000,
        "#!/bin/bash\n" + "--save ./a\n" * 90_000,
        "apiVersion: v1\nkind: TrainJob\nspec: {a: '" + "$A " * 160_000 + "'}\n",
        "apiVersion: v1\nkind: TrainJob\nspec:\n" + "".join(f"  a{n}: $A\n" for n in range(30_000)),
    ],
    ids=["long values", "doubling", "one word", "open braces", "many folders", "many blanks", "many keys"],
)
def test_no_text_takes_long(text):
    began = time.process_time()
    job_lint.lint(text[: job_lint.LARGEST], EKS)
    assert time.process_time() - began < 8


def test_every_finding_has_a_reason_and_a_fix_and_no_more():
    assert set(words.REASONS) == set(words.FIXES)
    assert words.ERRORS <= set(words.REASONS)
    for code in words.REASONS:
        found = words.Found(code, 3, "x", "y", {"type": "z"})
        assert found.reason() and found.fix() and "%" not in found.reason() + found.fix()


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30", 30), ("1:30", 2), ("2:00:00", 120), ("1-0", 1440), ("1-12:30", 2190), ("1-12:30:01", 2191),
        ("0", None), ("UNLIMITED", None), ("", None), ("soon", None), ("1-x", None),
    ],
)  # fmt: skip
def test_time_limits_are_read_as_slurm_writes_them(text, minutes):
    assert sbatch.minutes(text) == minutes


FORMS = [
    "#SBATCH --nodes=4 # it's four, --time=5",
    "#SBATCH   --ntasks-per-node 8 #x",
    "#SBATCH\t--nodes=6",
    "#SBATCH --job-name 'two words' -p main",
    "#SBATCH --job-name=a#b --time=3",
    r"#SBATCH --job-name a\#b",
    '#SBATCH --job-name="x # y"',
    "#SBATCH -N3 -t 01:00:00",
    "#SBATCH --nodes=2\n#SBATCH --nodes=3",
    "#SBATCH--comment=close",
    "##SBATCH --nodes=2\n# SBATCH --nodes=3\n  #SBATCH --nodes=4",
    "#SBATCH --exclusive --part=main",
    "export A=1\n#SBATCH --nodes=5",
    ": <<X\n#SBATCH --nodes=3",
    "\n   \n   # words\n#SBATCH --nodes=7",
    "#SBATCH --exclusive=user --requeue --comment none",
]


@pytest.mark.skipif(shutil.which("sbatch") is None, reason="Slurm's own sbatch is not installed here")
@pytest.mark.parametrize("lines", FORMS)
def test_options_are_read_as_sbatch_reads_them(lines, tmp_path):
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=x\nSlurmctldHost=localhost\nSlurmctldPort=1\nAuthType=auth/none\nMessageTimeout=1\n"
    )
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/bash\n{lines}\ntrue\n")
    words = ["sbatch", "-vv", "--test-only", str(script)]
    told = subprocess.run(
        words, env={"SLURM_CONF": str(tmp_path / "slurm.conf"), "PATH": "/usr/bin:/bin"}, cwd=tmp_path,
        capture_output=True, text=True, timeout=30, check=False,
    ).stderr  # fmt: skip
    its = dict(re.findall(r"^sbatch: ([\w-]+) +: (.*)$", told.partition("end of defined options")[0], re.M))
    ours = {name: option.value for name, option in sbatch.options(script.read_text()).said.items()}
    named = {"nodes", "ntasks-per-node", "job-name", "partition", "time", "comment", "exclusive"}
    for name in named:
        if name == "time" and name in its:
            hours, minutes, _seconds = (int(part) for part in its[name].split(":"))
            assert sbatch.minutes(ours[name]) == hours * 60 + minutes
        elif name == "exclusive":
            assert (name in its) == (name in ours)
        else:
            assert its.get(name) == ours.get(name), (name, told)


@pytest.mark.parametrize(("given", "found"), [((), True), (("TOKEN",), False), (("OTHER",), True)])
def test_a_variable_that_the_launch_gives_is_no_gap_in_a_manifest(given, found):
    pod = {
        "containers": [{"name": "pytorch", "image": "r/t@sha256:" + "0" * 64, "command": ["bash", "-c", "echo $TOKEN"]}]
    }
    told = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "mine"}}
    told["spec"] = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": pod}}}}
    linted = job_lint.lint(yaml.safe_dump(told), Around(engine="hyperpod-eks", environment=given))
    assert ("placeholder_unfilled" in {each.code for each in linted.found}) is found
