"""How stacks come, change and go: every step happens at its own time, whenever somebody next looks."""

import uuid

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation import update
from clusters.sandbox.cloudformation.resources import KINDS, check_properties
from clusters.sandbox.cloudformation.stacks import (
    NEVER,
    Resource,
    Stack,
    scope_of,
    shelf_of,
)
from clusters.sandbox.cloudformation.template import needs
from clusters.sandbox.errors import AwsError

GONE = ("NotFound", "NoSuch", "ParameterNotFound", "ResourceNotFound", "NoSuchEntity", "InvalidAssociationID")


def catch_up(cloud: Cloud, account: str, region: str) -> None:
    """Do everything that has become due to the stacks of this account and Region, oldest first."""
    name, now = shelf_of(account, region), cloud.now()
    stacks: dict[str, Stack] = cloud.store.read(name).get("stacks", {})
    while stacks:
        stack = min(stacks.values(), key=lambda one: one.due)
        if stack.due > now:
            return
        cloud.store.change(name)
        at = stack.due
        with cloud.at(at):
            try:
                step(cloud, stack, at)
            except AwsError as error:
                # Nobody asked for this step just now, so nobody may hear of it but the stack itself.
                stack.move(
                    at,
                    f"{stack.status.removesuffix('_IN_PROGRESS').removesuffix('_COMPLETE_CLEANUP')}_FAILED",
                    error.message,
                )


def step(cloud: Cloud, stack: Stack, at: float) -> None:
    """Finish what is done at this time, begin what can begin, and conclude when nothing is left."""
    stack.due = NEVER
    if stack.status == "CREATE_IN_PROGRESS":
        _create_step(cloud, stack, at)
    elif stack.status.startswith("UPDATE_"):
        update.step(cloud, stack, at)
    elif stack.status in ("DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"):
        _delete_step(cloud, stack, at)
    busy = [resource.ends for resource in [*stack.resources.values(), *stack.leftovers] if resource.busy]
    stack.due = min([stack.due, *busy])


def begin_creating(cloud: Cloud, stack: Stack, resource: Resource, at: float) -> None:
    """Make one resource; the service's refusal is raised."""
    stack.note(at, resource, "CREATE_IN_PROGRESS")
    names = {"logical": resource.logical, "type": resource.type, "stack": stack.name}
    fault = cloud.faults.take(("resource_fails",), stack.account, "cloudformation", "CreateStack", names)
    if fault:
        raise AwsError("InternalFailure", fault.message or "The resource could not be created.", 500)
    written = stack.template["Resources"][resource.logical].get("Properties") or {}
    resource.properties = scope_of(cloud, stack).resolve(written)
    check_properties(resource.type, resource.properties)
    rule = KINDS[resource.type]
    resource.physical, resource.attributes = rule.create(stack.place(cloud, resource.logical), resource.properties)
    stack.note(at, resource, "CREATE_IN_PROGRESS", "Resource creation Initiated")
    resource.ends = at + rule.seconds(resource.properties)


def handler_message(resource_type: str, error: AwsError) -> str:
    service = resource_type.split("::")[1]
    code = "InvalidRequest" if (error.status or 400) < 500 else "GeneralServiceException"
    return (
        f'Resource handler returned message: "{error.message} (Service: {service}, Status Code: {error.status or 400},'
        f' Request ID: {uuid.uuid4()})" (RequestToken: {uuid.uuid4()}, HandlerErrorCode: {code})'
    )


def _create_step(cloud: Cloud, stack: Stack, at: float) -> None:
    resources = stack.resources
    for resource in resources.values():
        if resource.busy and resource.ends <= at:
            stack.note(at, resource, "CREATE_COMPLETE")
    for resource in resources.values():
        before = needs(stack.template, resource.logical) & set(resources)
        if not resource.status and all(resources[name].status == "CREATE_COMPLETE" for name in before):
            try:
                begin_creating(cloud, stack, resource, at)
            except AwsError as error:
                stack.note(at, resource, "CREATE_FAILED", handler_message(resource.type, error))
    failed = [resource.logical for resource in resources.values() if resource.status == "CREATE_FAILED"]
    if failed:
        _give_up(stack, at, failed)
    elif all(resource.status == "CREATE_COMPLETE" for resource in resources.values()):
        try:
            conclude(cloud, stack, at, "CREATE_COMPLETE")
        except AwsError as error:
            stack.move(at, "ROLLBACK_IN_PROGRESS", error.message)
            stack.due = at


def _give_up(stack: Stack, at: float, failed: list[str]) -> None:
    for resource in stack.resources.values():
        if resource.busy:
            stack.note(at, resource, "CREATE_FAILED", "Resource creation cancelled")
    reason = f"The following resource(s) failed to create: [{', '.join(failed)}]."
    if stack.on_failure == "DO_NOTHING":
        stack.move(at, "CREATE_FAILED", reason)
    elif stack.on_failure == "DELETE":
        stack.move(at, "DELETE_IN_PROGRESS", f"{reason} Delete requested by user.")
        stack.due = at
    else:
        stack.move(at, "ROLLBACK_IN_PROGRESS", f"{reason} Rollback requested by user.")
        stack.due = at


def conclude(cloud: Cloud, stack: Stack, at: float, status: str) -> None:
    """Everything is there: write the outputs down."""
    scope, stack.outputs = scope_of(cloud, stack), []
    for name, output in (stack.template.get("Outputs") or {}).items():
        if scope.included(output):
            said = {"OutputKey": name, "OutputValue": str(scope.resolve(output["Value"]))}
            if output.get("Description"):
                said["Description"] = output["Description"]
            if output.get("Export"):
                said["ExportName"] = str(scope.resolve(output["Export"]["Name"]))
            stack.outputs.append(said)
    stack.move(at, status)


def begin_deleting(cloud: Cloud, stack: Stack, resource: Resource, at: float) -> None:
    """Remove one resource, or say why it stays."""
    policy = stack.template["Resources"].get(resource.logical, {}).get("DeletionPolicy", "Delete")
    creating = "ROLLBACK" in stack.status  # what was never handed over is not kept
    rule = KINDS[resource.type]
    left = rule.snapshot if policy == "Snapshot" else None
    kept = policy in ("Retain", "Snapshot") or (policy == "RetainExceptOnCreate" and not creating)
    if (kept and not left) or resource.logical in stack.retain:
        stack.note(at, resource, "DELETE_SKIPPED")
        return
    stack.note(at, resource, "DELETE_IN_PROGRESS")
    names = {"logical": resource.logical, "type": resource.type, "stack": stack.name}
    fault = cloud.faults.take(("resource_stays",), stack.account, "cloudformation", "DeleteStack", names)
    try:
        if fault:
            raise AwsError("DependencyViolation", fault.message or f"{resource.physical} has a dependent object.", 400)
        place = stack.place(cloud, resource.logical)
        if left:
            left(place, resource.physical, resource.properties)
        rule.delete(place, resource.physical, resource.properties)
        resource.ends = at + rule.goes
    except AwsError as error:
        if any(word in error.code for word in GONE):
            resource.ends = at
        else:
            stack.note(at, resource, "DELETE_FAILED", handler_message(resource.type, error))


def _delete_step(cloud: Cloud, stack: Stack, at: float) -> None:
    resources = stack.resources
    for resource in resources.values():
        if resource.busy and resource.ends <= at:
            stack.note(at, resource, "DELETE_COMPLETE")
    for resource in resources.values():
        if resource.busy or not resource.present or resource.status == "DELETE_FAILED":
            continue
        above = [other for other in resources.values() if resource.logical in needs(stack.template, other.logical)]
        if not any(other.present for other in above):
            begin_deleting(cloud, stack, resource, at)
            if resource.busy and resource.ends <= at:
                stack.note(at, resource, "DELETE_COMPLETE")
            if not resource.present:
                stack.due = at  # what lies below may go at once
    if any(resource.busy for resource in resources.values()) or stack.due <= at:
        return
    stuck = [resource.logical for resource in resources.values() if resource.present]
    rolling_back = stack.status == "ROLLBACK_IN_PROGRESS"
    if stuck:
        reason = f"The following resource(s) failed to delete: [{', '.join(stuck)}]. "
        stack.move(at, "ROLLBACK_FAILED" if rolling_back else "DELETE_FAILED", reason)
    else:
        stack.move(at, "ROLLBACK_COMPLETE" if rolling_back else "DELETE_COMPLETE")
        stack.deleted = None if rolling_back else at
