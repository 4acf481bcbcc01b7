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
    return {
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
    return {"Successful": done, "Failed": failed, "SuccessfulNodeLogicalIds": [], "FailedNodeLogicalIds": []}


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
