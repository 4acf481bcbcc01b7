"""The resources of a template that hold data or run clusters: buckets, file systems and their links, EKS."""

import hashlib
import json
from typing import Any

from clusters.sandbox import eks, fsx
from clusters.sandbox.cloudformation.resources import Made, Place, kind, truth, typed

FSX_NUMBERS = (
    "StorageCapacity PerUnitStorageThroughput ThroughputCapacity AutomaticBackupRetentionDays Iops RecordSizeKiB"
    " StorageCapacityQuotaGiB Id ImportedFileChunkSize SizeInBytes"
).split()
FSX_TRUTHS = (
    "CopyTagsToBackups CopyTagsToVolumes ReadOnly CopyTagsToSnapshots EfaEnabled BatchImportMetaDataOnCreate".split()
)


def _bucket(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("BucketName") or place.name(63, lower=True)
    where = {} if place.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": place.region}}
    place.ask("s3", "CreateBucket", Bucket=name, **where)
    if p.get("VersioningConfiguration"):
        place.ask("s3", "PutBucketVersioning", Bucket=name, VersioningConfiguration=p["VersioningConfiguration"])
    block = p.get("PublicAccessBlockConfiguration")
    if block:
        rule = {key: truth(value) for key, value in block.items()}
        place.ask("s3", "PutPublicAccessBlock", Bucket=name, PublicAccessBlockConfiguration=rule)
    tags = place.plain_tags(p.get("Tags"))
    if tags:
        place.ask("s3", "PutBucketTagging", Bucket=name, Tagging={"TagSet": tags})
    attributes = {
        "Arn": f"arn:aws:s3:::{name}",
        "DomainName": f"{name}.s3.amazonaws.com",
        "RegionalDomainName": f"{name}.s3.{place.region}.amazonaws.com",
    }
    return name, attributes


def _delete_bucket(place: Place, name: str, _: dict[str, Any]) -> None:
    place.ask("s3", "DeleteBucket", Bucket=name)


def _bucket_policy(place: Place, p: dict[str, Any]) -> Made:
    place.ask("s3", "PutBucketPolicy", Bucket=p["Bucket"], Policy=json.dumps(p["PolicyDocument"]))
    return p["Bucket"], {}


def _change_bucket_policy(place: Place, bucket: str, _: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    place.ask("s3", "PutBucketPolicy", Bucket=bucket, Policy=json.dumps(new["PolicyDocument"]))
    return {}


def _delete_bucket_policy(place: Place, bucket: str, _: dict[str, Any]) -> None:
    place.ask("s3", "DeleteBucketPolicy", Bucket=bucket)


def _file_system(place: Place, p: dict[str, Any]) -> Made:
    wish = typed({key: value for key, value in p.items() if key != "Tags"}, tuple(FSX_NUMBERS), tuple(FSX_TRUTHS))
    tags = place.plain_tags(p.get("Tags"))
    # Also of what it is asked for: the one that replaces another is no repetition of it.
    wished = hashlib.sha256(json.dumps(p, sort_keys=True).encode()).hexdigest()[:8]
    token = f"{place.stack_id.rsplit('/', 1)[-1]}-{wished}-{place.logical}"[:63]
    made = place.ask("fsx", "CreateFileSystem", ClientRequestToken=token, Tags=tags or None, **wish)["FileSystem"]
    attributes = {"DNSName": made["DNSName"], "ResourceARN": made["ResourceARN"]}
    if "LustreConfiguration" in made:
        attributes["LustreMountName"] = made["LustreConfiguration"]["MountName"]
    if "OpenZFSConfiguration" in made:
        attributes["RootVolumeId"] = made["OpenZFSConfiguration"]["RootVolumeId"]
    return made["FileSystemId"], attributes


# From the reference of AWS::FSx::FileSystem, column "Update requires": everything else of it is a replacement.
IN_PLACE = {
    "LustreConfiguration": frozenset(
        "PerUnitStorageThroughput AutomaticBackupRetentionDays DailyAutomaticBackupStartTime DataCompressionType"
        " WeeklyMaintenanceStartTime MetadataConfiguration".split()
    ),
    "OpenZFSConfiguration": frozenset(
        "ThroughputCapacity AutomaticBackupRetentionDays CopyTagsToBackups CopyTagsToVolumes DiskIopsConfiguration"
        " DailyAutomaticBackupStartTime WeeklyMaintenanceStartTime".split()
    ),
}


def _changed(old: dict[str, Any], new: dict[str, Any]) -> set[str]:
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}


def _stays_the_same_file_system(old: dict[str, Any], new: dict[str, Any]) -> bool:
    for name in _changed(old, new) - {"StorageCapacity", "Tags"}:
        inner = _changed(old.get(name) or {}, new.get(name) or {}) if name in IN_PLACE else set()
        if name not in IN_PLACE or inner - IN_PLACE[name]:
            return False
    # Another throughput of a scratch or a first-generation file system would need another one.
    before, after = (each.get("LustreConfiguration") or {} for each in (old, new))
    return "PerUnitStorageThroughput" not in _changed(before, after) or after.get("DeploymentType") == "PERSISTENT_2"


def _change_file_system(place: Place, identity: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    for name in _changed(old, new) - {"Tags"}:
        inner = _changed(old.get(name) or {}, new[name]) if name in IN_PLACE else set()
        asked[name] = {key: new[name][key] for key in inner if key in new[name]} if inner else new[name]
    if asked:
        wish = typed(asked, tuple(FSX_NUMBERS), tuple(FSX_TRUTHS))
        place.ask("fsx", "UpdateFileSystem", FileSystemId=identity, **wish)
    return {}


def _delete_file_system(place: Place, identity: str, _: dict[str, Any]) -> None:
    place.ask("fsx", "DeleteFileSystem", FileSystemId=identity, ClientRequestToken=identity)


def _link(place: Place, p: dict[str, Any]) -> Made:
    wish = typed({key: value for key, value in p.items() if key != "Tags"}, tuple(FSX_NUMBERS), tuple(FSX_TRUTHS))
    token = f"{place.stack_id.rsplit('/', 1)[-1]}-{place.logical}"[:63]
    made = place.ask("fsx", "CreateDataRepositoryAssociation", ClientRequestToken=token, **wish)["Association"]
    return made["AssociationId"], {"AssociationId": made["AssociationId"], "ResourceARN": made["ResourceARN"]}


def _delete_link(place: Place, identity: str, _: dict[str, Any]) -> None:
    place.ask("fsx", "DeleteDataRepositoryAssociation", AssociationId=identity, ClientRequestToken=identity)


def _camel(value: Any) -> Any:
    """The registry's names are the API's with a capital."""
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _camel(inner) for key, inner in value.items()}
    return [_camel(inner) for inner in value] if isinstance(value, list) else value


def _map(tags: list[dict[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}


EKS_TRUTHS = ("EndpointPublicAccess", "EndpointPrivateAccess", "BootstrapClusterCreatorAdminPermissions", "Enabled")


def _cluster(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("Name") or place.name(100)
    wish = _camel(
        typed({key: value for key, value in p.items() if key not in ("Tags", "Name", "Logging")}, (), EKS_TRUTHS)
    )
    if "version" in wish:
        wish["version"] = str(wish["version"])
    wished = hashlib.sha256(json.dumps(p, sort_keys=True).encode()).hexdigest()[:8]
    token = f"{place.stack_id.rsplit('/', 1)[-1]}-{wished}-{place.logical}"[:63]
    tags = _map(place.plain_tags(p.get("Tags")))
    place.ask("eks", "CreateCluster", name=name, clientRequestToken=token, tags=tags or None, **wish)
    # The attributes that exist only when it is active are known now: they follow from what was stored.
    with place.cloud.at(place.cloud.now() + eks.COMES):
        made = place.ask("eks", "DescribeCluster", name=name)["cluster"]
    attributes = {
        "Arn": made["arn"],
        "Id": name,
        "Endpoint": made["endpoint"],
        "ClusterSecurityGroupId": made["resourcesVpcConfig"]["clusterSecurityGroupId"],
        "OpenIdConnectIssuerUrl": made["identity"]["oidc"]["issuer"],
        "CertificateAuthorityData": made["certificateAuthority"]["data"],
    }
    return name, attributes


def _stays_the_same_cluster(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """From the reference of AWS::EKS::Cluster: these are changed in place, everything else is a replacement."""
    return _changed(old, new) <= {"Version", "Logging", "Tags", "UpgradePolicy"}


def _change_cluster(place: Place, name: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    if old.get("Version") != new.get("Version"):
        place.ask("eks", "UpdateClusterVersion", name=name, version=str(new["Version"]))
    return {}


def _delete_cluster(place: Place, name: str, _: dict[str, Any]) -> None:
    place.ask("eks", "DeleteCluster", name=name)


def _entry(place: Place, p: dict[str, Any]) -> Made:
    names = {"ClusterName", "PrincipalArn", "Type", "KubernetesGroups", "Username"}
    wish = _camel({key: value for key, value in p.items() if key in names})
    place.ask("eks", "CreateAccessEntry", **wish)
    for policy in p.get("AccessPolicies") or []:
        place.ask(
            "eks", "AssociateAccessPolicy", clusterName=p["ClusterName"], principalArn=p["PrincipalArn"],
            policyArn=policy["PolicyArn"], accessScope=_camel(policy["AccessScope"]),
        )  # fmt: skip
    return f"{p['PrincipalArn']}|{p['ClusterName']}", {"AccessEntryArn": p["PrincipalArn"]}


def _delete_entry(place: Place, _: str, p: dict[str, Any]) -> None:
    place.ask("eks", "DeleteAccessEntry", clusterName=p["ClusterName"], principalArn=p["PrincipalArn"])


def _addon(place: Place, p: dict[str, Any]) -> Made:
    names = {
        "ClusterName",
        "AddonName",
        "AddonVersion",
        "ServiceAccountRoleArn",
        "ResolveConflicts",
        "ConfigurationValues",
    }
    made = place.ask("eks", "CreateAddon", **_camel({key: value for key, value in p.items() if key in names}))
    return f"{p['ClusterName']}|{p['AddonName']}", {"Arn": made["addon"]["addonArn"]}


def _delete_addon(place: Place, _: str, p: dict[str, Any]) -> None:
    place.ask("eks", "DeleteAddon", clusterName=p["ClusterName"], addonName=p["AddonName"])


def _file_system_comes(p: dict[str, Any]) -> float:
    return fsx.LUSTRE_COMES if p.get("FileSystemType") == "LUSTRE" else fsx.OPENZFS_COMES


kind("AWS::S3::Bucket", create=_bucket, delete=_delete_bucket, attributes="Arn DomainName RegionalDomainName", comes=23.0,
     optional="BucketName VersioningConfiguration PublicAccessBlockConfiguration BucketEncryption LifecycleConfiguration"
     " OwnershipControls Tags")  # fmt: skip
kind("AWS::S3::BucketPolicy", create=_bucket_policy, delete=_delete_bucket_policy, update=_change_bucket_policy,
     required="Bucket PolicyDocument", comes=2.0)  # fmt: skip
kind("AWS::FSx::FileSystem", create=_file_system, delete=_delete_file_system, update=_change_file_system,
     in_place=_stays_the_same_file_system, required="FileSystemType SubnetIds",
     optional="StorageCapacity StorageType SecurityGroupIds KmsKeyId LustreConfiguration OpenZFSConfiguration"
     " FileSystemTypeVersion Tags", attributes="DNSName ResourceARN LustreMountName RootVolumeId",
     comes=_file_system_comes, goes=fsx.GOES)  # fmt: skip
kind("AWS::FSx::DataRepositoryAssociation", create=_link, delete=_delete_link, comes=fsx.LINK_COMES, goes=fsx.GOES,
     required="FileSystemId FileSystemPath DataRepositoryPath", attributes="AssociationId ResourceARN",
     optional="BatchImportMetaDataOnCreate ImportedFileChunkSize S3 Tags")  # fmt: skip
kind("AWS::EKS::Cluster", create=_cluster, delete=_delete_cluster, update=_change_cluster,
     in_place=_stays_the_same_cluster, required="RoleArn ResourcesVpcConfig", comes=eks.COMES,
     optional="Name Version AccessConfig Logging KubernetesNetworkConfig EncryptionConfig UpgradePolicy Tags"
     " BootstrapSelfManagedAddons", goes=eks.GOES,
     attributes="Arn Id Endpoint ClusterSecurityGroupId OpenIdConnectIssuerUrl CertificateAuthorityData")  # fmt: skip
kind("AWS::EKS::AccessEntry", create=_entry, delete=_delete_entry, required="ClusterName PrincipalArn", comes=3.0,
     optional="Type KubernetesGroups Username AccessPolicies Tags", attributes="AccessEntryArn")  # fmt: skip
kind("AWS::EKS::Addon", create=_addon, delete=_delete_addon, required="ClusterName AddonName", comes=eks.ADDON_COMES,
     optional="AddonVersion ServiceAccountRoleArn ResolveConflicts ConfigurationValues PodIdentityAssociations"
     " PreserveOnDelete Tags", attributes="Arn")  # fmt: skip
