"""Kueue's part: a job with a queue is held back until its queue has room, and its Workload says why not."""

from datetime import UTC, datetime
from typing import Any

from clusters.sandbox.kubernetes.kinds import BY_PLURAL
from clusters.sandbox.kubernetes.quantities import amount
from clusters.sandbox.kubernetes.runs import NEVER, Asked, Run, asked
from clusters.sandbox.kubernetes.world import World


def workload_name(run: Run) -> str:
    kind = BY_PLURAL[run.plural].name.lower()
    return f"{kind}-{run.name}"[:57] + f"-{run.uid[:5]}"


def held_back(thing: dict[str, Any]) -> None:
    """What Kueue's webhook does to a new job with a queue: it begins suspended."""
    suspend(thing, True)


def suspend(thing: dict[str, Any], wanted: bool) -> None:
    spec = thing["spec"]
    if thing["kind"] == "TrainJob":
        spec["suspend"] = wanted
    else:
        spec.setdefault("runPolicy", {})["suspend"] = wanted


def admit(world: World, run: Run, thing: dict[str, Any], told: Asked, at: float, takes: float) -> None:
    """Let a held-back job go when there is room; `run.why_not` says why not."""
    if not told.queue:
        return
    active = _active(world, run)
    if run.admitted < NEVER and not active:
        run.admitted = NEVER
        _switch(world, run, thing, True)
        run.why_not = "The workload is deactivated"
    if run.admitted < NEVER or not active or at < run.created + takes:
        run.why_not = run.why_not or ("" if run.admitted < NEVER else "The workload is waiting to be looked at")
        return
    run.why_not = _why_not(world, run, told)
    if not run.why_not:
        run.admitted = at
        if not run.stuck:
            _switch(world, run, thing, False)


def _switch(world: World, run: Run, thing: dict[str, Any], wanted: bool) -> None:
    changed = {**thing, "metadata": dict(thing["metadata"]), "spec": {**thing["spec"]}}
    if "runPolicy" in changed["spec"]:
        changed["spec"]["runPolicy"] = dict(changed["spec"]["runPolicy"])
    suspend(changed, wanted)
    world.put(BY_PLURAL[run.plural], changed, datetime.now(UTC))


def _active(world: World, run: Run) -> bool:
    workload = world.find(BY_PLURAL["workloads"], run.namespace, workload_name(run))
    return workload is None or bool(workload["spec"].get("active", True))


def _why_not(world: World, run: Run, told: Asked) -> str:
    local = world.find(BY_PLURAL["localqueues"], run.namespace, told.queue)
    if local is None:
        return f"LocalQueue {told.queue} doesn't exist"
    queue = world.find(BY_PLURAL["clusterqueues"], "", local["spec"].get("clusterQueue", ""))
    if queue is None:
        return f"ClusterQueue {local['spec'].get('clusterQueue', '')} doesn't exist"
    used = usage(world, queue["metadata"]["name"], but=run.uid)
    for group in queue["spec"].get("resourceGroups") or []:
        for flavor in (group.get("flavors") or [])[:1]:
            for resource in flavor.get("resources") or []:
                name, most = resource["name"], amount(resource["nominalQuota"])
                wants, held = wanted(told).get(name, 0.0), used.get(name, 0.0)
                if wants > most:
                    return (
                        f"couldn't assign flavors to pod set main: insufficient quota for {name} in flavor "
                        f"{flavor['name']}, request > maximum capacity ({wants:.0f} > {most:.0f})"
                    )
                if wants + held > most:
                    return (
                        f"couldn't assign flavors to pod set main: insufficient unused quota for {name} in flavor "
                        f"{flavor['name']}, {wants + held - most:.0f} more needed"
                    )
    return ""


def wanted(told: Asked) -> dict[str, float]:
    total: dict[str, float] = {}
    for _, count, spec in told.roles:
        for container in spec.get("containers") or []:
            resources = container.get("resources") or {}
            for name, value in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
                total[name] = total.get(name, 0.0) + amount(value) * count
    return total


def usage(world: World, cluster_queue: str, but: str) -> dict[str, float]:
    """What admitted and unfinished jobs of this queue hold."""
    total: dict[str, float] = {}
    for run in world.runs.values():
        thing = world.objects.get((run.plural, run.namespace, run.name))
        if run.uid == but or run.over or run.admitted == NEVER or thing is None:
            continue
        told = asked(thing)
        local = world.find(BY_PLURAL["localqueues"], run.namespace, told.queue)
        if local is None or local["spec"].get("clusterQueue") != cluster_queue:
            continue
        for name, value in wanted(told).items():
            total[name] = total.get(name, 0.0) + value
    return total
