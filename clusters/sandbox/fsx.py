"""FSx: Lustre and OpenZFS file systems that take minutes to come, and their links to buckets."""

import secrets
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

LUSTRE_COMES, OPENZFS_COMES, LINK_COMES, GOES = 600.0, 900.0, 300.0, 120.0
THROUGHPUT = {"PERSISTENT_1": (50, 100, 200), "PERSISTENT_2": (125, 250, 500, 1000)}
OPENZFS_THROUGHPUT = {
    "SINGLE_AZ_1": (64, 128, 256, 512, 1024, 2048, 3072, 4096),
    "SINGLE_AZ_2": (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240),
    "SINGLE_AZ_HA_1": (128, 256, 512, 1024, 2048, 3072, 4096),
    "SINGLE_AZ_HA_2": (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240),
    "MULTI_AZ_1": (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240),
}
NO_SINGLE_AZ_HA_1 = ("ap-northeast-1",)


@operation("fsx", "CreateFileSystem")
def create_file_system(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish, token = call.parameters, call.parameters.get("ClientRequestToken")
    systems = cloud.store.read(call.shelf()).get("systems", {})
    for system in systems.values():
        if token and system["token"] == token:
            if system["wish"] != wish:
                message = "The client request token was used before with other parameters."
                raise AwsError("IncompatibleParameterError", message)
            return {"FileSystem": shown(cloud, call, system)}
    kind = wish["FileSystemType"]
    if kind == "LUSTRE":
        _check_lustre(wish)
    elif kind == "OPENZFS":
        _check_openzfs(wish, call.region)
    else:
        raise _bad(f"The sandbox cloud does not play file systems of type {kind}.")
    subnet = _subnet(cloud, call, wish["SubnetIds"])
    identity = "fs-" + secrets.token_hex(9)[:17]
    interface = cloud.ask(
        call.account, call.region, "ec2", "CreateNetworkInterface", SubnetId=wish["SubnetIds"][0],
        Groups=wish.get("SecurityGroupIds") or [], Description=f"Network interface of {identity}",
    )["NetworkInterface"]["NetworkInterfaceId"]  # fmt: skip
    system = {
        "id": identity,
        "token": token,
        "wish": wish,
        "began": call.now,
        "vpc": subnet["VpcId"],
        "mount": secrets.token_hex(4) if _deployment(wish) != "SCRATCH_1" else "fsx",
        "volume": "fsvol-" + secrets.token_hex(9)[:17],
        "deleting": None,
        "interface": interface,
        "tags": wish.get("Tags") or [],
    }
    cloud.store.change(call.shelf()).setdefault("systems", {})[identity] = system
    call.effective = True
    return {"FileSystem": shown(cloud, call, system)}


@operation("fsx", "DescribeFileSystems")
def describe_file_systems(cloud: Cloud, call: Call) -> dict[str, Any]:
    systems = present(cloud, call)
    wanted = call.parameters.get("FileSystemIds")
    if wanted:
        systems = {identity: system_of(cloud, call, identity) for identity in wanted}
    items, more = page([shown(cloud, call, system) for system in systems.values()], call.parameters)
    return {"FileSystems": items, **more}


@operation("fsx", "UpdateFileSystem")
def update_file_system(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Without interruption: throughput and settings; more storage, never less."""
    system, asked = system_of(cloud, call, call.parameters["FileSystemId"]), call.parameters
    kind = "LustreConfiguration" if system["wish"]["FileSystemType"] == "LUSTRE" else "OpenZFSConfiguration"
    if lifecycle(call.now, system) != "AVAILABLE":
        raise _bad(f"File system {system['id']} is not available yet.")
    size, now = asked.get("StorageCapacity"), int(system["wish"].get("StorageCapacity") or 0)
    if size is not None and int(size) < now:
        raise _bad(f"Storage capacity can only be increased; it is {now} GiB and {size} GiB were asked for.")
    configuration = (system["wish"].get(kind) or {}) | (asked.get(kind) or {})
    wish = {**system["wish"], "StorageCapacity": now if size is None else int(size), kind: configuration}
    _check_lustre(wish) if kind == "LustreConfiguration" else _check_openzfs(wish, call.region)
    cloud.store.change(call.shelf())
    system["wish"] = wish
    call.effective = True
    return {"FileSystem": shown(cloud, call, system)}


@operation("fsx", "DeleteFileSystem")
def delete_file_system(cloud: Cloud, call: Call) -> dict[str, Any]:
    from clusters.sandbox import fsx_volumes

    system = system_of(cloud, call, call.parameters["FileSystemId"])
    if system["deleting"] is None:
        options = (call.parameters.get("OpenZFSConfiguration") or {}).get("Options") or []
        below = [one for one in fsx_volumes.made(cloud, call).values() if one["system"] == system["id"]]
        if below and fsx_volumes.WITH_CHILDREN not in options:
            raise _bad(f"File system {system['id']} has volumes below its root; {fsx_volumes.WITH_CHILDREN} is needed.")
        cloud.store.change(call.shelf())
        system["deleting"] = call.now
        call.effective = True
        if system.get("interface"):
            cloud.ask(
                call.account, call.region, "ec2", "DeleteNetworkInterface", NetworkInterfaceId=system["interface"]
            )  # fmt: skip
    return {"FileSystemId": system["id"], "Lifecycle": "DELETING"}


@operation("fsx", "TagResource")
def tag_resource(cloud: Cloud, call: Call) -> dict[str, Any]:
    system = system_of(cloud, call, call.parameters["ResourceARN"].rsplit("/", 1)[-1])
    cloud.store.change(call.shelf())
    given = {tag["Key"]: tag for tag in system["tags"]} | {tag["Key"]: tag for tag in call.parameters["Tags"]}
    system["tags"] = list(given.values())
    return {}


@operation("fsx", "ListTagsForResource")
def list_tags(cloud: Cloud, call: Call) -> dict[str, Any]:
    return {"Tags": system_of(cloud, call, call.parameters["ResourceARN"].rsplit("/", 1)[-1])["tags"]}


@operation("fsx", "CreateDataRepositoryAssociation")
def create_link(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    system = system_of(cloud, call, wish["FileSystemId"])
    if system["wish"]["FileSystemType"] != "LUSTRE" or _deployment(system["wish"]) == "SCRATCH_1":
        raise _bad("Data repository associations need a Lustre file system of another deployment type.")
    if lifecycle(call.now, system) != "AVAILABLE":
        raise _bad(f"File system {system['id']} is not available yet.")
    bucket = wish["DataRepositoryPath"].removeprefix("s3://").split("/")[0]
    try:
        cloud.ask(call.account, call.region, "s3", "HeadBucket", Bucket=bucket)
    except AwsError:
        raise _bad(f"Bucket {bucket} does not exist or is not reachable.") from None
    identity = "dra-" + secrets.token_hex(9)[:17]
    link = {"id": identity, "wish": wish, "began": call.now, "deleting": None}
    cloud.store.change(call.shelf()).setdefault("links", {})[identity] = link
    call.effective = True
    return {"Association": _link(cloud, call, link)}


@operation("fsx", "DescribeDataRepositoryAssociations")
def describe_links(cloud: Cloud, call: Call) -> dict[str, Any]:
    links = [link for link in cloud.store.read(call.shelf()).get("links", {}).values() if not _gone(call.now, link)]
    wanted = call.parameters.get("AssociationIds")
    if wanted:
        links = [link for link in links if link["id"] in wanted]
        if len(links) < len(set(wanted)):
            raise AwsError("DataRepositoryAssociationNotFound", f"No data repository association of {wanted}.")
    items, more = page([_link(cloud, call, link) for link in links], call.parameters)
    return {"Associations": items, **more}


@operation("fsx", "DeleteDataRepositoryAssociation")
def delete_link(cloud: Cloud, call: Call) -> dict[str, Any]:
    identity = call.parameters["AssociationId"]
    link = cloud.store.read(call.shelf()).get("links", {}).get(identity)
    if link is None or _gone(call.now, link):
        raise AwsError("DataRepositoryAssociationNotFound", f"No data repository association {identity}.")
    cloud.store.change(call.shelf())
    link["deleting"] = call.now
    return {"AssociationId": identity, "Lifecycle": "DELETING"}


def lifecycle(now: float, system: dict[str, Any]) -> str:
    if system["deleting"] is not None:
        return "DELETING"
    comes = LUSTRE_COMES if system["wish"]["FileSystemType"] == "LUSTRE" else OPENZFS_COMES
    return "AVAILABLE" if now >= system["began"] + comes else "CREATING"


def _gone(now: float, thing: dict[str, Any]) -> bool:
    return thing["deleting"] is not None and now >= thing["deleting"] + GOES


def present(cloud: Cloud, call: Call) -> dict[str, dict[str, Any]]:
    systems = cloud.store.read(call.shelf("fsx")).get("systems", {})
    return {identity: system for identity, system in systems.items() if not _gone(call.now, system)}


def system_of(cloud: Cloud, call: Call, identity: str) -> dict[str, Any]:
    system = present(cloud, call).get(identity)
    if system is None:
        raise AwsError("FileSystemNotFound", f"File system '{identity}' does not exist.")
    return system


def _subnet(cloud: Cloud, call: Call, subnets: list[str]) -> dict[str, Any]:
    try:
        found = cloud.ask(call.account, call.region, "ec2", "DescribeSubnets", SubnetIds=subnets)["Subnets"]
    except AwsError as error:
        raise AwsError("InvalidNetworkSettings", error.message) from None
    if not found:
        raise AwsError("InvalidNetworkSettings", "No subnet was named.")
    groups = call.parameters.get("SecurityGroupIds")
    if groups:
        try:
            cloud.ask(call.account, call.region, "ec2", "DescribeSecurityGroups", GroupIds=groups)
        except AwsError as error:
            raise AwsError("InvalidNetworkSettings", error.message) from None
    return dict(found[0])


def _deployment(wish: dict[str, Any]) -> str:
    return str((wish.get("LustreConfiguration") or {}).get("DeploymentType", "SCRATCH_1"))


def _check_lustre(wish: dict[str, Any]) -> None:
    configuration, size = wish.get("LustreConfiguration") or {}, int(wish.get("StorageCapacity") or 0)
    deployment, storage = _deployment(wish), wish.get("StorageType") or "SSD"
    rate = configuration.get("PerUnitStorageThroughput")
    if deployment == "SCRATCH_1":
        sizes = size in (1200, 2400) or (size > 0 and size % 3600 == 0)
    elif storage == "HDD":
        sizes = size > 0 and size % (1800 if rate == 40 else 6000) == 0
    else:
        sizes = size == 1200 or (size > 0 and size % 2400 == 0)
    if not sizes:
        raise _bad(f"Storage capacity {size} is not valid for {deployment} {storage}.")
    if len(wish["SubnetIds"]) != 1:
        raise _bad("A Lustre file system lies in exactly one subnet.")
    allowed = (12, 40) if storage == "HDD" else THROUGHPUT.get(deployment, ())
    if allowed and rate not in allowed:
        raise _bad(f"PerUnitStorageThroughput {rate} is not valid for {deployment} {storage}: one of {list(allowed)}.")
    if not allowed and rate is not None:
        raise _bad(f"PerUnitStorageThroughput is not supported for {deployment}.")


def _check_openzfs(wish: dict[str, Any], region: str) -> None:
    configuration, size = wish.get("OpenZFSConfiguration") or {}, int(wish.get("StorageCapacity") or 0)
    deployment, rate = configuration.get("DeploymentType"), configuration.get("ThroughputCapacity")
    if not 64 <= size <= 524_288:
        raise _bad(f"Storage capacity {size} is not valid for OpenZFS: 64 to 524288 GiB.")
    if deployment not in OPENZFS_THROUGHPUT or (deployment == "SINGLE_AZ_HA_1" and region in NO_SINGLE_AZ_HA_1):
        raise _bad(f"Deployment type {deployment} is not supported in this Region.")
    if rate not in OPENZFS_THROUGHPUT[deployment]:
        raise _bad(f"Throughput {rate} is not valid for {deployment}: one of {list(OPENZFS_THROUGHPUT[deployment])}.")
    if deployment == "MULTI_AZ_1" and len(wish["SubnetIds"]) != 2:
        raise _bad("MULTI_AZ_1 needs two subnets in two Availability Zones.")


def _bad(message: str) -> AwsError:
    return AwsError("BadRequest", message)


def shown(cloud: Cloud, call: Call, system: dict[str, Any]) -> dict[str, Any]:
    wish, identity = system["wish"], system["id"]
    shown = {
        "OwnerId": call.account,
        "CreationTime": cloud.clock.shown(system["began"]),
        "FileSystemId": identity,
        "FileSystemType": wish["FileSystemType"],
        "Lifecycle": lifecycle(call.now, system),
        "StorageCapacity": wish.get("StorageCapacity"),
        "StorageType": wish.get("StorageType") or "SSD",
        "VpcId": system["vpc"],
        "SubnetIds": wish["SubnetIds"],
        "NetworkInterfaceIds": [system["interface"]] if system.get("interface") else [],
        "DNSName": f"{identity}.fsx.{call.region}.amazonaws.com",
        "ResourceARN": call.arn("fsx", f"file-system/{identity}"),
        **({"Tags": system["tags"]} if system["tags"] else {}),
    }
    if wish["FileSystemType"] == "LUSTRE":
        lustre = {"DeploymentType": _deployment(wish), **(wish.get("LustreConfiguration") or {})}
        shown["LustreConfiguration"] = {**lustre, "MountName": system["mount"]}
        shown["FileSystemTypeVersion"] = wish.get("FileSystemTypeVersion") or "2.15"
    else:
        shown["OpenZFSConfiguration"] = {
            name: value for name, value in (wish.get("OpenZFSConfiguration") or {}).items() if name not in ("RootVolumeConfiguration", "Options")
        } | {"RootVolumeId": system["volume"]}  # fmt: skip
    return shown


def _link(cloud: Cloud, call: Call, link: dict[str, Any]) -> dict[str, Any]:
    ready = call.now >= link["began"] + LINK_COMES
    wish = link["wish"]
    return {
        "AssociationId": link["id"],
        "ResourceARN": call.arn("fsx", f"association/{wish['FileSystemId']}/{link['id']}"),
        "FileSystemId": wish["FileSystemId"],
        "Lifecycle": "DELETING" if link["deleting"] is not None else "AVAILABLE" if ready else "CREATING",
        "FileSystemPath": wish.get("FileSystemPath"),
        "DataRepositoryPath": wish["DataRepositoryPath"],
        "S3": wish.get("S3"),
        "CreationTime": cloud.clock.shown(link["began"]),
    }
