"""The resources of a template that are machines, or that wait for one: launch templates, instances, tables, nested stacks."""

import dataclasses
import re
from typing import Any

from moto.core.utils import get_service_model

from clusters.sandbox.cloudformation import resources
from clusters.sandbox.cloudformation.resources import Anything, Made, Place, kind, truth
from clusters.sandbox.errors import AwsError

# A template may name the newest image of a distribution instead of one image.
NEWEST_IMAGE = re.compile(
    r"\{\{resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64(:\d+)?\}\}"
)
AMAZON_LINUX = "ami-0c0000000000000a1"
BOOTSTRAP = 480.0  # sandbox seconds until a head node signals that it is set up
NESTED = 170.0


def shaped(service: str, operation: str, wish: dict[str, Any]) -> dict[str, Any]:
    """A resolved template has text where the API wants numbers and truth values; its model says where."""
    shape = get_service_model(service).operation_model(operation).input_shape
    return dict(_shaped(shape, wish))


def _shaped(shape: Any, value: Any) -> Any:
    if shape.type_name == "structure" and isinstance(value, dict):
        return {key: _shaped(shape.members[key], inner) for key, inner in value.items() if key in shape.members}
    if shape.type_name == "list" and isinstance(value, list):
        return [_shaped(shape.member, inner) for inner in value]
    if shape.type_name in ("integer", "long"):
        return resources.whole(value)
    if shape.type_name == "boolean":
        return truth(value)
    return NEWEST_IMAGE.sub(AMAZON_LINUX, str(value)) if shape.type_name == "string" else value


def _template(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("LaunchTemplateName") or place.name(125)
    wish = shaped(
        "ec2", "CreateLaunchTemplate", {"LaunchTemplateName": name, "LaunchTemplateData": p["LaunchTemplateData"]}
    )
    made = place.ask("ec2", "CreateLaunchTemplate", **wish)["LaunchTemplate"]
    return made["LaunchTemplateId"], _versions(made)


def _versions(made: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: str(made[name]) for name in ("LatestVersionNumber", "DefaultVersionNumber") if name in made}
    return {**numbers, "LaunchTemplateId": made["LaunchTemplateId"]}


def _change_template(place: Place, identity: str, _: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    wish = {"LaunchTemplateId": identity, "LaunchTemplateData": new["LaunchTemplateData"]}
    place.ask("ec2", "CreateLaunchTemplateVersion", **shaped("ec2", "CreateLaunchTemplateVersion", wish))
    known = place.ask("ec2", "DescribeLaunchTemplates", LaunchTemplateIds=[identity])["LaunchTemplates"]
    return _versions(known[0])


def _delete_template(place: Place, identity: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteLaunchTemplate", LaunchTemplateId=identity)


def _interface(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask(
        "ec2", "CreateNetworkInterface", SubnetId=p["SubnetId"], Groups=p.get("GroupSet"), Description=p.get("Description")
    )["NetworkInterface"]  # fmt: skip
    identity = made["NetworkInterfaceId"]
    return identity, {"Id": identity, "PrimaryPrivateIpAddress": made["PrivateIpAddress"]}


def _delete_interface(place: Place, identity: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteNetworkInterface", NetworkInterfaceId=identity)


def _instance(place: Place, p: dict[str, Any]) -> Made:
    tags = [{"ResourceType": "instance", "Tags": place.tags(p.get("Tags"))}]
    wish = {key: value for key, value in p.items() if key not in ("Tags", "PropagateTagsToVolumeOnCreation")}
    wish |= {"MinCount": 1, "MaxCount": 1, "TagSpecifications": tags}
    made = place.ask("ec2", "RunInstances", **shaped("ec2", "RunInstances", wish))["Instances"][0]
    names = ("PrivateIp", "PrivateDnsName", "AvailabilityZone", "InstanceId", "VpcId")
    found = {
        "PrivateIp": made["PrivateIpAddress"],
        "PrivateDnsName": made["PrivateDnsName"],
        "AvailabilityZone": made["Placement"]["AvailabilityZone"],
        "InstanceId": made["InstanceId"],
        "VpcId": made.get("VpcId", ""),
    }
    return made["InstanceId"], {name: found[name] for name in names}


def _terminate(place: Place, identity: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "TerminateInstances", InstanceIds=[identity])


def _table(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("TableName") or place.name(255)
    names = ("AttributeDefinitions", "KeySchema", "BillingMode", "GlobalSecondaryIndexes", "ProvisionedThroughput")
    wish = {key: p[key] for key in names if key in p}
    place.ask("dynamodb", "CreateTable", **shaped("dynamodb", "CreateTable", {"TableName": name, **wish}))
    return name, {"Arn": place.arn("dynamodb", f"table/{name}")}


def _delete_table(place: Place, name: str, _: dict[str, Any]) -> None:
    place.ask("dynamodb", "DeleteTable", TableName=name)


def _handle(place: Place, _: dict[str, Any]) -> Made:
    url = f"https://cloudformation-waitcondition-{place.region}.s3.amazonaws.com/{place.stack_id}/{place.logical}"
    return url, {}


def _condition(place: Place, p: dict[str, Any]) -> Made:
    from clusters.sandbox import headnode

    trouble = headnode.trouble(place)
    if trouble:
        raise AwsError(
            "NotStabilized", f"WaitCondition received failed message: '{trouble}' for uniqueId: head-node", 400
        )
    return f"{place.stack_id}/{place.logical}", {"Data": "{}"}


def _nothing(place: Place, identity: str, p: dict[str, Any]) -> None:
    """There is nothing to remove."""


def _custom(place: Place, _: dict[str, Any]) -> Made:
    return place.name(128), {}


def _delete_custom(place: Place, _: str, p: dict[str, Any]) -> None:
    """What the function behind it does when the stack goes."""
    if p.get("Action") == "TERMINATE_EC2_INSTANCES":
        filters = [
            {"Name": "tag:parallelcluster:cluster-name", "Values": [p["StackName"]]},
            {"Name": "tag:parallelcluster:node-type", "Values": ["Compute"]},
            {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
        ]
        found = place.ask("ec2", "DescribeInstances", Filters=filters)["Reservations"]
        ids = [one["InstanceId"] for reservation in found for one in reservation["Instances"]]
        if ids:
            place.ask("ec2", "TerminateInstances", InstanceIds=ids)
    elif p.get("Action") == "DELETE_S3_ARTIFACTS":
        bucket, prefix = p["ResourcesS3Bucket"], p["ArtifactS3RootDirectory"]
        for one in place.ask("s3", "ListObjectVersions", Bucket=bucket, Prefix=prefix).get("Versions") or []:
            place.ask("s3", "DeleteObject", Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])


def _change_custom(place: Place, _: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {}


def _nested(place: Place, p: dict[str, Any]) -> Made:
    """Played to its end at once, in times to come: what it gives follows from what is stored now."""
    from clusters.sandbox.cloudformation import engine, stacks

    name, parent = place.name(128), _stack(place, place.stack_id)
    identity = place.ask(
        "cloudformation", "CreateStack", StackName=name, TemplateURL=p["TemplateURL"], Parameters=_parameters(p),
        Capabilities=parent.capabilities, Tags=place.plain_tags(p.get("Tags")), OnFailure="DELETE",
    )["StackId"]  # fmt: skip
    stack = _stack(place, identity)
    while stack.due != stacks.NEVER:
        with place.cloud.at(stack.due):
            engine.step(place.cloud, stack, stack.due)
    if stack.status != "CREATE_COMPLETE":
        why = next((event.reason for event in stack.events if event.status == "CREATE_FAILED"), stack.reason)
        raise AwsError("NotStabilized", f"Embedded stack {identity} was not successfully created: {why}", 400)
    return identity, _outputs(stack)


def _parameters(p: dict[str, Any]) -> list[dict[str, str]]:
    return [{"ParameterKey": key, "ParameterValue": str(value)} for key, value in (p.get("Parameters") or {}).items()]


def _stack(place: Place, identity: str) -> Any:
    return place.cloud.store.change(f"cloudformation/{place.account}/{place.region}")["stacks"][identity]


def _outputs(stack: Any) -> dict[str, Any]:
    return {f"Outputs.{one['OutputKey']}": one["OutputValue"] for one in stack.outputs}


def _change_nested(place: Place, identity: str, _: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    from clusters.sandbox.cloudformation import engine, stacks

    stack, parent = _stack(place, identity), _stack(place, place.stack_id)
    try:
        place.ask(
            "cloudformation", "UpdateStack", StackName=identity, TemplateURL=new["TemplateURL"],
            Parameters=_parameters(new), Capabilities=parent.capabilities,
        )  # fmt: skip
    except AwsError as error:
        if "No updates are to be performed" not in error.message:
            raise
    while stack.due != stacks.NEVER:
        with place.cloud.at(stack.due):
            engine.step(place.cloud, stack, stack.due)
    if stack.status != "UPDATE_COMPLETE" and stack.status != "CREATE_COMPLETE":
        raise AwsError("NotStabilized", f"Embedded stack {identity} was not successfully updated: {stack.reason}", 400)
    return _outputs(stack)


def _delete_nested(place: Place, identity: str, _: dict[str, Any]) -> None:
    place.ask("cloudformation", "DeleteStack", StackName=identity)


kind("AWS::EC2::LaunchTemplate", create=_template, delete=_delete_template, update=_change_template, comes=3.0,
     required="LaunchTemplateData", optional="LaunchTemplateName TagSpecifications VersionDescription",
     attributes="LatestVersionNumber DefaultVersionNumber LaunchTemplateId")  # fmt: skip
kind("AWS::EC2::NetworkInterface", create=_interface, delete=_delete_interface, required="SubnetId", comes=4.0,
     optional="Description GroupSet SourceDestCheck Tags", attributes="Id PrimaryPrivateIpAddress")  # fmt: skip
kind("AWS::EC2::Instance", create=_instance, delete=_terminate, comes=50.0, goes=40.0,
     optional="LaunchTemplate PropagateTagsToVolumeOnCreation Tags ImageId InstanceType SubnetId SecurityGroupIds",
     attributes="PrivateIp PrivateDnsName AvailabilityZone InstanceId VpcId")  # fmt: skip
kind("AWS::DynamoDB::Table", create=_table, delete=_delete_table, required="KeySchema", comes=12.0, goes=8.0,
     optional="TableName AttributeDefinitions BillingMode GlobalSecondaryIndexes ProvisionedThroughput"
     " PointInTimeRecoverySpecification SSESpecification Tags", attributes="Arn")  # fmt: skip
kind("AWS::CloudFormation::WaitConditionHandle", create=_handle, delete=_nothing, comes=1.0)
kind("AWS::CloudFormation::WaitCondition", create=_condition, delete=_nothing, optional="Count Handle Timeout",
     attributes="Data", comes=BOOTSTRAP)  # fmt: skip
kind("AWS::CloudFormation::CustomResource", create=_custom, delete=_delete_custom, update=_change_custom,
     required="ServiceToken", comes=5.0, goes=20.0, anything=True)  # fmt: skip
kind("AWS::CloudFormation::Stack", create=_nested, delete=_delete_nested, update=_change_nested, required="TemplateURL",
     optional="Parameters Tags TimeoutInMinutes NotificationARNs", comes=NESTED, goes=90.0)  # fmt: skip
for _name in ("AWS::CloudFormation::CustomResource", "AWS::CloudFormation::Stack"):
    resources.KINDS[_name] = dataclasses.replace(resources.KINDS[_name], attributes=Anything())
