"""What an account says of itself before anything is made in it: zones, offers, capacity, networks, storage, roles. Reads only.

Each kind of fact is asked for by itself, so that one that may not be read leaves the others standing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusters.providers import Account, ProviderError, aws

LARGEST_PAGE = 100
FILTER_VALUES = 200  # EC2 takes so many values of one filter
# What the provisioner does first in an account, one action of each service that its architectures are made of.
NEEDED = (
    "cloudformation:CreateStack", "ec2:CreateVpc", "ec2:CreateSecurityGroup", "ec2:CreateNatGateway", "ec2:AllocateAddress",
    "ec2:CreateTags", "fsx:CreateFileSystem", "fsx:CreateDataRepositoryAssociation", "iam:CreateRole", "iam:PassRole",
    "s3:CreateBucket", "s3:PutObject",
)  # fmt: skip
NEEDED_BY_ENGINE = {
    "hyperpod": ("sagemaker:CreateCluster", "sagemaker:AddTags"),
    "parallelcluster": ("ec2:RunInstances", "ec2:CreateLaunchTemplate", "dynamodb:CreateTable", "lambda:CreateFunction"),
    "eks": ("eks:CreateCluster", "eks:CreateAccessEntry"),
}  # fmt: skip
SERVICE_ROLES = "/aws-service-role/"
MAKE_ROLES = "iam:CreateServiceLinkedRole"


@dataclass(frozen=True)
class Asked:
    """One kind of fact as it was told, or why it could not be read."""

    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Question:
    """What is to be found out: of which instance types, and of which networks of ours the rules and routes."""

    types: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()


def ask(account: Account, question: Question, kinds: Iterable[str] = ()) -> list[Asked]:
    """All kinds of facts, or these. Raises ProviderError when nobody is let in, when the account wants us to slow down, and
    when not one question was answered."""
    aws.let_in(account)
    told: list[Asked] = []
    lost: ProviderError | None = None
    for kind in kinds or READERS:
        try:
            told.append(Asked(kind, READERS[kind](account, question)))
        except ProviderError as error:
            if error.kind in ("throttled", "expired"):
                raise
            lost = error if error.kind == "unclear" else lost
            told.append(Asked(kind, error=error.message))
    if lost is not None and all(each.error for each in told):
        raise lost
    return told


def _zones(account: Account, _question: Question) -> dict[str, Any]:
    told = aws.call(account, "ec2", "DescribeAvailabilityZones", AllAvailabilityZones=False)["AvailabilityZones"]
    return {
        "zones": {each["ZoneId"]: each.get("State", "available") for each in told},
        "names": {each["ZoneName"]: each["ZoneId"] for each in told},
    }


def _offerings(account: Account, question: Question) -> dict[str, Any]:
    """Instance type -> the zones that offer it; a type that no zone offers has an empty list."""
    found: dict[str, list[str]] = {each: [] for each in question.types}
    for start in range(0, len(question.types), FILTER_VALUES):
        values = list(question.types[start : start + FILTER_VALUES])
        told = aws.pages(
            account, "ec2", "DescribeInstanceTypeOfferings", "InstanceTypeOfferings", LocationType="availability-zone-id",
            Filters=[{"Name": "instance-type", "Values": values}],
        )  # fmt: skip
        for each in told:
            found.setdefault(each["InstanceType"], []).append(each["Location"])
    return {"offered": {name: sorted(zones) for name, zones in found.items()}}


def _capacity(account: Account, _question: Question) -> dict[str, Any]:
    """Training plans by name, reservations of EC2 by id."""
    plans = aws.pages(account, "sagemaker", "ListTrainingPlans", "TrainingPlanSummaries", MaxResults=LARGEST_PAGE)
    held = aws.pages(account, "ec2", "DescribeCapacityReservations", "CapacityReservations", MaxResults=LARGEST_PAGE)
    return {
        "plans": {each["TrainingPlanName"]: _plan(each) for each in plans},
        "reservations": {each["CapacityReservationId"]: _reservation(each) for each in held},
    }


def _plan(told: Mapping[str, Any]) -> dict[str, Any]:
    parts = told.get("ReservedCapacitySummaries") or [{}]
    return {
        "type": parts[0].get("InstanceType", ""),
        "zone_name": parts[0].get("AvailabilityZone", ""),
        "zone_id": parts[0].get("AvailabilityZoneId", ""),
        "count": told.get("TotalInstanceCount", 0),
        "free": told.get("AvailableInstanceCount"),
        "state": str(told.get("Status", "")),
        "starts": _moment(told.get("StartTime")),
        "ends": _moment(told.get("EndTime")),
    }


def _reservation(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "capacity-block" if told.get("ReservationType") == "capacity-block" else "on-demand",
        "type": told.get("InstanceType", ""),
        "zone_id": told.get("AvailabilityZoneId", ""),
        "count": told.get("TotalInstanceCount", 0),
        "free": told.get("AvailableInstanceCount"),
        "state": str(told.get("State", "")),
        "starts": _moment(told.get("StartDate")),
        "ends": _moment(told.get("EndDate")),
    }


def _moment(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, datetime) else None


def _network(account: Account, question: Question) -> dict[str, Any]:
    """How much of what the account has of everything that is counted, and what the networks of ours let through."""
    subnets = {each["SubnetId"]: each for each in aws.pages(account, "ec2", "DescribeSubnets", "Subnets")}
    groups = list(aws.pages(account, "ec2", "DescribeSecurityGroups", "SecurityGroups"))
    gateways = aws.pages(account, "ec2", "DescribeNatGateways", "NatGateways")
    nats = Counter(
        subnets.get(each.get("SubnetId", ""), {}).get("AvailabilityZoneId", "")
        for each in gateways
        if each.get("State") in ("pending", "available")
    )
    return {
        "networks": {
            each["VpcId"]: each.get("CidrBlock", "") for each in aws.pages(account, "ec2", "DescribeVpcs", "Vpcs")
        },
        "addresses": len(aws.call(account, "ec2", "DescribeAddresses")["Addresses"]),
        "nat_gateways": dict(nats),
        "security_groups": len(groups),
        "interfaces": sum(1 for _ in aws.pages(account, "ec2", "DescribeNetworkInterfaces", "NetworkInterfaces")),
        "ours": _ours(account, question.networks, subnets, groups) if question.networks else {},
    }


def _ours(
    account: Account, networks: tuple[str, ...], subnets: Mapping[str, Any], groups: list[dict[str, Any]]
) -> dict[str, Any]:
    """Network -> its subnets with their routes, its security groups with their rules, its endpoints."""
    inside = [{"Name": "vpc-id", "Values": list(networks)}]
    tables = list(aws.pages(account, "ec2", "DescribeRouteTables", "RouteTables", Filters=inside))
    endpoints = list(aws.pages(account, "ec2", "DescribeVpcEndpoints", "VpcEndpoints", Filters=inside))
    return {
        network: {
            "subnets": {
                name: {
                    "zone": each.get("AvailabilityZoneId", ""),
                    "range": each.get("CidrBlock", ""),
                    "free": each.get("AvailableIpAddressCount"),
                    "routes": _routes(name, network, tables),
                }
                for name, each in subnets.items()
                if each.get("VpcId") == network
            },
            "groups": {each["GroupId"]: _rules(each) for each in groups if each.get("VpcId") == network},
            "endpoints": sorted(
                each["ServiceName"]
                for each in endpoints
                if each.get("VpcId") == network and str(each.get("State", "available")).lower() == "available"
            ),
        }
        for network in networks
    }


def _routes(subnet: str, network: str, tables: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The routes that hold in a subnet: of the table that names it, or else of the network's main one."""
    mine = [each for each in tables if each.get("VpcId") == network]
    named = [each for each in mine if any(one.get("SubnetId") == subnet for one in each.get("Associations", []))]
    main = [each for each in mine if any(one.get("Main") for one in each.get("Associations", []))]
    return [
        {"to": route.get("DestinationCidrBlock") or route.get("DestinationPrefixListId", ""), "by": _target(route)}
        for table in (named or main)[:1]
        for route in table.get("Routes", [])
        if route.get("State", "active") == "active"
    ]


def _target(route: Mapping[str, Any]) -> str:
    names = (
        "NatGatewayId",
        "GatewayId",
        "TransitGatewayId",
        "NetworkInterfaceId",
        "InstanceId",
        "VpcPeeringConnectionId",
    )
    return next((str(route[name]) for name in names if route.get(name)), "")


def _rules(group: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "way": way,
            "protocol": str(rule.get("IpProtocol", "")),
            "from": rule.get("FromPort"),
            "to": rule.get("ToPort"),
            "groups": [pair.get("GroupId", "") for pair in rule.get("UserIdGroupPairs", [])],
            "ranges": [one.get("CidrIp", "") for one in rule.get("IpRanges", [])],
        }
        for way, name in (("in", "IpPermissions"), ("out", "IpPermissionsEgress"))
        for rule in group.get(name, [])
    ]


def _storage(account: Account, _question: Question) -> dict[str, Any]:
    """File systems of FSx: their kind, zone, size and state."""
    systems = list(aws.pages(account, "fsx", "DescribeFileSystems", "FileSystems"))
    wanted = sorted({subnet for each in systems for subnet in each.get("SubnetIds", [])[:1]})
    zones: dict[str, str] = {}
    if wanted:
        told = aws.pages(
            account, "ec2", "DescribeSubnets", "Subnets", Filters=[{"Name": "subnet-id", "Values": wanted}]
        )
        zones = {each["SubnetId"]: each.get("AvailabilityZoneId", "") for each in told}
    return {
        "systems": [
            {
                "id": each["FileSystemId"],
                "type": each["FileSystemType"],
                "deployment": _deployment(each),
                "zone": zones.get((each.get("SubnetIds") or [""])[0], ""),
                "gib": each.get("StorageCapacity") or 0,
                "state": each.get("Lifecycle", ""),
            }
            for each in systems
        ]
    }


def _deployment(system: Mapping[str, Any]) -> str:
    settings = system.get("LustreConfiguration") or system.get("OpenZFSConfiguration") or {}
    return str(settings.get("DeploymentType", ""))


def _roles(account: Account, _question: Question) -> dict[str, Any]:
    """Which roles the services made for themselves, and which of the needed actions our own role is not allowed."""
    linked = aws.call(account, "iam", "ListRoles", PathPrefix=SERVICE_ROLES, MaxItems=1000)["Roles"]
    names = [*NEEDED, MAKE_ROLES, *(each for engine in NEEDED_BY_ENGINE.values() for each in engine)]
    told = aws.call(
        account, "iam", "SimulatePrincipalPolicy", PolicySourceArn=account.role_arn, ActionNames=names, MaxItems=1000
    )["EvaluationResults"]
    return {
        "linked": sorted(each["RoleName"] for each in linked),
        "denied": sorted(each["EvalActionName"] for each in told if each["EvalDecision"] != "allowed"),
    }


def _buckets(account: Account, _question: Question) -> dict[str, Any]:
    return {"names": sorted(each["Name"] for each in aws.call(account, "s3", "ListBuckets").get("Buckets", []))}


READERS: Mapping[str, Callable[[Account, Question], dict[str, Any]]] = {
    "zones": _zones,
    "offerings": _offerings,
    "capacity": _capacity,
    "network": _network,
    "storage": _storage,
    "roles": _roles,
    "buckets": _buckets,
}
KINDS = tuple(READERS)
