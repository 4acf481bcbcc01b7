"""A configuration file of ParallelCluster in our words: what becomes a field of ours, and what is kept beside it. Pure."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from clusters import architectures, facts
from clusters.architectures import engine_settings
from clusters.findings import Finding

CAPACITY = {"ONDEMAND": "on-demand", "CAPACITY_BLOCK": "capacity-block"}
MOST_BY_DEFAULT = 10  # ParallelCluster's own MaxCount where none is told
Told = tuple[dict[str, Any], dict[str, Any], list[Finding]]


def document(value: Mapping[str, Any]) -> Told:
    """Our document, what is kept, and what cannot be said in our words. Nothing of the file is dropped."""
    rest = copy.deepcopy(dict(value))
    found: list[Finding] = []
    groups = [*_head(rest), *_queues(rest, found), *_login(rest)]
    told: dict[str, Any] = {
        "architecture": _architecture(groups),
        "region": _take(rest, "Region"),
        "instance_groups": groups,
        "storage": _storage(rest),
    }
    if _at(value, "Scheduling", "SlurmSettings", "Database"):
        told["accounting"] = True
        _take(rest, "Scheduling", "SlurmSettings", "Database")
    if _at(rest, "Scheduling", "Scheduler") == "slurm":
        _take(rest, "Scheduling", "Scheduler")
    told["engine_settings"] = _settings(rest, told["architecture"])
    return {name: each for name, each in told.items() if each not in (None, {}, "")}, _pruned(rest) or {}, found


def _at(value: Any, *path: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _take(value: Any, *path: str) -> Any:
    """What stands there, taken out."""
    above = _at(value, *path[:-1]) if path[:-1] else value
    return above.pop(path[-1], None) if isinstance(above, dict) else None


def _pruned(value: Any) -> Any:
    """Without what has nothing left in it."""
    if isinstance(value, dict):
        inner = {name: _pruned(each) for name, each in value.items()}
        return {name: each for name, each in inner.items() if each is not None and each != {} and each != []}
    if isinstance(value, list):
        return [each for each in map(_pruned, value) if each is not None and each != {} and each != []]
    return value


def _rows(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _head(rest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = _take(rest, "HeadNode", "InstanceType")
    if kind is not None:
        yield {"name": "head", "instance_type": kind, "count": 1, "role": "controller"}


def _login(rest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for pool in _rows(_at(rest, "LoginNodes", "Pools")):
        if pool.get("InstanceType"):
            told = {"name": pool.pop("Name", "login"), "instance_type": pool.pop("InstanceType")}
            yield {**told, "count": pool.pop("Count", 1), "role": "login"}


def _queues(rest: dict[str, Any], found: list[Finding]) -> Iterator[dict[str, Any]]:
    for number, queue in enumerate(_rows(_at(rest, "Scheduling", "SlurmQueues"))):
        resources = _rows(queue.get("ComputeResources"))
        name = str(queue.pop("Name", "") or f"queue-{number + 1}")
        capacity = queue.pop("CapacityType", "ONDEMAND")
        if capacity not in CAPACITY:
            found.append(Finding("capacity_unknown", "refused", f"Scheduling.SlurmQueues[{number}]", capacity))
        close = _take(queue, "Networking", "PlacementGroup", "Enabled")
        above = _take(queue, "CapacityReservationTarget", "CapacityReservationId")
        for resource in resources:
            told = _resource(resource)
            own = _take(resource, "CapacityReservationTarget", "CapacityReservationId") or above
            yield {
                "name": name if len(resources) == 1 else f"{name}-{resource.pop('Name', '')}".strip("-")[:25],
                **told,
                "role": "compute",
                "capacity": CAPACITY.get(capacity, "on-demand"),
                **({"reservation": own} if own else {}),
                **({"placement_group": close} if isinstance(close, bool) else {}),
            }


def _resource(resource: dict[str, Any]) -> dict[str, Any]:
    """How many of which: all that it may grow to, since that is what quotas and addresses must hold."""
    kinds = _rows(resource.get("Instances"))
    kind = resource.pop("InstanceType", None) or (kinds[0].pop("InstanceType", None) if len(kinds) == 1 else None)
    most = resource.pop("MaxCount", None)
    count = most if most is not None else max(resource.get("MinCount") or 0, MOST_BY_DEFAULT)
    if resource.get("MinCount") == count:
        resource.pop("MinCount", None)
    return {"instance_type": kind or "", "count": count}


def _storage(rest: dict[str, Any]) -> dict[str, Any]:
    """Only a file system that would be made; one that exists is kept with its id, since a cluster of ours gets its own."""
    for shared in _rows(rest.get("SharedStorage")):
        settings = shared.get("FsxLustreSettings")
        if isinstance(settings, dict) and settings.get("StorageCapacity"):
            told = {"capacity_gib": settings.pop("StorageCapacity")}
            if "PerUnitStorageThroughput" in settings:
                told["mbs_per_tib"] = settings.pop("PerUnitStorageThroughput")
            return {"lustre": told}
    return {}


def _architecture(groups: list[dict[str, Any]]) -> str:
    """The one that is proven with the instances of the queues; else the first of ParallelCluster, whose check says why not."""
    offered = [each for each in architectures.architectures() if each.on_ec2]
    families = {
        facts.plain_name(str(group["instance_type"])).split(".")[0] for group in groups if group["role"] == "compute"
    }
    fitting = [each.slug for each in offered if families & set(each.families)]
    return (fitting or [each.slug for each in offered if "p5" in each.families])[0]


def _settings(rest: dict[str, Any], slug: str) -> dict[str, Any]:
    """What may go on being said in the engine's own words."""
    told: dict[str, Any] = {}
    for path in architectures.architecture(slug).engine_settings:
        steps = path.split(".")
        value = copy.deepcopy(_at(rest, *steps))
        for ours in engine_settings.OURS:
            if ours.startswith(f"{path}."):
                _take(value, *ours.removeprefix(f"{path}.").split("."))
        if value in (None, {}, []):
            continue
        if engine_settings.wrong(_nested(steps, value), [path]):
            continue
        _take(rest, *steps)
        told = engine_settings.laid_over(told, _nested(steps, value))
    return told


def _nested(steps: list[str], value: Any) -> dict[str, Any]:
    for step in reversed(steps):
        value = {step: value}
    return dict(value)
