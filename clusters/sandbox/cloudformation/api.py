"""The calls of CloudFormation that make, change and remove stacks."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation import stacks, update
from clusters.sandbox.cloudformation import template as templates
from clusters.sandbox.cloudformation.resources import KINDS
from clusters.sandbox.cloudformation.stacks import (
    Resource,
    Stack,
    known_types,
    new_id,
    scope_of,
)
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation

# Not to be deleted before that is over.
UPDATING = (
    "UPDATE_IN_PROGRESS",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
)
LONGEST_BODY, LONGEST_FROM_BUCKET = 51_200, 460_800


@operation("cloudformation", "CreateStack")
def create_stack(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    name, token = wish["StackName"], wish.get("ClientRequestToken") or ""
    present = stacks.living(cloud, call).get(name)
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
        call_token=token,
        on_failure="DO_NOTHING" if wish.get("DisableRollback") else on_failure,
        protected=bool(wish.get("EnableTerminationProtection")),
    )


def _body(cloud: Cloud, call: Call) -> str:
    body, url = str(call.parameters.get("TemplateBody") or ""), str(call.parameters.get("TemplateURL") or "")
    if bool(body) == bool(url):
        raise AwsError("ValidationError", "Either Template URL or Template Body must be specified.", 400)
    if url:
        host, _, path = url.split("://", 1)[-1].partition("/")
        bucket, key = (host.split(".")[0], path) if ".s3" in host else path.partition("/")[::2]
        try:
            body = str(cloud.ask(call.account, call.region, "s3", "GetObject", Bucket=bucket, Key=key)["Body"])
        except AwsError as error:
            raise AwsError("ValidationError", f"S3 error: {error.message}", 400) from None
    if len(body.encode()) > (LONGEST_FROM_BUCKET if url else LONGEST_BODY):
        message = f"Template may not exceed {LONGEST_FROM_BUCKET if url else LONGEST_BODY} bytes in size."
        raise AwsError("ValidationError", message, 400)
    return body


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
    wish, stack = call.parameters, stacks.existing(cloud, call, call.parameters["StackName"])
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
    update.begin(cloud, stack, body, template, parameters, wish.get("ClientRequestToken") or "", call.now)
    if wish.get("Tags") is not None:
        stack.tags = wish["Tags"]
    call.effective = True
    return {"StackId": stack.id}


@operation("cloudformation", "CancelUpdateStack")
def cancel_update(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = stacks.existing(cloud, call, call.parameters["StackName"])
    if stack.status != "UPDATE_IN_PROGRESS":
        message = f"CancelUpdateStack cannot be called from current stack status {stack.status}"
        raise AwsError("ValidationError", message, 400)
    cloud.store.change(call.shelf())
    update.cancel(cloud, stack, call.now)
    call.effective = True
    return {}


@operation("cloudformation", "ContinueUpdateRollback")
def continue_rollback(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = stacks.existing(cloud, call, call.parameters["StackName"])
    if stack.status != "UPDATE_ROLLBACK_FAILED":
        raise AwsError(
            "ValidationError", f"Stack:{stack.id} is in {stack.status} state and can not continue rollback.", 400
        )
    skip = call.parameters.get("ResourcesToSkip") or []
    for name in skip:
        resource = stack.resources.get(name)
        if resource is None or resource.status != "UPDATE_FAILED":
            message = f"Resource [{name}] cannot be skipped: it is not in UPDATE_FAILED state."
            raise AwsError("ValidationError", message, 400)
    cloud.store.change(call.shelf())
    stack.call_token = call.parameters.get("ClientRequestToken") or ""
    update.go_on(cloud, stack, call.now, skip)
    call.effective = True
    return {}


@operation("cloudformation", "RollbackStack")
def roll_back(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = stacks.existing(cloud, call, call.parameters["StackName"])
    if stack.status not in ("CREATE_FAILED", "UPDATE_FAILED"):
        raise AwsError(
            "ValidationError", f"Stack:{stack.id} is in {stack.status} state and can not be rolled back.", 400
        )
    cloud.store.change(call.shelf())
    stack.call_token = call.parameters.get("ClientRequestToken") or ""
    if stack.status == "CREATE_FAILED":
        stack.move(call.now, "ROLLBACK_IN_PROGRESS", "User Initiated")
        stack.due = call.now
    else:
        update.cancel(cloud, stack, call.now)
    call.effective = True
    return {"StackId": stack.id}


@operation("cloudformation", "DeleteStack")
def delete_stack(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    stack = stacks.find(cloud, call, wish["StackName"])
    if stack is None or stack.deleted is not None or stack.status == "DELETE_IN_PROGRESS":
        return {}  # to delete what is not there succeeds
    if stack.protected:
        message = f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
        raise AwsError("ValidationError", message, 400)
    if stack.status in UPDATING:
        raise AwsError("ValidationError", f"Stack [{stack.id}] cannot be deleted while in status {stack.status}", 400)
    retain = wish.get("RetainResources") or []
    if retain and stack.status != "DELETE_FAILED":
        raise AwsError("ValidationError", "RetainResources is only for a stack in DELETE_FAILED state.", 400)
    cloud.store.change(call.shelf())
    stack.retain, stack.call_token = retain, wish.get("ClientRequestToken") or ""
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


@operation("cloudformation", "UpdateTerminationProtection")
def update_protection(cloud: Cloud, call: Call) -> dict[str, Any]:
    stack = stacks.existing(cloud, call, call.parameters["StackName"])
    cloud.store.change(call.shelf())
    stack.protected = bool(call.parameters["EnableTerminationProtection"])
    return {"StackId": stack.id}
