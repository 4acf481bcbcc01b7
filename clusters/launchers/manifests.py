"""From a job to the object that Kubernetes is asked to create, for each kind of job that we know. Pure."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters import facts

MANAGED_BY, OURS = "app.kubernetes.io/managed-by", "cohort"
JOB, TOKEN, HELD = "cohort/job", "cohort/token", "cohort/held"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
AUTO_RESUME = "sagemaker.amazonaws.com/enable-job-auto-resume"
MOST_RESUMES = "sagemaker.amazonaws.com/job-max-retry-count"
HOSTNAME = "kubernetes.io/hostname"
HEALTH, DEEP = "sagemaker.amazonaws.com/node-health-status", "sagemaker.amazonaws.com/deep-health-check-status"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
GPU, NEURON, EFA = "nvidia.com/gpu", "aws.amazon.com/neuron", "vpc.amazonaws.com/efa"
KINDS = {  # kind -> (group, version, plural)
    "PyTorchJob": ("kubeflow.org", "v1", "pytorchjobs"),
    "HyperPodPyTorchJob": ("sagemaker.amazonaws.com", "v1", "hyperpodpytorchjobs"),
    "TrainJob": ("trainer.kubeflow.org", "v1alpha1", "trainjobs"),
}
RUNTIME, MANAGER = "torch-distributed", "cohort/launcher"
# What the daemons of a node keep of it: a job that asked for all of it would never be let in.
OVERHEAD = 0.1
PYTHON_FOLDER = "/opt/cohort/python"  # as on nodes of Slurm
PYTHON_LINE = f'export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{PYTHON_FOLDER}"'
START_SECONDS, HANG_SECONDS = 1800, 1800
EFA_ENVIRONMENT = {"FI_PROVIDER": "efa", "FI_EFA_USE_HUGE_PAGE": "0", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}


@dataclass(frozen=True)
class Place:
    """Where a job goes: what of the cluster its manifest has to know."""

    namespace: str
    instance_type: str  # plain, e.g. p5.48xlarge
    queue: str = ""  # of Kueue; empty: nobody queues it
    priority: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)  # where it is mounted -> the claim of a volume
    checked_nodes_only: bool = False  # only nodes that passed the deep health check


@dataclass(frozen=True)
class Work:
    """What runs: a script, or a command, in an image."""

    name: str
    image: str  # by digest
    nodes: int
    script: str = ""
    command: tuple[str, ...] = ()
    processes_per_node: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)  # shown to whoever may read the object
    time_limit_minutes: int | None = None
    retries: int = 0  # how often the engine may begin it again
    auto_resume: bool = True  # begin again on another node when one is lost


def devices(instance_type: str) -> dict[str, str]:
    """What a whole node of this type gives to one pod; without accelerators, its processors less the overhead."""
    known = facts.load().instance(instance_type)
    if known is None:
        return {}
    if not known.accelerators:
        return {"cpu": str(max(1, math.floor((known.vcpus or 2) * (1 - OVERHEAD)) - 1))}
    found = {NEURON if known.accelerator == "Neuron" else GPU: str(known.accelerators)}
    if known.efa:
        found[EFA] = str(known.efa)
    return found


def pytorch_job(place: Place, work: Work) -> dict[str, Any]:
    """`kubeflow.org/v1`: one pod leads, the others follow."""
    template = _template(place, work, "pytorch", _environment(place, work))
    role = {"restartPolicy": "OnFailure" if work.retries or work.auto_resume else "Never", "template": template}
    replicas = {"Master": {"replicas": 1, **role}}
    if work.nodes > 1:
        replicas["Worker"] = {"replicas": work.nodes - 1, **copy.deepcopy(role)}
    policy: dict[str, Any] = {"cleanPodPolicy": "Running", "backoffLimit": work.retries}
    if work.time_limit_minutes is not None:
        policy["activeDeadlineSeconds"] = work.time_limit_minutes * 60
    spec: dict[str, Any] = {"pytorchReplicaSpecs": replicas, "runPolicy": policy}
    if work.processes_per_node:
        spec["nprocPerNode"] = str(work.processes_per_node)
    made = _object("PyTorchJob", place, work, spec)
    if work.auto_resume:
        made["metadata"]["annotations"] = {AUTO_RESUME: "true", MOST_RESUMES: str(max(work.retries, 1))}
    return made


def hyperpod_pytorch_job(place: Place, work: Work) -> dict[str, Any]:
    """`sagemaker.amazonaws.com/v1`: HyperPod's own operator begins again what was lost, and sees what hangs."""
    policy: dict[str, Any] = {
        "cleanPodPolicy": "None",
        "jobMaxRetryCount": max(work.retries, 1) if work.auto_resume else 0,
        "logMonitoringConfiguration": [
            {"name": "JobStart", "logPattern": ".*", "expectedStartCutOffInSeconds": START_SECONDS},
            {"name": "JobHangingDetection", "logPattern": ".*", "expectedRecurringFrequencyInSeconds": HANG_SECONDS},
        ],
    }
    if work.time_limit_minutes is not None:
        policy["activeDeadlineSeconds"] = work.time_limit_minutes * 60
    template = _template(place, work, "pytorch", _environment(place, work))
    spec = {
        "nprocPerNode": str(work.processes_per_node or "auto"),
        "runPolicy": policy,
        "replicaSpecs": [{"name": "pod", "replicas": work.nodes, "template": template}],
    }
    return _object("HyperPodPyTorchJob", place, work, spec)


def train_job(place: Place, work: Work) -> dict[str, Any]:
    """`trainer.kubeflow.org/v1alpha1`: the runtime brings the pods, the job says what runs in them."""
    trainer: dict[str, Any] = {
        "image": work.image,
        "command": _command(work),
        "numNodes": work.nodes,
        "env": [{"name": name, "value": value} for name, value in _environment(place, work).items()],
        "resourcesPerNode": _resources(place),
    }
    if work.processes_per_node:
        trainer["numProcPerNode"] = work.processes_per_node
    selector = {INSTANCE_TYPE: facts.ml_name(place.instance_type), HEALTH: "Schedulable"}
    spec: dict[str, Any] = {
        "runtimeRef": {"name": RUNTIME, "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org"},
        "trainer": trainer,
        "runtimePatches": [_runtime_patch({"nodeSelector": selector})],
    }
    if work.time_limit_minutes is not None:
        spec["activeDeadlineSeconds"] = work.time_limit_minutes * 60
    if place.queue:
        spec["suspend"] = True  # Kueue lets go only what it finds held back
    return _object("TrainJob", place, work, spec)


def _runtime_patch(pod: dict[str, Any]) -> dict[str, Any]:
    """What is changed in the pods that the runtime brings."""
    patch = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}}}


RENDERERS: Mapping[str, Callable[[Place, Work], dict[str, Any]]] = {
    "PyTorchJob": pytorch_job,
    "HyperPodPyTorchJob": hyperpod_pytorch_job,
    "TrainJob": train_job,
}


def _object(kind: str, place: Place, work: Work, spec: dict[str, Any]) -> dict[str, Any]:
    group, version, _ = KINDS[kind]
    meta: dict[str, Any] = {"name": work.name, "namespace": place.namespace}
    labels = {QUEUE: place.queue, PRIORITY: place.priority if place.queue else ""}
    if place.queue:
        meta["labels"] = {name: value for name, value in labels.items() if value}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": meta, "spec": spec}


def queued(manifest: dict[str, Any], queue: str, priority: str) -> dict[str, Any]:
    """Somebody's own object, let in by the cluster's queue unless it names one itself."""
    meta = manifest.setdefault("metadata", {})
    if not queue or (meta.get("labels") or {}).get(QUEUE):
        return manifest
    meta["labels"] = {**(meta.get("labels") or {}), QUEUE: queue, **({PRIORITY: priority} if priority else {})}
    suspend(manifest, True)  # Kueue lets go only what it finds held back
    return manifest


def _template(place: Place, work: Work, container: str, environment: Mapping[str, str]) -> dict[str, Any]:
    mounts = [{"name": f"claim-{number}", "mountPath": path} for number, path in enumerate(place.claims)]
    volumes = [
        {"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(place.claims.values())
    ]
    wanted = [{"key": HEALTH, "operator": "In", "values": ["Schedulable"]}]
    if place.checked_nodes_only:
        wanted.append({"key": DEEP, "operator": "In", "values": ["Passed"]})
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}}
    # Collectives of one node speak through shared memory, of which a container has 64 MiB unless told.
    memory = {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
    return {
        "spec": {
            "containers": [
                {
                    "name": container,
                    "image": work.image,
                    "command": _command(work),
                    "env": [{"name": name, "value": value} for name, value in environment.items()],
                    "resources": _resources(place),
                    "volumeMounts": [*mounts, {"name": "shared-memory", "mountPath": "/dev/shm"}],
                }
            ],
            "nodeSelector": {INSTANCE_TYPE: facts.ml_name(place.instance_type)},
            "affinity": {"nodeAffinity": affinity},
            "volumes": [*volumes, memory],
        }
    }


def _resources(place: Place) -> dict[str, Any]:
    found = devices(place.instance_type)
    return {"requests": dict(found), "limits": dict(found)}


def _command(work: Work) -> list[str]:
    return list(work.command) if work.command else ["/bin/bash", "-c", work.script]


def _environment(place: Place, work: Work) -> dict[str, str]:
    efa = EFA_ENVIRONMENT if EFA in devices(place.instance_type) else {}
    return {**efa, **work.environment}


@dataclass(frozen=True)
class Mark:
    """What the launcher adds to any object, whoever wrote it."""

    name: str
    token: str
    secret: str = ""  # the Secret with values of its environment
    secret_names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # of the Secret, mounted where Python looks; a TrainJob has no pods of its own for it
    held: bool = False
    only: tuple[str, ...] = ()  # the nodes that it must run on
    without: tuple[str, ...] = ()  # nodes that it must not run on


def marked(manifest: Mapping[str, Any], namespace: str, mark: Mark) -> dict[str, Any]:
    """The object as it is sent: named and labelled as ours, with what is secret taken from a Secret."""
    made = copy.deepcopy(dict(manifest))
    meta = made.setdefault("metadata", {})
    meta["name"], meta["namespace"] = mark.name, namespace
    meta["labels"] = {**(meta.get("labels") or {}), MANAGED_BY: OURS, JOB: mark.name}
    meta["annotations"] = {**(meta.get("annotations") or {}), TOKEN: mark.token}
    if mark.held:
        meta["annotations"][HELD] = "yes"
        suspend(made, True)
    for template in templates(made):
        told = template.setdefault("metadata", {})
        told["labels"] = {**(told.get("labels") or {}), MANAGED_BY: OURS, JOB: mark.name}
    for spec in pod_specs(made) if mark.only or mark.without else ():
        _place(spec, mark)
    for template in templates(made) if mark.files else ():
        _mount(template["spec"], mark)
    if mark.secret_names:
        for container in containers(made):
            mine = [one for one in container.get("env") or [] if one.get("name") not in mark.secret_names]
            container["env"] = mine + [
                {"name": name, "valueFrom": {"secretKeyRef": {"name": mark.secret, "key": name}}}
                for name in mark.secret_names
            ]
    return made


def _mount(spec: dict[str, Any], mark: Mark) -> None:
    """The path of Python stays as the image sets it: a variable of the object would replace it."""
    items = [{"key": name, "path": name} for name in mark.files]
    volume = {"name": "cohort-python", "secret": {"secretName": mark.secret, "items": items, "defaultMode": 0o444}}
    spec["volumes"] = [*(spec.get("volumes") or []), volume]
    mount = {"name": "cohort-python", "mountPath": PYTHON_FOLDER, "readOnly": True}
    for container in spec["containers"]:
        container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]


def _place(spec: dict[str, Any], mark: Mark) -> None:
    """Each of the terms that a pod is placed by is one of several choices, so each has to say it."""
    rules = [("In", mark.only), ("NotIn", mark.without)]
    wanted = [{"key": HOSTNAME, "operator": word, "values": list(names)} for word, names in rules if names]
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.setdefault("nodeSelectorTerms", [{}]):
        term["matchExpressions"] = [*(term.get("matchExpressions") or []), *copy.deepcopy(wanted)]


def suspend(manifest: dict[str, Any], wanted: bool) -> None:
    """Hold a job's object back, or let it go."""
    spec = manifest.setdefault("spec", {})
    if manifest["kind"] == "TrainJob":
        spec["suspend"] = wanted
    else:
        spec.setdefault("runPolicy", {})["suspend"] = wanted


def templates(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The templates of its pods; a TrainJob has none of its own."""
    spec = manifest.get("spec") or {}
    if manifest.get("kind") == "PyTorchJob":
        yield from (role["template"] for role in spec.get("pytorchReplicaSpecs", {}).values())
    elif manifest.get("kind") == "HyperPodPyTorchJob":
        yield from (role["template"] for role in spec.get("replicaSpecs", []))


def pod_specs(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Where it is said on which nodes its pods run: in each template, or in what a TrainJob changes of its runtime."""
    for template in templates(manifest):
        yield template["spec"]
    if manifest.get("kind") == "TrainJob":
        patches = manifest["spec"].setdefault("runtimePatches", [])
        if not any(patch.get("manager") == MANAGER for patch in patches):
            patches.append(_runtime_patch({}))
        [mine] = [patch for patch in patches if patch.get("manager") == MANAGER]
        for job in mine["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
            yield job["template"]["spec"]["template"]["spec"]


def containers(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What has an environment and an image: the containers of its pods, or the trainer."""
    for template in templates(manifest):
        yield from template["spec"]["containers"]
    if manifest.get("kind") == "TrainJob":
        yield manifest["spec"].setdefault("trainer", {})


def pods(manifest: Mapping[str, Any]) -> int:
    """How many pods it asks for."""
    spec = manifest.get("spec") or {}
    if manifest.get("kind") == "PyTorchJob":
        return sum(int(role.get("replicas", 1)) for role in spec.get("pytorchReplicaSpecs", {}).values())
    if manifest.get("kind") == "HyperPodPyTorchJob":
        return sum(int(role.get("replicas", 1)) for role in spec.get("replicaSpecs", []))
    return int((spec.get("trainer") or {}).get("numNodes") or 1)


def accelerators(manifest: Mapping[str, Any]) -> int:
    """How many accelerators its pods ask for together."""

    def of(resources: Mapping[str, Any]) -> int:
        told = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
        return sum(int(told.get(name, 0)) for name in (GPU, NEURON))

    spec = manifest.get("spec") or {}
    if manifest.get("kind") == "TrainJob":
        trainer = spec.get("trainer") or {}
        return of(trainer.get("resourcesPerNode") or {}) * int(trainer.get("numNodes") or 1)
    roles = spec.get("replicaSpecs") or list((spec.get("pytorchReplicaSpecs") or {}).values())
    return sum(
        int(role.get("replicas", 1)) * of(container.get("resources") or {})
        for role in roles
        for container in role["template"]["spec"]["containers"]
    )
