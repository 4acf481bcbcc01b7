"""The resources of a template that are databases: groups of subnets, clusters and their instances, kept as records."""

import secrets
import string
from typing import Any

from clusters.sandbox.cloudformation.records import _change, _drop, _keep, _shelf
from clusters.sandbox.cloudformation.resources import Made, Place, kind
from clusters.sandbox.errors import AwsError

COMES, GOES = 420.0, 240.0  # sandbox seconds; AWS takes some ten minutes for both parts of a database
ZONES = 2
PORT = "3306"


def _subnets(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("DBSubnetGroupName") or place.name(255, lower=True)
    found = place.ask("ec2", "DescribeSubnets", SubnetIds=list(p["SubnetIds"]))["Subnets"]
    if len({subnet["AvailabilityZone"] for subnet in found}) < ZONES:
        message = (
            "The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement. Current AZ coverage is"
            f" {len({subnet['AvailabilityZone'] for subnet in found})}. Add subnets to cover at least {ZONES} AZs."
        )
        raise AwsError("DBSubnetGroupDoesNotCoverEnoughAZs", message, 400)
    _keep(place, "database subnets", name, p)
    return name, {}


def _cluster(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("DBClusterIdentifier") or place.name(63, lower=True)
    if p.get("DBSubnetGroupName") not in _shelf(place, "database subnets"):
        raise AwsError("DBSubnetGroupNotFoundFault", f"DB subnet group {p.get('DBSubnetGroupName')} not found.", 404)
    if p.get("MasterUsername") and not (p.get("MasterUserPassword") or p.get("ManageMasterUserPassword")):
        raise AwsError("InvalidParameterValue", "The parameter MasterUserPassword must be provided.", 400)
    _keep(place, "database", name, p)
    mark = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(12))
    host = f"{name}.cluster-{mark}.{place.region}.rds.amazonaws.com"
    attributes = {
        "DBClusterArn": place.arn("rds", f"cluster:{name}"),
        "Endpoint.Address": host,
        "Endpoint.Port": PORT,
        "ReadEndpoint.Address": host.replace(".cluster-", ".cluster-ro-"),
    }
    return name, attributes


def _instance(place: Place, p: dict[str, Any]) -> Made:
    if p["DBClusterIdentifier"] not in _shelf(place, "database"):
        raise AwsError("DBClusterNotFoundFault", f"DBCluster {p['DBClusterIdentifier']} not found.", 404)
    name = p.get("DBInstanceIdentifier") or place.name(63, lower=True)
    _keep(place, "database instance", name, p)
    return name, {"DBInstanceArn": place.arn("rds", f"db:{name}")}


def _snapshot(place: Place, name: str, p: dict[str, Any]) -> None:
    mark = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(12))
    identity = f"{place.stack}-snapshot-{place.logical}".lower()[:240] + f"-{mark}"
    _keep(place, "database snapshot", identity, {"of": name, "began": place.cloud.now(), **p})


kind("AWS::RDS::DBSubnetGroup", create=_subnets, delete=_drop("database subnets"), update=_change("database subnets"),
     required="DBSubnetGroupDescription SubnetIds", optional="DBSubnetGroupName Tags", comes=4.0)  # fmt: skip
kind("AWS::RDS::DBCluster", create=_cluster, snapshot=_snapshot, delete=_drop("database"), update=_change("database"), comes=COMES, goes=GOES,
     required="Engine", optional="EngineVersion DatabaseName DBClusterIdentifier MasterUsername MasterUserPassword"
     " ManageMasterUserPassword DBSubnetGroupName VpcSecurityGroupIds StorageEncrypted BackupRetentionPeriod"
     " CopyTagsToSnapshot ServerlessV2ScalingConfiguration DeletionProtection Tags",
     attributes="DBClusterArn Endpoint.Address Endpoint.Port ReadEndpoint.Address")  # fmt: skip
kind("AWS::RDS::DBInstance", create=_instance, delete=_drop("database instance"), update=_change("database instance"),
     comes=COMES, goes=GOES, required="DBInstanceClass DBClusterIdentifier",
     optional="DBInstanceIdentifier Engine PubliclyAccessible Tags", attributes="DBInstanceArn")  # fmt: skip
