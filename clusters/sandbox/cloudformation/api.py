"""The calls of CloudFormation."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation import template as templates
from clusters.sandbox.cloudformation import update
from clusters.sandbox.cloudformation.resources import KINDS
from clusters.sandbox.cloudformation.stacks import (
    Resource,
    Stack,
    known_types,
    new_id,
    scope_of,
)
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

LONGEST_BODY, LONGEST_FROM_BUCKET = 51_200, 460_800


@operation("cloudformation", "CreateStack")
def create_stack(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    name, token = wish["StackName"], wish.get("ClientRequestToken") or ""
    present = _living(cloud, call).get(name)
    if present is not None:
        if token and token == present.token:
            return {"StackId": present.id}
        raise AwsError("AlreadyExistsException", f"Stack [{name}] already exists", 400)
    stack = _new_stack(cloud, call, name, token)
    included = scope_of(cloud, stack)
    for logical, resource in stack.template["Resources"].items():
        if included.included(resource):
            stack.resources[logical] = Resource(logical, resource["Type"])
    stack.move(call.now, "CREATE_IN_PROGRESS", "User Initiated")
    stack.due = call.now
    cloud.store.change(call.shelf()).setdefault("stacks", {})[stack.id] = stack
    call.effective = True
    return {"StackId": stack.id}


def _new_stack(cloud: Cloud, call: Call, name: str, token: str) -> Stack:
    wish = call.parameters
    body = _body(cloud, call)
    template = templates.read(body)
    templates.check(template, known_types())
    _check_capabilities(template, wish.get("Capabilities") or [])
    given = {one["ParameterKey"]: one.get("ParameterValue", "") for one in wish.get("Parameters") or []}
    on_failure = wish.get("OnFailure") or "ROLLBACK"
    return Stack(
        name=name,
        id=new_id(call.region, call.account, name),
        account=call.account,
        region=call.region,
        body=body,
        template=template,
        parameters=templates.parameters_of(template, given),
        tags=wish.get("Tags") or [],
        capabilities=wish.get("Capabilities") or [],
        began=call.now,
        token=token,
        on_failure="DO_NOTHING" if wish.get("DisableRollback") else on_failure,
        protected=bool(wish.get("EnableTerminationProtection")),
    )


def _body(cloud: Cloud, call: Call) -> str:
    body, url = call.parameters.get("TemplateBody"), call.parameters.get("TemplateURL")
    if body and url or not (body or url):
        raise AwsError("ValidationError", "Either Template URL or Template Body must be specified.", 400)
    if url:
        path = url.split("://", 1)[-1].split("/", 1)
        bucket, key = (path[0].split(".")[0], path[1]) if ".s3" in path[0] else path[1].split("/", 1)
        try:
            body = cloud.ask(call.account, call.region, "s3", "GetObject", Bucket=bucket, Key=key)["Body"]
        except AwsError as error:
            raise AwsError("ValidationError", f"S3 error: {error.message}", 400) from None
    if len(body.encode()) > (LONGEST_FROM_BUCKET if url else LONGEST_BODY):
        message = f"Template may not exceed {LONGEST_FROM_BUCKET if url else LONGEST_BODY} bytes in size."
        raise AwsError("ValidationError", message, 400)
    return str(body)


def _check_capabilities(template: dict[str, Any], given: list[str]) -> None:
    needed = set()
    for resource in template["Resources"].values():
        named = KINDS[resource["Type"]].iam
        if named:
            custom = named in (resource.get("Properties") or {})
            needed.add("CAPABILITY_NAMED_IAM" if custom else "CAPABILITY_IAM")
    if "CAPABILITY_NAMED_IAM" in needed and "CAPABILITY_NAMED_IAM" not in given:
        raise AwsError("InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]", 400)
    if needed and not {"CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"} & set(given):
        raise AwsError("InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_IAM]", 400)


@operation("cloudformation", "UpdateStack")
def update_stack(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish, stack = call.parameters, _stack(cloud, call, call.parameters["StackName"])
    if not stack.status.endswith("_COMPLETE") or stack.status == "ROLLBACK_COMPLETE":
        raise AwsError("ValidationError", f"Stack:{stack.id} is in {stack.status} state and can not be updated.", 400)
    body = stack.body if wish.get("UsePreviousTemplate") else _body(cloud, call)
    template = templates.read(body)
    templates.check(template, known_types())
    _check_capabilities(template, wish.get("Capabilities") or [])
    given = {
        one["ParameterKey"]: stack.parameters.get(one["ParameterKey"], "") if one.get("UsePreviousValue")
        else one.get("ParameterValue", "")
        for one in wish.get("Parameters") or []
    }  # fmt: skip
    parameters = templates.parameters_of(template, given)
    cloud.store.change(call.shelf())
    update.begin(cloud, stack, body, template, parameters, call.now)
    if wish.get("Tags") is not None:
        stack.tags = wish["Tags"]
    call.effective = True
    return {"StackId": stack.id}


@operation("cloudformation", "DeleteStack")
def delete_stack(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    stack = _find(cloud, call, wish["StackName"])
    if stack is None or stack.deleted is not None or stack.status == "DELETE_IN_PROGRESS":
        return {}  # to delete what is not there succeeds
    if stack.protected:
        message = f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
        raise AwsError("ValidationError", message, 400)
    retain = wish.get("RetainResources") or []
    if retain and stack.status != "DELETE_FAILED":
        raise AwsError("ValidationError", "RetainResources is only for a stack in DELETE_FAILED state.", 400)
    cloud.store.change(call.shelf())
    stack.retain, stack.delete_token = retain, wish.get("ClientRequestToken") or ""
    for resource in stack.resources.values():
        if resource.busy or resource.status == "DELETE_FAILED":
            stack.note(call.now, resource, "CREATE_FAILED" if resource.busy else "DELETE_IN_PROGRESS", "")
            resource.status = "CREATE_COMPLETE" if resource.physical else "CREATE_FAILED"
    for resource in stack.leftovers:
        stack.resources.setdefault(f"{resource.logical}Replaced", resource)
    stack.leftovers = []
    stack.move(call.now, "DELETE_IN_PROGRESS", "User Initiated")
    stack.due = call.now
    call.effective = True
    return {}


@operation("cloudformation", "DescribeStacks")
def describe_stacks(cloud: Cloud, call: Call) -> dict[str, Any]:
    if call.parameters.get("StackName"):
        return {"Stacks": [_shown(cloud, _stack(cloud, call, call.parameters["StackName"]))]}
    living = sorted(_living(cloud, call).values(), key=lambda stack: -stack.began)
    items, more = page(living, call.parameters)
    return {"Stacks": [_shown(cloud, stack) for stack in items], **more}


@operation("cloudformation", "ListStacks")
def list_stacks(cloud: Cloud, call: Call) -> dict[str, Any]:
    wanted = call.parameters.get("StackStatusFilter")
    stacks = sorted(_all(cloud, call).values(), key=lambda stack: -stack.began)
    stacks = [stack for stack in stacks if not wanted or stack.status in wanted]
    items, more = page(stacks, call.parameters)
    return {"StackSummaries": [_summary(cloud, stack) for stack in items], **more}


@operation("cloudformation", "DescribeStackEvents")
def describe_stack_events(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = _stack(cloud, call, call.parameters["StackName"])
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
            **({"ClientRequestToken": stack.token} if stack.token else {}),
        }
        for event in items
    ]
    return {"StackEvents": events, **more}


@operation("cloudformation", "ListStackResources")
def list_stack_resources(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = _stack(cloud, call, call.parameters["StackName"])
    items, more = page(_resources(cloud, stack, "LastUpdatedTimestamp"), call.parameters)
    return {"StackResourceSummaries": items, **more}


@operation("cloudformation", "DescribeStackResources")
def describe_stack_resources(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack, wanted = _stack(cloud, call, call.parameters.get("StackName") or ""), call.parameters.get("LogicalResourceId")
    found = _resources(cloud, stack, "Timestamp")
    own = {"StackId": stack.id, "StackName": stack.name}
    return {"StackResources": [{**own, **one} for one in found if wanted in (None, one["LogicalResourceId"])]}


@operation("cloudformation", "DescribeStackResource")
def describe_stack_resource(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack, wanted = _stack(cloud, call, call.parameters["StackName"]), call.parameters["LogicalResourceId"]
    for one in _resources(cloud, stack, "LastUpdatedTimestamp"):
        if one["LogicalResourceId"] == wanted:
            return {"StackResourceDetail": {"StackId": stack.id, "StackName": stack.name, **one}}
    raise AwsError("ValidationError", f"Resource {wanted} does not exist for stack {stack.name}", 400)


@operation("cloudformation", "GetTemplate")
def get_template(cloud: Cloud, call: Call) -> dict[str, Any]:
    # The caller's library reads a JSON object where the template is one, so only text is safe to hand over.
    return {"TemplateBody": _stack(cloud, call, call.parameters["StackName"]).body, "StagesAvailable": ["Original"]}


@operation("cloudformation", "ValidateTemplate")
def validate_template(cloud: Cloud, call: Call) -> dict[str, Any]:
    template = templates.read(_body(cloud, call))
    templates.check(template, known_types())
    parameters = [
        {
            "ParameterKey": name,
            "NoEcho": bool(rule.get("NoEcho")),
            **({"DefaultValue": str(rule["Default"])} if "Default" in rule else {}),
            **({"Description": rule["Description"]} if rule.get("Description") else {}),
        }
        for name, rule in (template.get("Parameters") or {}).items()
    ]
    return {"Parameters": parameters, "Description": str(template.get("Description") or "")}


@operation("cloudformation", "ListExports")
def list_exports(cloud: Cloud, call: Call) -> dict[str, Any]:
    found = [
        {"ExportingStackId": stack.id, "Name": output["ExportName"], "Value": output["OutputValue"]}
        for stack in _living(cloud, call).values()
        for output in stack.outputs
        if "ExportName" in output
    ]
    items, more = page(found, call.parameters)
    return {"Exports": items, **more}


@operation("cloudformation", "UpdateTerminationProtection")
def update_protection(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = _stack(cloud, call, call.parameters["StackName"])
    cloud.store.change(call.shelf())
    stack.protected = bool(call.parameters["EnableTerminationProtection"])
    return {"StackId": stack.id}


def _all(cloud: Cloud, call: Call) -> dict[str, Stack]:
    stacks: dict[str, Stack] = cloud.store.read(call.shelf()).get("stacks", {})
    return stacks


def _living(cloud: Cloud, call: Call) -> dict[str, Stack]:
    return {stack.name: stack for stack in _all(cloud, call).values() if stack.deleted is None}


def _find(cloud: Cloud, call: Call, name: str) -> Stack | None:
    return _all(cloud, call).get(name) or _living(cloud, call).get(name)


def _stack(cloud: Cloud, call: Call, name: str) -> Stack:
    stack = _find(cloud, call, name)
    if stack is None:
        raise AwsError("ValidationError", f"Stack with id {name} does not exist", 400)
    return stack


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
        "Description": str(stack.template.get("Description") or ""),
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
