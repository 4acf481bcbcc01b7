"""SageMaker HyperPod clusters. `Part.body` is {"request": CreateCluster without name and tags, "objects": [...]}.

HyperPod reads its lifecycle scripts from a bucket while it creates nodes, so they belong to the creation: each entry
of `objects` is {"bucket", "key", "text"}, its key depends on its content, and putting it twice is putting it once. For a
look, `held` is the ARN that the creation itself answered: its end is random, so whoever bears it needs no tags; and
`lines_since` (milliseconds) asks for what the scripts have said since then.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from clusters.providers import (
    Account,
    NodeSeen,
    Order,
    Ordered,
    Part,
    PartEvent,
    Phase,
    ProviderError,
    Rescue,
    Seen,
    aws,
    request_check,
)

# A word that is not here yet is waited for: it is no reason to stop looking.
PHASES: Mapping[str, Phase] = {
    "Creating": "busy",
    "InService": "ready",
    "Updating": "busy",
    "RollingBack": "busy",
    "SystemUpdating": "busy",
    "Failed": "failed",
    "Deleting": "deleting",
}
EVENTS = 200
STREAMS = "LifecycleConfig/"  # then the group and the instance
LINES, LONGEST_LINE = 1_000, 300
CALLS: Mapping[str, str] = {
    "reboot": "BatchRebootClusterNodes",
    "replace": "BatchReplaceClusterNodes",
    "remove": "BatchDeleteClusterNodes",
}
BATCH = {"Type": "CAPACITY_PERCENTAGE", "Value": 10}  # so many at a time
BUSY = re.compile(r"\bis (currently )?(in (the )?)?['\"]?(Creating|Updating|RollingBack|SystemUpdating|Deleting)\b")
HOST_ADDRESS = re.compile(r"^ip-(\d+)-(\d+)-(\d+)-(\d+)\.")


class HyperPod:
    """A HyperPod cluster as a part. Its API knows no token: the name is the token, the tags say whose it is."""

    def look(self, account: Account, part: Part) -> Seen:
        try:
            cluster = aws.call(account, "sagemaker", "DescribeCluster", ClusterName=part.name)
            ours = part.body.get("held") == cluster["ClusterArn"] or _carries(account, part, cluster["ClusterArn"])
            nodes = aws.pages(
                account, "sagemaker", "ListClusterNodes", "ClusterNodeSummaries", ClusterName=part.name, MaxResults=100
            )
            seats = tuple(_node(node) for node in nodes)
        except ProviderError as error:
            if _missing(error):
                return Seen("absent")
            raise
        groups = {group["InstanceGroupName"]: _group(group) for group in cluster.get("InstanceGroups", [])}
        continuous = cluster.get("NodeProvisioningMode") == "Continuous"
        phase = _phase(cluster["ClusterStatus"], groups, continuous)
        return Seen(
            phase=phase,
            status=cluster["ClusterStatus"],
            reason=cluster.get("FailureMessage", ""),
            external_id=cluster["ClusterArn"],
            ours=ours,
            outputs={"ClusterArn": cluster["ClusterArn"]},
            nodes=seats,
            events=self._events(account, part) if continuous else (),
            lines=self._lines(account, part, cluster["ClusterArn"]) if phase in ("busy", "failed") else None,
            body={"groups": groups, "node_recovery": cluster.get("NodeRecovery", "")},
        )

    def create(self, account: Account, part: Part) -> str:
        tags = [{"Key": key, "Value": value} for key, value in part.tags.items()]
        request = {"ClusterName": part.name, "Tags": tags, **part.body["request"]}
        _check("CreateCluster", request)
        aws.put_objects(account, part.body.get("objects", []))
        try:
            answer = aws.call(account, "sagemaker", "CreateCluster", **request)
        except ProviderError as error:
            if error.code == "ResourceInUse":
                raise ProviderError("unclear", error.message, code=error.code) from error
            raise
        return str(answer["ClusterArn"])

    def update(self, account: Account, part: Part) -> None:
        wished = part.body["request"]
        request = {"ClusterName": part.name, "InstanceGroups": wished["InstanceGroups"]}
        if "NodeRecovery" in wished:
            request["NodeRecovery"] = wished["NodeRecovery"]
        if part.body.get("surplus"):
            request["InstanceGroupsToDelete"] = list(part.body["surplus"])
        _check("UpdateCluster", request)
        aws.put_objects(account, part.body.get("objects", []))
        try:
            aws.call(account, "sagemaker", "UpdateCluster", **request)
        except ProviderError as error:
            raise _later_if_busy(error) from error

    def delete(self, account: Account, part: Part) -> None:
        try:
            aws.call(account, "sagemaker", "DeleteCluster", ClusterName=part.name)
        except ProviderError as error:
            if not _missing(error):
                raise _later_if_busy(error) from error

    def cancel(self, account: Account, part: Part) -> None:
        raise ProviderError("refused", "HyperPod has no call that stops an update.", code="NotOffered")

    def rescue(self, account: Account, part: Part, how: Rescue, skip: Sequence[str]) -> None:
        raise ProviderError("refused", "HyperPod rolls back by itself, or not at all.", code="NotOffered")

    def order(self, account: Account, part: Part, order: Order, targets: Sequence[str]) -> Ordered:
        """Some of the nodes may be taken while others are refused; what is not named in the answer was not taken."""
        if order == "software":
            return self._software(account, part, targets)
        try:
            said = aws.call(account, "sagemaker", CALLS[order], ClusterName=part.name, NodeIds=list(targets))
        except ProviderError as error:
            raise _later_if_busy(error) from error
        refused = {
            each["NodeId"]: (str(each.get("ErrorCode") or each.get("Code", "")), str(each.get("Message", "")))
            for each in said.get("Failed", [])
        }
        return Ordered(tuple(said.get("Successful", ())), refused)

    def _software(self, account: Account, part: Part, groups: Sequence[str]) -> Ordered:
        request: dict[str, Any] = {
            "ClusterName": part.name,
            "InstanceGroups": [{"InstanceGroupName": name} for name in groups],
            "DeploymentConfig": {"RollingUpdatePolicy": {"MaximumBatchSize": BATCH}},
        }
        _check("UpdateClusterSoftware", request)
        try:
            aws.call(account, "sagemaker", "UpdateClusterSoftware", **request)
        except ProviderError as error:
            raise _later_if_busy(error) from error
        return Ordered(tuple(groups))

    def _lines(self, account: Account, part: Part, arn: str) -> tuple[dict[str, Any], ...] | None:
        """What the lifecycle scripts said since the newest line that is known; no look fails for want of them."""
        if "lines_since" not in part.body:
            return None
        wish = {
            "logGroupName": f"/aws/sagemaker/Clusters/{part.name}/{arn.rsplit('/', 1)[-1]}",
            "logStreamNamePrefix": STREAMS,
            "startTime": int(part.body["lines_since"]),
        }
        try:
            found = list(islice(aws.pages(account, "logs", "FilterLogEvents", "events", **wish), LINES))
        except ProviderError:
            return ()
        return tuple(
            {
                "at": each["timestamp"],
                "node": each["logStreamName"].removeprefix(STREAMS),
                "text": each["message"].rstrip()[:LONGEST_LINE],
            }
            for each in found
        )

    def _events(self, account: Account, part: Part) -> tuple[PartEvent, ...]:
        """Oldest first; only clusters with continuous provisioning report any."""
        seen = part.body.get("seen", "")
        found: list[PartEvent] = []
        pages = aws.pages(
            account, "sagemaker", "ListClusterEvents", "Events", ClusterName=part.name, SortOrder="Descending"
        )
        for event in islice(pages, EVENTS):
            if event["EventId"] == seen:
                break
            found.append(_event(event))
        return tuple(reversed(found))


def _check(operation: str, request: Mapping[str, Any]) -> None:
    """Before anything is sent: botocore would let through what HyperPod refuses."""
    wrong = request_check.problems("sagemaker", operation, request)
    if wrong:
        raise ProviderError("refused", " ".join(wrong), code="InvalidRequest")


def _carries(account: Account, part: Part, arn: str) -> bool:
    """An empty wish proves nothing, so it counts as foreign."""
    tags = aws.pages(account, "sagemaker", "ListTags", "Tags", ResourceArn=arn)
    return bool(part.tags) and part.tags.items() <= {tag["Key"]: tag["Value"] for tag in tags}.items()


def _phase(status: str, groups: Mapping[str, Mapping[str, Any]], continuous: bool) -> Phase:
    """With continuous provisioning a cluster is in service from the start, so the counts have to tell."""
    short = any(group["current"] < group["target"] for group in groups.values())
    return "busy" if status == "InService" and continuous and short else PHASES.get(status, "busy")


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "current": group.get("CurrentCount", 0),
        "target": group.get("TargetCount", 0),
        "status": group.get("Status", ""),
        "instance_type": group.get("InstanceType", "").removeprefix("ml."),
        "software": group.get("SoftwareUpdateStatus", ""),
    }


def _node(node: Mapping[str, Any]) -> NodeSeen:
    status = node.get("InstanceStatus", {})
    address = HOST_ADDRESS.match(node.get("PrivateDnsHostname", ""))
    return NodeSeen(
        group=node["InstanceGroupName"],
        instance_id=node.get("InstanceId", ""),
        instance_type=node.get("InstanceType", "").removeprefix("ml."),
        status=status.get("Status", ""),
        message=status.get("Message", ""),
        private_ip=".".join(address.groups()) if address else "",
        launched_at=node.get("LaunchTime"),
        software_at=node.get("LastSoftwareUpdateTime"),
    )


def _event(event: Mapping[str, Any]) -> PartEvent:
    names = [event.get("InstanceGroupName", ""), event.get("InstanceId", "")]
    return PartEvent(
        key=event["EventId"],
        at=event["EventTime"],
        resource=" ".join([event.get("ResourceType", "Cluster"), *filter(None, names)]),
        status=event.get("EventLevel", ""),
        message=event.get("Description", ""),
    )


def _missing(error: ProviderError) -> bool:
    """HyperPod says it in two ways: with a code of its own, and as a failed validation."""
    return error.code in ("ResourceNotFound", "ResourceNotFoundException") or (
        error.code == "ValidationException" and "not found" in error.message.lower()
    )


def _later_if_busy(error: ProviderError) -> ProviderError:
    """A cluster in motion refuses other changes; nothing happened, and later it will do."""
    if error.code == "ConflictException" or (error.code == "ValidationException" and BUSY.search(error.message)):
        return ProviderError("throttled", error.message, code=error.code)
    return error
