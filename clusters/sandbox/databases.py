"""RDS: the snapshots that stay of databases which were made by templates."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

HELD_GIB = 10  # what the accounts of a cluster come to; Aurora takes no smaller volume
PORT = 3306


def _snapshots(cloud: Cloud, call: Call) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = cloud.store.read(f"records/{call.account}/{call.region}").get(
        "database snapshot", {}
    )
    return found


@operation("rds", "DescribeDBClusterSnapshots")
def describe_snapshots(cloud: Cloud, call: Call) -> dict[str, Any]:
    wanted, of = (call.parameters.get(f"DBCluster{each}Identifier") for each in ("Snapshot", ""))
    known = _snapshots(cloud, call)
    if wanted and wanted not in known:
        raise AwsError("DBClusterSnapshotNotFoundFault", f"DBClusterSnapshot {wanted} not found.", 404)
    shown = [
        _shown(cloud, call, name, made)
        for name, made in sorted(known.items())
        if wanted in (None, name) and of in (None, made["of"])
        and call.parameters.get("SnapshotType") in (None, "manual")
    ]  # fmt: skip
    items, more = page(shown, call.parameters, size="MaxRecords", token="Marker")
    return {"DBClusterSnapshots": items, **more}


@operation("rds", "DeleteDBClusterSnapshot")
def delete_snapshot(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters["DBClusterSnapshotIdentifier"]
    if name not in _snapshots(cloud, call):
        raise AwsError("DBClusterSnapshotNotFoundFault", f"DBClusterSnapshot {name} not found.", 404)
    made = cloud.store.change(f"records/{call.account}/{call.region}")["database snapshot"].pop(name)
    return {"DBClusterSnapshot": _shown(cloud, call, name, made) | {"Status": "deleted"}}


def _shown(cloud: Cloud, call: Call, name: str, made: dict[str, Any]) -> dict[str, Any]:
    return {
        "DBClusterSnapshotIdentifier": name,
        "DBClusterIdentifier": made["of"],
        "DBClusterSnapshotArn": call.arn("rds", f"cluster-snapshot:{name}"),
        "SnapshotCreateTime": cloud.clock.shown(made["began"]),
        "SnapshotType": "manual",
        "Status": "available",
        "Engine": made["Engine"],
        "EngineVersion": str(made.get("EngineVersion") or ""),
        "MasterUsername": made.get("MasterUsername") or "",
        "AllocatedStorage": HELD_GIB,
        "Port": PORT,
        "PercentProgress": 100,
        "StorageEncrypted": str(made.get("StorageEncrypted")).lower() == "true",
        "TagList": [{"Key": tag["Key"], "Value": str(tag["Value"])} for tag in made.get("Tags") or []],
    }
