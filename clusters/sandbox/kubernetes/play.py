"""The controllers and the scheduler of each cluster, played from one moment at which something changes to the next."""

import base64
from dataclasses import dataclass
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.hyperpod.model import Cluster, Node
from clusters.sandbox.kubernetes import kueue, machines, shapes
from clusters.sandbox.kubernetes.kinds import BY_PLURAL
from clusters.sandbox.kubernetes.quantities import amount
from clusters.sandbox.kubernetes.runs import NEVER, Asked, Pod, Run, asked, environment_of, script_of
from clusters.sandbox.kubernetes.world import World, made, rfc3339
from clusters.sandbox.slurm.script import plan

PULL, GRACE, ADMIT, BACK_OFF, RESUME_WAIT = 15.0, 20.0, 2.0, 10.0, 60.0
NEURON, GPU = "aws.amazon.com/neuron", "nvidia.com/gpu"


@dataclass
class Scene:
    """One cluster at work: its API server's objects, and the machines below."""

    cloud: Cloud
    world: World
    clusters: list[Cluster]
    at: float = 0.0

    @property
    def nodes(self) -> dict[str, Node]:
        return {node.id: node for node in machines.joined(self.clusters, self.at)}

    def stamp(self, at: float | None = None) -> Any:
        return self.cloud.clock.shown(self.at if at is None else at)

    def thing(self, run: Run) -> dict[str, Any] | None:
        return self.world.objects.get((run.plural, run.namespace, run.name))


def shelf_of(account: str, region: str) -> str:
    return f"kubernetes/{account}/{region}"


def world_of(cloud: Cloud, account: str, region: str, eks: dict[str, Any]) -> World:
    """The API server of an EKS cluster; another cluster of the same name begins with an empty one."""
    mark = _mark(eks)
    world: World | None = cloud.store.read(shelf_of(account, region)).get(eks["name"])
    if world is None or world.cluster != mark:
        world = made(mark, cloud.now(), cloud.clock.shown(cloud.now()))
        cloud.store.change(shelf_of(account, region))[eks["name"]] = world
    return world


def _mark(eks: dict[str, Any]) -> str:
    return f"{eks['name']}/{eks['began']}"


def catch_up(cloud: Cloud, account: str, region: str) -> None:
    """Play every cluster of this account and Region until now."""
    there = cloud.store.read(f"eks/{account}/{region}").get("clusters", {})
    for name, world in list(cloud.store.read(shelf_of(account, region)).items()):
        if name not in there or world.cluster != _mark(there[name]):
            del cloud.store.change(shelf_of(account, region))[name]
            continue
        before = world.version
        play(Scene(cloud, world, machines.clusters_on(cloud, account, region, name)), cloud.now())
        if world.version != before:
            cloud.store.change(shelf_of(account, region))


def play(scene: Scene, now: float) -> None:
    world = scene.world
    while True:
        moments = [time for time in _moments(scene) if world.settled < time <= now]
        if not moments:
            break
        scene.at = world.settled = min(moments)
        step(scene)
    scene.at = max(world.settled, now)
    _sync_nodes(scene)
    if world.runs:
        world.settled = scene.at


def _moments(scene: Scene) -> list[float]:
    found = machines.moments(scene.clusters) if scene.world.runs else []
    for run in scene.world.runs.values():
        found += [run.eligible, run.ends, run.deleting + GRACE, run.admitted, run.created + ADMIT]
        found.append((run.first_started if run.first_started < NEVER else run.created) + run.deadline)
        found += [time for pod in run.pods for time in (pod.pulled, pod.wiped)]
    return found


def step(scene: Scene) -> None:
    """Everything that happens at one moment."""
    _sync_nodes(scene)
    for run in list(scene.world.runs.values()):
        thing = scene.thing(run)
        if thing is None:
            continue
        told = asked(thing)
        _wipe(scene, run)
        if run.deleting < NEVER:
            _delete(scene, run)
            continue
        if not run.over:
            _follow(scene, run, told)
    _schedule(scene)
    for run in scene.world.runs.values():
        shapes.show(scene.world, run, scene.thing(run), scene.stamp, scene.at)


def _follow(scene: Scene, run: Run, told: Asked) -> None:
    thing = scene.thing(run)
    assert thing is not None
    kueue.admit(scene.world, run, thing, told, scene.at, ADMIT)
    told = asked(scene.thing(run) or thing)
    if told.suspend:
        if run.phase != "suspended":
            _stop(scene, run)
            run.phase, run.started, run.ends = "suspended", NEVER, NEVER
        return
    if run.phase == "suspended":
        run.phase, run.eligible = "pending", scene.at
    if run.phase == "restarting" and scene.at >= run.eligible:
        run.phase = "pending"
    if run.phase == "pending" and not [pod for pod in run.pods if pod.wiped == NEVER]:
        run.pods += [
            Pod(shapes.pod_name(run, role, index), role, index, scene.at)
            for role, count, _ in told.roles
            for index in range(count)
        ]
    _lost_nodes(scene, run, told)
    _pulled(scene, run, told)
    if run.phase == "running" and scene.at >= run.ends:
        _ends(scene, run, told)
    began = run.first_started if run.first_started < NEVER else run.created
    if not run.over and scene.at >= began + told.deadline:
        _fail(scene, run, told, "DeadlineExceeded", "Job was active longer than specified deadline")


def _lost_nodes(scene: Scene, run: Run, told: Asked) -> None:
    """A pod whose node is gone or has failed does not come back by itself."""
    nodes = scene.nodes
    bound = [pod for pod in run.pods if pod.node and pod.phase in ("Pending", "Running") and pod.wiped == NEVER]
    lost = [pod for pod in bound if pod.node not in nodes or nodes[pod.node].status(scene.at) == "Failure"]
    if not lost:
        return
    for pod in lost:
        pod.phase, pod.ended, pod.reason = "Failed", scene.at, "NodeLost"
        pod.message = f"Node {machines.name_of(pod.node)} which was running pod {pod.name} is unresponsive"
    _again_or_fail(scene, run, told, run.restarts < told.resumes, lost[0].message, RESUME_WAIT)


def _again_or_fail(scene: Scene, run: Run, told: Asked, again: bool, why: str, wait: float) -> None:
    if again:
        _remember(scene, run)
        _stop(scene, run)
        run.restarts += 1
        run.phase, run.reason, run.message = "restarting", "Restarting", why
        run.eligible, run.started, run.ends = scene.at + wait, NEVER, NEVER
        run.changed["Restarting"] = scene.at
    else:
        _fail(scene, run, told, f"{scene.world.objects[run.plural, run.namespace, run.name]['kind']}Failed", why)


def _pulled(scene: Scene, run: Run, told: Asked) -> None:
    """Containers begin when their image is there; the job runs when all of them do."""
    for pod in run.pods:
        if pod.phase == "Pending" and pod.wiped == NEVER and pod.pulled <= scene.at:
            if run.bad_image:
                pod.reason, pod.message = "ImagePullBackOff", run.bad_image
            elif _secrets(scene, run, told.roles[0][2]) is None:
                pod.reason, pod.message = "CreateContainerConfigError", "a secret of its environment was not found"
            else:
                pod.phase, pod.reason = "Running", ""
    alive = [pod for pod in run.pods if pod.wiped == NEVER]
    if run.phase == "pending" and alive and all(pod.phase == "Running" for pod in alive):
        _begin(scene, run, told)


def _begin(scene: Scene, run: Run, told: Asked) -> None:
    spec = told.roles[0][2]
    pods = sum(count for _, count, _ in told.roles)
    each = sum(int(amount(value)) for name, value in _requests(spec).items() if name in (GPU, NEURON))
    environment = {
        **environment_of(spec),
        **(_secrets(scene, run, spec) or {}),
        "WORLD_SIZE": str(pods),
        "PET_NNODES": str(pods),
    }
    does = plan(script_of(spec), environment, "", told.deadline, max(each, 1) * pods, run.uid)
    run.plan, run.phase, run.started, run.reason, run.message = does, "running", scene.at, "", ""
    run.first_started = min(run.first_started, scene.at)
    run.ends = scene.at + does.seconds
    run.changed["Running"] = scene.at
    run.changed.pop("Restarting", None)
    if run.doomed is not None:
        run.ends = scene.at + min(does.seconds, told.deadline) * 0.4
        if run.doomed["message"]:
            does.said.append((run.ends - scene.at, run.doomed["message"]))


def _secrets(scene: Scene, run: Run, spec: dict[str, Any]) -> dict[str, str] | None:
    """What the container's environment takes from Secrets; None while one of them is not there."""
    found: dict[str, str] = {}
    for one in spec["containers"][0].get("env") or []:
        wanted = (one.get("valueFrom") or {}).get("secretKeyRef")
        if wanted is None:
            continue
        secret = scene.world.find(BY_PLURAL["secrets"], run.namespace, wanted["name"])
        if secret is None or wanted["key"] not in (secret.get("data") or {}):
            return None
        found[one["name"]] = base64.b64decode(secret["data"][wanted["key"]]).decode()
    return found


def _ends(scene: Scene, run: Run, told: Asked) -> None:
    """What the script, or a fault, has in store."""
    assert run.plan is not None
    code, signal, reason = run.plan.exit_code, run.plan.signal, ""
    if run.doomed is not None:
        code = int(run.doomed["exit_code"])
        if run.doomed["state"] in ("OUT_OF_MEMORY", "OOMKilled"):
            code, reason = 137, "OOMKilled"
    if signal:
        code = 128 + signal
    for pod in [pod for pod in run.pods if pod.wiped == NEVER]:
        pod.ended, pod.exit_code, pod.signal = scene.at, code, signal
        pod.phase, pod.reason = ("Failed", reason or "Error") if code else ("Succeeded", "Completed")
        if reason == "OOMKilled" and pod.index:
            # Only the container that asked for too much is killed; the others lose their peer.
            pod.exit_code, pod.reason = 1, "Error"
    if not code:
        _remember(scene, run)
        run.phase, run.ended, run.reason = "succeeded", scene.at, "Succeeded"
        run.message, run.ends = f"{run.name} is successfully completed.", NEVER
        _clean(scene, run, told)
        return
    words = f"{run.name} is failed because {len(told.roles)} replica(s) failed."
    _again_or_fail(scene, run, told, run.restarts < told.retries, words, BACK_OFF)


def _fail(scene: Scene, run: Run, told: Asked, reason: str, why: str) -> None:
    _remember(scene, run)
    run.phase, run.ended, run.reason, run.message, run.ends = "failed", scene.at, reason, why, NEVER
    if reason == "DeadlineExceeded":
        for pod in run.pods:
            if pod.phase == "Running":
                pod.wiped, pod.ended = scene.at + GRACE, scene.at
    _clean(scene, run, told)


def _clean(scene: Scene, run: Run, told: Asked) -> None:
    """What the job's own policy says of its pods once it is over."""
    for pod in run.pods:
        if told.cleans == "All" or (told.cleans == "Running" and pod.phase in ("Running", "Pending")):
            pod.wiped, pod.ended = min(pod.wiped, scene.at + GRACE), min(pod.ended, scene.at)


def _stop(scene: Scene, run: Run) -> None:
    """All its pods go."""
    for pod in run.pods:
        if pod.wiped == NEVER:
            pod.wiped = scene.at
            pod.ended = min(pod.ended, scene.at)
    _wipe(scene, run)


def _remember(scene: Scene, run: Run) -> None:
    if run.plan is not None and run.started < NEVER:
        for pod in run.pods:
            if pod.wiped == NEVER or pod.wiped > scene.at:
                run.past.append((pod.name, run.started, scene.at, run.plan))


def _wipe(scene: Scene, run: Run) -> None:
    for pod in [pod for pod in run.pods if pod.wiped <= scene.at]:
        run.pods.remove(pod)
        _drop(scene.world, run, pod)


def _drop(world: World, run: Run, pod: Pod) -> None:
    """A pod, and what was reported of it; the real thing keeps reports for an hour."""
    world.drop(BY_PLURAL["pods"], run.namespace, pod.name)
    for plural, where, name in [key for key in world.objects if key[0] == "events"]:
        if where == run.namespace and name.startswith(f"{pod.name}."):
            world.drop(BY_PLURAL[plural], where, name)


def _delete(scene: Scene, run: Run) -> None:
    """Foreground: first the pods, then the job itself, then what belonged to it."""
    if scene.at < run.deleting + GRACE and any(pod.phase == "Running" for pod in run.pods):
        return
    world = scene.world
    for pod in run.pods:
        _drop(world, run, pod)
    run.pods.clear()
    world.drop(BY_PLURAL[run.plural], run.namespace, run.name)
    for (plural, where, name), thing in list(world.objects.items()):
        if any(owner.get("uid") == run.uid for owner in thing["metadata"].get("ownerReferences") or []):
            world.drop(BY_PLURAL[plural], where, name)
    del world.runs[run.uid]


def _schedule(scene: Scene) -> None:
    """Pod by pod, first come first served; what fits nowhere waits and says why."""
    waiting = [
        (run, pod)
        for run in sorted(scene.world.runs.values(), key=lambda run: run.created)
        for pod in run.pods
        if pod.phase == "Pending" and not pod.node and pod.wiped == NEVER
    ]
    if not waiting:
        return
    free = _free(scene)
    for run, pod in waiting:
        spec = next(spec for role, _, spec in asked(scene.thing(run) or {}).roles if role == pod.role)
        wants = {**{name: amount(value) for name, value in _requests(spec).items()}, "pods": 1.0}
        fits, misfits = _fitting(scene, spec, wants, free)
        if fits is None:
            total = len(free)
            told = ", ".join(f"{count} {why}" for why, count in sorted(misfits.items()))
            pod.reason, pod.message = "Unschedulable", f"0/{total} nodes are available: {told}."
            continue
        for name, value in wants.items():
            free[fits][name] = free[fits].get(name, 0.0) - value
        pod.node, pod.bound, pod.pulled, pod.reason = fits, scene.at, scene.at + PULL, "ContainerCreating"
        pod.message = ""


def _free(scene: Scene) -> dict[str, dict[str, float]]:
    free = {node.id: machines.allocatable(node) for node in scene.nodes.values() if node.status(scene.at) == "Running"}
    for run in scene.world.runs.values():
        thing = scene.thing(run)
        specs = {role: spec for role, _, spec in asked(thing).roles} if thing else {}
        for pod in run.pods:
            if pod.node in free and pod.phase in ("Pending", "Running") and pod.role in specs:
                for name, value in {**_requests(specs[pod.role]), "pods": "1"}.items():
                    free[pod.node][name] = free[pod.node].get(name, 0.0) - amount(value)
    return free


def _fitting(
    scene: Scene, spec: dict[str, Any], wants: dict[str, float], free: dict[str, dict[str, float]]
) -> tuple[str | None, dict[str, int]]:
    misfits: dict[str, int] = {}
    for identifier, left in free.items():
        node = scene.nodes[identifier]
        if not _selected(spec, machines.labels(node, scene.at)):
            why = "node(s) didn't match Pod's node affinity/selector"
        else:
            short = next((name for name, value in wants.items() if value > left.get(name, 0.0) + 1e-9), "")
            if not short:
                return identifier, {}
            why = "Too many pods" if short == "pods" else f"Insufficient {short}"
        misfits[why] = misfits.get(why, 0) + 1
    return None, misfits


def _selected(spec: dict[str, Any], labels: dict[str, str]) -> bool:
    if any(labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not affinity:
        return True
    return any(
        all(_matches(term, labels) for term in choice.get("matchExpressions") or [])
        for choice in affinity.get("nodeSelectorTerms") or []
    )


def _matches(term: dict[str, Any], labels: dict[str, str]) -> bool:
    value, wanted = labels.get(term["key"]), term.get("values") or []
    return {
        "In": value in wanted,
        "NotIn": value not in wanted,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(term["operator"], False)


def _requests(spec: dict[str, Any]) -> dict[str, str]:
    """What its containers ask for together; a limit without a request is one."""
    total: dict[str, float] = {}
    for container in spec.get("containers") or []:
        resources = container.get("resources") or {}
        for name, value in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            total[name] = total.get(name, 0.0) + amount(value)
    return {name: str(value) for name, value in total.items()}


def _sync_nodes(scene: Scene) -> None:
    kind, world, present = BY_PLURAL["nodes"], scene.world, scene.nodes
    names = {machines.name_of(identifier) for identifier in present}
    for thing in list(world.listed(kind)):
        if thing["metadata"]["name"] not in names:
            world.drop(kind, "", thing["metadata"]["name"])
    for node in present.values():
        since = scene.stamp(min(node.failed, scene.at))
        world.put(kind, machines.shown(node, scene.at, scene.stamp(node.ready), since), scene.stamp(node.ready))


def begin(scene: Scene, thing: dict[str, Any]) -> Run:
    """A job object was made: its controller takes it up."""
    meta = thing["metadata"]
    plural = next(plural for plural, kind in BY_PLURAL.items() if kind.name == thing["kind"])
    run = Run(meta["uid"], plural, meta["namespace"], meta["name"], scene.at, eligible=scene.at)
    run.deadline = asked(thing).deadline
    run.changed["Created"] = scene.at
    scene.world.runs[run.uid] = run
    return run


def delete(scene: Scene, run: Run, foreground: bool) -> None:
    thing = scene.thing(run)
    if thing is None or run.deleting < NEVER:
        return
    run.deleting = scene.at
    for pod in run.pods:
        pod.ended = min(pod.ended, scene.at)
    meta = {**thing["metadata"], "deletionTimestamp": rfc3339(scene.stamp()), "deletionGracePeriodSeconds": 0}
    if foreground:
        meta["finalizers"] = [*(meta.get("finalizers") or []), "foregroundDeletion"]
    scene.world.put(BY_PLURAL[run.plural], {**thing, "metadata": meta}, scene.stamp())


def log_lines(scene: Scene, run: Run, pod: Pod) -> list[tuple[float, str]]:
    """(moment, line) of what this pod's container has written by now; the last rank tells of steps, as trainers do."""
    lines: list[tuple[float, str]] = []
    if run.plan is None or run.started == NEVER or pod.phase == "Pending":
        return lines
    until = min(scene.cloud.now(), pod.ended, run.ended, run.deleting) - run.started
    last = run.pods[-1].name == pod.name
    for offset, text in run.plan.lines(until):
        if last or not text.lstrip().startswith(("iteration", "successfully saved")):
            lines.append((run.started + offset, text))
    return lines
