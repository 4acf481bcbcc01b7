"""CloudFormation stacks: a base stack or any other part that is a template with parameters.

`Part.body` is {"TemplateBody": str, "Parameters": {name: text}, "Capabilities": [...]}, with "objects" that its machines
read from a bucket ({"bucket", "key", "text"}, put before the stack is asked for), and for a look at most
{"seen": the key of the newest event that is already recorded}.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from clusters.providers import Account, Order, Ordered, Part, PartEvent, Phase, ProviderError, Rescue, Seen, aws

# Every status that CloudFormation has. `failed` means that the stack will not move again by itself.
PHASES: Mapping[str, Phase] = {
    "CREATE_IN_PROGRESS": "busy",
    "CREATE_COMPLETE": "ready",
    "CREATE_FAILED": "failed",
    "ROLLBACK_IN_PROGRESS": "busy",
    "ROLLBACK_COMPLETE": "failed",  # holds its name; can only be deleted
    "ROLLBACK_FAILED": "failed",
    "UPDATE_IN_PROGRESS": "busy",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": "busy",
    "UPDATE_COMPLETE": "ready",
    "UPDATE_FAILED": "failed",
    "UPDATE_ROLLBACK_IN_PROGRESS": "busy",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS": "busy",
    "UPDATE_ROLLBACK_COMPLETE": "ready",  # usable, with the configuration it had before
    "UPDATE_ROLLBACK_FAILED": "failed",
    "DELETE_IN_PROGRESS": "deleting",
    "DELETE_COMPLETE": "absent",
    "DELETE_FAILED": "failed",
    "REVIEW_IN_PROGRESS": "failed",  # a change set that a person left unexecuted
    "IMPORT_IN_PROGRESS": "busy",
    "IMPORT_COMPLETE": "ready",
    "IMPORT_ROLLBACK_IN_PROGRESS": "busy",
    "IMPORT_ROLLBACK_COMPLETE": "ready",
    "IMPORT_ROLLBACK_FAILED": "failed",
}
PUT_BACK, STOPPED = "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED"
LONGEST_ATTEMPT = 1_000
EVENTS = 200  # a stack of ours has some 70; older ones were recorded by earlier looks
CONSEQUENCES = ("cancelled", "the following resource(s) failed")


class Stacks:
    """A stack as a part. The name is unique in its account and Region; the token makes creation repeatable."""

    def look(self, account: Account, part: Part) -> Seen:
        try:
            stack = aws.call(account, "cloudformation", "DescribeStacks", StackName=part.name)["Stacks"][0]
        except ProviderError as error:
            if _missing(error):
                return Seen("absent")
            raise
        status = stack["StackStatus"]
        if status == "DELETE_COMPLETE":
            return Seen("absent", status)
        events = self._events(account, stack["StackId"], part.body.get("seen", ""))
        attempt = self._attempt(account, stack["StackId"]) if status == PUT_BACK else []
        put_back = _is_ours(attempt, part.token)
        return Seen(
            phase=PHASES.get(status, "busy"),
            status=status,
            reason=_reason(stack, attempt if put_back else events),
            put_back=put_back,
            external_id=stack["StackId"],
            ours=_carries(stack.get("Tags", []), part.tags),
            outputs={output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])},
            events=tuple(_event(event) for event in reversed(events)),
            stuck=self._stopped_at(account, part) if status == STOPPED else (),
            body={
                "Parameters": {
                    each["ParameterKey"]: each.get("ParameterValue", "") for each in stack.get("Parameters", [])
                }
            },
        )

    def create(self, account: Account, part: Part) -> str:
        aws.put_objects(account, part.body.get("objects", []))
        try:
            answer = aws.call(
                account,
                "cloudformation",
                "CreateStack",
                StackName=part.name,
                ClientRequestToken=part.token,
                Tags=_tags(part),
                EnableTerminationProtection=False,
                **_request(part),
            )
        except ProviderError as error:
            if error.code == "AlreadyExistsException":
                raise ProviderError("unclear", error.message, code=error.code) from error
            raise
        return str(answer["StackId"])

    def update(self, account: Account, part: Part) -> None:
        aws.put_objects(account, part.body.get("objects", []))
        try:
            aws.call(
                account,
                "cloudformation",
                "UpdateStack",
                StackName=part.name,
                ClientRequestToken=part.token,
                Tags=_tags(part),
                **_request(part),
            )
        except ProviderError as error:
            if "no updates are to be performed" in error.message.lower():
                return
            raise _later_if_busy(error) from error

    def delete(self, account: Account, part: Part) -> None:
        """With `retain` in the body, what could not be deleted before is left where it is; only a failed deletion takes that."""
        keep = self._stuck(account, part) if part.body.get("retain") else []
        more = {"RetainResources": keep} if keep else {}
        aws.call(account, "cloudformation", "DeleteStack", StackName=part.name, ClientRequestToken=part.token, **more)

    def _stuck(self, account: Account, part: Part) -> list[str]:
        resources = aws.pages(
            account, "cloudformation", "ListStackResources", "StackResourceSummaries", StackName=part.name
        )
        return [each["LogicalResourceId"] for each in resources if each["ResourceStatus"] == "DELETE_FAILED"]

    def _stopped_at(self, account: Account, part: Part) -> tuple[dict[str, str], ...]:
        resources = aws.pages(
            account, "cloudformation", "ListStackResources", "StackResourceSummaries", StackName=part.name
        )
        return tuple(
            {
                "resource": each["LogicalResourceId"],
                "type": each["ResourceType"],
                "reason": each.get("ResourceStatusReason", ""),
            }
            for each in resources
            if each["ResourceStatus"] == "UPDATE_FAILED"
        )

    def rescue(self, account: Account, part: Part, how: Rescue, skip: Sequence[str]) -> None:
        """What is skipped counts as rolled back and stays as it is."""
        if how == "rollback":
            aws.call(account, "cloudformation", "RollbackStack", StackName=part.name, ClientRequestToken=part.token)
            return
        more = {"ResourcesToSkip": list(skip)} if skip else {}
        aws.call(
            account,
            "cloudformation",
            "ContinueUpdateRollback",
            StackName=part.name,
            ClientRequestToken=part.token,
            **more,
        )

    def cancel(self, account: Account, part: Part) -> None:
        try:
            aws.call(account, "cloudformation", "CancelUpdateStack", StackName=part.name, ClientRequestToken=part.token)
        except ProviderError as error:
            if "cannot" in error.message.lower() or "_COMPLETE" in error.message or "ROLLBACK" in error.message:
                return  # it was over before: the next look says how
            raise

    def order(self, account: Account, part: Part, order: Order, targets: Sequence[str]) -> Ordered:
        raise ProviderError("refused", "A stack has no nodes.", code="NotOffered")

    def _events(self, account: Account, stack_id: str, seen: str) -> list[dict[str, Any]]:
        """Newest first, up to the one that is recorded already."""
        found = []
        pages = aws.pages(account, "cloudformation", "DescribeStackEvents", "StackEvents", StackName=stack_id)
        for event in islice(pages, EVENTS):
            if event["EventId"] == seen:
                break
            found.append(event)
        return found

    def _attempt(self, account: Account, stack_id: str) -> list[dict[str, Any]]:
        """The events of the newest update, newest first, also those that are recorded: its reason is still asked for."""
        found = []
        pages = aws.pages(account, "cloudformation", "DescribeStackEvents", "StackEvents", StackName=stack_id)
        for event in islice(pages, LONGEST_ATTEMPT):
            found.append(event)
            if event.get("PhysicalResourceId") == stack_id and event.get("ResourceStatus") == "UPDATE_IN_PROGRESS":
                break
        return found


def _is_ours(attempt: list[dict[str, Any]], token: str) -> bool:
    """Every event carries the token of the call behind it. What somebody else tried and failed is no answer to us."""
    return bool(token) and any(event.get("ClientRequestToken") == token for event in attempt)


def _request(part: Part) -> dict[str, Any]:
    parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in part.body["Parameters"].items()]
    return {
        "TemplateBody": part.body["TemplateBody"],
        "Parameters": parameters,
        "Capabilities": list(part.body.get("Capabilities", [])),
    }


def _tags(part: Part) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in part.tags.items()]


def _carries(tags: Iterable[Mapping[str, str]], wanted: Mapping[str, str]) -> bool:
    """An empty wish proves nothing, so it counts as foreign."""
    held = {tag["Key"]: tag["Value"] for tag in tags}
    return bool(wanted) and wanted.items() <= held.items()


def _event(event: Mapping[str, Any]) -> PartEvent:
    return PartEvent(
        key=event["EventId"],
        at=event["Timestamp"],
        resource=f"{event.get('ResourceType', '')} {event.get('LogicalResourceId', '')}".strip(),
        status=event.get("ResourceStatus", ""),
        message=event.get("ResourceStatusReason", ""),
    )


def _reason(stack: Mapping[str, Any], newest_first: list[dict[str, Any]]) -> str:
    """The first resource that failed by itself says more than the stack, which names only the consequence."""
    for event in reversed(newest_first):
        told = event.get("ResourceStatusReason", "")
        failed = event.get("ResourceStatus", "").endswith("_FAILED")
        if failed and told and not any(word in told.lower() for word in CONSEQUENCES):
            return f"{event.get('LogicalResourceId', '')}: {told}"
    return str(stack.get("StackStatusReason", ""))


def _missing(error: ProviderError) -> bool:
    return error.code == "ValidationError" and "does not exist" in error.message


def _later_if_busy(error: ProviderError) -> ProviderError:
    """A stack in motion refuses an update as invalid; nothing happened, and later it will do."""
    if error.code == "ValidationError" and "_IN_PROGRESS" in error.message:
        return ProviderError("throttled", error.message, code=error.code)
    return error
