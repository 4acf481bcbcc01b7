"""Does a network let the nodes work: rules of the security group, ports of the file systems, the ways out. Pure.

A network that is there is judged by what the account told of it, one that is still to be made by the template that makes it.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from clusters.architectures.configuration import Configuration
from clusters.facts import Facts
from clusters.findings import Finding
from clusters.plans import templates
from clusters.plans.templates import Resource

EVERYWHERE = "0.0.0.0/0"
NODES = "the nodes' own range"  # stands for the parameter, to find the subnet that it goes into
# Ports that must be open between nodes and file system, both ways: facts about cluster engines, A1.3.
LUSTRE = (("tcp", 988, 988), ("tcp", 1018, 1023))
OPENZFS = tuple((protocol, low, high) for low, high in ((111, 111), (2049, 2049), (20001, 20003)) for protocol in ("tcp", "udp"))  # fmt: skip
# Without a way out a node has to reach these by endpoints of the network.
NEEDED_ENDPOINTS = ("ec2", "logs", "sts")
OUT = ("nat-", "tgw-", "eni-", "i-")


@dataclass(frozen=True)
class Network:
    """The network of one cluster. `known_at` is None for one that a template will make."""

    subnet: str
    group: str
    rules: Sequence[Mapping[str, Any]] = ()
    routes: Sequence[Mapping[str, str]] = ()
    endpoints: Sequence[str] = ()
    free: int | None = None
    range: str = ""
    known_at: datetime | None = None


def of_account(told: Mapping[str, Any], outputs: Mapping[str, str], read_at: datetime | None) -> Network | None:
    """The network that a stack gave as its outputs; None when the account told nothing of it."""
    network = (told.get("ours") or {}).get(outputs.get("VpcId", ""))
    subnet, group = outputs.get("NodeSubnetId", ""), outputs.get("SecurityGroupId", "")
    if network is None or subnet not in network["subnets"]:
        return None
    here = network["subnets"][subnet]
    return Network(
        subnet=subnet,
        group=group,
        rules=network["groups"].get(group, ()),
        routes=here["routes"],
        endpoints=network["endpoints"],
        free=here["free"],
        range=here["range"],
        known_at=read_at,
    )


@lru_cache(maxsize=32)
def of_template(text: str) -> Network:
    """The network of the nodes that a base template makes."""
    made = templates.resources(text, {"NodeCidr": NODES})
    group = next((name for name, one in made.items() if one.type == "AWS::EC2::SecurityGroup"), "")
    subnet = next(
        (n for n, one in made.items() if one.type == "AWS::EC2::Subnet" and one.properties.get("CidrBlock") == NODES),
        "",
    )
    tables = {
        _named(one.properties.get("RouteTableId"))
        for one in made.values()
        if one.type == "AWS::EC2::SubnetRouteTableAssociation" and _named(one.properties.get("SubnetId")) == subnet
    }
    routes = [
        {"to": str(one.properties.get("DestinationCidrBlock", "")), "by": _made_target(one.properties)}
        for one in made.values()
        if one.type == "AWS::EC2::Route" and _named(one.properties.get("RouteTableId")) in tables
    ]
    endpoints = [
        str(one.properties["ServiceName"].get("Fn::Sub", ""))
        for one in made.values()
        if one.type == "AWS::EC2::VPCEndpoint"
    ]
    return Network(subnet, group, _made_rules(made, group), routes, endpoints)


def _named(value: Any) -> str:
    """The one resource that a value points at."""
    return next(iter(sorted(templates.references(value))), "")


def _made_target(properties: Mapping[str, Any]) -> str:
    return "nat-" if "NatGatewayId" in properties else "igw-" if "GatewayId" in properties else ""


def _made_rules(made: Mapping[str, Resource], group: str) -> list[dict[str, Any]]:
    found = []
    for way, kind, other in (
        ("in", "AWS::EC2::SecurityGroupIngress", "SourceSecurityGroupId"),
        ("out", "AWS::EC2::SecurityGroupEgress", "DestinationSecurityGroupId"),
    ):
        for one in made.values():
            if one.type == kind and _named(one.properties.get("GroupId")) == group:
                found.append(_made_rule(way, one.properties, _named(one.properties.get(other))))
    if group:
        for way, name in (("in", "SecurityGroupIngress"), ("out", "SecurityGroupEgress")):
            found += [_made_rule(way, told, "") for told in made[group].properties.get(name, [])]
    return found


def _made_rule(way: str, told: Mapping[str, Any], group: str) -> dict[str, Any]:
    return {
        "way": way,
        "protocol": str(told.get("IpProtocol", "")),
        "from": told.get("FromPort"),
        "to": told.get("ToPort"),
        "groups": [group] if group else [],
        "ranges": [str(told["CidrIp"])] if told.get("CidrIp") else [],
    }


def findings(wish: Configuration, facts: Facts, network: Network | None) -> Iterator[Finding]:
    """A line for each thing that has to get through; unknown where nobody told of the network."""
    cards = {name: (instance.efa or 0) for name in wish.counts() if (instance := facts.instance(name))}
    efa = sorted(name for name, count in cards.items() if count)
    if efa:
        values = {"types": ", ".join(efa)}
        yield _line("efa_rules", network, network and _missing_for_efa(network), "architect", values)
    yield _line("lustre_ports", network, network and _missing_ports(network, LUSTRE), "architect", {})
    if wish.storage.openzfs:
        yield _line("openzfs_ports", network, network and _missing_ports(network, OPENZFS), "architect", {})
    yield _line("way_out", network, network and _missing_ways(network), "architect", {})
    yield _line("way_to_s3", network, network and _missing_to_s3(network), "architect", {})


def _line(
    code: str, network: Network | None, missing: list[str] | None, who: str, values: Mapping[str, Any]
) -> Finding:
    """Each of them is mended in the account, by hand: Cohort made it right."""
    if network is None:
        return Finding(f"{code}_unknown", "warning", "network", who=who, values=values)
    told = {**values, "group": network.group, "subnet": network.subnet, "missing": "; ".join(missing or ())}
    common: dict[str, Any] = {"who": "owner", "values": told, "known_at": network.known_at}
    if missing:
        return Finding(f"{code}_missing", "refused", "network", **common)
    return Finding(code if network.known_at else f"{code}_made", "ok", "network", **common)


def _missing_for_efa(network: Network) -> list[str]:
    """EFA wants the group to name itself for all traffic; a rule by address is not enough."""
    return [
        way
        for way in ("in", "out")
        if not any(
            rule["way"] == way and rule["protocol"] == "-1" and network.group in rule["groups"]
            for rule in network.rules
        )
    ]


def _missing_ports(network: Network, ports: Sequence[tuple[str, int, int]]) -> list[str]:
    return [
        f"{way} {protocol} {low}" + (f"-{high}" if high != low else "")
        for way in ("in", "out")
        for protocol, low, high in ports
        if not any(_lets(rule, network, way, protocol, low, high) for rule in network.rules)
    ]


def _lets(rule: Mapping[str, Any], network: Network, way: str, protocol: str, low: int, high: int) -> bool:
    if rule["way"] != way or rule["protocol"] not in ("-1", protocol):
        return False
    all_ports = rule["protocol"] == "-1" or rule["from"] is None
    if not all_ports and not (int(rule["from"]) <= low and high <= int(rule["to"])):
        return False
    return network.group in rule["groups"] or any(_covers(one, network.range) for one in rule["ranges"])


def _covers(outer: str, inner: str) -> bool:
    if outer == EVERYWHERE or not inner:
        return outer == EVERYWHERE
    try:
        return ipaddress.IPv4Network(inner).subnet_of(ipaddress.IPv4Network(outer))
    except ValueError:
        return False


def _missing_ways(network: Network) -> list[str]:
    if _goes_out(network):
        return []
    return [name for name in NEEDED_ENDPOINTS if not any(one.endswith(f".{name}") for one in network.endpoints)]


def _goes_out(network: Network) -> bool:
    """A node with several cards has no public address, so a route to an internet gateway leads nowhere."""
    return any(route["to"] == EVERYWHERE and route["by"].startswith(OUT) for route in network.routes)


def _missing_to_s3(network: Network) -> list[str]:
    there = _goes_out(network) or any(one.endswith(".s3") for one in network.endpoints)
    return [] if there else ["s3"]
