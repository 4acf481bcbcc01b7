"""The resources of a template that hold several machines or stand before them: scaling groups and load balancers."""

import secrets
from typing import Any

from clusters.sandbox.cloudformation.machines import shaped
from clusters.sandbox.cloudformation.records import _change, _drop, _keep, _shelf
from clusters.sandbox.cloudformation.resources import Made, Place, kind, whole

GROUP_TAG = "aws:autoscaling:groupName"
PRESENT = ("pending", "running", "stopping", "stopped")


def _group(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("AutoScalingGroupName") or place.name(255)
    _keep(place, "scaling group", name, p)
    _launch(place, name, p, _wanted(p))
    return name, {"AutoScalingGroupARN": place.arn("autoscaling", f"autoScalingGroup:{name}")}


def _wanted(p: dict[str, Any]) -> int:
    return whole(p.get("DesiredCapacity", p["MinSize"]))


def _launch(place: Place, name: str, p: dict[str, Any], count: int) -> None:
    if count <= 0:
        return
    told = p["LaunchTemplate"]
    wish = {
        "LaunchTemplate": {"LaunchTemplateId": told["LaunchTemplateId"], "Version": str(told["Version"])},
        "MinCount": count,
        "MaxCount": count,
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": GROUP_TAG, "Value": name}]}],
    }
    place.ask("ec2", "RunInstances", **shaped("ec2", "RunInstances", wish))


def _instances(place: Place, name: str) -> list[str]:
    filters = [
        {"Name": f"tag:{GROUP_TAG}", "Values": [name]},
        {"Name": "instance-state-name", "Values": list(PRESENT)},
    ]
    found = place.ask("ec2", "DescribeInstances", Filters=filters)["Reservations"]
    return [one["InstanceId"] for reservation in found for one in reservation["Instances"]]


def _change_group(place: Place, name: str, _: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    _shelf(place, "scaling group")[name] = new
    present = _instances(place, name)
    if surplus := present[_wanted(new) :]:
        place.ask("ec2", "TerminateInstances", InstanceIds=surplus)
    _launch(place, name, new, _wanted(new) - len(present))
    return {}


def _delete_group(place: Place, name: str, _: dict[str, Any]) -> None:
    if present := _instances(place, name):
        place.ask("ec2", "TerminateInstances", InstanceIds=present)
    _shelf(place, "scaling group").pop(name, None)


def _of_elb(what: str, path: str) -> Any:
    def make(place: Place, p: dict[str, Any]) -> Made:
        name = p.get("Name") or place.name(32)
        arn = place.arn("elasticloadbalancing", f"{path}/{name}/{secrets.token_hex(8)}")
        _keep(place, what, arn, p)
        dns = f"{name}-{secrets.token_hex(8)}.elb.{place.region}.amazonaws.com".lower()
        known = {
            "DNSName": dns,
            "LoadBalancerFullName": arn.rpartition(":")[2].removeprefix("loadbalancer/"),
            "LoadBalancerName": name,
            "TargetGroupFullName": arn.rpartition(":")[2],
            "TargetGroupName": name,
            "ListenerArn": arn,
            "LoadBalancerArn": arn,
            "TargetGroupArn": arn,
        }
        return arn, known

    return make


kind("AWS::AutoScaling::AutoScalingGroup", create=_group, delete=_delete_group, update=_change_group, comes=60.0,
     goes=60.0, required="MinSize MaxSize LaunchTemplate", attributes="AutoScalingGroupARN",
     optional="AutoScalingGroupName DesiredCapacity TargetGroupARNs VPCZoneIdentifier LifecycleHookSpecificationList"
     " Tags")  # fmt: skip
for _type, _what, _path, _names, _needs in (
    (
        "LoadBalancer",
        "load balancer",
        "loadbalancer/net",
        "DNSName LoadBalancerFullName LoadBalancerName LoadBalancerArn",
        "",
    ),
    ("TargetGroup", "target group", "targetgroup", "TargetGroupFullName TargetGroupName TargetGroupArn", ""),
    ("Listener", "listener", "listener/net", "ListenerArn", "DefaultActions LoadBalancerArn"),
):
    kind(f"AWS::ElasticLoadBalancingV2::{_type}", create=_of_elb(_what, _path), delete=_drop(_what), update=_change(_what),
         required=_needs, optional="Name Port Protocol Scheme Type Subnets SecurityGroups LoadBalancerAttributes Tags"
         " HealthCheckPort HealthCheckProtocol TargetType VpcId TargetGroupAttributes IpAddressType",
         attributes=_names, comes=20.0)  # fmt: skip
