"""SageMaker training plans: reserved instances of one type in one AZ for a time, from the programme's reservations or bought."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters.sandbox import facts, looked_at, moto_services, quotas
from clusters.sandbox.clock import moment
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

OFFERED_FOR = timedelta(hours=1)
ACCELERATOR_HOUR = 3.0  # dollars, made up
PLANS = "Number of training plans per Region"


def plans(cloud: Cloud, account: str, region: str) -> dict[str, dict[str, Any]]:
    """Name -> plan, of one account and Region; times are the caller's."""
    owners = {p["slug"]: str(p["provider_account"]).zfill(12) for p in cloud.programme.get("participants", [])}
    found: dict[str, dict[str, Any]] = {}
    for entry in cloud.programme.get("reservations", []):
        if entry["kind"] == "training_plan" and (owners.get(entry["participant"]), entry["region"]) == (
            account,
            region,
        ):
            arn = f"arn:aws:sagemaker:{region}:{account}:training-plan/{entry['id']}"
            found[entry["id"]] = moved(cloud, entry, arn)
    bought = cloud.store.read(f"training-plans/{account}/{region}").get("bought", {})
    return looked_at.over(cloud, account, region, "plans", found | bought)


def by_arn(cloud: Cloud, account: str, region: str, arn: str) -> dict[str, Any] | None:
    return next((plan for plan in plans(cloud, account, region).values() if plan["arn"] == arn), None)


def moved(cloud: Cloud, entry: dict[str, Any], arn: str) -> dict[str, Any]:
    """A reservation of the file as of today."""
    # The file tells of one fixed day; its times move with the caller by whole weeks, so that its plans are always of today.
    as_of = _moment(cloud.programme["meta"]["as_of"])
    now = datetime.fromtimestamp(cloud.clock.callers_now(), UTC)
    shift = timedelta(weeks=(now - as_of).days // 7)
    return {
        "name": entry["id"],
        "arn": arn,
        "type": f"ml.{entry['instance_type']}",
        "count": int(entry["count"]),
        "az_id": entry["az_id"],
        "starts": _moment(entry["starts_at"]) + shift,
        "ends": _moment(entry["ends_at"]) + shift,
    }


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def status(cloud: Cloud, plan: dict[str, Any]) -> str:
    now = datetime.fromtimestamp(cloud.clock.callers_now(), UTC)
    return "Scheduled" if now < plan["starts"] else "Active" if now < plan["ends"] else "Expired"


def in_use(cloud: Cloud, account: str, region: str, arn: str) -> int:
    from clusters.sandbox import hyperpod

    return hyperpod.instances_on_plan(cloud, account, region, arn)


def _summary(cloud: Cloud, call: Call, plan: dict[str, Any]) -> dict[str, Any]:
    used = in_use(cloud, call.account, call.region, plan["arn"])
    length = plan["ends"] - plan["starts"]
    return {
        "TrainingPlanArn": plan["arn"],
        "TrainingPlanName": plan["name"],
        "Status": status(cloud, plan),
        "DurationHours": length.days * 24 + length.seconds // 3600,
        "DurationMinutes": length.seconds % 3600 // 60,
        "StartTime": plan["starts"],
        "EndTime": plan["ends"],
        "UpfrontFee": plan.get("fee", "0.00"),
        "CurrencyCode": "USD",
        "TotalInstanceCount": plan["count"],
        "AvailableInstanceCount": plan["count"] - used,
        "InUseInstanceCount": used,
        "TargetResources": plan.get("targets", ["hyperpod-cluster"]),
        "ReservedCapacitySummaries": [
            {
                "ReservedCapacityArn": plan["arn"].replace(":training-plan/", ":reserved-capacity/rc-"),
                "InstanceType": plan["type"],
                "TotalInstanceCount": plan["count"],
                "Status": status(cloud, plan),
                "AvailabilityZone": zone_name(call.region, plan["az_id"]),
                "StartTime": plan["starts"],
                "EndTime": plan["ends"],
            }
        ],
    }


def zone_name(region: str, az_id: str) -> str:
    return next((name for name, identity in moto_services.zones(region).items() if identity == az_id), az_id)


@operation("sagemaker", "DescribeTrainingPlan")
def describe_training_plan(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters["TrainingPlanName"]
    plan = plans(cloud, call.account, call.region).get(name)
    if plan is None:
        raise AwsError("ResourceNotFound", f"Training plan {name} does not exist.")
    return _summary(cloud, call, plan)


@operation("sagemaker", "ListTrainingPlans")
def list_training_plans(cloud: Cloud, call: Call) -> dict[str, Any]:
    found = [_summary(cloud, call, plan) for plan in plans(cloud, call.account, call.region).values()]
    for wanted in call.parameters.get("Filters") or []:
        found = [one for one in found if one.get(wanted["Name"]) == wanted["Value"]]
    items, more = page(found, call.parameters)
    return {"TrainingPlanSummaries": items, **more}


@operation("sagemaker", "SearchTrainingPlanOfferings")
def search_offerings(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Offers start at the next 11:30 UTC, where the Region offers the type at all; one is good for an hour."""
    wish, now = call.parameters, datetime.fromtimestamp(cloud.clock.callers_now(), UTC)
    if not wish.get("InstanceType") or not wish.get("DurationHours"):
        raise AwsError("ValidationException", "InstanceType and DurationHours are required to search for offerings.")
    instance_type, count, hours = wish["InstanceType"], int(wish.get("InstanceCount") or 1), int(wish["DurationHours"])
    after, before = moment(wish.get("StartTimeAfter")) or now, moment(wish.get("EndTimeBefore"))
    if before and before <= after:
        raise AwsError("ValidationException", "EndTimeBefore must be later than StartTimeAfter.")
    start = max(after, now).replace(hour=11, minute=30, second=0, microsecond=0) + timedelta(days=1)
    end = start + timedelta(hours=hours)
    zones = sorted(facts.offered(call.region, instance_type.removeprefix("ml.")))
    if (before and end > before) or cloud.faults.take_for_call(
        ("no_capacity",), call.account, call.service, call.operation, {"type": instance_type}
    ):
        zones = []
    known = cloud.store.change(f"training-plans/{call.account}/{call.region}").setdefault("offered", {})
    offers = []
    for az_id in zones:
        offer = {"type": instance_type, "count": count, "az_id": az_id, "starts": start, "ends": end}
        targets = wish.get("TargetResources") or ["hyperpod-cluster"]
        identity = "tpo-" + hashlib.sha256(repr((sorted(offer.items()), targets)).encode()).hexdigest()[:20]
        known[identity] = {**offer, "targets": targets, "until": now + OFFERED_FOR}
        offers.append(_offer(call, identity, known[identity]))
    return {"TrainingPlanOfferings": offers}


def _fee(offer: dict[str, Any]) -> str:
    hours = (offer["ends"] - offer["starts"]).total_seconds() / 3600
    each = max(facts.accelerators(offer["type"].removeprefix("ml."))[1], 1)
    return f"{each * offer['count'] * hours * ACCELERATOR_HOUR:.2f}"


def _offer(call: Call, identity: str, offer: dict[str, Any]) -> dict[str, Any]:
    hours = int((offer["ends"] - offer["starts"]).total_seconds() // 3600)
    return {
        "TrainingPlanOfferingId": identity,
        "TargetResources": offer["targets"],
        "RequestedStartTimeAfter": offer["starts"],
        "DurationHours": hours,
        "CurrencyCode": "USD",
        "UpfrontFee": _fee(offer),
        "ReservedCapacityOfferings": [
            {
                "InstanceType": offer["type"],
                "InstanceCount": offer["count"],
                "AvailabilityZone": zone_name(call.region, offer["az_id"]),
                "DurationHours": hours,
                "StartTime": offer["starts"],
                "EndTime": offer["ends"],
            }
        ],
    }


@operation("sagemaker", "CreateTrainingPlan")
def create_training_plan(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Buy what was offered: the name is new, the offer still good, and the account may have so many plans and instances."""
    name, identity = call.parameters["TrainingPlanName"], call.parameters["TrainingPlanOfferingId"]
    held, shelf = plans(cloud, call.account, call.region), f"training-plans/{call.account}/{call.region}"
    if name in held:
        raise AwsError("ResourceInUse", f"A training plan named {name} already exists.")
    offer = cloud.store.read(shelf).get("offered", {}).get(identity)
    if offer is None or offer["until"] < datetime.fromtimestamp(cloud.clock.callers_now(), UTC):
        raise AwsError("ResourceNotFound", f"Training plan offering {identity} does not exist or has expired.")
    live = [plan for plan in held.values() if status(cloud, plan) != "Expired"]
    instances = sum(plan["count"] for plan in live if plan["type"] == offer["type"])
    for limit, wanted in (
        (PLANS, len(live) + 1),
        (f"Number of {offer['type']} instances in reserved capacity across training plans per Region",
         instances + offer["count"]),
    ):  # fmt: skip
        allowed = quotas.value(cloud, call.account, call.region, "sagemaker", limit)
        if wanted > allowed:
            message = f"The account-level service limit '{limit}' is {allowed:.0f}; the request would make it {wanted}."
            raise AwsError("ResourceLimitExceeded", message)
    arn = call.arn("sagemaker", f"training-plan/{name}")
    changed = cloud.store.change(shelf)
    del changed["offered"][identity]
    wanted_of_it = ("type", "count", "az_id", "starts", "ends")
    changed.setdefault("bought", {})[name] = {
        "name": name, "arn": arn, "fee": _fee(offer), "targets": offer["targets"], **{each: offer[each] for each in wanted_of_it},
    }  # fmt: skip
    call.effective = True
    return {"TrainingPlanArn": arn}
