"""EC2 capacity that was set aside, by the programme file or by somebody since: reservations, Capacity Blocks, placement groups."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from clusters.sandbox import looked_at, moto_services, training_plans
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

KINDS = {"odcr": "default", "capacity_block": "capacity-block"}
PAID_AFTER = 60.0  # sandbox seconds
USING = ("pending", "running", "stopping", "stopped")


def reservations(cloud: Cloud, account: str, region: str) -> dict[str, dict[str, Any]]:
    """Id -> reservation of one account and Region; times are the caller's, moved with today as those of the plans are."""
    owners = {p["slug"]: str(p["provider_account"]).zfill(12) for p in cloud.programme.get("participants", [])}
    found: dict[str, dict[str, Any]] = {}
    for entry in cloud.programme.get("reservations", []):
        if entry["kind"] in KINDS and (owners.get(entry["participant"]), entry["region"]) == (account, region):
            held = training_plans.moved(cloud, entry, "")
            found[entry["id"]] = {**held, "type": entry["instance_type"], "kind": KINDS[entry["kind"]]}
    return looked_at.over(cloud, account, region, "reservations", found | made(cloud, account, region))


def shelf_of(account: str, region: str) -> str:
    return f"capacity/{account}/{region}"


def made(cloud: Cloud, account: str, region: str) -> dict[str, dict[str, Any]]:
    """Those that somebody made in this account since."""
    found: dict[str, dict[str, Any]] = cloud.store.read(shelf_of(account, region)).get("made", {})
    return found


def set_aside(cloud: Cloud, account: str, region: str) -> Iterator[tuple[str, int]]:
    """Type and number of the seats that such reservations hold empty; they count against a quota as if they were taken."""
    for held in made(cloud, account, region).values():
        if held["kind"] == "default" and state(cloud, held) == "active":
            yield held["type"], max(held["count"] - in_use(account, region, held["name"]), 0)


def in_use(account: str, region: str, reservation: str) -> int:
    """How many instances of the account sit in it."""
    instances = moto_services.backend("ec2", account, region).all_instances()
    return sum(
        each.state in USING and getattr(each, "capacity_reservation_id", "") == reservation for each in instances
    )


def state(cloud: Cloud, held: dict[str, Any]) -> str:
    now = datetime.fromtimestamp(cloud.clock.callers_now(), UTC)
    if held.get("cancelled"):
        return "cancelled"
    if held["kind"] == "capacity-block" and cloud.now() < held.get("bought", 0.0) + PAID_AFTER:
        return "payment-pending"
    if now < held["starts"]:
        return "scheduled"
    return "active" if held["ends"] is None or now < held["ends"] else "expired"


def check(cloud: Cloud, account: str, region: str, wish: dict[str, Any], count: int) -> None:
    """Whether so many instances can be taken from the reservation that a launch names; the launch carries its type and AZ."""
    target = (wish.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
    name = target.get("CapacityReservationId")
    if not name:
        return
    held = reservations(cloud, account, region).get(name)
    if held is None:
        message = f"The capacity reservation '{name}' does not exist."
        raise AwsError("InvalidCapacityReservationId.NotFound", message, 400)
    if held["type"] != wish["InstanceType"]:
        message = (
            f"The instance type '{wish['InstanceType']}' does not match that of the capacity reservation '{name}'."
        )
        raise AwsError("InvalidParameterValue", message, 400)
    if state(cloud, held) != "active":
        message = f"The capacity reservation '{name}' is {state(cloud, held)}."
        raise AwsError("InvalidCapacityReservationState", message, 400)
    if in_use(account, region, name) + count > held["count"]:
        message = f"Insufficient capacity in the capacity reservation '{name}'."
        raise AwsError("ReservationCapacityExceeded", message, 400)


@operation("ec2", "DescribeCapacityReservations")
def describe_reservations(cloud: Cloud, call: Call) -> dict[str, Any]:
    known = reservations(cloud, call.account, call.region)
    wanted = call.parameters.get("CapacityReservationIds") or []
    unknown = [name for name in wanted if name not in known]
    if unknown:
        message = f"The capacity reservation ID '{unknown[0]}' does not exist."
        raise AwsError("InvalidCapacityReservationId.NotFound", message, 400)
    told = [shown(cloud, call, known[name]) for name in wanted or sorted(known)]
    for rule in call.parameters.get("Filters") or []:
        told = [one for one in told if str(_filtered(one, rule["Name"])) in rule["Values"]]
    items, more = page(told, call.parameters)
    return {"CapacityReservations": items, **more}


def _filtered(shown: dict[str, Any], name: str) -> Any:
    fields = {"instance-type": "InstanceType", "state": "State", "availability-zone": "AvailabilityZone"}
    if name not in fields:
        raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid", 400)
    return shown[fields[name]]


def shown(cloud: Cloud, call: Call, held: dict[str, Any]) -> dict[str, Any]:
    used = in_use(call.account, call.region, held["name"])
    return {
        "CapacityReservationId": held["name"],
        "OwnerId": call.account,
        "CapacityReservationArn": call.arn("ec2", f"capacity-reservation/{held['name']}"),
        "AvailabilityZoneId": held["az_id"],
        "AvailabilityZone": training_plans.zone_name(call.region, held["az_id"]),
        "InstanceType": held["type"],
        "InstancePlatform": held.get("platform", "Linux/UNIX"),
        "Tenancy": "default",
        "TotalInstanceCount": held["count"],
        "AvailableInstanceCount": 0 if held.get("cancelled") else held["count"] - used,
        "EbsOptimized": True,
        "EphemeralStorage": False,
        "State": state(cloud, held),
        "StartDate": held["starts"],
        "EndDateType": "limited" if held["ends"] else "unlimited",
        "InstanceMatchCriteria": held.get("match", "targeted"),
        "CreateDate": held["starts"],
        "ReservationType": held["kind"],
        "Tags": held.get("tags", []),
        **({"EndDate": held["ends"]} if held["ends"] else {}),
        **({"PlacementGroupArn": held["group"]} if held.get("group") else {}),
    }


@operation("ec2", "DescribeCapacityBlockStatus")
def describe_blocks(cloud: Cloud, call: Call) -> dict[str, Any]:
    blocks = {
        name: held
        for name, held in reservations(cloud, call.account, call.region).items()
        if held["kind"] == "capacity-block"
    }
    shown = []
    for name, held in blocks.items():
        used = in_use(call.account, call.region, name)
        status = {
            "CapacityReservationId": name,
            "TotalCapacity": held["count"],
            "TotalAvailableCapacity": held["count"] - used,
            "TotalUnavailableCapacity": 0,
        }
        shown.append(
            {
                "CapacityBlockId": name.replace("cr-", "cb-", 1),
                "InterconnectStatus": "ok",
                **{key: value for key, value in status.items() if key != "CapacityReservationId"},
                "CapacityReservationStatuses": [status],
            }
        )
    items, more = page(shown, call.parameters)
    return {"CapacityBlockStatuses": items, **more}


def groups(cloud: Cloud, account: str, region: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = cloud.store.read(f"placement/{account}/{region}").get("groups", {})
    return found


@operation("ec2", "CreatePlacementGroup")
def create_placement_group(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters.get("GroupName") or f"placement-{secrets.token_hex(6)}"
    if name in groups(cloud, call.account, call.region):
        raise AwsError("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.", 400)
    identity = "pg-" + secrets.token_hex(9)[:17]
    made = {
        "GroupName": name,
        "State": "available",
        "Strategy": call.parameters.get("Strategy") or "cluster",
        "GroupId": identity,
        "GroupArn": call.arn("ec2", f"placement-group/{name}"),
    }
    cloud.store.change(f"placement/{call.account}/{call.region}").setdefault("groups", {})[name] = made
    call.effective = True
    return {"PlacementGroup": made}


@operation("ec2", "DescribePlacementGroups")
def describe_placement_groups(cloud: Cloud, call: Call) -> dict[str, Any]:
    known, wanted = groups(cloud, call.account, call.region), call.parameters.get("GroupNames") or []
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{unknown[0]}' is unknown.", 400)
    return {"PlacementGroups": [known[name] for name in wanted or sorted(known)]}


@operation("ec2", "DeletePlacementGroup")
def delete_placement_group(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters["GroupName"]
    if name not in groups(cloud, call.account, call.region):
        raise AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.", 400)
    del cloud.store.change(f"placement/{call.account}/{call.region}")["groups"][name]
    return {}
