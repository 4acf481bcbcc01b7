"""Prints, as shell assignments, what a new node has to know of itself: its group, role and type, its cluster, its mounts."""

import json
import shlex
import sys


def facts(resources: dict, provisioning: dict, address: str) -> dict[str, str]:
    """Finds the node by its address among the instances of its cluster."""
    groups = {
        instance["CustomerIpAddress"]: group["Name"]
        for group in resources["InstanceGroups"]
        for instance in group["Instances"]
    }
    types = {group["Name"]: group.get("InstanceType", "") for group in resources["InstanceGroups"]}
    controllers = sorted(
        (where for where, group in groups.items() if group == provisioning["controller_group"]),
        key=lambda where: [int(part) for part in where.split(".")],
    )
    group = groups.get(address, "")
    if not group:
        raise SystemExit(f"cohort: no instance of this cluster has the address {address}")
    roles = {each["instance_group_name"]: "compute" for each in provisioning["worker_groups"]}
    roles[provisioning["controller_group"]] = "controller"
    if provisioning.get("login_group"):
        roles[provisioning["login_group"]] = "login"
    if group not in roles:
        raise SystemExit(f"cohort: provisioning_parameters.json gives the group {group} no role")
    arn = resources["ClusterConfig"]["ClusterArn"]
    return {
        "cluster_name": resources["ClusterConfig"]["ClusterName"],
        "region": arn.split(":")[3],
        "group": group,
        "role": roles[group],
        "instance_type": types[group],
        "controllers": ",".join(controllers),
        "lustre_dns": provisioning["fsx_dns_name"],
        "lustre_mount": provisioning["fsx_mountname"],
        "openzfs_dns": provisioning.get("fsx_openzfs_dns_name", ""),
        **_accounting(provisioning.get("slurm_configurations") or {}),
    }


def _accounting(told: dict) -> dict[str, str]:
    """Where Slurm keeps its accounts, when there is a database for them."""
    return {
        "database_host": told.get("slurm_database_endpoint", ""),
        "database_user": told.get("slurm_database_user", ""),
        "database_secret": told.get("slurm_database_secret_arn", ""),
        "shared_folder": told.get("slurm_shared_directory", ""),
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as resources, open(sys.argv[2]) as provisioning:
        found = facts(json.load(resources), json.load(provisioning), sys.argv[3])
    for name, value in found.items():
        print(f"{name}={shlex.quote(value)}")
