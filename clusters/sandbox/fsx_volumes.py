"""Volumes of OpenZFS file systems: the root that comes with each, and those that somebody made below it."""

import secrets
from collections.abc import Iterator
from typing import Any

from clusters.sandbox import fsx
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

COMES, GOES = 20.0, 10.0  # sandbox seconds
RECORD_SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
WITH_CHILDREN = "DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"
UNLIMITED = -1  # of a quota or a reservation: as if none had been given


@operation("fsx", "CreateVolume")
def create_volume(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish, token = call.parameters, call.parameters.get("ClientRequestToken")
    for known in made(cloud, call).values():
        if token and known["token"] == token:
            if known["wish"] != wish:
                message = "The client request token was used before with other parameters."
                raise AwsError("IncompatibleParameterError", message)
            return {"Volume": _shown(cloud, call, known)}
    if wish["VolumeType"] != "OPENZFS":
        raise AwsError("BadRequest", f"The sandbox cloud does not play volumes of type {wish['VolumeType']}.")
    settings = wish.get("OpenZFSConfiguration")
    if not settings:
        raise AwsError("MissingVolumeConfiguration", "An OpenZFSConfiguration is required for an OPENZFS volume.")
    parent = volume_of(cloud, call, settings["ParentVolumeId"])
    system = fsx.system_of(cloud, call, parent["system"])
    if fsx.lifecycle(call.now, system) != "AVAILABLE":
        raise AwsError("BadRequest", f"File system {system['id']} is not available yet.")
    _check(settings, system)
    if any(one["parent"] == parent["id"] and one["name"] == wish["Name"] for one in made(cloud, call).values()):
        raise AwsError("BadRequest", f"A volume named {wish['Name']} already exists below {parent['id']}.")
    volume = {
        "id": "fsvol-" + secrets.token_hex(9)[:17],
        "name": wish["Name"],
        "system": system["id"],
        "parent": parent["id"],
        "path": f"{parent['path']}/{wish['Name']}",
        "token": token,
        "wish": wish,
        "settings": settings,
        "began": call.now,
        "deleting": None,
        "tags": wish.get("Tags") or [],
    }
    cloud.store.change(call.shelf()).setdefault("volumes", {})[volume["id"]] = volume
    call.effective = True
    return {"Volume": _shown(cloud, call, volume)}


@operation("fsx", "DescribeVolumes")
def describe_volumes(cloud: Cloud, call: Call) -> dict[str, Any]:
    known = _present(cloud, call)
    for rule in call.parameters.get("Filters") or []:
        if rule["Name"] != "file-system-id":
            raise AwsError("BadRequest", f"The filter {rule['Name']} is not supported for these volumes.")
        known = {identity: one for identity, one in known.items() if one["system"] in rule["Values"]}
    wanted = call.parameters.get("VolumeIds") or sorted(known)
    unknown = [identity for identity in wanted if identity not in known]
    if unknown:
        raise AwsError("VolumeNotFound", f"Volume '{unknown[0]}' does not exist.")
    items, more = page([_shown(cloud, call, known[identity]) for identity in wanted], call.parameters)
    return {"Volumes": items, **more}


@operation("fsx", "UpdateVolume")
def update_volume(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Without interruption: size, compression, exports; a root keeps its name."""
    asked, volume = call.parameters, volume_of(cloud, call, call.parameters["VolumeId"])
    if volume["deleting"] is not None:
        raise AwsError("BadRequest", f"Volume {volume['id']} is being deleted.")
    if asked.get("Name") and volume["parent"] is None:
        raise AwsError("BadRequest", "The root volume of a file system cannot be renamed.")
    settings = {**volume["settings"], **(asked.get("OpenZFSConfiguration") or {})}
    _check(settings, fsx.system_of(cloud, call, volume["system"]))
    name = asked.get("Name") or volume["name"]
    if volume["parent"] is None:
        cloud.store.change(call.shelf()).setdefault("roots", {})[volume["id"]] = settings
        volume = volume_of(cloud, call, volume["id"])
    else:
        cloud.store.change(call.shelf())
        head = volume["path"].rpartition("/")[0]
        volume.update(settings=settings, name=name, path=f"{head}/{name}")
    call.effective = True
    return {"Volume": _shown(cloud, call, volume)}


@operation("fsx", "DeleteVolume")
def delete_volume(cloud: Cloud, call: Call) -> dict[str, Any]:
    volume = volume_of(cloud, call, call.parameters["VolumeId"])
    if volume["parent"] is None:
        raise AwsError("BadRequest", "The root volume goes with its file system only.")
    below = list(_below(cloud, call, volume["id"]))
    options = (call.parameters.get("OpenZFSConfiguration") or {}).get("Options") or []
    if below and WITH_CHILDREN not in options:
        raise AwsError(
            "BadRequest", f"Volume {volume['id']} has {len(below)} child volumes; {WITH_CHILDREN} is needed."
        )
    cloud.store.change(call.shelf())
    for one in [volume, *below]:
        one["deleting"] = call.now if one["deleting"] is None else one["deleting"]
    call.effective = True
    return {"VolumeId": volume["id"], "Lifecycle": "DELETING"}


def made(cloud: Cloud, call: Call) -> dict[str, dict[str, Any]]:
    """The volumes below the roots; they go with their file system."""
    systems = fsx.present(cloud, call)
    return {
        identity: one
        for identity, one in cloud.store.read(call.shelf("fsx")).get("volumes", {}).items()
        if one["system"] in systems and (one["deleting"] is None or call.now < one["deleting"] + GOES)
    }


def volume_of(cloud: Cloud, call: Call, identity: str) -> dict[str, Any]:
    volume = _present(cloud, call).get(identity)
    if volume is None:
        raise AwsError("VolumeNotFound", f"Volume '{identity}' does not exist.")
    return volume


def _present(cloud: Cloud, call: Call) -> dict[str, dict[str, Any]]:
    roots, changed = {}, cloud.store.read(call.shelf("fsx")).get("roots", {})
    for system in fsx.present(cloud, call).values():
        if system["wish"]["FileSystemType"] != "OPENZFS":
            continue
        settings = (system["wish"].get("OpenZFSConfiguration") or {}).get("RootVolumeConfiguration") or {}
        roots[system["volume"]] = {
            "id": system["volume"], "name": "fsx", "system": system["id"], "parent": None, "path": "/fsx",
            "settings": changed.get(system["volume"], settings), "began": system["began"],
            "deleting": system["deleting"], "tags": [],
        }  # fmt: skip
    return roots | made(cloud, call)


def _below(cloud: Cloud, call: Call, identity: str) -> Iterator[dict[str, Any]]:
    for one in made(cloud, call).values():
        if one["parent"] == identity and one["deleting"] is None:
            yield one
            yield from _below(cloud, call, one["id"])


def _check(settings: dict[str, Any], system: dict[str, Any]) -> None:
    record = settings.get("RecordSizeKiB")
    if record is not None and record not in RECORD_SIZES:
        raise AwsError("BadRequest", f"RecordSizeKiB {record} is not valid: one of {list(RECORD_SIZES)}.")
    reserved = settings.get("StorageCapacityReservationGiB") or UNLIMITED
    quota = settings.get("StorageCapacityQuotaGiB") or UNLIMITED
    if quota != UNLIMITED and reserved > quota:
        raise AwsError("BadRequest", f"The reservation of {reserved} GiB is larger than the quota of {quota} GiB.")
    size = int(system["wish"].get("StorageCapacity") or 0)
    if reserved > size:
        raise AwsError("BadRequest", f"{reserved} GiB cannot be reserved in a file system of {size} GiB.")


def _lifecycle(call: Call, system: dict[str, Any], volume: dict[str, Any]) -> str:
    if volume["deleting"] is not None or system["deleting"] is not None:
        return "DELETING"
    if volume["parent"] is None:
        return "CREATED" if fsx.lifecycle(call.now, system) == "AVAILABLE" else "CREATING"
    return "AVAILABLE" if call.now >= volume["began"] + COMES else "CREATING"


def _shown(cloud: Cloud, call: Call, volume: dict[str, Any]) -> dict[str, Any]:
    system = fsx.system_of(cloud, call, volume["system"])
    parent = {"ParentVolumeId": volume["parent"]} if volume["parent"] else {}
    return {
        "VolumeId": volume["id"],
        "VolumeType": "OPENZFS",
        "FileSystemId": volume["system"],
        "Lifecycle": _lifecycle(call, system, volume),
        "Name": volume["name"],
        "CreationTime": cloud.clock.shown(volume["began"]),
        "ResourceARN": call.arn("fsx", f"volume/{volume['system']}/{volume['id']}"),
        "OpenZFSConfiguration": {**volume["settings"], **parent, "VolumePath": volume["path"]},
        **({"Tags": volume["tags"]} if volume["tags"] else {}),
    }
