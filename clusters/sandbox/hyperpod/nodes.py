"""The calls of SageMaker that concern the nodes of a HyperPod cluster, and what happened to it."""

from collections.abc import Callable
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.hyperpod import checks, life, model
from clusters.sandbox.hyperpod.model import Cluster, Node
from clusters.sandbox.services import Call, operation, page


@operation("sagemaker", "ListClusterNodes")
def list_cluster_nodes(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster, wish = life.named(cloud, call), call.parameters
    nodes = cluster.present(call.now)
    if wish.get("InstanceGroupNameContains"):
        nodes = [node for node in nodes if wish["InstanceGroupNameContains"] in node.group]
    items, more = page([_node(cloud, call, cluster, node) for node in nodes], wish)
    return {"ClusterNodeSummaries": items, **more}


@operation("sagemaker", "DescribeClusterNode")
def describe_cluster_node(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster, wish = life.named(cloud, call), call.parameters
    for node in cluster.present(call.now):
        if wish.get("NodeId") == node.id or (not wish.get("NodeId") and wish.get("NodeLogicalId") == node.logical_id):
            group = cluster.groups.get(node.group, {})
            kept = ("LifeCycleConfig", "ThreadsPerCore", "InstanceStorageConfigs", "KubernetesConfig")
            details = {
                **_node(cloud, call, cluster, node),
                **{name: group[name] for name in kept if group.get(name) is not None},
                "PrivatePrimaryIp": node.ip,
                "Placement": {"AvailabilityZone": node.zone, "AvailabilityZoneId": node.az_id},
            }
            return {"NodeDetails": details}
    identity = wish.get("NodeId") or wish.get("NodeLogicalId")
    raise AwsError("ResourceNotFound", f"Instance with id {identity} not found in cluster {cluster.name}.")


def _node(cloud: Cloud, call: Call, cluster: Cluster, node: Node) -> dict[str, Any]:
    status, message = cluster.node_status(node, call.now)
    updated = node.updated(call.now)
    patched = {} if updated is None else {"LastSoftwareUpdateTime": cloud.clock.shown(updated)}
    return patched | {
        "InstanceGroupName": node.group,
        "InstanceId": node.id,
        "NodeLogicalId": node.logical_id,
        "InstanceType": node.type,
        "LaunchTime": cloud.clock.shown(node.began),
        "InstanceStatus": {"Status": status, "Message": message},
        "PrivateDnsHostname": f"{node.host}.{call.region}.compute.internal",
    }


@operation("sagemaker", "BatchReplaceClusterNodes")
def batch_replace_nodes(cloud: Cloud, call: Call) -> dict[str, Any]:
    def replace(cluster: Cluster, node: Node) -> None:
        life.replace_node(cloud, cluster, node, call.now)

    return _batch(cloud, call, replace)


@operation("sagemaker", "BatchRebootClusterNodes")
def batch_reboot_nodes(cloud: Cloud, call: Call) -> dict[str, Any]:
    def reboot(_: Cluster, node: Node) -> None:
        node.away.append((call.now, call.now + model.REBOOT_TAKES))

    return _batch(cloud, call, reboot)


@operation("sagemaker", "BatchDeleteClusterNodes")
def batch_delete_nodes(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Nodes that go for good: their group gets smaller. A controller stays."""
    cluster, logical = life.named(cloud, call), {}
    by_logical = {node.logical_id: node.id for node in cluster.present(call.now)}
    for identity in call.parameters.get("NodeLogicalIds") or []:
        logical[by_logical.get(identity, identity)] = identity
    wanted = [*(call.parameters.get("NodeIds") or []), *logical]
    if not wanted:
        raise checks.invalid("Specify NodeIds or NodeLogicalIds.")
    controllers = _controllers(cluster)
    present, done, failed = {node.id: node for node in cluster.present(call.now)}, [], []
    for identity in wanted:
        node = present.get(identity)
        if node is None:
            failed.append((identity, "NodeIdNotFound", f"Node {identity} is not in cluster {cluster.name}."))
        elif node.group in controllers:
            failed.append((identity, "InvalidNodeStatus", f"Node {identity} is a controller and cannot be deleted."))
        elif node.status(call.now) not in ("Running", "Failure"):
            failed.append((identity, "InvalidNodeStatus", f"Node {identity} is {node.status(call.now)}."))
        else:
            cloud.store.change(life.shelf_of(call.account, call.region))
            node.gone = call.now + model.NODE_GOES
            group = cluster.groups[node.group]
            cluster.groups[node.group] = {**group, "InstanceCount": int(group["InstanceCount"]) - 1}
            done.append(identity)
            call.effective = True
    said: dict[str, Any] = {
        "Successful": [one for one in done if one not in logical],
        "SuccessfulNodeLogicalIds": [logical[one] for one in done if one in logical],
        "Failed": [{"NodeId": one, "Code": code, "Message": text} for one, code, text in failed if one not in logical],
        "FailedNodeLogicalIds": [
            {"NodeLogicalId": logical[one], "Code": code, "Message": text}
            for one, code, text in failed
            if one in logical
        ],
    }
    return {name: value for name, value in said.items() if value}


def _controllers(cluster: Cluster) -> set[str]:
    """Groups that run Slurm itself: what no partition has, unless the request says it of each group."""
    if cluster.on_eks:
        return set()
    told = {name: (group.get("SlurmConfig") or {}).get("NodeType") for name, group in cluster.groups.items()}
    if any(told.values()):
        return {name for name, kind in told.items() if kind == "Controller"}
    working = {name for names in cluster.partitions.values() for name in names}
    return set(cluster.groups) - working


def _batch(cloud: Cloud, call: Call, act: Callable[[Cluster, Node], None]) -> dict[str, Any]:
    """Some of the nodes may succeed while others do not."""
    cluster, wanted = life.named(cloud, call), call.parameters.get("NodeIds") or []
    present, done, failed = {node.id: node for node in cluster.present(call.now)}, [], []
    for identity in wanted:
        node = present.get(identity)
        if node is None:
            message = f"Instance {identity} is not in cluster {cluster.name}."
            failed.append({"NodeId": identity, "ErrorCode": "InstanceIdNotFound", "Message": message})
        elif node.status(call.now) not in ("Running", "Failure"):
            message = f"Instance {identity} is {node.status(call.now)}."
            failed.append({"NodeId": identity, "ErrorCode": "InvalidInstanceStatus", "Message": message})
        else:
            cloud.store.change(life.shelf_of(call.account, call.region))
            act(cluster, node)
            done.append(identity)
            call.effective = True
    said = {"Successful": done, "Failed": failed}
    return {name: value for name, value in said.items() if value}


@operation("sagemaker", "ListClusterEvents")
def list_cluster_events(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster, wish = life.named(cloud, call), call.parameters
    found = [_event(cloud, cluster, change) for change in _changes(call, cluster)][::-1]
    for wanted, key in (
        ("InstanceGroupName", "InstanceGroupName"),
        ("NodeId", "InstanceId"),
        ("ResourceType", "ResourceType"),
    ):
        if wish.get(wanted):
            found = [event for event in found if event.get(key) == wish[wanted]]
    items, more = page(found, wish)
    return {"Events": items, **more}


@operation("sagemaker", "DescribeClusterEvent")
def describe_cluster_event(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = life.named(cloud, call)
    for change in _changes(call, cluster):
        if model.event_id(cluster, change) == call.parameters["EventId"]:
            return {"EventDetails": _event(cloud, cluster, change)}
    raise AwsError("ResourceNotFound", f"Event {call.parameters['EventId']} not found.")


def _changes(call: Call, cluster: Cluster) -> list[tuple[float, str, str, str]]:
    if not cluster.continuous:
        message = f"Events are not supported for cluster {cluster.name}: its node provisioning mode is not Continuous."
        raise checks.invalid(message)
    return list(cluster.changes(call.now))


def _event(cloud: Cloud, cluster: Cluster, change: tuple[float, str, str, str]) -> dict[str, Any]:
    at, group, node, sentence = change
    shown = {
        "EventId": model.event_id(cluster, change),
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ResourceType": "Instance" if node else "Cluster",
        "EventTime": cloud.clock.shown(at),
        "Description": sentence,
        "EventLevel": "Error" if "failed" in sentence else "Info",
    }
    return {**shown, "InstanceGroupName": group, "InstanceId": node} if node else shown
