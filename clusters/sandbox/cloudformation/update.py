"""Updates of a stack: new resources are made, changed ones changed or replaced, the rest removed; or all is put back."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation.resources import KINDS, check_properties
from clusters.sandbox.cloudformation.stacks import NEVER, Resource, Stack, scope_of
from clusters.sandbox.cloudformation.template import needs
from clusters.sandbox.errors import AwsError

CHANGE_TAKES = 5.0


def begin(
    cloud: Cloud, stack: Stack, body: str, template: dict[str, Any], parameters: dict[str, str], token: str, at: float
) -> None:
    """Take the new template and plan the steps; nothing to do is an error."""
    before = (stack.body, stack.template, stack.parameters)
    if (template, parameters) == (stack.template, stack.parameters):
        raise AwsError("ValidationError", "No updates are to be performed.", 400)
    stack.call_token = token
    stack.before, stack.body, stack.template, stack.parameters = before, body, template, parameters
    scope = scope_of(cloud, stack)
    wanted = {name for name, resource in template["Resources"].items() if scope.included(resource)}
    stack.steps = [("make" if name not in stack.resources else "change", name) for name in _in_order(template, wanted)]
    stack.steps += [("drop", name) for name in reversed(_in_order(before[1], set(stack.resources) - wanted))]
    stack.done, stack.leftovers, stack.updated = [], [], at
    stack.move(at, "UPDATE_IN_PROGRESS", "User Initiated")
    stack.due = at


def _in_order(template: dict[str, Any], names: set[str]) -> list[str]:
    ordered: list[str] = []
    while len(ordered) < len(names):
        ordered += sorted(n for n in names - set(ordered) if not (needs(template, n) & names) - set(ordered))
    return ordered


def step(cloud: Cloud, stack: Stack, at: float) -> None:
    """One step at a time, in the order of dependency."""
    from clusters.sandbox.cloudformation import engine

    everything = [*stack.resources.values(), *stack.leftovers]
    for resource in everything:
        if resource.busy and resource.ends <= at:
            stack.note(at, resource, resource.status.replace("_IN_PROGRESS", "_COMPLETE"))
    if any(resource.busy for resource in everything):
        return
    if stack.status == "UPDATE_IN_PROGRESS" and stack.steps and stack.steps[0][0] != "drop":
        _forward(cloud, stack, at)
    elif stack.status == "UPDATE_IN_PROGRESS":
        stack.move(at, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        stack.leftovers += [stack.resources.pop(name) for _, name in stack.steps]
        stack.steps, stack.due = [], at
    elif stack.status == "UPDATE_ROLLBACK_IN_PROGRESS":
        stack.move(at, "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
        stack.due = at
    else:
        _clean_up(cloud, stack, at, engine)


def _forward(cloud: Cloud, stack: Stack, at: float) -> None:
    from clusters.sandbox.cloudformation import engine

    action, name = stack.steps.pop(0)
    resource = stack.resources.get(name)
    stack.due = at
    try:
        if resource is None:
            resource = stack.resources[name] = Resource(name, stack.template["Resources"][name]["Type"])
            engine.begin_creating(cloud, stack, resource, at)
            stack.done.append((action, name, {}))
        else:
            _change(cloud, stack, resource, at)
    except AwsError as error:
        resource = stack.resources[name]  # by now perhaps the one that was to replace it
        failed = "CREATE_FAILED" if action == "make" else "UPDATE_FAILED"
        stack.note(at, resource, failed, engine.handler_message(resource.type, error))
        _put_back(cloud, stack, at, name)


def _change(cloud: Cloud, stack: Stack, resource: Resource, at: float) -> None:
    from clusters.sandbox.cloudformation import engine

    written = stack.template["Resources"][resource.logical]
    new = scope_of(cloud, stack).resolve(written.get("Properties") or {})
    old, rule = resource.properties, KINDS[resource.type]
    if new == old and written["Type"] == resource.type:
        return
    check_properties(written["Type"], new)
    if written["Type"] == resource.type and rule.update is not None and rule.in_place(old, new):
        stack.note(at, resource, "UPDATE_IN_PROGRESS")
        place = stack.place(cloud, resource.logical)
        resource.attributes = {**resource.attributes, **rule.update(place, resource.physical, old, new)}
        resource.properties, resource.ends = new, at + CHANGE_TAKES
        stack.done.append(("change", resource.logical, old))
        return
    reason = "Requested update requires the creation of a new physical resource; hence creating one."
    stack.note(at, resource, "UPDATE_IN_PROGRESS", reason)
    replacement = Resource(resource.logical, written["Type"])
    stack.resources[resource.logical] = replacement
    resource.status = "UPDATE_COMPLETE"
    stack.leftovers.append(resource)
    stack.done.append(("replace", resource.logical, {}))
    engine.begin_creating(cloud, stack, replacement, at)


def cancel(cloud: Cloud, stack: Stack, at: float) -> None:
    """Somebody changed their mind: what is done is undone."""
    for resource in [*stack.resources.values(), *stack.leftovers]:
        if resource.busy:
            stack.note(at, resource, resource.status.replace("_IN_PROGRESS", "_FAILED"), "Resource update cancelled")
    _put_back(cloud, stack, at, "")


def _put_back(cloud: Cloud, stack: Stack, at: float, failed: str) -> None:
    """Undo what was done, newest first; the old template is the stack's again."""
    assert stack.before is not None
    reason = f"The following resource(s) failed to update: [{failed}]. " if failed else "User Initiated"
    stack.move(at, "UPDATE_ROLLBACK_IN_PROGRESS", reason)
    stack.body, stack.template, stack.parameters = stack.before
    from clusters.sandbox.cloudformation import engine

    replaced, stuck = {old.logical: old for old in stack.leftovers}, []
    stack.leftovers = []
    for action, name, old in reversed(stack.done):
        if action == "change":
            resource = stack.resources[name]
            rule = KINDS[resource.type]
            try:
                if rule.update is not None:
                    rule.update(stack.place(cloud, name), resource.physical, resource.properties, old)
            except (
                AwsError
            ) as error:  # for instance storage, which only grows: it stays as it is, and the stack says so
                stack.note(at, resource, "UPDATE_FAILED", engine.handler_message(resource.type, error))
                stuck.append(name)
                continue
            resource.properties = old
            stack.note(at, resource, "UPDATE_COMPLETE")
        elif action == "replace" or name in replaced:
            stack.leftovers.append(stack.resources[name])
            stack.resources[name] = replaced[name]
        else:
            stack.leftovers.append(stack.resources.pop(name))
    if failed in stack.resources and failed not in stack.template["Resources"]:
        stack.leftovers.append(stack.resources.pop(failed))
    elif failed in stack.resources and stack.resources[failed].status == "UPDATE_FAILED":
        stack.note(at, stack.resources[failed], "UPDATE_COMPLETE")
    stack.steps, stack.done, stack.due = [], [], at
    if stuck:
        stack.move(at, "UPDATE_ROLLBACK_FAILED", f"The following resource(s) failed to update: [{', '.join(stuck)}]. ")
        stack.due = NEVER


def go_on(cloud: Cloud, stack: Stack, at: float, skip: list[str]) -> None:
    """Another try of a rollback that stopped. What is skipped counts as put back, and stays as it is."""
    from clusters.sandbox.cloudformation import engine

    scope, stuck = scope_of(cloud, stack), []
    stack.move(at, "UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
    stack.due = at
    for name, resource in stack.resources.items():
        if resource.status != "UPDATE_FAILED":
            continue
        old = scope.resolve(stack.template["Resources"][name].get("Properties") or {})
        try:
            if name not in skip:
                rule = KINDS[resource.type]
                if rule.update is not None:
                    rule.update(stack.place(cloud, name), resource.physical, resource.properties, old)
                resource.properties = old
            stack.note(at, resource, "UPDATE_COMPLETE", "Resource was skipped" if name in skip else "")
        except AwsError as error:
            stack.note(at, resource, "UPDATE_FAILED", engine.handler_message(resource.type, error))
            stuck.append(name)
    if stuck:
        stack.move(at, "UPDATE_ROLLBACK_FAILED", f"The following resource(s) failed to update: [{', '.join(stuck)}]. ")
        stack.due = NEVER


def _clean_up(cloud: Cloud, stack: Stack, at: float, engine: Any) -> None:
    for resource in stack.leftovers:
        if resource.present and resource.status != "DELETE_FAILED":
            engine.begin_deleting(cloud, stack, resource, at)
            stack.due = resource.ends if resource.busy else at
            return
    stack.leftovers = [resource for resource in stack.leftovers if resource.busy]
    if stack.leftovers:
        return
    rolled_back = stack.status.startswith("UPDATE_ROLLBACK")
    engine.conclude(cloud, stack, at, "UPDATE_ROLLBACK_COMPLETE" if rolled_back else "UPDATE_COMPLETE")
    stack.before = None
