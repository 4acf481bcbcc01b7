"""Every call that the product can make is answered as the service's own model says, and refused where AWS refuses it.

Which calls those are is read from the product's code, so that a new one without a row fails. What is a proper answer, and
what a broken request, is read from botocore's models.
"""

import ast
import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from clusters import accounts
from clusters.engine import leftovers
from clusters.providers import hyperpod, request_check
from tests.clusters.sandbox.driver import LOG_TEMPLATE, Account, Process, slurm_cluster, slurm_request

ROOT = Path(__file__).parents[3]
MODELS = boto3.Session()
# Calls whose operation is chosen by a table or handed in: where, and which these are.
CHOSEN = {
    ("clusters/providers/hyperpod.py", "'sagemaker'", "CALLS[order]"): [
        ("sagemaker", name) for name in hyperpod.CALLS.values()
    ],
    ("clusters/engine/leftovers.py", "service", "operation"): [
        ("ssm", "GetParameter"),
        ("secretsmanager", "DescribeSecret"),
    ],
}
# The code of a request that is broken by itself, in the words of the services.
INVALID = {
    "ValidationException", "ValidationError", "InvalidParameterValue", "InvalidParameterCombination", "MissingParameter",
    "InvalidParameterException", "InvalidInstanceType", "IllegalArgumentException", "BadRequest", "InvalidRequest",
}  # fmt: skip
LONGEST = 3000  # what is longer than this to be too long is not worth its sending
# moto reads the parameters of S3 from paths and headers; the product sends it bytes under a key. Of EKS it asks for one
# cluster by its name, which is the path itself.
UNCHECKED = {"s3", "eks"}


@dataclass
class Row:
    """One operation: a request that is fine, what it says elsewhere, and what it says of a thing that is not there."""

    service: str
    operation: str
    wish: Callable[["Stage"], dict[str, Any]] = lambda stage: {}
    unknown: dict[str, Any] = field(default_factory=dict)
    code: str = ""  # of the refusal of what is not there, also in another Region and account
    empty: str = ""  # or the list that is then empty

    def __str__(self) -> str:
        return f"{self.service}:{self.operation}"


@dataclass
class Stage:
    """An account with one of everything."""

    account: Account
    made: dict[str, str]
    nodes: list[str]
    arn: str
    group: str
    instance: str
    table: str
    image: str
    request: str
    registry: str
    database: str

    def call(self, row: Row, wish: dict[str, Any]) -> dict[str, Any]:
        """By the role; who assumes it is the hub."""
        return self.sent(row, wish, self.account.hub("sts") if row.service == "sts" else self.account(row.service))

    def sent(self, row: Row, wish: dict[str, Any], client: Any) -> dict[str, Any]:
        name = next(method for method, api in client.meta.method_to_api_mapping.items() if api == row.operation)
        return dict(getattr(client, name)(**wish))


STACK = {"StackName": "cover"}
P5, TRN1 = "L-8762A75F", "L-6865522E"  # of the quota codes in clusters/facts
NODES = lambda stage: {"ClusterName": "hoshi", "NodeIds": stage.nodes[-1:]}
GONE = "i-" + "0" * 17
ROWS = [
    Row("sts", "AssumeRole", lambda s: {"RoleArn": s.account.role_arn, "RoleSessionName": "cover",
                                        "ExternalId": s.account.external_id},
        {"RoleArn": "arn:aws:iam::000000000001:role/Nobody"}, "AccessDenied"),
    Row("eks", "DescribeCluster", lambda s: {"name": "cover"}, {"name": "none"}, "ResourceNotFoundException"),
    Row("cloudformation", "CreateStack", lambda s: STACK | {"TemplateBody": json.dumps(LOG_TEMPLATE)}),
    Row("cloudformation", "DescribeStacks", lambda s: STACK, {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "DescribeStackEvents", lambda s: STACK, {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "ListStackResources", lambda s: STACK, {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "UpdateStack", lambda s: STACK | {"TemplateBody": json.dumps(
        {"Resources": {**LOG_TEMPLATE["Resources"], "More": {"Type": "AWS::Logs::LogGroup"}}})},
        {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "CancelUpdateStack", lambda s: STACK, {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "ContinueUpdateRollback", lambda s: {"StackName": "stuck", "ResourcesToSkip": ["System"]},
        {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "RollbackStack", lambda s: {"StackName": "half"}, {"StackName": "none"}, "ValidationError"),
    Row("cloudformation", "DeleteStack", lambda s: STACK),
    Row("sagemaker", "CreateCluster", lambda s: slurm_request(s.made, "second", 1)),
    Row("sagemaker", "DescribeCluster", lambda s: {"ClusterName": "hoshi"}, {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "ListClusters", lambda s: {"MaxResults": 100}, empty="ClusterSummaries"),
    Row("sagemaker", "ListClusterNodes", lambda s: {"ClusterName": "hoshi", "MaxResults": 100},
        {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "ListClusterEvents", lambda s: {"ClusterName": "hoshi", "SortOrder": "Descending"},
        {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "ListTags", lambda s: {"ResourceArn": s.arn}, {"ResourceArn": "arn:aws:sagemaker:ap-northeast-1:000000000001:cluster/none"},
        "ResourceNotFound"),
    Row("sagemaker", "BatchRebootClusterNodes", NODES, {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "BatchReplaceClusterNodes", NODES, {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "BatchDeleteClusterNodes", lambda s: {"ClusterName": "hoshi", "NodeIds": [GONE]},
        {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "UpdateClusterSoftware", lambda s: {
        "ClusterName": "hoshi", "InstanceGroups": [{"InstanceGroupName": "work"}],
        "DeploymentConfig": {"RollingUpdatePolicy": {"MaximumBatchSize": hyperpod.BATCH}}},
        {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "UpdateCluster", lambda s: {
        "ClusterName": "hoshi", "InstanceGroups": slurm_request(s.made, workers=3)["InstanceGroups"]},
        {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "DeleteCluster", lambda s: {"ClusterName": "hoshi"}, {"ClusterName": "none"}, "ResourceNotFound"),
    Row("sagemaker", "ListTrainingPlans", lambda s: {"MaxResults": 100}, empty="TrainingPlanSummaries"),
    Row("fsx", "DescribeFileSystems", lambda s: {"FileSystemIds": [s.made["System"]]},
        {"FileSystemIds": ["fs-" + "0" * 17]}, "FileSystemNotFound"),
    Row("fsx", "DescribeBackups", lambda s: {"Filters": [{"Name": "file-system-id", "Values": [s.made["System"]]}]},
        empty="Backups"),
    Row("ecr", "DescribeRepositories", lambda s: {"repositoryNames": [s.registry]}, {"repositoryNames": ["none"]},
        "RepositoryNotFoundException"),
    Row("ecr", "ListImages", lambda s: {"repositoryName": s.registry}, {"repositoryName": "none"},
        "RepositoryNotFoundException"),
    Row("rds", "DescribeDBClusterSnapshots", lambda s: {"DBClusterIdentifier": s.database, "SnapshotType": "manual"},
        empty="DBClusterSnapshots"),
    Row("ec2", "DescribeVolumes", lambda s: {"Filters": [{"Name": "tag:cover", "Values": ["yes"]}]}, empty="Volumes"),
    Row("ec2", "DescribeSnapshots", lambda s: {
        "OwnerIds": ["self"], "Filters": [{"Name": "tag:cover", "Values": ["yes"]}]}, empty="Snapshots"),
    Row("ec2", "DescribeCapacityReservations", lambda s: {"MaxResults": 100}, empty="CapacityReservations"),
    Row("ec2", "DescribeInstances", lambda s: {"Filters": [{"Name": "instance-id", "Values": [s.instance]}]},
        empty="Reservations"),
    Row("ec2", "DescribeNetworkInterfaces", lambda s: {"Filters": [{"Name": "vpc-id", "Values": [s.made["Vpc"]]}]},
        empty="NetworkInterfaces"),
    Row("ec2", "DescribeSecurityGroups", lambda s: {"Filters": [{"Name": "vpc-id", "Values": [s.made["Vpc"]]}]},
        empty="SecurityGroups"),
    Row("ec2", "TerminateInstances", lambda s: {"InstanceIds": [s.instance]}, {"InstanceIds": [GONE]},
        "InvalidInstanceID.NotFound"),
    Row("dynamodb", "GetItem", lambda s: {"TableName": s.table, "Key": {"Id": {"S": "COMPUTE_FLEET"}}},
        {"TableName": "parallelcluster-none"}, "ResourceNotFoundException"),
    Row("s3", "ListBuckets"),
    Row("s3", "PutObject", lambda s: {"Bucket": s.made["Bucket"], "Key": "run/more.sh", "Body": b"#!/bin/bash\n"},
        {"Bucket": "sagemaker-none"}, "NoSuchBucket"),
    Row("ssm", "GetParameter", lambda s: {"Name": "/cohort/clusters/hoshi/slurm"}, {"Name": "/none"}, "ParameterNotFound"),
    Row("secretsmanager", "GetSecretValue", lambda s: {"SecretId": "cohort/clusters/hoshi/slurm-jwt"},
        {"SecretId": "none"}, "ResourceNotFoundException"),
    Row("secretsmanager", "CreateSecret", lambda s: {
        "Name": "cohort/clusters/hoshi/agent", "SecretString": "{}", "Tags": [{"Key": "cohort:tenant", "Value": "hoshi"}]}),
    Row("secretsmanager", "PutSecretValue", lambda s: {
        "SecretId": "cohort/clusters/hoshi/slurm-jwt", "SecretString": "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg="},
        {"SecretId": "none"}, "ResourceNotFoundException"),
    Row("secretsmanager", "DescribeSecret", lambda s: {"SecretId": "cohort/clusters/hoshi/slurm-jwt"},
        {"SecretId": "none"}, "ResourceNotFoundException"),
    Row("logs", "DescribeLogGroups", lambda s: {"logGroupNamePrefix": s.group}, empty="logGroups"),
    Row("logs", "GetLogEvents", lambda s: {"logGroupName": s.group, "logStreamName": "1", "limit": 10, "startFromHead": False},
        {"logGroupName": "/none"}, "ResourceNotFoundException"),
    Row("logs", "FilterLogEvents", lambda s: {"logGroupName": s.group, "logStreamNamePrefix": "1", "startTime": 0},
        {"logGroupName": "/none"}, "ResourceNotFoundException"),
    Row("service-quotas", "ListServiceQuotas", lambda s: {"ServiceCode": "sagemaker", "MaxResults": 100},
        {"ServiceCode": "none"}),
    Row("ec2", "DescribeAvailabilityZones", lambda s: {"AllAvailabilityZones": False}),
    Row("ec2", "DescribeVpcs"),
    Row("ec2", "DescribeNatGateways", empty="NatGateways"),
    Row("ec2", "DescribeAddresses", empty="Addresses"),
    Row("ec2", "DescribeRouteTables", lambda s: {"Filters": [{"Name": "vpc-id", "Values": [s.made["Vpc"]]}]},
        empty="RouteTables"),
    Row("ec2", "DescribeVpcEndpoints", lambda s: {"Filters": [{"Name": "vpc-id", "Values": [s.made["Vpc"]]}]},
        empty="VpcEndpoints"),
    Row("sso-admin", "ListInstances"),
    Row("iam", "ListRoles", lambda s: {"PathPrefix": "/aws-service-role/", "MaxItems": 1000}),
    Row("iam", "SimulatePrincipalPolicy", lambda s: {
        "PolicySourceArn": s.account.role_arn, "ActionNames": ["ec2:CreateVpc"], "MaxItems": 1000},
        {"PolicySourceArn": "arn:aws:iam::000000000001:role/Nobody"}),
    Row("service-quotas", "RequestServiceQuotaIncrease", lambda s: {
        "ServiceCode": "sagemaker", "QuotaCode": P5, "DesiredValue": 64.0}, {"QuotaCode": "L-00000000"}),
    Row("service-quotas", "ListRequestedServiceQuotaChangeHistory", lambda s: {"ServiceCode": "sagemaker"},
        empty="RequestedQuotas"),
    Row("service-quotas", "GetRequestedServiceQuotaChange", lambda s: {"RequestId": s.request},
        {"RequestId": "0" * 32}, "NoSuchResourceException"),
    Row("cloudformation", "DescribeStackResources", lambda s: {"StackName": "net"}, {"StackName": "none"}, "ValidationError"),
    Row("dynamodb", "UpdateItem", lambda s: {
        "TableName": s.table, "Key": {"Id": {"S": "COMPUTE_FLEET"}}, "UpdateExpression": "set #dt.#st = :s",
        "ExpressionAttributeNames": {"#dt": "Data", "#st": "status"},
        "ExpressionAttributeValues": {":s": {"S": "STOP_REQUESTED"}}},
        {"TableName": "parallelcluster-none"}, "ResourceNotFoundException"),
    Row("ec2", "DescribeImages", lambda s: {"ImageIds": [s.image]}, {"ImageIds": ["ami-" + "0" * 17]}),
    Row("ec2", "DescribeInstanceTypeOfferings", lambda s: {"LocationType": "availability-zone-id"}),
    Row("ec2", "DescribeInstanceTypes", lambda s: {"InstanceTypes": ["p5.48xlarge"]}, {"InstanceTypes": ["p99.large"]}),
    Row("ec2", "DescribeSubnets", lambda s: {"SubnetIds": [s.made["Subnet"]]}, {"SubnetIds": ["subnet-" + "0" * 17]},
        "InvalidSubnetID.NotFound"),
    Row("ec2", "RunInstances", lambda s: {"ImageId": s.image, "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1,
                                          "SubnetId": s.made["Subnet"]},
        {"SubnetId": "subnet-" + "0" * 17}, "InvalidSubnetID.NotFound"),
    Row("iam", "GetPolicy", lambda s: {"PolicyArn": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"},
        {"PolicyArn": "arn:aws:iam::aws:policy/NobodyEverWroteThis"}),
    Row("s3", "CreateBucket", lambda s: {
        "Bucket": f"cover-{s.account.id}", "CreateBucketConfiguration": {"LocationConstraint": s.account.region}}),
    Row("s3", "HeadBucket", lambda s: {"Bucket": s.made["Bucket"]}, {"Bucket": "sagemaker-none"}, "404"),
    Row("s3", "HeadObject", lambda s: {"Bucket": s.made["Bucket"], "Key": "run/on_create.sh"}, {"Key": "none"}, "404"),
    Row("s3", "GetObject", lambda s: {"Bucket": s.made["Bucket"], "Key": "run/on_create.sh"}, {"Key": "none"}, "NoSuchKey"),
    Row("s3", "ListObjectVersions", lambda s: {"Bucket": s.made["Bucket"]}, {"Bucket": "sagemaker-none"}, "NoSuchBucket"),
    Row("s3", "PutBucketVersioning", lambda s: {
        "Bucket": s.made["Bucket"], "VersioningConfiguration": {"Status": "Enabled"}}, {"Bucket": "sagemaker-none"}, "NoSuchBucket"),
    Row("s3", "PutBucketEncryption", lambda s: {
        "Bucket": s.made["Bucket"], "ServerSideEncryptionConfiguration": {
            "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}},
        {"Bucket": "sagemaker-none"}, "NoSuchBucket"),
    Row("s3", "PutBucketPolicy", lambda s: {"Bucket": s.made["Bucket"], "Policy": json.dumps({
        "Version": "2012-10-17", "Statement": [{
            "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": f"arn:aws:s3:::{s.made['Bucket']}/*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]})},
        {"Bucket": "sagemaker-none"}, "NoSuchBucket"),
    Row("s3", "DeleteObjects", lambda s: {"Bucket": s.made["Bucket"], "Delete": {"Objects": [{"Key": "run/more.sh"}]}},
        {"Bucket": "sagemaker-none"}, "NoSuchBucket"),
    Row("sts", "GetCallerIdentity"),
]  # fmt: skip
# What ParallelCluster's own program calls for us, as the sandbox's journal told of creations, updates, fleets and deletions;
# `tests/contracts` looks whether it called anything else.
OF_PARALLELCLUSTER = {
    (row.service, row.operation)
    for row in ROWS[[str(row) for row in ROWS].index("cloudformation:DescribeStackResources") :]
}
# What belongs to nobody, or to each: it is the same in another account.
NOBODYS = {
    "service-quotas": {"NoSuchResourceException"}, "iam": {"NoSuchEntity"}, "ec2": {"InvalidAMIID.NotFound", "InvalidInstanceType"},
}  # fmt: skip
ALSO = {"RunInstances": {"InvalidAMIID.NotFound"}}  # which of two things that are not there is named first
GLOBAL = {"sts", "s3", "iam"}  # hides nothing from a Region


def made_by_the_product() -> dict[tuple[str, str], str]:
    """Every call in the code: (service, operation) -> where."""
    found: dict[tuple[str, str], str] = {}
    for layer in ("tenants", "clusters", "support", "program"):
        for path in (ROOT / layer).rglob("*.py"):
            if "sandbox" not in path.parts:
                name = str(path.relative_to(ROOT))
                found |= dict.fromkeys(_calls(name, path.read_text()), name)
    return found


def _calls(name: str, text: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(text)):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        # The door itself hands on what it was told, and makes one call of its own.
        own = name == "clusters/providers/aws.py" and called == "call" and isinstance(node.args[2], ast.Constant)
        if own or re.fullmatch(r"aws\.(call|pages)", called):
            service, operation = (ast.unparse(word) for word in node.args[1:3])
            if (name, service, operation) in CHOSEN:
                yield from CHOSEN[name, service, operation]
            else:
                yield ast.literal_eval(service), ast.literal_eval(operation)
        if isinstance(node, ast.Attribute) and node.attr == "assume_role":
            yield "sts", "AssumeRole"


def test_every_call_of_the_product_has_its_row() -> None:
    calls, rows = made_by_the_product(), {(row.service, row.operation) for row in ROWS}
    assert {call: where for call, where in calls.items() if call not in rows} == {}
    assert rows - set(calls) - OF_PARALLELCLUSTER == set(), "nobody makes these any more"
    assert set(CHOSEN[next(key for key in CHOSEN if "leftovers" in key[0])]) == {
        tuple(re.findall(r'"(\w+)", "(\w+)"', line)[0])
        for line in Path(leftovers.__file__).read_text().splitlines()
        if "_there(account," in line
    }


def test_the_role_that_owners_are_given_allows_every_call_of_the_product() -> None:
    prefix = {"service-quotas": "servicequotas", "sso-admin": "sso", "amp": "aps"}
    calls = {f"{prefix.get(service, service)}:{operation}" for service, operation in made_by_the_product()}
    allowed = accounts.permissions()["Statement"][0]["Action"]
    assert {call for call in calls if not any(fnmatchcase(call, each) for each in allowed)} == set()


@pytest.fixture(scope="module")
def stage(cloud: Process) -> Stage:
    account = Account(cloud).open_for_the_hub()
    slurm = slurm_cluster(account, NodeProvisioningMode="Continuous")  # which alone tells events
    made = account.outputs("net")
    made["System"] = account("fsx").create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[made["Subnet"]],
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
    )["FileSystem"]["FileSystemId"]  # fmt: skip
    account("fsx").create_backup(FileSystemId=made["System"])
    _kept_disks(account)
    slurm.submit("echo seen", name="seen")
    account.stack("kept", KEPT)
    _kubernetes(account)
    account.stack("stuck", _growing(made["Subnet"], 1200))
    cloud.fault("resource_fails", service="cloudformation", account=account.id, match="Half")
    account.stack("half", {"Resources": {"Half": LOG_TEMPLATE["Resources"]["Log"]}}, OnFailure="DO_NOTHING")
    cloud.advance(900)
    _stop_half_way(account, made["Subnet"])
    database = _deleted_database(account)
    nodes = account("sagemaker").list_cluster_nodes(ClusterName="hoshi")["ClusterNodeSummaries"]
    table = "parallelcluster-cover"
    account("dynamodb").create_table(
        TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "S"}],
    )  # fmt: skip
    item = {"Id": {"S": "COMPUTE_FLEET"}, "Data": {"M": {"status": {"S": "RUNNING"}}}}
    account("dynamodb").put_item(TableName=table, Item=item)
    image = account("ec2").describe_images()["Images"][0]["ImageId"]
    instance = account("ec2").run_instances(
        ImageId=image, InstanceType="m5.large", MinCount=1, MaxCount=1, SubnetId=made["Subnet"]
    )["Instances"][0]["InstanceId"]  # fmt: skip
    arn = account("sagemaker").describe_cluster(ClusterName="hoshi")["ClusterArn"]
    request = account("service-quotas").request_service_quota_increase(
        ServiceCode="sagemaker", QuotaCode=TRN1, DesiredValue=40.0
    )["RequestedQuota"]["Id"]
    # In the cloud's own order: the head comes first.
    ids = [node["InstanceId"] for node in nodes]
    return Stage(account, made, ids, arn, slurm.log_group, instance, table, image, request, "cover-images", database)


def _kubernetes(account: Account) -> None:
    ranges = [{"Name": "cidr-block", "Values": ["10.9.0.0/24", "10.9.1.0/24"]}]
    subnets = [each["SubnetId"] for each in account("ec2").describe_subnets(Filters=ranges)["Subnets"]]
    account("eks").create_cluster(
        name="cover", roleArn=account.outputs("net")["Role"], resourcesVpcConfig={"subnetIds": subnets}, tags={"a": "b"}
    )


KEPT: dict[str, Any] = {
    "Resources": {
        "Images": {"Type": "AWS::ECR::Repository", "Properties": {"RepositoryName": "cover-images"}},
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.9.0.0/16"}},
        **{
            f"Net{zone}": {
                "Type": "AWS::EC2::Subnet",
                "Properties": {
                    "VpcId": {"Ref": "Vpc"}, "CidrBlock": f"10.9.{number}.0/24", "AvailabilityZone": f"ap-northeast-1{zone}",
                },
            }
            for number, zone in enumerate("ac")
        },
        "Subnets": {
            "Type": "AWS::RDS::DBSubnetGroup",
            "Properties": {"DBSubnetGroupDescription": "two", "SubnetIds": [{"Ref": "Neta"}, {"Ref": "Netc"}]},
        },
        "Accounts": {
            "Type": "AWS::RDS::DBCluster",
            "DeletionPolicy": "Snapshot",
            "Properties": {"Engine": "aurora-mysql", "DBSubnetGroupName": {"Ref": "Subnets"}},
        },
    },
}  # fmt: skip


def _deleted_database(account: Account) -> str:
    """The snapshot of a database stays when its stack goes, and a registry too where somebody took it out of the stack."""
    resources = account("cloudformation").list_stack_resources(StackName="kept")["StackResourceSummaries"]
    name = next(one["PhysicalResourceId"] for one in resources if one["ResourceType"] == "AWS::RDS::DBCluster")
    without = {key: value for key, value in KEPT["Resources"].items() if key != "Accounts"}
    account("cloudformation").update_stack(StackName="kept", TemplateBody=json.dumps({"Resources": without}))
    account.cloud.advance(900)
    account("ecr").put_image(repositoryName="cover-images", imageManifest="{}", imageTag="v1")
    return str(name)


def _kept_disks(account: Account) -> None:
    """A volume that nothing holds, and a snapshot of it."""
    ec2, tags = account("ec2"), [{"Key": "cover", "Value": "yes"}]
    volume = ec2.create_volume(
        AvailabilityZone="ap-northeast-1a", Size=8, TagSpecifications=[{"ResourceType": "volume", "Tags": tags}]
    )["VolumeId"]
    ec2.create_snapshot(VolumeId=volume, TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags}])


def _growing(subnet: str, size: int, **more: Any) -> dict[str, Any]:
    lustre = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250}
    properties = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": size,
        "SubnetIds": [subnet],
        "LustreConfiguration": lustre,
    }
    return {"Resources": {"System": {"Type": "AWS::FSx::FileSystem", "Properties": properties}, **more}}


def _stop_half_way(account: Account, subnet: str) -> None:
    """A file system grows, the next resource fails, and no file system shrinks again."""
    account.cloud.fault("resource_fails", service="cloudformation", account=account.id, match="Zz")
    body = json.dumps(_growing(subnet, 4800, Zz=LOG_TEMPLATE["Resources"]["Log"]))
    account("cloudformation").update_stack(StackName="stuck", TemplateBody=body)
    account.cloud.advance(120)
    assert account.stack_status("stuck") == "UPDATE_ROLLBACK_FAILED"
    assert account.stack_status("half") == "CREATE_FAILED"


@pytest.fixture(scope="module")
def stranger(stage: Stage) -> Account:
    return Account(stage.account.cloud).open_for_the_hub()


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_it_refuses_what_the_model_forbids(stage: Stage, row: Row) -> None:
    if row.service in UNCHECKED:
        return
    wish = row.wish(stage)
    for what, broken in breakages(row, wish):
        with pytest.raises(ClientError) as refused:
            stage.call(row, broken)
        told = refused.value.response
        assert told["Error"]["Code"] in INVALID, (what, told)
        assert told["ResponseMetadata"]["HTTPStatusCode"] == 400, (what, told)


@pytest.mark.parametrize("row", [row for row in ROWS if row.unknown], ids=str)
def test_what_is_not_there_is_not_found(stage: Stage, row: Row) -> None:
    with pytest.raises(ClientError) as refused:
        stage.call(row, row.wish(stage) | row.unknown)
    assert refused.value.response["Error"]["Code"] in ({row.code} if row.code else NOBODYS[row.service])


@pytest.mark.parametrize("row", [row for row in ROWS if (row.code or row.empty) and row.service != "sts"], ids=str)
def test_another_account_and_another_region_know_nothing_of_it(stage: Stage, stranger: Account, row: Row) -> None:
    """Buckets share one namespace, so another account is not let in, and a Region hides nothing."""
    wish = row.wish(stage)
    other = Account(stage.account.cloud, stage.account.id, "us-east-2", keys=stage.account.keys)
    for whose in [stranger, *([] if row.service in GLOBAL else [other])]:
        try:
            said = stage.sent(row, wish, whose(row.service))
        except ClientError as refused:
            codes = {"AccessDenied", "403"} if row.service == "s3" else {row.code, *ALSO.get(row.operation, ())}
            assert refused.response["Error"]["Code"] in codes, refused
        else:
            assert row.empty and said[row.empty] == [], said


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_answer_is_what_the_model_says(stage: Stage, row: Row) -> None:
    """In this order: what deletes comes after what looks."""
    if row.operation in ("UpdateCluster", "UpdateClusterSoftware", "DeleteCluster", "UpdateStack", "DeleteStack"):
        stage.account.cloud.advance(3600)  # whatever was asked for before is over
    said = stage.call(row, row.wish(stage))
    shape = (
        MODELS.client(row.service, region_name="us-east-1", **KEYS)
        .meta.service_model.operation_model(row.operation)
        .output_shape
    )
    said.pop("ResponseMetadata")
    if shape is None:
        assert not said
        return
    said = without_streams(shape, said)
    report = ParamValidator().validate(said, shape)
    assert not report.has_errors(), report.generate_report()
    assert list(request_check.misfits(shape, said, row.operation)) == []


KEYS = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}


def without_streams(shape: Any, said: dict[str, Any]) -> dict[str, Any]:
    """Times that were read are times; a model does not say how they are checked."""
    return {name: value for name, value in said.items() if name in shape.members}


def breakages(row: Row, wish: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The request, broken in one place each; only what the model itself says is broken."""
    shape = (
        MODELS.client(row.service, region_name="us-east-1", **KEYS)
        .meta.service_model.operation_model(row.operation)
        .input_shape
    )
    seen = set()
    for path, change in _breaks(shape, wish, ()):
        label = (tuple(word for word in path if isinstance(word, str)), change[0])
        broken = copy.deepcopy(wish)
        if label in seen or not _put(broken, path, change):
            continue
        seen.add(label)
        report = ParamValidator().validate(broken, shape)
        if report.has_errors() or list(request_check.misfits(shape, broken, "")):
            yield f"{'.'.join(map(str, path))}: {change[0]}", broken


def _breaks(shape: Any, value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], tuple[str, Any]]]:
    if shape.type_name == "structure":
        for name in shape.required_members:
            yield (*path, name), ("missing", None)
        for name, inner in value.items():
            yield from _breaks(shape.members[name], inner, (*path, name))
    elif shape.type_name == "list":
        for number, inner in enumerate(value[:1]):
            yield from _breaks(shape.member, inner, (*path, number))
        if shape.metadata.get("min"):
            yield path, ("too few", [])
    elif shape.type_name == "string":
        if shape.enum:
            yield path, ("none of the values", "Nonsense")
        if shape.metadata.get("pattern"):
            yield path, ("not of the pattern", "¿no? ")
        if shape.metadata.get("max", LONGEST) < LONGEST:
            yield path, ("too long", "x" * (shape.metadata["max"] + 1))
    elif shape.type_name in ("integer", "long", "double"):
        if "max" in shape.metadata:
            yield path, ("too much", int(shape.metadata["max"]) + 1)
        if "min" in shape.metadata:
            yield path, ("too little", int(shape.metadata["min"]) - 1)


def _put(wish: Any, path: tuple[Any, ...], change: tuple[str, Any]) -> bool:
    for word in path[:-1]:
        wish = wish[word]
    if change[0] == "missing":
        wish.pop(path[-1], None)
    elif path:
        wish[path[-1]] = change[1]
    return True
