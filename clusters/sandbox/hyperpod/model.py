"""What is stored of a HyperPod cluster, and what it looks like at any moment: pure functions of the two."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

NEVER = float("inf")
# Sandbox seconds. A cluster takes about twenty minutes: the machines, the scripts on them, and the last checks.
FIRST_NODE, NODES_SPREAD, JITTER, LAST_CHECKS = 540.0, 420.0, 60.0, 90.0
CONTINUOUS_IN_SERVICE = 120.0
DEEP_CHECK = 2700.0
CAPACITY_FAILS_AFTER, SCRIPTS_FAIL_AFTER = 480.0, 900.0
SOFTWARE_TAKES, SOFTWARE_BATCH = 600.0, 0.1  # for a batch of nodes, and how large one is unless the caller says
NODE_GOES = 120.0
DELETE_TAKES, REPLACE_AFTER, REPLACE_TAKES, REBOOT_TAKES = 300.0, 600.0, 1200.0, 180.0


@dataclass
class Node:
    """One instance in one seat of a group; times that have not come yet are in the future, not missing."""

    id: str
    logical_id: str
    group: str
    type: str
    subnet: str
    az_id: str
    zone: str
    ip: str
    addresses: int
    began: float
    ready: float
    check_from: float = NEVER
    failed: float = NEVER
    gone: float = NEVER
    why: str = ""
    away: list[tuple[float, float]] = field(default_factory=list)  # reboots
    patched: list[tuple[float, float]] = field(default_factory=list)  # software updates

    @property
    def host(self) -> str:
        return "ip-" + self.ip.replace(".", "-")

    def updated(self, now: float) -> float | None:
        """When its machine image was changed last."""
        return max([end for _start, end in self.patched if end <= now], default=None)

    def present(self, now: float) -> bool:
        return self.began <= now < self.gone

    def status(self, now: float) -> str:
        if now >= self.failed:
            return "Failure"
        if any(start <= now < end for start, end in self.patched):
            return "SystemUpdating"
        if now >= self.ready:
            return "Pending" if any(start <= now < end for start, end in self.away) else "Running"
        return "DeepHealthCheckInProgress" if now >= self.check_from else "Pending"


@dataclass
class Cluster:
    """One cluster; `fails` is when and why it will, or did, fail."""

    name: str
    id: str
    account: str
    region: str
    wish: dict[str, Any]
    began: float
    in_service: float
    groups: dict[str, dict[str, Any]]
    nodes: list[Node] = field(default_factory=list)
    tags: list[dict[str, str]] = field(default_factory=list)
    partitions: dict[str, list[str]] = field(default_factory=dict)
    fails: tuple[float, str] | None = None
    says: tuple[str, ...] = ()  # what its scripts print before they fail
    updating: float = 0.0
    software: dict[str, tuple[float, float]] = field(default_factory=dict)  # group -> begin and end of its last update
    deleting: float | None = None
    jwt_key: bytes = b""
    announced_at: str = ""

    @property
    def arn(self) -> str:
        return f"arn:aws:sagemaker:{self.region}:{self.account}:cluster/{self.id}"

    @property
    def on_eks(self) -> bool:
        return "Eks" in (self.wish.get("Orchestrator") or {})

    @property
    def continuous(self) -> bool:
        return self.wish.get("NodeProvisioningMode") == "Continuous"

    def gone(self, now: float) -> bool:
        return self.deleting is not None and now >= self.deleting + DELETE_TAKES

    def failed(self, now: float) -> bool:
        return self.fails is not None and now >= self.fails[0]

    def status(self, now: float) -> str:
        if self.deleting is not None:
            return "Deleting"
        if self.failed(now):
            return "Failed"
        if now < self.in_service:
            return "Creating"
        if any(start <= now < end for start, end in self.software.values()):
            return "SystemUpdating"
        return "Updating" if now < self.updating else "InService"

    def present(self, now: float) -> list[Node]:
        """The instances that are there; a failed cluster has given all of them back."""
        if self.gone(now) or (self.failed(now) and self.status(now) != "InService"):
            return []
        return [node for node in self.nodes if node.present(now)]

    def node_status(self, node: Node, now: float) -> tuple[str, str]:
        if self.deleting is not None:
            return "ShuttingDown", ""
        status = node.status(now)
        return status, node.why if status == "Failure" else ""

    def group_counts(self, now: float) -> dict[str, tuple[int, int]]:
        """Group -> instances that run, instances that are wanted."""
        running = [node.group for node in self.present(now) if node.status(now) == "Running"]
        return {name: (running.count(name), int(group["InstanceCount"])) for name, group in self.groups.items()}

    def group_status(self, name: str, now: float) -> str:
        status, (running, wanted) = self.status(now), self.group_counts(now)[name]
        if status == "SystemUpdating":
            return "SystemUpdating" if self.software_status(name, now) in ("Pending", "InProgress") else "InService"
        if status != "InService":
            return {"Failed": "Failed", "Deleting": "Deleting", "Creating": "Creating"}.get(status, "Updating")
        if any(node.group == name and node.status(now) == "Failure" for node in self.present(now)):
            return "Degraded"
        return "InService" if running == wanted else "Updating" if self.updating else "Creating"

    def software_status(self, group: str, now: float) -> str:
        """The word for the last software update of a group; empty when there was none."""
        if group not in self.software:
            return ""
        start, end = self.software[group]
        return "Pending" if now < start else "InProgress" if now < end else "Succeeded"

    def changes(self, now: float) -> Iterator[tuple[float, str, str, str]]:
        """(time, group, instance, sentence) of all that has happened, oldest first."""
        found = [(self.began, "", "", "Cluster creation started.")]
        if self.fails is not None:
            found.append((self.fails[0], "", "", f"Cluster creation failed. {self.fails[1]}"))
        else:
            found.append((self.in_service, "", "", "Cluster is in service."))
        for node in self.nodes:
            found += [
                (node.began, node.group, node.id, f"Instance {node.id} is being provisioned."),
                (node.check_from, node.group, node.id, f"Deep health checks started on instance {node.id}."),
                (node.ready, node.group, node.id, f"Instance {node.id} is running."),
                (node.failed, node.group, node.id, f"Instance {node.id} failed: {node.why}"),
                (node.gone, node.group, node.id, f"Instance {node.id} was terminated."),
            ]
        for group, (start, end) in self.software.items():
            found.append((start, group, "", f"Software update of instance group {group} started."))
            found.append((end, group, "", f"Software update of instance group {group} succeeded."))
        if self.deleting is not None:
            found.append((self.deleting, "", "", "Cluster deletion started."))
        end = self.fails[0] if self.fails is not None else NEVER
        yield from sorted(one for one in found if one[0] <= now and (one[0] <= end or not one[2]))


def event_id(cluster: Cluster, change: tuple[float, str, str, str]) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{cluster.arn}/{change[0]}/{change[2]}/{change[3]}"))


def arrival(cluster_id: str, began: float, number: int, of: int, first: bool) -> float:
    """When the number-th of so many instances runs: the first groups first, the rest one after another."""
    noise = random.Random(f"{cluster_id}/{began}/{number}").random() * JITTER
    return began + FIRST_NODE - (120.0 if first else 0.0) + NODES_SPREAD * number / max(of, 1) + noise
