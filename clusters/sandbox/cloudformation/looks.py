"""The calls of CloudFormation that look: stacks, their events, resources and outputs."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation import stacks
from clusters.sandbox.cloudformation.stacks import Stack
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page


@operation("cloudformation", "DescribeStacks")
def describe_stacks(cloud: Cloud, call: Call) -> dict[str, Any]:
    if call.parameters.get("StackName"):
        return {"Stacks": [_shown(cloud, stacks.existing(cloud, call, call.parameters["StackName"]))]}
    living = sorted(stacks.living(cloud, call).values(), key=lambda stack: -stack.began)
    items, more = page(living, call.parameters)
    return {"Stacks": [_shown(cloud, stack) for stack in items], **more}


@operation("cloudformation", "ListStacks")
def list_stacks(cloud: Cloud, call: Call) -> dict[str, Any]:
    wanted = call.parameters.get("StackStatusFilter")
    found = sorted(stacks.all_stacks(cloud, call).values(), key=lambda stack: -stack.began)
    found = [stack for stack in found if not wanted or stack.status in wanted]
    items, more = page(found, call.parameters)
    return {"StackSummaries": [_summary(cloud, stack) for stack in items], **more}


@operation("cloudformation", "DescribeStackEvents")
def describe_stack_events(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = stacks.existing(cloud, call, call.parameters["StackName"])
    items, more = page(stack.events[::-1], call.parameters)
    events = [
        {
            "StackId": stack.id,
            "StackName": stack.name,
            "EventId": event.id,
            "LogicalResourceId": event.logical,
            "PhysicalResourceId": event.physical,
            "ResourceType": event.type,
            "Timestamp": cloud.clock.shown(event.at),
            "ResourceStatus": event.status,
            **({"ResourceStatusReason": event.reason} if event.reason else {}),
            **({"ClientRequestToken": event.token} if event.token else {}),
        }
        for event in items
    ]
    return {"StackEvents": events, **more}


@operation("cloudformation", "ListStackResources")
def list_stack_resources(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = stacks.existing(cloud, call, call.parameters["StackName"])
    items, more = page(_resources(cloud, stack, "LastUpdatedTimestamp"), call.parameters)
    return {"StackResourceSummaries": items, **more}


@operation("cloudformation", "DescribeStackResources")
def describe_stack_resources(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack, wanted = (
        stacks.existing(cloud, call, call.parameters.get("StackName") or ""),
        call.parameters.get("LogicalResourceId"),
    )
    found = _resources(cloud, stack, "Timestamp")
    own = {"StackId": stack.id, "StackName": stack.name}
    return {"StackResources": [{**own, **one} for one in found if wanted in (None, one["LogicalResourceId"])]}


@operation("cloudformation", "DescribeStackResource")
def describe_stack_resource(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack, wanted = stacks.existing(cloud, call, call.parameters["StackName"]), call.parameters["LogicalResourceId"]
    for one in _resources(cloud, stack, "LastUpdatedTimestamp"):
        if one["LogicalResourceId"] == wanted:
            return {"StackResourceDetail": {"StackId": stack.id, "StackName": stack.name, **one}}
    raise AwsError("ValidationError", f"Resource {wanted} does not exist for stack {stack.name}", 400)


@operation("cloudformation", "GetTemplate")
def get_template(cloud: Cloud, call: Call) -> dict[str, Any]:
    # The caller's library reads a JSON object where the template is one, so only text is safe to hand over.
    return {
        "TemplateBody": stacks.existing(cloud, call, call.parameters["StackName"]).body,
        "StagesAvailable": ["Original"],
    }


@operation("cloudformation", "ListExports")
def list_exports(cloud: Cloud, call: Call) -> dict[str, Any]:
    found = [
        {"ExportingStackId": stack.id, "Name": output["ExportName"], "Value": output["OutputValue"]}
        for stack in stacks.living(cloud, call).values()
        for output in stack.outputs
        if "ExportName" in output
    ]
    items, more = page(found, call.parameters)
    return {"Exports": items, **more}


def _summary(cloud: Cloud, stack: Stack) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "StackId": stack.id,
        "StackName": stack.name,
        "CreationTime": cloud.clock.shown(stack.began),
        "StackStatus": stack.status,
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }
    if stack.reason:
        shown["StackStatusReason"] = stack.reason
    if stack.updated is not None:
        shown["LastUpdatedTime"] = cloud.clock.shown(stack.updated)
    if stack.deleted is not None:
        shown["DeletionTime"] = cloud.clock.shown(stack.deleted)
    return shown


def _shown(cloud: Cloud, stack: Stack) -> dict[str, Any]:
    hidden = {name for name, rule in (stack.template.get("Parameters") or {}).items() if rule.get("NoEcho")}
    return {
        **_summary(cloud, stack),
        **({"Description": str(stack.template["Description"])} if stack.template.get("Description") else {}),
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": "****" if name in hidden else value}
            for name, value in stack.parameters.items()
        ],
        "DisableRollback": stack.on_failure == "DO_NOTHING",
        "NotificationARNs": [],
        "Capabilities": stack.capabilities,
        "Outputs": stack.outputs,
        "Tags": stack.tags,
        "EnableTerminationProtection": stack.protected,
    }


def _resources(cloud: Cloud, stack: Stack, time_name: str) -> list[dict[str, Any]]:
    return [
        {
            "LogicalResourceId": resource.logical,
            "PhysicalResourceId": resource.physical,
            "ResourceType": resource.type,
            time_name: cloud.clock.shown(resource.changed),
            "ResourceStatus": resource.status,
            **({"ResourceStatusReason": resource.reason} if resource.reason else {}),
        }
        for resource in stack.resources.values()
        if resource.status
    ]
