"""SageMaker training plans: reserved instances of one type in one AZ for a time, from the programme's reservations."""

from datetime import UTC, datetime, timedelta
from typing import Any

from clusters.sandbox import facts, looked_at, moto_services
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page


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
    return looked_at.over(cloud, account, region, "plans", found)


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
        "UpfrontFee": "0.00",
        "CurrencyCode": "USD",
        "TotalInstanceCount": plan["count"],
        "AvailableInstanceCount": plan["count"] - used,
        "InUseInstanceCount": used,
        "TargetResources": ["hyperpod-cluster"],
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
    """Offers start at the next 11:30 UTC, where the Region offers the type at all."""
    wish = call.parameters
    instance_type, count = wish.get("InstanceType", ""), int(wish.get("InstanceCount") or 1)
    now = datetime.fromtimestamp(cloud.clock.callers_now(), UTC)
    start = now.replace(hour=11, minute=30, second=0, microsecond=0) + timedelta(days=1)
    hours = int(wish["DurationHours"])
    offers = [
        {
            "TrainingPlanOfferingId": f"tpo-{az_id}-{start:%Y%m%d}-{count}",
            "TargetResources": wish.get("TargetResources") or ["hyperpod-cluster"],
            "RequestedStartTimeAfter": start,
            "DurationHours": hours,
            "CurrencyCode": "USD",
            "UpfrontFee": "0.00",
            "ReservedCapacityOfferings": [
                {
                    "InstanceType": instance_type,
                    "InstanceCount": count,
                    "AvailabilityZone": zone_name(call.region, az_id),
                    "DurationHours": hours,
                    "StartTime": start,
                    "EndTime": start + timedelta(hours=hours),
                }
            ],
        }
        for az_id in sorted(facts.offered(call.region, instance_type.removeprefix("ml.")))
    ]
    return {"TrainingPlanOfferings": offers}
