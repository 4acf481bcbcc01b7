"""Backups of FSx: those that somebody asked for outlive their file system; the daily ones are a matter of its age."""

import secrets
from typing import Any

from clusters.sandbox import fsx
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

DAY = 86_400.0
USED = 0.1  # so much of a file system is on a backup


@operation("fsx", "CreateBackup")
def create_backup(cloud: Cloud, call: Call) -> dict[str, Any]:
    system = fsx.system_of(cloud, call, call.parameters.get("FileSystemId") or "")
    backup = {
        "id": "backup-" + secrets.token_hex(9)[:17],
        "kind": "USER_INITIATED",
        "system": fsx.shown(cloud, call, system),
        "began": call.now,
        "tags": call.parameters.get("Tags") or [],
    }
    cloud.store.change(call.shelf()).setdefault("backups", {})[backup["id"]] = backup
    call.effective = True
    return {"Backup": _shown(cloud, call, backup)}


@operation("fsx", "DescribeBackups")
def describe_backups(cloud: Cloud, call: Call) -> dict[str, Any]:
    found = [*cloud.store.read(call.shelf()).get("backups", {}).values(), *_daily(cloud, call)]
    wanted = call.parameters.get("BackupIds")
    for rule in call.parameters.get("Filters") or []:
        if rule["Name"] == "file-system-id":
            found = [one for one in found if one["system"]["FileSystemId"] in rule["Values"]]
    shown = [_shown(cloud, call, one) for one in found if not wanted or one["id"] in wanted]
    items, more = page(shown, call.parameters)
    return {"Backups": items, **more}


@operation("fsx", "DeleteBackup")
def delete_backup(cloud: Cloud, call: Call) -> dict[str, Any]:
    identity = call.parameters["BackupId"]
    if cloud.store.change(call.shelf()).get("backups", {}).pop(identity, None) is None:
        raise AwsError("BackupNotFound", f"Backup '{identity}' does not exist.")
    return {"BackupId": identity, "Lifecycle": "DELETED"}


def _daily(cloud: Cloud, call: Call) -> list[dict[str, Any]]:
    """One a day of each file system that asks for them, as many as it keeps; they go with the file system."""
    found = []
    for system in fsx.present(cloud, call).values():
        wish = system["wish"]
        settings = wish.get("LustreConfiguration") or wish.get("OpenZFSConfiguration") or {}
        days = int((call.now - system["began"]) // DAY)
        kept = int(settings.get("AutomaticBackupRetentionDays") or 0)
        found += [
            {
                "id": f"backup-{system['id'].removeprefix('fs-')[:13]}{day:04x}",
                "kind": "AUTOMATIC",
                "system": fsx.shown(cloud, call, system),
                "began": system["began"] + day * DAY,
                "tags": system["tags"],
            }
            for day in range(max(1, days - kept + 1), days + 1)
            if kept
        ]
    return found


def _shown(cloud: Cloud, call: Call, backup: dict[str, Any]) -> dict[str, Any]:
    return {
        "BackupId": backup["id"],
        "Lifecycle": "AVAILABLE",
        "Type": backup["kind"],
        "CreationTime": cloud.clock.shown(backup["began"]),
        "ResourceARN": call.arn("fsx", f"backup/{backup['id']}"),
        "FileSystem": backup["system"],
        "SizeInBytes": int(int(backup["system"].get("StorageCapacity") or 0) * USED * 1024**3),
        **({"Tags": backup["tags"]} if backup["tags"] else {}),
    }
