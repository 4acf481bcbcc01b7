"""What the conditions and pods of a job on Kubernetes mean in our words, with the evidence for it. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from clusters.launchers import JobSeen, NodeSeen, NodeState, State, manifests

GOOD_ENDS = ("Succeeded", "Completed", "Complete")
STUCK = timedelta(minutes=5)  # admitted by Kueue and still held back: the watchdog's patience
SHORT = {"PyTorchJob": "ptj", "HyperPodPyTorchJob": "hpj", "TrainJob": "trj"}
LONG = {short: kind for kind, short in SHORT.items()}
JOBSET = "jobset.sigs.k8s.io/jobset-name"
Thing = Mapping[str, Any]


def external_id(kind: str, name: str) -> str:
    return f"{SHORT[kind]}/{name}"


def read_id(told: str) -> tuple[str, str] | None:
    """Kind and name; None for what is no id of ours."""
    short, _, name = told.partition("/")
    return (LONG[short], name) if short in LONG and name else None


@dataclass(frozen=True)
class Beside:
    """What is asked only where something of a job is not as it should be."""

    events: Mapping[str, Thing] = field(default_factory=dict)  # pod -> the newest warning about it
    unready: Mapping[str, str] = field(default_factory=dict)  # node that is not ready -> since when and why


NOTHING = Beside()


def warnings(events: Iterable[Thing]) -> dict[str, Thing]:
    """The newest warning about each pod."""

    def at(event: Thing) -> str:
        return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp"))

    about = [event for event in events if (event.get("involvedObject") or {}).get("kind") == "Pod"]
    return {event["involvedObject"]["name"]: event for event in sorted(about, key=at) if event.get("type") == "Warning"}


def waits(pod: Thing) -> bool:
    """A pod of which an event may say why it does not run."""
    return _phase(pod) == "Pending"


def doubtful(pod: Thing) -> bool:
    """A pod that says Running and is not ready: so say the pods of a node that is no longer heard."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return _phase(pod) == "Running" and any(one["type"] == "Ready" and one["status"] != "True" for one in conditions)


def unready(nodes: Iterable[NodeSeen]) -> dict[str, str]:
    """Nodes that are not ready, and what is known of each."""
    return {
        one.name: f"{one.engine_state or 'NotReady'} since {one.reason_at:%Y-%m-%d %H:%M} UTC. {one.reason}".strip()
        if one.reason_at
        else f"{one.engine_state or 'NotReady'}. {one.reason}".strip()
        for one in nodes
        if one.state == "down"
    }


def seen(thing: Thing, pods: list[Thing], workload: Thing | None, now: datetime, beside: Beside = NOTHING) -> JobSeen:
    """One job, from its object, its pods and what Kueue says of it."""
    kind, meta = thing["kind"], thing["metadata"]
    conditions = {one["type"]: one for one in (thing.get("status") or {}).get("conditions") or []}
    true = {name: one for name, one in conditions.items() if one.get("status") == "True"}
    pods = [
        pod for pod in pods if not pod["metadata"].get("deletionTimestamp") or _phase(pod) in ("Succeeded", "Failed")
    ]
    wanted, running = manifests.pods(thing), sum(_phase(pod) == "Running" for pod in pods)
    state, engine_state, reason = _state(thing, true, pods, workload, wanted, running, now, beside)
    ended = state in ("succeeded", "failed", "timed_out")
    bad = _culprit(pods) if state in ("failed", "timed_out") else None
    code = 0 if state == "succeeded" else _exit(bad).get("exitCode") if bad else None
    return JobSeen(
        name=meta["name"],
        external_id=external_id(kind, meta["name"]),
        state=state,
        engine_state=engine_state,
        reason=reason,
        exit_code=code if ended else None,
        signal=(code - 128 if code is not None and code > 128 else None) if ended else None,
        nodes=tuple(sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")})),
        restarts=None,
        restart_limit=_restart_limit(thing),
        submitted_at=_time(meta.get("creationTimestamp")),
        started_at=_started(thing, pods) if ended or state == "running" else None,
        ended_at=_ended(thing, true) if ended else None,
        held=(meta.get("annotations") or {}).get(manifests.HELD) == "yes" and state == "queued",
        accelerators=manifests.accelerators(thing),
        time_limit_minutes=_limit(thing),
    )


def _state(
    thing: Thing, true: Mapping[str, Thing], pods: list[Thing], workload: Thing | None, wanted: int, running: int,
    now: datetime, beside: Beside,
) -> tuple[State, str, str]:  # fmt: skip
    if any(end in true for end in GOOD_ENDS):
        return "succeeded", next(end for end in GOOD_ENDS if end in true), ""
    if "Failed" in true:
        return _failed(true["Failed"], pods)
    if thing["metadata"].get("deletionTimestamp"):
        return "running" if running else "queued", "Terminating", "Kubernetes is taking its pods away."
    if "Suspended" in true:
        return "queued", "Suspended", _why_suspended(thing, workload, now)
    again = "Restarting" in true and "Running" not in true
    lost = _lost(pods, beside.unready)
    if running >= wanted:
        return "running", "NodeLost" if lost else "Running", lost
    told = " ".join(filter(None, [lost, _why_pending(pods, beside.events)]))
    if again:
        return "recovering", "Restarting", true["Restarting"].get("message") or told
    if running or any(pod["spec"].get("nodeName") for pod in pods):
        # "Running" of the operator means that the leader runs; a world that is short does not train.
        return "starting", "Pending", f"{running} of {wanted} pods run. {told}".strip()
    return "queued", "Pending" if pods else "Created", told


def _failed(condition: Thing, pods: list[Thing]) -> tuple[State, str, str]:
    reason, message = condition.get("reason") or "Failed", condition.get("message") or ""
    if reason == "DeadlineExceeded":
        return "timed_out", reason, message
    bad = _culprit(pods)
    if bad is None:
        return "failed", reason, message
    ended, node = _exit(bad), bad["spec"].get("nodeName", "")
    status = bad.get("status") or {}
    word = status.get("reason") or ended.get("reason") or reason
    told = f"{word}: pod {bad['metadata']['name']}" + (f" on {node}" if node else "")
    if status.get("message"):
        return "failed", word, f"{told}. {status['message']}"
    return (
        "failed",
        word,
        f"{told} ended with code {ended['exitCode']}." if "exitCode" in ended else f"{told}. {message}",
    )


def _culprit(pods: list[Thing]) -> Thing | None:
    """The pod that says most of why: a lost node first, then who was killed, then who ended first."""

    def weight(pod: Thing) -> tuple[int, str]:
        reasons = {(pod.get("status") or {}).get("reason"), _exit(pod).get("reason")}
        rank = 0 if "NodeLost" in reasons else 1 if "OOMKilled" in reasons else 2
        return rank, _exit(pod).get("finishedAt") or "9"

    failed = [pod for pod in pods if _phase(pod) == "Failed"]
    return min(failed, key=weight) if failed else None


def _why_suspended(thing: Thing, workload: Thing | None, now: datetime) -> str:
    if workload is None:
        return "It is held back." if not _queue(thing) else "Kueue has not looked at it yet."
    conditions = {one["type"]: one for one in (workload.get("status") or {}).get("conditions") or []}
    admitted = conditions.get("Admitted") or {}
    if admitted.get("status") == "True":
        since = _time(admitted.get("lastTransitionTime"))
        if since and now - since > STUCK:
            minutes = int((now - since).total_seconds() // 60)
            return (
                f"Kueue admitted it {minutes} minutes ago and it is still held back: its operator has to let it go. "
                "Ask who runs the cluster to look at the controller of Kueue."
            )
        return "Kueue admitted it; it is about to be let go."
    if not (workload.get("spec") or {}).get("active", True):
        return "It is held."
    told = (conditions.get("QuotaReserved") or {}).get("message") or "Kueue has not looked at it yet"
    return f"Not admitted to the queue {_queue(thing)}: {told}"


def _queue(thing: Thing) -> str:
    return str((thing["metadata"].get("labels") or {}).get(manifests.QUEUE, ""))


def _lost(pods: list[Thing], unready: Mapping[str, str]) -> str:
    """Kubernetes takes such pods away after five minutes; until then they say Running, and nothing runs."""
    gone = sorted({pod["spec"].get("nodeName", "") for pod in pods if _phase(pod) == "Running"} & set(unready))
    told = [f"The node {name} is lost: {unready[name]} Its pods still say Running." for name in gone]
    return " ".join(told)


def _why_pending(pods: list[Thing], events: Mapping[str, Thing]) -> str:
    for pod in pods:
        if _phase(pod) != "Pending":
            continue
        told, event = _said_of(pod), events.get(pod["metadata"]["name"])
        more = f"{event.get('reason')}: {event.get('message')}" if event else ""
        if more and str(event and event.get("message")) not in told:
            told = f"{told} {more}".strip()
        if told:
            return told
    return ""


def _said_of(pod: Thing) -> str:
    """Why it does not run, by its own status."""
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            node = pod["spec"].get("nodeName", "")
            return f"{waiting['reason']} on {node}: {waiting.get('message', '')}".strip()
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"{condition.get('reason')}: {condition.get('message')}"
    return ""


def _restart_limit(thing: Thing) -> int | None:
    """How often its own text lets it begin again; operators were seen to go on beyond that."""
    notes, policy = thing["metadata"].get("annotations") or {}, (thing.get("spec") or {}).get("runPolicy") or {}
    if thing["kind"] == "HyperPodPyTorchJob":
        told = policy.get("jobMaxRetryCount")
    elif thing["kind"] == "PyTorchJob" and notes.get(manifests.AUTO_RESUME) == "true":
        told = int(policy.get("backoffLimit") or 0) + int(notes.get(manifests.MOST_RESUMES) or 1)
    else:
        told = policy.get("backoffLimit")
    return int(told) if told is not None else None


def _started(thing: Thing, pods: list[Thing]) -> datetime | None:
    """When the last of its pods began: from then on its world was whole."""
    moments = []
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or []:
            state = container.get("state") or {}
            moments.append(_time((state.get("running") or state.get("terminated") or {}).get("startedAt")))
    known = [moment for moment in moments if moment]
    return max(known) if known else _time((thing.get("status") or {}).get("startTime"))


def _ended(thing: Thing, true: Mapping[str, Thing]) -> datetime | None:
    told = (thing.get("status") or {}).get("completionTime")
    condition = next((true[name] for name in (*GOOD_ENDS, "Failed") if name in true), {})
    return _time(told or condition.get("lastTransitionTime"))


def _limit(thing: Thing) -> int | None:
    spec = thing.get("spec") or {}
    seconds = spec.get("activeDeadlineSeconds") or (spec.get("runPolicy") or {}).get("activeDeadlineSeconds")
    return int(seconds) // 60 if seconds else None


def _phase(pod: Thing) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _exit(pod: Thing) -> Mapping[str, Any]:
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated")
        if ended:
            return dict(ended)
    return {}


def _time(text: Any) -> datetime | None:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None


def _alone(why: str, pods: int) -> str:
    told = f"{pods} {'pod' if pods == 1 else 'pods'} of jobs still there are lost with it." if pods else ""
    return " ".join(filter(None, [why, told]))


def job_of(pod: Thing) -> str:
    """The name of the job a pod belongs to; empty for pods of others."""
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(manifests.JOB) or labels.get(JOBSET) or "")


def still_running(pods: Iterable[Thing]) -> list[str]:
    """Pods that still hold a node."""
    return [pod["metadata"]["name"] for pod in pods if _phase(pod) in ("Running", "Pending")]


def node(thing: Thing, used: int, pods: int) -> NodeSeen:
    """One node, with how many accelerators are taken and how many pods of jobs are on it."""
    status, spec = thing.get("status") or {}, thing.get("spec") or {}
    ready = next((one for one in status.get("conditions") or [] if one["type"] == "Ready"), {})
    taken = status.get("allocatable") or {}
    accelerators = sum(int(taken.get(name, 0)) for name in (manifests.GPU, manifests.NEURON))
    health = (thing["metadata"].get("labels") or {}).get(manifests.HEALTH, "")
    barred = bool(spec.get("unschedulable")) or health not in ("", "Schedulable")
    state: NodeState
    if ready.get("status") == "Unknown":
        state = "down"
    elif ready.get("status") != "True":
        state = "unknown" if not ready else "down"
    else:
        state = "draining" if barred else "busy" if pods else "idle"
    well = state in ("idle", "busy")
    return NodeSeen(
        name=thing["metadata"]["name"],
        state=state,
        engine_state="+".join(word for word in (ready.get("reason") or "", health) if word),
        reason="" if well else _alone(ready.get("message") or "", pods if state == "down" else 0),
        reason_at=None if well else _time(ready.get("lastTransitionTime")),
        accelerators=accelerators,
        accelerators_used=used,
    )
