"""The calls of SageMaker that concern HyperPod clusters."""

import contextlib
import secrets
import string
from typing import Any

from clusters.sandbox import training_plans
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.hyperpod import checks, life, model, scripts
from clusters.sandbox.hyperpod.model import Cluster
from clusters.sandbox.services import Call, operation, page

SHOWN = (
    "RestrictedInstanceGroups VpcConfig Orchestrator TieredStorageConfig NodeRecovery NodeProvisioningMode ClusterRole"
    " AutoScaling"
).split()


@operation("sagemaker", "CreateCluster")
def create_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish, name = call.parameters, call.parameters["ClusterName"]
    present = life.clusters(cloud, call.account, call.region)
    if name in present:
        raise AwsError("ResourceInUse", f"Cluster with name {name} already exists.")
    groups = wish.get("InstanceGroups") or []
    if not groups:
        raise checks.invalid("At least one instance group is required.")
    counts = {group["InstanceGroupName"]: int(group["InstanceCount"]) for group in groups}
    by_type: dict[str, int] = {}
    checks.check_orchestrator(cloud, call, wish)
    checks.check_groups(cloud, call, groups)
    for group in groups:
        by_type[group["InstanceType"]] = by_type.get(group["InstanceType"], 0) + int(group["InstanceCount"])
    subnets = checks.subnets_of(cloud, call, wish)
    checks.check_offered(call, groups, subnets)
    checks.check_disks(cloud, call, groups)
    checks.check_plans(cloud, call, groups, counts, subnets)
    checks.check_quotas(cloud, call, list(present.values()), by_type, sum(counts.values()))
    on_eks = "Eks" in (wish.get("Orchestrator") or {})
    checks.check_addresses(groups, counts, subnets, on_eks)
    cluster = Cluster(
        name=name,
        id="".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(12)),
        account=call.account,
        region=call.region,
        wish=wish,
        began=call.now,
        in_service=call.now,
        groups={group["InstanceGroupName"]: group for group in groups},
        tags=wish.get("Tags") or [],
    )
    life.seat_nodes(cloud, cluster, counts, subnets, call.now)
    last = max([node.ready for node in cluster.nodes], default=call.now + model.FIRST_NODE)
    cluster.in_service = call.now + model.CONTINUOUS_IN_SERVICE if cluster.continuous else last + model.LAST_CHECKS
    _foresee(cloud, call, cluster)
    cloud.store.change(life.shelf_of(call.account, call.region)).setdefault("clusters", {})[name] = cluster
    call.effective = True
    return {"ClusterArn": cluster.arn}


def _foresee(cloud: Cloud, call: Call, cluster: Cluster) -> None:
    """Whether the cluster will fail, and why: no machines, or scripts that end with an error."""
    fault = cloud.faults.take_for_call(("no_capacity",), call.account, "sagemaker", "CreateCluster", call.parameters)
    if fault:
        largest = max(cluster.groups.values(), key=lambda group: int(group["InstanceCount"]))
        zones = sorted({node.az_id for node in cluster.nodes})
        message = (
            "We currently do not have sufficient capacity to launch new ml compute instances. Please try again later."
            f" ({largest['InstanceType']} in {', '.join(zones)}, instance group {largest['InstanceGroupName']})"
        )
        cluster.fails = (call.now + model.CAPACITY_FAILS_AFTER, fault.message or message)
        return
    try:
        cluster.partitions = scripts.partitions(cloud, call, cluster.groups, cluster.on_eks)
    except scripts.ScriptsFail as failure:
        group = f"/aws/sagemaker/Clusters/{cluster.name}/{cluster.id}"
        message = (
            f"Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, are accessible, and"
            f" run without errors. Please see CloudWatch log group {group} for lifecycle script logs. ({failure})"
        )
        cluster.fails = (call.now + model.SCRIPTS_FAIL_AFTER, message)
        cluster.says = failure.says


@operation("sagemaker", "DescribeCluster")
def describe_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = life.named(cloud, call)
    counts, now = cluster.group_counts(call.now), call.now
    groups = []
    for name, group in cluster.groups.items():
        shown = {key: value for key, value in group.items() if key not in ("InstanceCount", "MinInstanceCount")}
        running, wanted = counts[name]
        shown |= {"CurrentCount": running, "TargetCount": wanted, "Status": cluster.group_status(name, now)}
        if group.get("MinInstanceCount") is not None:
            shown["MinCount"] = group["MinInstanceCount"]
        if cluster.software_status(name, now):
            shown["SoftwareUpdateStatus"] = cluster.software_status(name, now)
        plan = training_plans.by_arn(cloud, call.account, call.region, group.get("TrainingPlanArn", ""))
        if plan is not None:
            shown["TrainingPlanStatus"] = training_plans.status(cloud, plan)
        groups.append(shown)
    said = {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": cluster.status(now),
        "CreationTime": cloud.clock.shown(cluster.began),
        "InstanceGroups": groups,
        **{name: cluster.wish[name] for name in SHOWN if cluster.wish.get(name) is not None},
    }
    if cluster.fails is not None and cluster.failed(now):
        said["FailureMessage"] = cluster.fails[1]
    return said


@operation("sagemaker", "ListClusters")
def list_clusters(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    found = sorted(life.clusters(cloud, call.account, call.region).values(), key=lambda one: -one.began)
    if wish.get("NameContains"):
        found = [cluster for cluster in found if wish["NameContains"] in cluster.name]
    if wish.get("TrainingPlanArn"):
        found = [cluster for cluster in found if wish["TrainingPlanArn"] in _plans(cluster)]
    if wish.get("SortBy") == "NAME":
        found.sort(key=lambda cluster: cluster.name)
    summaries = [
        {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "CreationTime": cloud.clock.shown(cluster.began),
            "ClusterStatus": cluster.status(call.now),
            "TrainingPlanArns": _plans(cluster),
        }
        for cluster in found
    ]
    items, more = page(summaries, wish)
    return {"ClusterSummaries": items, **more}


def _plans(cluster: Cluster) -> list[str]:
    return sorted({group["TrainingPlanArn"] for group in cluster.groups.values() if group.get("TrainingPlanArn")})


@operation("sagemaker", "UpdateCluster")
def update_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster, wish = life.named(cloud, call), call.parameters
    if cluster.status(call.now) != "InService":
        raise AwsError(
            "ConflictException", f"Cluster {cluster.name} is {cluster.status(call.now)} and cannot be updated."
        )
    groups = wish.get("InstanceGroups") or []
    checks.check_groups(cloud, call, groups)
    for group in groups:
        old = cluster.groups.get(group["InstanceGroupName"])
        if old is not None and old["InstanceType"] != group["InstanceType"]:
            raise checks.invalid(f"InstanceType of instance group {group['InstanceGroupName']} cannot be changed.")
    dropped = wish.get("InstanceGroupsToDelete") or []
    unknown = sorted(set(dropped) - set(cluster.groups))
    if unknown:
        raise checks.invalid(f"Instance group(s) {', '.join(unknown)} do not exist in cluster {cluster.name}.")
    counts = {group["InstanceGroupName"]: int(group["InstanceCount"]) for group in groups}
    had = {name: int(group["InstanceCount"]) for name, group in cluster.groups.items()}
    more = {name: max(0, count - had.get(name, 0)) for name, count in counts.items()}
    by_type: dict[str, int] = {}
    for group in groups:
        by_type[group["InstanceType"]] = by_type.get(group["InstanceType"], 0) + more[group["InstanceGroupName"]]
    subnets = checks.subnets_of(cloud, call, cluster.wish)
    checks.check_offered(call, groups, subnets)
    checks.check_disks(cloud, call, groups)
    checks.check_plans(cloud, call, groups, more, subnets)
    size = sum({**had, **counts}.values()) - sum(had[name] for name in dropped)
    everyone = list(life.clusters(cloud, call.account, call.region).values())
    checks.check_quotas(cloud, call, everyone, by_type, size)
    checks.check_addresses(groups, more, subnets, cluster.on_eks)
    cloud.store.change(life.shelf_of(call.account, call.region))
    _resize(cloud, call, cluster, groups, dropped, more, subnets)
    if wish.get("NodeRecovery"):
        cluster.wish = {**cluster.wish, "NodeRecovery": wish["NodeRecovery"]}
    call.effective = True
    return {"ClusterArn": cluster.arn}


def _resize(cloud: Cloud, call: Call, cluster: Cluster, groups: list[dict[str, Any]], dropped: list[str],
            more: dict[str, int], subnets: list[checks.Subnet]) -> None:  # fmt: skip
    for group in groups:
        name = group["InstanceGroupName"]
        cluster.groups[name] = group
        seated = [node for node in cluster.nodes if node.group == name and call.now < node.gone]
        for node in seated[int(group["InstanceCount"]) :]:
            node.gone = call.now
    for name in dropped:
        del cluster.groups[name]
        for node in cluster.nodes:
            if node.group == name:
                node.gone = min(node.gone, call.now)
    with contextlib.suppress(scripts.ScriptsFail):  # what new scripts say of the groups, the controller learns
        cluster.partitions = scripts.partitions(cloud, call, cluster.groups, cluster.on_eks)
    life.seat_nodes(cloud, cluster, more, subnets, call.now)
    last = max([node.ready for node in cluster.nodes if node.began == call.now], default=call.now + model.LAST_CHECKS)
    cluster.updating = call.now + 1.0 if cluster.continuous else last + model.LAST_CHECKS


@operation("sagemaker", "UpdateClusterSoftware")
def update_cluster_software(cloud: Cloud, call: Call) -> dict[str, Any]:
    """A rolling update: batch after batch of each named group (all of them when none is named) gets a new machine image."""
    cluster, wish = life.named(cloud, call), call.parameters
    if cluster.status(call.now) != "InService":
        raise AwsError(
            "ConflictException", f"Cluster {cluster.name} is {cluster.status(call.now)} and cannot be updated."
        )
    named = [group["InstanceGroupName"] for group in wish.get("InstanceGroups") or []] or list(cluster.groups)
    unknown = sorted(set(named) - set(cluster.groups))
    if unknown:
        raise checks.invalid(f"Instance group(s) {', '.join(unknown)} do not exist in cluster {cluster.name}.")
    policy = (wish.get("DeploymentConfig") or {}).get("RollingUpdatePolicy") or {}
    size = policy.get("MaximumBatchSize") or {"Type": "CAPACITY_PERCENTAGE", "Value": 100 * model.SOFTWARE_BATCH}
    cloud.store.change(life.shelf_of(call.account, call.region))
    for name in named:
        nodes = [node for node in cluster.present(call.now) if node.group == name]
        share = int(size["Value"]) if size["Type"] == "INSTANCE_COUNT" else len(nodes) * int(size["Value"]) // 100
        at = call.now
        for first in range(0, len(nodes), max(1, share)):
            for node in nodes[first : first + max(1, share)]:
                node.patched.append((at, at + model.SOFTWARE_TAKES))
            at += model.SOFTWARE_TAKES
        cluster.software[name] = (call.now, at)
    call.effective = True
    return {"ClusterArn": cluster.arn}


@operation("sagemaker", "DeleteCluster")
def delete_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = life.named(cloud, call)
    if cluster.deleting is None:
        cloud.store.change(life.shelf_of(call.account, call.region))
        cluster.deleting = call.now
        call.effective = True
    return {"ClusterArn": cluster.arn}


@operation("sagemaker", "AddTags")
def add_tags(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = life.by_arn(cloud, call, call.parameters["ResourceArn"])
    cloud.store.change(life.shelf_of(call.account, call.region))
    tags = {tag["Key"]: tag for tag in [*cluster.tags, *call.parameters["Tags"]]}
    cluster.tags = list(tags.values())
    return {"Tags": cluster.tags}


@operation("sagemaker", "ListTags")
def list_tags(cloud: Cloud, call: Call) -> dict[str, Any]:
    items, more = page(life.by_arn(cloud, call, call.parameters["ResourceArn"]).tags, call.parameters)
    return {"Tags": items, **more}
