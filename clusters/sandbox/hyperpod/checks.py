"""What CreateCluster and UpdateCluster refuse: names, networks, roles, quotas, plans, addresses."""

from dataclasses import dataclass
from typing import Any

from clusters.sandbox import eks, facts, quotas, sts, training_plans
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.hyperpod.model import Cluster
from clusters.sandbox.services import Call

ON_EKS_ONLY = ("KubernetesConfig",)


@dataclass(frozen=True)
class Subnet:
    """A subnet with room for nodes."""

    id: str
    vpc: str
    cidr: str
    zone: str
    az_id: str
    free: int


def invalid(message: str) -> AwsError:
    return AwsError("ValidationException", message)


def subnets_of(cloud: Cloud, call: Call, wish: dict[str, Any]) -> list[Subnet]:
    """The subnets of a VpcConfig, which lie in one VPC together with the security groups."""
    network = wish.get("VpcConfig")
    if not network:
        return []
    try:
        subnets = cloud.ask(call.account, call.region, "ec2", "DescribeSubnets", SubnetIds=network["Subnets"])[
            "Subnets"
        ]
        groups = cloud.ask(
            call.account, call.region, "ec2", "DescribeSecurityGroups", GroupIds=network["SecurityGroupIds"]
        )["SecurityGroups"]  # fmt: skip
    except AwsError as error:
        raise invalid(error.message) from None
    vpcs = {subnet["VpcId"] for subnet in subnets} | {group["VpcId"] for group in groups}
    if len(vpcs) != 1:
        raise invalid("The subnets and security groups must belong to one VPC.")
    return [
        Subnet(s["SubnetId"], s["VpcId"], s["CidrBlock"], s["AvailabilityZone"], s["AvailabilityZoneId"],
               s["AvailableIpAddressCount"])
        for s in subnets
    ]  # fmt: skip


def check_orchestrator(cloud: Cloud, call: Call, wish: dict[str, Any]) -> None:
    orchestrator = wish.get("Orchestrator") or {}
    if len(orchestrator) > 1:
        raise invalid("Specify exactly one orchestrator.")
    for group in wish.get("InstanceGroups") or []:
        if "Eks" not in orchestrator and any(group.get(name) for name in ON_EKS_ONLY):
            raise invalid(f"KubernetesConfig of {group['InstanceGroupName']} is for the EKS orchestrator only.")
    if "Eks" not in orchestrator:
        return
    if not wish.get("VpcConfig"):
        raise invalid("VpcConfig is required with the EKS orchestrator.")
    arn = orchestrator["Eks"]["ClusterArn"]
    cluster = eks.by_arn(cloud, call, arn)
    if cluster is None:
        raise invalid(f"EKS cluster {arn} does not exist.")
    if eks.status(call.now, cluster) != "ACTIVE":
        raise invalid(f"EKS cluster {arn} is not ACTIVE.")
    if eks.auth_mode(cluster) == "CONFIG_MAP":
        message = "The EKS cluster's authentication mode must be API or API_AND_CONFIG_MAP."
        raise invalid(message)


def check_groups(cloud: Cloud, call: Call, groups: list[dict[str, Any]]) -> None:
    names = [group["InstanceGroupName"] for group in groups]
    if len(set(names)) < len(names):
        raise invalid("Instance group names must be unique in a cluster.")
    for group in groups:
        name = group["InstanceGroupName"]
        if not group.get("InstanceType"):
            raise invalid(f"InstanceType of instance group {name} is required.")
        if group.get("ThreadsPerCore") not in (None, 1, 2):
            raise invalid(f"ThreadsPerCore of instance group {name} must be 1 or 2.")
        role = sts.role_of(group["ExecutionRole"])
        if role is None or role.account_id != call.account or not sts.trusts_service(role, "sagemaker.amazonaws.com"):
            message = f"Could not assume role {group['ExecutionRole']}. Please ensure that the role exists and allows"
            raise invalid(f"{message} principal 'sagemaker.amazonaws.com' to assume the role.")
        scripts = group.get("LifeCycleConfig")
        if not scripts:
            raise invalid(f"LifeCycleConfig of instance group {name} is required.")
        if not str(scripts.get("SourceS3Uri", "")).startswith("s3://sagemaker-"):
            message = f"SourceS3Uri of instance group {name} must begin with s3://sagemaker-."
            raise invalid(message)


def check_offered(call: Call, groups: list[dict[str, Any]], subnets: list[Subnet]) -> None:
    for group in groups:
        plain = group["InstanceType"].removeprefix("ml.")
        zones = facts.offered(call.region, plain)
        if not zones:
            raise invalid(f"Instance type {group['InstanceType']} is not supported in Region {call.region}.")
        if subnets and not zones & {subnet.az_id for subnet in subnets}:
            where = ", ".join(sorted(subnet.az_id for subnet in subnets))
            raise invalid(f"Instance type {group['InstanceType']} is not supported in Availability Zone {where}.")


def check_plans(
    cloud: Cloud, call: Call, groups: list[dict[str, Any]], more: dict[str, int], subnets: list[Subnet]
) -> None:
    """`more` says by how many instances each group grows."""
    for group in groups:
        arn = group.get("TrainingPlanArn")
        if not arn:
            continue
        plan = training_plans.by_arn(cloud, call.account, call.region, arn)
        if plan is None:
            raise AwsError("ResourceNotFound", f"Training plan {arn} does not exist.")
        status = training_plans.status(cloud, plan)
        if status not in ("Active", "Scheduled"):
            raise invalid(f"Training plan {plan['name']} is {status}; it must be Active or Scheduled.")
        if plan["type"] != group["InstanceType"]:
            raise invalid(f"Training plan {plan['name']} is for {plan['type']}, not for {group['InstanceType']}.")
        asked = more[group["InstanceGroupName"]]
        left = plan["count"] - training_plans.in_use(cloud, call.account, call.region, arn)
        if asked > left:
            raise invalid(f"Training plan {plan['name']} has {left} instances available; {asked} were requested.")
        if subnets and plan["az_id"] not in {subnet.az_id for subnet in subnets}:
            message = f"Training plan {plan['name']} is in {plan['az_id']}, which none of the subnets is in."
            raise invalid(message)


def check_quotas(cloud: Cloud, call: Call, others: list[Cluster], more: dict[str, int], size: int) -> None:
    """`more` says by how many instances of each type the account grows; `size` is how large this cluster gets."""
    used: dict[str, int] = {}
    for cluster in others:
        if not cluster.failed(call.now):
            for group in cluster.groups.values():
                used[group["InstanceType"]] = used.get(group["InstanceType"], 0) + int(group["InstanceCount"])
    for instance_type, count in more.items():
        _within(cloud, call, quotas.cluster_usage(instance_type), used.get(instance_type, 0), count)
    _within(cloud, call, quotas.PER_CLUSTER, 0, size)
    _within(cloud, call, quotas.IN_TOTAL, sum(used.values()), sum(more.values()))


def check_disks(cloud: Cloud, call: Call, groups: list[dict[str, Any]]) -> None:
    """No disk of an instance is larger than the account may have."""
    allowed = quotas.value(cloud, call.account, call.region, "sagemaker", quotas.LARGEST_DISK)
    for group in groups:
        for disk in group.get("InstanceStorageConfigs") or []:
            asked = int((disk.get("EbsVolumeConfig") or {}).get("VolumeSizeInGB") or 0)
            if asked > allowed:
                message = (
                    f"The account-level service limit '{quotas.LARGEST_DISK}' is {allowed:.0f} GB; {asked} GB were"
                )
                raise AwsError(
                    "ResourceLimitExceeded", f"{message} requested for instance group {group['InstanceGroupName']}."
                )


def _within(cloud: Cloud, call: Call, name: str, used: int, more: int) -> None:
    allowed = quotas.value(cloud, call.account, call.region, "sagemaker", name)
    if more > 0 and used + more > allowed:
        raise AwsError(
            "ResourceLimitExceeded",
            f"The account-level service limit '{name}' is {allowed:.0f} Instances, with current utilization of"
            f" {used} Instances and a request delta of {more} Instances. Please use AWS Service Quotas to request an"
            " increase for this quota. If AWS Service Quotas is not available, contact AWS support to request an"
            " increase for this quota.",
        )


def check_addresses(groups: list[dict[str, Any]], more: dict[str, int], subnets: list[Subnet], on_eks: bool) -> None:
    """Every new node takes its addresses; the subnets must have them free."""
    if not subnets:
        return
    needed = sum(
        more[group["InstanceGroupName"]] * facts.addresses_per_node(group["InstanceType"].removeprefix("ml."), on_eks)
        for group in groups
    )
    free = sum(subnet.free for subnet in subnets)
    if needed > free:
        names = ", ".join(subnet.id for subnet in subnets)
        raise invalid(
            f"Insufficient IP addresses in subnet(s) {names}: {needed} are required and {free} are available."
        )
