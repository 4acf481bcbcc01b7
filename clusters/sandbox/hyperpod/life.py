"""What happens to HyperPod clusters by themselves: nodes take seats, fail and are replaced, Slurm says how it is reached."""

import base64
import ipaddress
import json
import secrets
from typing import Any

from clusters.sandbox import facts
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.hyperpod import model
from clusters.sandbox.hyperpod.checks import Subnet
from clusters.sandbox.hyperpod.model import NEVER, Cluster, Node
from clusters.sandbox.services import Call

SLURM_USER = "cohort"
VERSIONS = ["v0.0.40"]
RESERVED_AT_START = 4


def shelf_of(account: str, region: str) -> str:
    return f"hyperpod/{account}/{region}"


def clusters(cloud: Cloud, account: str, region: str) -> dict[str, Cluster]:
    """Name -> cluster, of those that are there."""
    found: dict[str, Cluster] = cloud.store.read(shelf_of(account, region)).get("clusters", {})
    return {name: cluster for name, cluster in found.items() if not cluster.gone(cloud.now())}


def by_arn(cloud: Cloud, call: Call, arn: str) -> Cluster:
    for cluster in clusters(cloud, call.account, call.region).values():
        if cluster.arn == arn:
            return cluster
    raise AwsError("ResourceNotFound", f"Resource {arn} not found.")


def named(cloud: Cloud, call: Call) -> Cluster:
    """The cluster that a call names, by its name or its ARN."""
    name = call.parameters["ClusterName"]
    if name.startswith("arn:"):
        return by_arn(cloud, call, name)
    cluster = clusters(cloud, call.account, call.region).get(name)
    if cluster is None:
        raise AwsError("ResourceNotFound", f"Cluster with name {name} not found.")
    return cluster


def addresses_taken(cloud: Cloud, account: str, region: str, subnet: str) -> int:
    now = cloud.now()
    present = (n for cluster in clusters(cloud, account, region).values() for n in cluster.present(now))
    return sum(node.addresses for node in present if node.subnet == subnet)


def instances_on_plan(cloud: Cloud, account: str, region: str, arn: str) -> int:
    return sum(
        int(group["InstanceCount"])
        for cluster in clusters(cloud, account, region).values()
        for group in cluster.groups.values()
        if group.get("TrainingPlanArn") == arn and not cluster.failed(cloud.now())
    )


def catch_up(cloud: Cloud, account: str, region: str) -> None:
    """Let the controllers of new Slurm clusters say how they are reached, and forget clusters that are gone."""
    now, name = cloud.now(), shelf_of(account, region)
    found: dict[str, Cluster] = cloud.store.read(name).get("clusters", {})
    for cluster in list(found.values()):
        if cluster.gone(now):
            cloud.store.change(name)
            take_back(cloud, cluster)
            del found[cluster.name]
        elif not cluster.on_eks and cluster.announced_at != cloud.address and cluster.status(now) == "InService":
            # Also when the cloud was started again at another address.
            cloud.store.change(name)
            announce(cloud, cluster)


def announce(cloud: Cloud, cluster: Cluster) -> None:
    """What the lifecycle script on the controller leaves in the account: first the key, then the address."""
    cluster.announced_at = cloud.address
    cluster.jwt_key = cluster.jwt_key or secrets.token_bytes(32)
    secret, text = secret_name(cluster.name), base64.b64encode(cluster.jwt_key).decode()
    token = secrets.token_hex(16)
    try:
        cloud.ask(cluster.account, cluster.region, "secretsmanager", "CreateSecret", Name=secret, SecretString=text,
                  ClientRequestToken=token)  # fmt: skip
    except AwsError:
        cloud.ask(cluster.account, cluster.region, "secretsmanager", "PutSecretValue", SecretId=secret, SecretString=text,
                  ClientRequestToken=token)  # fmt: skip
    told = {
        "url": f"{cloud.address}/slurm/{cluster.account}/{cluster.region}/{cluster.name}",
        "versions": VERSIONS,
        "user": SLURM_USER,
        "log_group": log_group(cluster.name),
    }
    cloud.ask(cluster.account, cluster.region, "ssm", "PutParameter", Name=parameter_name(cluster.name), Type="String",
              Value=json.dumps(told), Overwrite=True)  # fmt: skip


def take_back(cloud: Cloud, cluster: Cluster) -> None:
    """A cluster that is gone is not reached any more; what it left behind would point at nothing."""
    if not cluster.jwt_key:
        return
    for service, operation, wish in (
        ("ssm", "DeleteParameter", {"Name": parameter_name(cluster.name)}),
        ("secretsmanager", "DeleteSecret", {"SecretId": secret_name(cluster.name), "ForceDeleteWithoutRecovery": True}),
    ):
        try:
            cloud.ask(cluster.account, cluster.region, service, operation, **wish)
        except AwsError:  # somebody was quicker
            continue


def parameter_name(cluster: str) -> str:
    return f"/cohort/clusters/{cluster}/slurm"


def secret_name(cluster: str) -> str:
    return f"cohort/clusters/{cluster}/slurm-jwt"


def log_group(cluster: str) -> str:
    return f"/cohort/clusters/{cluster}/jobs"


def seat_nodes(cloud: Cloud, cluster: Cluster, counts: dict[str, int], subnets: list[Subnet], began: float) -> None:
    """New instances for the groups: so many each, with addresses in a subnet whose zone offers them."""
    total, number = sum(counts.values()), 0
    taken = _addresses_in_use(cloud, cluster)
    deep = {name for name, group in cluster.groups.items() if group.get("OnStartDeepHealthChecks")}
    first = next(iter(cluster.groups), "")
    for name, count in counts.items():
        group = cluster.groups[name]
        plain = group["InstanceType"].removeprefix("ml.")
        width = facts.addresses_per_node(plain, cluster.on_eks)
        for _ in range(count):
            subnet = _subnet_for(cluster.region, plain, subnets)
            ip = _free_address(subnet, width, taken)
            runs = model.arrival(cluster.id, began, number, total, name == first)
            node = Node(
                id="i-" + secrets.token_hex(9)[:17],
                logical_id="nid-" + secrets.token_hex(9)[:17],
                group=name,
                type=group["InstanceType"],
                subnet=subnet.id,
                az_id=subnet.az_id,
                zone=subnet.zone,
                ip=ip,
                addresses=width,
                began=began,
                ready=runs + (model.DEEP_CHECK if name in deep else 0.0),
                check_from=runs if name in deep else NEVER,
            )
            cluster.nodes.append(node)
            number += 1


def _subnet_for(region: str, plain: str, subnets: list[Subnet]) -> Subnet:
    zones = facts.offered(region, plain)
    if not subnets:  # without a VpcConfig the nodes live in the service's own network
        zone = sorted(zones)[0]
        return Subnet("", "", "172.16.0.0/16", "", zone, 0)
    return next(subnet for subnet in subnets if subnet.az_id in zones)


def _addresses_in_use(cloud: Cloud, cluster: Cluster) -> dict[str, set[int]]:
    """Subnet -> first addresses of present nodes, of this and all other clusters."""
    now = cloud.now()
    found: dict[str, set[int]] = {}
    others = [*clusters(cloud, cluster.account, cluster.region).values(), cluster]
    for one in others:
        for node in one.nodes:
            if now < node.gone:
                found.setdefault(node.subnet, set()).add(int(ipaddress.ip_address(node.ip)))
    return found


def _free_address(subnet: Subnet, width: int, taken: dict[str, set[int]]) -> str:
    network = ipaddress.ip_network(subnet.cidr)
    used = taken.setdefault(subnet.id, set())
    candidate = int(network.network_address) + RESERVED_AT_START
    while candidate in used:
        candidate += 1
    used.update(range(candidate, candidate + width))
    return str(ipaddress.ip_address(candidate))


def fail_node(cloud: Cloud, cluster: Cluster, node: Node, why: str, at: float) -> None:
    """An instance fails; with automatic recovery another takes its seat some minutes later."""
    node.failed, node.why = at, why
    if cluster.wish.get("NodeRecovery", "Automatic") == "Automatic":
        replace_node(cloud, cluster, node, at + model.REPLACE_AFTER)


def replace_node(cloud: Cloud, cluster: Cluster, node: Node, at: float) -> Node:
    """The seat's next instance; the address goes with the old one, so it gets another."""
    node.gone = at
    network = Subnet(node.subnet, "", _cidr(cloud, cluster, node.subnet), node.zone, node.az_id, 0)
    ip = _free_address(network, node.addresses, _addresses_in_use(cloud, cluster))
    successor = Node(
        id="i-" + secrets.token_hex(9)[:17],
        logical_id=node.logical_id,
        group=node.group,
        type=node.type,
        subnet=node.subnet,
        az_id=node.az_id,
        zone=node.zone,
        ip=ip,
        addresses=node.addresses,
        began=at,
        ready=at + model.REPLACE_TAKES,
    )
    cluster.nodes.append(successor)
    return successor


def _cidr(cloud: Cloud, cluster: Cluster, subnet: str) -> str:
    if not subnet:
        return "172.16.0.0/16"
    found: list[dict[str, Any]] = cloud.ask(
        cluster.account, cluster.region, "ec2", "DescribeSubnets", SubnetIds=[subnet]
    )["Subnets"]  # fmt: skip
    return str(found[0]["CidrBlock"])
