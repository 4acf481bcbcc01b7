"""EKS: clusters that take ten minutes, their access entries and add-ons."""

import base64
import secrets
import uuid
from typing import Any

from clusters.sandbox import certificates, sts
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

COMES, ADDON_COMES, GOES = 600.0, 60.0, 300.0
VERSIONS = ("1.30", "1.31", "1.32", "1.33", "1.34")
NEWEST = "1.34"


@operation("eks", "CreateCluster")
def create_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    name, token = wish["name"], wish.get("clientRequestToken")
    present = _clusters(cloud, call).get(name)
    if present is not None:
        if token and present["wish"].get("clientRequestToken") == token:
            return {"cluster": _shown(cloud, call, present)}
        raise AwsError("ResourceInUseException", f"Cluster already exists with name: {name}", 409)
    if (wish.get("version") or NEWEST) not in VERSIONS:
        raise AwsError("InvalidParameterException", f"unsupported Kubernetes version {wish['version']}", 400)
    role = sts.role_of(wish["roleArn"])
    if role is None or not sts.trusts_service(role, "eks.amazonaws.com"):
        raise AwsError(
            "InvalidParameterException", f"Role {wish['roleArn']} could not be assumed by eks.amazonaws.com", 400
        )
    network = wish["resourcesVpcConfig"]
    try:
        subnets = cloud.ask(call.account, call.region, "ec2", "DescribeSubnets", SubnetIds=network["subnetIds"])[
            "Subnets"
        ]
    except AwsError as error:
        raise AwsError("InvalidParameterException", error.message, 400) from None
    if len({subnet["AvailabilityZone"] for subnet in subnets}) < 2:
        message = "Subnets specified must be in at least two different AZs"
        raise AwsError("InvalidParameterException", message, 400)
    cluster = {
        "name": name,
        "wish": wish,
        "began": call.now,
        "vpc": subnets[0]["VpcId"],
        "group": "sg-" + secrets.token_hex(9)[:17],
        "issuer": secrets.token_hex(16).upper(),
        "deleting": None,
        "entries": {},
        "addons": {},
        "tags": wish.get("tags") or {},
    }
    cloud.store.change(call.shelf()).setdefault("clusters", {})[name] = cluster
    call.effective = True
    return {"cluster": _shown(cloud, call, cluster)}


@operation("eks", "DescribeCluster")
def describe_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    return {"cluster": _shown(cloud, call, _cluster(cloud, call, call.parameters["name"]))}


@operation("eks", "ListClusters")
def list_clusters(cloud: Cloud, call: Call) -> dict[str, Any]:
    items, more = page(sorted(_clusters(cloud, call)), call.parameters, size="maxResults", token="nextToken")
    return {"clusters": items, **more}


@operation("eks", "DeleteCluster")
def delete_cluster(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = _cluster(cloud, call, call.parameters["name"])
    if cluster["deleting"] is None:
        cloud.store.change(call.shelf())
        cluster["deleting"] = call.now
        call.effective = True
    return {"cluster": _shown(cloud, call, cluster)}


@operation("eks", "UpdateClusterVersion")
def update_version(cloud: Cloud, call: Call) -> dict[str, Any]:
    """The control plane goes up by one minor version at a time, and never down."""
    wish = call.parameters
    cluster, version = _active(cloud, call, wish["name"]), wish.get("version") or NEWEST
    held = cluster["wish"].get("version") or NEWEST
    if version not in VERSIONS:
        raise AwsError("InvalidParameterException", f"unsupported Kubernetes version {version}", 400)
    if VERSIONS.index(version) - VERSIONS.index(held) not in (0, 1):
        message = f"Unsupported Kubernetes minor version update from {held} to {version}"
        raise AwsError("InvalidParameterException", message, 400)
    cloud.store.change(call.shelf())
    cluster["wish"] = {**cluster["wish"], "version": version}
    call.effective = True
    update = {
        "id": str(uuid.uuid4()),
        "status": "Successful",
        "type": "VersionUpdate",
        "params": [{"type": "Version", "value": version}],
        "createdAt": cloud.clock.shown(call.now),
        "errors": [],
    }
    return {"update": update}


@operation("eks", "CreateAccessEntry")
def create_access_entry(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    cluster = _active(cloud, call, wish["clusterName"])
    if auth_mode(cluster) == "CONFIG_MAP":
        message = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
        raise AwsError("InvalidRequestException", message, 400)
    arn = wish["principalArn"]
    if arn in cluster["entries"]:
        message = "The specified access entry resource is already in use on this cluster."
        raise AwsError("ResourceInUseException", message, 409)
    cloud.store.change(call.shelf())
    cluster["entries"][arn] = {"wish": wish, "began": call.now, "policies": {}}
    call.effective = True
    return {"accessEntry": _entry(cloud, call, cluster, arn)}


@operation("eks", "AssociateAccessPolicy")
def associate_policy(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    cluster = _cluster(cloud, call, wish["clusterName"])
    _entry(cloud, call, cluster, wish["principalArn"])
    cloud.store.change(call.shelf())
    policy = {"policyArn": wish["policyArn"], "accessScope": wish["accessScope"]}
    cluster["entries"][wish["principalArn"]]["policies"][wish["policyArn"]] = policy
    return {"clusterName": cluster["name"], "principalArn": wish["principalArn"], "associatedAccessPolicy": policy}


@operation("eks", "ListAssociatedAccessPolicies")
def list_policies(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster, arn = _cluster(cloud, call, call.parameters["clusterName"]), call.parameters["principalArn"]
    _entry(cloud, call, cluster, arn)
    policies = list(cluster["entries"][arn]["policies"].values())
    return {"clusterName": cluster["name"], "principalArn": arn, "associatedAccessPolicies": policies}


@operation("eks", "DescribeAccessEntry")
def describe_access_entry(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = _cluster(cloud, call, call.parameters["clusterName"])
    return {"accessEntry": _entry(cloud, call, cluster, call.parameters["principalArn"])}


@operation("eks", "ListAccessEntries")
def list_access_entries(cloud: Cloud, call: Call) -> dict[str, Any]:
    entries = sorted(_cluster(cloud, call, call.parameters["clusterName"])["entries"])
    items, more = page(entries, call.parameters, size="maxResults", token="nextToken")
    return {"accessEntries": items, **more}


@operation("eks", "DeleteAccessEntry")
def delete_access_entry(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = _cluster(cloud, call, call.parameters["clusterName"])
    _entry(cloud, call, cluster, call.parameters["principalArn"])
    cloud.store.change(call.shelf())
    del cluster["entries"][call.parameters["principalArn"]]
    return {}


@operation("eks", "CreateAddon")
def create_addon(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    cluster = _active(cloud, call, wish["clusterName"])
    if wish["addonName"] in cluster["addons"]:
        raise AwsError("ResourceInUseException", f"Addon already exists: {wish['addonName']}", 409)
    cloud.store.change(call.shelf())
    cluster["addons"][wish["addonName"]] = {"wish": wish, "began": call.now}
    call.effective = True
    return {"addon": _addon(cloud, call, cluster, wish["addonName"])}


@operation("eks", "DescribeAddon")
def describe_addon(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = _cluster(cloud, call, call.parameters["clusterName"])
    return {"addon": _addon(cloud, call, cluster, call.parameters["addonName"])}


@operation("eks", "ListAddons")
def list_addons(cloud: Cloud, call: Call) -> dict[str, Any]:
    addons = sorted(_cluster(cloud, call, call.parameters["clusterName"])["addons"])
    items, more = page(addons, call.parameters, size="maxResults", token="nextToken")
    return {"addons": items, **more}


@operation("eks", "DeleteAddon")
def delete_addon(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = _cluster(cloud, call, call.parameters["clusterName"])
    shown = _addon(cloud, call, cluster, call.parameters["addonName"])
    cloud.store.change(call.shelf())
    del cluster["addons"][call.parameters["addonName"]]
    return {"addon": {**shown, "status": "DELETING"}}


@operation("eks", "TagResource")
def tag_resource(cloud: Cloud, call: Call) -> dict[str, Any]:
    cluster = _cluster(cloud, call, call.parameters["resourceArn"].rsplit("/", 1)[-1])
    cloud.store.change(call.shelf())
    cluster["tags"] = {**cluster["tags"], **call.parameters["tags"]}
    return {}


def present(cloud: Cloud, call: Call, name: str) -> dict[str, Any] | None:
    return _clusters(cloud, call).get(name)


def by_arn(cloud: Cloud, call: Call, arn: str) -> dict[str, Any] | None:
    clusters = _clusters(cloud, call).values()
    return next((one for one in clusters if call.arn("eks", f"cluster/{one['name']}") == arn), None)


def status(now: float, cluster: dict[str, Any]) -> str:
    if cluster["deleting"] is not None:
        return "DELETING"
    return "ACTIVE" if now >= cluster["began"] + COMES else "CREATING"


def auth_mode(cluster: dict[str, Any]) -> str:
    return str((cluster["wish"].get("accessConfig") or {}).get("authenticationMode", "CONFIG_MAP"))


def _clusters(cloud: Cloud, call: Call) -> dict[str, dict[str, Any]]:
    clusters = cloud.store.read(call.shelf("eks")).get("clusters", {})
    return {n: c for n, c in clusters.items() if c["deleting"] is None or call.now < c["deleting"] + GOES}


def _cluster(cloud: Cloud, call: Call, name: str) -> dict[str, Any]:
    cluster = _clusters(cloud, call).get(name)
    if cluster is None:
        raise AwsError("ResourceNotFoundException", f"No cluster found for name: {name}.", 404)
    return cluster


def _active(cloud: Cloud, call: Call, name: str) -> dict[str, Any]:
    cluster = _cluster(cloud, call, name)
    if status(call.now, cluster) != "ACTIVE":
        message = f"Cluster {name} is in {status(call.now, cluster)} state and cannot be changed"
        raise AwsError("InvalidRequestException", message, 400)
    return cluster


def _shown(cloud: Cloud, call: Call, cluster: dict[str, Any]) -> dict[str, Any]:
    wish, state = cluster["wish"], status(call.now, cluster)
    network = wish["resourcesVpcConfig"]
    shown = {
        "name": cluster["name"],
        "arn": call.arn("eks", f"cluster/{cluster['name']}"),
        "createdAt": cloud.clock.shown(cluster["began"]),
        "version": wish.get("version") or NEWEST,
        "roleArn": wish["roleArn"],
        "status": state,
        "resourcesVpcConfig": {
            "subnetIds": network["subnetIds"],
            "securityGroupIds": network.get("securityGroupIds") or [],
            "clusterSecurityGroupId": cluster["group"],
            "vpcId": cluster["vpc"],
            "endpointPublicAccess": network.get("endpointPublicAccess", True),
            "endpointPrivateAccess": network.get("endpointPrivateAccess", False),
        },
        "accessConfig": {"authenticationMode": auth_mode(cluster)},
        "platformVersion": "eks.1",
        "tags": cluster["tags"],
    }
    if state == "ACTIVE":
        issuer = f"https://oidc.eks.{call.region}.amazonaws.com/id/{cluster['issuer']}"
        # AWS gives each API a name of its own; here they share the sandbox's address, and a path tells them apart.
        secure = cloud.address.replace("http://", "https://", 1)
        shown["endpoint"] = f"{secure}/k8s/{call.account}/{call.region}/{cluster['name']}"
        shown["identity"] = {"oidc": {"issuer": issuer}}
        shown["certificateAuthority"] = {
            "data": base64.b64encode(certificates.authority(cloud.store).encode()).decode()
        }
    return shown


def _entry(cloud: Cloud, call: Call, cluster: dict[str, Any], arn: str) -> dict[str, Any]:
    entry = cluster["entries"].get(arn)
    if entry is None:
        message = f"The specified principalArn could not be found: {arn}"
        raise AwsError("ResourceNotFoundException", message, 404)
    wish = entry["wish"]
    return {
        "clusterName": cluster["name"],
        "principalArn": arn,
        "kubernetesGroups": wish.get("kubernetesGroups") or [],
        "accessEntryArn": call.arn("eks", f"access-entry/{cluster['name']}/{arn.rsplit('/', 1)[-1]}"),
        "createdAt": cloud.clock.shown(entry["began"]),
        "tags": wish.get("tags") or {},
        "username": wish.get("username") or arn,
        "type": wish.get("type") or "STANDARD",
    }


def _addon(cloud: Cloud, call: Call, cluster: dict[str, Any], name: str) -> dict[str, Any]:
    addon = cluster["addons"].get(name)
    if addon is None:
        raise AwsError("ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster['name']}", 404)
    ready = call.now >= addon["began"] + ADDON_COMES
    return {
        "addonName": name,
        "clusterName": cluster["name"],
        "status": "ACTIVE" if ready else "CREATING",
        "addonVersion": addon["wish"].get("addonVersion") or "v1.0.0-eksbuild.1",
        "addonArn": call.arn("eks", f"addon/{cluster['name']}/{name}"),
        "createdAt": cloud.clock.shown(addon["began"]),
        "tags": addon["wish"].get("tags") or {},
    }
