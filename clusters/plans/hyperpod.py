"""What UpdateCluster of HyperPod does with a changed request, and what it does not take."""

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.plans.effects import Effect

# From the API's model and its reference: UpdateCluster has no field for the first, and refuses the others.
OF_A_CLUSTER = {
    "VpcConfig": "VpcConfig",
    "Orchestrator": "Orchestrator",
    "NodeProvisioningMode": "NodeProvisioningMode",
}
OF_A_GROUP = ("InstanceType", "InstanceRequirements", "ThreadsPerCore", "OverrideVpcConfig", "CapacityRequirements",
              "InstanceStorageConfigs", "NetworkInterface", "SlurmConfig")  # fmt: skip
IN_PLACE = ("NodeRecovery", "TieredStorageConfig", "AutoScaling", "ClusterRole")
RULE = "UpdateCluster"
NAME, COUNT = "InstanceGroupName", "InstanceCount"

Body = Mapping[str, Any]


def effects(part: str, old: Body | None, new: Body) -> list[Effect]:
    """Group by group; `old` is None for a cluster that is still to be made."""
    after = new["request"]
    if old is None:
        return list(_made(part, after))
    before = old["request"]
    return [*_cluster(part, before, after), *_groups(part, _by_name(before), _by_name(after))]


def _by_name(request: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {group[NAME]: group for group in request["InstanceGroups"]}


def _type(group: Mapping[str, Any]) -> str:
    return str(group.get("InstanceType", "")).removeprefix("ml.")


def _made(part: str, request: Mapping[str, Any]) -> Iterator[Effect]:
    groups = request["InstanceGroups"]
    values = {"count": sum(group[COUNT] for group in groups), "groups": len(groups)}
    yield Effect("created", "cluster_created", part, "CreateCluster", values)
    for group in groups:
        yield _group_made(part, group, "CreateCluster")


def _group_made(part: str, group: Mapping[str, Any], rule: str) -> Effect:
    values = {"group": group[NAME], "count": group[COUNT], "type": _type(group)}
    return Effect("created", "group_created", part, rule, values)


def _cluster(part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Effect]:
    for field, label in OF_A_CLUSTER.items():
        if before.get(field) != after.get(field):
            yield Effect("refused", "cluster_replaced", part, RULE, {"field": label})
    for field in IN_PLACE:
        if before.get(field) != after.get(field):
            yield Effect("changed", "cluster_changed", part, RULE, {"field": field, "new": after.get(field) or "–"})


def _groups(part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Effect]:
    for name, group in after.items():
        if name not in before:
            yield _group_made(part, group, RULE)
        else:
            yield from _group(part, before[name], group)
    for name, group in before.items():
        if name not in after:
            values = {"group": name, "count": group[COUNT]}
            yield Effect("removed", "group_removed", part, f"{RULE}, InstanceGroupsToDelete", values, stops=(name,))


def _group(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Effect]:
    name = new[NAME]
    more = new[COUNT] - old[COUNT]
    values = {"group": name, "count": abs(more), "now": new[COUNT]}
    if more > 0:
        yield Effect("created", "nodes_added", part, RULE, values)
    elif more < 0:
        yield Effect("removed", "nodes_removed", part, RULE, values, stops=(name,))
    for field in dict.fromkeys([*old, *new]):
        if field in (NAME, COUNT) or old.get(field) == new.get(field):
            continue
        told = {"field": field, "group": name}
        if field in OF_A_GROUP:
            yield Effect("refused", "group_immutable", part, RULE, told)
        else:
            yield Effect("later", "group_later", part, RULE, told)


def software(part: str, groups: Mapping[str, int], batch: str) -> list[Effect]:
    """What UpdateClusterSoftware does to these groups."""
    return [
        Effect(
            "replaced",
            "software",
            part,
            "UpdateClusterSoftware",
            {"group": name, "count": count, "batch": batch},
            stops=(name,),
        )
        for name, count in groups.items()
    ]
