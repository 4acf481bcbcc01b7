"""EC2 instances: what a launch refuses (quotas in vCPUs, reservations, addresses), and that a machine takes minutes to run."""

import re
from typing import Any

from clusters.sandbox import capacity, facts, moto_services, quotas, wire
from clusters.sandbox.cloud import Cloud, environment
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation

BOOTS, BOOTS_WITH_ACCELERATORS = 45.0, 240.0  # sandbox seconds from launch to running
BUCKETS = (
    (re.compile(r"p\d"), "Running On-Demand P instances"),
    (re.compile(r"trn\d"), "Running On-Demand Trn instances"),
    (re.compile(r"inf\d"), "Running On-Demand Inf instances"),
    (re.compile(r"(g|vt)\d"), "Running On-Demand G and VT instances"),
    (re.compile(r"dl\d"), "Running On-Demand DL instances"),
    (re.compile(r"hpc\d"), "Running On-Demand HPC instances"),
    (re.compile(r"x\d"), "Running On-Demand X instances"),
    (re.compile(r"u-"), "Running On-Demand High Memory instances"),
)
STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
ALIVE = ("pending", "running", "stopping", "stopped", "shutting-down")


def bucket(instance_type: str) -> str:
    """The quota that counts the vCPUs of a type."""
    return next((name for pattern, name in BUCKETS if pattern.match(instance_type)), STANDARD)


def shelf_of(account: str, region: str) -> str:
    return f"instances/{account}/{region}"


def moto(cloud: Cloud, account: str, region: str, operation_name: str, **parameters: Any) -> dict[str, Any]:
    """A call that moto answers although we answer the same one from outside."""
    sent = wire.request_for("ec2", operation_name, parameters)
    call = Call(account, region, "ec2", operation_name, parameters, cloud.now())
    authorization = f"AWS4-HMAC-SHA256 Credential=AKIACLOUDITSELF00000/20000101/{region}/ec2/aws4_request, "
    headers = {**sent["headers"], "Authorization": authorization, "Host": "127.0.0.1"}
    answer = cloud.moto.answer(call, environment(sent["method"], sent["path"], sent["query"], sent["body"], headers))
    cloud.moto_changed.add(("ec2", account, region))
    return wire.understood("ec2", operation_name, answer)


@operation("ec2", "RunInstances")
def run_instances(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = _with_template(call)
    count = int(wish.get("MaxCount") or 1)
    if not wish.get("InstanceType"):
        message = f"Invalid value '{wish.get('InstanceType')}' for InstanceType."
        raise AwsError("InvalidParameterValue", message, 400)
    card = _first_card(wish)
    subnet = _subnet(cloud, call, card)
    fault = cloud.faults.take_for_call(
        ("no_capacity",), call.account, "ec2", "RunInstances", {"type": wish["InstanceType"]}
    )
    if fault and not call.parameters.get("DryRun"):
        message = f"We currently do not have sufficient {wish['InstanceType']} capacity in the Availability Zone you requested."
        raise AwsError("InsufficientInstanceCapacity", fault.message or message, 500)
    _check_place(call, wish["InstanceType"], subnet)
    if call.parameters.get("DryRun"):
        raise AwsError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)
    # Nor a seat that somebody's reservation has counted already.
    target = (wish.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
    counted = target.get("CapacityReservationId") in capacity.made(cloud, call.account, call.region)
    if not counted and (wish.get("InstanceMarketOptions") or {}).get("MarketType") != "capacity-block":
        check_quota(cloud, call, wish["InstanceType"], count)
    capacity.check(cloud, call.account, call.region, wish, count)
    if int(subnet["AvailableIpAddressCount"]) < count * _cards(wish):
        message = "There are not enough free addresses in subnet '" + subnet["SubnetId"] + "' to satisfy the request."
        raise AwsError("InsufficientFreeAddressesInSubnet", message, 400)
    made = moto(
        cloud, call.account, call.region, "RunInstances",
        ImageId=wish.get("ImageId"), InstanceType=wish["InstanceType"], MinCount=count, MaxCount=count,
        SubnetId=subnet["SubnetId"], SecurityGroupIds=card.get("Groups") or wish.get("SecurityGroupIds") or [],
        TagSpecifications=[one for one in wish.get("TagSpecifications") or [] if one["ResourceType"] == "instance"],
    )  # fmt: skip
    _begin(cloud, call, wish, [one["InstanceId"] for one in made["Instances"]])
    call.effective = True
    return made


def _with_template(call: Call) -> dict[str, Any]:
    """What is asked for, over what the launch template says."""
    wish = {name: value for name, value in call.parameters.items() if value is not None}
    named = wish.pop("LaunchTemplate", None)
    if not named:
        return wish
    store = moto_services.backend("ec2", call.account, call.region)
    found = [
        one
        for one in store.launch_templates.values()
        if named.get("LaunchTemplateId") == one.id or named.get("LaunchTemplateName") == one.name
    ]
    if not found:
        asked = named.get("LaunchTemplateId") or named.get("LaunchTemplateName")
        raise AwsError("InvalidLaunchTemplateId.NotFound", f"The launch template {asked} does not exist.", 400)
    data = dict(found[0].get_version(named.get("Version") or "$Default").data)
    tags = [*(data.get("TagSpecifications") or []), *(wish.get("TagSpecifications") or [])]
    return {**data, **wish, "TagSpecifications": _joined(tags)}


def _joined(specifications: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_kind: dict[str, dict[str, str]] = {}
    for one in specifications:
        tags = {str(tag["Key"]): str(tag.get("Value", "")) for tag in one.get("Tags") or []}
        by_kind.setdefault(one["ResourceType"], {}).update(tags)
    return [
        {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        for kind, tags in by_kind.items()
    ]


def _first_card(wish: dict[str, Any]) -> dict[str, Any]:
    cards = sorted(wish.get("NetworkInterfaces") or [], key=lambda card: int(card.get("NetworkCardIndex") or 0))
    return cards[0] if cards else {"SubnetId": wish.get("SubnetId"), "Groups": wish.get("SecurityGroupIds")}


def _cards(wish: dict[str, Any]) -> int:
    """How many of its network cards take an address; the ones for EFA alone take none."""
    cards = wish.get("NetworkInterfaces") or []
    return max(sum(card.get("InterfaceType") != "efa-only" for card in cards), 1)


def _subnet(cloud: Cloud, call: Call, card: dict[str, Any]) -> dict[str, Any]:
    if card.get("NetworkInterfaceId"):
        known = cloud.ask(
            call.account, call.region, "ec2", "DescribeNetworkInterfaces", NetworkInterfaceIds=[card["NetworkInterfaceId"]]
        )  # fmt: skip
        card = {"SubnetId": known["NetworkInterfaces"][0]["SubnetId"]}
    if not card.get("SubnetId"):
        raise AwsError("MissingInput", "No subnets found for the default VPC. Please specify a subnet.", 400)
    found = cloud.ask(call.account, call.region, "ec2", "DescribeSubnets", SubnetIds=[card["SubnetId"]])
    return dict(found["Subnets"][0])


def _check_place(call: Call, instance_type: str, subnet: dict[str, Any]) -> None:
    zones = facts.offered(call.region, instance_type)
    if subnet["AvailabilityZoneId"] not in zones:
        message = f"Your requested instance type ({instance_type}) is not supported in your requested Availability Zone"
        raise AwsError("Unsupported", f"{message} ({subnet['AvailabilityZone']}).", 400)


def check_quota(cloud: Cloud, call: Call, instance_type: str, count: int) -> None:
    name = bucket(instance_type)
    allowed = quotas.value(cloud, call.account, call.region, "ec2", name)
    present = moto_services.backend("ec2", call.account, call.region).all_instances()
    used = sum(
        facts.vcpus(each.instance_type)
        for each in present
        if _counts(each.state) and bucket(each.instance_type) == name
    )
    used += sum(
        facts.vcpus(kind) * empty
        for kind, empty in capacity.set_aside(cloud, call.account, call.region)
        if bucket(kind) == name
    )
    if used + count * facts.vcpus(instance_type) > allowed:
        message = (
            f"You have requested more vCPU capacity than your current vCPU limit of {allowed:.0f} allows for the instance"
            " bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request"
            " to request an adjustment to this limit."
        )
        raise AwsError("VcpuLimitExceeded", message, 400)


def _counts(state: str) -> bool:
    return state in ("pending", "running")


def _begin(cloud: Cloud, call: Call, wish: dict[str, Any], ids: list[str]) -> None:
    """From now on the instances are on their way; catching up lets them run."""
    _, accelerators = facts.accelerators(wish["InstanceType"])
    boots = BOOTS_WITH_ACCELERATORS if accelerators else BOOTS
    target = (wish.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
    coming = cloud.store.change(shelf_of(call.account, call.region))
    for identity in ids:
        instance = moto_services.backend("ec2", call.account, call.region).get_instance(identity)
        instance.capacity_reservation_id = target.get("CapacityReservationId") or ""
        instance._state.name, instance._state.code = "pending", 0
        instance.more_addresses = _cards(wish) - 1
        coming[identity] = call.now + boots


def catch_up(cloud: Cloud, account: str, region: str) -> None:
    """Let instances run whose machines have started meanwhile."""
    coming = cloud.store.read(shelf_of(account, region))
    due = [identity for identity, at in coming.items() if at <= cloud.now()]
    if not due:
        return
    cloud.moto_changed.add(("ec2", account, region))
    for identity in due:
        del cloud.store.change(shelf_of(account, region))[identity]
        instance = moto_services.backend("ec2", account, region).get_instance(identity)
        if instance.state == "pending":
            instance._state.name, instance._state.code = "running", 16


def addresses_taken(account: str, region: str, subnet: str) -> int:
    """Addresses of the network cards beyond the first, which moto knows itself."""
    present = moto_services.backend("ec2", account, region).all_instances()
    return sum(
        getattr(each, "more_addresses", 0) for each in present if each.state in ALIVE and each.subnet_id == subnet
    )
