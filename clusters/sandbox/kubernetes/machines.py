"""The nodes of an EKS cluster: the instances that its HyperPod clusters have brought, as Kubernetes sees them."""

from datetime import datetime
from typing import Any

from clusters.sandbox import facts
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.hyperpod import life
from clusters.sandbox.hyperpod.model import NEVER, Cluster, Node
from clusters.sandbox.kubernetes.world import rfc3339

PODS = 49  # so many a p5 node takes
# What the node's own daemons keep for themselves.
CPU_KEPT, MEMORY_KEPT = 2, 0.07
HEALTH = "sagemaker.amazonaws.com/node-health-status"
DEEP = "sagemaker.amazonaws.com/deep-health-check-status"
TYPE, GROUP = "node.kubernetes.io/instance-type", "sagemaker.amazonaws.com/instance-group-name"


def clusters_on(cloud: Cloud, account: str, region: str, eks: str) -> list[Cluster]:
    """The HyperPod clusters whose nodes join this EKS cluster."""
    arn = f":cluster/{eks}"
    return [
        cluster
        for cluster in life.clusters(cloud, account, region).values()
        if cluster.on_eks and cluster.wish["Orchestrator"]["Eks"]["ClusterArn"].endswith(arn)
    ]


def joined(clusters: list[Cluster], at: float) -> list[Node]:
    """The instances that have registered themselves."""
    return [node for cluster in clusters for node in cluster.present(at) if node.ready <= at]


def moments(clusters: list[Cluster]) -> list[float]:
    found = [time for cluster in clusters for node in cluster.nodes for time in (node.ready, node.failed, node.gone)]
    found += [t for c in clusters for node in c.nodes for pair in (*node.away, *node.patched) for t in pair]
    return [time for time in found if time != NEVER]


def name_of(instance: str) -> str:
    return f"hyperpod-{instance}"


def allocatable(node: Node) -> dict[str, float]:
    """What pods may take of it."""
    plain = node.type.removeprefix("ml.")
    accelerator, count = facts.accelerators(plain)
    found = {
        "cpu": float(max(1, facts.vcpus(plain) - CPU_KEPT)),
        "memory": float(int(facts.memory_mib(plain) * (1 - MEMORY_KEPT)) * 2**20),
        "pods": float(PODS),
    }
    if count:
        found["aws.amazon.com/neuron" if accelerator == "neuron" else "nvidia.com/gpu"] = float(count)
    if facts.efa_interfaces(plain):
        found["vpc.amazonaws.com/efa"] = float(facts.efa_interfaces(plain))
        found["hugepages-2Mi"] = 5128.0 * 2**20
    return found


def labels(node: Node, at: float) -> dict[str, str]:
    failed = node.status(at) == "Failure"
    return {
        "kubernetes.io/hostname": name_of(node.id),
        TYPE: node.type,
        GROUP: node.group,
        HEALTH: "UnschedulablePendingReplacement" if failed else "Schedulable",
        DEEP: "Failed" if failed else "Passed",
        "topology.kubernetes.io/zone": node.zone,
    }


def shown(node: Node, at: float, moment: datetime, since: datetime) -> dict[str, Any]:
    running = node.status(at) == "Running"
    has = allocatable(node)
    told = {
        name: f"{int(value / 1024)}Ki" if name in ("memory", "hugepages-2Mi") else str(int(value))
        for name, value in has.items()
    }
    failed = node.status(at) == "Failure"
    taints = [{"key": HEALTH, "value": "Unschedulable", "effect": "NoSchedule"}] if failed else []
    return {
        "metadata": {"name": name_of(node.id), "labels": labels(node, at)},
        "spec": {"providerID": f"aws:///{node.az_id}/sagemaker/cluster/{name_of(node.id)}", "taints": taints},
        "status": {
            "capacity": told,
            "allocatable": told,
            "addresses": [
                {"type": "InternalIP", "address": node.ip},
                {"type": "Hostname", "address": name_of(node.id)},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if running else "Unknown" if failed else "False",
                    "reason": "KubeletReady" if running else "NodeStatusUnknown",
                    "message": node.why if failed else "kubelet is posting ready status",
                    "lastTransitionTime": rfc3339(since if failed else moment),
                }
            ],
            "nodeInfo": {"kubeletVersion": "v1.33.5-eks-113cf36", "architecture": "amd64", "operatingSystem": "linux"},
        },
    }
