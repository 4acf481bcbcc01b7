"""How the controllers write down what they see: the status of jobs, the pods, and Kueue's workloads."""

import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from clusters.sandbox.kubernetes import kueue, machines
from clusters.sandbox.kubernetes.kinds import BY_PLURAL
from clusters.sandbox.kubernetes.runs import NEVER, PRIORITY, Asked, Pod, Run, asked
from clusters.sandbox.kubernetes.world import World, rfc3339

Stamp = Callable[[float], Any]
EVENTS = {"Unschedulable": ("FailedScheduling", "default-scheduler"), "ImagePullBackOff": ("Failed", "kubelet")}


def pod_name(run: Run, role: str, index: int) -> str:
    if run.plural == "trainjobs":
        mark = f"{zlib.crc32(f'{run.uid}/{index}/{run.restarts}'.encode()):08x}"[:5]
        return f"{run.name}-{role}-0-{index}-{mark}"
    return f"{run.name}-{role}-{index}"


def show(world: World, run: Run, thing: dict[str, Any] | None, stamp: Stamp, at: float) -> None:
    """Bring the objects of one job up to date; what did not change gets no new version."""
    if thing is None:
        return
    told = asked(thing)
    for pod in run.pods:
        spec = next((spec for role, _, spec in told.roles if role == pod.role), None)
        if spec is not None:
            world.put(BY_PLURAL["pods"], _pod(run, thing, pod, spec, stamp), stamp(pod.made))
            if pod.phase == "Pending" and pod.reason in EVENTS:
                world.put(BY_PLURAL["events"], _event(run, pod, stamp(pod.made)), stamp(pod.made))
    if told.queue:
        world.put(BY_PLURAL["workloads"], _workload(world, run, thing, told, stamp, at), stamp(run.created))
    status = {
        "PyTorchJob": _pytorch_status,
        "HyperPodPyTorchJob": _hyperpod_status,
        "TrainJob": _train_status,
    }[thing["kind"]](run, told, stamp)
    world.put(
        BY_PLURAL[run.plural], {**thing, "metadata": dict(thing["metadata"]), "status": status}, stamp(run.created)
    )


def _event(run: Run, pod: Pod, at: Any) -> dict[str, Any]:
    """What the scheduler or the kubelet reports of a pod that does not come to run; repeated, it is the same object."""
    reason, component = EVENTS[pod.reason]
    mark = f"{zlib.crc32(f'{pod.name}/{reason}/{pod.message}'.encode()):08x}"
    about = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "namespace": run.namespace}
    return {
        "metadata": {"name": f"{pod.name}.{mark}", "namespace": run.namespace},
        "involvedObject": about,
        "type": "Warning",
        "reason": reason,
        "message": pod.message if reason == "FailedScheduling" else f"Failed to pull image: {pod.message}",
        "source": {"component": component},
        "firstTimestamp": rfc3339(at),
        "lastTimestamp": rfc3339(at),
    }


def _time(stamp: Stamp, at: float) -> str:
    moment: datetime = stamp(at)
    return rfc3339(moment)


def _pod(run: Run, thing: dict[str, Any], pod: Pod, spec: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
    container = spec["containers"][0]
    status: dict[str, Any] = {"phase": pod.phase, "conditions": []}
    if pod.node:
        status["conditions"].append({"type": "PodScheduled", "status": "True"})
        status["startTime"] = _time(stamp, pod.bound)
        status["containerStatuses"] = [_container(pod, container, stamp)]
    elif pod.reason:
        status["conditions"].append(
            {"type": "PodScheduled", "status": "False", "reason": pod.reason, "message": pod.message}
        )
    if pod.reason == "NodeLost":
        status |= {"reason": "NodeLost", "message": pod.message}
    meta = {
        "name": pod.name,
        "namespace": run.namespace,
        "labels": {**_template_labels(thing, pod), **_own_labels(run, pod)},
        "ownerReferences": [
            {
                "apiVersion": thing["apiVersion"],
                "kind": thing["kind"],
                "name": run.name,
                "uid": run.uid,
                "controller": True,
            }
        ],
    }
    if pod.wiped < NEVER or run.deleting < NEVER:
        meta["deletionTimestamp"] = _time(stamp, min(pod.ended, run.deleting))
    body = {**spec, "nodeName": machines.name_of(pod.node)} if pod.node else spec
    return {"metadata": meta, "spec": body, "status": status}


def _template_labels(thing: dict[str, Any], pod: Pod) -> dict[str, str]:
    spec = thing["spec"]
    if thing["kind"] == "PyTorchJob":
        template = next(
            one["template"] for role, one in spec["pytorchReplicaSpecs"].items() if role.lower() == pod.role
        )
    elif thing["kind"] == "HyperPodPyTorchJob":
        template = next(one["template"] for one in spec["replicaSpecs"] if one["name"] == pod.role)
    else:
        return {}
    return dict((template.get("metadata") or {}).get("labels") or {})


def _own_labels(run: Run, pod: Pod) -> dict[str, str]:
    if run.plural == "pytorchjobs":
        return {
            "training.kubeflow.org/job-name": run.name,
            "training.kubeflow.org/replica-type": pod.role,
            "training.kubeflow.org/replica-index": str(pod.index),
        }
    if run.plural == "trainjobs":
        return {"jobset.sigs.k8s.io/jobset-name": run.name, "batch.kubernetes.io/job-completion-index": str(pod.index)}
    return {"sagemaker.amazonaws.com/job-name": run.name}


def _container(pod: Pod, container: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
    state: dict[str, Any]
    if pod.phase == "Pending":
        state = {"waiting": {"reason": pod.reason or "ContainerCreating", "message": pod.message}}
    elif pod.phase == "Running":
        state = {"running": {"startedAt": _time(stamp, pod.pulled)}}
    else:
        ended = {"exitCode": pod.exit_code, "reason": pod.reason or "Completed"}
        if pod.signal:
            ended["signal"] = pod.signal
        began = min(pod.pulled, pod.ended)
        state = {"terminated": {**ended, "startedAt": _time(stamp, began), "finishedAt": _time(stamp, pod.ended)}}
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": container.get("image", ""),
        "ready": pod.phase == "Running",
        "restartCount": pod.restarts,
        "state": state,
    }


def _condition(kind: str, true: bool, reason: str, message: str, at: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True" if true else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
        "lastUpdateTime": at,
    }


def _conditions(run: Run, kind: str, words: dict[str, str], stamp: Stamp) -> list[dict[str, Any]]:
    """In the order in which a job goes through them; the newest that holds is what it is."""
    at = lambda name, otherwise: _time(stamp, run.changed.get(name, otherwise))  # noqa: E731
    found = [
        _condition("Created", True, f"{kind}Created", f"{kind} {run.name} is created.", at("Created", run.created))
    ]
    if run.phase == "suspended":
        found.append(_condition(words["suspended"], True, f"{kind}Suspended", f"{kind} {run.name} is suspended.",
                                at("Suspended", run.created)))  # fmt: skip
    if run.first_started < NEVER:
        going = run.phase == "running"
        found.append(_condition(words["running"], going, f"{kind}Running", f"{kind} {run.name} is running.",
                                at("Running", run.first_started)))  # fmt: skip
    if run.phase == "restarting" or (run.phase == "pending" and run.restarts):
        found.append(
            _condition(words["restarting"], True, f"{kind}Restarting", run.message, at("Restarting", run.created))
        )
    if run.phase == "succeeded":
        found.append(_condition(words["succeeded"], True, f"{kind}Succeeded", run.message, _time(stamp, run.ended)))
    if run.phase == "failed":
        found.append(_condition("Failed", True, run.reason, run.message, _time(stamp, run.ended)))
    return found


def _times(run: Run, stamp: Stamp) -> dict[str, str]:
    told = {"startTime": _time(stamp, run.created)} if run.phase != "suspended" else {}
    return {**told, "completionTime": _time(stamp, run.ended)} if run.over else told


def _pytorch_status(run: Run, told: Asked, stamp: Stamp) -> dict[str, Any]:
    words = {"suspended": "Suspended", "running": "Running", "restarting": "Restarting", "succeeded": "Succeeded"}
    counts: dict[str, Any] = {}
    for role, _, _ in told.roles:
        mine = [pod for pod in run.pods if pod.role == role]
        counts[role.capitalize()] = {
            "active": sum(pod.phase in ("Running", "Pending") and bool(pod.node) for pod in mine),
            "succeeded": sum(pod.phase == "Succeeded" for pod in mine),
            "failed": sum(pod.phase == "Failed" for pod in mine),
        }
    return {"conditions": _conditions(run, "PyTorchJob", words, stamp), "replicaStatuses": counts, **_times(run, stamp)}


def _hyperpod_status(run: Run, told: Asked, stamp: Stamp) -> dict[str, Any]:
    words = {"suspended": "Suspended", "running": "Running", "restarting": "Restarting", "succeeded": "Completed"}
    return {
        "conditions": _conditions(run, "HyperPodPyTorchJob", words, stamp),
        **_times(run, stamp),
    }


def _train_status(run: Run, told: Asked, stamp: Stamp) -> dict[str, Any]:
    found = []
    if run.phase == "suspended":
        found.append(_condition("Suspended", True, "Suspended", "TrainJob is suspended", _time(stamp, run.created)))
    elif run.admitted < NEVER or run.over:
        found.append(_condition("Suspended", False, "Resumed", "TrainJob is resumed", _time(stamp, run.created)))
    if run.phase == "succeeded":
        found.append(
            _condition("Complete", True, "AllJobsCompleted", "jobset completed successfully", _time(stamp, run.ended))
        )
    if run.phase == "failed":
        reason = "DeadlineExceeded" if run.reason == "DeadlineExceeded" else "FailedJobs"
        found.append(_condition("Failed", True, reason, run.message, _time(stamp, run.ended)))
    for one in found:
        one.pop("lastUpdateTime")
    ready = sum(pod.phase == "Running" for pod in run.pods)
    counted = {
        "name": "node",
        "ready": int(ready > 0),
        "active": int(run.phase in ("pending", "running")),
        "succeeded": int(run.phase == "succeeded"),
        "failed": int(run.phase == "failed"),
        "suspended": int(run.phase == "suspended"),
    }
    return {"conditions": found, "jobsStatus": [counted]}


def _workload(world: World, run: Run, thing: dict[str, Any], told: Asked, stamp: Stamp, at: float) -> dict[str, Any]:
    name = kueue.workload_name(run)
    before = world.find(BY_PLURAL["workloads"], run.namespace, name) or {}
    local = world.find(BY_PLURAL["localqueues"], run.namespace, told.queue) or {"spec": {}}
    admitted = run.admitted < NEVER
    since = _time(stamp, run.admitted if admitted else run.created)
    reason = "QuotaReserved" if admitted else "Inadmissible" if "doesn't exist" in run.why_not else "Pending"
    conditions = [_condition("QuotaReserved", admitted, reason, "" if admitted else run.why_not, since)]
    if admitted:
        conditions.append(_condition("Admitted", True, "Admitted", "The workload is admitted", since))
    if run.over:
        conditions.append(_condition("Finished", True, run.phase.capitalize(), run.message, _time(stamp, run.ended)))
    for one in conditions:
        one.pop("lastUpdateTime")
    status: dict[str, Any] = {"conditions": conditions}
    if admitted:
        status["admission"] = {"clusterQueue": local["spec"].get("clusterQueue", "")}
    active = before.get("spec", {}).get("active", True)
    return {
        "metadata": {
            "name": name,
            "namespace": run.namespace,
            "labels": {"kueue.x-k8s.io/job-uid": run.uid},
            "ownerReferences": [
                {"apiVersion": thing["apiVersion"], "kind": thing["kind"], "name": run.name, "uid": run.uid}
            ],
        },
        "spec": {
            "queueName": told.queue,
            "active": active,
            "priorityClassName": (thing["metadata"].get("labels") or {}).get(PRIORITY, ""),
            "podSets": [{"name": role, "count": count} for role, count, _ in told.roles],
        },
        "status": status,
    }
