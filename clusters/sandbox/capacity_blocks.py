"""EC2 capacity that somebody sets aside now: on-demand reservations, and Capacity Blocks that are offered and bought."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters.sandbox import capacity, facts, instances, moto_services, quotas, training_plans
from clusters.sandbox.clock import moment
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

FAMILIES = {"p4d": "P4d", "p4de": "P4de", "p5": "P5", "p5e": "P5e", "p5en": "P5en", "p6-b200": "P6-B200", "trn1": "TRN1",
            "trn2": "TRN2"}  # fmt: skip
SIZES = (1, 2, 4, 8, 16, 32, 64)
DAY, WEEK, DAYS_BY_ONE, DAYS_AT_MOST = 24, 168, 14, 182
AHEAD, OFFERED_FOR = timedelta(weeks=8), timedelta(hours=1)
ACCELERATOR_HOUR = 3.0  # dollars, made up
MOST = 1000


def _now(cloud: Cloud) -> datetime:
    return datetime.fromtimestamp(cloud.clock.callers_now(), UTC)


def _bad(message: str, code: str = "InvalidParameterValue") -> AwsError:
    return AwsError(code, message, 400)


def _dry(call: Call) -> None:
    if call.parameters.get("DryRun"):
        raise AwsError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


def _keep(cloud: Cloud, call: Call, held: dict[str, Any]) -> dict[str, Any]:
    held = {"name": "cr-" + secrets.token_hex(9)[:17], "bought": call.now, **held}
    cloud.store.change(capacity.shelf_of(call.account, call.region)).setdefault("made", {})[held["name"]] = held
    call.effective = True
    return held


@operation("ec2", "CreateCapacityReservation")
def create_reservation(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish, token = call.parameters, call.parameters.get("ClientToken")
    for known in capacity.made(cloud, call.account, call.region).values():
        if token and known.get("token") == token:
            if known["wish"] != wish:
                raise _bad("The client token was used before with other parameters.", "IdempotentParameterMismatch")
            return {"CapacityReservation": capacity.shown(cloud, call, known)}
    kind, count = wish["InstanceType"], int(wish["InstanceCount"])
    zone, ends = _zone(call, wish), _end(cloud, wish)
    if kind not in facts.types(call.region):
        raise _bad(f"Invalid value '{kind}' for InstanceType.")
    if not 1 <= count <= MOST:
        raise _bad(f"Invalid value '{count}' for InstanceCount: 1 to {MOST}.")
    if zone not in facts.offered(call.region, kind):
        message = (
            f"Your requested instance type ({kind}) is not supported in your requested Availability Zone ({zone})."
        )
        raise _bad(message, "Unsupported")
    group = wish.get("PlacementGroupArn")
    if group and group not in {one["GroupArn"] for one in capacity.groups(cloud, call.account, call.region).values()}:
        raise _bad(f"The Placement Group '{group}' is unknown.", "InvalidPlacementGroup.Unknown")
    _dry(call)
    instances.check_quota(cloud, call, kind, count)
    fault = cloud.faults.take_for_call(("no_capacity",), call.account, "ec2", call.operation, {"type": kind})
    if fault:
        message = f"We currently do not have sufficient {kind} capacity in the Availability Zone you requested."
        raise AwsError("InsufficientInstanceCapacity", fault.message or message, 500)
    held = _keep(cloud, call, {
        "type": kind, "count": count, "az_id": zone, "kind": "default", "starts": _now(cloud), "ends": ends,
        "match": wish.get("InstanceMatchCriteria") or "open", "group": group, "tags": _tags(wish),
        "platform": wish["InstancePlatform"], "token": token, "wish": wish,
    })  # fmt: skip
    return {"CapacityReservation": capacity.shown(cloud, call, held)}


def _zone(call: Call, wish: dict[str, Any]) -> str:
    known = moto_services.zones(call.region)
    name, identity = wish.get("AvailabilityZone"), wish.get("AvailabilityZoneId")
    if not name and not identity:
        raise _bad("The request must contain the parameter AvailabilityZone or AvailabilityZoneId.", "MissingParameter")
    if name and identity and known.get(name) != identity:
        raise _bad("AvailabilityZone and AvailabilityZoneId name two zones.", "InvalidParameterCombination")
    found = known.get(name) if name else identity
    if found not in known.values():
        raise _bad(f"Invalid availability zone: [{name or identity}].")
    return str(found)


def _end(cloud: Cloud, wish: dict[str, Any]) -> datetime | None:
    ends, kind = (
        moment(wish.get("EndDate")),
        wish.get("EndDateType") or ("limited" if wish.get("EndDate") else "unlimited"),
    )
    if (kind == "limited") != bool(ends):
        raise _bad(
            f"EndDateType {kind} does not go with {'an' if ends else 'no'} EndDate.", "InvalidParameterCombination"
        )
    if ends and ends <= _now(cloud):
        raise _bad("The EndDate must be in the future.")
    return ends


def _tags(wish: dict[str, Any]) -> list[dict[str, str]]:
    return [tag for one in wish.get("TagSpecifications") or [] for tag in one.get("Tags") or []]


@operation("ec2", "CancelCapacityReservation")
def cancel_reservation(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters["CapacityReservationId"]
    held = capacity.made(cloud, call.account, call.region).get(name)
    if held is None:
        message = f"The capacity reservation ID '{name}' does not exist."
        raise _bad(message, "InvalidCapacityReservationId.NotFound")
    if held["kind"] == "capacity-block" or capacity.state(cloud, held) not in ("active", "scheduled"):
        raise _bad(f"The capacity reservation '{name}' cannot be cancelled.", "InvalidCapacityReservationState")
    _dry(call)
    cloud.store.change(capacity.shelf_of(call.account, call.region))
    held["cancelled"] = True
    call.effective = True
    return {"Return": True}


@operation("ec2", "DescribeCapacityBlockOfferings")
def describe_offerings(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Blocks end at 11:30 UTC, and are offered up to eight weeks ahead where the type is; an offer is good for an hour."""
    wish, now = call.parameters, _now(cloud)
    kind, count, hours = wish.get("InstanceType"), wish.get("InstanceCount"), int(wish["CapacityDurationHours"])
    if not kind or not count:
        raise _bad("The request must contain the parameters InstanceType and InstanceCount.", "MissingParameter")
    if kind.partition(".")[0] not in FAMILIES or kind not in facts.types(call.region):
        raise _bad(f"Capacity Blocks are not supported for the instance type '{kind}'.")
    if count not in SIZES:
        raise _bad(f"Invalid value '{count}' for InstanceCount: one of {list(SIZES)}.")
    if not (
        hours % DAY == 0
        and DAY <= hours <= DAYS_BY_ONE * DAY
        or hours % WEEK == 0
        and WEEK <= hours <= DAYS_AT_MOST * DAY
    ):
        message = f"Invalid value '{hours}' for CapacityDurationHours: days up to {DAYS_BY_ONE}, weeks up to {DAYS_AT_MOST} days."
        raise _bad(message)
    earliest, latest = moment(wish.get("StartDateRange")) or now, moment(wish.get("EndDateRange"))
    if not now - OFFERED_FOR <= earliest <= now + AHEAD:
        raise _bad("StartDateRange must be within the next eight weeks.")
    if latest and latest <= earliest:
        raise _bad("EndDateRange must be after StartDateRange.")
    _dry(call)
    if cloud.faults.take_for_call(("no_capacity",), call.account, "ec2", call.operation, {"type": kind}):
        return {"CapacityBlockOfferings": []}
    start = max(earliest, now).replace(hour=11, minute=30, second=0, microsecond=0) + timedelta(days=1)
    offers = []
    if latest is None or start + timedelta(hours=hours) <= latest:
        offers = [
            {"type": kind, "count": count, "az_id": zone, "starts": start, "ends": start + timedelta(hours=hours)}
            for zone in sorted(facts.offered(call.region, kind))
        ]
    known = cloud.store.change(capacity.shelf_of(call.account, call.region)).setdefault("offered", {})
    shown = []
    for offer in offers:
        identity = "cb-" + hashlib.sha256(repr(sorted(offer.items())).encode()).hexdigest()[:17]
        known[identity] = {**offer, "until": now + OFFERED_FOR}
        shown.append(_offer(call, identity, offer, hours))
    items, more = page(shown, wish)
    return {"CapacityBlockOfferings": items, **more}


def _fee(offer: dict[str, Any]) -> str:
    hours = (offer["ends"] - offer["starts"]).total_seconds() / 3600
    return f"{max(facts.accelerators(offer['type'])[1], 1) * offer['count'] * hours * ACCELERATOR_HOUR:.2f}"


def _offer(call: Call, identity: str, offer: dict[str, Any], hours: int) -> dict[str, Any]:
    return {
        "CapacityBlockOfferingId": identity,
        "InstanceType": offer["type"],
        "AvailabilityZone": training_plans.zone_name(call.region, offer["az_id"]),
        "InstanceCount": offer["count"],
        "StartDate": offer["starts"],
        "EndDate": offer["ends"],
        "CapacityBlockDurationHours": hours,
        "UpfrontFee": _fee(offer),
        "CurrencyCode": "USD",
        "Tenancy": "default",
    }


@operation("ec2", "PurchaseCapacityBlock")
def purchase(cloud: Cloud, call: Call) -> dict[str, Any]:
    identity = call.parameters["CapacityBlockOfferingId"]
    offer = cloud.store.read(capacity.shelf_of(call.account, call.region)).get("offered", {}).get(identity)
    if offer is None:
        raise _bad(
            f"The Capacity Block offering '{identity}' does not exist.", "InvalidCapacityBlockOfferingId.NotFound"
        )
    if offer["until"] < _now(cloud):
        raise _bad(f"The Capacity Block offering '{identity}' has expired.", "InvalidCapacityBlockOfferingId.Expired")
    _dry(call)
    family = FAMILIES[offer["type"].partition(".")[0]]
    name = f"Concurrent {family} Capacity Blocks per account"
    allowed = quotas.applied(cloud, call.account, call.region).get(("ec2", name))
    blocks = [
        one
        for one in capacity.reservations(cloud, call.account, call.region).values()
        if one["kind"] == "capacity-block" and FAMILIES.get(one["type"].partition(".")[0]) == family
        and capacity.state(cloud, one) not in ("expired", "cancelled")
    ]  # fmt: skip
    if allowed is not None and len(blocks) >= allowed:
        raise _bad(f"You have reached your limit of {allowed:.0f}: {name}.", "CapacityBlockLimitExceeded")
    del cloud.store.change(capacity.shelf_of(call.account, call.region))["offered"][identity]
    held = _keep(cloud, call, {
        **{name: offer[name] for name in ("type", "count", "az_id", "starts", "ends")}, "kind": "capacity-block",
        "match": "targeted", "tags": _tags(call.parameters), "platform": call.parameters["InstancePlatform"],
    })  # fmt: skip
    block = {
        "CapacityBlockId": held["name"].replace("cr-", "cb-", 1),
        "AvailabilityZone": training_plans.zone_name(call.region, held["az_id"]),
        "AvailabilityZoneId": held["az_id"],
        "CapacityReservationIds": [held["name"]],
        "StartDate": held["starts"],
        "EndDate": held["ends"],
        "CreateDate": _now(cloud),
        "State": capacity.state(cloud, held),
        "Tags": held["tags"],
    }
    return {"CapacityReservation": capacity.shown(cloud, call, held), "CapacityBlocks": [block]}
