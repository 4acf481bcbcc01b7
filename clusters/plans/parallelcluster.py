"""What `pcluster update-cluster` does with a changed configuration: the update policy that each field carries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from clusters.facts import table
from clusters.plans.effects import Effect

STOPPED = ("STOPPED", "STOP_REQUESTED", "STOPPING")
LIVE = ("SUPPORTED", "SUPPORTED_UNLESS_ADC", "IGNORED", "EXTRA_CHEF_ATTRIBUTES")
COUNTS = ("MinCount", "MaxCount")
QUEUES = "Scheduling/SlurmQueues"

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Policy:
    """`key` tells the entries of a list apart; empty for what is no list."""

    name: str
    key: str = ""


@dataclass(frozen=True)
class Difference:
    """A field that differs; `queue` is the queue it belongs to."""

    path: str
    old: Any
    new: Any
    policy: Policy
    queue: str = ""


@lru_cache(maxsize=1)
def policies() -> Mapping[str, Policy]:
    """Path of a field in the configuration -> its update policy."""
    rows = table("parallelcluster-update-policies.tsv")
    return {row["path"]: Policy(row["policy"], row["key"].strip("-")) for row in rows}


def effects(part: str, old: Body | None, new: Body, fleet: str) -> list[Effect]:
    """`fleet` is the state of the compute fleet; `old` is None for a cluster that is still to be made."""
    after = new["configuration"]
    if old is None:
        return list(_made(part, after))
    found: list[Effect] = []
    for difference in differences(old["configuration"], after):
        for effect in _effect(part, difference, fleet):
            if effect not in found:
                found.append(effect)
    return found


def _made(part: str, configuration: Mapping[str, Any]) -> Iterator[Effect]:
    queues = configuration["Scheduling"]["SlurmQueues"]
    count = 1 + sum(_count(queue) for queue in queues)
    yield Effect("created", "cluster_created", part, "create-cluster", {"count": count, "groups": 1 + len(queues)})
    for queue in queues:
        yield _queue_made(part, queue, "create-cluster")


def _queue_made(part: str, queue: Mapping[str, Any], rule: str) -> Effect:
    values = {"group": queue["Name"], "count": _count(queue), "type": queue["ComputeResources"][0]["InstanceType"]}
    return Effect("created", "group_created", part, rule, values)


def _count(queue: Mapping[str, Any]) -> int:
    return sum(int(resource.get("MinCount", 0)) for resource in queue["ComputeResources"])


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """The fields that differ, each with its policy; entries of a list are compared by their key."""
    return list(_walk(old, new, "", ""))


def _walk(old: Mapping[str, Any], new: Mapping[str, Any], path: str, queue: str) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        here = f"{path}/{name}" if path else name
        had, has = old.get(name), new.get(name)
        if had == has:
            continue
        policy = policies().get(here, Policy("UNKNOWN"))
        if isinstance(had, Mapping) and isinstance(has, Mapping):
            yield from _walk(had, has, here, queue)
        elif policy.key and isinstance(had or [], list) and isinstance(has or [], list):
            yield from _entries(had or [], has or [], here, policy, queue)
        else:
            yield Difference(here, had, has, policy, queue)


def _entries(old: list[Any], new: list[Any], path: str, policy: Policy, queue: str) -> Iterator[Difference]:
    before, after = ({each.get(policy.key): each for each in entries} for entries in (old, new))
    for key in dict.fromkeys([*after, *before]):
        inside = str(key) if path == QUEUES else queue
        if key in before and key in after:
            yield from _walk(before[key], after[key], path, inside)
        else:
            yield Difference(path, before.get(key), after.get(key), policy, inside)


def _effect(part: str, change: Difference, fleet: str) -> Iterator[Effect]:
    name, rule, queue = change.path.split("/")[-1], change.policy.name, change.queue
    still = fleet in STOPPED
    values = {"field": name, "group": queue, "fleet": fleet or "RUNNING"}
    if change.path == QUEUES:
        yield from _queue(part, change)
    elif name in COUNTS:
        yield from _resize(part, change)
    elif rule in LIVE:
        yield Effect("changed", "field_live", part, rule, values)
    elif rule in ("UNSUPPORTED", "UNKNOWN", "READ_ONLY_RESOURCE_BUCKET", "MANAGED_FSX"):
        yield Effect("refused", "field_refused", part, rule, {**values, "field": change.path})
    elif rule == "HEAD_NODE_STOP":
        yield Effect("refused", "head_stop", part, rule, values)
    elif rule.startswith("LOGIN_NODES"):
        yield Effect("refused", "login_stop", part, rule, values)
    elif still:
        yield Effect("changed", "field_live", part, rule, values)
    elif rule in ("QUEUE_UPDATE_STRATEGY", "SHARED_STORAGE_UPDATE_POLICY") or (
        rule == "MANAGED_PLACEMENT_GROUP" and change.new is not False and change.new is not None
    ):
        yield Effect("replaced", "field_drained", part, rule, values)
    else:
        yield Effect("refused", "fleet_stop", part, rule, values)


def _queue(part: str, change: Difference) -> Iterator[Effect]:
    if change.old is None:
        yield _queue_made(part, change.new, change.policy.name)
        return
    values = {"group": change.queue, "count": _count(change.old)}
    yield Effect("removed", "group_removed", part, change.policy.name, values, stops=(change.queue,))
    yield Effect("step", "terminated", part, change.policy.name)


def _resize(part: str, change: Difference) -> Iterator[Effect]:
    """Least and most are the same number here: instances for training are static."""
    had, has = int(change.old or 0), int(change.new or 0)
    values = {"group": change.queue, "count": abs(has - had), "now": has}
    if has > had:
        yield Effect("created", "nodes_added", part, "SUPPORTED", values)
    else:
        yield Effect("removed", "nodes_removed", part, change.policy.name, values, stops=(change.queue,))
        yield Effect("step", "terminated", part, change.policy.name)
