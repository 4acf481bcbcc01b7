"""Service Quotas: what each account may have, from the programme file where it says so and else the service's default."""

import secrets
import zlib
from typing import Any

from clusters.sandbox import facts, looked_at
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
IN_TOTAL = "Total number of instances allowed across SageMaker HyperPod clusters"
LARGEST_DISK = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"
SERVICES = {
    "aps": "Amazon Managed Service for Prometheus",
    "cloudformation": "AWS CloudFormation",
    "ec2": "Amazon Elastic Compute Cloud (Amazon EC2)",
    "eks": "Amazon Elastic Kubernetes Service (Amazon EKS)",
    "fsx": "Amazon FSx",
    "grafana": "Amazon Managed Grafana",
    "sagemaker": "Amazon SageMaker",
    "vpc": "Amazon Virtual Private Cloud (Amazon VPC)",
}
# What a young account starts with; every accelerator is asked for.
DEFAULTS = {
    ("sagemaker", PER_CLUSTER): 20.0,
    ("sagemaker", IN_TOTAL): 30.0,
    ("sagemaker", LARGEST_DISK): 1024.0,
    ("sagemaker", "Number of training plans per Region"): 10.0,
    ("vpc", "VPCs per Region"): 5.0,
    ("vpc", "Network interfaces per Region"): 5000.0,
    ("vpc", "NAT gateways per Availability Zone"): 5.0,
    ("vpc", "VPC security groups per Region"): 2500.0,
    ("ec2", "EC2-VPC Elastic IPs"): 5.0,
    ("ec2", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"): 64.0,
    ("cloudformation", "Stack count"): 2000.0,
    ("eks", "Clusters"): 100.0,
    ("fsx", "Lustre Persistent_2 file systems"): 100.0,
    ("fsx", "OpenZFS file systems"): 100.0,
}
# An account may have a handful of ordinary nodes without asking: controllers and login nodes.
ORDINARY = ("ml.c5.", "ml.m5.", "ml.t3.", "ml.c6i.", "ml.m6i.", "ml.r6i.", "ml.m7i.")
ORDINARY_DEFAULT = 2.0
# A person at the provider looks at a request for this long (sandbox seconds).
OPENED_AFTER, DECIDED_AFTER = 600.0, 86_400.0


def cluster_usage(instance_type: str) -> str:
    """The name of the quota of one ml. type on HyperPod."""
    return f"{instance_type} for cluster usage"


def default(service: str, name: str) -> float:
    if service == "sagemaker" and name.startswith(ORDINARY) and name.endswith(" for cluster usage"):
        return ORDINARY_DEFAULT
    return DEFAULTS.get((service, name), 0.0)


def applied(cloud: Cloud, account: str, region: str) -> dict[tuple[str, str], float]:
    """The quotas that this account has in this Region, where they differ from the defaults."""
    found = {}
    for entry in cloud.programme.get("sandbox_quotas", []):
        if str(entry["account"]).zfill(12) == account and entry["region"] == region:
            for quota in entry["quotas"]:
                found[quota["service"], quota["name"]] = float(quota["value"])
    for service, names in looked_at.changed(cloud, account, region, "quotas").items():
        found |= {(service, name): float(amount) for name, amount in names.items()}
    for request in cloud.store.read(f"service-quotas/{account}/{region}").get("requests", []):
        if _state(cloud.clock.now(), request) == "APPROVED":
            found[request["ServiceCode"], request["QuotaName"]] = request["DesiredValue"]
    return found


def value(cloud: Cloud, account: str, region: str, service: str, name: str) -> float:
    return applied(cloud, account, region).get((service, name), default(service, name))


def _names(cloud: Cloud, call: Call, service: str) -> dict[str, str]:
    """Exact name -> code, of one service."""
    names = {name: code for (of, name), code in facts.quota_codes().items() if of == service}
    for of, name in applied(cloud, call.account, call.region):
        if of == service and name not in names:
            # The table is from another Region and day; a quota it lacks still needs a code of its own.
            names[name] = "L-" + f"{zlib.crc32(name.encode()):08X}"
    return names


def _quota(call: Call, service: str, name: str, code: str, amount: float) -> dict[str, Any]:
    return {
        "ServiceCode": service,
        "ServiceName": SERVICES[service],
        "QuotaArn": f"arn:aws:servicequotas:{call.region}:{call.account}:{service}/{code}",
        "QuotaCode": code,
        "QuotaName": name,
        "Value": amount,
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
    }


def _listed(cloud: Cloud, call: Call, with_applied: bool) -> list[dict[str, Any]]:
    service = call.parameters["ServiceCode"]
    if service not in SERVICES:
        raise AwsError("NoSuchResourceException", f"The service {service} does not exist or has no quotas.")
    known = applied(cloud, call.account, call.region) if with_applied else {}
    return [
        _quota(call, service, name, code, known.get((service, name), default(service, name)))
        for name, code in sorted(_names(cloud, call, service).items())
    ]


def _one(cloud: Cloud, call: Call, with_applied: bool) -> dict[str, Any]:
    code = call.parameters["QuotaCode"]
    for quota in _listed(cloud, call, with_applied):
        if quota["QuotaCode"] == code:
            return quota
    raise AwsError("NoSuchResourceException", f"The request failed because the specified quota {code} does not exist.")


@operation("service-quotas", "ListServices")
def list_services(cloud: Cloud, call: Call) -> dict[str, Any]:
    services = [{"ServiceCode": code, "ServiceName": name} for code, name in SERVICES.items()]
    items, more = page(services, call.parameters)
    return {"Services": items, **more}


@operation("service-quotas", "ListServiceQuotas")
def list_service_quotas(cloud: Cloud, call: Call) -> dict[str, Any]:
    items, more = page(_listed(cloud, call, with_applied=True), call.parameters)
    return {"Quotas": items, **more}


@operation("service-quotas", "ListAWSDefaultServiceQuotas")
def list_default_quotas(cloud: Cloud, call: Call) -> dict[str, Any]:
    items, more = page(_listed(cloud, call, with_applied=False), call.parameters)
    return {"Quotas": items, **more}


@operation("service-quotas", "GetServiceQuota")
def get_service_quota(cloud: Cloud, call: Call) -> dict[str, Any]:
    quota = _one(cloud, call, with_applied=True)
    if (quota["ServiceCode"], quota["QuotaName"]) not in applied(cloud, call.account, call.region):
        # The real service answers so where nobody ever changed the quota: the default is asked for by another call.
        raise AwsError("NoSuchResourceException", f"No applied value for quota {quota['QuotaCode']}.")
    return {"Quota": quota}


@operation("service-quotas", "GetAWSDefaultServiceQuota")
def get_default_quota(cloud: Cloud, call: Call) -> dict[str, Any]:
    return {"Quota": _one(cloud, call, with_applied=False)}


@operation("service-quotas", "RequestServiceQuotaIncrease")
def request_increase(cloud: Cloud, call: Call) -> dict[str, Any]:
    quota, desired = _one(cloud, call, with_applied=True), float(call.parameters["DesiredValue"])
    requests = cloud.store.read(call.shelf()).get("requests", [])
    if any(request["QuotaCode"] == quota["QuotaCode"] and _open(call.now, request) for request in requests):
        raise AwsError(
            "ResourceAlreadyExistsException", "Only one open service quota increase request is allowed per quota."
        )
    if desired <= quota["Value"]:
        raise AwsError("IllegalArgumentException", "The desired value must be higher than the current quota value.")
    request = {
        "Id": secrets.token_hex(16) + secrets.token_hex(4)[:8],
        "DesiredValue": desired,
        "began": call.now,
        **{name: quota[name] for name in ("ServiceCode", "ServiceName", "QuotaCode", "QuotaName", "QuotaArn", "Unit")},
    }
    # A person at the provider will say no.
    request["denied"] = cloud.faults.take_for_call(
        ("quota_denied",), call.account, call.service, call.operation, call.parameters
    ) is not None  # fmt: skip
    cloud.store.change(call.shelf()).setdefault("requests", []).append(request)
    call.effective = True
    return {"RequestedQuota": _request(cloud, call, request)}


@operation("service-quotas", "ListRequestedServiceQuotaChangeHistory")
def list_requests(cloud: Cloud, call: Call) -> dict[str, Any]:
    wanted, status = call.parameters.get("ServiceCode"), call.parameters.get("Status")
    found = [_request(cloud, call, request) for request in cloud.store.read(call.shelf()).get("requests", [])]
    found = [one for one in found if wanted in (None, one["ServiceCode"]) and status in (None, one["Status"])]
    items, more = page(found, call.parameters)
    return {"RequestedQuotas": items, **more}


@operation("service-quotas", "GetRequestedServiceQuotaChange")
def get_request(cloud: Cloud, call: Call) -> dict[str, Any]:
    for request in cloud.store.read(call.shelf()).get("requests", []):
        if request["Id"] == call.parameters["RequestId"]:
            return {"RequestedQuota": _request(cloud, call, request)}
    raise AwsError("NoSuchResourceException", "The requested quota change does not exist.")


def _state(now: float, request: dict[str, Any]) -> str:
    age = now - request["began"]
    if age >= DECIDED_AFTER and request.get("denied"):
        return "DENIED"
    return "APPROVED" if age >= DECIDED_AFTER else "CASE_OPENED" if age >= OPENED_AFTER else "PENDING"


def _open(now: float, request: dict[str, Any]) -> bool:
    return _state(now, request) in ("PENDING", "CASE_OPENED")


def _request(cloud: Cloud, call: Call, request: dict[str, Any]) -> dict[str, Any]:
    state = _state(call.now, request)
    changed = request["began"] + {"PENDING": 0.0, "CASE_OPENED": OPENED_AFTER}.get(state, DECIDED_AFTER)
    shown = {name: value for name, value in request.items() if name not in ("began", "denied")}
    times = {"Created": cloud.clock.shown(request["began"]), "LastUpdated": cloud.clock.shown(changed)}
    return {**shown, "Status": state, "Requester": call.account, "GlobalQuota": False, **times}
