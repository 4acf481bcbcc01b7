"""A request to HyperPod, with the provisioning parameters beside it, in our words; and what the two say that does not agree. Pure."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from clusters import facts
from clusters.findings import Finding

ROLES = {"Controller": "controller", "Login": "login", "Compute": "compute"}
Told = tuple[str, dict[str, Any], dict[str, Any], list[Finding]]


def document(value: Mapping[str, Any], beside: Mapping[str, Any] | None) -> Told:
    """Name, our document, what is kept, and what does not fit. Nothing of the request is dropped."""
    rest = copy.deepcopy(dict(value))
    found: list[Finding] = []
    name = rest.pop("ClusterName", None) or ""
    if not name:
        found.append(Finding("cluster_name_missing", "refused", "ClusterName"))
    on_eks = isinstance(rest.get("Orchestrator"), Mapping) and "Eks" in rest["Orchestrator"]
    rows = rest.get("InstanceGroups")
    given = [each for each in rows if isinstance(each, dict)] if isinstance(rows, list) else []
    roles = _roles(given, beside, found)
    checks: list[Any] = []
    groups = []
    for each in given:
        checks += [check for check in each.pop("OnStartDeepHealthChecks", None) or [] if check not in checks]
        group = {
            "name": each.pop("InstanceGroupName", ""),
            "instance_type": facts.plain_name(str(each.pop("InstanceType", ""))),
            "count": each.pop("InstanceCount", None),
        }
        plan = each.pop("TrainingPlanArn", None)
        role = "compute" if on_eks else roles.get(group["name"], "compute")
        groups.append({**group, "role": role, **({"training_plan": plan} if plan else {})})
    told: dict[str, Any] = {
        "architecture": "hyperpod-eks" if on_eks else _slurm(groups),
        "region": rest.pop("Region", None),
        "az_id": rest.pop("AvailabilityZoneId", None),
        "instance_groups": groups,
        "deep_health_checks": checks,
        "node_recovery": rest.pop("NodeRecovery", None),
    }
    if on_eks:
        told["software"] = {"kubernetes": rest.pop("KubernetesVersion", None)}
        told["software"] = {key: each for key, each in told["software"].items() if each}
    if beside:
        rest["provisioning_parameters"] = dict(beside)
    kept = {key: each for key, each in rest.items() if key != "InstanceGroups"}
    if inner := {group["name"]: each for group, each in zip(groups, given, strict=True) if each}:
        kept["InstanceGroups"] = inner
    return str(name), {key: each for key, each in told.items() if each not in (None, "", [], {})}, kept, found


def _slurm(groups: list[dict[str, Any]]) -> str:
    heads = [group["count"] for group in groups if group["role"] == "controller"]
    return "hyperpod-slurm-ha" if heads == [2] else "hyperpod-slurm"


def _roles(given: list[dict[str, Any]], beside: Mapping[str, Any] | None, found: list[Finding]) -> dict[str, str]:
    """Who is controller, login or compute: as the parameters beside say, else the request itself, else the name."""
    names = [str(each.get("InstanceGroupName", "")) for each in given]
    if beside is None:
        return {name: _own_role(name, each) for name, each in zip(names, given, strict=True)}
    named = named_groups(beside)
    for name in [each for each in named if each not in names]:
        found.append(Finding("group_name_mismatch", "refused", "beside", name, ", ".join(names)))
    for name in [each for each in names if each not in named]:
        found.append(Finding("group_without_role", "refused", "InstanceGroups", name, ", ".join(named)))
    return named


def _own_role(name: str, group: Mapping[str, Any]) -> str:
    told = group.get("SlurmConfig")
    kind = told.get("NodeType") if isinstance(told, Mapping) else None
    if kind in ROLES:
        return ROLES[kind]
    small = name.lower()
    if "controller" in small or "head" in small:
        return "controller"
    return "login" if "login" in small else "compute"


def named_groups(beside: Mapping[str, Any]) -> dict[str, str]:
    """Group -> role, as provisioning parameters say."""
    named = {}
    for field, role in (("controller_group", "controller"), ("login_group", "login")):
        if isinstance(beside.get(field), str) and beside[field]:
            named[beside[field]] = role
    workers = beside.get("worker_groups")
    for worker in workers if isinstance(workers, list) else []:
        if isinstance(worker, Mapping) and isinstance(worker.get("instance_group_name"), str):
            named.setdefault(worker["instance_group_name"], "compute")
    return named


def of_parameters(value: list[Any]) -> dict[str, Any]:
    """A request as the parameters of the published stacks tell it, whose groups are JSON within JSON."""
    told = {str(each["ParameterKey"]): each.get("ParameterValue") for each in value if isinstance(each, Mapping)}
    request: dict[str, Any] = {"Orchestrator": {"Eks": {}}}
    for name in ("HyperPodClusterName", "ClusterName"):
        if told.get(name):
            request["ClusterName"] = told.pop(name)
            break
    for name in ("NodeRecovery", "AvailabilityZoneId", "KubernetesVersion"):
        if told.get(name):
            request[name] = told.pop(name)
    groups: list[Any] = []
    for name in [each for each in told if each.startswith("InstanceGroupSettings")]:
        try:
            inner = json.loads(str(told[name]))
        except (ValueError, RecursionError):
            continue
        groups += inner if isinstance(inner, list) else [inner]
        del told[name]
    return {**request, "InstanceGroups": groups, **told}
