"""What an account says of itself when somebody looks before making anything: its zones, what they offer, what a role may do.

A test changes one of these facts for one account by the door `account`.
"""

import json
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from clusters.sandbox import facts, moto_services, sts
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

SHELF = "account-facts"
KNOWN = ("closed_zones", "not_offered", "quotas", "plans", "reservations")


def change(cloud: Cloud, wish: dict[str, Any]) -> dict[str, Any]:
    """Change facts of one account and Region; without facts everything is as it was."""
    where = f"{SHELF}/{wish['account']}/{wish['region']}"
    told = {name: value for name, value in wish.items() if name not in ("account", "region")}
    unknown = sorted(set(told) - set(KNOWN))
    if unknown:
        raise ValueError(f"unknown fact {unknown[0]!r}; known: {', '.join(KNOWN)}")
    cloud.store.put(where, {**cloud.store.read(where), **told} if told else {})
    return dict(cloud.store.read(where))


def changed(cloud: Cloud, account: str, region: str, name: str) -> Any:
    """What was said of this fact, or nothing."""
    return cloud.store.read(f"{SHELF}/{account}/{region}").get(name) or {}


def over(
    cloud: Cloud, account: str, region: str, name: str, held: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Plans or reservations with what was said of some of them; times in days from now, and nothing for one that is gone."""
    for key, told in changed(cloud, account, region, name).items():
        if told is None:
            held.pop(key, None)
            continue
        now = datetime.fromtimestamp(cloud.clock.callers_now(), UTC)
        times = {each: now + timedelta(days=told[each]) for each in ("starts", "ends") if each in told}
        held[key] = {"name": key, **held.get(key, {}), **told, **times}
    return held


@operation("ec2", "DescribeAvailabilityZones")
def describe_zones(cloud: Cloud, call: Call) -> dict[str, Any]:
    closed = changed(cloud, call.account, call.region, "closed_zones")
    return {
        "AvailabilityZones": [
            {"ZoneName": name, "ZoneId": zone, "State": "available", "RegionName": call.region, "OptInStatus": "opt-in-not-required",
             "GroupName": call.region, "NetworkBorderGroup": call.region, "ZoneType": "availability-zone"}
            for name, zone in moto_services.zones(call.region).items()
            if zone not in closed
        ]
    }  # fmt: skip


@operation("ec2", "DescribeInstanceTypeOfferings")
def describe_offerings(cloud: Cloud, call: Call) -> dict[str, Any]:
    rules = {rule["Name"]: rule["Values"] for rule in call.parameters.get("Filters") or []}
    if set(rules) - {"instance-type", "location"}:
        raise AwsError("InvalidParameterValue", "The filter is invalid", 400)
    names = {zone: name for name, zone in moto_services.zones(call.region).items()}
    kind = call.parameters.get("LocationType") or "region"
    absent = changed(cloud, call.account, call.region, "not_offered")
    found = []
    for name in facts.types(call.region):
        if "instance-type" in rules and not any(fnmatchcase(name, one) for one in rules["instance-type"]):
            continue
        zones = [
            zone for zone in sorted(facts.offered(call.region, name) & set(names)) if zone not in absent.get(name, ())
        ]
        places = {"region": [call.region][: len(zones)], "availability-zone-id": zones}.get(
            kind, [names[zone] for zone in zones]
        )
        found += [
            {"InstanceType": name, "LocationType": kind, "Location": place}
            for place in places
            if place in rules.get("location", places)
        ]
    items, more = page(found, call.parameters, most=1000)
    return {"InstanceTypeOfferings": items, **more}


@operation("iam", "SimulatePrincipalPolicy")
def simulate(cloud: Cloud, call: Call) -> dict[str, Any]:
    """By the role's own policies: an explicit deny wins, and what nothing allows is denied. Resources and conditions are not weighed."""
    role = sts.role_of(call.parameters["PolicySourceArn"])
    if role is None or role.arn.split(":")[4] != call.account:
        raise AwsError("NoSuchEntity", f"{call.parameters['PolicySourceArn']} cannot be found.", 404)
    statements = [one for policy in _policies(role) for one in _listed(policy.get("Statement", []))]
    results = []
    for action in call.parameters["ActionNames"]:
        effects = {one.get("Effect") for one in statements if _names(one, action)}
        decision = "explicitDeny" if "Deny" in effects else "allowed" if "Allow" in effects else "implicitDeny"
        results.append({"EvalActionName": action, "EvalResourceName": "*", "EvalDecision": decision})
    return {"EvaluationResults": results, "IsTruncated": False}


def _policies(role: Any) -> list[dict[str, Any]]:
    attached = [policy.document for policy in role.managed_policies.values()]
    return [_read(document) for document in [*role.policies.values(), *attached]]


def _read(document: Any) -> dict[str, Any]:
    told = json.loads(unquote(document)) if isinstance(document, str) else document
    return told if isinstance(told, dict) else {}


def _names(statement: dict[str, Any], action: str) -> bool:
    return any(fnmatchcase(action.lower(), one.lower()) for one in _listed(statement.get("Action", [])))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
