"""What a job asks for, read from each of the three kinds alike, and what its controller remembers of it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from clusters.sandbox.slurm.script import Plan

NEVER = float("inf")
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
AUTO_RESUME, RETRIES = "sagemaker.amazonaws.com/enable-job-auto-resume", "sagemaker.amazonaws.com/job-max-retry-count"
SHELLS = ("bash", "/bin/bash", "sh", "/bin/sh")


@dataclass
class Pod:
    """One pod as its node knows it; times that have not come are NEVER."""

    name: str
    role: str
    index: int
    made: float
    node: str = ""  # the instance's id
    bound: float = NEVER
    pulled: float = NEVER
    ended: float = NEVER
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    exit_code: int = 0
    signal: int = 0
    restarts: int = 0
    wiped: float = NEVER  # when it is gone after a deletion


@dataclass
class Run:
    """One job under its controller. `phase`: suspended, pending, running, restarting, succeeded, failed."""

    uid: str
    plural: str
    namespace: str
    name: str
    created: float
    phase: str = "pending"
    reason: str = ""
    message: str = ""
    eligible: float = 0.0
    started: float = NEVER  # of its present attempt, when every pod ran
    first_started: float = NEVER
    ends: float = NEVER
    ended: float = NEVER
    deadline: float = NEVER
    restarts: int = 0
    plan: Plan | None = None
    pods: list[Pod] = field(default_factory=list)
    past: list[tuple[str, float, float, Plan]] = field(default_factory=list)
    admitted: float = NEVER
    why_not: str = ""
    doomed: dict[str, Any] | None = None
    bad_image: str = ""
    stuck: bool = False  # a fault: admitted by Kueue and never let go
    deleting: float = NEVER
    changed: dict[str, float] = field(default_factory=dict)  # condition -> when it became true

    @property
    def over(self) -> bool:
        return self.phase in ("succeeded", "failed")


@dataclass(frozen=True)
class Asked:
    """What the object says, whichever kind it is."""

    roles: tuple[tuple[str, int, dict[str, Any]], ...]  # name, pods, pod spec
    suspend: bool
    deadline: float
    retries: int  # starts over after an exit of its own
    resumes: int  # starts over after a lost node
    cleans: str  # All, Running, None
    queue: str


def asked(thing: dict[str, Any]) -> Asked:
    spec, meta = thing["spec"], thing["metadata"]
    notes, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    queue = labels.get(QUEUE, "")
    if thing["kind"] == "PyTorchJob":
        policy, replicas = spec.get("runPolicy") or {}, spec["pytorchReplicaSpecs"]
        roles = tuple(
            (role.lower(), int(told.get("replicas", 1)), told["template"]["spec"])
            for role, told in sorted(replicas.items())
        )
        again = any(
            told.get("restartPolicy", "OnFailure") in ("OnFailure", "Always", "ExitCode") for told in replicas.values()
        )
        resumes = int(notes.get(RETRIES, 1)) if notes.get(AUTO_RESUME) == "true" else 0
        return Asked(
            roles,
            bool(policy.get("suspend")),
            float(policy.get("activeDeadlineSeconds") or NEVER),
            int(policy.get("backoffLimit") or 0) if again else 0,
            resumes,
            policy.get("cleanPodPolicy") or "Running",
            queue,
        )
    if thing["kind"] == "HyperPodPyTorchJob":
        policy = spec.get("runPolicy") or {}
        roles = tuple(
            (one["name"], int(one.get("replicas", 1)), one["template"]["spec"]) for one in spec["replicaSpecs"]
        )
        most = int(policy.get("jobMaxRetryCount") or 0)
        return Asked(
            roles, bool(policy.get("suspend")), float(policy.get("activeDeadlineSeconds") or NEVER), most, most,
            policy.get("cleanPodPolicy") or "All", queue,
        )  # fmt: skip
    trainer = spec.get("trainer") or {}
    container = {
        "name": "node",
        "image": trainer.get("image") or "pytorch/pytorch",
        "command": trainer.get("command") or [],
        "args": trainer.get("args") or [],
        "env": trainer.get("env") or [],
        "resources": trainer.get("resourcesPerNode") or {},
    }
    role = ("node", int(trainer.get("numNodes") or 1), {"containers": [container], **_patched(spec)})
    return Asked(
        (role,), bool(spec.get("suspend")), float(spec.get("activeDeadlineSeconds") or NEVER), 0, 0, "None", queue
    )


def pinned(thing: dict[str, Any]) -> Iterator[str]:
    """The nodes by name that a job's pods ask for."""
    for _role, _count, spec in asked(thing).roles:
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
        for term in required.get("nodeSelectorTerms") or []:
            for rule in term.get("matchExpressions") or []:
                if (rule["key"], rule["operator"]) == ("kubernetes.io/hostname", "In"):
                    yield from rule["values"]


def _patched(spec: dict[str, Any]) -> dict[str, Any]:
    """The nodes that patches of the runtime ask for."""
    chosen: dict[str, Any] = {"nodeSelector": {}}
    for patch in spec.get("runtimePatches") or []:
        jobs = ((patch.get("trainingRuntimeSpec") or {}).get("template") or {}).get("spec") or {}
        for job in jobs.get("replicatedJobs") or []:
            inner = (((job.get("template") or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
            chosen["nodeSelector"] |= inner.get("nodeSelector") or {}
            if inner.get("affinity"):
                chosen["affinity"] = inner["affinity"]
    return chosen


def script_of(pod_spec: dict[str, Any]) -> str:
    """What the first container would run, as lines of a shell."""
    container = pod_spec["containers"][0]
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    if len(words) >= 3 and words[0] in SHELLS and "c" in words[1]:
        return str(words[2])
    return shlex.join(map(str, words))


def environment_of(pod_spec: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: str(one.get("value", "")) for one in pod_spec["containers"][0].get("env") or []}
