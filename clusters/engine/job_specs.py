"""What the launcher is given for a job: on Slurm its script, on Kubernetes the object that runs it."""

from pathlib import Path
from typing import Any

import yaml

from clusters.engine import job_runs, names, quarantines, reaching
from clusters.engine.usage_facts import kubernetes_name
from clusters.jobs import lint as job_lint
from clusters.jobs import manifest_files
from clusters.launchers import LaunchSpec, manifests, slurm_options
from clusters.models import Cluster, ContainerImage, Job, Node, Quarantine

REPORTER = Path(__file__).resolve().parents[1] / "reporter" / "cohort.py"
# What the proof of a cluster runs in: small, and nothing of it is ours or the participant's.
PROOF_IMAGE = "public.ecr.aws/docker/library/busybox:1.37"
PROOF_COMMAND = ("/bin/sh", "-c", "hostname")


def spec(job: Job, cluster: Cluster) -> LaunchSpec:
    """Read inside a scope."""
    on_kubernetes = cluster.orchestrator == "hyperpod-eks"
    facts = {} if on_kubernetes else job_lint.lint(job.script).facts
    return LaunchSpec(
        name=job.engine_name,
        script=job.script,
        nodes=job.nodes,
        partition=job.partition,
        time_limit_minutes=job.time_limit_minutes,
        environment=job.environment if on_kubernetes else _with_python(job.environment),
        files={REPORTER.name: REPORTER.read_text("utf-8")} if on_kubernetes and reports(job) else {},
        comment=names.token(job.engine_name, "submit", 1),
        # The shipper names a stream by its file; the tasks of an array write into one.
        processes_per_node=int(facts.get("ntasks_per_node") or 1),
        options=slurm_options.kept(facts.get("options") or {}),
        log_path=f"/fsx/cohort/logs/%{'A' if job.array else 'j'}.out",
        # A test of two nodes is meant for those, in quarantine or not.
        only=tuple(job.pinned),
        without=() if job.pinned else _kept_away(cluster) if on_kubernetes else quarantines.kept_away(cluster),
        requeue=job.purpose != Job.Purpose.PROBE,
        manifest=manifest(job, cluster) if on_kubernetes else None,
        **job_runs.options(job),
    )


def reports(job: Job) -> bool:
    """Whether its script may want to: our own tests of a cluster never do."""
    return job.purpose == Job.Purpose.TRAINING


def _with_python(variables: dict[str, str]) -> dict[str, str]:
    """Where nodes keep the reporter, after whatever the job has: a job's environment is only what it is given."""
    before = variables.get("PYTHONPATH", "")
    return {**variables, "PYTHONPATH": f"{before}:{manifests.PYTHON_FOLDER}" if before else manifests.PYTHON_FOLDER}


def tasks_per_node(script: str) -> int:
    """As its own #SBATCH line says: Slurm's REST server reads none of these lines, and srun would start one on each node."""
    return int(job_lint.lint(script).facts.get("ntasks_per_node") or 1)


def _kept_away(cluster: Cluster) -> tuple[str, ...]:
    """The nodes that no new job should meet, as Kubernetes names HyperPod's instances."""
    held = Quarantine.objects.filter(cluster=cluster, lifted_at=None)
    return tuple(sorted(map(kubernetes_name, held.values_list("instance_id", flat=True))))


def manifest(job: Job, cluster: Cluster) -> dict[str, Any]:
    """The participant's own manifest as it was checked, or one made around the script."""
    where = reaching.on_kubernetes(cluster)
    if manifest_files.is_manifest(job.script):
        return manifests.queued(manifest_files.read(job.script), where.queue, where.priority)
    seat = Node.objects.filter(cluster=cluster, group=job.partition).values_list("instance_type", flat=True).first()
    kind = (seat or "").removeprefix("ml.")
    place = manifests.Place(where.namespace, kind, where.queue, where.priority)
    proof, probe = job.purpose == Job.Purpose.PROOF, job.purpose == Job.Purpose.PROBE
    work = manifests.Work(
        name=job.engine_name,
        image=PROOF_IMAGE if proof else image(job, cluster),
        nodes=job.nodes,
        script=f"{manifests.PYTHON_LINE}\n{job.script}" if reports(job) else job.script,
        command=PROOF_COMMAND if proof else (),
        time_limit_minutes=job.time_limit_minutes,
        processes_per_node=max(job.accelerators // job.nodes, 1) if probe else None,
        auto_resume=not (proof or probe),
    )
    return manifests.pytorch_job(place, work)


def starting_manifest(cluster: Cluster, nodes: int) -> str:
    """What a person may begin with: a job that fits this cluster's nodes."""
    row = ContainerImage.objects.filter(cluster=cluster, until_revision=None).order_by("name").first()
    named = row.uri if row else "REGISTRY/REPOSITORY@sha256:DIGEST"
    where = reaching.on_kubernetes(cluster)
    place = manifests.Place(where.namespace, cluster.main_type, where.queue, where.priority)
    command = ("torchrun", "--nnodes", str(nodes), "train.py")
    made = manifests.pytorch_job(place, manifests.Work("training", named, nodes, command=command))
    return str(yaml.safe_dump(made, sort_keys=False))


def image(job: Job, cluster: Cluster) -> str:
    """The image that it was launched with, by digest."""
    row = ContainerImage.objects.filter(cluster=cluster, digest=job.image_digest).order_by("revision").first()
    return row.uri if row else ""
