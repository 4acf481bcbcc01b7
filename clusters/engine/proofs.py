"""Created is not ready: what has to be shown of a cluster first, gathered by looking and kept as typed records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.utils import timezone

from clusters import states
from clusters.architectures.configuration import KubernetesPlace
from clusters.engine import reaching
from clusters.engine.facts import ENGINE, Known, smoke_name
from clusters.engine.seats import STATES
from clusters.launchers import Endpoint
from clusters.models import Cluster, FileSystem, Job, Node, Proof
from clusters.providers import ProviderError, Seen, aws
from tenants import metrics
from tenants.history import timeline
from tenants.work import due

log = structlog.get_logger(__name__)

Kind = Proof.Kind
REQUIRED = {
    "slurm": (Kind.NODES_RUNNING, Kind.FILE_SYSTEM, Kind.SMOKE_JOB),
    "eks": (Kind.NODES_RUNNING, Kind.FILE_SYSTEM, Kind.SMOKE_JOB),
}
BROKEN_FILE_SYSTEM = ("FAILED", "MISCONFIGURED", "MISCONFIGURED_UNAVAILABLE")
SMOKE_MINUTES = 10
# A machine image without the module of a file system leaves an empty folder behind, and a home that another node was still
# making at boot is one that sshd lets nobody into.
SMOKE_SCRIPT = """#!/bin/bash
# Shows that every node takes work, has its file systems and lets people in, and can be reached by the scheduler.
echo "smoke job on $SLURM_JOB_NUM_NODES nodes"
srun --ntasks-per-node=1 bash -c '
wrong=0
say() { echo "$(hostname): $1" >&2; wrong=1; }
for mount in MOUNTS; do
  if ! findmnt --noheadings "$mount" > /dev/null; then say "$mount is not mounted"
  elif ! ls "$mount" > /dev/null; then say "$mount cannot be read"
  fi
done
for user in ubuntu ec2-user; do
  home=$(getent passwd "$user" | cut -d: -f6)
  if [ -z "$home" ]; then continue
  elif [ ! -d "$home" ]; then say "$user cannot sign in: there is no $home"
  elif [ "$(stat -c %U "$home")" != "$user" ]; then say "$user cannot sign in: $home belongs to somebody else"
  elif [ $(( 0$(stat -c %a "$home") & 022 )) -ne 0 ]; then say "$user cannot sign in: others may write in $home"
  fi
done
hostname
exit $wrong'
"""


def smoke_script(mounts: Sequence[str]) -> str:
    return SMOKE_SCRIPT.replace("MOUNTS", " ".join(mounts))


@dataclass(frozen=True)
class Result:
    kind: str
    passed: bool
    evidence: str


@dataclass(frozen=True)
class Evidence:
    """What was shown now and before. `open`: something is still to be shown; `failed`: the sentence of what did not hold."""

    open: bool = True
    failed: str = ""
    results: tuple[Result, ...] = ()
    endpoint: Endpoint | None = None
    file_systems: Mapping[str, str] | None = None  # external id -> the engine's word
    wants_smoke_job: bool = False


def gather(known: Known, seen: Mapping[str, Seen], *, waits: bool = False) -> Evidence:
    """Look for what is still to be shown. Asks nothing while the cluster is not complete or has been proven."""
    cluster = known.cluster
    # What is about to be stopped still runs at the first look: a smoke job would wait for it until it is started again.
    waits = waits or cluster.fleet_wanted == "stopped"
    if (
        known.configuration is None
        or not cluster.wanted
        or cluster.proven >= cluster.generation
        or waits
        or not _complete(known, seen)
    ):
        return Evidence(open=cluster.proven < cluster.generation)
    shown = {proof.kind: Result(proof.kind, proof.passed, proof.evidence) for proof in known.proofs}
    endpoint, systems, smoke = None, None, False
    shown[Kind.NODES_RUNNING] = Result(
        Kind.NODES_RUNNING, True, f"{cluster.nodes_wanted} of {cluster.nodes_wanted} nodes run."
    )
    if not _passed(shown, Kind.FILE_SYSTEM):
        systems, found = _file_systems(known, seen)
        if found:
            shown[Kind.FILE_SYSTEM] = found
    required = REQUIRED[known.configuration.made_of().orchestrator]
    if Kind.SMOKE_JOB in required and not _passed(shown, Kind.SMOKE_JOB):
        by_agent = cluster.reach == Cluster.Reach.AGENT
        endpoint = None if known.access or by_agent else _endpoint(known)
        if known.smoke_job is None:
            smoke = known.access is not None or endpoint is not None or by_agent
        elif known.smoke_job.state in states.JOB_ENDS:
            shown[Kind.SMOKE_JOB] = _smoke_result(known.smoke_job)
    failed = next((result.evidence for result in shown.values() if not result.passed), "")
    new = tuple(
        r for kind, r in shown.items() if not any(p.kind == kind and p.passed == r.passed for p in known.proofs)
    )
    missing = any(kind not in shown for kind in required)
    return Evidence(missing, failed, new, endpoint, systems, smoke)


def _complete(known: Known, seen: Mapping[str, Seen]) -> bool:
    if len(seen) < len(known.specs) or any(part.phase != "ready" or not part.ours for part in seen.values()):
        return False
    running = sum(STATES.get(node.status) == "running" for part in seen.values() for node in part.nodes)
    return running >= known.cluster.nodes_wanted


def _passed(shown: Mapping[str, Result], kind: str) -> bool:
    return kind in shown and shown[kind].passed


def _file_systems(known: Known, seen: Mapping[str, Seen]) -> tuple[Mapping[str, str] | None, Result | None]:
    outputs = seen["base"].outputs
    wanted = [outputs[name] for name in ("LustreId", "OpenZfsId") if outputs.get(name)]
    try:
        answer = aws.call(known.account, "fsx", "DescribeFileSystems", FileSystemIds=wanted)
    except ProviderError as error:
        metrics.provider_error("file_system", error.kind)
        log.warning("file_systems_not_seen", cluster=known.cluster.name, kind=error.kind, message=error.message)
        return None, None  # not shown; the next look asks again
    words = {system["FileSystemId"]: system.get("Lifecycle", "") for system in answer["FileSystems"]}
    told = ", ".join(f"{name} is {word}" for name, word in sorted(words.items()))
    if any(word in BROKEN_FILE_SYSTEM for word in words.values()):
        return words, Result(Kind.FILE_SYSTEM, False, told)
    if len(words) == len(wanted) and set(words.values()) == {"AVAILABLE"}:
        return words, Result(Kind.FILE_SYSTEM, True, told)
    return words, None


def _endpoint(known: Known) -> Endpoint | None:
    try:
        names = {role: row.name for role, row in known.rows.items()}
        place = (known.configuration and known.configuration.kubernetes) or KubernetesPlace()
        return reaching.look(reaching.Way(known.cluster.orchestrator, known.account, names, place.namespace))
    except ProviderError as error:
        metrics.provider_error("scheduler", error.kind)
        log.warning("endpoint_not_read", cluster=known.cluster.name, kind=error.kind, message=error.message)
        return None


def _smoke_result(job: Job) -> Result:
    if job.state == "succeeded":
        return Result(Kind.SMOKE_JOB, True, f"The smoke job {job.external_id} ended well on {job.nodes} nodes.")
    why = job.reason or job.engine_state
    return Result(
        Kind.SMOKE_JOB, False, f"The smoke job {job.external_id} ended as {job.engine_state or job.state}: {why}"
    )


def write(cluster: Cluster, evidence: Evidence) -> None:
    """Keep what was shown; ask for the smoke job when it is its turn."""
    for result in evidence.results:
        Proof.objects.update_or_create(
            tenant_id=cluster.tenant_id,
            cluster=cluster,
            generation=cluster.generation,
            kind=result.kind,
            defaults={"passed": result.passed, "evidence": result.evidence, "taken_at": timezone.now()},
        )
        timeline.record(
            states.PROOF,
            about=cluster,
            by=ENGINE,
            name=cluster.name,
            proof=str(Kind(result.kind).label),
            result="passed" if result.passed else "failed",
            evidence=result.evidence,
        )
    for external_id, word in (evidence.file_systems or {}).items():
        FileSystem.objects.filter(cluster=cluster, external_id=external_id).update(engine_status=word)
    if evidence.endpoint:
        reaching.keep(cluster, evidence.endpoint)
    if evidence.wants_smoke_job:
        _launch_smoke_job(cluster)


def _launch_smoke_job(cluster: Cluster) -> None:
    """One job over all compute nodes of the largest partition; its name makes a second one impossible."""
    seats = Node.objects.filter(cluster=cluster, role="compute").exclude(state="gone")
    groups = list(seats.values_list("group", flat=True))
    if not groups:
        return
    largest = max(sorted(set(groups)), key=groups.count)
    mounts = FileSystem.objects.filter(cluster=cluster).values_list("mount", flat=True)
    job, new = Job.objects.get_or_create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        engine_name=smoke_name(cluster),
        defaults={
            "name": f"proof of {cluster.name}, generation {cluster.generation}",
            "purpose": Job.Purpose.PROOF,
            "script": smoke_script(sorted({"/fsx", *mounts})),
            "nodes": groups.count(largest),
            "partition": largest,
            "time_limit_minutes": SMOKE_MINUTES,
            "environment": {"STEPS": "1"},
            "launched_by": ENGINE,
        },
    )
    if new:
        timeline.record(states.JOB_WISHED, about=job, by=ENGINE, name=job.name, nodes=job.nodes)
        due.wish("jobs", cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane, after=timedelta(0))
