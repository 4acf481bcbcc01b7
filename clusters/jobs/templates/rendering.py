"""Makes a script, or what runs in the pods of a manifest, of a template: every value is data, none is ever shell. Pure."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from clusters.jobs.lint.around import fast_network
from clusters.jobs.templates import Template
from clusters.jobs.templates.checks import Place, processes
from clusters.launchers.manifests import PYTHON_LINE

PORT = 29500
START = re.compile(r"@start(?::(?P<more>[^@]*))?@")


def script(
    template: Template,
    values: Mapping[str, Any],
    place: Place,
    *,
    name: str,
    nodes: int,
    minutes: int | None,
    image: str = "",
) -> str:
    """A script for sbatch. `values` are settled; `image` is a file on shared storage, or empty."""
    count = processes(template, place)
    tasks = count if template.starts == "ranks" else 1
    heals = place.engine != "parallelcluster"  # where Slurm itself starts a job again
    options = [
        f"--job-name={word(name)}",
        f"--nodes={nodes}",
        f"--ntasks-per-node={tasks}",
        *([f"--partition={place.partition}"] if place.partition else []),
        *([f"--time={_limit(minutes)}"] if minutes is not None else []),
        "--exclusive",
        "--open-mode=append",
    ]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        f"# {template.title} {template.version}, made by Cohort for {template.written_for}.",
        "set -euo pipefail",
        "",
        *parameters(template, values),
        "",
        *network(place),
        "NODES=$SLURM_JOB_NUM_NODES",
        f"PROCESSES={count}",
        # Not head: it closes the pipe early, and with pipefail that ends the job before it began.
        'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)',
        f"PORT=$(({PORT} + SLURM_JOB_ID % 1000))",
        *_rendezvous(template, count, slurm=True),
        *(['mkdir -p "$CHECKPOINTS"'] if "checkpoints" in template.parameters else []),
        "",
        *_healing(heals),
        f"SRUN=(--kill-on-bad-exit=1{_container(image)})",
    ]
    resume = '"${AUTO_RESUME[@]}" ' if heals else ""

    def start(match: re.Match[str]) -> str:
        more = f"{match['more']} " if match["more"] else ""
        return f'srun {resume}{more}"${{SRUN[@]}}"'

    return "\n".join(lines) + "\n" + START.sub(start, template.body)


def in_pod(template: Template, values: Mapping[str, Any], place: Place, *, nodes: int) -> str:
    """What one pod of each node runs; the operator tells it its rank and where the first one is."""
    count = processes(template, place)
    lines = [
        "set -euo pipefail",
        PYTHON_LINE,
        *parameters(template, values),
        *network(place),
        f"NODES={nodes}",
        f"PROCESSES={count}",
        "HEAD=${MASTER_ADDR:-localhost}",
        f"PORT=${{MASTER_PORT:-{PORT}}}",
        *_rendezvous(template, count, slurm=False),
        *(['mkdir -p "$CHECKPOINTS"'] if "checkpoints" in template.parameters else []),
    ]
    return "\n".join(lines) + "\n" + START.sub("exec", template.body)


def parameters(template: Template, values: Mapping[str, Any]) -> list[str]:
    """Assignments: what a person typed stands in quotation marks, whatever it is."""
    told = []
    for name, parameter in template.parameters.items():
        value = values[name]
        if parameter.kind == "words":
            told.append(f"{parameter.variable}=({' '.join(shlex.quote(each) for each in value)})")
        else:
            told.append(f"{parameter.variable}={shlex.quote(str(value))}")
    return told


def network(place: Place) -> list[str]:
    if place.accelerator == "none":
        return []
    told = []
    if fast_network(place.instance_type):
        told += ["export FI_PROVIDER=efa", "export FI_EFA_USE_HUGE_PAGE=0 FI_EFA_FORK_SAFE=1"]
    if place.accelerator == "neuron":
        return [*told, "export FI_EFA_USE_DEVICE_RDMA=1 CCOM_SOCKET_IFNAME=eth0"]
    return [
        *told,
        *(["export FI_EFA_SET_CUDA_SYNC_MEMOPS=0"] if told else []),
        "export NCCL_SOCKET_IFNAME='^docker,lo,veth' NCCL_DEBUG=WARN TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
        "export HF_HUB_ETAG_TIMEOUT=60",
    ]


def word(name: str) -> str:
    """A name that needs no quotation marks anywhere."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "job"


def _limit(minutes: int) -> str:
    days, rest = divmod(minutes, 24 * 60)
    return f"{days}-{rest // 60:02}:{rest % 60:02}:00"


def _rendezvous(template: Template, count: int, *, slurm: bool) -> list[str]:
    if template.starts != "torchrun":
        return []
    if slurm:
        where = '--rdzv_id "$SLURM_JOB_ID" --rdzv_backend c10d --rdzv_endpoint "$HEAD:$PORT"'
    else:
        where = '--node_rank "${RANK:-0}" --master_addr "$HEAD" --master_port "$PORT"'
    return [f'TORCHRUN=(--nnodes "$NODES" --nproc_per_node {count} {where})']


def _healing(heals: bool) -> list[str]:
    if not heals:
        return []
    return [
        "AUTO_RESUME=()",
        "if [[ -d /opt/sagemaker_cluster ]]; then AUTO_RESUME=(--auto-resume=1); fi",
    ]


def _container(image: str) -> str:
    return f" --container-image {shlex.quote(image)} --container-mounts /fsx:/fsx" if image else ""
