"""Prints, as shell assignments, what a new node has to know of itself: its group and role, its cluster, its mounts."""

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
    addresses = {group: where for where, group in groups.items()}
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
        "controller_address": addresses[provisioning["controller_group"]],
        "lustre_dns": provisioning["fsx_dns_name"],
        "lustre_mount": provisioning["fsx_mountname"],
        "openzfs_dns": provisioning.get("fsx_openzfs_dns_name", ""),
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as resources, open(sys.argv[2]) as provisioning:
        found = facts(json.load(resources), json.load(provisioning), sys.argv[3])
    for name, value in found.items():
        print(f"{name}={shlex.quote(value)}")
